"""Passes that somebody waits for, and how the model is made to do them: in batches, whatever happens to some."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from verax.engine.asks import AttentionPathGradient, AttributedMaps, PathGradient, SummedGradient
from verax.engine.batches import cut_batches
from verax.engine.memo import AttentionKey, Memo, gradient_key, maps_key
from verax.models.classifier import (
    AttentionPass,
    AttentionRead,
    Classifier,
    MapGradient,
    MapPoint,
    PathPoint,
    PointGradient,
    Row,
)
from verax.types import FloatArray, Undefined, UserError


class Waiting(Protocol):
    """Whoever waits for a pass; is charged the seconds it took."""

    seconds: float


@dataclass(eq=False, slots=True)
class Forward:
    """One forward pass; what it gives goes to that part of the memo where somebody looks for it."""

    row: Row
    length: int
    answers: dict[bytes, FloatArray | Exception]
    key: bytes
    owner: Waiting

    def settle(self, answer: FloatArray | Exception) -> None:
        """Keep the logits, shape [classes], or the maxima, shape [layers + 1, neurons], or why there are none."""
        if isinstance(answer, np.ndarray) and not np.isfinite(answer).all():
            answer = Undefined("nonfinite", "the model's outputs are not finite numbers")
        self.answers[self.key] = answer


@dataclass(eq=False, slots=True)
class PathSum:
    """The gradients of one path, summed up as they come."""

    ask: PathGradient
    values: FloatArray
    total: FloatArray | None = None
    problem: Exception | None = None

    def finish(self, model: Classifier, memo: Memo) -> None:
        """Keep the sum, or why there is none."""
        key = gradient_key(self.ask)
        if self.problem is not None or self.total is None:
            memo.gradients[key] = self.problem or Undefined("empty", "no token is left")
            return
        if not (np.isfinite(self.total).all() and np.isfinite(self.values).all()):
            memo.gradients[key] = Undefined("nonfinite", "the model's gradients are not finite numbers")
            return
        path = model.path(Row(self.ask.x.encoding, self.ask.x.state), self.ask.baseline)
        memo.gradients[key] = SummedGradient(self.total, self.values, path)


@dataclass(eq=False, slots=True)
class Backward:
    """One backward pass: a point of a path, by its number on it."""

    point: PathPoint
    number: int
    length: int
    path: PathSum
    owner: Waiting

    @property
    def row(self) -> Row:
        """The input at the end of the path."""
        return self.point.row

    def settle(self, answer: PointGradient | Exception) -> None:
        """Add the gradient to the sum, or note why there is none."""
        path = self.path
        if isinstance(answer, Exception):
            path.problem = answer
            return
        weighted = path.ask.weights[self.number] * answer.gradient
        path.total = weighted if path.total is None else path.total + weighted
        path.values[self.number] = answer.value


@dataclass(eq=False, slots=True)
class Attending:
    """One pass with attention in the open; what is read goes to the memo."""

    attention: AttentionPass
    length: int
    memo: Memo
    key: AttentionKey
    owner: Waiting

    @property
    def row(self) -> Row:
        """The input."""
        return self.attention.row

    def settle(self, answer: AttentionRead | Exception) -> None:
        """Keep what was read, or why there is nothing."""
        if isinstance(answer, AttentionRead):
            seen = (answer.weights, *([] if answer.contributions is None else [answer.contributions]))
            if not all(np.isfinite(array).all() for array in seen):
                answer = Undefined("nonfinite", "the model's attention is not made of finite numbers")
        self.memo.attention[self.key] = answer


@dataclass(eq=False, slots=True)
class MapSum:
    """The gradients at the attention maps of one input, summed up as they come."""

    ask: AttentionPathGradient
    layers: FloatArray
    total: FloatArray | None = None
    problem: Exception | None = None

    def finish(self, model: Classifier, memo: Memo) -> None:
        """Keep the sums, or why there are none."""
        answer: AttributedMaps | Exception
        if self.problem is not None or self.total is None:
            answer = self.problem or Undefined("empty", "no token is left")
        elif not (np.isfinite(self.total).all() and np.isfinite(self.layers).all()):
            answer = Undefined("nonfinite", "the gradients of the model's attention are not finite numbers")
        else:
            units = model.token_units(Row(self.ask.x.encoding, self.ask.x.state))
            answer = AttributedMaps(self.total, self.layers, units)
        memo.maps[maps_key(self.ask)] = answer


@dataclass(eq=False, slots=True)
class Attributing:
    """One backward pass to the attention map of a layer."""

    point: MapPoint
    length: int
    maps: MapSum
    owner: Waiting

    @property
    def row(self) -> Row:
        """The input."""
        return self.point.row

    def settle(self, answer: MapGradient | Exception) -> None:
        """Add it to the sums, or note why there is nothing."""
        maps = self.maps
        if isinstance(answer, Exception):
            maps.problem = answer
            return
        share = 1 / len(maps.ask.alphas)
        maps.total = answer.product * share if maps.total is None else maps.total + answer.product * share
        maps.layers[self.point.layer] += answer.total * share


P = TypeVar("P", Forward, Backward, Attending, Attributing)


def answer_all(
    passes: Sequence[P],
    compute: Callable[[list[P]], Sequence[Any]],
    bucket: Callable[[P], Any],
    budget: int,
    on_batch: Callable[[int], None],
) -> int:
    """Do all passes in batches and settle each with its own answer.

    A batch that runs out of memory is halved, and so is the budget from there on; what is finished stays finished. A
    batch that fails in any other way is halved too, until the row that is to blame stands alone: only it is without an
    answer.

    Args:
        passes: in any order.
        compute: answers one batch, in its order.
        bucket: passes with different buckets never share a batch.
        budget: tokens in a batch.
        on_batch: called with the number of passes in each finished batch.

    Returns:
        The budget that was found to fit.
    """
    todo = [[passes[i] for i in batch] for batch in _cut(passes, bucket, budget)][::-1]
    while todo:
        batch = todo.pop()
        start = time.perf_counter()
        try:
            answers: Sequence[Any] = compute(batch)
        except UserError:
            raise
        except Exception as error:  # noqa: BLE001 - the row that is to blame is found, and the error kept as its answer
            if len(batch) > 1:
                half = len(batch) // 2
                todo += [batch[half:], batch[:half]]
                if is_out_of_memory(error):
                    budget = min(budget, half * max(one.length for one in batch))
                    todo = [piece for whole in todo for piece in _halves(whole, budget)]
                continue
            out_of_memory = Undefined("out_of_memory", f"one input of {batch[0].length} tokens does not fit")
            answers = [out_of_memory if is_out_of_memory(error) else error]
        share = (time.perf_counter() - start) / len(batch)
        for one, answer in zip(batch, answers, strict=True):
            one.settle(answer)
            one.owner.seconds += share
        on_batch(len(batch))
    return budget


def is_out_of_memory(error: Exception) -> bool:
    """Whether an error says that memory ran out: torch says so on each device in its own words."""
    text = str(error).lower()
    return isinstance(error, MemoryError) or "out of memory" in text or "can't allocate memory" in text


def _cut(passes: Sequence[P], bucket: Callable[[P], Any], budget: int) -> list[list[int]]:
    return cut_batches([one.length for one in passes], [bucket(one) for one in passes], budget)


def _halves(batch: list[P], budget: int) -> list[list[P]]:
    """A batch that was cut for a larger budget, in pieces that fit the smaller one."""
    size = max(1, budget // max(one.length for one in batch))
    return [batch[i : i + size] for i in range(0, len(batch), size)]
