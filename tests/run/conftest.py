"""A small run: a tiny model and five pairs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from verax.api import Run, evaluate
from verax.models.classifier import Classifier
from verax.types import Dataset, Instance

METHODS = ["leave_one_out", {"integrated_gradients": {"steps": 4}}]
METRICS = ["comprehensiveness", "agreement", "complexity"]


@pytest.fixture
def dataset(instances: list[Instance]) -> Dataset:
    return Dataset("pairs", tuple(instances), ("yes", "maybe", "no"))


@pytest.fixture
def small_run(classifier: Callable[..., Classifier], dataset: Dataset, tmp_path: Path) -> Callable[..., Run]:
    """Evaluate into one folder; parts of the run can be exchanged."""

    def run(**changes: Any) -> Run:
        given = {"model": classifier("bert"), "data": dataset, "methods": METHODS, "metrics": METRICS, **changes}
        given.setdefault("out", tmp_path / "run")
        return evaluate(**given, progress=False)

    return run
