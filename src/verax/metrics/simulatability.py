"""Simulatability: does an agent that sees the explanation predict the model's answer better than one that does not?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from verax.metrics.ranking import Budget, BudgetSource, WordPlace, best_first, pieces_up_to, words_of
from verax.models.subject import Subject
from verax.train.agent import CLOSE, OPEN, rank_mark
from verax.train.loop import FineTuning
from verax.types import (
    Highlight,
    Instance,
    Measured,
    MeasuredProperty,
    NoPasses,
    Span,
    Text,
    Undefined,
    UserError,
    require_at_least,
)

InsertionStyle = Literal["symbol", "text"]


class Answers(NamedTuple):
    """Numbers of classes: that of the model, and those predicted by the agents of each seed, with and without."""

    model: int
    shown: tuple[int, ...]
    without: tuple[int, ...]


@dataclass(frozen=True)
class Simulatability(NoPasses):
    """Share of agents that predict the model's class given the explanation, minus the share without it.

    An agent has the architecture of the model and learns to predict the model's class. It is trained on 60 % of the
    inputs, its best epoch is selected on 20 %, and it is measured on the rest. The predicted classes are kept, from
    which macro F1 on the data set, SF and RSF are computed.

    Args:
        insertion: how the explanation is inserted into the input: `symbol` or `text`.
        k: as many words are shown as the top k span pairs contain.
        budget: `base` takes the span pairs of the same base; `shared` the mean over all span explanations of the run.
        seeds: number of agents for each method, and of agents without explanations.
        base: the checkpoint that agents start from; by default the base of the model, if it is known.
        lessons: folder of a run of the same model and methods on another split: agents learn from its explanations,
            and all inputs of this run are held out.
        epochs, learning_rate, batch_size: of their training.
        seed: of the split into training, selection and test inputs.
    """

    insertion: InsertionStyle = "symbol"
    k: int = 1
    budget: BudgetSource = "base"
    seeds: int = 3
    base: str | None = None
    lessons: str | None = None
    epochs: int = 10
    learning_rate: float = 5e-5
    batch_size: int = 16
    seed: int = 0

    name: ClassVar[str] = "simulatability"
    display: ClassVar[str] = "Simulatability"
    summary: ClassVar[str] = (
        "Whether agents that see the explanation predict the model's class better; gives SF and RSF."
    )
    cost: ClassVar[str] = "none; trains `seeds` agents per method, and `seeds` without explanations"
    measures: ClassVar[MeasuredProperty] = "simulatability"
    needs: ClassVar[frozenset[str]] = frozenset({"agents"})
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Sun, Atanasova and Augenstein 2024, Equations 12 to 15 and Appendix B"
    higher_is_better: ClassVar[bool] = True
    range: ClassVar[tuple[float | None, float | None]] = (-1.0, 1.0)

    def __post_init__(self) -> None:
        require_at_least(
            "simulatability", 1, k=self.k, seeds=self.seeds, epochs=self.epochs, batch_size=self.batch_size
        )
        if not 0 < self.learning_rate < 1:
            raise UserError(f"simulatability: learning_rate: got {self.learning_rate:g}, it must lie between 0 and 1")

    def shown(self, instance: Instance, highlight: Highlight, budget: Budget) -> tuple[str, ...]:
        """The parts of an instance as an agent with explanations reads them."""
        return with_explanation(instance, highlight, budget.at(self.k), self.insertion)

    def recipe(self, number: int) -> FineTuning:
        """Training of the agents of one seed."""
        return FineTuning(epochs=self.epochs, batch_size=self.batch_size, learning_rate=self.learning_rate, seed=number)

    def __call__(self, x: Subject, highlight: Highlight, *, agents: Mapping[str, Answers]) -> Measured:
        """The difference of the shares, and the predicted classes; `agents` holds the answers by held-out instance."""
        if highlight.instance_id not in agents:
            raise Undefined("not_held_out", "the agents were trained on this input")
        model, shown, without = agents[highlight.instance_id]
        right = [float(np.mean([label == model for label in group])) for group in (shown, without)]
        series = {"model": (float(model),), "with": tuple(map(float, shown)), "without": tuple(map(float, without))}
        return Measured(right[0] - right[1], series=series)


def with_explanation(
    instance: Instance, highlight: Highlight, max_words: int, insertion: InsertionStyle
) -> tuple[str, ...]:
    """The texts of an instance with the words of `pieces_up_to` inserted (Appendix B).

    Args:
        insertion: `symbol` puts `<<` and `>>` around each word or span, followed by the rank of its piece; `text`
            repeats the pieces after the last part, best first.
    """
    pieces = list(_pieces(highlight, max_words))
    if insertion == "symbol":
        return tuple(_marked(text, number, pieces) for number, text in enumerate(instance.parts))
    appended = "; ".join(
        ", ".join(" ".join(_words(instance, run) for run in side) for side in sides) for sides in pieces if sides
    )
    *parts, last = (text.raw for text in instance.parts)
    return (*parts, f"{last} {appended}" if appended else last)


def _pieces(highlight: Highlight, max_words: int) -> Iterator[list[list[Span]]]:
    """Each piece as its sides, and each side as its runs of selected words; empty sides are omitted."""
    order = best_first(np.array(highlight.scores)).tolist()
    for number, words in zip(order, pieces_up_to(highlight, max_words), strict=False):
        kept = set(words)
        sides = [_runs([word for word in words_of((span,)) if word in kept]) for span in highlight.units[number]]
        yield [side for side in sides if side]


def _runs(words: Sequence[WordPlace]) -> list[Span]:
    """Neighbouring words as spans."""
    runs: list[Span] = []
    for part, word in words:
        if runs and runs[-1].part == part and runs[-1].end == word:
            runs[-1] = runs[-1]._replace(end=word + 1)
        else:
            runs.append(Span(part, word, word + 1))
    return runs


def _marked(text: Text, part: int, pieces: Sequence[Sequence[Sequence[Span]]]) -> str:
    """The text with each of its runs in brackets, which may overlap; a run of two pieces has both their ranks."""
    ranks: dict[Span, list[int]] = defaultdict(list)
    for rank, sides in enumerate(pieces, 1):
        for run in dict.fromkeys(run for side in sides for run in side if run.part == part):
            ranks[run].append(rank)
    marks = []
    for (_, start, end), own in ranks.items():
        first, last = text.offsets[start][0], text.offsets[end - 1][1]
        # before the space in front of the word: the symbol brings its own space, and the word keeps its own
        before = len(text.raw[:first].rstrip())
        marks.append(((before, 1, -last), f" {OPEN}"))
        marks.append(((last, 0, -first), " ".join(["", CLOSE, *map(rank_mark, own)])))
    marked, at = "", 0
    for (place, *_), mark in sorted(marks):  # closing marks first; inner pairs are inside outer ones
        marked += text.raw[at:place] + mark
        at = place
    marked += text.raw[at:]
    return marked.removeprefix(" ") if marked.startswith(f" {OPEN}") else marked


def _words(instance: Instance, run: Span) -> str:
    """A run of words as in the text."""
    text = instance.parts[run.part]
    return text.raw[text.offsets[run.start][0] : text.offsets[run.end - 1][1]]
