"""The value of a metric for one explanation, and the record of a test of a free-text explanation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Literal, NamedTuple

from verax.types.explanation import LabelSource
from verax.types.numbers import Cost
from verax.types.stored import StoredAs
from verax.types.text import Span

MeasuredProperty = Literal["faithfulness", "agreement", "complexity", "simulatability", "crosslingual", "consistency"]
"""The property of an explanation that a metric measures."""
ScoreSeries = Mapping[str, Sequence[float]]
"""Further numbers of a score, by name."""
BY_BUDGET = "by_budget"
"""The series with the values of a metric at the budgets that other seeds of the span explanations would have set."""


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
    """A changed input in a test of free-text explanations, and the model's answer to it.

    Args:
        kind: made by an editor, by inserting random words, or from the reasons of the explanation.
        wanted: the class that the editor aimed at, if any.
        untested: why the explanation tests nothing (`cut_off`, `refused`, `empty_answer`), empty if it does.
        mentioned: whether the explanation mentions the inserted words, by the rule of the test.
        mentions: the same by each rule that is reported (`any` word, `content` words).
        rule: rule that decided this (same word, same lemma, letters inside a word), empty if none applied.
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
    untested: str = ""
    mentioned: bool | None = None
    mentions: Mapping[str, bool] = field(default_factory=dict)
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
    """The course of a test of one free-text explanation.

    Args:
        unanswered: number of edits, random ones included, without an answer of the model, by reason.
        trials: every edit that changed the prediction, every random one, or the reconstructed input.
        decisive: index of the trial that decided the verdict, None if none did.
        repeats: how often the unedited input was asked again and answered; 0 for a deterministic model.
        self_flips: how many of these answers are another class; None if the test did not look for them.
        threshold: the least similarity that counts as a mention; None if similarity was not measured.
    """

    tried: int
    trials: tuple[Trial, ...]
    unanswered: Annotated[Mapping[str, int], StoredAs(upgrade=_count_by_reason)] = field(default_factory=dict)
    decisive: int | None = None
    threshold: float | None = None
    repeats: int = 0
    self_flips: int | None = None


@dataclass(frozen=True, slots=True)
class Score:
    """The value of one metric for one explanation, or None with a reason; never NaN.

    Args:
        curve: values that `value` is computed from, such as one for each bin of an erasure curve.
        series: further values for each point of the curve, by name, such as the predicted class.
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
