"""Marks that tables of several studies share; all of them follow from the joint test of a metric."""

from __future__ import annotations

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
