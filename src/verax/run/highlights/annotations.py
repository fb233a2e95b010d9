"""A sample for people to check: written with marks, and read back once they have edited it."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from verax.data.rows import Row
from verax.data.table import read_tsv
from verax.run.highlights.marks import mark, marked_words
from verax.run.highlights.rows import Highlighted
from verax.run.highlights.scoring import Words
from verax.stats.thresholds import Overlap, overlap
from verax.store.files import replace_file
from verax.types import Text, UserError

FOLDER = "annotations"


class Checked(NamedTuple):
    """The automatic highlights of a language against the edited ones, over all words of its sample.

    `edited` counts the rows in which somebody changed anything.
    """

    lang: str
    overlap: Overlap
    rows: int
    edited: int


def sample(rows: Sequence[Highlighted], size: int, seed: int) -> dict[str, list[Highlighted]]:
    """For each language up to `size` inputs of each class, in the order of the rows.

    Inputs that the model gets wrong are left out; one whose class nobody knows is counted with those of its predicted
    class. The draw depends on the seed and the parallel id alone, so that languages share inputs as far as they can.
    """
    chosen: dict[str, list[Highlighted]] = {}
    drawn: Counter[tuple[str, str]] = Counter()
    for row in sorted(rows, key=lambda row: _draw(row, seed)):
        stratum = (row.instance.lang, row.prediction)
        if row.correct is not False and drawn[stratum] < size:
            drawn[stratum] += 1
            chosen.setdefault(row.instance.lang, []).append(row)
    order = {row.instance.id: place for place, row in enumerate(rows)}
    return {lang: sorted(found, key=lambda row: order[row.instance.id]) for lang, found in chosen.items()}


def _draw(row: Highlighted, seed: int) -> bytes:
    name = row.instance.parallel_id or row.instance.id
    return blake2b(f"{seed}/{name}".encode("utf-8", "surrogatepass"), digest_size=8).digest()


def write_annotations(folder: Path, sampled: Mapping[str, Sequence[Highlighted]], names: Sequence[str]) -> None:
    """A table for each language; one that is there is left as it is, since people may have edited it."""
    folder.mkdir(exist_ok=True)
    for lang, rows in sampled.items():
        path = folder / f"{lang}.tsv"
        if path.exists():
            continue
        buffer = io.StringIO()
        writer = csv.writer(buffer, delimiter="\t", lineterminator="\n")
        writer.writerow(["id", "label", *names])
        for row in rows:
            marked = [mark(text, words) for text, words in zip(row.instance.parts, row.words, strict=True)]
            writer.writerow([row.instance.id, row.instance.label or row.prediction, *marked])
        replace_file(path, buffer.getvalue().encode())


def check_file(
    path: Path, lang: str, written: Mapping[str, tuple[Sequence[Text], Words]], names: Sequence[str]
) -> Checked:
    """Compare the highlights that were written with those of the edited file.

    Args:
        written: by id, the parts and the highlighted words of each row that was written.
    """
    edited: dict[str, Words] = {}
    for row in read_tsv(path):
        missing = [name for name in ("id", *names) if name not in row.cells]
        if missing:
            raise UserError(f"{path}:1: the column {missing[0]!r} is missing")
        name = row.cells["id"]
        if name not in written:
            raise row.error("id", f"{name!r} is none of the {len(written)} ids that were written")
        if name in edited:
            raise row.error("id", f"{name!r} is there twice")
        edited[name] = _read(row, written[name][0], names)
    lost = [name for name in written if name not in edited]
    if lost:
        more = f", and so are {len(lost) - 1} more" if len(lost) > 1 else ""
        raise UserError(f"{path}: the row of {lost[0]!r} is missing{more}; put it back as it was written")
    automatic = {name: words for name, (_, words) in written.items()}
    counts = [_counts(automatic[name], edited[name]) for name in written]
    changed = sum(automatic[name] != edited[name] for name in written)
    return Checked(lang, overlap(*map(sum, zip(*counts, strict=True))), len(written), changed)


def _read(row: Row, parts: Sequence[Text], names: Sequence[str]) -> Words:
    found = []
    for name, text in zip(names, parts, strict=True):
        try:
            found.append(marked_words(text, row.cells[name]))
        except ValueError as error:
            raise row.error(name, str(error)) from None
    return tuple(found)


def _counts(automatic: Words, edited: Words) -> tuple[int, int, int]:
    """Words in both, in the automatic highlights, in the edited ones."""
    both = sum(len(set(one) & set(other)) for one, other in zip(automatic, edited, strict=True))
    return both, sum(map(len, automatic)), sum(map(len, edited))
