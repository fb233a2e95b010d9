"""What nobody may change in passing: the random numbers of the whole process, and the model."""

from __future__ import annotations

import hashlib
import random
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False, slots=True)
class GlobalRandom:
    """The state of the random numbers that all code of a process shares: Python's, numpy's and torch's."""

    python: Any
    numpy: Any
    torch: Any

    @classmethod
    def now(cls) -> GlobalRandom:
        """As it is at this moment; that of torch is None while nobody has imported it."""
        torch = sys.modules.get("torch")
        return cls(random.getstate(), np.random.get_state(), None if torch is None else torch.get_rng_state())

    @classmethod
    def seeded(cls, seed: int) -> GlobalRandom:
        """As it would be after seeding everything; nothing is changed yet."""
        torch = sys.modules.get("torch")
        drawn = None if torch is None else torch.Generator().manual_seed(seed).get_state()
        return cls(random.Random(seed).getstate(), np.random.RandomState(seed).get_state(), drawn)

    def put_back(self) -> None:
        """Make it the state of the process."""
        random.setstate(self.python)
        np.random.set_state(self.numpy)
        if self.torch is not None:
            sys.modules["torch"].set_rng_state(self.torch)

    def facts(self) -> dict[str, str]:
        """Each state by whose it is, in a form that can be compared."""
        algorithm, key, *rest = self.numpy
        return {
            "Python's": repr(self.python),
            "numpy's": f"{algorithm} {key.tobytes().hex()} {rest}",
            "torch's": "" if self.torch is None else self.torch.numpy().tobytes().hex(),
        }


def model_facts(model: Any) -> dict[str, str]:
    """Whatever a careless guest could change in a model, each in a form that can be compared.

    Looks into every torch module that the model holds; of a model that holds none only the public facts are seen.
    """
    facts = {"public attributes": repr([getattr(model, name, None) for name in ("name", "labels", "fingerprint")])}
    torch = sys.modules.get("torch")
    if torch is None:
        return facts
    for module in vars(model).values():
        if isinstance(module, torch.nn.Module):
            for name, fact in _module_facts(module):
                facts[name] = hashlib.sha256(f"{facts.get(name, '')}{fact}".encode()).hexdigest()
    return facts


def _module_facts(module: Any) -> Iterator[tuple[str, str]]:
    weights = hashlib.sha256()
    for name, tensor in module.state_dict().items():
        weights.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        weights.update(tensor.detach().cpu().contiguous().double().numpy().tobytes())
    yield "weights", weights.hexdigest()
    parts, parameters = list(module.modules()), list(module.parameters())
    yield "training flags", repr([part.training for part in parts])
    yield (
        "hooks",
        repr([[len(hooks) for name, hooks in vars(part).items() if name.endswith("_hooks")] for part in parts]),
    )
    yield "requires_grad", repr([parameter.requires_grad for parameter in parameters])
    yield "gradients left behind", repr([parameter.grad is not None for parameter in parameters])
    config: Any = getattr(module, "config", None)
    yield "attention implementation", str(getattr(config, "_attn_implementation", None))
    yield "configuration", config.to_json_string() if hasattr(config, "to_json_string") else ""


def changed(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Names of the facts that are not what they were."""
    return [name for name in before.keys() | after.keys() if before.get(name) != after.get(name)]
