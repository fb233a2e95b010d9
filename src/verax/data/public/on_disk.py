"""Public data sets that are not on the hub, read from files in the folder VERAX_DATA."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from verax.data.assemble import assemble
from verax.data.babi import load_task, tasks_in
from verax.data.columns import Columns
from verax.data.public.splits import check_split, presented
from verax.data.table import open_file
from verax.types import Dataset, UserError

VARIABLE = "VERAX_DATA"
_BABI_FOLDERS = tuple(
    Path(above, below) for above in ("", "babi") for below in ("", "en-10k", "tasks_1-20_v1-2/en-10k")
)


def data_folder(name: str, wanted: str) -> Path:
    """The data folder from the environment; raises a UserError if it is missing."""
    given = os.environ.get(VARIABLE, "")
    path = Path(given).expanduser()
    if given and path.is_dir():
        return path
    state = f"it is {given!r}, which is not a folder" if given else "it is not set"
    raise UserError(f"{name}: put {wanted} into a folder and set the environment variable {VARIABLE} to it; {state}")


@dataclass(frozen=True, slots=True)
class Babi:
    """A bAbI task.

    Args:
        name: registered name.
        summary: description in `verax list datasets`.
        task: number of the task.
        title: title in its file names: `qa1_single-supporting-fact_train.txt`.
    """

    name: str
    summary: str
    task: int
    title: str

    kind: ClassVar[str] = "public"
    reference: ClassVar[str] = (
        "Weston et al. 2016, Towards AI-complete question answering: a set of prerequisite toy tasks"
    )

    def __call__(self, split: str = "test", limit: int | None = None, seed: int = 0) -> Dataset:
        """Load the questions of a split, each with the preceding story.

        Args:
            split: `train`, `validation` or `test`.
            limit: maximum number of instances.
            seed: ignored; nothing is drawn at random.
        """
        check_split(self.name, split)
        stem = f"qa{self.task}_{self.title}"
        wanted = f"{stem}_train.txt and {stem}_test.txt (of tasks_1-20_v1-2/en-10k)"
        root = data_folder(self.name, wanted)
        folders = [root / below for below in _BABI_FOLDERS if (root / below).is_dir()]
        files = next((tasks[self.task] for tasks in map(tasks_in, folders) if self.task in tasks), None)
        if files is None:
            raise UserError(
                f"{self.name}: files not found; put {wanted} into {root}; searched {', '.join(map(str, folders))}"
            )
        dataset = load_task(self.name, files, split=split, limit=limit)
        return presented(dataset, self.name, split, self.reference)


@dataclass(frozen=True, slots=True)
class Clinical:
    """A diagnosis task on MIMIC-III notes, which may not be redistributed: JSONL files with `text` and `label`.

    Args:
        name: registered name, and name of its folder.
        summary: description in `verax list datasets`.
        labels: class names in index order.
    """

    name: str
    summary: str
    labels: tuple[str, ...]

    kind: ClassVar[str] = "public"
    reference: ClassVar[str] = "Johnson et al. 2016, MIMIC-III, a freely accessible critical care database"

    def __call__(self, split: str = "test", limit: int | None = None, seed: int = 0) -> Dataset:
        """Load the notes of a split.

        Args:
            split: `train`, `validation` or `test`.
            limit: maximum number of instances.
            seed: ignored; nothing is drawn at random.
        """
        check_split(self.name, split)
        file = f"{self.name}/{split}.jsonl"
        path = data_folder(self.name, f"{file} (objects with text and label, made from MIMIC-III)") / file
        if not path.is_file():
            raise UserError(f"{self.name}: {path} not found; create it from MIMIC-III, as objects with text and label")
        columns = Columns(parts=("text",), label="label", metric="macro_f1")
        dataset = assemble(open_file(path), columns=columns, labels=self.labels, lang="en", limit=limit)
        named = (
            replace(instance, id=f"{self.name}/{split}/{number:05d}")
            for number, instance in enumerate(dataset.instances)
        )
        return presented(replace(dataset, instances=tuple(named)), self.name, split, self.reference)
