"""Inputs: texts and their words, instances with human annotations, word alignments, datasets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, repeat
from typing import Annotated, Literal, NamedTuple

from verax.types.stored import StoredAs

Performance = Literal["accuracy", "macro_f1", "micro_f1", "matthews"]
"""Performance metric of a classifier on a dataset."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text, its words and their offsets: `raw[start:end] == word`."""

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


@lru_cache(2**14)
def _word(part: int, number: int) -> Unit:
    """The unit of one word; all inputs share it, since most objects of a run would otherwise be units."""
    return (Span(part, number, number + 1),)


@dataclass(frozen=True, slots=True)
class Relation:
    """A span pair as one annotator gave it.

    Args:
        label: kind of relation, such as Synonym or Antonym.
        level: low (words and phrases) or high (larger phrases).
    """

    spans: Unit
    label: str
    level: str
    annotator: str


@dataclass(frozen=True, slots=True)
class Human:
    """Human annotations.

    Args:
        words: indices of the gold words of each part.
        span_pairs: the gold span pairs of all annotators together.
        relations: the span pairs of each annotator, where it is known who gave which.
    """

    words: tuple[tuple[int, ...], ...] | None = None
    span_pairs: tuple[Unit, ...] | None = None
    explanations: tuple[str, ...] = ()
    relations: Annotated[tuple[Relation, ...], StoredAs(json=True, null_if_empty=True)] = ()

    def by_annotator(self) -> dict[str, Human]:
        """The annotations of each annotator whose relations are known."""
        names = sorted({relation.annotator for relation in self.relations})
        given = {
            name: tuple(dict.fromkeys(one.spans for one in self.relations if one.annotator == name)) for name in names
        }
        return {name: Human(span_pairs=pairs) for name, pairs in given.items()}


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
        words = (map(_word, repeat(p), range(len(part.words))) for p, part in enumerate(self.parts))
        return tuple(chain.from_iterable(words))

    @property
    def annotated(self) -> frozenset[tuple[int, int]]:
        """Part and position of each annotated word, or of each word in annotated span pairs if there are only pairs."""
        human = self.human or Human()
        if human.words is not None and any(human.words):
            return frozenset((part, word) for part, words in enumerate(human.words) for word in words)
        spans = [span for pair in human.span_pairs or () for span in pair]
        return frozenset((span.part, word) for span in spans for word in range(span.start, span.end))


Links = tuple[Annotated[tuple[int, int], StoredAs(members=("reference", "translation"))], ...]
"""Pairs of aligned words, by their numbers: one of the reference, one of the translation."""


@dataclass(frozen=True, slots=True)
class GivenAlignment:
    """A word alignment with the same input in another language, the reference, that came with the data.

    Args:
        sure: links of each part, with words counted within the part.
        possible: further links of each part that are not sure, if the data distinguishes them.
    """

    lang: str
    sure: tuple[Links, ...]
    possible: tuple[Links, ...] = ()


@dataclass(frozen=True, slots=True)
class Alignment:
    """Aligned words of an input and its translation (`links`: words are counted over all parts, in reading order)."""

    instance_id: str
    reference_id: str
    aligner: str
    links: Links
    reason: str | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Dataset:
    """Instances and the names of their classes.

    Args:
        provenance: source of the rows: path or name, split, licence, citation.
        maskable: parts whose words may be masked (the paragraph, not the question); None for all.
        aligned: word alignments that came with the data, by instance id.
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

    @property
    def is_partial(self) -> bool:
        """Whether a limit or a sample left inputs out."""
        return bool({"limit", "sample"} & set(self.provenance))
