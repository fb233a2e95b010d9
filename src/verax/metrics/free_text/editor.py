"""Editors: they propose edits of an input that may change the prediction."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from verax.engine.questions import QuestionGenerator
from verax.metrics.free_text.insertion import Insertion
from verax.models.subject import Subject
from verax.types import Instance, Text, UserError


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
            x: the input.
            wanted: classes that the prediction should change to.
            parts: parts that may be edited, all by default.
        """


@runtime_checkable
class ParticularEditor(Protocol):
    """An editor that does not fit every input, and can check that in advance."""

    def check(self, labels: Sequence[str], parts: int) -> None:
        """Reject inputs with this number of parts and these classes, if the editor does not fit them."""


@runtime_checkable
class ChanceEditor(Protocol):
    """An editor that draws random words: the noise floor is drawn like its edits."""

    def draw(
        self, instance: Instance, *, count: int, seed: int, parts: Collection[int] | None
    ) -> tuple[Insertion, ...]:
        """Up to `count` insertions, drawn as the editor does with another seed."""


def open_parts(instance: Instance, parts: Collection[int] | None) -> list[int]:
    """Numbers of the parts that may be edited: those named, or all, in order."""
    return [number for number in range(len(instance.parts)) if parts is None or number in parts]


def places(text: Text) -> int:
    """Number of positions for a word: before each word, and at the end unless a full stop closes it."""
    return len(text.words) + (has_letter(text.words[-1:]) if text.words else 0)


def has_letter(words: Sequence[str]) -> bool:
    """Whether words contain more than punctuation and digits."""
    return any(sign.isalpha() for word in words for sign in word)


def check_search(who: str, positions: int, candidates: int, seed: int) -> None:
    """Reject invalid parameters of a search."""
    for name, value, least in (("positions", positions, 1), ("candidates", candidates, 1), ("seed", seed, 0)):
        if value < least:
            raise UserError(f"{who}: {name} must be {least} or more, got {value}")
