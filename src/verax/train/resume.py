"""What an interrupted training goes on from: written after each epoch, as safetensors, old or new and never half."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from verax.store.files import replace_by
from verax.types import UserError

FOLDER = "resume"
_STATE = "epoch.safetensors"

Weights = dict[str, Tensor]


@dataclass(frozen=True, eq=False)
class Resume:
    """A folder beside the model to be, and the key of the training that it belongs to.

    Args:
        folder: holds the state after the last whole epoch, and the best weights so far.
        key: the hash of everything that decides the outcome; another training's state is refused.
    """

    folder: Path
    key: str

    def save(self, model: Any, optimiser: torch.optim.Optimizer, facts: Mapping[str, Any]) -> None:
        """Keep the state after an epoch."""
        tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
        for number, state in optimiser.state_dict()["state"].items():
            tensors |= {f"optimiser.{number}.{name}": tensor for name, tensor in state.items()}
        tensors["random.cpu"] = torch.get_rng_state()
        if model.device.type == "cuda":
            tensors["random.cuda"] = torch.cuda.get_rng_state(model.device)
        write_weights(self.folder / _STATE, tensors, {"key": self.key, "facts": json.dumps(facts)})

    def load(self, model: Any, optimiser: torch.optim.Optimizer) -> dict[str, Any] | None:
        """Put the model, its optimiser and the random numbers where they were; the facts, or None at the beginning."""
        path = self.folder / _STATE
        if not path.is_file():
            return None
        tensors, metadata = read_weights(path)
        if metadata.get("key") != self.key:
            raise UserError(
                f"{self.folder} holds an unfinished training with other data, another base or another recipe; remove "
                "it to start again"
            )
        model.load_state_dict(_under("model.", tensors))
        state: dict[int, dict[str, Tensor]] = {}
        for name, tensor in _under("optimiser.", tensors).items():
            number, _, field = name.partition(".")
            state.setdefault(int(number), {})[field] = tensor
        optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
        torch.set_rng_state(tensors["random.cpu"])
        if "random.cuda" in tensors and model.device.type == "cuda":
            torch.cuda.set_rng_state(tensors["random.cuda"], model.device)
        facts: dict[str, Any] = json.loads(metadata["facts"])
        return facts

    def best(self, selection: str, epoch: int) -> Path:
        """The file of the best weights by a selection; named after its epoch, so that no older one is overwritten."""
        return self.folder / f"best-{selection}-{epoch}.safetensors"

    def forget(self, keep: set[Path]) -> None:
        """Remove best weights that a better epoch has followed."""
        for path in self.folder.glob("best-*"):
            if path not in keep:
                path.unlink()

    def remove(self) -> None:
        """Remove everything: the training is finished and its model written."""
        if self.folder.is_dir():
            for path in self.folder.iterdir():
                path.unlink()
            self.folder.rmdir()


def write_weights(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> None:
    """Write tensors as a file that is there as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # tensors may share memory (tied weights), which the format refuses
    own = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    replace_by(path, lambda temporary: save_file(own, temporary, dict(metadata or {})))


def read_weights(path: Path) -> tuple[Weights, dict[str, str]]:
    """The tensors of a file and what was written about them."""
    with _opened(path) as file:
        return {name: file.get_tensor(name) for name in file.keys()}, dict(file.metadata() or {})  # noqa: SIM118


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except (OSError, SafetensorError) as error:
        raise UserError(f"{path} can't be read ({error}); remove its folder to begin the training anew") from None


def _under(prefix: str, tensors: Mapping[str, Tensor]) -> Weights:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def generator_state(rng: np.random.Generator) -> dict[str, Any]:
    """The state of numpy's random numbers, as plain JSON values."""
    return dict(rng.bit_generator.state)
