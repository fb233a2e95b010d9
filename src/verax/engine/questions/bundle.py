"""Several questions at once, and generators that run in step so that their questions share batches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from verax.engine.questions.base import Question, QuestionGenerator, next_question
from verax.types import Undefined, UserError

T = TypeVar("T")


@dataclass(frozen=True, eq=False, slots=True)
class Bundle(Question):
    """Several questions at once, answered in the same batches; see `together`.

    The answer is a list: for each question its answer, or the exception in its place.
    """

    questions: tuple[Question, ...]

    def leaves(self) -> Sequence[Question]:
        """The leaves of all questions."""
        return [leaf for question in self.questions for leaf in question.leaves()]

    def combine(self, answers: Sequence[Any]) -> list[Any]:
        """The answer to each question, from its share of the leaves."""
        remaining = iter(answers)
        return [question.combine([next(remaining) for _ in question.leaves()]) for question in self.questions]

    def answer(self) -> list[Any]:
        """The answer to each question."""
        return self.combine([leaf.answer() for leaf in self.leaves()])


def together(generators: Iterable[QuestionGenerator[T]]) -> QuestionGenerator[list[T | Exception]]:
    """Run generators in step: the next questions of all of them are asked as one.

    The result holds, in their order, the value that each returned or the exception that it raised: one that fails does
    not affect the others. A UserError is raised.
    """
    running = dict(enumerate(generators))
    results: dict[int, T | Exception] = {}
    answers: dict[int, Any] = dict.fromkeys(running)
    while running:
        questions: dict[int, Question] = {}
        for number, generator in running.items():
            try:
                questions[number] = next_question(generator, answers[number])
            except StopIteration as end:
                results[number] = end.value
            except UserError:
                raise
            except Exception as error:  # noqa: BLE001 - returned to the caller in the place of the value
                results[number] = error
        running = {number: running[number] for number in questions}
        if questions:
            answers = dict(zip(questions, (yield Bundle(tuple(questions.values()))), strict=True))
    return [results[number] for number in sorted(results)]


def split_results(results: Iterable[T | Exception]) -> tuple[list[T], list[Undefined]]:
    """The values among the results of `together`, and the reasons for missing ones; other exceptions are raised."""
    values, problems = list[T](), list[Undefined]()
    for result in results:
        if isinstance(result, Undefined):
            problems.append(result)
        elif isinstance(result, Exception):
            raise result
        else:
            values.append(result)
    return values, problems
