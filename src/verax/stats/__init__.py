"""Statistics: intervals, tests, corrections, bootstrap, areas, conformal p-values; numpy and scipy only."""

from verax.stats.inference import bca, fisher, holm, paired_test, sign_flips, simes
from verax.stats.joint import compare_columns, compare_methods, groups, pairwise

__all__ = [
    "bca",
    "compare_columns",
    "compare_methods",
    "fisher",
    "groups",
    "holm",
    "paired_test",
    "pairwise",
    "sign_flips",
    "simes",
]
