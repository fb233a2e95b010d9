"""Marks that tables of several studies share; all of them follow from the joint test of a metric."""

from __future__ import annotations

from collections.abc import Iterable

from verax.results.run import Run
from verax.results.table import Mark
from verax.stats.joint import TooFew

BEST = Mark("best", "◆", "may be the best: no other method is significantly better")
LIKE_RANDOM = Mark("like_random", "○", "not significantly different from the random explanation of the same kind")
WORSE = Mark("worse_than_random", "▽", "significantly worse than the random explanation of the same kind")

JOINT_TEST = (
    "Every mark, letter and p-value of a metric comes from one joint test of all its methods: 10,000 sign flips of the "
    "differences on the same inputs, shared by all pairs (all flips where there are fewer), adjusted for the number of "
    "pairs by step-down max-T. Significant: p < 0.05. Intervals show the size of a value and decide nothing."
)

SEQUENTIAL_TEST = (
    "Results decided when the run stopped, so every mark, letter and p-value of a metric comes from one sequential "
    "test of all its methods, which is valid at any number of inputs: bets on the signs of the differences on the same "
    "inputs, in the random order of the run, adjusted for the number of pairs by Holm's procedure. Significant: "
    "p < 0.05. Intervals are computed as if the number of inputs had been fixed; they decide nothing."
)


def test_notes(runs: Iterable[Run]) -> tuple[str, ...]:
    """Where marks, letters and p-values of some runs come from."""
    sequential = {run.manifest.sequential for run in runs}
    return tuple(note for note, kind in ((JOINT_TEST, False), (SEQUENTIAL_TEST, True)) if kind in sequential)


def marks_of(*, best: bool, like_random: bool, worse: bool, best_mark: Mark = BEST) -> tuple[Mark, ...]:
    """The marks of a value; `best_mark` says among which methods it may be best."""
    present = ((best_mark, best), (LIKE_RANDOM, like_random), (WORSE, worse))
    return tuple(mark for mark, shown in present if shown)


def too_few(few: TooFew | None) -> str:
    """Why nothing is marked; empty where something could be significant."""
    if few is None:
        return ""
    return (
        f"Too few inputs to rank {few.methods} methods: {few.inputs} where at least {few.needed} are needed. "
        "Nothing is marked."
    )
