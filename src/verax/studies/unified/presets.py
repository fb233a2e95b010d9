"""The preset of the unified framework."""

from __future__ import annotations

from verax.studies.leaderboard.presets import WORLD_NLI
from verax.types import Preset

_INTERACTIONS = ("bivariate_shapley", "attention_interaction", "attention_attribution")

UNIFIED = Preset(
    "unified",
    "Words, word pairs and span pairs of three bases: faithfulness, agreement, simulatability, complexity.",
    "Sun, Atanasova and Augenstein 2024, Tables 3 to 12",
    {
        **WORLD_NLI,
        "methods": [
            "kernel_shap",
            "attention",
            "integrated_gradients",
            *_INTERACTIONS,
            *({"louvain": {"over": over}} for over in _INTERACTIONS),
            "random_interaction",
            "random_span",
        ],
        "metrics": [
            "comprehensiveness_flips",
            "sufficiency_flips",
            "agreement",
            {"agreement": {"within": "budget"}},
            {"agreement": {"level": "interaction"}},
            {"complexity": {"top": "span_pairs"}},
            {"simulatability": {"insertion": "symbol"}},
            {"simulatability": {"insertion": "text"}},
        ],
    },
)
