"""Word alignments that come with the data: in columns of its rows, or in separate files in Pharaoh format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from verax.data.columns import Columns
from verax.data.pharaoh import parse_links
from verax.data.rows import Record
from verax.data.table import lines
from verax.types import GivenAlignment, Instance, UserError


class GivenLinks(NamedTuple):
    """Unparsed links of one input: the reference language, and the location and text of the links of each part."""

    lang: str
    parts: tuple[tuple[str, str], ...]


def in_files(
    alignments: Mapping[str, Sequence[str]], counts: Mapping[str, int], n_parts: int
) -> dict[str, list[list[GivenLinks]]]:
    """Links from alignment files: for each translated language and each reference, the links of its rows in order.

    Args:
        alignments: files by language pair (`en-de`, reference first), one file per part.
        counts: number of rows per language; the files must have as many lines.
        n_parts: number of parts of an input.
    """
    links: dict[str, list[list[GivenLinks]]] = {}
    for languages, paths in alignments.items():
        reference, lang = _languages(languages, counts)
        if len(paths) != n_parts:
            raise UserError(
                f"alignments.{languages}: expected one file for each of the {n_parts} parts, got {len(paths)}"
            )
        by_part = [_lines(Path(path), counts[lang], lang) for path in paths]
        links.setdefault(lang, []).append([GivenLinks(reference, parts) for parts in zip(*by_part, strict=True)])
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
    parsed = [
        parse_links(text, where, len(source.words), len(target.words))
        for (where, text), source, target in zip(links.parts, reference.parts, translation.parts, strict=True)
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


def _lines(path: Path, n: int, lang: str) -> list[tuple[str, str]]:
    path = path.expanduser()
    try:
        numbered = [(f"{path}:{number}", line) for number, line in lines(path)]
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    if len(numbered) != n:
        raise UserError(f"{path}: expected {n} lines, one for each input in {lang}, got {len(numbered)}")
    return numbered
