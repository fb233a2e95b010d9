"""Types that cross layers: what flows from a dataset to a report."""

from verax.types.arrays import BoolArray, FloatArray, IntArray
from verax.types.cost import Cost, Passes
from verax.types.errors import Undefined, UserError
from verax.types.estimate import Estimate
from verax.types.explanation import (
    SCORE_KINDS,
    Attribution,
    Base,
    Finish,
    Generated,
    Highlight,
    Kind,
    LabelSource,
    Nle,
    Note,
    Parameter,
    Prediction,
    Removal,
    Skip,
    Target,
)
from verax.types.preset import Preset
from verax.types.score import Measured, Score, Trial, TrialLog
from verax.types.text import Alignment, Dataset, GivenAlignment, Human, Instance, Links, Performance, Span, Text, Unit

__all__ = [
    "SCORE_KINDS",
    "Alignment",
    "Attribution",
    "Base",
    "BoolArray",
    "Cost",
    "Dataset",
    "Estimate",
    "Finish",
    "FloatArray",
    "Generated",
    "GivenAlignment",
    "Highlight",
    "Human",
    "Instance",
    "IntArray",
    "Kind",
    "LabelSource",
    "Links",
    "Measured",
    "Nle",
    "Note",
    "Parameter",
    "Passes",
    "Performance",
    "Prediction",
    "Preset",
    "Removal",
    "Score",
    "Skip",
    "Span",
    "Target",
    "Text",
    "Trial",
    "TrialLog",
    "Undefined",
    "Unit",
    "UserError",
]
