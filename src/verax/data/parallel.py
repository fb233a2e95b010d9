"""Parallel data: selection of rows by language, and consistency checks between translations."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from verax.data.columns import Columns
from verax.data.rows import Record
from verax.data.segmenters import Segment
from verax.data.text import has_words
from verax.registry import unknown
from verax.types import Dataset, Instance, UserError

Missing = Literal["error", "skip"]


@dataclass(frozen=True, slots=True)
class LanguageOptions:
    """Options for multilingual data.

    Args:
        langs: languages to keep; None: all.
        missing: treatment of inputs that lack a language: an error, or skipped and counted.
        segment: word segmentation of scripts without spaces (see `Splitter`).
        alignments: word alignment files by language pair, reference first, one file per part.
    """

    langs: tuple[str, ...] | None = None
    missing: Missing = "error"
    segment: Segment = "auto"
    alignments: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class LanguageRow(NamedTuple):
    """A row with its language, parallel id, and number among the rows of its language."""

    row: Record
    lang: str
    parallel_id: str | None
    number: int


class SelectedRows(NamedTuple):
    """The selected rows, in order.

    Args:
        rows: read lazily where possible.
        counts: number of rows of each language in the table, kept or not; empty if not counted.
        shared_ids: whether rows of several languages have the same id.
        provenance: entries for the provenance of the dataset.
    """

    rows: Iterable[LanguageRow]
    counts: Mapping[str, int]
    shared_ids: bool
    provenance: Mapping[str, str]

    def name_of(self, placed: LanguageRow, count: int, own: str | None) -> str:
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

    Args:
        name: name of the data in messages.
        lang: language of rows that do not declare one.
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


def check_labels(name: str, instances: Sequence[Instance]) -> None:
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


def _placed(rows: Iterable[Record], columns: Columns, lang: str) -> Iterator[LanguageRow]:
    counts: Counter[str] = Counter()
    for row in rows:
        own = (row.name(columns.lang) if columns.lang else None) or lang
        parallel_id = row.name(columns.parallel_id) if columns.parallel_id else None
        yield LanguageRow(row, own, parallel_id, counts[own])
        counts[own] += 1


def _check_alignable(columns: Columns, options: LanguageOptions) -> None:
    field = "columns.alignment" if columns.alignment else "alignments" if options.alignments else None
    if field is not None and columns.parallel_id is None:
        raise UserError(
            f"{field}: alignments need columns.parallel_id, which tells which rows are translations of each other"
        )


def _share_ids(table: Sequence[LanguageRow], field: str | None) -> bool:
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


def _groups(placed: Iterable[LanguageRow], field: str) -> dict[str, dict[str, Record]]:
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
