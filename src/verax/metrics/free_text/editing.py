"""Edits of an input: inserted words, the editors that propose them, and random ones for comparison."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice, zip_longest
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np

from verax.data.text import needs_space
from verax.engine.questions import QuestionGenerator
from verax.models.subject import Subject
from verax.stats.drawing import rng_of
from verax.types import Instance, Span, Text

SpotT = TypeVar("SpotT")

_TRIES = 64
"""Number of draws for each word: far more than needed, unless hardly any entry of the vocabulary fits."""


@dataclass(frozen=True, slots=True)
class Insertion:
    """Consecutive words to insert into one part of an instance.

    Args:
        position: number of the word before which they go; the number of words of the part for its end.
    """

    part: int
    position: int
    words: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.words or not all(word.strip() for word in self.words):
            raise ValueError(f"an insertion needs words, got {self.words}")

    @property
    def text(self) -> str:
        """The words as in the edited input."""
        return " ".join(self.words)

    @property
    def span(self) -> Span:
        """Span of the words in the edited input."""
        return Span(self.part, self.position, self.position + len(self.words))

    def apply(self, instance: Instance) -> Instance:
        """The edited input. All other words are unchanged, including inflection, capitals and a/an.

        It has neither the label nor the annotations of the input.
        """
        if not 0 <= self.part < len(instance.parts):
            raise ValueError(f"instance {instance.id!r} has {len(instance.parts)} parts, no part {self.part}")
        parts = list(instance.parts)
        parts[self.part] = self._into(parts[self.part])
        name = f"{instance.id}+{self.part}.{self.position}:{self.text}"
        return replace(instance, id=name, parts=tuple(parts), label=None, parallel_id=None, human=None)

    def _into(self, text: Text) -> Text:
        if not 0 <= self.position <= len(text.words):
            raise ValueError(f"a text of {len(text.words)} words has no position {self.position}")
        inside = self.position < len(text.words)
        ends = [end for _, end in text.offsets]
        place = text.offsets[self.position][0] if inside else ends[-1] if ends else 0
        before = " " if needs_space(text.raw[:place]) else ""
        shift = len(before) + len(self.text) + inside
        raw = text.raw[:place] + before + self.text + " " * inside + text.raw[place:]
        own, start = [], place + len(before)
        for word in self.words:
            own.append((start, start + len(word)))
            start += len(word) + 1
        moved = [(start + shift, end + shift) for start, end in text.offsets[self.position :]]
        words = (*text.words[: self.position], *self.words, *text.words[self.position :])
        return Text(raw, words, (*text.offsets[: self.position], *own, *moved), text.lang)


class Proposal(NamedTuple):
    """An edit, and the class that it aims at; empty if it aims at none."""

    insertion: Insertion
    wanted: str = ""


Proposals = tuple[Proposal, ...]


@runtime_checkable
class Editor(Protocol):
    """Searches for words to insert (Atanasova et al. 2023, Section 2.1). Its fields are its parameters."""

    @property
    def provenance(self) -> Mapping[str, str]:
        """Everything that determines the edits besides the parameters."""

    def max_inputs(self, parts: int, labels: int) -> int:
        """Largest number of edits of an input, given the number of parts to edit and of classes."""

    def propose(
        self, x: Subject, wanted: Sequence[str], parts: Collection[int] | None = None
    ) -> QuestionGenerator[Proposals]:
        """The edits to try, in the order of the search; a generator, since an editor may ask a model.

        Args:
            wanted: classes that the prediction should change to.
        """


@runtime_checkable
class SelectiveEditor(Protocol):
    """An editor that does not fit every input, and can check that in advance."""

    def check(self, labels: Sequence[str], parts: int) -> None:
        """Reject inputs with this number of parts and these classes, if the editor does not fit them."""


@runtime_checkable
class DrawingEditor(Protocol):
    """An editor that draws random words: the noise floor is drawn like its edits."""

    def draw(
        self, instance: Instance, *, count: int, seed: int, parts: Collection[int] | None
    ) -> tuple[Insertion, ...]:
        """Up to `count` insertions, drawn as the editor does with another seed."""


def editable_parts(instance: Instance, parts: Collection[int] | None) -> list[int]:
    """Numbers of the parts that may be edited: those named, or all, in order."""
    return [number for number in range(len(instance.parts)) if parts is None or number in parts]


def position_count(text: Text) -> int:
    """Number of positions for a word: before each word, and at the end unless a full stop closes it."""
    return len(text.words) + (has_letter(text.words[-1:]) if text.words else 0)


def spread_evenly(positions: Mapping[SpotT, Sequence[int]], rng: np.random.Generator) -> list[tuple[SpotT, int]]:
    """Every position, in an order whose beginning is spread evenly over the targets: parts, or parts and classes.

    The first positions of all targets come first, in a random order of targets, then the second ones, and so on. So
    however few are taken, no target has two more than another, unless that one has no more.
    """
    targets = list(positions)
    shuffled = [targets[i] for i in rng.permutation(len(targets))]
    rounds = zip_longest(*([(target, place) for place in positions[target]] for target in shuffled))
    return [spot for several in rounds for spot in several if spot is not None]


def has_letter(words: Sequence[str]) -> bool:
    """Whether words contain more than punctuation and digits."""
    return any(sign.isalpha() for word in words for sign in word)


def random_insertions(
    instance: Instance,
    like: Sequence[Sequence[str]],
    vocabulary: Sequence[str],
    *,
    count: int,
    seed: int,
    stops: Collection[str] = (),
    parts: Collection[int] | None = None,
) -> tuple[Insertion, ...]:
    """`count` random insertions at random positions: the noise floor of the counterfactual test.

    An insertion resembles one of the editor's: as many words, and as many function words, because these are in most
    explanations and so are mentioned far more often by accident.

    Args:
        like: words of the edits to resemble, in turn; one content word if there are none.
        vocabulary: words, as often as they occur; those without a letter are not drawn.
        stops: function words, in lower case.
    """
    rng = rng_of(seed, (part.raw for part in instance.parts), b"noise")
    fit = [number for number in editable_parts(instance, parts) if position_count(instance.parts[number])]
    if not fit or not vocabulary:
        return ()
    made = []
    for model in islice(cycle(like or (("",),)), count):
        part = fit[rng.integers(len(fit))]
        position = int(rng.integers(position_count(instance.parts[part])))
        words = _words(vocabulary, model, stops, rng)
        made += [Insertion(part, position, words)] if len(words) == len(model) else []
    return tuple(made)


def _words(
    vocabulary: Sequence[str], like: Sequence[str], stops: Collection[str], rng: np.random.Generator
) -> tuple[str, ...]:
    """For each word of `like` a function word if it is one, else a content word; fewer if the vocabulary has none."""
    words: list[str] = []
    for model in like:
        drawn = (vocabulary[i] for i in rng.integers(len(vocabulary), size=_TRIES))
        same = (word for word in drawn if has_letter([word]) and (word.lower() in stops) == (model.lower() in stops))
        words += islice(same, 1)
    return tuple(words)
