"""Building a dataset from rows, whatever format they come from."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from typing import NamedTuple

from verax.data.columns import Columns, with_defaults
from verax.data.gold import read_human
from verax.data.labels import check_names, read_label, sorted_names
from verax.data.parallel import (
    LanguageOptions,
    ParallelRow,
    SelectedRows,
    by_language,
    check_same_labels,
    holds_translations,
    select_rows,
)
from verax.data.pharaoh import GivenLinks, in_columns, in_files, parse_alignments
from verax.data.rows import Record, Source
from verax.data.segmenters import Splitter
from verax.data.text import from_words, split_at_spaces
from verax.registry import unknown
from verax.types import Dataset, Instance, Text, UserError


class _RowReader(NamedTuple):
    """How a row becomes an instance: columns, class names, word splitter, and links from alignment files."""

    columns: Columns
    guessed_id: bool
    names: Sequence[str] | None
    split: Callable[[str, str], Text]
    files: Mapping[str, Sequence[Sequence[GivenLinks]]]


def assemble(
    source: Source,
    *,
    columns: Columns,
    labels: Sequence[str] | None,
    lang: str,
    limit: int | None,
    options: LanguageOptions | None = None,
) -> Dataset:
    """Read the first `limit` rows of a source into a dataset; later rows are read only for parallel data.

    Args:
        source: rows to read; closed at the end.
        columns: meaning of each column; parts and label are guessed from the first row if omitted.
        labels: class names in index order; None: those the source declares, otherwise the sorted set of those seen.
        limit: maximum number of rows (of parallel data: per language); None for all.
    """
    options = options or LanguageOptions()
    if limit is not None and limit < 1:
        raise UserError(f"limit: expected at least 1, got {limit}")
    with closing(source.rows) as unread:
        first = next(unread, None)
        if first is None:
            raise UserError(f"{source.name}: contains no rows")
        guessed_id = columns.id is None
        columns = with_defaults(columns, first.cells, source.name)
        given = labels if labels is not None else source.class_names.get(columns.label or "")
        names = None if given is None else check_names(given)
        rows: Iterable[Record] = itertools.chain([first], unread)
        if holds_translations(first, columns):
            rows, columns = by_language(rows, columns)
        picked = select_rows(source.name, rows, columns, lang=lang, limit=limit, options=options)
        files = in_files(options.alignments, picked.counts, len(columns.parts), options.one_based)
        splitter = Splitter(options.segment)
        instances, links = _instances(source.name, picked, _RowReader(columns, guessed_id, names, splitter, files))
    check_same_labels(source.name, instances)
    if names is None:
        names = sorted_names(instance.label for instance in instances if instance.label is not None)
    extra = {"columns": columns.model_dump_json(exclude_defaults=True)}
    provenance = {**source.provenance, **extra, **picked.provenance, **splitter.provenance}
    aligned = parse_alignments(instances, links)
    return Dataset(source.name, instances, names, provenance, columns.maskable, columns.metric, aligned)


def _instances(
    name: str, picked: SelectedRows, reading: _RowReader
) -> tuple[tuple[Instance, ...], dict[str, list[GivenLinks]]]:
    """The instances, and the given links by instance id."""
    columns = reading.columns
    instances = []
    links = {}
    positions: dict[str, str] = {}
    # An ordered set. A JSONL row may omit optional columns, so missing ones are only known at the end.
    seen_columns: dict[str, None] = {}
    for count, placed in enumerate(picked.rows, start=1):
        row = placed.row
        seen_columns |= dict.fromkeys(row.cells)
        instance = _instance(placed, picked.name_of(placed, count, _id(row, columns.id)), reading)
        if instance.id in positions:
            problem = f"{instance.id!r} is already the id of {positions[instance.id]}"
            if reading.guessed_id:
                problem += "; name a column of unique ids, or set columns.id to an empty name to number the rows"
            raise row.error(columns.id or "id", problem)
        positions[instance.id] = row.position
        instances.append(instance)
        files = reading.files.get(placed.lang, ())
        links[instance.id] = in_columns(row, columns, placed.lang) + [lines[placed.number] for lines in files]
    for column in columns.optional():
        if column not in seen_columns:
            raise UserError(f"{name}: {unknown('column', column, seen_columns)}")
    return tuple(instances), links


def _instance(placed: ParallelRow, name: str, reading: _RowReader) -> Instance:
    row, lang, columns = placed.row, placed.lang, reading.columns
    split = reading.split
    parts = tuple(
        _part(row, field, lang, split_at_spaces if field in columns.words else split) for field in columns.parts
    )
    return Instance(
        id=name,
        parts=parts,
        label=read_label(row, columns.label, reading.names) if columns.label else None,
        lang=lang,
        parallel_id=placed.parallel_id,
        human=read_human(row, columns, parts),
    )


def _id(row: Record, field: str | None) -> str | None:
    if not field:
        return None
    row.require(field)
    name = row.name(field)
    if name is None:
        raise row.error(field, "expected an id, got an empty value")
    return name


def _part(row: Record, field: str, lang: str, split: Callable[[str, str], Text]) -> Text:
    row.require(field)
    value = row.cells[field]
    if isinstance(value, list):
        words = [row.text(field, word, "a list of words") for word in value]
        try:
            return from_words(words, lang)
        except UserError as error:
            raise row.error(field, str(error)) from None
    return split(row.text(field, value), lang)
