"""The engine: runs many generators at once and sends their questions to the model in full batches."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, Literal, TypeVar, cast

import numpy as np

from verax.engine.asynchronous import InFlight, Pending
from verax.engine.memo import ASKED, WholeQuestion, key_of
from verax.engine.needed import backward, how_many, needed
from verax.engine.passes import KINDS, Kind, Pass, answer_all, finite
from verax.engine.questions import (
    Bundle,
    Candidates,
    Choose,
    Embeddings,
    Generate,
    Hidden,
    Likelihood,
    Outputs,
    Question,
    QuestionGenerator,
    TextQuestion,
    VocabularyNorm,
)
from verax.models.classifier import Classifier, Encoder, Row
from verax.models.generator import TextGenerator
from verax.models.removal import States
from verax.types import Cost, FloatArray, Undefined, UserError

T = TypeVar("T")


ON_PROCESSOR = 1024
ON_ACCELERATOR = 16384
GENERATING = 4
"""A text generator's batch holds so many times the tokens of a classifier's: a step of generating computes one of each
text. Likelihoods read all of theirs at once and could do with fewer, but a generator has one budget for all it does."""


def token_budget(model: Encoder | TextGenerator) -> int:
    """Tokens in a batch: a processor is busy with few, an accelerator wants many."""
    return ON_PROCESSOR if model.about["device"] in {"cpu", "unknown"} else ON_ACCELERATOR


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """How a task ended: with a value, or with the exception that its generator raised; and what it cost."""

    value: T | None
    error: Exception | None
    cost: Cost


@dataclass(eq=False, slots=True)
class Task(Generic[T]):
    """A generator to run, and what to do when it has ended: `done` may give further tasks."""

    generator: QuestionGenerator[T]
    done: Callable[[Outcome[T]], Iterable[Task[Any]]]
    ask: Question | None = None
    cost: Cost = Cost()
    seconds: float = 0.0
    pending: list[Pending] = field(default_factory=list)

    @property
    def is_blocked(self) -> bool:
        """Whether an answer to its question is still on its way."""
        return not all(answer.is_answered for answer in self.pending)


@dataclass(slots=True)
class Engine:
    """Pools the open questions of many generators into batches by length and token budget.

    A result does not depend on the batch size, on the other instances or on their order (beyond rounding). Questions to
    text generators that answer concurrently are not pooled: a task goes on as soon as its own answers are there.

    Args:
        model: what is asked; one without classes knows its hidden states alone, and where there is none, only text
            generators can be asked.
        token_budget: tokens in one batch, whoever is asked; left out, as many as suit the device of the model or of the
            text generator that is asked.
        pool: how many batches' worth of questions are gathered before they are asked.
        window: how many tasks are open at a time, at most.
        on_batch: called with the passes of each batch when it is done.
        cost: what was asked and what was done so far.
    """

    model: Encoder | None
    token_budget: int | None = None
    pool: int = 48
    window: int = 512
    on_batch: Callable[[Cost], None] = lambda _: None
    cost: Cost = Cost()
    _budgets: dict[Hashable, int] = field(default_factory=dict)

    @property
    def encoder(self) -> Encoder:
        """The model, where a question is about an encoded input."""
        if self.model is None:
            raise TypeError("there is no model whose inputs are encoded, only text generators")
        return self.model

    @property
    def _classifier(self) -> Classifier:
        """The model, where a question is asked that only a classifier answers."""
        return cast("Classifier", self.model)

    def run(self, tasks: Iterable[Task[Any]]) -> None:
        """Run all tasks, and those they lead to, to their end."""
        for _ in self.rounds(tasks):
            pass

    def rounds(self, tasks: Iterable[Task[Any]]) -> Iterator[None]:
        """Run all tasks, and those they lead to, to their end; yields whenever some may have ended."""
        with InFlight(lambda passes: self.on_batch(Cost(forward=len(passes)))) as in_flight:
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
                self._gather(task, task.ask, pool)
            asked += pool.tasks
            if not asked:
                return
            self._evaluate(pool, in_flight)
            for task in pool.tasks:
                task.pending = _pending(task.ask)
            in_flight.collect(wait=all(task.is_blocked for task in asked))
            answered = [task for task in asked if not task.is_blocked]
            asked = [task for task in asked if task.is_blocked]
            ready = [one for task in answered for one in self._advance(task, self._answer(task.ask))]
            # those furthest on come first: what is finished is kept, and a run of hours that dies has lost little
            waiting.extendleft(reversed(ready))
            yield

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

    def _gather(self, task: Task[Any], ask: Question | None, pool: _Pool) -> None:
        """Put the passes that a task's question needs, and nobody has asked for yet, into the pool."""
        if isinstance(ask, (Embeddings, VocabularyNorm)):
            return
        if isinstance(ask, Bundle):
            for one in ask.questions:
                self._gather(task, one, pool)
            return
        if isinstance(ask, (Outputs, Hidden)):
            cost = self._gather_coalitions(task, ask, pool)
        elif isinstance(ask, WholeQuestion):
            cost = self._gather_whole(task, ask, pool)
        elif isinstance(ask, TextQuestion):
            cost = self._gather_text(task, ask, pool)
        else:
            raise TypeError(f"a method yielded {ask!r}, which is no question")
        task.cost = task.cost + cost
        self.cost = self.cost + cost

    def _gather_coalitions(self, task: Task[Any], ask: Outputs | Hidden, pool: _Pool) -> Cost:
        """One forward pass for each state that is new."""
        encoding, answers, states = ask.x.encoding, ask.x.answers(type(ask)), _states(ask)
        passes = pool.passes["logits" if isinstance(ask, Outputs) else "hidden"]
        before = len(passes)
        lengths = self.encoder.lengths(encoding, states)
        for state, length in zip(states, lengths.tolist(), strict=True):
            key = state.tobytes()
            if key in answers:
                continue
            if length == 0:
                answers[key] = Undefined("empty", "nothing is left of the input when these words are removed")
                continue
            answers[key] = ASKED
            passes.append(Pass(Row(encoding, state), length, partial(_keep_outputs, answers, key), task))
            pool.batches += length / self._budget("forward")
        return Cost(forward_asked=len(states), forward=len(passes) - before)

    def _gather_whole(self, task: Task[Any], ask: WholeQuestion, pool: _Pool) -> Cost:
        """The passes of a question that has one answer, unless that is known or on its way."""
        encoding, state = ask.x.encoding, ask.x.state
        answers, key = ask.x.answers(type(ask)), key_of(ask)
        asked, new = how_many(ask, self._classifier), 0
        if key not in answers:
            answers[key] = ASKED
            length = int(self.encoder.lengths(encoding, state[None])[0])
            if length == 0:
                answers[key] = Undefined("empty", "no token is left")
            else:
                new = asked
                kind, passes, finish = needed(ask, self._classifier, answers, key)
                pool.passes[kind] += [Pass(question, length, settle, task) for question, settle in passes]
                pool.finishing += [finish] if finish is not None else []
                # a backward pass is about twice the work of a forward pass
                pool.batches += length * asked * (2 if backward(ask) else 1) / self._budget("forward")
        return Cost(backward_asked=asked, backward=new) if backward(ask) else Cost(forward_asked=asked, forward=new)

    def _gather_text(self, task: Task[Any], ask: TextQuestion, pool: _Pool) -> Cost:
        """One pass for each text or continuation, unless its answer is known or on its way."""
        answers, key = _text_answers(ask), ask.request
        asked = _passes_of(ask)
        if key in answers:
            return Cost(forward_asked=asked)
        try:
            length = ask.generator.length(ask.request)
        except UserError:
            raise
        except Exception as error:  # noqa: BLE001 - a text that can't be read is the answer to its own question alone
            answers[key] = error
            return Cost(forward_asked=asked)
        answers[key] = pending = Pending()

        def keep(answer: Any) -> None:
            answers[key] = finite(answer, "likelihoods")
            pending.is_answered = True

        pool.passes[_TEXT_KINDS[type(ask)]].append(Pass(ask, length, keep, task))
        pool.batches += length / self._budget(ask.generator)
        return Cost(forward_asked=asked, forward=asked)

    def _evaluate(self, pool: _Pool, in_flight: InFlight) -> None:
        for name, kind in KINDS.items():
            if kind.texts:  # first, so that they are under way while the model computes
                pool.passes[name] = in_flight.submit(pool.passes[name])
        for name, kind in KINDS.items():
            for whose, passes in _by_budget(kind, pool.passes[name]):
                self._budgets[_held(whose)] = answer_all(
                    passes,
                    partial(kind.compute, self._classifier),
                    partial(self._bucket, kind),
                    self._budget(whose),
                    lambda batch, kind=kind: self.on_batch(_done(kind, batch)),  # type: ignore[misc]
                    even=not kind.texts,
                )
        for finish in pool.finishing:
            finish()

    def _budget(self, whose: _Whose) -> int:
        """Tokens in a batch of the model's passes, or of a text generator's; less once one did not fit into memory."""
        known = self._budgets.get(_held(whose), self.token_budget)
        if known is not None:
            return known
        return token_budget(self.encoder) if isinstance(whose, str) else GENERATING * token_budget(whose)

    def _bucket(self, kind: Kind, one: Pass) -> Any:
        """What passes of a kind must have in common to share a batch."""
        shape = None if kind.texts else self.encoder.bucket(one.row, one.length)
        return shape, kind.together(one.question)

    def _answer(self, ask: Question | None) -> Any:
        """The answer to a question all of whose passes are done, or the exception that stands in its way."""
        if isinstance(ask, (Embeddings, VocabularyNorm)):
            return self._answer_at_once(ask)
        if isinstance(ask, Bundle):
            return [self._answer(one) for one in ask.questions]
        assert ask is not None  # noqa: S101 - tasks in a pool have a question
        if isinstance(ask, (Outputs, Hidden)):
            return self._answer_forward(ask)
        if isinstance(ask, TextQuestion):
            return _text_answers(ask)[ask.request]
        return ask.x.answers(type(ask))[key_of(ask)]

    def _answer_at_once(self, ask: Embeddings | VocabularyNorm) -> Any:
        try:
            if isinstance(ask, Embeddings):
                return self._classifier.path(Row(ask.x.encoding, ask.x.state), "zero")
            return self._classifier.vocabulary_norm(ask.gradient, ask.order)
        except UserError:
            raise
        except Exception as error:  # noqa: BLE001 - handed to the generator that asked, like that of a pass
            return error

    def _answer_forward(self, ask: Outputs | Hidden) -> Any:
        answers = ask.x.answers(type(ask))
        rows = []
        for state in _states(ask):
            answer = answers[state.tobytes()]
            if isinstance(answer, Exception):
                return answer
            rows.append(answer)
        return np.stack(rows) if rows else np.empty((0, len(self.encoder.labels)))


@dataclass(slots=True)
class _Pool:
    """The questions of one round."""

    tasks: list[Task[Any]] = field(default_factory=list)
    passes: dict[str, list[Pass]] = field(default_factory=lambda: {name: [] for name in KINDS})
    finishing: list[Callable[[], None]] = field(default_factory=list)
    batches: float = 0.0


_TEXT_KINDS: dict[type, str] = {
    Generate: "generate",
    Likelihood: "likelihood",
    Choose: "choose",
    Candidates: "candidates",
}


def _pending(ask: Question | None) -> list[Pending]:
    """The answers to a question that are still on their way."""
    if isinstance(ask, Bundle):
        return [answer for one in ask.questions for answer in _pending(one)]
    answer = _text_answers(ask)[ask.request] if isinstance(ask, TextQuestion) else None
    return [answer] if isinstance(answer, Pending) else []


def _text_answers(ask: TextQuestion) -> dict[Hashable, Any]:
    return ask.x.memo.setdefault((type(ask), id(ask.generator)), {})


_Whose = Literal["forward", "backward"] | TextGenerator
"""Who has a budget: the model, one for passes forward alone and one for those that may go back, or a text generator."""


def _held(whose: _Whose) -> Hashable:
    """By what a budget is found."""
    return whose if isinstance(whose, str) else id(whose)


def _by_budget(kind: Kind, passes: list[Pass]) -> list[tuple[_Whose, list[Pass]]]:
    """The passes of a kind, those of each text generator by themselves."""
    if not kind.texts:
        return [("backward" if kind.keeps_graph else "forward", passes)] if passes else []
    apart: dict[Hashable, list[Pass]] = {}
    for one in passes:
        apart.setdefault(id(one.question.generator), []).append(one)
    return [(several[0].question.generator, several) for several in apart.values()]


def _keep_outputs(answers: dict[Hashable, Any], key: bytes, answer: FloatArray | Exception) -> None:
    answers[key] = finite(answer, "outputs")


def _states(ask: Outputs | Hidden) -> States:
    states = ask.x.states(ask.keep, ask.removal)
    return np.vstack([states, ask.x.state[None]]) if isinstance(ask, Outputs) and ask.and_full else states


def _done(kind: Kind, batch: list[Pass]) -> Cost:
    done = sum(_passes_of(one.question) for one in batch)
    return Cost(backward=done) if kind.backward(batch[0].question) else Cost(forward=done)


def _passes_of(question: Any) -> int:
    """What a question to a model is charged: one pass, or one for each continuation that is compared."""
    return len(question.request.continuations) if isinstance(question, Likelihood) else 1
