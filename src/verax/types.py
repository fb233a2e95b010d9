"""Every type that crosses a layer: what flows from a dataset to a report."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.integer]

Kind = Literal["token", "token_interaction", "span_interaction"]
Base = Literal["shapley", "attention", "integrated_gradients", "random"]
"""What scores of different kinds can be made of: those of one base are compared at the same budget of words."""
Removal = Literal["mask", "delete", "pad", "zero", "attention"]
Performance = Literal["accuracy", "macro_f1", "micro_f1", "matthews"]
"""How well a classifier does on a data set."""
Parameter = str | int | float | bool | None
Note = str | int | float | bool


class UserError(Exception):
    """A mistake of the user's: one clear line, exit code 2, no traceback."""


class Undefined(Exception):
    """A value that can't be had for one instance; it is recorded with its reason and counted.

    Args:
        reason: one word of the field, the same for every instance it befalls (`empty`, `no_gold`, `nonfinite`, ...).
        detail: what exactly was met, for the person who reads the run card.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Text:
    """A text, its words and where they stand: `raw[start:end] == word`, in every script."""

    raw: str
    words: tuple[str, ...]
    offsets: tuple[tuple[int, int], ...]
    lang: str = "en"

    def __post_init__(self) -> None:
        if len(self.words) != len(self.offsets):
            raise ValueError(f"{len(self.words)} words but {len(self.offsets)} offsets")
        last = 0
        for word, (start, end) in zip(self.words, self.offsets, strict=True):
            if start < last or end <= start or self.raw[start:end] != word:
                raise ValueError(f"offset ({start}, {end}) does not give the word {word!r}")
            last = end


class Span(NamedTuple):
    """Words `start` to `end` (half-open) of one part of an instance."""

    part: int
    start: int
    end: int


Unit = tuple[Span, ...]
"""One span is a word or phrase, two are an interaction."""


@dataclass(frozen=True, slots=True)
class Human:
    """What people annotated: for each part the indices of its gold words, span pairs, and texts that say why."""

    words: tuple[tuple[int, ...], ...] | None = None
    span_pairs: tuple[Unit, ...] | None = None
    explanations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Instance:
    """One input: a review (one part), premise and hypothesis (two), a question with choices (more).

    `label` is the name of its gold class. `parallel_id` is shared by translations of the same input.
    """

    id: str
    parts: tuple[Text, ...]
    label: str | None = None
    lang: str = "en"
    parallel_id: str | None = None
    human: Human | None = None

    def __post_init__(self) -> None:
        if not self.parts:
            raise ValueError(f"instance {self.id!r} has no part")

    @property
    def units(self) -> tuple[Unit, ...]:
        """Every word of every part, in reading order, as a unit of its own."""
        return tuple((Span(p, w, w + 1),) for p, part in enumerate(self.parts) for w in range(len(part.words)))


Links = tuple[tuple[int, int], ...]
"""Pairs of words that translate each other, by their numbers: one of the reference, one of the translation."""


@dataclass(frozen=True, slots=True)
class GivenAlignment:
    """How the words of an input translate those of the same input in another language, as the data says.

    Args:
        lang: the language of that other input, the reference.
        sure: for each part, links whose words are counted within that part.
        possible: for each part, further links that are not sure; none if the data makes no difference.
    """

    lang: str
    sure: tuple[Links, ...]
    possible: tuple[Links, ...] = ()


@dataclass(frozen=True, slots=True)
class Alignment:
    """Which words of an input and of its translation belong together, as an aligner says.

    Args:
        instance_id: the translation.
        reference_id: the input in the reference language.
        aligner: its label in the run.
        links: words are counted over all parts, in reading order.
        reason, detail: why there are none, if they could not be had.
    """

    instance_id: str
    reference_id: str
    aligner: str
    links: Links
    reason: str | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Dataset:
    """Instances with the names of their classes, in the order of the classes' numbers.

    Args:
        provenance: where the rows came from: path or name, split, licence, citation.
        maskable: the parts whose words may be masked when a model is measured on it (the paragraph, not the question);
            None: all.
        metric: how performance is measured on it.
        aligned: word alignments that came with the data, by the id of the instance.
    """

    name: str
    instances: tuple[Instance, ...]
    labels: tuple[str, ...]
    provenance: Mapping[str, str] = field(default_factory=dict)
    maskable: tuple[int, ...] | None = None
    metric: Performance = "accuracy"
    aligned: Mapping[str, tuple[GivenAlignment, ...]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.instances)


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
class Cost:
    """Passes of one instance: how many were asked for and how many the model really computed; and seconds."""

    forward_asked: int = 0
    forward: int = 0
    backward_asked: int = 0
    backward: int = 0
    seconds: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.forward_asked + other.forward_asked,
            self.forward + other.forward,
            self.backward_asked + other.backward_asked,
            self.backward + other.backward,
            self.seconds + other.seconds,
        )


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
    notes: Mapping[str, Note] = field(default_factory=dict)

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
    target: Target
    units: tuple[Unit, ...]
    scores: tuple[float, ...]
    cost: Cost = Cost()
    notes: Mapping[str, Note] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.units) != len(self.scores):
            raise ValueError(f"{len(self.units)} units but {len(self.scores)} scores")
        if not all(math.isfinite(score) for score in self.scores):
            raise ValueError("scores must be finite numbers")


Finish = Literal["stop", "length", "unknown"]
"""Why a text ends: by itself or at a stop string, at the longest that was allowed, or nobody says."""
How = Literal["likelihood", "first_token", "parsed"]
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
    tops: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Nle:
    """An explanation in free text, and the class that its model predicts with it.

    Args:
        text: what the model says.
        label: the class that it predicts.
        labels: all classes, in the model's order.
        probabilities: of each class among them; empty where the model gives none.
        how: by what the class was found.
        notes: facts about this one explanation (that it was cut off at the longest length).
    """

    instance_id: str
    method: str
    target: Target
    text: str
    label: str
    labels: tuple[str, ...]
    probabilities: tuple[float, ...] = ()
    how: How = "likelihood"
    cost: Cost = Cost()
    notes: Mapping[str, Note] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Trial:
    """A new input that a test of free-text explanations made of an old one, and what the model said of it.

    Args:
        kind: made by the editor that is tested with, of words drawn at random, or from the reasons of the explanation.
        parts: the new input.
        predicted: its class.
        flipped: whether that is another one than before.
        how: by what the class was found.
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
    how: How
    inserted: Span | None = None
    words: str = ""
    wanted: str = ""
    explanation: str | None = None
    mentioned: bool | None = None
    rule: str = ""
    by: str = ""
    similarity: float | None = None
    notes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Card:
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
    unanswered: Mapping[str, int] = field(default_factory=dict)
    decisive: int | None = None
    threshold: float | None = None


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


@dataclass(frozen=True, slots=True)
class Score:
    """The value of one metric for one explanation; None with its reason where there is none, never NaN.

    `curve` holds the values that `value` was made from (one for each bin of an erasure curve), `series` what else must
    be kept for each point of it, by name (the class that was predicted there). `card` holds what a test of a free-text
    explanation did.
    """

    instance_id: str
    method: str
    metric: str
    value: float | None
    reason: str | None = None
    detail: str = ""
    curve: tuple[float, ...] | None = None
    cost: Cost = Cost()
    series: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    card: Card | None = None

    def __post_init__(self) -> None:
        if (self.value is None) == (self.reason is None):
            raise ValueError("a score has either a value or a reason")
        if self.value is not None and not math.isfinite(self.value):
            raise ValueError("a score's value must be a finite number")


class Measured(NamedTuple):
    """What a metric returns for one explanation: its value, and what it was made from (see `Score`), if any."""

    value: float
    curve: tuple[float, ...] | None = None
    series: Mapping[str, tuple[float, ...]] = MappingProxyType({})


class Passes(NamedTuple):
    """How many passes something asks for at most, before anything is saved."""

    forward: int
    backward: int


@dataclass(frozen=True, slots=True)
class Summary:
    """One row of the leaderboard: a method under a metric.

    Args:
        method, metric: their labels in the run.
        mean: over the n instances that have a value; None when there is none.
        low, high: BCa interval of the mean; None when fewer than two values.
        n, skipped: how many instances have a value (translations of one input count once), and how many instances have
            a reason instead.
        random: mean of the random explanation of the same kind over the instances where both have a value.
        p, p_holm: paired test against that random explanation, and Holm-corrected over the methods of the metric.
        higher_is_better: the direction of the metric.
        group: letters; methods that share one can't be told apart under this metric.
    """

    method: str
    metric: str
    mean: float | None
    low: float | None
    high: float | None
    n: int
    skipped: int
    random: float | None
    p: float | None
    p_holm: float | None
    higher_is_better: bool = True
    group: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One method under one metric in two runs, over the instances that both runs have a value for.

    Args:
        mean_a, mean_b: over those n instances; None when there is none.
        p, p_holm: paired test of the difference, and Holm-corrected over all rows of the comparison.
    """

    method: str
    metric: str
    mean_a: float | None
    mean_b: float | None
    n: int
    p: float | None
    p_holm: float | None
    higher_is_better: bool = True


class Interval(NamedTuple):
    """A value with the ends of its 95 % interval, None where there is no interval."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class MaskingCurve:
    """One measure under recursive masking: the model's performance while words are masked, and the area it loses.

    Args:
        method: its label in the run.
        metric: how performance is measured.
        curve: performance at each masking ratio, from 0 to 1 in equal steps.
        acu: area between the random curve and this one (Equation 3): positive where masking by this measure hurts more.
        racu: acu as a share of the area between the random curve and its end; None with `reason` if there is no such
            area.
        signed: whether the measure tells for from against; then racu has no upper bound of 1.
        n: instances that both this measure and the random one have a curve for; of several runs, the fewest.
        skipped: instances that they do not; of several runs, the most.
        over: what the intervals are over: resampled instances of one run, or seeds, one run each.
        p_values: in-distribution p-value of the data set at each masking ratio; None if it was not tested.
    """

    method: str
    metric: Performance
    curve: tuple[Interval, ...]
    acu: Interval
    racu: Interval | None
    reason: str | None
    signed: bool
    n: int
    skipped: int
    over: Literal["instances", "seeds"]
    p_values: tuple[float, ...] | None = None

    @property
    def ratios(self) -> tuple[float, ...]:
        """The share of words masked at each point of the curve."""
        return tuple(i / (len(self.curve) - 1) for i in range(len(self.curve)))

    def outside(self, alpha: float = 0.05) -> tuple[float, ...]:
        """The masking ratios at which the inputs are not in-distribution: what is measured there is not valid."""
        p_values = self.p_values or ()
        return tuple(ratio for ratio, p in zip(self.ratios, p_values, strict=False) if p < alpha)


@dataclass(frozen=True, slots=True)
class MaskingCurves:
    """Every measure of a run, or of several that differ in their seed, under recursive masking.

    Args:
        baseline: the label of the random measure, whose curve is among `curves`.
        majority: performance of always naming the most frequent class.
        runs: how many runs these are the means of.
    """

    baseline: str
    majority: float
    curves: tuple[MaskingCurve, ...]
    runs: int = 1
