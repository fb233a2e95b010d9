"""Splitting a text into words with their places, in every script, by rules that no model takes part in."""

from __future__ import annotations

import bisect
from collections.abc import Sequence

import regex

from verax.types import Text, UserError

# Scripts written without spaces: until a segmenter splits them, each grapheme cluster is a word. Their digits are left
# out, so that a number stays one word.
_UNSPACED = "[{}--\\p{{Nd}}]".format(
    "".join(rf"\p{{scx={script}}}" for script in ("Hani", "Hira", "Kana", "Thai", "Laoo", "Khmr", "Mymr"))
)
_INVISIBLE = r"[\s\p{Z}\p{Cc}\p{Cf}\p{Cs}\p{DI}]"
# Prepend: signs such as the Arabic number sign, which is drawn around the digits that follow it.
_STARTER = rf"[\p{{L}}\p{{N}}\p{{M}}\p{{GCB=Prepend}}--{_UNSPACED}--\p{{DI}}]"
# What clings to the character before it: combining marks, vowel signs, joiners, variation selectors.
_CLINGING = r"[\p{M}\p{GCB=Extend}\p{GCB=SpacingMark}\p{GCB=ZWJ}]"
_INITIAL = rf"[\p{{L}}--{_UNSPACED}--\p{{DI}}]{_CLINGING}*+"
_RUN = rf"{_STARTER}[{_STARTER}{_CLINGING}]*+"
_JOINER = "|".join(
    (
        r"['’＇\-\u2010\u2011·׳״\u00ad\u2060]",  # don't, well-known, col·lecció, a soft hyphen
        r"(?<=\p{N})[.,٫٬](?=\p{N})",  # 3.14, 10,000
        r"\.(?=\p{Ll})",  # example.com; but "good.Bad" is two words and a full stop
    )
)
_WORD = regex.compile(
    "|".join(
        (
            rf"{_INITIAL}(?:\.{_INITIAL})+(?:\.{_CLINGING}*+)?(?!{_STARTER})",  # U.S., e.g.
            rf"{_RUN}(?:(?:{_JOINER}){_RUN})*+",
            # \X looks back over the whole row of flags at each of them, which takes quadratic time.
            rf"\p{{RI}}{{1,2}}{_CLINGING}*+",
            # a symbol, or a character of a script without spaces; some marks of Myanmar do not extend a cluster
            rf"(?!{_INVISIBLE})\X{_CLINGING}*+",
        )
    ),
    regex.VERSION1,
)
_NO_SPACE = regex.compile(r"\S++")


def split_words(raw: str, lang: str = "en") -> Text:
    """Split a text into words: `raw[start:end] == word`, deterministic and in linear time.

    A word is a run of letters, marks and digits with the apostrophes, hyphens and dots inside it (don't, well-known,
    3.14, U.S.). Every other visible symbol is a word of its own, as a whole grapheme cluster: an emoji of many code
    points is one word. So is each cluster of a script without spaces (Han, Hiragana, Katakana, Thai, Lao, Khmer,
    Myanmar). White space and invisible characters belong to no word.

    Args:
        raw: any text, empty and blank ones too.
        lang: the language of the text, kept with it; the rules are the same for all.
    """
    return _matches(_WORD, raw, lang)


def split_at_spaces(raw: str, lang: str = "en") -> Text:
    """Split a text at white space and nowhere else: for text that somebody else has taken apart already."""
    return _matches(_NO_SPACE, raw, lang)


def from_words(words: Sequence[str], lang: str = "en") -> Text:
    """A text from words that somebody else split: they are kept as they are and joined by one space."""
    spans = []
    start = 0
    for number, word in enumerate(words):
        if not word.strip():
            raise UserError(f"word {number} is empty")
        spans.append((start, start + len(word)))
        start += len(word) + 1
    return Text(" ".join(words), tuple(words), tuple(spans), lang)


def words_over(text: Text, start: int, end: int) -> range:
    """The numbers of the words that share a character with `raw[start:end]`."""
    first = bisect.bisect_right(text.offsets, start, key=lambda offset: offset[1])
    last = bisect.bisect_left(text.offsets, end, key=lambda offset: offset[0])
    return range(first, max(first, last))


def _matches(pattern: regex.Pattern[str], raw: str, lang: str) -> Text:
    spans = tuple(match.span() for match in pattern.finditer(raw))
    return Text(raw, tuple(raw[start:end] for start, end in spans), spans, lang)
