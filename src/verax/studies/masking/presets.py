"""The preset of recursive masking."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verax.studies.leaderboard.presets import IMPORTANCE_METHODS

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "faithfulness-measurable": {
        "methods": IMPORTANCE_METHODS,
        "metrics": ["recursive_masking", "in_distribution"],
        "model": "world/opinion-masked",
        "data": {"name": "world/opinion", "explain": "maskable"},
    },
}
"""Recursive masking of the maskable part by 9 measures, and whether it stays in-distribution."""
