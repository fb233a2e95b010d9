"""What proposes edits of an input that may change the prediction: one way for each editor."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from verax.engine.questions import QuestionGenerator
from verax.metrics.free_text.insertion import Insertion
from verax.models.subject import Subject
from verax.types import Instance, Text, UserError


class Proposal(NamedTuple):
    """An edit, and the class that it is to lead to; empty if it aims at none."""

    insertion: Insertion
    wanted: str = ""


Proposals = tuple[Proposal, ...]


@runtime_checkable
class Editor(Protocol):
    """Searches for words to put in (Atanasova et al. 2023, Section 2.1). Its fields are its parameters."""

    @property
    def provenance(self) -> Mapping[str, str]:
        """What decides the edits beside the parameters."""

    def max_inputs(self, parts: int, labels: int) -> int:
        """How many edits it proposes at most for an input with so many parts to edit, and so many classes."""

    def propose(
        self, x: Subject, wanted: Sequence[str], parts: Collection[int] | None = None
    ) -> QuestionGenerator[Proposals]:
        """The edits to try, in the order of the search; a generator, since an editor may be a model itself.

        Args:
            x: the input.
            wanted: the classes that the prediction is to change to.
            parts: the parts that may be edited, all by default.
        """


@runtime_checkable
class ParticularEditor(Protocol):
    """What an editor has beside the rest if it does not fit every input, and can tell before anything is asked."""

    def check(self, labels: Sequence[str], parts: int) -> None:
        """Refuse inputs of so many parts and these classes, if the editor is not made for them."""


@runtime_checkable
class ChanceEditor(Protocol):
    """What an editor has beside the rest if it draws its words by chance: the noise floor is drawn like its edits."""

    def draw(
        self, instance: Instance, *, count: int, seed: int, parts: Collection[int] | None
    ) -> tuple[Insertion, ...]:
        """So many insertions, or fewer where there are no more, as the editor makes them by another seed."""


def open_parts(instance: Instance, parts: Collection[int] | None) -> list[int]:
    """The numbers of the parts that may be edited: of those that are named, or of all, in their order."""
    return [number for number in range(len(instance.parts)) if parts is None or number in parts]


def places(text: Text) -> int:
    """How many positions a word can be put in at: before each word, and at the end where no full stop closes it."""
    return len(text.words) + (has_letter(text.words[-1:]) if text.words else 0)


def has_letter(words: Sequence[str]) -> bool:
    """Whether words are more than punctuation and figures."""
    return any(sign.isalpha() for word in words for sign in word)


def check_search(who: str, positions: int, candidates: int, seed: int) -> None:
    """Refuse a search that makes no sense."""
    for name, value, least in (("positions", positions, 1), ("candidates", candidates, 1), ("seed", seed, 0)):
        if value < least:
            raise UserError(f"{who}: {name} must be {least} or more, got {value}")
