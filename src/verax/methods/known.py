"""Explanations of known truth, made from annotated reasons: true, partly correct, random, plausible, inverted.

They put metrics to the test: of two explanations a metric should prefer the truer one. The reasons are the annotations
of an input, so they are only as true as these: exact for the data `rules/...` with the models `rules/...`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import ClassVar, Literal

import numpy as np

from verax.engine.questions import QuestionGenerator
from verax.methods.pairs import word_pairs
from verax.models.subject import Subject
from verax.types import Attribution, BoolArray, FloatArray, Kind, NoPasses, Span, Undefined, Unit

Truth = Literal["true", "partial", "random", "plausible", "inverted"]
"""`true` ranks the reasons first, `random` nothing in particular, `plausible` wrong content words first, `inverted`
everything with a reason last. `partial` ranks wrong pieces first, as many as it leaves reasons out but at least one,
then the other half of the reasons."""

_LETTERS = 4
"""A word of so many letters counts as a content word."""
_NOISE, _SECOND = 0.1, 0.9


class _Known(NoPasses):
    """What explanations of known truth have in common."""

    cost: ClassVar[str] = "none"
    recursive: ClassVar[bool] = True
    reference: ClassVar[str] = "control"


@dataclass(frozen=True)
class KnownReasons(_Known):
    """Scores of words, from the annotated words.

    Args:
        truth: how true it is.
        seed: of the wrong words, and of the order of words that do not matter.
    """

    truth: Truth = "true"
    seed: int = 0

    name: ClassVar[str] = "known_reasons"
    display: ClassVar[str] = "Known reasons"
    summary: ClassVar[str] = "Words that are known to decide, or wrong ones: an explanation of known truth."
    kind: ClassVar[Kind] = "token"
    version: ClassVar[int] = 1

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """Scores from the annotation, without a question."""
        yield from ()
        gold = np.array([word in x.instance.annotated for word in x.words])
        return _explanation(x, x.units, gold, gold, self)


@dataclass(frozen=True)
class KnownPairs(_Known):
    """Scores of pairs of words between two parts, from the annotated span pairs; arguments as for `known_reasons`."""

    truth: Truth = "true"
    seed: int = 0

    name: ClassVar[str] = "known_pairs"
    display: ClassVar[str] = "Known pairs"
    summary: ClassVar[str] = "Word pairs that are known to decide, or wrong ones: an explanation of known truth."
    kind: ClassVar[Kind] = "token_interaction"
    version: ClassVar[int] = 1

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """Scores from the annotation, without a question."""
        yield from ()
        pairs = _span_pairs(x)
        first, second = word_pairs(x, "between").T
        units = tuple((x.units[i][0], x.units[j][0]) for i, j in zip(first.tolist(), second.tolist(), strict=True))
        gold = np.array([any(_inside(a, s) and _inside(b, t) for s, t in pairs) for a, b in units])
        return _explanation(x, units, gold, _touching(units, pairs), self)


@dataclass(frozen=True)
class KnownSpans(_Known):
    """Scores of pairs of spans between two parts, from the annotated span pairs; arguments as for `known_reasons`.

    The other words of a part are cut into spans as long as the first annotated one there.
    """

    truth: Truth = "true"
    seed: int = 0

    name: ClassVar[str] = "known_spans"
    display: ClassVar[str] = "Known spans"
    summary: ClassVar[str] = "Span pairs that are known to decide, or wrong ones: an explanation of known truth."
    kind: ClassVar[Kind] = "span_interaction"
    version: ClassVar[int] = 1

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """Scores from the annotation, without a question."""
        yield from ()
        pairs = _span_pairs(x)
        sides = [_cut(x, part, [pair[part] for pair in pairs]) for part in (0, 1)]
        units = tuple(product(*sides))
        gold = np.array([unit in pairs for unit in units])
        return _explanation(x, units, gold, _touching(units, pairs), self)


_AnyKnown = KnownReasons | KnownPairs | KnownSpans


def _explanation(
    x: Subject, units: Sequence[Unit], gold: BoolArray, touching: BoolArray, method: _AnyKnown
) -> Attribution:
    scores = known_scores(x, units, gold, touching, method.truth, method.seed, method.name)
    return Attribution(tuple(units), scores, dict(x.encoding.notes))


def known_scores(
    x: Subject,
    units: Sequence[Unit],
    gold: BoolArray,
    touching: BoolArray,
    truth: Truth,
    seed: int,
    name: str = KnownReasons.name,
) -> FloatArray:
    """Scores of units, shape [units]; `gold` are the true ones, `touching` those with any word of a reason."""
    if not gold.any():
        raise Undefined("no_gold", "no annotated reason lies where this kind of explanation could find it")
    # the same for every truth, so that two explanations of an input differ in nothing but their truth
    rng = x.rng(seed, name)
    scores: FloatArray = _NOISE * rng.random(len(units))
    order = rng.permutation(len(units))
    content = np.array([_is_content(x, unit) for unit in units])
    candidates = [*order[(~touching & content)[order]], *order[(~touching & ~content)[order]]]
    true = order[gold[order]]
    if truth == "true":
        scores[true] = 1.0
    elif truth == "inverted":
        scores = -scores - touching
    elif truth == "plausible":
        scores[candidates[: len(true)]] = 1.0
    elif truth == "partial":
        left_out = len(true) // 2
        scores[candidates[: max(1, left_out)]] = 1.0
        scores[true[left_out:]] = _SECOND
    return scores


def _is_content(x: Subject, unit: Unit) -> bool:
    words = [word for span in unit for word in x.instance.parts[span.part].words[span.start : span.end]]
    return all(len(word) >= _LETTERS and word.isalpha() for word in words)


def _span_pairs(x: Subject) -> list[Unit]:
    """Annotated pairs of spans between the two parts; raises Undefined if there are none."""
    if len(x.instance.parts) != 2:
        raise Undefined("needs_two_parts", f"the input has {len(x.instance.parts)}")
    human = x.instance.human
    ordered = [tuple(sorted(pair)) for pair in (human.span_pairs if human else None) or ()]
    pairs = [pair for pair in ordered if [span.part for span in pair] == [0, 1]]
    if not pairs:
        raise Undefined("no_gold", "no pair of spans is annotated in this input")
    return pairs


def _inside(span: Span, other: Span) -> bool:
    return span.part == other.part and other.start <= span.start and span.end <= other.end


def _touching(units: Sequence[Unit], pairs: Sequence[Unit]) -> BoolArray:
    """Units that share a word with an annotated pair."""
    spans = [span for pair in pairs for span in pair]
    return np.array(
        [any(a.part == b.part and a.start < b.end and b.start < a.end for a in unit for b in spans) for unit in units]
    )


def _cut(x: Subject, part: int, annotated: Sequence[Span]) -> list[Span]:
    """The words of a part as spans: annotated ones that do not overlap, and runs of others, as long as the first."""
    longest = annotated[0].end - annotated[0].start
    owner = {word: span for span in reversed(annotated) for word in range(span.start, span.end)}
    runs: list[Span] = []
    for (word,) in x.units:
        if word.part != part:
            continue
        span = owner.get(word.start)
        if span is not None:
            if span not in runs:
                runs.append(span)
        elif runs and runs[-1] not in annotated and runs[-1].end == word.start and word.end - runs[-1].start <= longest:
            runs[-1] = runs[-1]._replace(end=word.end)
        else:
            runs.append(word)
    return runs
