"""Generators in step: their questions share batches, and one that fails costs no other."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from support.rigged import Rigged, ended, instance, posed, result
from verax.engine.engine import Engine, Task, TaskResult
from verax.engine.questions import Generate, Likelihood, Outputs, QuestionGenerator, split_results, together
from verax.methods.occlusion import LeaveOneOut
from verax.models.classifier import Classifier
from verax.models.generator import GeneratePass, LikelihoodPass, Prompt
from verax.models.subject import Subject
from verax.types import Generated, Instance, Undefined, UserError


def spoken(x: Subject, *prompts: str) -> QuestionGenerator[list[str]]:
    """Ask for one text after the other."""
    said = []
    for prompt in prompts:
        answer: Generated = yield Generate(x, x.model.explainer, GeneratePass(Prompt(prompt)))
        said.append(answer.text)
    return said


@pytest.fixture
def model() -> Rigged:
    return Rigged(writes=_upper)


def _upper(prompt: str) -> str:
    if prompt == "bad":
        raise Undefined("refused", "no")
    return prompt.upper()


@pytest.fixture
def x(model: Rigged) -> Subject:
    return posed(instance("a", "b"), model)


def test_each_step_is_one_batch(model: Rigged, x: Subject) -> None:
    found = result(together([spoken(x, "a", "b", "c"), spoken(x, "d"), spoken(x, "e", "f")]))
    assert found == [["A", "B", "C"], ["D"], ["E", "F"]]
    assert model.calls == [("generate", ["a", "d", "e"]), ("generate", ["b", "f"]), ("generate", ["c"])]


def test_what_is_asked_twice_is_answered_once(model: Rigged, x: Subject) -> None:
    outcome = ended(together([spoken(x, "a", "b"), spoken(x, "a"), spoken(x, "c", "a")]))
    assert outcome.value == [["A", "B"], ["A"], ["C", "A"]]
    assert model.calls == [("generate", ["a", "c"]), ("generate", ["b"])]
    assert (outcome.cost.forward_asked, outcome.cost.forward) == (5, 3)


def test_one_that_fails_costs_no_other(x: Subject) -> None:
    def broken() -> QuestionGenerator[list[str]]:
        yield from spoken(x, "g")
        raise ZeroDivisionError

    first, second, third = result(together([spoken(x, "bad", "a"), broken(), spoken(x, "a", "b", "c")]))
    assert isinstance(first, Undefined)
    assert isinstance(second, ZeroDivisionError)
    assert third == ["A", "B", "C"]


def test_ends_are_values_or_reasons_and_what_nobody_foresaw_is_raised(x: Subject) -> None:
    ends = result(together([spoken(x, "a"), spoken(x, "bad"), spoken(x), spoken(x, "b", "bad"), spoken(x, "c")]))
    values, problems = split_results(ends)
    assert values == [["A"], [], ["C"]]
    assert [problem.reason for problem in problems] == ["refused", "refused"]
    assert split_results([]) == ([], [])
    with pytest.raises(ZeroDivisionError):
        split_results([*ends, ZeroDivisionError()])


def test_a_generator_can_go_on_after_an_answer_that_can_not_be_had(x: Subject) -> None:
    def patient() -> QuestionGenerator[str]:
        try:
            yield from spoken(x, "bad")
        except Undefined as problem:
            [said] = yield from spoken(x, "good")
            return f"{problem.reason}, {said}"
        return "never"

    assert result(together([patient(), spoken(x, "a")])) == ["refused, GOOD", ["A"]]


def test_a_mistake_of_the_users_ends_all(x: Subject) -> None:
    def mistaken() -> QuestionGenerator[list[str]]:
        yield from ()
        raise UserError("labels: none")

    with pytest.raises(UserError, match="labels: none"):
        result(together([spoken(x, "a"), mistaken()]))


def test_bundles_in_bundles_and_questions_of_several_kinds(model: Rigged, x: Subject) -> None:
    def likely() -> QuestionGenerator[int]:
        scores = yield Likelihood(x, model, LikelihoodPass(Prompt("p"), ("u", "")))
        return int(np.argmax(scores))

    inner = together([spoken(x, "a", "b"), spoken(x, "c")])
    assert result(together([inner, likely(), spoken(x, "d")])) == [[["A", "B"], ["C"]], 1, ["D"]]
    assert model.calls == [("generate", ["a", "c", "d"]), ("likelihoods", ["p"]), ("generate", ["b"])]


def test_none_at_all_and_such_as_ask_nothing(x: Subject) -> None:
    assert result(together([])) == []
    assert result(together([spoken(x), spoken(x)])) == [[], []]


def test_tasks_beside_it_share_its_batches(model: Rigged, x: Subject) -> None:
    def tasks() -> Iterator[Task[object]]:
        yield Task(together([spoken(x, "a"), spoken(x, "b")]), lambda _: ())
        yield Task(spoken(x, "c"), lambda _: ())

    Engine().run(tasks())
    assert model.calls == [("generate", ["a", "b", "c"])]


def test_classifiers_are_asked_the_same_way(classifier: Callable[..., Classifier], instances: list[Instance]) -> None:
    model = classifier("bert")
    several = [Subject(one, model) for one in instances[:3]]

    def outcome(generator: QuestionGenerator[object]) -> TaskResult[object]:
        found: list[TaskResult[object]] = []
        Engine().run([Task(generator, lambda one: found.append(one) or ())])
        return found[0]

    pooled = outcome(together([LeaveOneOut()(x) for x in several]))
    alone = [outcome(LeaveOneOut()(Subject(one, model))) for one in instances[:3]]
    for one, other in zip(pooled.value, alone, strict=True):  # type: ignore[call-overload]
        assert np.abs(one.scores - other.value.scores).max() <= 1e-12  # type: ignore[attr-defined]
    assert pooled.cost.forward == sum(one.cost.forward for one in alone)
    nothing = outcome(together([_no_rows(several[0])]))
    assert (nothing.value, nothing.cost.forward) == ([0], 0)


def _no_rows(x: Subject) -> QuestionGenerator[int]:
    logits = yield Outputs(x, np.empty((0, x.n_units), bool))
    return len(logits)
