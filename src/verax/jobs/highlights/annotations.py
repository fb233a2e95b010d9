r"""A sample for people to check: written with marks, and read back once they have edited it.

Highlighted words are between asterisks: `A *red* boat`. Asterisks and backslashes of the text itself are written `\*`
and `\\`; a tab and the ends of lines `\t`, `\n`, `\r`, so that a text stays in its cell of a table.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from verax.data.rows import Record
from verax.data.table import read_tsv
from verax.data.text import words_over
from verax.jobs.highlights.dataset import Highlighted, WordIndices
from verax.stats.thresholds import Overlap, overlap
from verax.store.files import replace_file
from verax.types import Text, UserError

FOLDER = "annotations"
_ESCAPES = {"\\": r"\\", "*": r"\*", "\t": r"\t", "\n": r"\n", "\r": r"\r"}
_CHARACTERS = {escape: character for character, escape in _ESCAPES.items()}
_PIECE = re.compile(r"\\.|.", re.DOTALL)
_AROUND = 12


class CheckedSample(NamedTuple):
    """The automatic highlights of a language compared with the edited ones, over all words of its sample.

    `edited` counts the rows that were changed.
    """

    lang: str
    overlap: Overlap
    rows: int
    edited: int


def sample(rows: Sequence[Highlighted], size: int, seed: int) -> dict[str, list[Highlighted]]:
    """For each language up to `size` inputs of each class, in the order of the rows.

    Inputs that the model gets wrong are left out; those of unknown class count as their predicted class. The draw
    depends on the seed and the parallel id alone, so that languages share inputs as far as possible.
    """
    chosen: dict[str, list[Highlighted]] = {}
    drawn: Counter[tuple[str, str]] = Counter()
    for row in sorted(rows, key=lambda row: _draw(row, seed)):
        stratum = (row.instance.lang, row.prediction)
        if row.correct is not False and drawn[stratum] < size:
            drawn[stratum] += 1
            chosen.setdefault(row.instance.lang, []).append(row)
    order = {row.instance.id: place for place, row in enumerate(rows)}
    return {lang: sorted(of_lang, key=lambda row: order[row.instance.id]) for lang, of_lang in chosen.items()}


def _draw(row: Highlighted, seed: int) -> bytes:
    name = row.instance.parallel_id or row.instance.id
    return blake2b(f"{seed}/{name}".encode("utf-8", "surrogatepass"), digest_size=8).digest()


def write_annotations(folder: Path, sampled: Mapping[str, Sequence[Highlighted]], names: Sequence[str]) -> None:
    """A table for each language; existing files are left as they are, because people may have edited them."""
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


def check_sample(
    path: Path, lang: str, written: Mapping[str, tuple[Sequence[Text], WordIndices]], names: Sequence[str]
) -> CheckedSample:
    """Compare the highlights that were written with those of the edited file.

    Args:
        written: by id, the parts and the highlighted words of each row that was written.
    """
    edited: dict[str, WordIndices] = {}
    for row in read_tsv(path):
        missing = [name for name in ("id", *names) if name not in row.cells]
        if missing:
            raise UserError(f"{path}:1: the column {missing[0]!r} is missing")
        name = row.cells["id"]
        if name not in written:
            raise row.error("id", f"unknown id {name!r}: expected one of the {len(written)} ids that were written")
        if name in edited:
            raise row.error("id", f"duplicate id {name!r}")
        edited[name] = _read(row, written[name][0], names)
    lost = [name for name in written if name not in edited]
    if lost:
        more = f", and so are {len(lost) - 1} more" if len(lost) > 1 else ""
        raise UserError(f"{path}: the row of {lost[0]!r} is missing{more}; put it back as it was written")
    automatic = {name: words for name, (_, words) in written.items()}
    counts = [_counts(automatic[name], edited[name]) for name in written]
    changed = sum(automatic[name] != edited[name] for name in written)
    return CheckedSample(lang, overlap(*map(sum, zip(*counts, strict=True))), len(written), changed)


def _read(row: Record, parts: Sequence[Text], names: Sequence[str]) -> WordIndices:
    words = []
    for name, text in zip(names, parts, strict=True):
        try:
            words.append(marked_words(text, row.cells[name]))
        except ValueError as error:
            raise row.error(name, str(error)) from None
    return tuple(words)


def _counts(automatic: WordIndices, edited: WordIndices) -> tuple[int, int, int]:
    """Words in both, in the automatic highlights, in the edited ones."""
    both = sum(len(set(words) & set(others)) for words, others in zip(automatic, edited, strict=True))
    return both, sum(map(len, automatic)), sum(map(len, edited))


def mark(text: Text, words: Collection[int]) -> str:
    """The text with an asterisk on either side of each of these words."""
    pieces, end = [], 0
    for number, (start, stop) in enumerate(text.offsets):
        if number in words:
            pieces += [_escaped(text.raw[end:start]), "*", _escaped(text.raw[start:stop]), "*"]
            end = stop
    return "".join([*pieces, _escaped(text.raw[end:])])


def marked_words(text: Text, marked: str) -> tuple[int, ...]:
    """The words that share a character with the text between asterisks.

    Raises a ValueError for an asterisk without a partner or any other change of the text.
    """
    raw: list[str] = []
    stretches: list[tuple[int, int]] = []
    opened: int | None = None
    for piece in _PIECE.findall(marked):
        if piece != "*":
            raw += _CHARACTERS.get(piece, piece)
        elif opened is None:
            opened = len(raw)
        else:
            stretches.append((opened, len(raw)))
            opened = None
    _check_same(text.raw, "".join(raw))
    if opened is not None:
        raise ValueError(f"an asterisk has no partner: the text has {2 * len(stretches) + 1}")
    return tuple(sorted({word for start, end in stretches if start < end for word in words_over(text, start, end)}))


def _escaped(raw: str) -> str:
    return "".join(_ESCAPES.get(character, character) for character in raw)


def _check_same(expected: str, got: str) -> None:
    if expected == got:
        return
    pairs = zip(expected, got, strict=False)
    place = next((i for i, (one, other) in enumerate(pairs) if one != other), min(len(expected), len(got)))
    here, there = (one[place : place + _AROUND] or "the end" for one in (expected, got))
    raise ValueError(
        f"the text was changed at character {place + 1}: expected {here!r}, got {there!r}; move asterisks only"
    )
