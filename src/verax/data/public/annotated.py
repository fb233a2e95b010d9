"""Public data sets with human annotations, read from the published files in the folder VERAX_DATA."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from verax.data.esnli import ESNLI
from verax.data.fever import FEVER
from verax.data.formats import Format
from verax.data.public.on_disk import data_folder
from verax.data.public.splits import presented
from verax.data.spanex import SPANEX_FEVER, SPANEX_SNLI
from verax.registry import unknown
from verax.types import Dataset, UserError


@dataclass(frozen=True, slots=True)
class Annotated:
    """A data set in files of a public format.

    Args:
        name: registered name.
        summary: description in `verax list datasets`.
        reference: its publication.
        format: format of its files.
        folders: subfolders of the data folder to search; the first is shown in messages.
        files: file names by split.
    """

    name: str
    summary: str
    reference: str
    format: Format
    folders: tuple[str, ...]
    files: Mapping[str, tuple[str, ...]]

    kind: ClassVar[str] = "annotated"

    def __call__(self, split: str = "test", limit: int | None = None, seed: int = 0) -> Dataset:
        """Load the instances of a split.

        Args:
            split: `train`, `validation` or `test`, if available.
            limit: maximum number of instances.
            seed: ignored; nothing is drawn at random.
        """
        if split not in self.files:
            raise UserError(f"{self.name}: {unknown('split', split, self.files)}")
        wanted = " and ".join(f"{self.folders[0]}/{file}" for file in self.files[split])
        root = data_folder(self.name, wanted)
        for folder in self.folders:
            paths = [root / folder / file for file in self.files[split]]
            if all(path.is_file() for path in paths):
                dataset = self.format.load(paths, split=split, limit=limit)
                return presented(dataset, self.name, split, self.reference)
        places = ", ".join(str(root / folder) for folder in self.folders)
        raise UserError(f"{self.name}: files not found in {places}; put {wanted} into {root}")


esnli = Annotated(
    "esnli",
    "SNLI with human highlights and explanations; from your own files.",
    "Camburu et al. 2018, e-SNLI: natural language inference with natural language explanations",
    ESNLI,
    ("esnli", "", "e-SNLI/dataset", "e-SNLI"),
    {
        "train": ("esnli_train_1.csv", "esnli_train_2.csv"),
        "validation": ("esnli_dev.csv",),
        "test": ("esnli_test.csv",),
    },
)
fever = Annotated(
    "fever",
    "Does evidence support a claim, refute it, or neither? From your own files.",
    "Thorne et al. 2018, FEVER: a large-scale dataset for fact extraction and verification; evidence of Atanasova, "
    "Wright and Augenstein 2020",
    FEVER,
    ("fever", "fever_gold_evidence"),
    {"train": ("train.jsonl",), "validation": ("valid.jsonl",), "test": ("test.jsonl",)},
)
_SPANEX = "Ray Choudhury, Atanasova and Augenstein 2023, Explaining interactions between text spans"
spanex_snli = Annotated(
    "spanex-snli",
    "Pairs of SNLI with gold words and span pairs; from your own files.",
    _SPANEX,
    SPANEX_SNLI,
    ("spanex",),
    {"test": ("snli.jsonl",)},
)
spanex_fever = Annotated(
    "spanex-fever",
    "Claims of FEVER with gold words and span pairs; from your own files.",
    _SPANEX,
    SPANEX_FEVER,
    ("spanex",),
    {"test": ("fever.jsonl",)},
)
