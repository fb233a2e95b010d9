"""The engine: runs many generators at once and sends their questions to the models in full batches."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from verax.engine.asynchronous import InFlight
from verax.engine.batch_size import BatchSize, token_budget
from verax.engine.batches import answer_all
from verax.engine.questions.base import Pass, Pending, Question, QuestionGenerator, next_question
from verax.engine.reproducible import passes_are_alone
from verax.types import Cost, UserError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TaskResult(Generic[T]):
    """Result of a task: the value or the exception of its generator, and its cost."""

    value: T | None
    error: Exception | None
    cost: Cost


@dataclass(eq=False, slots=True)
class Task(Generic[T]):
    """A generator to run; `done` is called with its outcome and may return further tasks."""

    generator: QuestionGenerator[T]
    done: Callable[[TaskResult[T]], Iterable[Task[Any]]]
    question: Any = None
    cost: Cost = Cost()
    seconds: float = 0.0
    pending: list[Pending] = field(default_factory=list)
    failures: dict[int, Exception] = field(default_factory=dict)
    """Exceptions raised by parts of its question, by their id; they are the answers to these parts."""

    @property
    def is_blocked(self) -> bool:
        """Whether an answer to its question has not arrived yet."""
        return not all(answer.is_answered for answer in self.pending)


@dataclass(slots=True)
class Engine:
    """Pools the open questions of many generators into batches by length and token budget.

    A result does not depend on the batch size, on the other instances or on their order, beyond rounding; and not even
    in its last bit where passes are `reproducible`. Questions to generators that answer concurrently are not pooled: a
    task continues as soon as its own answers have arrived.

    Args:
        token_budget: tokens in one batch, whichever model is asked; by default it is chosen for each by timing.
        pool: number of full batches for which questions are gathered before they are asked.
        window: largest number of open tasks.
        on_batch: called with each finished batch.
        cost: passes asked for and computed so far.
    """

    token_budget: int | None = None
    pool: int = 48
    window: int = 512
    on_batch: Callable[[Sequence[Pass]], None] = lambda _: None
    cost: Cost = Cost()
    _sizes: dict[tuple[int, str], BatchSize] = field(default_factory=dict)

    def run(self, tasks: Iterable[Task[Any]]) -> None:
        """Run all tasks, and those they lead to, to their end."""
        for _ in self.rounds(tasks):
            pass

    def rounds(self, tasks: Iterable[Task[Any]]) -> Iterator[None]:
        """Run all tasks, and those they lead to, to their end; yields whenever some may have ended."""
        with InFlight(self.on_batch) as in_flight:
            yield from self._rounds(iter(tasks), in_flight)

    def _rounds(self, source: Iterator[Task[Any]], in_flight: InFlight) -> Iterator[None]:
        waiting: deque[Task[Any]] = deque()
        asked: list[Task[Any]] = []
        while True:
            pool = _Pool()
            while len(asked) + len(pool.tasks) < self.window and pool.batches < self.pool:
                if not waiting:
                    new = next(source, None)
                    if new is None:
                        break
                    waiting.extend(self._advance(new, None))
                    yield
                    continue
                task = waiting.popleft()
                pool.tasks.append(task)
                self._gather(task, pool)
            asked += pool.tasks
            if not asked:
                return
            self._evaluate(pool, in_flight)
            for task in pool.tasks:
                task.pending = [answer for leaf in task.question.leaves() for answer in leaf.pending()]
            in_flight.collect(wait=all(task.is_blocked for task in asked))
            answered = [task for task in asked if not task.is_blocked]
            asked = [task for task in asked if task.is_blocked]
            ready = [opened for task in answered for opened in self._advance(task, _answer(task))]
            # tasks that are furthest along come first: finished rows are kept, so a run that dies has lost little
            waiting.extendleft(reversed(ready))
            yield

    def _advance(self, task: Task[Any], answer: Any) -> Iterable[Task[Any]]:
        """Send a task its answer; returns the tasks that now have an open question: itself, or those it led to."""
        try:
            task.question = next_question(task.generator, answer)
        except StopIteration as end:
            value, failure = end.value, None
        except UserError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a method raises is its task's outcome, recorded by the run
            value, failure = None, error
        else:
            return [task]
        outcome = TaskResult(value, failure, task.cost + Cost(seconds=task.seconds))
        return [ready for new in task.done(outcome) for ready in self._advance(new, None)]

    def _gather(self, task: Task[Any], pool: _Pool) -> None:
        """Put the passes that a task's question needs, and that were not asked for yet, into the pool."""
        if not isinstance(task.question, Question):
            raise TypeError(f"a method yielded {task.question!r}, which is no question")
        task.failures = {}
        for leaf in task.question.leaves():
            try:
                passes, asked = leaf.needed()
            except UserError:
                raise
            except Exception as error:  # noqa: BLE001 - it is the answer to this question alone
                task.failures[id(leaf)] = error
                continue
            if passes:
                for needed in passes:
                    needed.payer = task
                pool.groups.setdefault(leaf.group(), []).extend(passes)
                # a backward pass is about twice the work of a forward pass
                work = sum(needed.length for needed in passes) * (2 if leaf.backward else 1)
                pool.batches += work / self._size(leaf).usual
            new = sum(needed.count for needed in passes)
            cost = Cost(backward_asked=asked, backward=new) if leaf.backward else Cost(asked, new)
            task.cost = task.cost + cost
            self.cost = self.cost + cost

    def _evaluate(self, pool: _Pool, in_flight: InFlight) -> None:
        # concurrent passes first, so that they are under way while the others are computed
        for passes in [passes for passes in pool.groups.values() if not in_flight.submit(passes)]:
            question = passes[0].question
            answer_all(
                passes,
                question.compute,
                self._size(question),
                self.on_batch,
                even=question.even,
            )

    def _size(self, question: Question) -> BatchSize:
        """Size of the batches of the model that a question asks; engines share what they learn about a model."""
        model, kind = question.model, question.budget
        if passes_are_alone():
            return BatchSize(1, settled=True)  # less than any pass, each of which is then a batch
        if self.token_budget is not None:
            return self._sizes.setdefault((id(model), kind), BatchSize(self.token_budget, settled=True))
        known: dict[str, BatchSize] = vars(model).setdefault("_batch_sizes", {})
        if kind not in known:
            # texts of one batch end at different lengths, so that its time says little about its size
            known[kind] = BatchSize(question.budget_scale * token_budget(model), settled=kind == "text")
        return known[kind]


@dataclass(slots=True)
class _Pool:
    """The questions of one round: passes by the group of their question."""

    tasks: list[Task[Any]] = field(default_factory=list)
    groups: dict[Hashable, list[Pass]] = field(default_factory=dict)
    batches: float = 0.0


def _answer(task: Task[Any]) -> Any:
    """The answer to a question whose passes are settled, or the exception in its place."""
    answers = []
    for leaf in task.question.leaves():
        try:
            answers.append(task.failures[id(leaf)] if id(leaf) in task.failures else leaf.answer())
        except UserError:
            raise
        except Exception as error:  # noqa: BLE001 - raised in the generator that asked, like that of a pass
            answers.append(error)
    return task.question.combine(answers)
