"""The preset of recursive masking."""

from __future__ import annotations

from verax.studies.leaderboard.presets import IMPORTANCE_MEASURES
from verax.types import Preset

FAITHFULNESS_MEASURABLE = Preset(
    "faithfulness-measurable",
    "9 importance measures under recursive masking, with the in-distribution test of the masked inputs.",
    "Madsen, Reddy and Chandar 2024, Tables 1, 11 and 12",
    {
        "methods": IMPORTANCE_MEASURES.content["methods"],
        "metrics": ["recursive_masking", "in_distribution"],
        "model": "world/opinion-masked",
        "data": {"name": "world/opinion", "explain": "maskable"},
    },
)
