"""Public data sets on the Hugging Face hub."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from verax.data.assemble import assemble
from verax.data.columns import Columns
from verax.data.hub import ID, NotFound, open_hub
from verax.data.public.splits import SPLITS, check_split, four_fifths, presented, shuffled
from verax.data.rows import Source
from verax.types import Dataset, Performance, UserError

_LABEL = "label"


@dataclass(frozen=True, slots=True)
class OnHub:
    """A public data set on the hub.

    Args:
        name: registered name.
        summary: description in `verax list datasets`.
        reference: its publication.
        path: `owner/name` or `owner/name:configuration` on the hub.
        parts: columns in the order in which the model reads them; of two, only the first may be masked.
        labels: class names in index order.
        metric: performance measure.
        behind: public splits used for train, validation and test. If train and validation use the same one, it is
            divided into four fifths and one fifth.
    """

    name: str
    summary: str
    reference: str
    path: str
    parts: tuple[str, ...]
    labels: tuple[str, ...]
    metric: Performance
    behind: tuple[str, str, str] = ("train", "train", "validation")

    kind: ClassVar[str] = "public"

    def __call__(self, split: str = "test", limit: int | None = None, seed: int = 0) -> Dataset:
        """Load the labelled rows of a split, in a fixed shuffled order.

        Args:
            split: `train`, `validation` or `test`.
            limit: maximum number of rows.
            seed: ignored; the order is fixed.
        """
        check_split(self.name, split)
        columns = Columns(
            parts=self.parts,
            label=_LABEL,
            id=ID,
            maskable_part=self.parts[:1] if len(self.parts) > 1 else (),
            metric=self.metric,
        )
        dataset = assemble(self._open(split), columns=columns, labels=self.labels, lang="en", limit=limit)
        return presented(dataset, self.name, split, self.reference)

    def _open(self, split: str) -> Source:
        public = self.behind[SPLITS.index(split)]
        try:
            source = open_hub(self.path, public, None, lambda n: self._pick(split, public, n))
        except NotFound as error:
            raise UserError(f"{self.name}: {error}") from None
        labelled = (row for row in source.rows if row.cells.get(_LABEL, "") not in (None, -1))
        return replace(source, rows=labelled, provenance={**source.provenance, "public_split": public})

    def _pick(self, split: str, public: str, n: int) -> dict[int, str]:
        """Record numbers of a public split that belong to `split`, with ids that contain the row number."""
        rows = shuffled(f"{self.name}/{public}", n)
        if self.behind.count(public) > 1:
            end = four_fifths(n)
            rows = rows[:end] if split == "train" else rows[end:]
        return {row: f"{self.name}/{split}/{row:05d}" for row in rows}
