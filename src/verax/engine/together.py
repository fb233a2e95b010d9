"""Many generators as one: their questions are asked at once, so that those about one input share batches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from verax.engine.questions import Bundle, Question, QuestionGenerator
from verax.types import Undefined, UserError

T = TypeVar("T")


def together(generators: Iterable[QuestionGenerator[T]]) -> QuestionGenerator[list[T | Exception]]:
    """Run generators in step: what each of them asks next is asked as one question.

    The result holds, in their order, the value that each ended with, or the exception that ended it: one that fails
    costs no other. A mistake of the user's is raised.
    """
    open_ones = dict(enumerate(generators))
    ended: dict[int, T | Exception] = {}
    answers: dict[int, Any] = dict.fromkeys(open_ones)
    while open_ones:
        asks: dict[int, Question] = {}
        for number, generator in open_ones.items():
            try:
                asks[number] = _next(generator, answers[number])
            except StopIteration as end:
                ended[number] = end.value
            except UserError:
                raise
            except Exception as error:  # noqa: BLE001 - handed to the one who asked for all of them
                ended[number] = error
        open_ones = {number: open_ones[number] for number in asks}
        if asks:
            answers = dict(zip(asks, (yield Bundle(tuple(asks.values()))), strict=True))
    return [ended[number] for number in sorted(ended)]


def sort_ends(ends: Iterable[T | Exception]) -> tuple[list[T], list[Undefined]]:
    """The values of what `together` gave, and why there are no others; what nobody foresaw is raised."""
    values, problems = list[T](), list[Undefined]()
    for end in ends:
        if isinstance(end, Undefined):
            problems.append(end)
        elif isinstance(end, Exception):
            raise end
        else:
            values.append(end)
    return values, problems


def _next(generator: QuestionGenerator[Any], answer: Any) -> Question:
    """The next question of a generator, after its last one was answered."""
    return generator.throw(answer) if isinstance(answer, Exception) else generator.send(answer)
