"""Parallel texts of a data set in two languages, part by part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from verax.align.protocol import TextPair
from verax.registry import unknown
from verax.types import Dataset, GivenAlignment, Instance, UserError


class Parallel(NamedTuple):
    """An input of the reference language and the same input in another one."""

    reference: Instance
    translation: Instance


def parallel_instances(dataset: Dataset, reference: str, lang: str) -> list[Parallel]:
    """Each input of a language with the one in the reference language that has the same `parallel_id`."""
    langs = {instance.lang for instance in dataset.instances}
    for field, wanted in (("reference", reference), ("lang", lang)):
        if wanted not in langs:
            raise UserError(f"{field}: {dataset.name}: {unknown('language', wanted, langs)}")
    if reference == lang:
        raise UserError(f"lang: {lang} is the reference language; give another one")
    references = _by_parallel_id(dataset, reference)
    instances = _by_parallel_id(dataset, lang)
    missing = [instance.id for number, instance in instances.items() if number not in references]
    if missing:
        raise UserError(
            f"{dataset.name}: {len(missing)} of {len(instances)} inputs in {lang} have no input in {reference} with "
            f"the same parallel_id; the first is {missing[0]!r}"
        )
    return [Parallel(references[number], instance) for number, instance in instances.items()]


def check_same_parts(both: Parallel) -> None:
    """Reject two inputs with different numbers of parts."""
    reference, translation = both
    if len(reference.parts) != len(translation.parts):
        raise UserError(
            f"{reference.id!r} has {len(reference.parts)} parts and its translation {translation.id!r} "
            f"{len(translation.parts)}"
        )


def text_pairs(both: Parallel, aligned: Mapping[str, Sequence[GivenAlignment]]) -> tuple[TextPair, ...]:
    """The parts of two inputs, each with its translation and the links that came with the data, if any."""
    check_same_parts(both)
    reference, translation = both
    given = next((alignment for alignment in aligned.get(translation.id, ()) if alignment.lang == reference.lang), None)
    return tuple(
        TextPair(*texts, given.sure[part] if given else None, given.possible[part] if given and given.possible else ())
        for part, texts in enumerate(zip(reference.parts, translation.parts, strict=True))
    )


def _by_parallel_id(dataset: Dataset, lang: str) -> dict[str, Instance]:
    by_id: dict[str, Instance] = {}
    for instance in dataset.instances:
        if instance.lang != lang:
            continue
        number = instance.parallel_id
        if number is None:
            raise UserError(f"{dataset.name}: {instance.id!r} has no parallel_id (data.columns.parallel_id)")
        if number in by_id:
            raise UserError(
                f"{dataset.name}: {by_id[number].id!r} and {instance.id!r} are both in {lang} and have the same "
                f"parallel_id {number!r}"
            )
        by_id[number] = instance
    return by_id
