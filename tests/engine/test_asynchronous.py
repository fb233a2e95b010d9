"""Tasks at generators that answer concurrently: each continues with its own answers, and none waits for another's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

from support.rigged import instance
from verax.engine.engine import Engine, Task, TaskResult
from verax.engine.questions import Bundle, Choose, Generate, Likelihood, QuestionGenerator, together
from verax.engine.questions.base import Pass
from verax.models.generator import ChoicePass, ChosenLabel, Deliver, GeneratePass, LikelihoodPass, Prompt, TextRequest
from verax.models.subject import Subject
from verax.types import FloatArray, Generated, Undefined, UserError


def about(by: Any) -> Subject:
    return Subject(instance("a", "b"), by)


class Scripted:
    """Answers in the order that `pick` gives: the index of the next answer among the prompts that are outstanding.

    `log` has what happened: prompts with `?` when they are submitted and `!` when they are delivered.
    """

    name, gives_likelihoods, concurrency = "scripted", False, 99
    fingerprint: dict[str, str] = {}  # noqa: RUF012 - as the protocol has it
    about = {"device": "remote"}  # noqa: RUF012

    def __init__(self, pick: Callable[[list[str]], int] = lambda _: 0) -> None:
        self.pick, self.log = pick, list[str]()
        self.waiting: list[tuple[TextRequest, Deliver]] = []
        self.left_with: list[object] = []

    def __enter__(self) -> Scripted:
        return self

    def __exit__(self, *error: object) -> None:
        self.left_with.append(error[0])

    @property
    def outstanding(self) -> int:
        return len(self.waiting)

    def session(self) -> Scripted:
        return self

    def submit(self, request: TextRequest, deliver: Deliver) -> None:
        self.log.append(f"{request.prompt.user}?")
        self.waiting.append((request, deliver))

    def collect(self, timeout: float | None = None) -> None:
        if timeout == 0:
            return
        request, deliver = self.waiting.pop(self.pick([asked.prompt.user for asked, _ in self.waiting]))
        text = request.prompt.user
        self.log.append(f"{text}!")
        if text == "bad key":
            raise UserError("key_env: not accepted")
        if text == "refused":
            deliver(Undefined("refused", "no"))
        elif isinstance(request, ChoicePass):
            deliver(ChosenLabel(request.labels[0], "parsed"))
        else:
            deliver(Generated(text.upper(), "stop", 1))

    def length(self, asked: object) -> int:
        return 1

    def generate(self, passes: Sequence[GeneratePass]) -> list[Generated | Undefined]:
        raise AssertionError("asked in a batch")

    def likelihoods(self, passes: Sequence[LikelihoodPass]) -> list[FloatArray | Undefined]:
        return [np.zeros(len(one.continuations)) for one in passes]


def write(by: Any, *texts: str, x: Any = None) -> QuestionGenerator[list[str]]:
    """Ask for one text after the other."""
    answers = []
    for text in texts:
        answer: Generated = yield Generate(x or about(by), by, GeneratePass(Prompt(text)))
        answers.append(answer.text)
    return answers


def outcomes(engine: Engine, generators: dict[str, QuestionGenerator[Any]]) -> dict[str, TaskResult[Any]]:
    ended: dict[str, TaskResult[Any]] = {}

    def end(name: str, outcome: TaskResult[Any]) -> tuple[()]:
        ended[name] = outcome
        return ()

    engine.run(Task(generator, partial(end, name)) for name, generator in generators.items())
    return ended


def last_of(name: str) -> Callable[[list[str]], int]:
    """A pick that leaves one prompt unanswered as long as there is another."""
    return lambda prompts: next((i for i, prompt in enumerate(prompts) if prompt != name), 0)


def test_a_slow_answer_holds_up_its_own_task_alone() -> None:
    by = Scripted(last_of("slow"))
    asked = {"a": write(by, "slow", "after"), "b": write(by, "b1", "b2", "b3"), "c": write(by, "c1", "c2")}
    ended = outcomes(Engine(), asked)
    assert [ended[name].value for name in "abc"] == [["SLOW", "AFTER"], ["B1", "B2", "B3"], ["C1", "C2"]]
    assert list(ended)[-1] == "a"
    assert by.log[-3:] == ["slow!", "after?", "after!"]
    assert by.log.index("b3!") < by.log.index("slow!")


def test_new_tasks_begin_while_one_waits_and_no_more_are_open_than_the_window_allows() -> None:
    open_tasks, most = set[str](), list[int]()

    def task(name: str) -> QuestionGenerator[None]:
        open_tasks.add(name)
        most.append(len(open_tasks))
        yield from write(by, name, f"{name} again")
        open_tasks.remove(name)

    by = Scripted(last_of("0"))
    names = [str(number) for number in range(20)]
    ended = outcomes(Engine(window=4), {name: task(name) for name in names})
    assert list(ended) == [*names[1:], "0"]
    assert max(most) <= 5, "one that begins is not yet one that waits"


def test_several_questions_at_once_wait_for_all_of_their_answers() -> None:
    by = Scripted(last_of("a1"))
    ended = outcomes(
        Engine(),
        {"a": together([write(by, "a1", "a3"), write(by, "a2"), write(by, "refused")]), "b": write(by, "b1", "b2")},
    )
    first, second, third = ended["a"].value
    assert (first, second) == (["A1", "A3"], ["A2"])
    assert isinstance(third, Undefined)
    assert by.log.index("b2!") < by.log.index("a1!") < by.log.index("a3?")


def test_the_same_question_is_asked_once_and_all_who_ask_it_wait() -> None:
    by, x = Scripted(last_of("same")), about(None)
    asked = {"a": write(by, "same", "a", x=x), "b": write(by, "same", "b", x=x), "c": write(by, "c", "same", x=x)}
    engine = Engine()
    ended = outcomes(engine, asked)
    assert [ended[name].value for name in "abc"] == [["SAME", "A"], ["SAME", "B"], ["C", "SAME"]]
    assert by.log.count("same?") == 1
    assert (engine.cost.forward_asked, engine.cost.forward) == (6, 4)
    assert [ended[name].cost.forward for name in "abc"] == [2, 1, 1]


def test_an_answer_that_is_known_at_once_needs_no_wait() -> None:
    class Cached(Scripted):
        def submit(self, request: TextRequest, deliver: Deliver) -> None:
            deliver(Generated("known", "stop", 1))

    ended = outcomes(Engine(), {"a": write(Cached(), "a1", "a2")})
    assert ended["a"].value == ["known", "known"]


def test_labels_texts_and_likelihoods_in_one_task() -> None:
    def task() -> QuestionGenerator[Any]:
        choice: ChosenLabel = yield Choose(about(by), by, ChoicePass(Prompt("which"), ("yes", "no")))
        scores: FloatArray = yield Likelihood(about(by), by, LikelihoodPass(Prompt("how"), ("a", "b")))
        both = yield Bundle(
            (
                Generate(about(by), by, GeneratePass(Prompt("text"))),
                Likelihood(about(by), by, LikelihoodPass(Prompt("how"), ("a",))),
            )
        )
        return choice.label, len(scores), both[0].text, len(both[1])

    by: Any = Scripted()
    assert outcomes(Engine(), {"a": task()})["a"].value == ("yes", 2, "TEXT", 1)


def test_two_generators_are_waited_for_in_turns() -> None:
    one, other = Scripted(), Scripted()
    asked = {"a": write(one, "a1", "a2"), "b": write(other, "b1", "b2", "b3")}
    ended = outcomes(Engine(), asked)
    assert [ended[name].value for name in "ab"] == [["A1", "A2"], ["B1", "B2", "B3"]]
    assert one.left_with == other.left_with == [None]


def test_an_answer_that_is_missing_ends_the_task_that_needs_it() -> None:
    by = Scripted()
    ended = outcomes(Engine(), {"a": write(by, "refused", "never"), "b": write(by, "b")})
    assert isinstance(ended["a"].error, Undefined)
    assert ended["b"].value == ["B"]
    assert "never?" not in by.log


def test_progress_and_cost_count_every_answer() -> None:
    by, told = Scripted(), list[Pass]()
    engine = Engine(on_batch=told.extend)
    ended = outcomes(engine, {name: write(by, f"{name}1", f"{name}2") for name in "abc"})
    assert sum(needed.count for needed in told) == engine.cost.forward == 6
    assert all(outcome.cost.seconds > 0 for outcome in ended.values())


@pytest.mark.parametrize("error", [UserError("no such word"), KeyboardInterrupt()])
def test_a_run_that_ends_early_leaves_its_sessions(error: BaseException) -> None:
    def ends(outcome: TaskResult[Any]) -> tuple[()]:
        raise error

    by = Scripted()
    with pytest.raises(type(error)):
        Engine().run([Task(write(by, "a"), ends), Task(write(by, "b"), ends)])
    assert by.left_with == [type(error)]


def test_what_concerns_every_request_ends_the_run() -> None:
    by = Scripted()
    with pytest.raises(UserError, match="key_env"):
        outcomes(Engine(), {"a": write(by, "bad key"), "b": write(by, "b")})
    assert by.left_with == [UserError]
