"""Agreement with human annotations: are annotated words, or pairs of words, ranked first?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from sklearn.metrics import average_precision_score

from verax.metrics.ranking import (
    Budget,
    BudgetSource,
    WordPlace,
    by_budget,
    check_budget,
    top_words,
    word_scores,
    words_of,
)
from verax.models.subject import Subject
from verax.registry import ShortForms
from verax.types import (
    BoolArray,
    FloatArray,
    Highlight,
    Human,
    Measured,
    MeasuredProperty,
    NoPasses,
    Span,
    Undefined,
    UserError,
)


class _Agreement(NoPasses):
    """What metrics of agreement have in common."""

    cost: ClassVar[str] = "none"
    measures: ClassVar[MeasuredProperty] = "agreement"
    higher_is_better: ClassVar[bool] = True
    range: ClassVar[tuple[float | None, float | None]] = (0.0, 1.0)


@dataclass(frozen=True)
class Plausibility(_Agreement):
    """Average precision of the word scores against annotated words; higher is better."""

    name: ClassVar[str] = "plausibility"
    display: ClassVar[str] = "Plausibility"
    summary: ClassVar[str] = "Average precision of word scores against human highlights; higher is better."
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Zaman and Belinkov 2022, Equation 7"

    def __call__(self, x: Subject, highlight: Highlight) -> Measured:
        """Over the words of all parts, in one ranking."""
        return Measured(average_precision(x, highlight))


@dataclass(frozen=True)
class Agreement(_Agreement):
    """Average precision of the scores against human annotations; higher is better.

    Args:
        level: `token` ranks the words of all parts, by the largest score of the units that contain each, against the
            gold words; `interaction` ranks pairs of words against the gold span pairs, by the largest score of the
            units that contain both, and is not defined for scores of words.
        within: `all` words, or only those within the matched `budget`; other gold words count as missed, so that the
            value is at most the `maximum` in its series.
        budget: which span pairs set the budget, as in comprehensiveness_flips.
        k: the budget is theta(x, k).
        gold: `all` annotations together, or those of `each` annotator by itself: then the value is the mean over the
            annotators, and their own values are kept.
    """

    level: Literal["token", "interaction"] = "token"
    within: Literal["all", "budget"] = "all"
    budget: BudgetSource = "base"
    k: int = 3
    gold: Literal["all", "each"] = "all"

    name: ClassVar[str] = "agreement"
    display: ClassVar[str] = "Agreement"
    short_forms: ClassVar[ShortForms] = {
        "level": {"token": "words", "interaction": "pairs"},
        "within": {"all": "", "budget": "matched"},
        "gold": {"all": "", "each": "each annotator"},
    }
    summary: ClassVar[str] = "Average precision against human highlights, of words or of word pairs; higher is better."
    version: ClassVar[int] = 2
    reference: ClassVar[str] = (
        "DeYoung et al. 2020, ERASER, Section 4.1; Sun, Atanasova and Augenstein 2024, Section 2.3"
    )

    def __post_init__(self) -> None:
        check_budget("agreement", self.k)
        if self.level == "interaction" and self.within == "budget":
            raise UserError("agreement: within: pairs of words have no budget; with level: interaction use all")

    @property
    def needs(self) -> frozenset[str]:
        """The budget, if it is used."""
        return frozenset({"budget"}) if self.within == "budget" else frozenset()

    def __call__(self, x: Subject, highlight: Highlight, *, budget: Budget | None = None) -> Measured:
        """Over the words of all parts in one ranking, or over all pairs that the explanation could score."""
        if self.gold == "each":
            return self._mean_over_annotators(x, highlight, budget)
        if self.level == "interaction":
            gold, scores = _gold_pairs(x, highlight)
            return Measured(float(average_precision_score(gold, scores)))
        if budget is None:
            return Measured(average_precision(x, highlight))
        gold, scores = gold_words(x), word_scores(x, highlight)
        masks = [top_words(x, highlight, one.at(self.k)) for one in (budget, *budget.others)]
        value, *others = (_within(gold, scores, chosen) for chosen in masks)
        most = {"maximum": (min(1.0, float(masks[0].sum() / gold.sum())),)}
        return Measured(value, series=most | by_budget(others))

    def _mean_over_annotators(self, x: Subject, highlight: Highlight, budget: Budget | None) -> Measured:
        """The mean of the values against what each annotator gave; one who gave nothing does not count."""
        together = replace(self, gold="all")
        values, why = [], Undefined("no_gold", "it is not known which annotator gave which annotation of this input")
        for human in (x.instance.human or Human()).by_annotator().values():
            alone = Subject(replace(x.instance, human=human), x.model, x.parts)
            try:
                values.append(together(alone, highlight, budget=budget).value or 0.0)
            except Undefined as undefined:
                why = undefined
        if not values:
            raise why
        return Measured(float(np.mean(values)), series={"annotators": tuple(values)})


def _within(gold: BoolArray, scores: FloatArray, chosen: BoolArray) -> float:
    """Average precision of the chosen words; gold words that were not chosen count as missed: recall ends below 1."""
    if not gold[chosen].any():
        return 0.0
    return float(gold[chosen].sum() / gold.sum() * average_precision_score(gold[chosen], scores[chosen]))


def average_precision(x: Subject, highlight: Highlight) -> float:
    """Average precision of the gold words among all words of x."""
    return float(average_precision_score(gold_words(x), word_scores(x, highlight)))


def gold_words(x: Subject) -> BoolArray:
    """Mask of annotated words, or of the words in annotated span pairs if there are only pairs; shape [n_units]."""
    marked = x.instance.annotated
    if not marked:
        raise Undefined("no_gold", "no word of this input is annotated")
    gold = np.array([word in marked for word in x.words])
    if not gold.any():
        raise Undefined("no_gold", "every annotated word was cut off or removed")
    return gold


def _gold_pairs(x: Subject, highlight: Highlight) -> tuple[BoolArray, FloatArray]:
    """For each pair of words, whether it is annotated, and its score; pairs outside all units come last, tied."""
    if highlight.kind == "token":
        raise Undefined("needs_interactions", "scores of words have no pairs; level: token measures them")
    human = x.instance.human
    if human is None or not human.span_pairs:
        raise Undefined("no_gold", "no pair of spans is annotated in this input")
    number = {word: i for i, word in enumerate(x.words)}
    part = np.array([part for part, _ in x.words])
    same = part[:, None] == part[None, :]
    inside = any(unit[0].part == unit[1].part for unit in highlight.units)
    pairs = np.triu(same if inside else ~same, k=1)
    gold = np.zeros(pairs.shape, bool)
    scores = np.full(pairs.shape, -np.inf)
    for first, second in human.span_pairs:
        _spread(gold, number, first, second, True)
    for (first, second), score in zip(highlight.units, highlight.scores, strict=True):
        _spread(scores, number, first, second, score)
    gold, scores = gold[pairs], scores[pairs]
    if not gold.any():
        raise Undefined("no_gold", "no annotated pair of spans lies where the explanation pairs words")
    unpaired = np.isneginf(scores)
    if not unpaired.all():
        scores[unpaired] = scores[~unpaired].min() - 1.0
    else:
        scores[:] = 0.0
    return gold, scores


def _spread(table: np.ndarray, number: dict[WordPlace, int], first: Span, second: Span, value: float) -> None:
    """Raise the entries of all word pairs of two spans to a value, both ways."""
    i = [number[word] for word in words_of((first,)) if word in number]
    j = [number[word] for word in words_of((second,)) if word in number]
    for block in (np.ix_(i, j), np.ix_(j, i)):
        table[block] = np.maximum(table[block], value)
