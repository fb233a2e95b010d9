"""The preset of the evaluation across languages."""

from __future__ import annotations

from verax.studies.leaderboard.presets import ATTRIBUTION_TABLE
from verax.types import Preset

CROSSLINGUAL = Preset(
    "crosslingual",
    "The attributions of attribution-table across languages, measured by erasure and against human highlights.",
    "Zaman and Belinkov 2022, Tables 1 to 4 and 7 to 17",
    {
        "model": "world/xnli",
        "data": {"name": "world/xnli"},
        "methods": ATTRIBUTION_TABLE.content["methods"],
        "metrics": [
            "crosslingual_faithfulness",
            {"crosslingual_faithfulness": {"controlling": ["part", "subwords"]}},
            {"crosslingual_faithfulness": {"aligner": "random"}},
            "comprehensiveness",
            "sufficiency",
            "plausibility",
        ],
    },
)
