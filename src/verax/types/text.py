"""Inputs: texts and their words, instances with human annotations, word alignments, datasets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, NamedTuple

from verax.types.stored import StoredAs

Performance = Literal["accuracy", "macro_f1", "micro_f1", "matthews"]
"""How well a classifier does on a data set."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text, its words and where they stand: `raw[start:end] == word`, in every script."""

    raw: str
    words: tuple[str, ...]
    offsets: tuple[Annotated[tuple[int, int], StoredAs(members=("start", "end"))], ...]
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


Links = tuple[Annotated[tuple[int, int], StoredAs(members=("reference", "translation"))], ...]
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
