"""Parallel data: rows by language, selection of languages, and consistency checks between translations."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from verax.data.columns import Columns
from verax.data.rows import Record, describe
from verax.data.segmenters import Segment
from verax.data.text import has_words
from verax.registry import unknown
from verax.types import Dataset, Instance, UserError

Missing = Literal["error", "skip"]
LANG, PARALLEL_ID = "lang", "parallel_id"


@dataclass(frozen=True, slots=True)
class LanguageOptions:
    """Options for multilingual data.

    Args:
        missing: treatment of inputs that lack a language: an error, or skipped and counted.
        segment: word segmentation of scripts without spaces (see `Splitter`).
        alignments: word alignment files by language pair, reference first, one file per part.
        one_based: those of them that count words from 1.
    """

    langs: tuple[str, ...] | None = None
    missing: Missing = "error"
    segment: Segment = "auto"
    alignments: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    one_based: tuple[str, ...] = ()


class ParallelRow(NamedTuple):
    """A row with its language, parallel id, and number among the rows of its language."""

    row: Record
    lang: str
    parallel_id: str | None
    number: int


class SelectedRows(NamedTuple):
    """The selected rows, in order.

    Args:
        counts: number of rows of each language in the table, kept or not; empty if not counted.
        shared_ids: whether rows of several languages have the same id.
    """

    rows: Iterable[ParallelRow]
    counts: Mapping[str, int]
    shared_ids: bool
    provenance: Mapping[str, str]

    def name_of(self, placed: ParallelRow, count: int, own: str | None) -> str:
        """The id of an instance, from the id of its row if there is one, otherwise from its number."""
        if own is not None:
            return f"{own}/{placed.lang}" if self.shared_ids else own
        if len(self.counts) > 1 and placed.parallel_id is not None:
            return f"{placed.parallel_id}/{placed.lang}"
        return str(count)


def only_languages(dataset: Dataset, langs: Sequence[str]) -> Dataset:
    """Restrict a loaded dataset to some languages."""
    available = tuple(dict.fromkeys(instance.lang for instance in dataset.instances))
    kept = _kept(dataset.name, available, langs)
    instances = tuple(instance for instance in dataset.instances if instance.lang in kept)
    names = {instance.id for instance in instances}
    aligned = {
        name: among
        for name, given in dataset.aligned.items()
        if name in names and (among := tuple(alignment for alignment in given if alignment.lang in kept))
    }
    extra = {"langs": ", ".join(kept)}
    return replace(dataset, instances=instances, aligned=aligned, provenance={**dataset.provenance, **extra})


def select_rows(
    name: str, rows: Iterable[Record], columns: Columns, *, lang: str, limit: int | None, options: LanguageOptions
) -> SelectedRows:
    """Select rows by language and limit.

    With a limit, the first rows; of parallel data, the first inputs with all their translations. Only parallel data,
    and data from which languages are selected, is read to the end.
    """
    _check_alignable(columns, options)
    placed = _placed(rows, columns, lang)
    if columns.parallel_id is None and options.langs is None:
        return SelectedRows(itertools.islice(placed, limit), {}, False, {})
    table = list(placed)
    counts = dict(Counter(row.lang for row in table))
    if columns.alignment and columns.aligned_to not in counts:
        raise UserError(f"{name}: columns.aligned_to: {unknown('language', columns.aligned_to, counts)}")
    kept = _kept(name, tuple(counts), options.langs)
    chosen = [row for row in table if row.lang in kept]
    shared = _share_ids(table, columns.id)
    provenance = {"langs": ", ".join(kept)} if len(counts) > 1 else {}
    if columns.parallel_id is None or len(kept) == 1:
        return SelectedRows(chosen[:limit], counts, shared, provenance)
    groups = _groups(chosen, columns.parallel_id)
    _check_shared(name, groups, kept)
    whole, broken = _complete_groups(name, groups, kept, columns, limit, options.missing)
    if broken:
        provenance["left_out"] = f"{broken} inputs that are not there in every language"
    return SelectedRows([row for row in chosen if row.parallel_id in whole], counts, shared, provenance)


def check_same_labels(name: str, instances: Sequence[Instance]) -> None:
    """Check that the translations of an input have the same label."""
    first: dict[str, Instance] = {}
    for instance in instances:
        if instance.parallel_id is None:
            continue
        other = first.setdefault(instance.parallel_id, instance)
        if other.lang != instance.lang and other.label != instance.label:
            raise UserError(
                f"{name}: the translations of {instance.parallel_id!r} differ in their label: {_label(other)} in "
                f"{other.lang}, {_label(instance)} in {instance.lang}"
            )


def _placed(rows: Iterable[Record], columns: Columns, lang: str) -> Iterator[ParallelRow]:
    counts: Counter[str] = Counter()
    for row in rows:
        own = (row.name(columns.lang) if columns.lang else None) or lang
        parallel_id = row.name(columns.parallel_id) if columns.parallel_id else None
        yield ParallelRow(row, own, parallel_id, counts[own])
        counts[own] += 1


def _check_alignable(columns: Columns, options: LanguageOptions) -> None:
    field = "columns.alignment" if columns.alignment else "alignments" if options.alignments else None
    if field is not None and columns.parallel_id is None:
        raise UserError(
            f"{field}: alignments need columns.parallel_id, which tells which rows are translations of each other"
        )


def _share_ids(table: Sequence[ParallelRow], field: str | None) -> bool:
    if field is None:
        return False
    pairs = {(row.row.name(field), row.lang) for row in table}
    return len({name for name, _ in pairs}) < len(pairs)


def _kept(name: str, available: Sequence[str], langs: Sequence[str] | None) -> tuple[str, ...]:
    if langs is None:
        return tuple(available)
    if not langs:
        raise UserError(f"{name}: langs: expected at least one language; available: {', '.join(available)}")
    for lang in langs:
        if lang not in available:
            raise UserError(f"{name}: langs: {unknown('language', lang, available)}")
    return tuple(lang for lang in available if lang in langs)


def _groups(placed: Iterable[ParallelRow], field: str) -> dict[str, dict[str, Record]]:
    """Rows by parallel id and language, in order."""
    groups: dict[str, dict[str, Record]] = {}
    for located in placed:
        if located.parallel_id is None:
            raise located.row.error(field, "expected a parallel id, got an empty value")
        group = groups.setdefault(located.parallel_id, {})
        if located.lang in group:
            message = f"duplicate {located.parallel_id!r} in {located.lang}; first at {group[located.lang].where}"
            raise located.row.error(field, message)
        group[located.lang] = located.row
    return groups


def _check_shared(name: str, groups: Mapping[str, Mapping[str, Record]], langs: Sequence[str]) -> None:
    """Reject languages without any common parallel id, whatever `missing` is."""
    first = langs[0]
    for lang in langs[1:]:
        if not any(first in group and lang in group for group in groups.values()):
            first_example, example = (
                next(key for key, group in groups.items() if code in group) for code in (first, lang)
            )
            raise UserError(
                f"{name}: {lang} and {first} have no parallel id in common; {lang} has for example {example!r}, "
                f"{first} has {first_example!r}"
            )


def _complete_groups(
    name: str,
    groups: Mapping[str, Mapping[str, Record]],
    langs: Sequence[str],
    columns: Columns,
    limit: int | None,
    missing: Missing,
) -> tuple[set[str], int]:
    """The first complete groups (every language, no empty part), and the number of incomplete groups skipped."""
    complete: set[str] = set()
    incomplete = 0
    for parallel_id, group in groups.items():
        if len(complete) == limit:
            break
        problem = _problem(name, parallel_id, group, langs, columns)
        if problem is None:
            complete.add(parallel_id)
        elif missing == "error":
            raise UserError(f"{problem}; set missing: skip to leave out such inputs")
        else:
            incomplete += 1
    if not complete:
        raise UserError(f"{name}: no input is available in all of {', '.join(langs)}")
    return complete, incomplete


def _problem(
    name: str, parallel_id: str, group: Mapping[str, Record], langs: Sequence[str], columns: Columns
) -> str | None:
    for lang in langs:
        if lang not in group:
            there, row = next(iter(group.items()))
            return f"{name}: {parallel_id!r} is missing in {lang}; in {there} it is at {row.where}"
        for part in columns.parts:
            cell = group[lang].cells.get(part)
            if cell == [] or (isinstance(cell, str) and not has_words(cell)):
                return str(group[lang].error(part, f"{parallel_id!r} is empty in {lang}"))
    return None


def _label(instance: Instance) -> str:
    return "none" if instance.label is None else repr(instance.label)


def holds_translations(row: Record, columns: Columns) -> bool:
    """Whether the parts of a row are mappings from language to text."""
    return all(isinstance(row.cells.get(part), Mapping) for part in columns.parts)


def by_language(rows: Iterable[Record], columns: Columns) -> tuple[Iterator[Record], Columns]:
    """Expand rows whose parts hold translations into one row per language; and the resulting columns.

    A part holds `{"en": ..., "de": ...}` or `{"language": ["en", ...], "translation": [..., ...]}`. The parallel id is
    the one of the row, or its id, or its number. A part that lacks a language of another part is empty in it.
    """
    id_column = columns.parallel_id or columns.id
    expanded = columns.model_copy(update={"lang": LANG, "parallel_id": id_column or PARALLEL_ID})

    def expanded_rows() -> Iterator[Record]:
        for number, row in enumerate(rows, start=1):
            parts = {part: _translations(row, part) for part in columns.parts}
            shared = {} if id_column else {PARALLEL_ID: str(number)}
            langs = dict.fromkeys(lang for texts in parts.values() for lang in texts)
            if not langs:
                raise row.error(columns.parts[0], "expected translations by language, got none")
            for lang in langs:
                cells = {part: texts.get(lang, "") for part, texts in parts.items()}
                yield row.with_cells({**shared, **cells, LANG: lang})

    return expanded_rows(), expanded


def with_language(row: Record, lang: str | None) -> Record:
    """A row with the language from its file name, unless it declares one."""
    if lang is None or row.cells.get(LANG):
        return row
    own = row.cells.get("language")
    return row.with_cells({LANG: lang if own is None or own == "" else own})


def _translations(row: Record, part: str) -> dict[str, Any]:
    cell = row.cells.get(part)
    if not isinstance(cell, Mapping):
        raise row.error(part, f"expected translations by language, got {describe(cell)}")
    if set(cell) != {"language", "translation"}:
        return {str(lang): text for lang, text in cell.items() if text is not None}
    langs, texts = (row.items(part, cell[side], f"a list of {side}s") for side in ("language", "translation"))
    if len(langs) != len(texts):
        raise row.error(part, f"{len(langs)} languages but {len(texts)} translations")
    return {str(lang): text for lang, text in zip(langs, texts, strict=True) if text is not None}
