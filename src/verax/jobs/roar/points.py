"""The points of the curves of Recursive ROAR, and the files that are kept of each, so that it can be resumed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from verax.jobs.roar.inputs import Masks, RoarSplit
from verax.store.files import remove_file
from verax.train.resume import Resume, Weights, read_weights, write_weights
from verax.types import FloatArray, IntArray

FOLDER = "steps"


class RoarPoint(NamedTuple):
    """One training: a step of a measure, by its index; None at both ends, which all measures share."""

    measure: int | None
    step: int


def point_of(measure: int, step: int, steps: int) -> RoarPoint:
    """The point at a step of a measure's curve."""
    return RoarPoint(None if step in {0, steps} else measure, step)


def all_points(measures: int, steps: int) -> list[RoarPoint]:
    """Every point after the one it builds on: nothing masked, the steps of each measure, everything masked."""
    inner = (RoarPoint(measure, step) for measure in range(measures) for step in range(1, steps))
    return [RoarPoint(None, 0), *inner, RoarPoint(None, steps)]


class Finished(NamedTuple):
    """Answers of a point's model on the test set: predicted classes and gold probabilities, [instances]; and facts."""

    predicted: IntArray
    probability: FloatArray
    facts: dict[str, Any]


@dataclass(frozen=True, eq=False)
class PointFiles:
    """The files of the points.

    A point has three: its masks, written before it is trained; its weights, until the next point has used them; and its
    answers on the test set, which mark it as finished.
    """

    folder: Path
    key: str
    names: Sequence[str]

    def resume(self, point: RoarPoint) -> Resume:
        """Where the training of a point keeps its state."""
        return Resume(self._path(point, "resume"), f"{self.key} {self._name(point)}")

    def masks(self, point: RoarPoint, splits: Sequence[RoarSplit]) -> dict[str, Masks] | None:
        """What is masked in each split at a point; None if it is not known yet."""
        path = self._path(point, "masks")
        if not path.is_file():
            return None
        tensors, _ = read_weights(path)
        masks = {}
        for split in splits:
            bits = np.unpackbits(tensors[split.name].numpy(), count=sum(split.sizes)).astype(bool)
            masks[split.name] = tuple(np.split(bits, np.cumsum(split.sizes)[:-1]))
        return masks

    def keep_masks(self, point: RoarPoint, masks: Mapping[str, Masks]) -> None:
        """Store what is masked at a point."""
        packed = {name: np.packbits(np.concatenate(rows)) for name, rows in masks.items()}
        write_weights(self._path(point, "masks"), {name: torch.from_numpy(bits) for name, bits in packed.items()})

    def weights(self, point: RoarPoint) -> Weights:
        """The weights of a point's model."""
        return read_weights(self._path(point, "weights"))[0]

    def keep_weights(self, point: RoarPoint, weights: Weights) -> None:
        """Store the weights of a point's model, which explains the inputs for the next point."""
        write_weights(self._path(point, "weights"), weights)

    def remove_weights(self, point: RoarPoint) -> None:
        """Remove the weights of a point that are no longer needed."""
        remove_file(self._path(point, "weights"))

    def is_finished(self, point: RoarPoint) -> bool:
        """Whether the answers of a point are stored."""
        return self._path(point, "answers").is_file()

    def finish(self, point: RoarPoint, finished: Finished) -> None:
        """Store the answers of a point, which marks it as finished."""
        tensors = {
            "predicted": torch.from_numpy(finished.predicted),
            "probability": torch.from_numpy(finished.probability),
        }
        write_weights(self._path(point, "answers"), tensors, {"facts": json.dumps(finished.facts)})

    def finished(self, point: RoarPoint) -> Finished:
        """The answers of a finished point."""
        tensors, metadata = read_weights(self._path(point, "answers"))
        return Finished(tensors["predicted"].numpy(), tensors["probability"].numpy(), json.loads(metadata["facts"]))

    def _name(self, point: RoarPoint) -> str:
        measure = "shared" if point.measure is None else f"{point.measure}-{self.names[point.measure]}"
        return f"{measure}-step-{point.step}"

    def _path(self, point: RoarPoint, content: str) -> Path:
        return self.folder / f"{self._name(point)}.{content}{'' if content == 'resume' else '.safetensors'}"
