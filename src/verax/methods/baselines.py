"""Random explanations of each kind: the baselines that methods are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from verax.engine.protocols import Method, requirements
from verax.engine.questions import QuestionGenerator
from verax.methods.pairs import Pairing, pair_attribution, word_pairs
from verax.models.subject import Subject
from verax.models.words import FormFeature, word_form
from verax.types import Attribution, Base, Kind, NoPasses, Passes, Span, Unit, UserError, require_at_least


class _Baseline(NoPasses):
    """What explanations that ask the model nothing have in common."""

    cost: ClassVar[str] = "none"
    base: ClassVar[Base | None] = "random"
    signed: ClassVar[bool] = False
    reference: ClassVar[str] = "baseline"


@dataclass(frozen=True)
class RandomScores(_Baseline):
    """Scores drawn uniformly from [0, 1) for each input and seed."""

    seed: int = 0

    name: ClassVar[str] = "random"
    display: ClassVar[str] = "Random"
    summary: ClassVar[str] = "Random scores: the baseline."
    kind: ClassVar[Kind] = "token"
    version: ClassVar[int] = 1

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """Random scores, without a question."""
        yield from ()
        return x.attribution(x.rng(self.seed).random(x.n_units))


@dataclass(frozen=True)
class ContentFree(_Baseline):
    """Scores by the form of words: what a method has to beat before its agreement across languages means anything.

    Args:
        feature: number of `subwords`, number of `characters`, `position` in the part, number of the `part`, or 1 for
            whatever is `not_punctuation`.
    """

    feature: FormFeature = "subwords"

    name: ClassVar[str] = "content_free"
    display: ClassVar[str] = "Content-free"
    summary: ClassVar[str] = "Scores by the form of words alone: a baseline of agreement across languages."
    reference: ClassVar[str] = "control"
    kind: ClassVar[Kind] = "token"
    base: ClassVar[Base | None] = None
    version: ClassVar[int] = 1

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """The feature of each word, without a question."""
        yield from ()
        return x.attribution(word_form(x, self.feature))


@dataclass(frozen=True)
class RandomInteraction(_Baseline):
    """Scores drawn uniformly from [0, 1) for every pair of words, for each input and seed.

    Args:
        parts: pairs `between` the two parts, or `within` each part.
        directed: draw a score for each direction of a pair.
    """

    parts: Pairing = "between"
    directed: bool = False
    seed: int = 0

    name: ClassVar[str] = "random_interaction"
    display: ClassVar[str] = "Random pairs"
    summary: ClassVar[str] = "Random scores for pairs of words: the baseline of token interactions."
    kind: ClassVar[Kind] = "token_interaction"
    version: ClassVar[int] = 1

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """Random scores, without a question."""
        yield from ()
        drawn = x.rng(self.seed, "random_interaction").random((x.n_units, x.n_units))
        return pair_attribution(x, drawn, self.parts, directed=self.directed)


@dataclass(frozen=True)
class RandomSpan(_Baseline):
    """Random pairs of spans with random scores, as many and as long as those of another method.

    The spans of that method change places with each other and with the words between them, part by part, and stay
    paired: number and lengths of the pairs and the number of words in them are the same, which words they hold is
    random. Without a method to match, parts are cut into runs of random length, and each is paired with a random one.

    Args:
        like: the method whose span pairs are matched; in a run each one that gives span pairs, if left out.
        longest: without `like`, largest number of words in a run; all lengths are equally likely.
        parts: without `like`, pairs `between` the two parts, or `within` each part.
    """

    like: Method | None = None
    longest: int = 4
    parts: Pairing = "between"
    seed: int = 0

    name: ClassVar[str] = "random_span"
    display: ClassVar[str] = "Random spans"
    summary: ClassVar[str] = "Random pairs of spans, as many and as long as a method's: the baseline of spans."
    cost: ClassVar[str] = "as the method that is matched"
    kind: ClassVar[Kind] = "span_interaction"
    version: ClassVar[int] = 2

    def __post_init__(self) -> None:
        require_at_least("random_span", 1, longest=self.longest)
        if self.like is not None and (self.like.kind != self.kind or isinstance(self.like, RandomSpan)):
            raise UserError(f"random_span: like: needs a method that gives span pairs, got {type(self.like).__name__}")

    @property
    def requires(self) -> frozenset[str]:
        """What the matched method asks of a model."""
        return frozenset() if self.like is None else requirements(self.like)

    @property
    def per_layer(self) -> bool:
        """Whether the matched method asks for backward passes in each layer."""
        return bool(getattr(self.like, "per_layer", False))

    def passes(self, n: int) -> Passes:
        """Passes of the matched method, which are known if it runs too."""
        return Passes(0, 0) if self.like is None else self.like.passes(n)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """The questions of the matched method, if there is one."""
        rng = x.rng(self.seed, "random_span")
        if self.like is None:
            units = self._paired(x, rng)
        else:
            matched: Attribution = yield from self.like(x)
            units = _moved(x, matched.units, rng)
        return Attribution(units, rng.random(len(units)), dict(x.encoding.notes))

    def _paired(self, x: Subject, rng: np.random.Generator) -> tuple[Unit, ...]:
        """Each run of a cut paired with a random one, without duplicates."""
        word_pairs(x, self.parts)  # rejects an input without pairs
        runs = self._cut(x, rng)
        units: dict[Unit, None] = {}
        for run in runs:
            inside = self.parts == "within"
            others = [other for other in runs if other != run and (other.part == run.part) == inside]
            if others:
                first, second = sorted((run, others[rng.integers(len(others))]))
                units[first, second] = None
        return tuple(units)

    def _cut(self, x: Subject, rng: np.random.Generator) -> list[Span]:
        """Runs of adjacent words, in reading order; at least two `within` a part of two or more words."""
        runs: list[Span] = []
        left = 0
        for (span,) in x.units:
            if left and runs[-1].part == span.part and runs[-1].end == span.start:
                runs[-1] = runs[-1]._replace(end=span.end)
                left -= 1
            else:
                runs.append(span)
                left = int(rng.integers(self.longest))
        for part in {run.part for run in runs} if self.parts == "within" else ():
            mine = [run for run in runs if run.part == part]
            if len(mine) == 1 and mine[0].end - mine[0].start > 1:
                at = runs.index(mine[0])
                middle = int(rng.integers(mine[0].start + 1, mine[0].end))
                runs[at : at + 1] = [mine[0]._replace(end=middle), mine[0]._replace(start=middle)]
        return runs


def _moved(x: Subject, units: Sequence[Unit], rng: np.random.Generator) -> tuple[Unit, ...]:
    """The units with their spans at random places, of the same lengths, in the same parts.

    Overlapping spans move as one block. Blocks and words outside all spans are shuffled within each stretch of adjacent
    words.
    """
    spans = sorted({span for unit in units for span in unit})
    blocks: list[Span] = []  # what moves as one, in reading order
    for span in sorted([*spans, *(word for (word,) in x.units)], key=lambda one: (one.part, one.start, -one.end)):
        if blocks and blocks[-1].part == span.part and span.start < blocks[-1].end:
            blocks[-1] = blocks[-1]._replace(end=max(span.end, blocks[-1].end))
        else:
            blocks.append(span)
    stretches: list[list[Span]] = []
    for block in blocks:
        last = stretches[-1][-1] if stretches else None
        if last is not None and (last.part, last.end) == (block.part, block.start):
            stretches[-1].append(block)
        else:
            stretches.append([block])
    shift: dict[Span, int] = {}
    for stretch in stretches:
        at = stretch[0].start
        for number in rng.permutation(len(stretch)).tolist():
            shift[stretch[number]] = at - stretch[number].start
            at += stretch[number].end - stretch[number].start
    moved = {}
    for span in spans:
        by = next(s for block, s in shift.items() if block.part == span.part and block.start <= span.start < block.end)
        moved[span] = span._replace(start=span.start + by, end=span.end + by)
    return tuple(tuple(sorted(moved[span] for span in unit)) for unit in units)
