"""The conclusion of a run restates the marks of its tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.runs import metric_entry, score_run
from verax.results.run import Run
from verax.studies.leaderboard.analysis import analyse
from verax.studies.leaderboard.conclusion import Conclusion, conclusion

N = 16
CHANCE = [0.125, 0.25] * (N // 2)
SOME = [0.5, 0.625] * (N // 2)
MORE = [0.75, 0.875] * (N // 2)
METRICS = [metric_entry("comprehensiveness"), metric_entry("sufficiency", higher=False), metric_entry("agreement")]


def _down(values: list[float]) -> list[float]:
    return [1 - value for value in values]


def _concluded(run: Run) -> Conclusion:
    board = analyse([run])
    assert board is not None
    found = conclusion(board)
    for method in found.methods:
        for made in board.runs[0].boards.values():
            (standing,) = [one for one in made.standings if one.method == method]
            assert made.metric.label == "agreement" or (standing.better and standing.best)
    return found


def _run(
    folder: Path, comp: dict[str, list[float]], suff: dict[str, list[float]], **more: dict[str, list[float]]
) -> Run:
    tables = {
        "comprehensiveness": {"random": CHANCE, **comp},
        "sufficiency": {"random": _down(CHANCE), **{name: _down(values) for name, values in suff.items()}},
        **more,
    }
    return score_run(folder, tables, metrics=METRICS)


def test_the_unbeaten_method_is_recommended_whatever_people_prefer(tmp_path: Path) -> None:
    people = {"random": CHANCE, "a": SOME, "b": MORE}
    faithful = {"a": MORE, "b": SOME}
    found = _concluded(_run(tmp_path / "run", faithful, faithful, agreement=people))
    assert found.methods == ("a",)
    both = "both comprehensiveness and sufficiency"
    assert found.use == f"a: better than random under {both}; no other method is significantly better under either."
    assert found.certainty == "p < 0.001 against random, joint test of 16 inputs, adjusted for all pairs of methods."
    assert found.others == ("agreement: b may be best: no method is significantly better.",)
    assert found.fails == ()


def test_methods_that_are_not_different_are_recommended_together(tmp_path: Path) -> None:
    alike = {"a": MORE, "b": [0.875, 0.75] * (N // 2)}
    found = _concluded(_run(tmp_path / "run", alike, alike))
    assert found.methods == ("a", "b")
    assert found.use.startswith("a or b: better than random")


def test_no_method_is_recommended_if_each_is_beaten_somewhere(tmp_path: Path) -> None:
    found = _concluded(_run(tmp_path / "run", {"a": MORE, "b": SOME}, {"a": SOME, "b": MORE}))
    assert found.methods == ()
    assert found.use.endswith("sufficiency: a and b. May be best: a under comprehensiveness; b under sufficiency.")


def test_a_method_like_random_under_one_metric_is_not_recommended(tmp_path: Path) -> None:
    found = _concluded(_run(tmp_path / "run", {"a": MORE}, {"a": [0.25, 0.125] * (N // 2)}))
    assert found.methods == ()
    assert (
        found.use == "None: no method is significantly better than random under both comprehensiveness and sufficiency."
    )
    assert found.fails == ("a is not better than random on sufficiency (p = 1.000)",)


@pytest.mark.parametrize("n", [2, 4])
def test_too_few_inputs_recommend_nothing(tmp_path: Path, n: int) -> None:
    table = {"random": CHANCE[:n], "a": MORE[:n], "b": SOME[:n]}
    found = _concluded(score_run(tmp_path / "run", {"comprehensiveness": table}, metrics=METRICS[:1]))
    assert found.methods == ()
    assert found.use.startswith(f"No method yet. Too few inputs to rank 3 methods: {n} where at least")


def test_nothing_is_concluded_where_nothing_was_measured(tmp_path: Path) -> None:
    table: dict[str, list[float | None]] = {"random": [None] * N, "a": [None] * N}
    found = _concluded(score_run(tmp_path / "run", {"comprehensiveness": table}, metrics=METRICS[:1]))
    assert found.methods == ()
    assert found.use.startswith("No method: no input has a value under comprehensiveness")
    assert found.certainty == "nothing was measured."
