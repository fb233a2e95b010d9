"""The engine: pooled and one by one are the same, nothing is asked twice, and trouble stays where it arose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from verax.data.text import split_words
from verax.engine.batch_size import ON_ACCELERATOR, ON_PROCESSOR
from verax.engine.engine import Engine, Task, TaskResult
from verax.engine.protocols import as_generator
from verax.engine.questions import (
    Candidates,
    Generate,
    Likelihood,
    Outputs,
    PathGradient,
    QuestionGenerator,
    SummedGradient,
    resolve_target,
)
from verax.engine.questions.base import Pass
from verax.engine.questions.text import GENERATING
from verax.methods.attention import AttentionWeights
from verax.methods.baselines import RandomScores
from verax.methods.beam import Beam
from verax.methods.gradients import Activation, GradientVocabulary, GuidedBackprop, InputXGradient, Saliency
from verax.methods.integrated_gradients import IntegratedGradients
from verax.methods.lime import Lime
from verax.methods.occlusion import LeaveOneOut, Occlusion
from verax.methods.shapley import ExactShapley, KernelShap, ShapleySampling
from verax.metrics.faithfulness.erasure import Comprehensiveness, Sufficiency
from verax.models.black_box import BlackBox
from verax.models.classifier import Classifier
from verax.models.generator import CandidatesPass, GeneratePass, LikelihoodPass, Prompt, TextRequest
from verax.models.subject import Subject
from verax.types import Cost, FloatArray, Generated, Highlight, Instance, Target, Undefined, UserError

METHODS = (
    RandomScores(),
    LeaveOneOut(),
    LeaveOneOut(removal="delete", absolute=True),
    LeaveOneOut(removal="attention"),
    LeaveOneOut(target=Target("gold", "probability"), removal="zero"),
    Saliency(),
    InputXGradient(target=Target("loss")),
    IntegratedGradients(steps=5),
    IntegratedGradients(steps=5, baseline="zero", rule="riemann_right", target=Target("no")),
    IntegratedGradients(steps=5, baseline="mask", aggregate="l2", target=Target("loss")),
    GuidedBackprop(),
    GradientVocabulary(norm="l1"),
    Activation(),
    AttentionWeights(),
    AttentionWeights(head=1, layer=0),
    Occlusion(window=2),
    Lime(samples=20),
    ShapleySampling(permutations=3),
    KernelShap(budget=40),
    Beam(width=2),
)
METRICS = (Comprehensiveness(), Sufficiency())


def outcomes(engine: Engine, generators: dict[Any, QuestionGenerator[Any]]) -> dict[Any, TaskResult[Any]]:
    ended: dict[Any, TaskResult[Any]] = {}

    def task(key: Any, generator: QuestionGenerator[Any]) -> Task[Any]:
        def done(outcome: TaskResult[Any]) -> tuple[()]:
            ended[key] = outcome
            return ()

        return Task(generator, done)

    engine.run(task(key, generator) for key, generator in generators.items())
    assert set(ended) == set(generators)
    return ended


def everything(model: Classifier, instances: Sequence[Instance], **options: Any) -> dict[tuple[str, str], FloatArray]:
    """Every method and metric on every instance, in one engine."""
    generators = {}
    for instance in instances:
        x = Subject(instance, model)
        for method in METHODS:
            generators[instance.id, repr(method)] = as_generator(method, x)
        scores = tuple(x.rng(3).random(x.n_units).tolist())
        highlight = Highlight(instance.id, "given", "token", Target(), x.units, scores)
        for metric in METRICS:
            generators[instance.id, repr(metric)] = as_generator(metric, x, highlight)
    found = {}
    for key, outcome in outcomes(Engine(**options), generators).items():
        assert outcome.error is None, outcome.error
        value = outcome.value
        found[key] = np.array(value.curve) if hasattr(value, "curve") else value.scores
    return found


# fitted methods (lime, kernel_shap) make the rounding of a pass larger, more so for some of the tokenizers drawn here
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 5e-5), ("float64", 1e-12)])
def test_pooled_is_one_by_one(
    dtype: str, tolerance: float, classifier: Callable[..., Classifier], instances: list[Instance]
) -> None:
    model = classifier("bert", dtype)
    pooled = everything(model, instances, token_budget=4096)
    alone = {}
    for instance in reversed(instances):
        alone.update(everything(model, [instance], token_budget=1))
    assert pooled.keys() == alone.keys()
    largest = max(float(np.abs(pooled[key] - alone[key]).max()) for key in pooled)
    assert largest <= tolerance


@pytest.mark.parametrize("architecture", ["roberta", "bart", "gpt2", "llama"])
def test_pooled_is_one_by_one_elsewhere(
    architecture: str, classifier: Callable[..., Classifier], instances: list[Instance]
) -> None:
    model = classifier(architecture)
    generators = {}
    for instance in instances:
        x = Subject(instance, model)
        generators[instance.id, "delete"] = as_generator(LeaveOneOut(removal="zero"), x)
        generators[instance.id, "gradient"] = as_generator(InputXGradient(), x)
    pooled = outcomes(Engine(), generators)
    for instance in instances:
        x = Subject(instance, model)
        for name, method in {"delete": LeaveOneOut(removal="zero"), "gradient": InputXGradient()}.items():
            alone = outcomes(Engine(token_budget=1), {0: as_generator(method, x)})[0].value.scores
            assert np.abs(pooled[instance.id, name].value.scores - alone).max() <= 1e-12


def test_nothing_is_evaluated_twice(classifier: Callable[..., Classifier], instances: list[Instance]) -> None:
    model = classifier("bert")
    x = Subject(instances[0], model)
    n = x.n_units
    engine = Engine()
    generators = {
        "loo": as_generator(LeaveOneOut(), x),
        "absolute": as_generator(LeaveOneOut(absolute=True), x),
        "saliency": as_generator(Saliency(), x),
        "input x gradient": as_generator(InputXGradient(), x),
    }
    ended = outcomes(engine, generators)
    # each asks for the full input to know the prediction; leave-one-out asks for it again beside its n rows
    assert engine.cost.forward_asked == 2 * (1 + n + 1) + 2
    assert engine.cost.forward == n + 1
    assert (engine.cost.backward_asked, engine.cost.backward) == (2, 1)
    charged = sum((outcome.cost for outcome in ended.values()), Cost())
    assert (charged.forward, charged.backward) == (engine.cost.forward, engine.cost.backward)
    assert charged.seconds > 0


def test_methods_and_metrics_share_their_passes(
    classifier: Callable[..., Classifier], instances: list[Instance]
) -> None:
    """The number of passes of a small run, counted by hand: a word removed is a word removed, whoever asks."""
    model = classifier("bert")
    x = Subject(Instance("x", (instances[3].parts[0], split_words("a quiet lake"))), model)
    n = x.n_units
    assert n == 4
    highlight = Highlight("x", "given", "token", Target(), x.units, (3.0, 1.0, 4.0, 2.0))
    erasure = {"bins": (0.25, 0.5), "removal": "mask"}
    engine = Engine()
    outcomes(
        engine,
        {
            "loo": as_generator(LeaveOneOut(), x),
            "occlusion": as_generator(Occlusion(removal="mask"), x),
            "beam": as_generator(Beam(), x),
            "exact": as_generator(ExactShapley(), x),
            "kernel": as_generator(KernelShap(), x),
            "sampling": as_generator(ShapleySampling(removal="mask"), x),
            "comprehensiveness": as_generator(Comprehensiveness(**erasure), x, highlight),
            "sufficiency": as_generator(Sufficiency(**erasure), x, highlight),
        },
    )
    assert engine.cost.forward == 2**n, "every coalition of four words is evaluated once"
    alone, beam, every, bins = n + 1, 1 + 4 + 6 + 4, 2**n, 2 + 1
    # each method asks for the prediction besides, and so does each metric
    assert engine.cost.forward_asked == 2 * alone + beam + 3 * every + 2 * bins + 8


def test_a_view_is_asked_about_as_if_it_were_the_input(
    classifier: Callable[..., Classifier], instances: list[Instance]
) -> None:
    """What is masked stays masked while a method explains the rest, and the prediction is that of the whole input."""
    model = classifier("bert")
    x = Subject(instances[1], model)
    dropped = np.zeros(x.n_units, bool)
    dropped[[0, 3, 7]] = True
    view = x.without(dropped, "mask")
    assert view.n_units == x.n_units - 3
    engine = Engine()
    scores = outcomes(engine, {0: as_generator(LeaveOneOut(), view)})[0].value.scores

    def by_hand() -> QuestionGenerator[FloatArray]:
        readout = yield from resolve_target(Target(), x)
        keep = np.tile(~dropped, (view.n_units + 1, 1))
        for row, unit in enumerate(np.flatnonzero(~dropped)):
            keep[row, unit] = False
        values = readout((yield Outputs(x, keep)))
        return values[-1] - values[:-1]

    assert np.abs(scores - outcomes(engine, {0: by_hand()})[0].value).max() <= 1e-12
    gradient = outcomes(engine, {0: as_generator(Saliency(), view)})[0].value
    assert gradient.units == view.units


class Fragile:
    """A model that runs out of memory on batches above some number of tokens, and remembers what it finished."""

    def __init__(self, model: Classifier, most: int) -> None:
        self._model, self._most = model, most
        self.finished: list[bytes] = []
        self.refused = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def logits(self, rows: Sequence[Any]) -> FloatArray:
        tokens = sum(len(row.encoding.token_ids) for row in rows)
        if tokens > self._most:
            self.refused += 1
            raise RuntimeError("CUDA out of memory. Tried to allocate everything")
        self.finished += [row.state.tobytes() + row.encoding.instance.id.encode() for row in rows]
        return self._model.logits(rows)


def test_out_of_memory_halves_and_keeps_what_is_finished(
    classifier: Callable[..., Classifier], instances: list[Instance]
) -> None:
    model = classifier("bert")
    fragile = Fragile(model, most=60)
    engine = Engine(token_budget=4096)  # type: ignore[arg-type]
    encoded = {i.id: Subject(i, fragile) for i in instances[:3]}
    ended = outcomes(engine, {k: as_generator(LeaveOneOut(), x) for k, x in encoded.items()})
    assert fragile.refused > 0
    assert len(fragile.finished) == len(set(fragile.finished)) == engine.cost.forward, "no row is done twice"
    before = fragile.refused
    outcomes(engine, {0: as_generator(LeaveOneOut(removal="zero"), encoded[instances[1].id])})
    assert fragile.refused == before, "what was learnt is kept"
    for key, x in encoded.items():
        again = as_generator(LeaveOneOut(), Subject(x.instance, model))
        alone = outcomes(Engine(), {0: again})[0].value.scores
        assert np.abs(ended[key].value.scores - alone).max() <= 1e-12


def test_an_input_that_never_fits_is_said_so(classifier: Callable[..., Classifier], instances: list[Instance]) -> None:
    model = classifier("bert")
    fragile = Fragile(model, most=len(model.encode(instances[3]).token_ids))
    small, large = (Subject(instances[i], fragile) for i in (3, 1))
    ended = outcomes(
        Engine(),  # type: ignore[arg-type]
        {"small": as_generator(LeaveOneOut(), small), "large": as_generator(LeaveOneOut(), large)},
    )
    assert ended["small"].error is None
    assert isinstance(ended["large"].error, Undefined)
    assert ended["large"].error.reason == "out_of_memory"


def black_box(answer: Callable[[list[tuple[str, ...]]], Any]) -> BlackBox:
    return BlackBox(answer, labels=("yes", "no"), name="box", version="1", mask_text="_")


def test_one_bad_row_spoils_only_its_own_instance(instances: list[Instance]) -> None:
    def answer(texts: list[tuple[str, ...]]) -> Any:
        if any("gulls" in premise for premise, _ in texts):
            raise ValueError("no gulls here")
        return [[0.25, 0.75]] * len(texts)

    model = black_box(answer)
    encoded = {instance.id: Subject(instance, model) for instance in instances}
    ended = outcomes(Engine(), {key: as_generator(LeaveOneOut(), x) for key, x in encoded.items()})
    failed = {key: outcome.error for key, outcome in ended.items() if outcome.error is not None}
    assert list(failed) == ["pair 4"]
    assert "no gulls here" in str(failed["pair 4"])


def test_nan_is_a_reason_not_a_number(instances: list[Instance]) -> None:
    model = black_box(lambda texts: [[float("nan"), 0.5]] * len(texts))
    x = Subject(instances[0], model)
    error = outcomes(Engine(), {0: as_generator(LeaveOneOut(), x)})[0].error
    assert isinstance(error, Undefined)
    assert error.reason == "nonfinite"


def test_a_method_that_fails_does_not_disturb_others(
    classifier: Callable[..., Classifier], instances: list[Instance]
) -> None:
    model = classifier("bert")
    x = Subject(instances[0], model)

    def broken(x: Subject) -> QuestionGenerator[FloatArray]:
        yield Outputs(x, np.ones((1, x.n_units), bool))
        raise ZeroDivisionError("my own mistake")

    def no_question(x: Subject) -> QuestionGenerator[FloatArray]:
        yield "what is the meaning of this?"  # type: ignore[misc]
        return np.zeros(1)

    ended = outcomes(Engine(), {"broken": broken(x), "loo": as_generator(LeaveOneOut(), x)})
    assert isinstance(ended["broken"].error, ZeroDivisionError)
    assert ended["loo"].error is None
    with pytest.raises(TypeError, match="no question"):
        outcomes(Engine(), {0: no_question(x)})


def test_what_is_removed_to_nothing_is_undefined(
    classifier: Callable[..., Classifier], instances: list[Instance]
) -> None:
    """A decoder without special tokens has no input left when every word is deleted."""
    model = classifier("gpt2")
    x = Subject(instances[3], model)

    def nothing(x: Subject) -> QuestionGenerator[FloatArray]:
        answer: FloatArray = yield Outputs(x, np.zeros((1, x.n_units), bool), "delete")
        return answer

    error = outcomes(Engine(), {0: nothing(x)})[0].error
    assert isinstance(error, Undefined)
    assert error.reason == "empty"


def test_tasks_lead_to_tasks_and_a_small_window_ends(
    classifier: Callable[..., Classifier], instances: list[Instance]
) -> None:
    model = classifier("bert")
    seen: list[str] = []

    def second(outcome: TaskResult[Any]) -> tuple[()]:
        seen.append("second")
        return ()

    def task(instance: Instance) -> Task[Any]:
        x = Subject(instance, model)

        def first(outcome: TaskResult[Any]) -> list[Task[Any]]:
            seen.append("first")
            return [Task(as_generator(Saliency(), x), second)]

        return Task(as_generator(LeaveOneOut(), x), first)

    Engine(window=1, pool=1).run(task(instance) for instance in instances)
    assert sorted(seen) == ["first"] * len(instances) + ["second"] * len(instances)


def test_gradients_are_summed_with_their_weights(
    classifier: Callable[..., Classifier], instances: list[Instance]
) -> None:
    model = classifier("bert")
    x = Subject(instances[0], model)

    def both(x: Subject) -> QuestionGenerator[tuple[Any, ...]]:
        readout = yield from resolve_target(Target("no"), x)
        one: SummedGradient = yield PathGradient(x, readout, "zero", (0.3,), (1.0,))
        two: SummedGradient = yield PathGradient(x, readout, "zero", (0.9,), (1.0,))
        sum_: SummedGradient = yield PathGradient(x, readout, "zero", (0.3, 0.9), (2.0, -0.5))
        return one, two, sum_

    one, two, both_ = outcomes(Engine(), {0: both(x)})[0].value
    assert np.abs(both_.gradient - (2 * one.gradient - 0.5 * two.gradient)).max() <= 1e-14
    assert np.abs(both_.values - [one.values[0], two.values[0]]).max() <= 1e-14


def test_what_is_begun_is_finished_before_the_rest_goes_on(classifier: Callable[..., Classifier]) -> None:
    """All begin together, with a small question; then one task's alone fills a pool, and they end one by one."""
    model, log = classifier("bert"), []

    def patient(name: int) -> QuestionGenerator[None]:
        x = Subject(Instance(str(name), (split_words("the small red boat " * 3),)), model)
        for step in range(5):
            keep = np.random.default_rng([name, step]).random((30 if step else 1, x.n_units)) < 0.5
            yield Outputs(x, keep)
            log.append((name, step))

    outcomes(Engine(token_budget=64, pool=4), {name: patient(name) for name in range(6)})
    ends = {name: log.index((name, 4)) for name in range(6)}
    assert ends[0] < log.index((1, 2))
    assert sorted(ends.values()) == [ends[name] for name in range(6)]


@dataclass(eq=False)
class Writer:
    """A text generator that repeats the prompt, notes the sizes of its batches and can't count "odd"."""

    device: str
    tokens: int
    most: int = 10**9
    fault: Exception = field(default_factory=lambda: TypeError("no text"))
    batches: list[int] = field(default_factory=list)
    refused: int = 0

    @property
    def about(self) -> dict[str, str]:
        return {"device": self.device}

    def length(self, asked: TextRequest) -> int:
        if asked.prompt.user == "odd":
            raise self.fault
        return self.tokens

    def generate(self, passes: Sequence[GeneratePass]) -> list[Generated]:
        if len(passes) * self.tokens > self.most:
            self.refused += 1
            raise RuntimeError("CUDA out of memory")
        self.batches.append(len(passes))
        return [Generated(one.prompt.user, "stop", None) for one in passes]

    def likelihoods(self, passes: Sequence[LikelihoodPass]) -> list[FloatArray]:
        return [np.zeros(len(one.continuations)) for one in passes]

    def candidates(self, passes: Sequence[CandidatesPass]) -> list[list[Generated]]:
        return [[one] for one in self.generate([GeneratePass(one.prompt) for one in passes])]


def about(by: Any) -> Subject:
    return Subject(Instance("x", (split_words("a boat"),)), by)


def written(by: Any, text: str) -> QuestionGenerator[str]:
    answer: Generated = yield Generate(about(by), by, GeneratePass(Prompt(text)))
    return answer.text


def edited(by: Any, text: str) -> QuestionGenerator[str]:
    answers: list[Generated] = yield Candidates(about(by), by, CandidatesPass(Prompt(text)))
    return answers[0].text


def compared(by: Any, text: str, labels: tuple[str, ...]) -> QuestionGenerator[FloatArray]:
    scores: FloatArray = yield Likelihood(about(by), by, LikelihoodPass(Prompt(text), labels))
    return scores


def test_batches_report_the_passes_that_are_charged() -> None:
    by, told = Writer("cpu", 1024), list[Sequence[Pass]]()
    engine = Engine(on_batch=told.append)
    labels = ("yes", "no", "maybe")
    asked = {n: compared(by, str(n), labels[: 1 + n % 3]) for n in range(6)} | {"text": written(by, "boat")}
    ended = outcomes(engine, asked)
    assert [ended[n].cost.forward for n in range(6)] == [1, 2, 3] * 2
    assert len(told) == 3
    assert sum(needed.count for batch in told for needed in batch) == engine.cost.forward == 13


def test_a_prompt_that_cannot_be_counted_costs_no_other() -> None:
    by = Writer("cpu", 10)
    ended = outcomes(Engine(), {text: written(by, text) for text in ("boat", "odd", "shore")})
    assert [ended[text].value for text in ("boat", "shore")] == ["boat", "shore"]
    assert isinstance(ended["odd"].error, TypeError)
    assert (ended["odd"].cost.forward, ended["odd"].cost.forward_asked) == (0, 1)
    by.fault = UserError("the same for every prompt")
    with pytest.raises(UserError, match="the same for every prompt"):
        outcomes(Engine(), {0: written(by, "odd")})


def test_each_text_generator_has_the_budget_of_its_device() -> None:
    far, near = Writer("remote", 1024), Writer("cpu", 1024)
    asked = {("far", n): written(far, str(n)) for n in range(128)} | {
        ("near", n): edited(near, str(n)) for n in range(12)
    }
    ended = outcomes(Engine(), asked)
    assert {key: outcome.value for key, outcome in ended.items()} == {key: str(key[1]) for key in asked}
    assert far.batches == [GENERATING * ON_ACCELERATOR // 1024] * 2
    assert near.batches == [GENERATING * ON_PROCESSOR // 1024] * 3


def test_a_budget_that_is_given_is_for_all_text_generators() -> None:
    far, near = Writer("remote", 10), Writer("cpu", 10)
    asked = {(by.device, n): written(by, str(n)) for by in (far, near) for n in range(9)}
    outcomes(Engine(token_budget=30), asked)
    assert far.batches == near.batches == [3, 3, 3]


def test_a_text_generator_that_runs_out_of_memory_gets_less_from_there_on() -> None:
    small, large = Writer("cpu", 10, most=40), Writer("cpu", 10)
    engine = Engine(token_budget=160)
    ended = outcomes(engine, {n: written(small, str(n)) for n in range(16)})
    assert [ended[n].value for n in range(16)] == [str(n) for n in range(16)]
    assert small.refused == 2
    outcomes(engine, {(by.most, n): written(by, str(n)) for by in (small, large) for n in range(16)})
    assert small.refused == 2
    assert large.batches == [16], "the other's memory is its own"
