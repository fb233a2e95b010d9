"""Methods of several runs: what is the same method, and how it is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import many_languages as made
from verax.results.matching import match_methods
from verax.results.run import Run


def run(folder: Path, *methods: dict[str, Any]) -> Run:
    return made.write(folder, methods=list(methods), instances=(), predictions=(), scores=())


def ig(target: str, aggregate: str, steps: int) -> dict[str, Any]:
    return made.method("integrated_gradients", target, aggregate=aggregate, steps=steps)


def test_equal_labels_are_the_same_method(tmp_path: Path) -> None:
    both = (ig("loss", "l2", 75), ig("loss", "l2", 100))
    matched = match_methods([run(tmp_path / "a", *both), run(tmp_path / "b", *both)])
    assert [(one.name, one.labels) for one in matched] == [(m["label"], (m["label"], m["label"])) for m in both]


def test_variants_within_a_run_are_matched_by_the_parameters_that_distinguish_them(tmp_path: Path) -> None:
    runs = [
        run(tmp_path / str(steps), *(ig(target, how, steps) for target in ("prediction", "loss") for how in order))
        for steps, order in ((75, ("mean", "l2")), (100, ("l2", "mean")))
    ]
    matched = match_methods(runs)
    assert [one.name for one in matched] == [
        f"integrated_gradients (target: {target}; aggregate: {aggregate}; steps: 75 / 100)"
        for target in ("prediction", "loss")
        for aggregate in ("mean", "l2")
    ]
    for one in matched:
        first, second = one.labels
        assert first is not None
        assert second == first.replace("steps=75", "steps=100")


def test_methods_that_explain_different_outputs_are_different(tmp_path: Path) -> None:
    matched = match_methods(
        [run(tmp_path / "a", ig("loss", "l2", 75)), run(tmp_path / "b", ig("prediction", "l2", 75))]
    )
    assert [one.labels.count(None) for one in matched] == [1, 1]


def test_variants_that_cannot_be_matched_keep_rows_of_their_own(tmp_path: Path) -> None:
    runs = [run(tmp_path / "a", *(ig("loss", "l2", n) for n in (10, 20))), run(tmp_path / "b", ig("loss", "l2", 30))]
    matched = match_methods(runs)
    assert [one.labels.count(None) for one in matched] == [1, 1, 1]
    assert [one.name for one in matched] == [ig("loss", "l2", steps)["label"] for steps in (10, 20, 30)]
