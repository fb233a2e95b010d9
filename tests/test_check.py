"""Every built-in method and metric keeps what is checked; and each check is failed by a subject with that one fault."""

from __future__ import annotations

import random
import re
import sys
import types
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

import verax
from verax import Highlight, Instance, Measured, Passes, Span, Undefined, UserError
from verax.checks.trials import default_inputs, default_model
from verax.data.text import split_words
from verax.engine.protocols import kinds_of
from verax.engine.questions import Outputs, QuestionGenerator
from verax.metrics.ranking import best_first, needs_tokens, word_scores
from verax.models.classifier import Classifier
from verax.models.load import load_model
from verax.models.subject import Subject
from verax.registry import built_in, resolve
from verax.types import Attribution, FloatArray, Human

TEXTS = {
    "a": ("A cheap guitar is heavy.", "the guitar is light"),
    "b": ("rain", "weather"),
    "c": ("a 🐕 is happy 👩‍👩‍👧", "dog dog"),
    "d": ("הכלב רץ", "בגן"),
}
SMALL: dict[str, dict[str, Any]] = {
    "kernel_shap": {"budget": 30},
    "beam": {"width": 2},
    "shapley_sampling": {"permutations": 3},
    "lime": {"samples": 20},
    "integrated_gradients": {"steps": 3},
    "bivariate_shapley": {"budget": 30},
    "shapley_interaction": {"budget": 60},
    "attention_attribution": {"steps": 3},
    # a consensus need not depend on the seed
    "louvain": {"over": {"bivariate_shapley": {"budget": 30}}, "draws": 1, "partitions": 1},
}
SCORING = [name for name, entry in built_in("methods").items() if entry.kind != "text"]
VARIANTS = [*((name, SMALL.get(name, {})) for name in SCORING), ("lime", {"regression": "lasso"})]


@pytest.fixture(scope="module")
def inputs() -> list[Instance]:
    """Short pairs with ids in alphabetical order, the first with enough words to leave a sampler a choice."""
    parts = {name: tuple(map(split_words, texts)) for name, texts in TEXTS.items()}
    human = Human(words=((0,), (0,)), span_pairs=((Span(0, 0, 1), Span(1, 0, 1)),))
    return [Instance(name, split, "neutral", human=human) for name, split in parts.items()]


@pytest.fixture
def model() -> Classifier:
    """A fresh one for each test: some change it."""
    return default_model()


@pytest.mark.parametrize(("name", "parameters"), VARIANTS)
def test_every_method_of_ours_keeps_everything(
    name: str, parameters: dict[str, Any], model: Classifier, inputs: list[Instance]
) -> None:
    found = verax.check_explainer({name: parameters}, model, inputs=inputs)
    found.raise_if_failed()


@pytest.mark.parametrize(
    "name", [name for name in built_in("metrics") if kinds_of(resolve("metrics", name)) != {"text"}]
)
def test_every_metric_of_ours_keeps_everything(name: str, model: Classifier, inputs: list[Instance]) -> None:
    verax.check_metric(name, model, inputs=inputs).raise_if_failed()


class Checked:
    """What the checked components share; a faulty one overrides one thing."""

    version: Any = 1
    reference: Any = "a test"
    allowed: ClassVar[int] = 1

    def passes(self, n: int) -> Any:
        return Passes(n + self.allowed, 0)

    def shift(self, x: Subject) -> QuestionGenerator[float]:
        """Added to what is right."""
        yield from ()
        return 0.0


class Explains(Checked):
    """Leave-one-out."""

    kind: Any = "token"

    def __call__(self, x: Subject) -> QuestionGenerator[Any]:
        extra = yield from self.shift(x)
        logits: FloatArray = yield Outputs(x, ~np.eye(x.n_units, dtype=bool), and_full=True)
        return self.end(x, logits[-1, 0] - logits[:-1, 0] + extra)

    def end(self, x: Subject, scores: FloatArray) -> Any:
        return x.attribution(scores)


class Measures(Checked):
    """The squashed drop without the top word."""

    higher_is_better: Any = True
    range: Any = (-1.0, 1.0)

    def __call__(self, x: Subject, highlight: Highlight) -> QuestionGenerator[Any]:
        scores = self.scores(x, highlight)
        extra = yield from self.shift(x)
        keep = np.ones((1, x.n_units), bool)
        keep[0, best_first(scores)[0]] = False
        logits: FloatArray = yield Outputs(x, keep, and_full=True)
        return self.end(highlight, float(np.tanh(logits[1, 0] - logits[0, 0]) / 2 + extra))

    def scores(self, x: Subject, highlight: Highlight) -> FloatArray:
        return word_scores(x, highlight)

    def end(self, highlight: Highlight, value: float) -> Any:
        return Measured(value)


def made(base: type, *given: Any, frozen: bool = True, **body: Any) -> Any:
    """An object of a dataclass: the base with something of its own."""
    return dataclass(frozen=frozen)(type("Own", (base,), {"__module__": __name__, **body}))(*given)


def checked(subject: Any, model: Classifier, inputs: list[Instance]) -> verax.Checked:
    check = verax.check_explainer if isinstance(subject, Explains) else verax.check_metric
    return check(subject, model, inputs=inputs)  # type: ignore[operator, no-any-return]


def fails_only(found: verax.Checked, name: str, says: str) -> None:
    assert [check.name for check in found.failures] == [name], str(found)
    assert re.search(says, found.failures[0].detail), found.failures[0]


@pytest.mark.parametrize("base", [Explains, Measures])
def test_the_subject_without_a_fault_fails_nothing(base: type, model: Classifier, inputs: list[Instance]) -> None:
    found = checked(made(base), model, inputs)
    found.raise_if_failed()
    assert found.ok
    assert len({check.name for check in found.checks}) == len(found.checks)


calls = count()
under_way: list[str] = []
came_before = ["z"]


def noisy(self: Any, x: Subject) -> QuestionGenerator[float]:
    """A little more each time, far below every tolerance."""
    yield from ()
    return next(calls) * 1e-12


def crowded(self: Any, x: Subject) -> QuestionGenerator[float]:
    """Depends on how many others are under way."""
    under_way.append(x.instance.id)
    full = Outputs(x, np.empty((0, x.n_units), bool), and_full=True)
    yield full
    others = len(under_way) - 1
    yield full  # nobody ends before all have counted
    under_way.pop()
    return others / 100


def jealous(self: Any, x: Subject) -> QuestionGenerator[float]:
    """Depends on what came just before."""
    yield from ()
    earlier, came_before[0] = came_before[0], x.instance.id
    return 0.01 if earlier < x.instance.id else 0.0


def sowing(seed: Callable[[int], Any]) -> Any:
    """Seeds what everybody shares."""

    def shift(self: Any, x: Subject) -> QuestionGenerator[float]:
        yield from ()
        seed(3)
        return 0.0

    return shift


def peeking(state: Callable[[], Any]) -> Any:
    """Reads what everybody shares, and leaves it as it is."""

    def shift(self: Any, x: Subject) -> QuestionGenerator[float]:
        yield from ()
        return int(np.sum(state(), dtype=np.int64)) % 999_983 / 1e7  # two states hardly ever share it

    return shift


OF_BOTH: list[tuple[str, str, dict[str, Any]]] = [
    ("frozen dataclass", "can be changed", {"frozen": False}),
    ("description", "version must", {"version": "1"}),
    ("description", "version must", {"version": 0}),
    ("description", "reference must", {"reference": " "}),
    ("parameters", "do not survive JSON", {"__annotations__": {"sizes": "list"}, "sizes": range(3)}),
    ("parameters", "come back from JSON as", {"__annotations__": {"sizes": Any}, "sizes": (1, 2)}),
    ("passes", r"asks for \d+ forward and 0 backward, but passes\(\d+\) says", {"allowed": -20}),
    ("passes", "gives no Passes", {"passes": lambda self, n: n}),
    ("same twice", "differ by", {"shift": noisy}),
    ("batch", "differ by", {"shift": crowded}),
    ("order", "differ by", {"shift": jealous}),
    ("seed", "same numbers on every input", {"__annotations__": {"seed": int}, "seed": 0}),
    ("global random state", "^numpy's global", {"shift": sowing(np.random.seed)}),
    ("global random state", "^Python's global", {"shift": sowing(random.seed)}),
    ("global random state", "^torch's global", {"shift": sowing(torch.manual_seed)}),
    ("global seeds", "follow the global seed", {"shift": peeking(lambda: np.random.get_state()[1])}),  # type: ignore[index]
    ("global seeds", "follow the global seed", {"shift": peeking(lambda: random.getstate()[1][:600])}),
    ("global seeds", "follow the global seed", {"shift": peeking(lambda: torch.get_rng_state().numpy())}),
    ("arguments", "the input", {"shift": lambda self, x: _spoil(x)}),
]


def _spoil(x: Subject) -> QuestionGenerator[float]:
    yield from ()
    x.encoding.notes["spoilt"] = True  # type: ignore[index]
    return 0.0


@pytest.mark.parametrize("base", [Explains, Measures])
@pytest.mark.parametrize(("name", "says", "fault"), OF_BOTH)
def test_a_fault_is_found(
    base: type, name: str, says: str, fault: dict[str, Any], model: Classifier, inputs: list[Instance]
) -> None:
    fails_only(checked(made(base, **fault), model, inputs), name, says)


@pytest.mark.parametrize("base", [Explains, Measures])
def test_a_field_without_a_default_is_found(base: type, model: Classifier, inputs: list[Instance]) -> None:
    subject = made(base, 1.0, __annotations__={"strength": float})
    fails_only(checked(subject, model, inputs), "parameters", "no default for strength")


@pytest.mark.parametrize("base", [Explains, Measures])
def test_a_subject_that_is_no_dataclass_is_still_run(base: type, model: Classifier, inputs: list[Instance]) -> None:
    found = checked(base(), model, inputs)
    assert {check.name for check in found.failures} == {"frozen dataclass", "parameters"}


MEDDLING: dict[str, Callable[[Any], Any]] = {
    "training flags": lambda inner: inner.train(),
    "weights": lambda inner: inner.get_input_embeddings().weight.data[-1].add_(1.0),  # a token that nobody uses
    "hooks": lambda inner: inner.register_forward_hook(lambda *_: None),
    "requires_grad": lambda inner: inner.classifier.requires_grad_(False),
    "gradients left behind": lambda inner: inner.classifier.weight.sum().backward(),
    "attention implementation": lambda inner: inner.set_attn_implementation("eager"),
    "configuration": lambda inner: setattr(inner.config, "problem_type", "regression"),
}


@pytest.mark.parametrize("base", [Explains, Measures])
@pytest.mark.parametrize("what", MEDDLING)
def test_a_changed_model_is_found(base: type, what: str, model: Classifier, inputs: list[Instance]) -> None:
    def shift(self: Any, x: Subject) -> QuestionGenerator[float]:
        yield from ()
        MEDDLING[what](model._model)  # type: ignore[attr-defined]
        return 0.0

    fails_only(checked(made(base, shift=shift), model, inputs), "model", f"^changed: {what}$")


def _only_for(name: str, error: Exception) -> Any:
    """Raises on one input."""

    def shift(self: Any, x: Subject) -> QuestionGenerator[float]:
        yield from ()
        if x.instance.id == name:
            raise error
        return 0.0

    return shift


def _no_question(self: Any, x: Subject) -> Any:
    yield "how are you?"


def _never(self: Any, x: Subject) -> QuestionGenerator[float]:
    yield from ()
    raise Undefined("never", "it does not want to")


REFUSING: list[tuple[str, Any]] = [
    ("raised ValueError: no emoji", _only_for("c", ValueError("no emoji"))),
    ("UserError in the middle of a run", _only_for("c", UserError("no emoji"))),
    ("without a reason", _only_for("c", Undefined(""))),
    ("without a reason", _only_for("c", Undefined(" ", "emoji"))),
]


@pytest.mark.parametrize("base", [Explains, Measures])
@pytest.mark.parametrize(("says", "shift"), REFUSING)
def test_a_refusal_in_a_wrong_way_is_found(
    base: type, says: str, shift: Any, model: Classifier, inputs: list[Instance]
) -> None:
    fails_only(checked(made(base, shift=shift), model, inputs), "refusals", says)


@pytest.mark.parametrize("base", [Explains, Measures])
def test_a_refusal_in_the_right_way_is_no_fault(base: type, model: Classifier, inputs: list[Instance]) -> None:
    checked(made(base, shift=_only_for("c", Undefined("emoji"))), model, inputs).raise_if_failed()


@pytest.mark.parametrize(("base", "name"), [(Explains, "explains"), (Measures, "measures")])
@pytest.mark.parametrize("fields", [{}, {"__annotations__": {"seed": int}, "seed": 0}])
def test_a_subject_that_refuses_everything_is_found(
    base: type, name: str, fields: dict[str, Any], model: Classifier, inputs: list[Instance]
) -> None:
    subject = made(base, shift=_never, **fields)
    fails_only(checked(subject, model, inputs), name, "none of the .* never: it does not want to")


@pytest.mark.parametrize("base", [Explains, Measures])
def test_what_can_not_be_asked_is_a_finding_and_no_crash(base: type, model: Classifier, inputs: list[Instance]) -> None:
    wrong_shape = made(base, shift=lambda self, x: (yield Outputs(x, np.ones((1, x.n_units + 1), bool))))
    for subject, says in ((made(base, shift=_no_question), "no question"), (wrong_shape, "raised ")):
        found = {check.name: check.detail for check in checked(subject, model, inputs).failures}
        assert says in found.get("refusals", "") + found.get("other kinds", ""), found


def _nan_for_two_words(self: Any, x: Subject, scores: FloatArray) -> Attribution:
    return x.attribution(scores * (np.nan if len(x.encoding.units) == 2 else 1))


OF_A_METHOD: list[tuple[str, str, dict[str, Any]]] = [
    ("description", "kind must be one of token", {"kind": "word"}),
    ("scores", "not a finite number", {"end": _nan_for_two_words}),
    ("scores", "reading order", {"end": lambda self, x, scores: Attribution(x.units[::-1], scores)}),
    ("scores", "reading order", {"end": lambda self, x, scores: Attribution(x.units[:-1], scores[:-1])}),
    ("scores", "returned a ndarray", {"end": lambda self, x, scores: scores}),
    ("arguments", "the input", {"end": lambda self, x, scores: _turned(x, scores)}),
    ("words left", "reading order", {"end": lambda self, x, scores: _padded(x, scores)}),
    ("words left", "raised IndexError", {"end": lambda self, x, scores: x.attribution(scores[_all_words(x)])}),
]


def _all_words(x: Subject) -> Any:
    return np.arange(len(x.encoding.units))


def _turned(x: Subject, scores: FloatArray) -> Attribution:
    """Turns round the numbers of the words once it is done with them."""
    attribution = x.attribution(scores)
    x.alive[:] = x.alive[::-1].copy()
    return attribution


def _padded(x: Subject, scores: FloatArray) -> Attribution:
    """A score for words too that are not there any more."""
    every = np.zeros(len(x.encoding.units))
    every[x.alive] = scores
    return Attribution(x.encoding.units, every)


@pytest.mark.parametrize(("name", "says", "fault"), OF_A_METHOD)
def test_a_fault_of_a_method_is_found(
    name: str, says: str, fault: dict[str, Any], model: Classifier, inputs: list[Instance]
) -> None:
    fails_only(checked(made(Explains, **fault), model, inputs), name, says)


@pytest.mark.parametrize(
    ("units", "says"),
    [
        (lambda x: [(*x.units[0], *x.units[-1])], None),
        (lambda x: [(*x.units[0], *x.units[-1])] * 2, "scored twice"),
        (lambda x: [(*x.units[0], Span(1, 90, 91))], "holds no word that is there"),
    ],
)
def test_interactions_are_of_words_that_are_there(
    units: Any, says: str | None, model: Classifier, inputs: list[Instance]
) -> None:
    def end(self: Any, x: Subject, scores: FloatArray) -> Attribution:
        found = tuple(units(x))
        return Attribution(found, np.full(len(found), scores[0]))

    found = checked(made(Explains, kind="token_interaction", end=end), model, inputs)
    if says is None:
        found.raise_if_failed()
    else:
        fails_only(found, "scores", says)


def _by_unit(self: Any, x: Subject, highlight: Highlight) -> FloatArray:
    scores = dict(zip(highlight.units, highlight.scores, strict=True))
    return np.array([scores[unit] for unit in x.units])


def _spread(self: Any, x: Subject, highlight: Highlight) -> FloatArray:
    needs_tokens(highlight)
    scores = word_scores(x, highlight)
    if scores.min() == scores.max():
        raise ZeroDivisionError("no spread")
    return scores


def _whatever_is_there(self: Any, x: Subject, highlight: Highlight) -> FloatArray:
    """Asks for the kind, but not whether every word has a score."""
    if highlight.kind != "token":
        raise Undefined("needs_token_scores")
    return _by_unit(self, x, highlight)


OF_A_METRIC: list[tuple[str, str, dict[str, Any]]] = [
    ("description", "higher_is_better must", {"higher_is_better": "yes"}),
    ("description", "range must", {"range": (1.0, 0.0)}),
    ("description", "range must", {"range": 1.0}),
    ("description", "range must", {"range": (None, float("nan"))}),
    ("value", r"2 is outside of its range, -1.0 to 1.0", {"end": lambda self, highlight, value: Measured(2.0)}),
    ("value", "not finite", {"end": lambda self, highlight, value: Measured(float("nan"))}),
    ("value", "not finite", {"end": lambda self, highlight, value: Measured(0.0, (float("inf"),))}),
    ("value", "returned a float", {"end": lambda self, highlight, value: value}),
    ("constant scores", "all scores 0.0': raised ZeroDivisionError", {"scores": _spread}),
    ("missing words", "without every second unit': raised KeyError", {"scores": _whatever_is_there}),
    ("arguments", "the explanation", {"end": lambda self, highlight, value: _write(highlight, value)}),
]


def _write(highlight: Highlight, value: float) -> Measured:
    highlight.notes["seen"] = True  # type: ignore[index]
    return Measured(value)


@pytest.mark.parametrize(("name", "says", "fault"), OF_A_METRIC)
def test_a_fault_of_a_metric_is_found(
    name: str, says: str, fault: dict[str, Any], model: Classifier, inputs: list[Instance]
) -> None:
    fails_only(checked(made(Measures, **fault), model, inputs), name, says)


def test_a_metric_that_stumbles_over_other_kinds_is_found(model: Classifier, inputs: list[Instance]) -> None:
    def scores(self: Any, x: Subject, highlight: Highlight) -> FloatArray:
        if highlight.kind != "token":
            raise KeyError(highlight.units[0])
        return word_scores(x, highlight)

    fails_only(checked(made(Measures, scores=scores), model, inputs), "other kinds", "interaction': raised KeyError")


def test_what_was_found_reads_well_and_can_be_raised(model: Classifier, inputs: list[Instance]) -> None:
    found = verax.check_explainer({"lime": {"samples": 20}}, model, inputs=inputs)
    assert str(found).startswith("lime(samples=20) on world/nli, 4 inputs: 16 of 16 properties hold\n  ok    ")
    with pytest.raises(FrozenInstanceError):
        found.subject = "other"  # type: ignore[misc]
    faulty = verax.check_explainer(made(Explains, version=0, allowed=-20), model, inputs=inputs)
    assert not faulty.ok
    assert str(faulty).startswith("Own on world/nli, 4 inputs: 14 of 16 properties hold\n  ok    ")
    with pytest.raises(AssertionError) as raised:
        faulty.raise_if_failed()
    title, *lines = str(raised.value).splitlines()
    assert title == str(faulty).splitlines()[0]
    assert [line.partition(":")[0] for line in lines] == ["  FAIL  description", "  FAIL  passes"]


def test_the_global_random_state_is_put_back(model: Classifier, inputs: list[Instance]) -> None:
    before = random.getstate(), np.random.get_state()[1].tobytes(), torch.get_rng_state().tolist()  # type: ignore[index, union-attr]
    checked(made(Explains, shift=sowing(np.random.seed)), model, inputs)
    assert before == (random.getstate(), np.random.get_state()[1].tobytes(), torch.get_rng_state().tolist())  # type: ignore[index, union-attr]


def test_mistakes_of_the_user_are_one_line(model: Classifier, inputs: list[Instance]) -> None:
    with pytest.raises(UserError, match="did you mean 'lime'"):
        verax.check_explainer("limes", model)
    with pytest.raises(UserError, match=r"give an object of it: Explains\(\)"):
        verax.check_explainer(Explains, model)
    with pytest.raises(UserError, match="can read none of the 1"):
        verax.check_metric("agreement", model, inputs=[Instance("empty", (split_words(""), split_words("")))])
    callable_model = load_model(lambda texts: [[0.5, 0.5]] * len(texts), labels=["a", "b"])
    with pytest.raises(UserError, match=r"saliency needs gradients; the model .* provides only class outputs"):
        verax.check_explainer("saliency", callable_model, inputs=inputs)


def test_a_callable_model_will_do(inputs: list[Instance]) -> None:
    """Its answers depend on the length of the text alone; it holds nothing that torch would know."""
    model = load_model(
        lambda texts: [[(n := len(" ".join(parts))) / (n + 9), 9 / (n + 9)] for parts in texts], labels="ab"
    )
    verax.check_explainer({"leave_one_out": {"removal": "delete"}}, model, inputs=inputs).raise_if_failed()
    verax.check_metric("comprehensiveness", model, inputs=inputs).raise_if_failed()


def test_by_default_the_shipped_model_and_inputs_plain_and_awkward() -> None:
    found = verax.check_explainer("leave_one_out")
    found.raise_if_failed()
    assert (found.model, found.inputs) == ("world/nli", len(default_inputs()))
    lengths = [len(instance.units) for instance in default_inputs()]
    assert min(lengths) == 2
    assert max(lengths) > 20
    assert any(instance.human for instance in default_inputs())


def test_the_examples_of_the_documentation_hold(
    model: Classifier, inputs: list[Instance], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = Path(__file__).parent.parent
    text = (root / "CONTRIBUTING.md").read_text("utf-8").replace("\n   ", "\n")
    examples = {code.partition("\n")[0]: code for code in re.findall(r"^```python\n(.*?)^```$", text, re.S | re.M)}
    for path, name in {
        "methods/keep_one": "KeepOne",
        "metrics/faithfulness/decision_flip": "DecisionFlip",
    }.items():
        module = types.ModuleType(name)
        monkeypatch.setitem(sys.modules, name, module)
        exec(examples[f"# src/verax/{path}.py"], vars(module))  # noqa: S102
        check = verax.check_explainer if name == "KeepOne" else verax.check_metric
        check(getattr(module, name)(), model, inputs=inputs).raise_if_failed()  # type: ignore[operator]
    exec(examples["from verax import check_explainer, check_metric"], {})  # noqa: S102
    assert "lime(samples=20) on world/nli" in capsys.readouterr().out


def test_every_property_is_on_the_page(model: Classifier, inputs: list[Instance]) -> None:
    page = (Path(__file__).parent.parent / "docs" / "checks.md").read_text("utf-8")
    listed = set(re.findall(r"^\| `([^`]+)` \|", page, re.M))
    found = [*checked(made(Explains), model, inputs).checks, *checked(made(Measures), model, inputs).checks]
    assert {check.name for check in found} == listed
