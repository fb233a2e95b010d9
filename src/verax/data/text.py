"""Splitting a text into words with their places, in every script, by rules that no model takes part in."""

from __future__ import annotations

import bisect
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import regex

from verax.types import Text, UserError

_OPENING = frozenset({"Ps", "Pi"})
_QUOTES = frozenset("\"'`")
# Scripts written without spaces: where no segmenter splits them, each grapheme cluster is a word. Their digits are left
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
_UNSPACED_LETTER = regex.compile(rf"[{_UNSPACED}--\p{{P}}--\p{{S}}]", regex.VERSION1)


@dataclass(frozen=True, slots=True)
class Segmenter:
    """What finds the words of a script without spaces.

    Args:
        name: with its version, as it is written down.
        script: matches a character of the script; signs are none, and are words of their own always.
        cut: the words of a run of such characters, in order.
    """

    name: str
    script: regex.Pattern[str]
    cut: Callable[[str], Iterable[str]]


def split_words(raw: str, lang: str = "en", segmenter: Segmenter | None = None) -> Text:
    """Split a text into words: `raw[start:end] == word`, deterministic and in linear time.

    A word is a run of letters, marks and digits with the apostrophes, hyphens and dots inside it (don't, well-known,
    3.14, U.S.). Every other visible symbol is a word of its own, as a whole grapheme cluster: an emoji of many code
    points is one word. So is each cluster of a script without spaces (Han, Hiragana, Katakana, Thai, Lao, Khmer,
    Myanmar), unless a segmenter puts clusters together. White space and invisible characters belong to no word.

    Args:
        raw: any text, empty and blank ones too.
        lang: the language of the text, kept with it; the rules are the same for all.
        segmenter: of the runs of its script.
    """
    text = _matches(_WORD, raw, lang)
    return text if segmenter is None else _segmented(text, segmenter)


def has_words(raw: str) -> bool:
    """Whether there is anything visible in a text."""
    return _WORD.search(raw) is not None


def lacks_spaces(raw: str) -> bool:
    """Whether there is a letter of a script without spaces in a text."""
    return _UNSPACED_LETTER.search(raw) is not None


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


def _segmented(text: Text, segmenter: Segmenter) -> Text:
    """The same text with its clusters put together where the segmenter sees one word.

    Each run of clusters of its script is cut by itself, so that what stands around it is split as in every language. A
    cut inside a cluster is left out: marks stay with their letters.
    """
    spans: list[tuple[int, int]] = []
    run: list[tuple[int, int]] = []
    for span in (*text.offsets, (len(text.raw) + 1, 0)):
        belongs = segmenter.script.match(text.raw, span[0]) is not None
        if run and not (belongs and run[-1][1] == span[0]):
            spans += _words_of_run(text.raw, run, segmenter)
            run = []
        if belongs:
            run.append(span)
        elif span[1]:
            spans.append(span)
    return Text(text.raw, tuple(text.raw[start:end] for start, end in spans), tuple(spans), text.lang)


def _words_of_run(raw: str, clusters: list[tuple[int, int]], segmenter: Segmenter) -> list[tuple[int, int]]:
    start, end = clusters[0][0], clusters[-1][1]
    cuts = {start}
    done = start
    for word in segmenter.cut(raw[start:end]):
        # Looked for, not counted: nothing is relied on but that words come in order, whatever was dropped or changed.
        place = raw.find(word, done, end) if word else -1
        if place >= 0:
            done = place + len(word)
            cuts |= {place, done}
    starts = [cluster for cluster, _ in clusters if cluster in cuts]
    return list(zip(starts, [*starts[1:], end], strict=True))


def needs_space(before: str) -> bool:
    """Whether a word can't follow right behind a text: not after white space, a bracket or an opening quotation."""
    if not before or before[-1].isspace():
        return False
    return unicodedata.category(before[-1]) not in _OPENING and before[-1] not in _QUOTES
