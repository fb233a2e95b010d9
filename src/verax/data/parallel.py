"""Inputs that are there in several languages: which of their rows are read, and what must hold between them."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from verax.data.columns import Columns
from verax.data.rows import Row
from verax.data.segmenters import Segment
from verax.data.text import has_words
from verax.registry import unknown
from verax.types import Dataset, Instance, UserError

Missing = Literal["error", "skip"]


@dataclass(frozen=True, slots=True)
class Choice:
    """What of data in several languages is wanted, and how its words are had.

    Args:
        langs: the languages that are kept; None: all.
        missing: what an input that lacks one of them is: an error, or left out and counted.
        segment: how words are found that no spaces part (`Splitter`).
        alignments: files of word alignments by the pair of languages, reference first, one file for each part.
    """

    langs: tuple[str, ...] | None = None
    missing: Missing = "error"
    segment: Segment = "auto"
    alignments: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class Placed(NamedTuple):
    """A row, its language, what it shares with its translations, and its number among the rows of the language."""

    row: Row
    lang: str
    parallel_id: str | None
    number: int


class Picked(NamedTuple):
    """The rows that are read, in order.

    Args:
        rows: read as they are asked for, where nothing needs to be known of all of them.
        counts: how many rows the table has of each language, kept or not; nothing where nobody looked.
        shared_ids: whether rows of several languages have the same id.
        told: what is written down.
    """

    rows: Iterable[Placed]
    counts: Mapping[str, int]
    shared_ids: bool
    told: Mapping[str, str]

    def name_of(self, placed: Placed, count: int, own: str | None) -> str:
        """The id of an instance, from that of its row, if it has one, or from its number."""
        if own is not None:
            return f"{own}/{placed.lang}" if self.shared_ids else own
        if len(self.counts) > 1 and placed.parallel_id is not None:
            return f"{placed.parallel_id}/{placed.lang}"
        return str(count)


def only_languages(dataset: Dataset, langs: Sequence[str]) -> Dataset:
    """The instances of some languages of a dataset that is there already."""
    there = tuple(dict.fromkeys(instance.lang for instance in dataset.instances))
    kept = _kept(dataset.name, there, langs)
    instances = tuple(instance for instance in dataset.instances if instance.lang in kept)
    names = {instance.id for instance in instances}
    aligned = {
        name: among
        for name, given in dataset.aligned.items()
        if name in names and (among := tuple(one for one in given if one.lang in kept))
    }
    told = {"langs": ", ".join(kept)}
    return replace(dataset, instances=instances, aligned=aligned, provenance={**dataset.provenance, **told})


def pick_rows(
    name: str, rows: Iterable[Row], columns: Columns, *, lang: str, limit: int | None, choice: Choice
) -> Picked:
    """The rows that are wanted.

    With a limit these are the first so many, and of parallel data as many in each language, translations of each other.
    So parallel data is read to its end, and so is what languages are chosen from; nothing else is.

    Args:
        name: what messages call the data.
        lang: of rows without a language of their own.
    """
    _check_alignable(columns, choice)
    placed = _placed(rows, columns, lang)
    if columns.parallel_id is None and choice.langs is None:
        return Picked(itertools.islice(placed, limit), {}, False, {})
    table = list(placed)
    counts = dict(Counter(one.lang for one in table))
    if columns.alignment and columns.aligned_to not in counts:
        raise UserError(f"{name}: columns.aligned_to: {unknown('language', columns.aligned_to, counts)}")
    kept = _kept(name, tuple(counts), choice.langs)
    chosen = [one for one in table if one.lang in kept]
    shared = _share_ids(table, columns.id)
    told = {"langs": ", ".join(kept)} if len(counts) > 1 else {}
    if columns.parallel_id is None or len(kept) == 1:
        return Picked(chosen[:limit], counts, shared, told)
    groups = _groups(chosen, columns.parallel_id)
    _check_shared(name, groups, kept)
    whole, broken = _whole_groups(name, groups, kept, columns, limit, choice.missing)
    if broken:
        told["left_out"] = f"{broken} inputs that are not there in every language"
    return Picked([one for one in chosen if one.parallel_id in whole], counts, shared, told)


def check_labels(name: str, instances: Sequence[Instance]) -> None:
    """Translations of one input have one label."""
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


def _placed(rows: Iterable[Row], columns: Columns, lang: str) -> Iterator[Placed]:
    counts: Counter[str] = Counter()
    for row in rows:
        own = (row.name(columns.lang) if columns.lang else None) or lang
        parallel_id = row.name(columns.parallel_id) if columns.parallel_id else None
        yield Placed(row, own, parallel_id, counts[own])
        counts[own] += 1


def _check_alignable(columns: Columns, choice: Choice) -> None:
    field = "columns.alignment" if columns.alignment else "alignments" if choice.alignments else None
    if field is not None and columns.parallel_id is None:
        raise UserError(f"{field}: words are aligned with those of a translation; columns.parallel_id says which it is")


def _share_ids(table: Sequence[Placed], field: str | None) -> bool:
    if field is None:
        return False
    pairs = {(one.row.name(field), one.lang) for one in table}
    return len({name for name, _ in pairs}) < len(pairs)


def _kept(name: str, there: Sequence[str], langs: Sequence[str] | None) -> tuple[str, ...]:
    if langs is None:
        return tuple(there)
    if not langs:
        raise UserError(f"{name}: langs: expected at least one language; there are {', '.join(there)}")
    for lang in langs:
        if lang not in there:
            raise UserError(f"{name}: langs: {unknown('language', lang, there)}")
    return tuple(lang for lang in there if lang in langs)


def _groups(placed: Iterable[Placed], field: str) -> dict[str, dict[str, Row]]:
    """By parallel id and language, in the order of the rows."""
    groups: dict[str, dict[str, Row]] = {}
    for one in placed:
        if one.parallel_id is None:
            raise one.row.error(field, "expected what it shares with its translations, got nothing")
        group = groups.setdefault(one.parallel_id, {})
        if one.lang in group:
            message = f"{one.parallel_id!r} is there in {one.lang} already: {group[one.lang].where}"
            raise one.row.error(field, message)
        group[one.lang] = one.row
    return groups


def _check_shared(name: str, groups: Mapping[str, Mapping[str, Row]], langs: Sequence[str]) -> None:
    """Languages that have nothing in common are no translations, whatever `missing` says."""
    first = langs[0]
    for lang in langs[1:]:
        if not any(first in group and lang in group for group in groups.values()):
            one, other = (next(key for key, group in groups.items() if code in group) for code in (first, lang))
            raise UserError(
                f"{name}: the parallel ids of {lang} and {first} don't match: none of {lang}, such as {other!r}, is "
                f"one of {first}, such as {one!r}"
            )


def _whole_groups(
    name: str,
    groups: Mapping[str, Mapping[str, Row]],
    langs: Sequence[str],
    columns: Columns,
    limit: int | None,
    missing: Missing,
) -> tuple[set[str], int]:
    """The first groups that have every language with nothing empty, and how many had to be passed over."""
    whole: set[str] = set()
    broken = 0
    for parallel_id, group in groups.items():
        if len(whole) == limit:
            break
        problem = _problem(name, parallel_id, group, langs, columns)
        if problem is None:
            whole.add(parallel_id)
        elif missing == "error":
            raise UserError(f"{problem}; missing: skip leaves out such inputs")
        else:
            broken += 1
    if not whole:
        raise UserError(f"{name}: no input is there in all of {', '.join(langs)}")
    return whole, broken


def _problem(
    name: str, parallel_id: str, group: Mapping[str, Row], langs: Sequence[str], columns: Columns
) -> str | None:
    for lang in langs:
        if lang not in group:
            there, row = next(iter(group.items()))
            return f"{name}: {parallel_id!r} is missing in {lang}; in {there} it is {row.where}"
        for part in columns.parts:
            cell = group[lang].cells.get(part)
            if cell == [] or (isinstance(cell, str) and not has_words(cell)):
                return str(group[lang].error(part, f"{parallel_id!r} is empty in {lang}"))
    return None


def _label(instance: Instance) -> str:
    return "none" if instance.label is None else repr(instance.label)
