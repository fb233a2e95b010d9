"""From rows to a dataset: the same for every format that rows come from."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from typing import NamedTuple

from verax.data.aligned import GivenLinks, in_columns, in_files, parse_alignments
from verax.data.columns import Columns, with_defaults
from verax.data.gold import read_human
from verax.data.labels import check_names, read_label, sorted_names
from verax.data.parallel import Choice, Picked, Placed, check_labels, pick_rows
from verax.data.rows import Row, Source
from verax.data.segmenters import Splitter
from verax.data.text import from_words, split_at_spaces
from verax.data.translations import by_language, holds_translations
from verax.registry import unknown
from verax.types import Dataset, Instance, Text, UserError


class _Reading(NamedTuple):
    """How a row becomes an instance: the classes by number, what splits a text, the links that files give."""

    columns: Columns
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
    choice: Choice | None = None,
) -> Dataset:
    """Read the first `limit` rows of a source into a dataset; no further row is read, unless rows are translations.

    Args:
        source: its rows are closed at the end.
        columns: parts and label are guessed from the first row where they are left out.
        labels: names of the classes in the order of their numbers; None: those that the source knows, else the sorted
            set of those seen.
        lang: of rows without a language of their own.
        limit: None for all; of parallel data so many in each language.
        choice: of languages, and how words are had that no spaces part.
    """
    choice = choice or Choice()
    if limit is not None and limit < 1:
        raise UserError(f"limit: expected at least 1, got {limit}")
    with closing(source.rows) as unread:
        first = next(unread, None)
        if first is None:
            raise UserError(f"{source.name}: there is no row in it")
        columns = with_defaults(columns, first.cells, source.name)
        given = labels if labels is not None else source.class_names.get(columns.label or "")
        names = None if given is None else check_names(given)
        rows: Iterable[Row] = itertools.chain([first], unread)
        if holds_translations(first, columns):
            rows, columns = by_language(rows, columns)
        picked = pick_rows(source.name, rows, columns, lang=lang, limit=limit, choice=choice)
        files = in_files(choice.alignments, picked.counts, len(columns.parts))
        splitter = Splitter(choice.segment)
        instances, links = _instances(source.name, picked, _Reading(columns, names, splitter, files))
    check_labels(source.name, instances)
    if names is None:
        names = sorted_names(instance.label for instance in instances if instance.label is not None)
    told = {"columns": columns.model_dump_json(exclude_defaults=True)}
    provenance = {**source.provenance, **told, **picked.told, **splitter.told}
    aligned = parse_alignments(instances, links)
    return Dataset(source.name, instances, names, provenance, columns.maskable, columns.metric, aligned)


def _instances(
    name: str, picked: Picked, reading: _Reading
) -> tuple[tuple[Instance, ...], dict[str, list[GivenLinks]]]:
    """The instances, and the links that were given for each of them by its id."""
    columns = reading.columns
    instances = []
    links = {}
    places: dict[str, str] = {}
    # An ordered set: a row of JSONL may leave out what is optional, so only the whole table shows what is missing.
    there: dict[str, None] = {}
    for count, placed in enumerate(picked.rows, start=1):
        row = placed.row
        there |= dict.fromkeys(row.cells)
        instance = _instance(placed, picked.name_of(placed, count, _id(row, columns.id)), reading)
        if instance.id in places:
            raise row.error(columns.id or "id", f"{instance.id!r} is already the id of {places[instance.id]}")
        places[instance.id] = row.position
        instances.append(instance)
        files = reading.files.get(placed.lang, ())
        links[instance.id] = in_columns(row, columns, placed.lang) + [lines[placed.number] for lines in files]
    for column in columns.optional():
        if column not in there:
            raise UserError(f"{name}: {unknown('column', column, there)}")
    return tuple(instances), links


def _instance(placed: Placed, name: str, reading: _Reading) -> Instance:
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


def _id(row: Row, field: str | None) -> str | None:
    if field is None:
        return None
    row.require(field)
    name = row.name(field)
    if name is None:
        raise row.error(field, "expected an id, got nothing")
    return name


def _part(row: Row, field: str, lang: str, split: Callable[[str, str], Text]) -> Text:
    row.require(field)
    value = row.cells[field]
    if isinstance(value, list):
        words = [row.text(field, word, "a list of words") for word in value]
        try:
            return from_words(words, lang)
        except UserError as error:
            raise row.error(field, str(error)) from None
    return split(row.text(field, value), lang)
