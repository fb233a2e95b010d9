"""Word alignments in Pharaoh format, `0-0 1-2 2p3`: reading, writing, and those that come with the data."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from verax.data.columns import Columns
from verax.data.rows import Record
from verax.data.table import lines
from verax.types import GivenAlignment, Instance, Links, UserError

# bounded, since Python refuses to parse integers of thousands of digits
_LINK = re.compile(r"([0-9]{1,18})([-p?])([0-9]{1,18})")


def parse_links(text: str, where: str, n_reference: int, n_translation: int, *, first: int = 0) -> tuple[Links, Links]:
    """Parse a line into sure and possible links, each sorted and unique.

    A link is the index of a word of the reference, a sign and the index of a word of the translation: `3-4` is sure,
    `3p4` (or `3?4`) possible. A link given as both is sure. An empty line has no links.

    Args:
        where: location for messages, such as `links.txt:17`.
        first: index of the first word in the text, 0 or 1; returned links count from 0.
    """
    links: dict[bool, set[tuple[int, int]]] = {True: set(), False: set()}
    for item in text.split():
        match = _LINK.fullmatch(item)
        if match is None:
            raise UserError(f"{where}: expected links such as 0-0 1-2 2p3, got {item!r:.40}")
        link = int(match[1]) - first, int(match[3]) - first
        for number, count, side in zip(link, (n_reference, n_translation), ("reference", "translation"), strict=True):
            if not 0 <= number < count:
                raise UserError(f"{where}: link {item}: {_beyond(number + first, count, side, first)}")
        links[match[2] == "-"].add(link)
    return tuple(sorted(links[True])), tuple(sorted(links[False] - links[True]))


def format_links(sure: Links, possible: Links = ()) -> str:
    """Format links as a line for `parse_links`, sorted, words counted from 0."""
    marked = sorted([(*link, "-") for link in sure] + [(*link, "p") for link in possible])
    return " ".join(f"{source}{sign}{target}" for source, target, sign in marked)


def _beyond(number: int, count: int, side: str, first: int) -> str:
    if count == 0:
        return f"the {side} has no words"
    return f"word {number} of the {side} is out of range {first} to {count - 1 + first}"


class GivenLinks(NamedTuple):
    """Unparsed links of one input: the reference language, and for each part where its links are, and their text.

    `first` is the number of the first word in each part's links, 0 where it is empty.
    """

    lang: str
    parts: tuple[tuple[str, str], ...]
    first: tuple[int, ...] = ()


def in_files(
    alignments: Mapping[str, Sequence[str]], counts: Mapping[str, int], n_parts: int, one_based: Collection[str] = ()
) -> dict[str, list[list[GivenLinks]]]:
    """Links from alignment files: for each translated language and each reference, the links of its rows in order.

    Args:
        alignments: files by language pair (`en-de`, reference first), one file per part.
        counts: number of rows per language; the files must have as many lines.
        one_based: files that count words from 1.
    """
    known = {path for paths in alignments.values() for path in paths}
    for path in one_based:
        if path not in known:
            raise UserError(f"one_based: {path!r} is none of the files of alignments: {', '.join(sorted(known))}")
    links: dict[str, list[list[GivenLinks]]] = {}
    for languages, paths in alignments.items():
        reference, lang = _languages(languages, counts)
        if len(paths) != n_parts:
            raise UserError(
                f"alignments.{languages}: expected one file for each of the {n_parts} parts, got {len(paths)}"
            )
        by_part = [_file_lines(Path(path), counts[lang], lang) for path in paths]
        first = tuple(int(path in one_based) for path in paths)
        rows = [GivenLinks(reference, parts, first) for parts in zip(*by_part, strict=True)]
        links.setdefault(lang, []).append(rows)
    return links


def in_columns(row: Record, columns: Columns, lang: str) -> list[GivenLinks]:
    """Links from the alignment columns of a row; empty if the cells are empty or the row is the reference."""
    cells = [row.cells.get(column) for column in columns.alignment]
    if lang == columns.aligned_to or all(cell is None or cell == "" for cell in cells):
        return []
    for column in columns.alignment:
        row.require(column)
    parts = zip(columns.alignment, cells, strict=True)
    links = tuple((f"{row.where}: field {column!r}", row.text(column, cell, "links")) for column, cell in parts)
    return [GivenLinks(columns.aligned_to, links)]


def parse_alignments(
    instances: Sequence[Instance], given: Mapping[str, Sequence[GivenLinks]]
) -> dict[str, tuple[GivenAlignment, ...]]:
    """Alignments by id of the translation, with every link checked against the words of both texts.

    Links to a language that is not among the instances are left out.
    """
    by_language = {(instance.parallel_id, instance.lang): instance for instance in instances}
    parsed = {
        instance.id: tuple(
            _alignment(links, reference, instance)
            for links in given.get(instance.id, ())
            if (reference := by_language.get((instance.parallel_id, links.lang))) is not None
        )
        for instance in instances
    }
    return {name: alignments for name, alignments in parsed.items() if alignments}


def _alignment(links: GivenLinks, reference: Instance, translation: Instance) -> GivenAlignment:
    sides = zip(links.parts, links.first or (0,) * len(links.parts), reference.parts, translation.parts, strict=True)
    parsed = [
        parse_links(text, where, len(source.words), len(target.words), first=first)
        for (where, text), first, source, target in sides
    ]
    sure, possible = tuple(part[0] for part in parsed), tuple(part[1] for part in parsed)
    return GivenAlignment(links.lang, sure, possible if any(possible) else ())


def _languages(pair: str, counts: Mapping[str, int]) -> tuple[str, str]:
    """The two languages of `en-de`; a language code may itself contain a hyphen."""
    codes = pair.split("-")
    for cut in range(1, len(codes)):
        reference, lang = "-".join(codes[:cut]), "-".join(codes[cut:])
        if reference in counts and lang in counts and reference != lang:
            return reference, lang
    raise UserError(
        f"alignments.{pair}: expected two languages of the data joined by a hyphen, reference first; available: "
        f"{', '.join(counts)}"
    )


def _file_lines(path: Path, n: int, lang: str) -> list[tuple[str, str]]:
    path = path.expanduser()
    try:
        numbered = [(f"{path}:{number}", line) for number, line in lines(path)]
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    if len(numbered) != n:
        raise UserError(f"{path}: expected {n} lines, one for each input in {lang}, got {len(numbered)}")
    return numbered
