"""Definition of a public data format: conversion of its rows, meaning of its columns, and its classes."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from verax.data.assemble import assemble
from verax.data.columns import Columns
from verax.data.parallel import LanguageOptions
from verax.data.rows import Record, Source, without_none
from verax.data.table import file_hash
from verax.registry import unknown
from verax.types import Dataset, UserError

Reader = Callable[[Path], Generator[Record, None, None]]
SPLITS = ("train", "validation", "test")


@dataclass(frozen=True, slots=True)
class Companions:
    """Companion files that were published separately from the rows they belong to.

    Args:
        files: the existing companion files of a file.
        join: adds the contents of these files to the rows.
    """

    files: Callable[[Path], tuple[Path, ...]]
    join: Callable[[tuple[Path, ...], Iterator[Record]], Iterator[Record]]


@dataclass(frozen=True, slots=True)
class Format:
    """The published format of a public data set.

    Args:
        readers: row readers by file suffix.
        fits: whether a file is in this format, given the cells of its first row.
        convert: converts rows of the file to rows with the cells that `columns` names.
        labels: class names in index order; None: those seen, sorted.
        companions: files that are read together with a file.
    """

    name: str
    readers: Mapping[str, Reader]
    fits: Callable[[Mapping[str, Any]], bool]
    convert: Callable[[Iterator[Record]], Iterator[Record]]
    columns: Columns
    labels: tuple[str, ...] | None
    companions: Companions | None = None

    def load(
        self,
        paths: Sequence[Path],
        *,
        split: str | None,
        limit: int | None,
        labels: Sequence[str] | None = None,
        lang: str = "en",
        options: LanguageOptions | None = None,
    ) -> Dataset:
        """Load files that together form one split, whose name is recorded.

        Args:
            limit: maximum number of instances per language.
        """
        options = options or LanguageOptions()
        if self.columns.gold_words or self.columns.span_pairs:
            # `convert` has counted words, without a segmenter
            options = replace(options, segment="clusters")
        rows = (row for path in paths for row in self._rows(path))
        files = [file for path in paths for file in (path, *(self.companions.files(path) if self.companions else ()))]
        source = Source(
            str(paths[0]), _generated(self.convert(rows)), {**files_provenance(files), **without_none(split=split)}
        )
        names = self.labels if labels is None else labels
        return assemble(source, columns=self.columns, labels=names, lang=lang, limit=limit, options=options)

    def _rows(self, path: Path) -> Iterator[Record]:
        rows = self.readers[path.suffix.lower()](path)
        return rows if self.companions is None else self.companions.join(self.companions.files(path), rows)


def files_provenance(paths: Sequence[Path]) -> dict[str, str]:
    """Paths and SHA-256 of files; raises a UserError for one that cannot be read."""
    return {"path": ", ".join(map(str, paths)), "sha256": ", ".join(map(file_hash, paths))}


def first_cells(reader: Reader, path: Path) -> Mapping[str, Any]:
    """The cells of the first row of a file; empty if there is no readable row."""
    try:
        with closing(reader(path)) as rows:
            first = next(rows, None)
    except (OSError, UserError):  # reported when the file is actually read
        return {}
    return {} if first is None else first.cells


def has(*names: str) -> Callable[[Mapping[str, Any]], bool]:
    """A predicate: whether a row has all these columns."""
    return lambda cells: all(name in cells for name in names)


def _generated(rows: Iterable[Record]) -> Generator[Record, None, None]:
    yield from rows


def check_split(name: str, split: str, splits: Iterable[str] = SPLITS) -> None:
    """Reject an unknown split."""
    if split not in splits:
        raise UserError(f"{name}: {unknown('split', split, splits)}")


def four_fifths(n: int) -> int:
    """Number of training rows out of n: 0.8 n, rounded."""
    return (8 * n + 5) // 10
