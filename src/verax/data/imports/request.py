"""What every format is read with: the data that the scores belong to, and what a person said about the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from verax.data.explanations import unknown_id
from verax.data.rows import Row
from verax.types import Dataset, Instance, UserError

Aggregation = Literal["sum", "mean", "l1", "l2"]


@dataclass(frozen=True)
class Request:
    """One import.

    Args:
        source: the path of a file, or the object of another library itself.
        name: what messages call it.
        dataset: the inputs that were explained.
        method: the name that the explanations get.
        target: what of the model was explained.
        tokenizer: of the model that was explained: a folder, a hub id or a fast tokenizer.
        aggregate: how dimensions of a token become one score.
        ids: of the explanations, in their order, where the file has none.
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
        found: dict[str, list[str]] = {}
        for instance in self.dataset.instances:
            if len(instance.parts) == 1:
                found.setdefault(instance.parts[0].raw.strip(), []).append(instance.id)
        return found

    def row(self, number: int, identity: str, **cells: Any) -> Row:
        """A row of our own format for one explanation; `number` counts them from 1."""
        told = {"id": identity, "method": self.method, "target": self.target}
        return Row(f"{self.name}: explanation of {identity!r}", f"row {number}", told | cells)

    def find(self, row: Row, field: str = "id") -> Instance | None:
        """The input that a row explains; None if it lies beyond the limit that cut the data short.

        `field` is what the file calls the id.
        """
        identity = row.cells["id"]
        if identity not in self.instances and "limit" not in self.dataset.provenance:
            raise row.error(field, unknown_id(identity, self.instances))
        return self.instances.get(identity)

    def identify(self, texts: Sequence[str]) -> list[str | None]:
        """The id of each explained text: as it was said, or else that of the one input that has just this text.

        None stands for a text that nobody knows in data that a limit cut short.
        """
        if self.ids is not None:
            check_ids(self.name, self.ids, len(texts))
            return list(self.ids)
        return [self._with_text(number, text) for number, text in enumerate(texts, start=1)]

    def _with_text(self, number: int, text: str) -> str | None:
        ids = self._ids_by_text.get(text.strip(), [])
        if len(ids) == 1:
            return ids[0]
        if not ids and "limit" in self.dataset.provenance:
            return None
        shown = text if len(text) <= 40 else text[:37] + "..."
        count = f"{len(ids)} inputs of the data have" if ids else "no input of the data has just"
        raise UserError(f"{self.name}: row {number}: {count} the text {shown!r}; say which with ids")


def check_ids(name: str, ids: Sequence[str], count: int) -> None:
    """There must be an id for each explanation."""
    if len(ids) != count:
        raise UserError(f"{name}: {len(ids)} ids for {count} explanations")
