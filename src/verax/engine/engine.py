"""The engine: runs many generators at once and sends their questions to the model in full batches."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from verax.engine.asks import (
    Ask,
    Asking,
    Attention,
    AttentionPathGradient,
    Embeddings,
    Hidden,
    Outputs,
    PathGradient,
    VocabularyNorm,
)
from verax.engine.memo import ASKED, Memo, attention_key, gradient_key, maps_key
from verax.engine.passes import Attending, Attributing, Backward, Forward, MapSum, PathSum, answer_all
from verax.models.classifier import AttentionPass, Classifier, MapPoint, PathPoint, Row
from verax.models.encoding import Encoding
from verax.models.removal import States
from verax.types import Cost, Undefined, UserError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """How a task ended: with a value, or with the exception that its generator raised; and what it cost."""

    value: T | None
    error: Exception | None
    cost: Cost


@dataclass(eq=False, slots=True)
class Task(Generic[T]):
    """A generator to run, and what to do when it has ended: `done` may give further tasks."""

    generator: Asking[T]
    done: Callable[[Outcome[T]], Iterable[Task[Any]]]
    ask: Ask | None = None
    cost: Cost = Cost()
    seconds: float = 0.0


@dataclass(slots=True)
class Engine:
    """Pools the open questions of many generators into batches by length and token budget.

    A result does not depend on the batch size, on the other instances or on their order (beyond rounding).

    Args:
        model: what is asked.
        token_budget: tokens in one batch.
        pool: how many batches' worth of questions are gathered before they are asked.
        window: how many tasks are open at a time, at most.
        on_batch: called with the passes of each batch when it is done.
        cost: what was asked and what was done so far.
    """

    model: Classifier
    token_budget: int = 1024
    pool: int = 48
    window: int = 512
    on_batch: Callable[[Cost], None] = lambda _: None
    cost: Cost = Cost()
    _memos: WeakKeyDictionary[Encoding, Memo] = field(default_factory=WeakKeyDictionary)
    _backward_budget: int = field(init=False)

    def __post_init__(self) -> None:
        self._backward_budget = self.token_budget

    def run(self, tasks: Iterable[Task[Any]]) -> None:
        """Run all tasks, and those they lead to, to their end."""
        source = iter(tasks)
        waiting: deque[Task[Any]] = deque()
        while True:
            pool = _Pool()
            while len(pool.tasks) < self.window and pool.tokens < self.pool * self.token_budget:
                if not waiting:
                    new = next(source, None)
                    if new is None:
                        break
                    waiting.extend(self._advance(new, None))
                    continue
                task = waiting.popleft()
                pool.tasks.append(task)
                self._gather(task, pool)
            if not pool.tasks:
                return
            self._evaluate(pool)
            ready = [one for task in pool.tasks for one in self._advance(task, self._answer(task.ask))]
            # those furthest on come first: what is finished is kept, and a run of hours that dies has lost little
            waiting.extendleft(reversed(ready))

    def _advance(self, task: Task[Any], answer: Any) -> Iterable[Task[Any]]:
        """Hand a task its answer; gives the tasks that now have a question open: itself, or those it led to."""
        try:
            if isinstance(answer, Exception):
                task.ask = task.generator.throw(answer)
            else:
                task.ask = task.generator.send(answer)
        except StopIteration as end:
            outcome: Outcome[Any] = Outcome(end.value, None, task.cost + Cost(seconds=task.seconds))
        except UserError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a method raises is its task's outcome, recorded by the run
            outcome = Outcome(None, error, task.cost + Cost(seconds=task.seconds))
        else:
            return [task]
        return [ready for new in task.done(outcome) for ready in self._advance(new, None)]

    def _memo(self, encoding: Encoding) -> Memo:
        return self._memos.setdefault(encoding, Memo())

    def _gather(self, task: Task[Any], pool: _Pool) -> None:
        """Put the passes that a task's question needs, and nobody has asked for yet, into the pool."""
        ask = task.ask
        if isinstance(ask, (Outputs, Hidden)):
            asked, new = self._gather_forward(task, ask, pool)
            cost = Cost(forward_asked=asked, forward=new)
        elif isinstance(ask, PathGradient):
            asked, new = self._gather_gradient(task, ask, pool)
            cost = Cost(backward_asked=asked, backward=new)
        elif isinstance(ask, AttentionPathGradient):
            asked, new = self._gather_maps(task, ask, pool)
            cost = Cost(backward_asked=asked, backward=new)
        elif isinstance(ask, Attention):
            asked, new = self._gather_attention(task, ask, pool)
            backward = ask.readout is not None
            cost = Cost(backward_asked=asked, backward=new) if backward else Cost(forward_asked=asked, forward=new)
        elif isinstance(ask, (Embeddings, VocabularyNorm)):
            return
        else:
            raise TypeError(f"a method yielded {ask!r}, which is no question")
        task.cost = task.cost + cost
        self.cost = self.cost + cost

    def _gather_forward(self, task: Task[Any], ask: Outputs | Hidden, pool: _Pool) -> tuple[int, int]:
        encoding, memo, states = ask.x.encoding, self._memo(ask.x.encoding), _states(ask)
        answers, passes = (memo.logits, pool.forward) if isinstance(ask, Outputs) else (memo.hidden, pool.hidden)
        before = len(passes)
        lengths = self.model.lengths(encoding, states)
        for state, length in zip(states, lengths.tolist(), strict=True):
            key = state.tobytes()
            if key in answers:
                continue
            if length == 0:
                answers[key] = Undefined("empty", "nothing is left of the input when these words are removed")
                continue
            answers[key] = ASKED
            passes.append(Forward(Row(encoding, state), length, answers, key, task))
            pool.tokens += length
        return len(states), len(passes) - before

    def _gather_gradient(self, task: Task[Any], ask: PathGradient, pool: _Pool) -> tuple[int, int]:
        encoding, n = ask.x.encoding, len(ask.alphas)
        memo, key = self._memo(encoding), gradient_key(ask)
        if key in memo.gradients:
            return n, 0
        memo.gradients[key] = ASKED
        row, path = Row(encoding, ask.x.state), PathSum(ask, np.zeros(n))
        length = int(self.model.lengths(encoding, ask.x.state[None])[0])
        pool.paths.append((path, memo))
        if length == 0:
            return n, 0
        for number, alpha in enumerate(ask.alphas):
            point = PathPoint(row, ask.baseline, alpha, ask.readout, ask.guided)
            pool.backward.append(Backward(point, number, length, path, task))
        pool.tokens += 2 * length * n  # a backward pass is about twice the work of a forward pass
        return n, n

    def _gather_maps(self, task: Task[Any], ask: AttentionPathGradient, pool: _Pool) -> tuple[int, int]:
        encoding, layers = ask.x.encoding, self.model.attention_layers
        memo, key, n = self._memo(encoding), maps_key(ask), layers * len(ask.alphas)
        if key in memo.maps:
            return n, 0
        if not layers:
            raise UserError(
                f"attention_attribution: the attention maps of the model {self.model.name!r} "
                f"({self.model.about.get('architecture', 'unknown')}) can't be scaled; bivariate_shapley needs none"
            )
        memo.maps[key] = ASKED
        row, maps = Row(encoding, ask.x.state), MapSum(ask, np.zeros(layers))
        length = int(self.model.lengths(encoding, ask.x.state[None])[0])
        pool.maps.append((maps, memo))
        if length == 0:
            return n, 0
        for layer in range(layers):
            for alpha in ask.alphas:
                pool.attributing.append(Attributing(MapPoint(row, layer, alpha, ask.readout), length, maps, task))
        pool.tokens += 2 * length * n
        return n, n

    def _gather_attention(self, task: Task[Any], ask: Attention, pool: _Pool) -> tuple[int, int]:
        encoding = ask.x.encoding
        memo, key = self._memo(encoding), attention_key(ask)
        if key in memo.attention:
            return 1, 0
        length = int(self.model.lengths(encoding, ask.x.state[None])[0])
        if length == 0:
            memo.attention[key] = Undefined("empty", "no token is left")
            return 1, 0
        memo.attention[key] = ASKED
        attention = AttentionPass(Row(encoding, ask.x.state), ask.layer, ask.readout, ask.map_of)
        pool.attention.append(Attending(attention, length, memo, key, task))
        pool.tokens += 2 * length
        return 1, 1

    def _evaluate(self, pool: _Pool) -> None:
        model = self.model
        for passes, compute in ((pool.forward, model.logits), (pool.hidden, model.hidden)):
            self.token_budget = answer_all(
                passes,
                lambda batch, compute=compute: list(compute([one.row for one in batch])),  # type: ignore[misc]
                lambda one: model.bucket(one.row, one.length),
                self.token_budget,
                lambda n: self.on_batch(Cost(forward=n)),
            )
        self._backward_budget = answer_all(
            pool.backward,
            lambda batch: model.gradients([one.point for one in batch]),
            lambda one: (model.bucket(one.row, one.length), one.point.guided),
            self._backward_budget,
            lambda n: self.on_batch(Cost(backward=n)),
        )
        self._backward_budget = answer_all(
            pool.attributing,
            lambda batch: model.map_gradients([one.point for one in batch]),
            lambda one: (model.bucket(one.row, one.length), one.point.layer),
            self._backward_budget,
            lambda n: self.on_batch(Cost(backward=n)),
        )
        for weighed, done in ((False, _forward_passes), (True, _backward_passes)):
            self._backward_budget = answer_all(
                [one for one in pool.attention if weighed == (one.attention.readout is not None)],
                lambda batch: model.attention([one.attention for one in batch]),
                lambda one: (model.bucket(one.row, one.length), one.attention.layer),
                self._backward_budget,
                lambda n, done=done: self.on_batch(done(n)),  # type: ignore[misc]
            )
        for path, memo in pool.paths:
            path.finish(model, memo)
        for maps, memo in pool.maps:
            maps.finish(model, memo)

    def _answer(self, ask: Ask | None) -> Any:
        """The answer to a question all of whose passes are done, or the exception that stands in its way."""
        if isinstance(ask, (Embeddings, VocabularyNorm)):
            return self._answer_at_once(ask)
        assert ask is not None  # noqa: S101 - tasks in a pool have a question
        if isinstance(ask, (Outputs, Hidden)):
            return self._answer_forward(ask)
        memo = self._memo(ask.x.encoding)
        if isinstance(ask, PathGradient):
            return memo.gradients[gradient_key(ask)]
        return memo.attention[attention_key(ask)] if isinstance(ask, Attention) else memo.maps[maps_key(ask)]

    def _answer_at_once(self, ask: Embeddings | VocabularyNorm) -> Any:
        try:
            if isinstance(ask, Embeddings):
                return self.model.path(Row(ask.x.encoding, ask.x.state), "zero")
            return self.model.vocabulary_norm(ask.gradient, ask.order)
        except UserError:
            raise
        except Exception as error:  # noqa: BLE001 - handed to the generator that asked, like that of a pass
            return error

    def _answer_forward(self, ask: Outputs | Hidden) -> Any:
        memo = self._memo(ask.x.encoding)
        answers = memo.logits if isinstance(ask, Outputs) else memo.hidden
        rows = []
        for state in _states(ask):
            answer = answers[state.tobytes()]
            if isinstance(answer, Exception):
                return answer
            rows.append(answer)
        return np.stack(rows) if rows else np.empty((0, len(self.model.labels)))


@dataclass(slots=True)
class _Pool:
    """The questions of one round."""

    tasks: list[Task[Any]] = field(default_factory=list)
    forward: list[Forward] = field(default_factory=list)
    hidden: list[Forward] = field(default_factory=list)
    backward: list[Backward] = field(default_factory=list)
    attention: list[Attending] = field(default_factory=list)
    attributing: list[Attributing] = field(default_factory=list)
    paths: list[tuple[PathSum, Memo]] = field(default_factory=list)
    maps: list[tuple[MapSum, Memo]] = field(default_factory=list)
    tokens: int = 0


def _states(ask: Outputs | Hidden) -> States:
    states = ask.x.states(ask.keep, ask.removal)
    return np.vstack([states, ask.x.state[None]]) if isinstance(ask, Outputs) and ask.and_full else states


def _forward_passes(n: int) -> Cost:
    return Cost(forward=n)


def _backward_passes(n: int) -> Cost:
    return Cost(backward=n)
