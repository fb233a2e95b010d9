"""The number of steps of integrated gradients, chosen on validation data by completeness."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

import verax
from verax.methods import integrated_gradients
from verax.methods.integrated_gradients import IntegratedGradients
from verax.models.classifier import Classifier
from verax.types import Dataset, Instance, UserError


def errors(run: verax.Run, label: str) -> list[float]:
    return [float(str(row.notes["completeness_error"])) for row in run.highlights() if row.method == label]


def test_the_fewest_steps_that_are_complete_are_used_and_recorded(
    classifier: Callable[..., Classifier],
    instances: list[Instance],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the right Riemann sum the error shrinks with the steps: the choice is the first below 5 % everywhere."""
    monkeypatch.setattr(integrated_gradients, "CANDIDATES", (1, 4, 16, 64, 256))
    data = Dataset("pairs", tuple(instances), ("yes", "maybe", "no"))
    given = {"target": "prediction", "rule": "riemann_right"}
    methods = [{"integrated_gradients": {**given, "steps": steps}} for steps in (1, 4, 16, 64, 256)]
    auto = [{"integrated_gradients": {**given, "steps": "auto"}}]
    model = classifier("bert")
    fixed = verax.evaluate(model, data, methods, ["complexity"], out=tmp_path / "fixed")
    chosen = verax.evaluate(model, data, auto, ["complexity"], out=tmp_path / "auto", validation=data)
    by_steps = {
        entry.parameters["steps"]: errors(fixed, entry.label)
        for entry in fixed.manifest.methods
        if entry.name == "integrated_gradients"
    }
    expected = next(steps for steps, missed in by_steps.items() if max(missed) <= 0.05)
    assert max(by_steps[1]) > 0.05, "one step is not enough"
    (entry,) = [entry for entry in chosen.manifest.methods if entry.name == "integrated_gradients"]
    assert entry.parameters["steps"] == expected
    assert chosen.manifest.spec["methods"] == auto, "the card says that it was chosen"
    assert errors(chosen, entry.label) == pytest.approx(by_steps[expected], abs=1e-12)


def test_without_a_run_there_is_nothing_to_choose_on() -> None:
    with pytest.raises(UserError, match="auto is chosen on the validation data of a run"):
        IntegratedGradients(steps="auto")._points()
    assert IntegratedGradients(steps="auto").passes(3).backward == 200, "at most"
    empty = SimpleNamespace(open_validation=lambda: Dataset("none", (), ("a", "b")), model=None)
    with pytest.raises(UserError, match="no input of the validation data can be explained"):
        IntegratedGradients(steps="auto").fitted(empty)
    fixed = IntegratedGradients(steps=7)
    assert fixed.fitted(empty) is fixed
