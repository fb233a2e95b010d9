"""Token sequences in which each token is tagged with the fact or role that it expresses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from verax.types import Span, Text

TagT = TypeVar("TagT")

_PUNCTUATION = frozenset(",.;:!?")


class TaggedToken(NamedTuple, Generic[TagT]):
    """A token, the tag of what it expresses (None: grammar only), and whether it is a content word of that tag."""

    text: str
    tag: TagT | None = None
    is_content: bool = False


Phrase = tuple[TaggedToken[TagT], ...]


def plain(words: str) -> Phrase[Any]:
    """Untagged tokens, for a phrase with any tags."""
    return tuple(TaggedToken(word) for word in words.split())


def tagged(words: str, tag: TagT, function_words: frozenset[str]) -> Phrase[TagT]:
    """Tokens with a tag; all but `function_words` are content words."""
    return tuple(TaggedToken(word, tag, word not in function_words) for word in words.split())


@dataclass(frozen=True, slots=True)
class TaggedText(Generic[TagT]):
    """A text and its tagged tokens, one per word."""

    text: Text
    tokens: Phrase[TagT]

    def content_words(self, tags: Iterable[TagT]) -> tuple[int, ...]:
        """Indices of the content words of the given tags."""
        wanted = frozenset(tags)
        return tuple(n for n, token in enumerate(self.tokens) if token.is_content and token.tag in wanted)

    def spans(self, tag: TagT, part: int) -> tuple[Span, ...]:
        """Contiguous spans of tokens with a tag."""
        places = [n for n, token in enumerate(self.tokens) if token.tag == tag]
        starts = [n for n in places if n - 1 not in places]
        ends = [n + 1 for n in places if n + 1 not in places]
        return tuple(Span(part, start, end) for start, end in zip(starts, ends, strict=True))

    def tagged_only_near(self, tags: Iterable[TagT]) -> TaggedText[TagT]:
        """A copy without the tags of sentences that contain none of the given tags."""
        wanted = frozenset(tags)
        ends = [n + 1 for n, token in enumerate(self.tokens) if token.text == "."]
        kept: list[TaggedToken[TagT]] = []
        for start, end in zip([0, *ends], ends, strict=False):
            tokens = self.tokens[start:end]
            keep = any(token.tag in wanted for token in tokens)
            kept += tokens if keep else [TaggedToken(token.text) for token in tokens]
        return TaggedText(self.text, tuple(kept))


def as_text(tokens: Phrase[TagT], lang: str = "en", separator: str = " ") -> TaggedText[TagT]:
    """Join tokens into a text: capitals after full stops, no space before punctuation.

    Args:
        separator: text between two words; empty for a language written without spaces.
    """
    raw = ""
    words: list[str] = []
    offsets: list[tuple[int, int]] = []
    for token in tokens:
        word = token.text if words and words[-1] != "." else token.text[0].upper() + token.text[1:]
        gap = "" if not raw or word in _PUNCTUATION else separator
        start = len(raw) + len(gap)
        raw += gap + word
        words.append(word)
        offsets.append((start, len(raw)))
    return TaggedText(Text(raw, tuple(words), tuple(offsets), lang), tokens)
