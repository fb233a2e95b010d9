"""The input of every format reader: the dataset and the user's options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from verax.data.explanations import unknown_id
from verax.data.rows import Record
from verax.stats.aggregation import Aggregation
from verax.types import Dataset, Instance, UserError


@dataclass(frozen=True)
class ImportRequest:
    """One import.

    Args:
        tokenizer: tokenizer of the explained model: a folder, a hub id or a fast tokenizer.
        ids: instance ids in the order of the explanations, if the file has none.
    """

    source: Any
    name: str
    dataset: Dataset
    method: str
    target: str = "prediction"
    tokenizer: Any = None
    aggregate: Aggregation = "sum"
    ids: Sequence[str] | None = None

    @cached_property
    def instances(self) -> Mapping[str, Instance]:
        """The inputs by id."""
        return {instance.id: instance for instance in self.dataset.instances}

    @cached_property
    def _ids_by_text(self) -> Mapping[str, list[str]]:
        ids_by_text: dict[str, list[str]] = {}
        for instance in self.dataset.instances:
            if len(instance.parts) == 1:
                ids_by_text.setdefault(instance.parts[0].raw.strip(), []).append(instance.id)
        return ids_by_text

    def row(self, number: int, identity: str, **cells: Any) -> Record:
        """A row in the format of `load_explanations`; `number` counts from 1."""
        fields = {"id": identity, "method": self.method, "target": self.target}
        return Record(f"{self.name}: explanation of {identity!r}", f"row {number}", fields | cells)

    def find(self, row: Record, field: str = "id") -> Instance | None:
        """The input that a row explains; None if it is excluded by the limit or sample of the dataset.

        `field` is the name of the id field in the file.
        """
        identity = row.cells["id"]
        if identity not in self.instances and not self.dataset.is_partial:
            raise row.error(field, unknown_id(identity, self.instances))
        return self.instances.get(identity)

    def identify(self, texts: Sequence[str]) -> list[str | None]:
        """The id of each explained text: the given one, or that of the only input with this text.

        None for an unknown text in a dataset loaded with a limit or sample.
        """
        if self.ids is not None:
            check_ids(self.name, self.ids, len(texts))
            return list(self.ids)
        return [self._with_text(number, text) for number, text in enumerate(texts, start=1)]

    def explained(self, texts: Sequence[str]) -> Iterator[tuple[int, Record, Instance]]:
        """Index, row and input of each explained text, without those excluded by the limit or sample of the dataset."""
        for number, identity in enumerate(self.identify(texts)):
            if identity is not None:
                row = self.row(number + 1, identity)
                if (instance := self.find(row)) is not None:
                    yield number, row, instance

    def _with_text(self, number: int, text: str) -> str | None:
        ids = self._ids_by_text.get(text.strip(), [])
        if len(ids) == 1:
            return ids[0]
        if not ids and self.dataset.is_partial:
            return None
        shown = text if len(text) <= 40 else text[:37] + "..."
        count = f"{len(ids)} inputs of the data have" if ids else "no input of the data has"
        raise UserError(f"{self.name}: row {number}: {count} the text {shown!r}; give ids")


def check_ids(name: str, ids: Sequence[str], count: int) -> None:
    """Check that there is one id per explanation."""
    if len(ids) != count:
        raise UserError(f"{name}: {len(ids)} ids for {count} explanations")
