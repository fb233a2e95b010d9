"""From rows to a dataset: the same for every format that rows come from."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from contextlib import closing

from verax.data.columns import Columns, with_defaults
from verax.data.gold import read_human
from verax.data.labels import check_names, read_label, sorted_names
from verax.data.rows import Row, Source
from verax.data.text import from_words, split_at_spaces, split_words
from verax.registry import unknown
from verax.types import Dataset, Instance, Text, UserError


def assemble(
    source: Source, *, columns: Columns, labels: Sequence[str] | None, lang: str, limit: int | None
) -> Dataset:
    """Read the first `limit` rows of a source into a dataset; no further row is read.

    Args:
        source: its rows are closed at the end.
        columns: parts and label are guessed from the first row where they are left out.
        labels: names of the classes in the order of their numbers; None: those that the source knows, else the sorted
            set of those seen.
        lang: of rows without a language of their own.
        limit: None for all.
    """
    if limit is not None and limit < 1:
        raise UserError(f"limit: expected at least 1, got {limit}")
    with closing(source.rows) as rows:
        first = next(rows, None)
        if first is None:
            raise UserError(f"{source.name}: there is no row in it")
        columns = with_defaults(columns, first.cells, source.name)
        given = labels if labels is not None else source.class_names.get(columns.label or "")
        names = None if given is None else check_names(given)
        wanted = itertools.islice(itertools.chain([first], rows), limit)
        instances = _instances(source.name, wanted, columns, names, lang)
    if names is None:
        names = sorted_names(instance.label for instance in instances if instance.label is not None)
    told = {"columns": columns.model_dump_json(exclude_defaults=True)}
    provenance = dict(source.provenance) | told
    return Dataset(source.name, instances, names, provenance, columns.maskable, columns.metric)


def _instances(
    name: str, rows: Iterable[Row], columns: Columns, names: Sequence[str] | None, lang: str
) -> tuple[Instance, ...]:
    instances = []
    places: dict[str, str] = {}
    # An ordered set: a row of JSONL may leave out what is optional, so only the whole table shows what is missing.
    there: dict[str, None] = {}
    for count, row in enumerate(rows, start=1):
        there |= dict.fromkeys(row.cells)
        instance = _instance(row, count, columns, names, lang)
        if instance.id in places:
            raise row.error(columns.id or "id", f"{instance.id!r} is already the id of {places[instance.id]}")
        places[instance.id] = row.position
        instances.append(instance)
    for column in columns.optional():
        if column not in there:
            raise UserError(f"{name}: {unknown('column', column, there)}")
    return tuple(instances)


def _instance(row: Row, count: int, columns: Columns, names: Sequence[str] | None, lang: str) -> Instance:
    own_lang = (row.name(columns.lang) if columns.lang else None) or lang
    parts = tuple(_part(row, field, own_lang, at_spaces=field in columns.words) for field in columns.parts)
    return Instance(
        id=_id(row, columns.id) if columns.id else str(count),
        parts=parts,
        label=read_label(row, columns.label, names) if columns.label else None,
        lang=own_lang,
        parallel_id=row.name(columns.parallel_id) if columns.parallel_id else None,
        human=read_human(row, columns, parts),
    )


def _id(row: Row, field: str) -> str:
    _require(row, field)
    name = row.name(field)
    if name is None:
        raise row.error(field, "expected an id, got nothing")
    return name


def _part(row: Row, field: str, lang: str, *, at_spaces: bool) -> Text:
    _require(row, field)
    value = row.cells[field]
    if isinstance(value, list):
        words = [row.text(field, word, "a list of words") for word in value]
        try:
            return from_words(words, lang)
        except UserError as error:
            raise row.error(field, str(error)) from None
    split = split_at_spaces if at_spaces else split_words
    return split(row.text(field, value), lang)


def _require(row: Row, field: str) -> None:
    if field not in row.cells:
        raise UserError(f"{row.where}: {unknown('column', field, row.cells)}")
