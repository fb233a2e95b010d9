"""An edit of an input: a few words inserted before one of its words."""

from __future__ import annotations

from dataclasses import dataclass, replace

from verax.data.text import needs_space, split_words
from verax.types import Instance, Span, Text


@dataclass(frozen=True, slots=True)
class Insertion:
    """Consecutive words to insert into one part of an instance.

    Args:
        part: number of the part.
        position: number of the word before which they go; the number of words of the part for its end.
        words: the inserted words.
    """

    part: int
    position: int
    words: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.words or not all(word.strip() for word in self.words):
            raise ValueError(f"an insertion needs words, got {self.words}")

    @classmethod
    def of(cls, part: int, position: int, text: str) -> Insertion:
        """An insertion of a text, split into words."""
        return cls(part, position, split_words(text).words)

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
