"""Marks that tables of several studies share."""

from __future__ import annotations

from verax.results.table import Mark

BEST = Mark("best", "◆", "best value, or not significantly different from it")
LIKE_RANDOM = Mark("like_random", "○", "not significantly different from the random explanation of the same kind")
