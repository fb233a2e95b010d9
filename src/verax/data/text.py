"""Rule-based splitting of text into words with character offsets, for every script."""

from __future__ import annotations

import bisect
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import regex

from verax.types import Text, UserError

_OPENING = frozenset({"Ps", "Pi"})
_QUOTES = frozenset("\"'`")
# Scripts written without spaces: without a segmenter, each grapheme cluster is a word. Their digits are excluded,
# so that a number stays one word.
_UNSPACED = "[{}--\\p{{Nd}}]".format(
    "".join(rf"\p{{scx={script}}}" for script in ("Hani", "Hira", "Kana", "Thai", "Laoo", "Khmr", "Mymr"))
)
_INVISIBLE = r"[\s\p{Z}\p{Cc}\p{Cf}\p{Cs}\p{DI}]"
# Prepend: signs such as the Arabic number sign, which encloses the following digits.
_STARTER = rf"[\p{{L}}\p{{N}}\p{{M}}\p{{GCB=Prepend}}--{_UNSPACED}--\p{{DI}}]"
# Characters attached to the previous one: combining marks, vowel signs, joiners, variation selectors.
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
            # \X takes quadratic time on a sequence of flags.
            rf"\p{{RI}}{{1,2}}{_CLINGING}*+",
            # a symbol, or a character of a script without spaces; some marks of Myanmar do not extend a cluster
            rf"(?!{_INVISIBLE})\X{_CLINGING}*+",
        )
    ),
    regex.VERSION1,
)
_IDEOGRAPHIC_SPACE = "\u3000"
_NO_SPACE = regex.compile(rf"[\S{_IDEOGRAPHIC_SPACE}]++")
_UNSPACED_LETTER = regex.compile(rf"[{_UNSPACED}--\p{{P}}--\p{{S}}]", regex.VERSION1)


@dataclass(frozen=True, slots=True)
class Segmenter:
    """A word segmenter for a script without spaces.

    Args:
        name: name and version, as recorded in the provenance.
        script: matches a character of the script; punctuation is excluded and always a word of its own.
        cut: splits a run of such characters into words, in order.
    """

    name: str
    script: regex.Pattern[str]
    cut: Callable[[str], Iterable[str]]


def split_words(raw: str, lang: str = "en", segmenter: Segmenter | None = None) -> Text:
    """Split a text into words: `raw[start:end] == word`, deterministic and in linear time.

    A word is a run of letters, marks and digits with the apostrophes, hyphens and dots inside it (don't, well-known,
    3.14, U.S.). Every other visible symbol is a word of its own, as a whole grapheme cluster: an emoji of many code
    points is one word. So is each cluster of a script without spaces (Han, Hiragana, Katakana, Thai, Lao, Khmer,
    Myanmar), unless a segmenter joins clusters. White space and invisible characters belong to no word.

    Args:
        lang: language code stored with the text; the rules are the same for all languages.
    """
    text = _matches(_WORD, raw, lang)
    return text if segmenter is None else _segmented(text, segmenter)


def has_words(raw: str) -> bool:
    """Whether a text contains anything visible."""
    return _WORD.search(raw) is not None


def lacks_spaces(raw: str) -> bool:
    """Whether a text contains a letter of a script without spaces."""
    return _UNSPACED_LETTER.search(raw) is not None


def split_at_spaces(raw: str, lang: str = "en") -> Text:
    """Split a text at white space only, for text that is already tokenized; an ideographic space is a character."""
    return _matches(_NO_SPACE, raw, lang)


def from_words(words: Sequence[str], lang: str = "en") -> Text:
    """A text from given words, which are kept unchanged and joined by a space."""
    spans = []
    start = 0
    for number, word in enumerate(words):
        if not word.strip() and _IDEOGRAPHIC_SPACE not in word:
            raise UserError(f"word {number} is empty")
        spans.append((start, start + len(word)))
        start += len(word) + 1
    return Text(" ".join(words), tuple(words), tuple(spans), lang)


def words_over(text: Text, start: int, end: int) -> range:
    """Indices of the words that overlap `raw[start:end]`."""
    first = bisect.bisect_right(text.offsets, start, key=lambda offset: offset[1])
    last = bisect.bisect_left(text.offsets, end, key=lambda offset: offset[0])
    return range(first, max(first, last))


def _matches(pattern: regex.Pattern[str], raw: str, lang: str) -> Text:
    spans = tuple(match.span() for match in pattern.finditer(raw))
    return Text(raw, tuple(raw[start:end] for start, end in spans), spans, lang)


def _segmented(text: Text, segmenter: Segmenter) -> Text:
    """The text with its clusters joined into the words of the segmenter.

    Each run of clusters of its script is cut separately, so that the surrounding text is split as in every language.
    Cuts inside a cluster are ignored: marks stay with their letters.
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
        # Words are searched for: segmenters may drop or change characters, but keep the order.
        place = raw.find(word, done, end) if word else -1
        if place >= 0:
            done = place + len(word)
            cuts |= {place, done}
    starts = [cluster for cluster, _ in clusters if cluster in cuts]
    return list(zip(starts, [*starts[1:], end], strict=True))


def needs_space(before: str) -> bool:
    """Whether a word needs a space after a text: not after white space, an opening bracket or a quotation mark."""
    if not before or before[-1].isspace():
        return False
    return unicodedata.category(before[-1]) not in _OPENING and before[-1] not in _QUOTES
