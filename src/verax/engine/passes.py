"""Passes that somebody waits for, and how the model is made to do them: in batches, whatever happens to some."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from verax.engine.batches import cut_batches
from verax.engine.questions import (
    AttentionPathGradient,
    AttributedMaps,
    Candidates,
    Choose,
    Generate,
    Likelihood,
    PathGradient,
    SummedGradient,
)
from verax.models.classifier import (
    AttentionPass,
    AttentionRead,
    Classifier,
    MapGradient,
    MapPoint,
    PathPoint,
    PointGradient,
    Row,
    StatesPass,
)
from verax.types import FloatArray, Undefined, UserError

Question = Row | PathPoint | MapPoint | AttentionPass | StatesPass
"""What a model is asked in one pass."""


class Waiting(Protocol):
    """Whoever waits for a pass; is charged the seconds it took."""

    seconds: float


@dataclass(eq=False, slots=True)
class Pass:
    """One pass: what the model is asked, of how many tokens, and who takes the answer or what stands in its way."""

    question: Any
    length: int
    settle: Callable[[Any], None]
    owner: Waiting

    @property
    def row(self) -> Row:
        """The input."""
        question: Question = self.question
        return question if isinstance(question, Row) else question.row


@dataclass(frozen=True)
class Kind:
    """One kind of pass.

    Args:
        compute: how the model does a batch of them.
        together: what must be equal in a batch.
        keeps_graph: it may go backward too, so that a batch needs more memory.
        texts: it is for a text generator, which is named in the question.
    """

    compute: Callable[[Classifier, list[Any]], Sequence[Any]]
    together: Callable[[Any], Any]
    keeps_graph: bool = False
    texts: bool = False

    def backward(self, question: Any) -> bool:
        """Whether a pass goes backward: one that looks at attention does only to weigh the heads."""
        return self.keeps_graph and getattr(question, "readout", None) is not None


def _anything(_: Any) -> None:
    return None


def _generated(_: Any, asks: list[Generate]) -> Sequence[Any]:
    return asks[0].generator.generate([ask.request for ask in asks])


def _likelihoods(_: Any, asks: list[Likelihood]) -> Sequence[Any]:
    return asks[0].generator.likelihoods([ask.request for ask in asks])


def _chosen(_: Any, asks: list[Choose]) -> Sequence[Any]:
    return asks[0].generator.choose([ask.request for ask in asks])


def _candidates(_: Any, asks: list[Candidates]) -> Sequence[Any]:
    return asks[0].generator.candidates([ask.request for ask in asks])


KINDS = {
    "logits": Kind(lambda model, rows: list(model.logits(rows)), _anything),
    "hidden": Kind(lambda model, rows: list(model.hidden(rows)), _anything),
    "states": Kind(lambda model, asked: model.token_states(asked), lambda one: one.layer),
    "gradients": Kind(lambda model, points: model.gradients(points), lambda point: point.guided, True),
    "maps": Kind(lambda model, points: model.map_gradients(points), lambda point: point.layer, True),
    "attention": Kind(
        lambda model, asked: model.attention(asked), lambda one: (one.layer, one.readout is not None), True
    ),
    "generate": Kind(_generated, lambda ask: (id(ask.generator), *ask.request[1:]), texts=True),
    "likelihood": Kind(_likelihoods, lambda ask: id(ask.generator), texts=True),
    "choose": Kind(_chosen, lambda ask: id(ask.generator), texts=True),
    "candidates": Kind(_candidates, lambda ask: (id(ask.generator), *ask.request[1:]), texts=True),
}
"""In the order in which they are done."""


def finite(answer: FloatArray | Exception, what: str) -> FloatArray | Exception:
    """The answer, or what to say of one that holds no finite numbers."""
    if isinstance(answer, np.ndarray) and not np.isfinite(answer).all():
        return Undefined("nonfinite", f"the model's {what} are not finite numbers")
    return answer


def finite_attention(answer: AttentionRead | Exception) -> AttentionRead | Exception:
    """The same for what was read of attention."""
    if isinstance(answer, AttentionRead):
        seen = (answer.weights, *([] if answer.contributions is None else [answer.contributions]))
        if not all(np.isfinite(array).all() for array in seen):
            return Undefined("nonfinite", "the model's attention is not made of finite numbers")
    return answer


@dataclass(eq=False, slots=True)
class PathSum:
    """The gradients of one path, summed up as they come."""

    ask: PathGradient
    values: FloatArray
    total: FloatArray | None = None
    problem: Exception | None = None

    def add(self, number: int, answer: PointGradient | Exception) -> None:
        """Add the gradient at a point of the path, by its number on it, or note why there is none."""
        if isinstance(answer, Exception):
            self.problem = answer
            return
        weighted = self.ask.weights[number] * answer.gradient
        self.total = weighted if self.total is None else self.total + weighted
        self.values[number] = answer.value

    def finished(self, model: Classifier) -> SummedGradient | Exception:
        """The sum, or why there is none."""
        if self.problem is not None or self.total is None:
            return self.problem or Undefined("empty", "no token is left")
        if not (np.isfinite(self.total).all() and np.isfinite(self.values).all()):
            return Undefined("nonfinite", "the model's gradients are not finite numbers")
        path = model.path(Row(self.ask.x.encoding, self.ask.x.state), self.ask.baseline)
        return SummedGradient(self.total, self.values, path)


@dataclass(eq=False, slots=True)
class MapSum:
    """The gradients at the attention maps of one input, summed up as they come."""

    ask: AttentionPathGradient
    layers: FloatArray
    total: FloatArray | None = None
    problem: Exception | None = None

    def add(self, layer: int, answer: MapGradient | Exception) -> None:
        """Add what was found at the map of a layer, or note why there is nothing."""
        if isinstance(answer, Exception):
            self.problem = answer
            return
        share = 1 / len(self.ask.alphas)
        self.total = answer.product * share if self.total is None else self.total + answer.product * share
        self.layers[layer] += answer.total * share

    def finished(self, model: Classifier) -> AttributedMaps | Exception:
        """The sums, or why there are none."""
        if self.problem is not None or self.total is None:
            return self.problem or Undefined("empty", "no token is left")
        if not (np.isfinite(self.total).all() and np.isfinite(self.layers).all()):
            return Undefined("nonfinite", "the gradients of the model's attention are not finite numbers")
        units = model.token_units(Row(self.ask.x.encoding, self.ask.x.state))
        return AttributedMaps(self.total, self.layers, units)


def answer_all(
    passes: Sequence[Pass],
    compute: Callable[[list[Any]], Sequence[Any]],
    bucket: Callable[[Pass], Any],
    budget: int,
    on_batch: Callable[[list[Pass]], None],
    *,
    even: bool = True,
) -> int:
    """Do all passes in batches and settle each with its own answer.

    A batch that runs out of memory is halved, and so is the budget from there on; what is finished stays finished. A
    batch that fails in any other way is halved too, until the row that is to blame stands alone: only it is without an
    answer.

    Args:
        passes: in any order.
        compute: answers the questions of one batch, in its order.
        bucket: passes with different buckets never share a batch.
        budget: tokens in a batch.
        on_batch: called with each finished batch.
        even: rows of equal length may be a batch of their own.

    Returns:
        The budget that was found to fit.
    """
    todo = [[passes[i] for i in batch] for batch in _cut(passes, bucket, budget, even=even)][::-1]
    while todo:
        batch = todo.pop()
        start = time.perf_counter()
        try:
            answers: Sequence[Any] = compute([one.question for one in batch])
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
        on_batch(batch)
    return budget


def is_out_of_memory(error: Exception) -> bool:
    """Whether an error says that memory ran out: torch says so on each device in its own words."""
    text = str(error).lower()
    return isinstance(error, MemoryError) or "out of memory" in text or "can't allocate memory" in text


def _cut(passes: Sequence[Pass], bucket: Callable[[Pass], Any], budget: int, *, even: bool) -> list[list[int]]:
    return cut_batches([one.length for one in passes], [bucket(one) for one in passes], budget, even=even)


def _halves(batch: list[Pass], budget: int) -> list[list[Pass]]:
    """A batch that was cut for a larger budget, in pieces that fit the smaller one."""
    size = max(1, budget // max(one.length for one in batch))
    return [batch[i : i + size] for i in range(0, len(batch), size)]
