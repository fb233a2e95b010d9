"""Predictions, explanations, and targets of explanations."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

import numpy as np

from verax.types.errors import Undefined
from verax.types.numbers import Cost, FloatArray
from verax.types.stored import StoredAs
from verax.types.text import Unit

Kind = Literal["token", "token_interaction", "span_interaction", "text"]
"""What an explanation scores (words, pairs of words, pairs of spans), or free text."""

SCORE_KINDS: tuple[Kind, ...] = ("token", "token_interaction", "span_interaction")
"""Kinds of explanation by scores."""

Base = Literal["shapley", "attention", "integrated_gradients", "random"]
"""The method that scores of any kind are made of; scores of one base are compared at the same budget of words."""

Removal = Literal["mask", "delete", "pad", "zero", "attention"]
Parameter = str | int | float | bool | None
Note = str | int | float | bool
OTHER_BUDGETS = "budgets"
"""The note of a span explanation with the number of words in its top 1, 2, ... pairs by other seeds: `3,5,6;4,5`."""
Notes = Annotated[Mapping[str, Note], StoredAs(json=True)]


@dataclass(frozen=True, slots=True)
class Target:
    """The output of the model that is explained.

    Args:
        of: `prediction` (the class predicted for the unperturbed input), `gold` (the gold class), `loss` (minus the
            cross-entropy of the gold class), or the name of a class.
        space: ignored by `loss`.
    """

    of: str = "prediction"
    space: Literal["logit", "probability"] = "logit"

    def __str__(self) -> str:
        return self.of if self.space == "logit" or self.of == "loss" else f"{self.of} ({self.space})"


@dataclass(frozen=True, slots=True)
class Prediction:
    """The class predicted for an unperturbed input, and the probabilities of all classes in the model's order."""

    instance_id: str
    label: str
    labels: tuple[str, ...]
    probabilities: tuple[float, ...]
    cost: Cost = Cost()

    @property
    def probability(self) -> float | None:
        """Probability of the predicted class, if it is known."""
        return dict(zip(self.labels, self.probabilities, strict=False)).get(self.label)


@dataclass(frozen=True, slots=True)
class Attribution:
    """Result of a method for one instance: a score for each unit.

    Args:
        scores: shape [units], finite.
        notes: facts about this explanation (its completeness error, words that were cut off).
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
    """An explanation by scores: those of a method for the units of an instance and a target."""

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
        if not all(map(math.isfinite, self.scores)):
            raise ValueError("scores must be finite numbers")


Finish = Literal["stop", "length", "unknown"]
"""Why a text ends: at its end or a stop string, at the longest length, or for an unknown reason."""


LabelSource = Literal["likelihood", "first_token", "parsed"]
"""How the class of a generator is determined: by the likelihood of each class name, by the most likely first token of
an answer, or by parsing the answer."""


@dataclass(frozen=True, slots=True)
class Generated:
    """A text that a model generated.

    Args:
        tokens: number of tokens, None if it is unknown.
        tops: the most likely first tokens with their log-probabilities; empty if they are unknown or not requested.
    """

    text: str
    finish: Finish
    tokens: int | None
    tops: tuple[Annotated[tuple[str, float], StoredAs(members=("token", "logprob"))], ...] = ()


CUT_OFF = "cut_off"
"""Note of an explanation in free text that reached the maximum length; it tests nothing."""


@dataclass(frozen=True, slots=True)
class Nle:
    """An explanation in free text, and the class that its model predicts with it.

    Args:
        labels: all classes, in the model's order.
        probabilities: of all classes; empty if the model gives none.
        notes: facts about this explanation (that it was cut off at the longest length).
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
    """An explanation that is missing, and why; `failed` marks an unexpected error in a method."""

    instance_id: str
    method: str
    reason: str
    detail: str = ""
    failed: bool = False
