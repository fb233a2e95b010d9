"""A new question is one file, and the model that answers it another: no other file changes."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

from verax.data.text import split_words
from verax.engine.engine import Engine, Task, TaskResult
from verax.engine.protocols import as_generator, check_capabilities
from verax.engine.questions import Outputs
from verax.methods.occlusion import LeaveOneOut
from verax.models.black_box import BlackBox
from verax.models.subject import Subject
from verax.types import Attribution, Instance, Undefined

QUESTION = '''
"""How surprising each word is, given a temperature."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from verax.engine.questions import QuestionGenerator, WholeQuestion, check_finite
from verax.models.encoding import PerturbedInput
from verax.models.subject import Subject
from verax.types import Attribution, Kind, Passes


class SurprisePass(NamedTuple):
    row: PerturbedInput
    temperature: float


@dataclass(frozen=True, eq=False, slots=True)
class Surprise(WholeQuestion):
    """The mean over temperatures; an array, shape [units]."""

    x: Subject
    temperatures: tuple[float, ...]

    answered_by: ClassVar[str] = "surprises"

    def requests(self) -> Any:
        return [SurprisePass(self.row, temperature) for temperature in self.temperatures]

    def together(self, request: SurprisePass) -> Any:
        return request.temperature

    def reduction(self) -> Any:
        return Mean()


class Mean:
    def __init__(self) -> None:
        self.total, self.count = 0.0, 0

    def add(self, number: int, answer: Any) -> None:
        self.total, self.count = self.total + answer, self.count + 1

    def result(self) -> Any:
        check_finite("surprises", self.total)
        return self.total / self.count


@dataclass(frozen=True)
class Surprising:
    """A method that asks it."""

    scale: float = 1.0

    kind: ClassVar[Kind] = "token"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "a test"
    requires: ClassVar[frozenset[str]] = frozenset({"surprise"})

    def passes(self, n: int) -> Passes:
        return Passes(2, 0)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        surprise = yield Surprise(x, (1.0, 2.0))
        return x.attribution(self.scale * surprise[x.alive])
'''

MODEL = '''
"""A callable that can also say how surprising words are."""

import numpy as np

from verax.models.black_box import BlackBox


class Surprised(BlackBox):
    def __init__(self) -> None:
        super().__init__(
            lambda texts: [[0.5, 0.5]] * len(texts), labels=("a", "b"), name="surprised", version="1", mask_text="_"
        )
        self.capabilities = self.capabilities | {"surprise"}
        self.batches = []

    def surprises(self, passes):
        self.batches.append([one.temperature for one in passes])
        if any("broken" in one.row.encoding.instance.id for one in passes):
            raise ValueError("no idea")
        answers = []
        for row, temperature in passes:
            lengths = np.array([float(len(word)) for part in row.encoding.instance.parts for word in part.words])
            if "endless" in row.encoding.instance.id:
                lengths[0] = np.inf
            answers.append(np.where(row.state == 0, lengths / temperature, 0.0))
        return answers
'''


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    (tmp_path / "surprise_question.py").write_text(QUESTION)
    (tmp_path / "surprise_model.py").write_text(MODEL)
    monkeypatch.syspath_prepend(tmp_path)
    return importlib.import_module("surprise_question"), importlib.import_module("surprise_model")


def subject(model: Any, text: str, name: str = "x") -> Subject:
    return Subject(Instance(name, (split_words(text),)), model)


def run(engine: Engine, **generators: Any) -> dict[str, TaskResult[Any]]:
    ended: dict[str, TaskResult[Any]] = {}

    def task(name: str) -> Task[Any]:
        return Task(generators[name], lambda outcome: ended.update({name: outcome}) or ())  # type: ignore[func-returns-value]

    engine.run(map(task, generators))
    return ended


def test_a_new_question_is_pooled_reduced_and_remembered(modules: tuple[Any, Any]) -> None:
    question, model = modules[0], modules[1].Surprised()
    texts = {"one": "a boat sails", "two": "the shore today", "three": "rain and weather"}
    subjects = {name: subject(model, text) for name, text in texts.items()}
    engine = Engine()
    ended = run(engine, **{name: as_generator(question.Surprising(), x) for name, x in subjects.items()})
    for name, text in texts.items():
        assert ended[name].value.scores.tolist() == [0.75 * len(word) for word in text.split()]
    assert sorted(model.batches) == [[1.0] * 3, [2.0] * 3], "one batch for each temperature, whatever the input"
    assert (engine.cost.forward_asked, engine.cost.forward) == (6, 6)
    again = run(engine, twice=as_generator(question.Surprising(scale=2.0), subjects["one"]))
    assert again["twice"].value.scores.tolist() == [1.5, 6.0, 7.5]
    assert (len(model.batches), again["twice"].cost.forward_asked, again["twice"].cost.forward) == (2, 2, 0)
    view = subjects["one"].without(subjects["one"].alive == 1, "mask")
    without = run(engine, view=as_generator(question.Surprising(), view))["view"].value
    assert (without.units, without.scores.tolist()) == (view.units, [0.75, 3.75])
    assert len(model.batches) == 4, "a view has answers of its own"


def test_it_shares_a_run_with_other_questions_and_fails_alone(modules: tuple[Any, Any]) -> None:
    question, model = modules[0], modules[1].Surprised()
    ended = run(
        Engine(),
        fine=as_generator(question.Surprising(), subject(model, "a boat")),
        broken=as_generator(question.Surprising(), subject(model, "a boat", "broken")),
        endless=as_generator(question.Surprising(), subject(model, "a boat", "endless")),
        other=as_generator(LeaveOneOut(), subject(model, "a boat")),
    )
    assert isinstance(ended["fine"].value, Attribution)
    assert isinstance(ended["other"].value, Attribution)
    assert str(ended["broken"].error) == "no idea"
    assert isinstance(ended["endless"].error, Undefined)
    assert ended["endless"].error.reason == "nonfinite"


def test_a_model_that_cannot_answer_it_is_rejected(modules: tuple[Any, Any]) -> None:
    question, model = modules[0], modules[1].Surprised()
    assert check_capabilities(question.Surprising(), model) == []
    plain = BlackBox(lambda texts: [[0.5, 0.5]] * len(texts), labels=("a", "b"), name="plain", version="1")
    assert check_capabilities(question.Surprising(), plain, "surprising") == [
        "surprising needs surprise; the model 'plain' provides only class outputs"
    ]


def test_the_engine_mentions_no_question() -> None:
    from verax.engine import engine, questions

    named = [name for name in questions.__all__ if name not in {"Pass", "Question", "QuestionGenerator"}]
    assert Outputs.__name__ in named
    assert [name for name in named if hasattr(engine, name)] == []
