"""The preset of metrics on trial."""

from __future__ import annotations

from verax.types import Preset

_TRUTHS = ("true", "partial", "random", "plausible", "inverted")
_MASKED = {"removal": "mask"}
_WORDS = {"words": [1, 2, 4]}

DIAGNOSTICITY = Preset(
    "diagnosticity",
    "Every registered metric on explanations of known truth: how often it prefers the truer one.",
    "",
    {
        "model": "rules/mixed",
        "data": {"name": "rules/mixed", "limit": 160},
        "methods": [
            {f"known_{kind}": {"truth": truth}} for kind in ("reasons", "pairs", "spans", "text") for truth in _TRUTHS
        ],
        "metrics": [
            "all",
            {"comprehensiveness": _MASKED},
            {"sufficiency": _MASKED},
            {"comprehensiveness_flips": _WORDS},
            {"sufficiency_flips": _WORDS},
            {"counterfactual_test": {"editor": "rule_words"}},
            {"reconstruction_test": {"by": "mentioned_words"}},
        ],
    },
)
