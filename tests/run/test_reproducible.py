"""In float64 no bit of a row depends on what else is computed, when, in which process, or by how many threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from bench.resume import Stopped, compare, contents, execute
from verax.models.classifier import Classifier
from verax.run.prepare import Prepared, prepare
from verax.run.spec import parse_spec
from verax.types import Dataset

METHODS = [
    "leave_one_out",
    {"integrated_gradients": {"steps": 4}},
    {"kernel_shap": {"budget": 32}},
    "attention",
    {"attention_attribution": {"steps": 2}},
    {"louvain": {"over": "attention_interaction"}},
]
METRICS = ["comprehensiveness", "comprehensiveness_flips", "recursive_masking", "complexity"]
OpenRun = Callable[[Dataset], Prepared]


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    """As on a machine with two cores; undone afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def open_run(classifier: Callable[..., Classifier]) -> OpenRun:
    def opened(data: Dataset, **more: Any) -> Prepared:
        spec = parse_spec({"model": "tiny", "data": "pairs", "methods": METHODS, "metrics": METRICS, **more})
        return prepare(spec, classifier("bert", "float64"), data)

    return opened


def test_a_run_that_was_stopped_and_resumed_equals_an_undisturbed_one(
    open_run: OpenRun, dataset: Dataset, tmp_path: Path
) -> None:
    execute(open_run(dataset), tmp_path / "undisturbed")
    expected = contents(tmp_path / "undisturbed")
    stops = 4
    for threads in (1, 2, 1, 2):
        torch.set_num_threads(threads)
        with pytest.raises(Stopped):
            execute(open_run(dataset), tmp_path / "resumed", len(expected) // (stops + 1))
    execute(open_run(dataset), tmp_path / "resumed")
    found = compare(expected, contents(tmp_path / "resumed"))
    assert (found["rows"], found["different"]) == (len(expected), 0), found
    assert torch.get_num_threads() == 2, "the number of threads is restored"


def test_each_input_has_the_rows_that_it_has_among_others(open_run: OpenRun, dataset: Dataset, tmp_path: Path) -> None:
    """Inputs one by one, the last first, on one thread: as worker processes may compute them."""
    execute(open_run(dataset), tmp_path / "together")
    torch.set_num_threads(1)
    alone = {}
    for number, instance in reversed(list(enumerate(dataset.instances))):
        one = Dataset(dataset.name, (instance,), dataset.labels)
        execute(open_run(one), tmp_path / str(number))
        alone.update(contents(tmp_path / str(number)))
    found = compare(contents(tmp_path / "together"), alone)
    assert (found["rows"], found["different"]) == (len(alone), 0), found
