"""Statistics that turn scores into statements that can be trusted; numpy and scipy alone."""

from verax.stats.inference import bca, fisher, holm, paired_test, sign_flips, simes
from verax.stats.leaderboard import compare, groups, pairwise, summarise

__all__ = ["bca", "compare", "fisher", "groups", "holm", "paired_test", "pairwise", "sign_flips", "simes", "summarise"]
