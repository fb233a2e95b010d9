"""Explanations of one input, what they explain, and the prediction they belong to."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

import numpy as np

from verax.types.arrays import FloatArray
from verax.types.cost import Cost
from verax.types.errors import Undefined
from verax.types.stored import StoredAs
from verax.types.text import Unit

Kind = Literal["token", "token_interaction", "span_interaction", "text"]
"""What an explanation scores: words, pairs of words, pairs of spans; or it is free text."""

SCORE_KINDS: tuple[Kind, ...] = ("token", "token_interaction", "span_interaction")
"""Kinds of explanation by scores."""


Base = Literal["shapley", "attention", "integrated_gradients", "random"]
"""What scores of different kinds can be made of: those of one base are compared at the same budget of words."""


Removal = Literal["mask", "delete", "pad", "zero", "attention"]


Parameter = str | int | float | bool | None


Note = str | int | float | bool


Notes = Annotated[Mapping[str, Note], StoredAs(json=True)]


@dataclass(frozen=True, slots=True)
class Target:
    """What of the model is explained.

    Args:
        of: `prediction` (the class predicted for the unperturbed input, never re-chosen), `gold` (the gold class),
            `loss` (minus the cross-entropy of the gold class), or the name of a class.
        space: `logit` or `probability`; `loss` has a space of its own and ignores it.
    """

    of: str = "prediction"
    space: Literal["logit", "probability"] = "logit"

    def __str__(self) -> str:
        return self.of if self.space == "logit" or self.of == "loss" else f"{self.of} ({self.space})"


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the model says of an unperturbed input: its class, and each class's probability in the model's order."""

    instance_id: str
    label: str
    labels: tuple[str, ...]
    probabilities: tuple[float, ...]
    cost: Cost = Cost()


@dataclass(frozen=True, slots=True)
class Attribution:
    """What a method returns for one instance: a score for each unit, and notes worth keeping with it.

    Args:
        units: what was scored.
        scores: shape [units], finite.
        notes: facts about this one explanation (its completeness error, words that were cut off).
    """

    units: tuple[Unit, ...]
    scores: FloatArray
    notes: Notes = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.scores.shape != (len(self.units),):
            raise ValueError(f"{len(self.units)} units but scores of shape {self.scores.shape}")
        if not np.isfinite(self.scores).all():
            raise Undefined("nonfinite", "a score is not a finite number")


@dataclass(frozen=True, slots=True)
class Highlight:
    """An explanation by scores: which units of which instance matter how much, to what, according to which method."""

    instance_id: str
    method: str
    kind: Kind
    target: Annotated[Target, StoredAs(flat=True)]
    units: tuple[Unit, ...]
    scores: tuple[float, ...]
    cost: Cost = Cost()
    notes: Notes = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.units) != len(self.scores):
            raise ValueError(f"{len(self.units)} units but {len(self.scores)} scores")
        if not all(math.isfinite(score) for score in self.scores):
            raise ValueError("scores must be finite numbers")


Finish = Literal["stop", "length", "unknown"]
"""Why a text ends: by itself or at a stop string, at the longest that was allowed, or nobody says."""


LabelSource = Literal["likelihood", "first_token", "parsed"]
"""How a generator's class was found: as the most likely of all, as the one whose beginning is the likeliest first token
of an answer, or by reading what it wrote."""


@dataclass(frozen=True, slots=True)
class Generated:
    """A text that a model wrote.

    Args:
        text: all of it.
        finish: why it ends.
        tokens: of how many it was made; None if nobody says.
        tops: tokens that it might have begun with, the likeliest ones, each with its log-probability; empty where that
            was not asked for, or nobody says.
    """

    text: str
    finish: Finish
    tokens: int | None
    tops: tuple[Annotated[tuple[str, float], StoredAs(members=("token", "logprob"))], ...] = ()


@dataclass(frozen=True, slots=True)
class Nle:
    """An explanation in free text, and the class that its model predicts with it.

    Args:
        text: what the model says.
        label: the class that it predicts.
        labels: all classes, in the model's order.
        probabilities: of each class among them; empty where the model gives none.
        label_source: by what the class was found.
        notes: facts about this one explanation (that it was cut off at the longest length).
    """

    instance_id: str
    method: str
    target: Annotated[Target, StoredAs(flat=True)]
    text: str
    label: str
    labels: tuple[str, ...]
    probabilities: tuple[float, ...] = ()
    label_source: Annotated[LabelSource, StoredAs("how")] = "likelihood"
    cost: Cost = Cost()
    notes: Notes = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Skip:
    """An explanation that could not be had, and why.

    `failed` marks what nobody foresaw (an exception in a method) apart from what is known to have no value.
    """

    instance_id: str
    method: str
    reason: str
    detail: str = ""
    failed: bool = False
