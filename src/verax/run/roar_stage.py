"""The steps of Recursive ROAR, and what is kept of each, so that a killed run goes on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from verax.run.roar_inputs import Masks, Split
from verax.store.files import replace_file
from verax.train.resume import Resume, Weights, read_weights, write_weights
from verax.types import FloatArray, IntArray, UserError

FOLDER = "steps"
_KEY = "key"


class Job(NamedTuple):
    """One training: a step of a measure, by its number; None at both ends, which all measures share."""

    measure: int | None
    step: int


def job_of(measure: int, step: int, steps: int) -> Job:
    """The training that gives a point of a measure's curve."""
    return Job(None if step in {0, steps} else measure, step)


def jobs(measures: int, steps: int) -> list[Job]:
    """Every training, each after the one that it builds on: nothing masked, each measure's steps, all masked."""
    return [Job(None, 0), *(Job(m, step) for m in range(measures) for step in range(1, steps)), Job(None, steps)]


class Finished(NamedTuple):
    """What a finished step says of the test set: predicted classes, gold probabilities, both [instances]; and facts."""

    predicted: IntArray
    probability: FloatArray
    facts: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Stages:
    """A folder with what is kept of the steps.

    A step leaves three files: its masks, before it is trained; the weights, until the next step has used them; and, at
    last, what it says of the test set, which tells that it is finished.

    Args:
        folder: of the steps.
        key: the hash of everything that decides the outcome.
        names: of the measures.
    """

    folder: Path
    key: str
    names: Sequence[str]

    def check(self) -> None:
        """Refuse a folder that belongs to another spec, other data or another base."""
        path = self.folder / _KEY
        if path.is_file() and path.read_text("utf-8") != self.key:
            raise UserError(
                f"{self.folder.parent} holds a ROAR by another spec, on other data or from another base; choose "
                "another --out, or remove it to begin anew"
            )

    def claim(self) -> None:
        """Make the folder this run's own."""
        replace_file(self.folder / _KEY, self.key.encode())

    def resume(self, job: Job) -> Resume:
        """Where the training of a step keeps its state after each epoch."""
        return Resume(self._path(job, "resume"), f"{self.key} {self._name(job)}")

    def masks(self, job: Job, splits: Sequence[Split]) -> dict[str, Masks] | None:
        """What is masked in each split at a step; None if it is not known yet."""
        path = self._path(job, "masks")
        if not path.is_file():
            return None
        tensors, _ = read_weights(path)
        found = {}
        for split in splits:
            bits = np.unpackbits(tensors[split.name].numpy(), count=sum(split.sizes)).astype(bool)
            found[split.name] = tuple(np.split(bits, np.cumsum(split.sizes)[:-1]))
        return found

    def keep_masks(self, job: Job, masks: Mapping[str, Masks]) -> None:
        """Keep what is masked at a step."""
        packed = {name: np.packbits(np.concatenate(rows)) for name, rows in masks.items()}
        write_weights(self._path(job, "masks"), {name: torch.from_numpy(bits) for name, bits in packed.items()})

    def weights(self, job: Job) -> Weights:
        """The weights of a step's model."""
        return read_weights(self._path(job, "weights"))[0]

    def keep_weights(self, job: Job, weights: Weights) -> None:
        """Keep the weights of a step's model, for the next step to be explained by."""
        write_weights(self._path(job, "weights"), weights)

    def forget_weights(self, job: Job) -> None:
        """Remove the weights of a step that nobody needs any more."""
        self._path(job, "weights").unlink(missing_ok=True)

    def has(self, job: Job) -> bool:
        """Whether a step is finished."""
        return self._path(job, "answers").is_file()

    def finish(self, job: Job, finished: Finished) -> None:
        """Keep what a step says; from here on it is finished."""
        tensors = {
            "predicted": torch.from_numpy(finished.predicted),
            "probability": torch.from_numpy(finished.probability),
        }
        write_weights(self._path(job, "answers"), tensors, {"facts": json.dumps(finished.facts)})

    def finished(self, job: Job) -> Finished:
        """What a finished step says."""
        tensors, metadata = read_weights(self._path(job, "answers"))
        return Finished(tensors["predicted"].numpy(), tensors["probability"].numpy(), json.loads(metadata["facts"]))

    def _name(self, job: Job) -> str:
        return f"{'shared' if job.measure is None else f'{job.measure}-{self.names[job.measure]}'}-step-{job.step}"

    def _path(self, job: Job, what: str) -> Path:
        return self.folder / f"{self._name(job)}.{what}{'' if what == 'resume' else '.safetensors'}"
