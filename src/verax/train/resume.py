"""Weights on disk: the state that an interrupted training continues from, and checkpoints."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from verax.models.checkpoint import quiet
from verax.store.files import remove_file, replace_by
from verax.store.lock import check_locks
from verax.types import UserError

FOLDER = "resume"
_STATE = "epoch.safetensors"

Weights = dict[str, Tensor]
SAVE_EVERY = 10.0


@dataclass(frozen=True, eq=False)
class Resume:
    """The stored state of a training.

    Args:
        key: the hash of everything that determines the result; the state of another training is rejected.
        save_every: minutes between two states within an epoch; a killed training loses no more than these.
    """

    folder: Path
    key: str
    save_every: float = SAVE_EVERY

    def save(self, model: Any, optimiser: torch.optim.Optimizer | None, facts: Mapping[str, Any]) -> None:
        """Store the state; after the last epoch without the optimiser, which is twice as large as the model."""
        tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
        for number, state in optimiser.state_dict()["state"].items() if optimiser is not None else ():
            tensors |= {f"optimiser.{number}.{name}": tensor for name, tensor in state.items()}
        tensors |= {f"random.{name}": state for name, state in random_state(model).items()}
        write_weights(self.folder / _STATE, tensors, {"key": self.key, "facts": json.dumps(facts)})

    def load(self, model: Any, optimiser: torch.optim.Optimizer) -> dict[str, Any] | None:
        """Restore the model, its optimiser and the random state; returns the facts, or None without a stored state."""
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
        set_random_state(model, _under("random.", tensors))
        facts: dict[str, Any] = json.loads(metadata["facts"])
        return facts

    def best(self, selection: str, epoch: int) -> Path:
        """The file of the best weights by a selection; its name has the epoch, so that no older file is overwritten."""
        return self.folder / f"best-{selection}-{epoch}.safetensors"

    def remove_best_except(self, keep: set[Path]) -> None:
        """Remove best weights that a better epoch has replaced."""
        for path in self.folder.glob("best-*"):
            if path not in keep:
                remove_file(path)

    def remove(self) -> None:
        """Remove everything, once the training is finished and its model written."""
        if self.folder.is_symlink():
            raise UserError(f"{self.folder} is a symbolic link, and verax removes nothing through it; remove it")
        if self.folder.is_dir():
            for path in self.folder.iterdir():
                remove_file(path)
            self.folder.rmdir()


def random_state(model: Any) -> Weights:
    """The state of the random numbers that a model on its device draws, by kind of device."""
    states = {"cpu": torch.get_rng_state()}
    return states | ({"cuda": torch.cuda.get_rng_state(model.device)} if model.device.type == "cuda" else {})


def set_random_state(model: Any, states: Mapping[str, Tensor]) -> None:
    """Restore such a state; that of a device on which the model no longer is is ignored."""
    torch.set_rng_state(states["cpu"])
    if "cuda" in states and model.device.type == "cuda":
        torch.cuda.set_rng_state(states["cuda"], model.device)


def save_checkpoint(model: Any, tokenizer: Any, folder: Path) -> None:
    """Write a model and its tokenizer in the format of transformers."""
    check_locks(folder / "config.json")
    with quiet():
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def write_weights(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> None:
    """Write tensors to a safetensors file with the hash of everything in it, atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # tensors may share memory (tied weights), which the format refuses
    own = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    facts = {**(metadata or {}), "sha256": _hash(path.name, own, metadata or {})}
    replace_by(path, lambda temporary: save_file(own, temporary, facts))


def read_weights(path: Path) -> tuple[Weights, dict[str, str]]:
    """The tensors and the metadata of a file; a UserError if it is missing or damaged."""
    advice = "remove its folder to start the training again"
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            metadata = dict(file.metadata() or {})
    except (OSError, SafetensorError) as error:
        raise UserError(f"{path} can't be read ({error}); {advice}") from None
    written = metadata.pop("sha256", None)  # files of earlier versions have none
    if written is not None and written != _hash(path.name, tensors, metadata):
        raise UserError(f"{path} is damaged: its content does not match its SHA-256; {advice}")
    return tensors, metadata


def _hash(file: str, tensors: Weights, metadata: Mapping[str, str]) -> str:
    """The name of the file is part of it, so that files that changed places are noticed."""
    digest = hashlib.sha256(json.dumps([file, dict(metadata)], sort_keys=True).encode())
    for name in sorted(tensors):
        tensor = tensors[name].contiguous()
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.view(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _under(prefix: str, tensors: Mapping[str, Tensor]) -> Weights:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
