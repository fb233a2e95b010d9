"""Loaders of public data sets by name: from the Hugging Face hub, or from files in the folder VERAX_DATA."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import ClassVar

from verax.data.assemble import assemble
from verax.data.babi import load_task, tasks_in
from verax.data.columns import Columns
from verax.data.formats import SPLITS, Format, check_split, four_fifths
from verax.data.hub import ID, NotFound, open_hub
from verax.data.rows import Source
from verax.data.table import open_file
from verax.types import Dataset, Performance, UserError

VARIABLE = "VERAX_DATA"
_LABEL = "label"
_BABI_FOLDERS = tuple(
    Path(above, below) for above in ("", "babi") for below in ("", "en-10k", "tasks_1-20_v1-2/en-10k")
)


@dataclass(frozen=True, slots=True)
class PublicSet(ABC):
    """A public data set.

    Args:
        max_epochs: epochs of a fine-tuning on it (Madsen, Reddy and Chandar 2024, Table 3); None if it is not there.
    """

    name: str
    summary: str
    reference: str
    max_epochs: int | None = field(default=None, kw_only=True)

    kind: ClassVar[str] = "public"

    def __call__(self, split: str = "test", limit: int | None = None, seed: int = 0) -> Dataset:
        """Load the instances of a split.

        Args:
            split: `train`, `validation` or `test`, if available.
            seed: ignored; nothing is drawn at random.
        """
        check_split(self.name, split, self.splits())
        dataset = self.load(split, limit)
        extra = {"split": split, "citation": self.reference}
        return replace(dataset, name=self.name, provenance={**dataset.provenance, **extra})

    def splits(self) -> Iterable[str]:
        """Names of the available splits."""
        return SPLITS

    @abstractmethod
    def load(self, split: str, limit: int | None) -> Dataset:
        """Load the instances of an available split."""

    def data_folder(self, wanted: str) -> Path:
        """The data folder from the environment; raises a UserError if it is missing."""
        given = os.environ.get(VARIABLE, "")
        path = Path(given).expanduser()
        if given and path.is_dir():
            return path
        state = f"it is {given!r}, which is not a folder" if given else "it is not set"
        raise UserError(
            f"{self.name}: put {wanted} into a folder and set the environment variable {VARIABLE} to it; {state}"
        )


@dataclass(frozen=True, slots=True)
class OnHub(PublicSet):
    """A data set on the hub; its labelled rows are loaded in a fixed shuffled order.

    Args:
        path: `owner/name` or `owner/name:configuration` on the hub.
        parts: columns in the order in which the model reads them; of two, only the first may be masked.
        behind: public splits used for train, validation and test. If train and validation use the same one, it is
            divided into four fifths and one fifth.
    """

    path: str
    parts: tuple[str, ...]
    labels: tuple[str, ...]
    metric: Performance
    behind: tuple[str, str, str] = ("train", "train", "validation")

    def load(self, split: str, limit: int | None) -> Dataset:
        """Load the first labelled rows of a split."""
        columns = Columns(
            parts=self.parts,
            label=_LABEL,
            id=ID,
            maskable_part=self.parts[:1] if len(self.parts) > 1 else (),
            metric=self.metric,
        )
        return assemble(self._open(split), columns=columns, labels=self.labels, lang="en", limit=limit)

    def _open(self, split: str) -> Source:
        public = self.behind[SPLITS.index(split)]
        try:
            source = open_hub(self.path, public, None, lambda n: self._pick(split, public, n))
        except NotFound as error:
            raise UserError(f"{self.name}: {error}") from None
        labelled = (row for row in source.rows if row.cells.get(_LABEL, "") not in (None, -1))
        return replace(source, rows=labelled, provenance={**source.provenance, "public_split": public})

    def _pick(self, split: str, public: str, n: int) -> dict[int, str]:
        """Row numbers of a public split that belong to `split`, with ids that contain the row number."""
        rows = shuffled(f"{self.name}/{public}", n)
        if self.behind.count(public) > 1:
            end = four_fifths(n)
            rows = rows[:end] if split == "train" else rows[end:]
        return {row: f"{self.name}/{split}/{row:05d}" for row in rows}


def shuffled(key: str, n: int) -> list[int]:
    """The numbers 0 to n - 1, sorted by the BLAKE2b hash (8 bytes) of `key/number`: the same on every machine."""
    return sorted(range(n), key=lambda number: blake2b(f"{key}/{number}".encode(), digest_size=8).digest())


@dataclass(frozen=True, slots=True)
class InFiles(PublicSet):
    """A data set with human annotations, in published files of a known format.

    Args:
        folders: subfolders of the data folder to search; the first is shown in messages.
    """

    format: Format
    folders: tuple[str, ...]
    files: Mapping[str, tuple[str, ...]]

    kind: ClassVar[str] = "annotated"

    def splits(self) -> Iterable[str]:
        """The splits that have files."""
        return self.files

    def load(self, split: str, limit: int | None) -> Dataset:
        """Load the files of a split from the first folder that has all of them."""
        wanted = " and ".join(f"{self.folders[0]}/{file}" for file in self.files[split])
        root = self.data_folder(wanted)
        for folder in self.folders:
            paths = [root / folder / file for file in self.files[split]]
            if all(path.is_file() for path in paths):
                return self.format.load(paths, split=split, limit=limit)
        places = ", ".join(str(root / folder) for folder in self.folders)
        raise UserError(f"{self.name}: files not found in {places}; put {wanted} into {root}")


@dataclass(frozen=True, slots=True)
class Babi(PublicSet):
    """A bAbI task; each question comes with the preceding story.

    Args:
        title: title in its file names: `qa1_single-supporting-fact_train.txt`.
    """

    task: int
    title: str

    def load(self, split: str, limit: int | None) -> Dataset:
        """Load the questions of a split."""
        stem = f"qa{self.task}_{self.title}"
        wanted = f"{stem}_train.txt and {stem}_test.txt (of tasks_1-20_v1-2/en-10k)"
        root = self.data_folder(wanted)
        folders = [root / below for below in _BABI_FOLDERS if (root / below).is_dir()]
        files = next((tasks[self.task] for tasks in map(tasks_in, folders) if self.task in tasks), None)
        if files is None:
            raise UserError(
                f"{self.name}: files not found; put {wanted} into {root}; searched {', '.join(map(str, folders))}"
            )
        return load_task(self.name, files, split=split, limit=limit)


@dataclass(frozen=True, slots=True)
class Clinical(PublicSet):
    """A diagnosis task on MIMIC-III notes, which may not be redistributed: JSONL files with `text` and `label`."""

    labels: tuple[str, ...]

    def load(self, split: str, limit: int | None) -> Dataset:
        """Load the notes of a split from `NAME/SPLIT.jsonl`."""
        file = f"{self.name}/{split}.jsonl"
        path = self.data_folder(f"{file} (objects with text and label, made from MIMIC-III)") / file
        if not path.is_file():
            raise UserError(f"{self.name}: {path} not found; create it from MIMIC-III, as objects with text and label")
        columns = Columns(parts=("text",), label=_LABEL, metric="macro_f1")
        dataset = assemble(open_file(path), columns=columns, labels=self.labels, lang="en", limit=limit)
        instances = tuple(
            replace(instance, id=f"{self.name}/{split}/{number:05d}")
            for number, instance in enumerate(dataset.instances)
        )
        return replace(dataset, instances=instances)
