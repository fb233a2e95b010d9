"""Files of parallel texts, one sentence per line, and links in Pharaoh format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from verax.align.protocol import TextPair
from verax.data.pharaoh import format_links, parse_links
from verax.data.table import lines
from verax.store.files import replace_file
from verax.types import Links, Text, UserError

BETWEEN = "|||"
SplitWords = Callable[[str, str], Text]
"""From a sentence and its language to its words."""


def read_two_files(source: Path, target: Path, split: SplitWords, langs: tuple[str, str]) -> list[TextPair]:
    """Read two files whose lines translate each other.

    Args:
        source, target: UTF-8, one sentence a line; the first is the reference.
    """
    sides = [
        [_text(raw, f"{path}:{number}: the line", split, lang) for number, raw in _lines(path)]
        for path, lang in zip((source, target), langs, strict=True)
    ]
    if len(sides[0]) != len(sides[1]):
        raise UserError(
            f"{source} has {_count(len(sides[0]))} and {target} {_count(len(sides[1]))}: line n of one must be "
            "translated by line n of the other"
        )
    return [TextPair(*both) for both in zip(*sides, strict=True)]


def read_one_file(path: Path, split: SplitWords, langs: tuple[str, str]) -> list[TextPair]:
    """Read lines of a sentence, `|||` and its translation."""
    pairs = []
    for number, line in _lines(path):
        both, where = line.split(BETWEEN), f"{path}:{number}"
        if len(both) != 2:
            raise UserError(f"{where}: expected two texts separated by {BETWEEN}, got {line.strip()!r:.60}")
        reference = _text(both[0], f"{where}: the reference", split, langs[0])
        pairs.append(TextPair(reference, _text(both[1], f"{where}: the translation", split, langs[1])))
    return pairs


def read_links(path: Path, pairs: Sequence[TextPair], *, first: int = 0) -> list[tuple[Links, Links]]:
    """A file in Pharaoh's format: for each pair its sure and its possible links, counted from 0.

    Args:
        path: one line for each pair, such as `0-0 1-2 2p3`.
        first: the number of the first word of a text in the file, 0 or 1.
    """
    content = _lines(path)
    if len(content) != len(pairs):
        raise UserError(f"{path} has {_count(len(content))}, but there are {len(pairs)} pairs of texts")
    return [
        parse_links(line, f"{path}:{number}", *pair.shape, first=first)
        for (number, line), pair in zip(content, pairs, strict=True)
    ]


def write_links(path: Path, links: Iterable[Links]) -> None:
    """Write a file in Pharaoh's format, words counted from 0, atomically."""
    content = "".join(f"{format_links(one)}\n" for one in links)
    try:
        replace_file(path, content.encode())
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}") from None


def _lines(path: Path) -> list[tuple[int, str]]:
    try:
        return list(lines(path))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None


def _text(raw: str, what: str, split: SplitWords, lang: str) -> Text:
    text = split(raw.strip(" \t\r\n"), lang)
    if not text.words:
        raise UserError(f"{what} has no words")
    return text


def _count(number: int) -> str:
    return f"{number:,} line{'' if number == 1 else 's'}"
