"""Random spans: the baseline of all explanations by span pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from verax.engine.questions import QuestionGenerator
from verax.methods.pairs import Pairing, word_pairs
from verax.models.subject import Subject
from verax.types import Attribution, Base, Kind, Passes, Span, Unit, UserError


@dataclass(frozen=True)
class RandomSpan:
    """Parts are cut into runs of random length, each run is paired with a random other one, with a random score.

    Args:
        longest: largest number of words in a run; all lengths are equally likely.
        parts: pairs `between` the two parts, or `within` each part.
        seed: an input gets the same spans for the same seed.
    """

    longest: int = 4
    parts: Pairing = "between"
    seed: int = 0

    name: ClassVar[str] = "random_span"
    display: ClassVar[str] = "Random spans"
    summary: ClassVar[str] = "Random pairs of spans: the baseline of span interactions."
    cost: ClassVar[str] = "none"
    kind: ClassVar[Kind] = "span_interaction"
    base: ClassVar[Base] = "random"
    signed: ClassVar[bool] = False
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "baseline"

    def __post_init__(self) -> None:
        if self.longest < 1:
            raise UserError(f"random_span: longest: got {self.longest}, it must be at least 1")

    def passes(self, n: int) -> Passes:
        """No pass."""
        return Passes(0, 0)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """Random spans and scores, without a question."""
        yield from ()
        word_pairs(x, self.parts)  # rejects an input without pairs
        rng = x.rng(self.seed, "random_span")
        runs = self._cut(x, rng)
        units: dict[Unit, None] = {}
        for run in runs:
            inside = self.parts == "within"
            others = [other for other in runs if other != run and (other.part == run.part) == inside]
            if others:
                first, second = sorted((run, others[rng.integers(len(others))]))
                units[first, second] = None
        return Attribution(tuple(units), rng.random(len(units)), dict(x.encoding.notes))

    def _cut(self, x: Subject, rng: np.random.Generator) -> list[Span]:
        """Runs of adjacent words, in reading order; at least two `within` a part of two or more words."""
        runs = self._drawn(x, rng)
        for part in {run.part for run in runs} if self.parts == "within" else ():
            mine = [run for run in runs if run.part == part]
            if len(mine) == 1 and mine[0].end - mine[0].start > 1:
                at = runs.index(mine[0])
                middle = int(rng.integers(mine[0].start + 1, mine[0].end))
                runs[at : at + 1] = [mine[0]._replace(end=middle), mine[0]._replace(start=middle)]
        return runs

    def _drawn(self, x: Subject, rng: np.random.Generator) -> list[Span]:
        runs: list[Span] = []
        left = 0
        for unit in x.units:
            span = unit[0]
            if left and runs[-1].part == span.part and runs[-1].end == span.start:
                runs[-1] = runs[-1]._replace(end=span.end)
                left -= 1
            else:
                runs.append(span)
                left = int(rng.integers(self.longest))
        return runs
