"""The same input in several languages: who is the reference of whom."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from verax.registry import unknown
from verax.run.translations import references
from verax.types import Dataset, Instance, UserError

NO_REFERENCE = "no_reference"
_FILE_NAME = re.compile(r"[^\W_][\w-]*")


@dataclass(frozen=True)
class Parallel:
    """Inputs of the reference language, and those of other languages that translate them.

    Args:
        reference: the language.
        instances: those that can be used, in the order of the data.
        references: of each translation among them, by its id, the input that it translates.
        left_out: by language, why how many others can't be used.
    """

    reference: str
    instances: tuple[Instance, ...]
    references: Mapping[str, Instance]
    left_out: Mapping[str, Counter[str]]

    @property
    def languages(self) -> tuple[str, ...]:
        """The reference language, then the others in the order of the data, last those with nothing to use."""
        used = (instance.lang for instance in self.instances)
        return tuple(dict.fromkeys((self.reference, *used, *self.left_out)))


def find_parallel(data: Dataset, reference: str) -> Parallel:
    """Pair the inputs of a dataset with those of its reference language by their parallel ids."""
    _check(data, reference)
    known = references(data.instances, reference)
    if not known:
        raise UserError(
            f"data: no input of {data.name} in another language shares its parallel id with one in {reference!r}: "
            "there is nothing to project to"
        )
    left_out: dict[str, Counter[str]] = {}
    instances = []
    for instance in data.instances:
        if instance.lang == reference or instance.id in known:
            instances.append(instance)
        else:
            left_out.setdefault(instance.lang, Counter())[NO_REFERENCE] += 1
    return Parallel(reference, tuple(instances), known, left_out)


def _check(data: Dataset, reference: str) -> None:
    """Refuse data in which nothing is parallel, inputs of different make, and languages that can't name a file."""
    languages = list(dict.fromkeys(instance.lang for instance in data.instances))
    if all(instance.parallel_id is None for instance in data.instances):
        raise UserError(
            f"data: no input of {data.name} has a parallel id, which translations share; columns.parallel_id names the "
            "column, columns.lang that of the language"
        )
    if reference not in languages:
        raise UserError(f"reference: {unknown('language', reference, languages)}")
    counts = sorted({len(instance.parts) for instance in data.instances})
    if len(counts) > 1:
        raise UserError(f"data: inputs have {counts[0]} to {counts[-1]} parts; highlights need as many in each")
    for lang in languages:
        if not _FILE_NAME.fullmatch(lang):
            raise UserError(f"data: the language {lang!r} can't name a file: letters, digits, - and _ are expected")
