"""What a public format is: how its rows become ours, which column then means what, and its classes."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from verax.data.assemble import assemble
from verax.data.columns import Columns
from verax.data.parallel import Choice
from verax.data.rows import Row, Source
from verax.data.table import fingerprint
from verax.types import Dataset, UserError

Reader = Callable[[Path], Generator[Row, None, None]]


@dataclass(frozen=True, slots=True)
class Beside:
    """What belongs to the rows of a file but was published in files of its own.

    Args:
        files: those that belong to a file, as far as they are there.
        join: rows with what these files say of them.
    """

    files: Callable[[Path], tuple[Path, ...]]
    join: Callable[[tuple[Path, ...], Iterator[Row]], Iterator[Row]]


@dataclass(frozen=True, slots=True)
class Format:
    """A format in which a public data set was published.

    Args:
        name: what messages call it.
        readers: how the rows of a file are read, by the suffix of the file.
        fits: whether a file is in this format, from the cells of its first row.
        convert: rows with the cells that `columns` names, from those of the file.
        columns: which of these cells means what, and how performance is measured.
        labels: names of the classes in the order of their numbers; None: those seen, sorted.
        beside: other files that are read together with one.
    """

    name: str
    readers: Mapping[str, Reader]
    fits: Callable[[Mapping[str, Any]], bool]
    convert: Callable[[Iterator[Row]], Iterator[Row]]
    columns: Columns
    labels: tuple[str, ...] | None
    beside: Beside | None = None

    def load(
        self,
        paths: Sequence[Path],
        *,
        split: str | None,
        limit: int | None,
        labels: Sequence[str] | None = None,
        lang: str = "en",
        choice: Choice | None = None,
    ) -> Dataset:
        """The instances of files that together are one split, which is written down.

        Args:
            limit: the first so many, in each language.
            labels: names of the classes in an order of one's own.
            choice: of languages, and how words are had that no spaces part.
        """
        choice = choice or Choice()
        if self.columns.gold_words or self.columns.span_pairs:
            # `convert` has counted words, and did so by the rules alone
            choice = replace(choice, segment="clusters")
        rows = (row for path in paths for row in self._rows(path))
        told = {} if split is None else {"split": split}
        files = [file for path in paths for file in (path, *(self.beside.files(path) if self.beside else ()))]
        source = Source(str(paths[0]), _generated(self.convert(rows)), {**provenance(files), **told})
        names = self.labels if labels is None else labels
        return assemble(source, columns=self.columns, labels=names, lang=lang, limit=limit, choice=choice)

    def _rows(self, path: Path) -> Iterator[Row]:
        rows = self.readers[path.suffix.lower()](path)
        return rows if self.beside is None else self.beside.join(self.beside.files(path), rows)


def provenance(paths: Sequence[Path]) -> dict[str, str]:
    """Where files lie and what they hold; one that can't be read is refused here."""
    return {"path": ", ".join(map(str, paths)), "sha256": ", ".join(map(fingerprint, paths))}


def first_cells(reader: Reader, path: Path) -> Mapping[str, Any]:
    """The cells of the first row of a file; none where there is no row that can be read."""
    try:
        with closing(reader(path)) as rows:
            first = next(rows, None)
    except (OSError, UserError):  # whoever reads the file in earnest tells what is wrong with it
        return {}
    return {} if first is None else first.cells


def with_cells(row: Row, **cells: Any) -> Row:
    """The same row with some cells of our own."""
    return Row(row.where, row.position, {**row.cells, **cells})


def has(*names: str) -> Callable[[Mapping[str, Any]], bool]:
    """Whether all these columns are there."""
    return lambda cells: all(name in cells for name in names)


def _generated(rows: Iterable[Row]) -> Generator[Row, None, None]:
    yield from rows
