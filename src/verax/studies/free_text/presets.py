"""The preset of free-text explanations."""

from __future__ import annotations

from verax.types import Preset

NLE = Preset(
    "nle",
    "Free-text explanations: counterfactual edits, input reconstruction, BLEU against human explanations.",
    "Atanasova et al. 2023, Tables 2, 3 and 7",
    {
        "model": "world/nli-mt-ra",
        "data": {"name": "world/nli"},
        "methods": [],
        "metrics": [
            {"counterfactual_test": {"editor": {"random": {"wordnet": "world"}}}},
            {"counterfactual_test": {"editor": {"infill": {"path": "world/nli-editor"}}}},
            "reconstruction_test",
            "bleu",
        ],
    },
)
