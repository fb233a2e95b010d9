"""Requirements on runs whose means, intervals and tests are known."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.runs import metric_entry, score_run
from verax.results.run import Run
from verax.studies.leaderboard.analysis import boards_of, contrast
from verax.studies.leaderboard.requirements import Assessed, Requirement, check_no_worse, check_requirements
from verax.types import UserError

N = 16
GOOD = [0.5, 0.75] * (N // 2)  # mean 0.625
CHANCE = [0.125, 0.25] * (N // 2)
LIKE_CHANCE = [0.25, 0.125] * (N // 2)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """`good` is better than random under both metrics, `alike` has the values of random in another order."""
    comp = {"random": CHANCE, "good": GOOD, "alike": LIKE_CHANCE}
    suff = {name: [1 - value for value in values] for name, values in comp.items()}
    metrics = [metric_entry("comp"), metric_entry("suff", higher=False)]
    return score_run(tmp_path / "run", {"comp": comp, "suff": suff}, metrics=metrics)


def _check(run: Run, text: str, **options: bool) -> dict[str, Assessed]:
    checked = check_requirements(run, [Requirement.parse(text)], **options)
    return {one.method: one for one in checked}


@pytest.mark.parametrize(
    ("text", "met"),
    [
        ("good: comp >= 0.625", True),
        ("good: comp > 0.625", False),
        ("good: comp<=0.625", True),
        ("good: comp < 0.625", False),
        ("good : suff <= 0.375", True),
        ("good: comp > -1e-3", True),
        ("random: comp > 0.2", False),
    ],
)
def test_a_number_is_compared_with_the_mean(run: Run, text: str, met: bool) -> None:
    (checked,) = _check(run, text).values()
    assert checked.met is met
    assert checked.value is not None
    assert checked.requirement == text


def test_with_interval_the_end_that_is_worse_decides(run: Run) -> None:
    mean = boards_of(run)["comp"].standings[0].mean
    assert mean is not None
    assert mean.interval is not None
    low, high = mean.interval
    assert low < 0.625 < high
    for text, met in ((f"comp >= {low}", True), (f"comp > {low}", False), ("comp >= 0.625", False)):
        assert _check(run, f"good: {text}", interval=True)["good"].met is met
    for text, met in ((f"comp <= {high}", True), ("comp <= 0.625", False)):
        assert _check(run, f"good: {text}", interval=True)["good"].met is met


def test_a_mean_without_an_interval_does_not_meet_one(tmp_path: Path) -> None:
    few = score_run(tmp_path / "few", {"comp": {"random": [0.0, 0.1], "good": [0.8, 0.9]}})
    assert _check(few, "good: comp > 0.5")["good"].met
    assert _check(few, "good: comp > 0.5", interval=True)["good"].found == "no interval"
    assert not _check(few, "good: comp > 0.5", interval=True)["good"].met


def test_random_is_beaten_by_the_test_of_the_leaderboard(run: Run) -> None:
    for text in ("comp > random", "suff < random"):
        checked = _check(run, text)
        assert {method: one.met for method, one in checked.items()} == {"good": True, "alike": False}
        board = boards_of(run)[text[:4]]
        assert all(checked[one.method].met is one.better for one in board.standings if not one.random)
    assert checked["good"].found == "p < 0.001"
    assert checked["alike"].found == "like random, p = 1.000"


def test_without_a_method_all_but_random_must_meet_it(run: Run) -> None:
    assert {one.method: one.met for one in _check(run, "comp >= 0.5").values()} == {"good": True, "alike": False}


def test_a_missing_value_meets_nothing(tmp_path: Path) -> None:
    table = {"random": CHANCE, "good": GOOD, "silent": [None] * N}
    checked = _check(score_run(tmp_path / "run", {"comp": table}), "silent: comp >= -100")
    assert (checked["silent"].met, checked["silent"].found) == (False, "no value")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("comp", "expected [METHOD:] METRIC OPERATOR VALUE"),
        ("comp == 3", "expected [METHOD:] METRIC OPERATOR VALUE"),
        ("comp > chance", "expected a number or random"),
        ("comp >= random", "only > and <"),
        ("suff > random", "lower values of suff are better; write suff < random"),
        ("cmp > 0", "did you mean 'comp'"),
        ("god: comp > 0", "did you mean 'good'"),
    ],
)
def test_invalid_requirements_name_what_is_valid(run: Run, text: str, problem: str) -> None:
    with pytest.raises(UserError) as raised:
        _check(run, text)
    assert problem in str(raised.value)


def test_significantly_worse_than_an_earlier_run_is_not_met(tmp_path: Path, run: Run) -> None:
    """Lower by 1/8 on each of 16 inputs; under `suff`, where lower is better, the same change is one for the better."""
    down = [value - 0.125 for value in GOOD]
    tables = {
        "comp": {"random": LIKE_CHANCE, "good": down, "alike": LIKE_CHANCE},
        "suff": {"random": CHANCE, "good": [0.25 - value / 8 for value in GOOD], "alike": [0.8125] * N},
    }
    metrics = [metric_entry("comp"), metric_entry("suff", higher=False)]
    later = score_run(tmp_path / "later", tables, metrics=metrics)
    checked = {(one.metric, one.method): one for one in check_no_worse(later, run)}
    assert {key for key, one in checked.items() if not one.met} == {("comp", "good")}
    assert set(checked) == {(metric, method) for metric in tables for method in ("good", "alike")}
    assert checked["comp", "good"].found == "was 0.625, worse, p < 0.001"
    assert checked["comp", "good"].value == (0.5, None, None)
    changes = {(one.metric.label, one.method.name): one.change for one in contrast(run, later)}
    assert changes["suff", "good"] == "better"
    assert changes["comp", "good"] == "worse"
