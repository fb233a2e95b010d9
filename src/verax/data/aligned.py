"""Word alignments that come with the data: in columns of its rows, or in files of Pharaoh's format beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from verax.data.columns import Columns
from verax.data.pharaoh import parse_links
from verax.data.rows import Row
from verax.data.table import lines
from verax.types import GivenAlignment, Instance, UserError


class GivenLinks(NamedTuple):
    """Links of one input that are still text: the language of the reference, and for each part where and what."""

    lang: str
    parts: tuple[tuple[str, str], ...]


def in_files(
    alignments: Mapping[str, Sequence[str]], counts: Mapping[str, int], n_parts: int
) -> dict[str, list[list[GivenLinks]]]:
    """What alignment files say: for each translated language and each reference, the links of its rows in order.

    Args:
        alignments: files by pair of languages, `en-de`, the reference first; one file for each part.
        counts: how many rows there are of each language: the files have as many lines.
        n_parts: of an input.
    """
    found: dict[str, list[list[GivenLinks]]] = {}
    for pair, paths in alignments.items():
        reference, lang = _languages(pair, counts)
        if len(paths) != n_parts:
            raise UserError(f"alignments.{pair}: {len(paths)} files for {n_parts} parts")
        by_part = [_lines(Path(path), counts[lang], lang) for path in paths]
        found.setdefault(lang, []).append([GivenLinks(reference, said) for said in zip(*by_part, strict=True)])
    return found


def in_columns(row: Row, columns: Columns, lang: str) -> list[GivenLinks]:
    """What the columns of a row say of its alignment; nothing where they are empty, and for the reference itself."""
    cells = [row.cells.get(column) for column in columns.alignment]
    if lang == columns.aligned_to or all(cell is None or cell == "" for cell in cells):
        return []
    for column in columns.alignment:
        row.require(column)
    parts = zip(columns.alignment, cells, strict=True)
    said = tuple((f"{row.where}: field {column!r}", row.text(column, cell, "links")) for column, cell in parts)
    return [GivenLinks(columns.aligned_to, said)]


def parse_alignments(
    instances: Sequence[Instance], given: Mapping[str, Sequence[GivenLinks]]
) -> dict[str, tuple[GivenAlignment, ...]]:
    """Alignments by the id of the translation, every link within the words of both texts.

    Links to a language that is not among the instances are left out.
    """
    there = {(instance.parallel_id, instance.lang): instance for instance in instances}
    found = {
        instance.id: tuple(
            _alignment(links, reference, instance)
            for links in given.get(instance.id, ())
            if (reference := there.get((instance.parallel_id, links.lang))) is not None
        )
        for instance in instances
    }
    return {name: alignments for name, alignments in found.items() if alignments}


def _alignment(links: GivenLinks, reference: Instance, translation: Instance) -> GivenAlignment:
    parsed = [
        parse_links(text, where, len(one.words), len(other.words))
        for (where, text), one, other in zip(links.parts, reference.parts, translation.parts, strict=True)
    ]
    sure, possible = tuple(part[0] for part in parsed), tuple(part[1] for part in parsed)
    return GivenAlignment(links.lang, sure, possible if any(possible) else ())


def _languages(pair: str, counts: Mapping[str, int]) -> tuple[str, str]:
    """The two languages of `en-de`; a code may hold a hyphen itself."""
    steps = pair.split("-")
    for cut in range(1, len(steps)):
        reference, lang = "-".join(steps[:cut]), "-".join(steps[cut:])
        if reference in counts and lang in counts and reference != lang:
            return reference, lang
    raise UserError(
        f"alignments.{pair}: expected two languages of the data with a hyphen between, the reference first; there are "
        f"{', '.join(counts)}"
    )


def _lines(path: Path, n: int, lang: str) -> list[tuple[str, str]]:
    path = path.expanduser()
    try:
        found = [(f"{path}:{number}", line) for number, line in lines(path)]
    except OSError as error:
        raise UserError(f"{path}: can't be read: {error.strerror}") from None
    if len(found) != n:
        raise UserError(f"{path}: {len(found)} lines for the {n} inputs in {lang}")
    return found
