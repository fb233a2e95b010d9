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
from verax.train.resume import Resume, Weights, read_weights, write_weights
from verax.types import FloatArray, IntArray

FOLDER = "steps"


class Point(NamedTuple):
    """A step of a measure, by its number, and so one training; None at both ends, which all measures share."""

    measure: int | None
    step: int


def point_of(measure: int, step: int, steps: int) -> Point:
    """The point at a step of a measure's curve."""
    return Point(None if step in {0, steps} else measure, step)


def all_points(measures: int, steps: int) -> list[Point]:
    """Every point after the one it builds on: nothing masked, the steps of each measure, everything masked."""
    inner = (Point(measure, step) for measure in range(measures) for step in range(1, steps))
    return [Point(None, 0), *inner, Point(None, steps)]


class Finished(NamedTuple):
    """Answers of a point's model on the test set: predicted classes and gold probabilities, [instances]; and facts."""

    predicted: IntArray
    probability: FloatArray
    facts: dict[str, Any]


@dataclass(frozen=True, eq=False)
class PointFiles:
    """The files of the points.

    A point has three: its masks, written before it is trained; the weights, until the next point has used them; and its
    answers on the test set, which say that it is finished.

    Args:
        folder: where they are.
        key: the hash of everything that determines the outcome.
        names: the names of the measures.
    """

    folder: Path
    key: str
    names: Sequence[str]

    def resume(self, point: Point) -> Resume:
        """Where the training of a point keeps its state after each epoch."""
        return Resume(self._path(point, "resume"), f"{self.key} {self._name(point)}")

    def masks(self, point: Point, splits: Sequence[RoarSplit]) -> dict[str, Masks] | None:
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

    def keep_masks(self, point: Point, masks: Mapping[str, Masks]) -> None:
        """Keep what is masked at a point."""
        packed = {name: np.packbits(np.concatenate(rows)) for name, rows in masks.items()}
        write_weights(self._path(point, "masks"), {name: torch.from_numpy(bits) for name, bits in packed.items()})

    def weights(self, point: Point) -> Weights:
        """The weights of a point's model."""
        return read_weights(self._path(point, "weights"))[0]

    def keep_weights(self, point: Point, weights: Weights) -> None:
        """Keep the weights of a point's model, which explains the inputs for the next point."""
        write_weights(self._path(point, "weights"), weights)

    def remove_weights(self, point: Point) -> None:
        """Remove the weights of a point that are no longer needed."""
        self._path(point, "weights").unlink(missing_ok=True)

    def is_finished(self, point: Point) -> bool:
        """Whether the answers of a point are there."""
        return self._path(point, "answers").is_file()

    def finish(self, point: Point, finished: Finished) -> None:
        """Keep the answers of a point, which is finished by that."""
        tensors = {
            "predicted": torch.from_numpy(finished.predicted),
            "probability": torch.from_numpy(finished.probability),
        }
        write_weights(self._path(point, "answers"), tensors, {"facts": json.dumps(finished.facts)})

    def finished(self, point: Point) -> Finished:
        """The answers of a finished point."""
        tensors, metadata = read_weights(self._path(point, "answers"))
        return Finished(tensors["predicted"].numpy(), tensors["probability"].numpy(), json.loads(metadata["facts"]))

    def _name(self, point: Point) -> str:
        measure = "shared" if point.measure is None else f"{point.measure}-{self.names[point.measure]}"
        return f"{measure}-step-{point.step}"

    def _path(self, point: Point, content: str) -> Path:
        return self.folder / f"{self._name(point)}.{content}{'' if content == 'resume' else '.safetensors'}"
