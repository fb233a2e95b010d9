"""The value of a metric for one explanation, and the record of a test of a free-text explanation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Literal, NamedTuple

from verax.types.cost import Cost
from verax.types.explanation import LabelSource
from verax.types.stored import StoredAs
from verax.types.text import Span


class Measured(NamedTuple):
    """Result of a metric for one explanation: a value or the reason why there is none; see `Score` for the rest."""

    value: float | None
    curve: tuple[float, ...] | None = None
    series: Mapping[str, tuple[float, ...]] = MappingProxyType({})
    reason: str | None = None
    detail: str = ""
    trial_log: TrialLog | None = None


@dataclass(frozen=True, slots=True)
class Trial:
    """A new input that a test of free-text explanations made of an old one, and what the model said of it.

    Args:
        kind: made by the editor that is tested with, of words drawn at random, or from the reasons of the explanation.
        parts: the new input.
        predicted: its class.
        flipped: whether that is another one than before.
        label_source: by what the class was found.
        inserted: the words that were put in, by their place in the new input.
        wanted: the class that the editor was to lead to; empty if it aimed at none.
        explanation: of the new input, where it was asked for.
        mentioned: whether it mentions the words that were put in.
        rule: what decided that: the same word, the same lemma, letters inside a word, or none that was found.
        by: the word of the explanation that decided.
        similarity: of those words with the most similar ones of the explanation.
        notes: what else is worth knowing: the template that was found, ...
    """

    kind: Literal["edit", "noise", "reconstruction"]
    parts: tuple[str, ...]
    predicted: str
    flipped: bool
    label_source: Annotated[LabelSource, StoredAs("how")]
    inserted: Span | None = None
    words: str = ""
    wanted: str = ""
    explanation: str | None = None
    mentioned: bool | None = None
    rule: str = ""
    by: str = ""
    similarity: float | None = None
    notes: Mapping[str, str] = field(default_factory=dict)


def _count_by_reason(stored: int | Mapping[str, int]) -> Mapping[str, int]:
    """Numbers of missing answers by reason; an earlier version stored their total alone."""
    if isinstance(stored, Mapping):
        return stored
    return {"unknown": stored} if stored else {}


@dataclass(frozen=True, slots=True)
class TrialLog:
    """What a test of one free-text explanation did and found.

    Args:
        tried: how many edits the model was asked about.
        unanswered: how many of them, and of the random edits beside them, it gave no answer to, by reason.
        trials: every edit that changed the prediction, every random one, or the reconstructed input.
        decisive: the number of the trial that decided the verdict, None if none did.
        threshold: the least similarity that counts as a mention by meaning; None if it was not measured.
    """

    tried: int
    trials: tuple[Trial, ...]
    unanswered: Annotated[Mapping[str, int], StoredAs(upgrade=_count_by_reason)] = field(default_factory=dict)
    decisive: int | None = None
    threshold: float | None = None


@dataclass(frozen=True, slots=True)
class Score:
    """The value of one metric for one explanation; None with its reason where there is none, never NaN.

    `curve` holds the values that `value` was made from (one for each bin of an erasure curve), `series` what else must
    be kept for each point of it, by name (the class that was predicted there). `trial_log` holds what a test of a
    free-text explanation did.
    """

    instance_id: str
    method: str
    metric: str
    value: float | None
    reason: str | None = None
    detail: str = ""
    curve: tuple[float, ...] | None = None
    cost: Cost = Cost()
    series: Annotated[Mapping[str, tuple[float, ...]], StoredAs(json=True, null_if_empty=True)] = field(
        default_factory=dict
    )
    trial_log: Annotated[TrialLog | None, StoredAs("card", json=True)] = None

    def __post_init__(self) -> None:
        if (self.value is None) == (self.reason is None):
            raise ValueError("a score has either a value or a reason")
        if self.value is not None and not math.isfinite(self.value):
            raise ValueError("a score's value must be a finite number")
