"""Sentences that remember which word says which fact. Shared by the grammars of all tasks and languages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from verax.types import Span, Text

MarkT = TypeVar("MarkT")

_GLUED = frozenset(",.;:!?")


class Token(NamedTuple, Generic[MarkT]):
    """A word, what it speaks of (None for a word of grammar alone), and whether its own meaning carries that."""

    text: str
    mark: MarkT | None = None
    carries: bool = False


Phrase = tuple[Token[MarkT], ...]


def plain(words: str) -> Phrase[MarkT]:
    """Words that say nothing of a fact."""
    return tuple(Token(word) for word in words.split())


def marked(words: str, mark: MarkT, silent: frozenset[str]) -> Phrase[MarkT]:
    """Words that say a fact; those among `silent` belong to the phrase but do not carry its meaning."""
    return tuple(Token(word, mark, word not in silent) for word in words.split())


@dataclass(frozen=True, slots=True)
class Sentence(Generic[MarkT]):
    """A text and, for each of its words, what it speaks of."""

    text: Text
    tokens: Phrase[MarkT]

    def carriers(self, marks: Iterable[MarkT]) -> tuple[int, ...]:
        """The indices of the words that carry the meaning of any of the marks."""
        wanted = frozenset(marks)
        return tuple(n for n, token in enumerate(self.tokens) if token.carries and token.mark in wanted)

    def spans(self, mark: MarkT, part: int) -> tuple[Span, ...]:
        """The unbroken runs of words that belong to a mark."""
        places = [n for n, token in enumerate(self.tokens) if token.mark == mark]
        starts = [n for n in places if n - 1 not in places]
        ends = [n + 1 for n in places if n + 1 not in places]
        return tuple(Span(part, start, end) for start, end in zip(starts, ends, strict=True))

    def in_sentences_of(self, marks: Iterable[MarkT]) -> Sentence[MarkT]:
        """The same text with its marks kept in those of its sentences alone that speak of any of some marks."""
        wanted = frozenset(marks)
        ends = [n + 1 for n, token in enumerate(self.tokens) if token.text == "."]
        kept: list[Token[MarkT]] = []
        for start, end in zip([0, *ends], ends, strict=False):
            words = self.tokens[start:end]
            speaks = any(token.mark in wanted for token in words)
            kept += words if speaks else [Token(token.text) for token in words]
        return Sentence(self.text, tuple(kept))


def sentence(tokens: Phrase[MarkT], lang: str = "en", apart: str = " ") -> Sentence[MarkT]:
    """Set tokens as running text: a capital after each full stop, no space before a punctuation mark.

    Args:
        apart: what stands between two words: nothing, in a language that is written without spaces.
    """
    raw = ""
    words: list[str] = []
    offsets: list[tuple[int, int]] = []
    for token in tokens:
        word = token.text if words and words[-1] != "." else token.text[0].upper() + token.text[1:]
        gap = "" if not raw or word in _GLUED else apart
        start = len(raw) + len(gap)
        raw += gap + word
        words.append(word)
        offsets.append((start, len(raw)))
    return Sentence(Text(raw, tuple(words), tuple(offsets), lang), tokens)
