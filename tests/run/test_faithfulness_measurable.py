"""The protocol on the built-in world: what masked fine-tuning promises, measured on the shipped models."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from rich.console import Console
from scipy.stats import kstest

from verax.api import Run, evaluate
from verax.data.world import opinion
from verax.engine.engine import Engine, Outcome, Task
from verax.engine.questions import Hidden, QuestionGenerator
from verax.methods.token.leave_one_out import LeaveOneOut
from verax.metrics.faithfulness.in_distribution import InDistribution
from verax.models.classifier import Classifier
from verax.models.load import load_model
from verax.models.subject import Subject
from verax.run.providers.reference import Reference
from verax.stats.inference import simes
from verax.stats.masf import InDistributionTest
from verax.studies.masking.analysis import MaskingCurve
from verax.train.masking import fully_masked
from verax.train.measure import measured
from verax.train.rows import encode
from verax.types import Attribution, Dataset, FloatArray, Kind, Passes, Target

GOLD = Target("gold")
MASKED, PLAIN = "world/opinion-masked", "world/opinion"
MAJORITY = 0.5


@dataclass(frozen=True)
class GoldWords:
    """The words that are known to decide the label."""

    kind: ClassVar[Kind] = "token"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "the corpus itself"

    def passes(self, n: int) -> Passes:
        return Passes(0, 0)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        yield from ()
        human = x.instance.human
        assert human is not None
        assert human.words is not None
        return x.attribution(np.array([float(unit[0].start in human.words[unit[0].part]) for unit in x.units]))


@dataclass(frozen=True)
class Inverted:
    """The words that matter most come last."""

    kind: ClassVar[Kind] = "token"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "a wrong explanation on purpose"

    def passes(self, n: int) -> Passes:
        return LeaveOneOut(GOLD).passes(n)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        made = yield from LeaveOneOut(GOLD)(x)
        return x.attribution(-made.scores)


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What is learned of shipped models goes to the user's cache: here to one of the test's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    methods = [
        *({"random": {"seed": seed}} for seed in range(3)),
        {"leave_one_out": {"target": "gold"}},
        {"gradient_vocabulary": {"target": "gold"}},
        {"beam": {"target": "gold"}},
        GoldWords(),
        Inverted(),
    ]
    out = tmp_path_factory.mktemp("world") / "run"
    return evaluate(
        load_model(MASKED), opinion.load("test", 80), methods, ["recursive_masking"], out=out, progress=False
    )


@pytest.fixture(scope="module")
def found(run: Run) -> Callable[[str], MaskingCurve]:
    (curves,) = run.study("masking").groups
    assert curves is not None
    return lambda method: next(curve for curve in curves.curves if curve.method.startswith(method))


def _racu(curve: MaskingCurve) -> float:
    assert curve.racu is not None
    return curve.racu.value


def test_the_measures_come_in_the_expected_order(found: Callable[[str], MaskingCurve]) -> None:
    beam, signed, gradient = (_racu(found(name)) for name in ("beam", "leave_one_out", "gradient_vocabulary"))
    assert beam >= signed > gradient > 0
    assert beam > 1.5  # a signed measure turns predictions round
    assert found("beam").signed
    assert not found("gradient_vocabulary").signed


def test_another_random_measure_has_no_area(found: Callable[[str], MaskingCurve]) -> None:
    for seed in (1, 2):
        area = found(f"random(seed={seed})").racu
        assert area is not None
        assert area.low is not None
        assert area.high is not None
        assert area.low <= 0 <= area.high


def test_the_known_words_beat_random_and_an_inverted_explanation_is_below_zero(
    found: Callable[[str], MaskingCurve],
) -> None:
    gold = found("GoldWords").acu
    assert gold.low is not None
    assert gold.low > 0
    inverted = found("Inverted").racu
    assert inverted is not None
    assert inverted.high is not None
    assert inverted.high < 0


def test_the_curve_starts_unmasked_and_ends_at_the_majority(found: Callable[[str], MaskingCurve]) -> None:
    for name in ("random", "beam", "leave_one_out"):
        curve = found(name).curve
        assert curve[0].value >= 0.98
        assert curve[-1].value == found("random").curve[-1].value  # everything is masked, whoever masks it


def test_masked_fine_tuning_costs_at_most_a_point_and_knows_fully_masked_inputs() -> None:
    data = opinion.load("test")
    figures = {}
    for name in (MASKED, PLAIN):
        model = load_model(name)
        rows = encode(model._model, model._tokenizer, data)  # type: ignore[attr-defined]
        inner = (model._model, model._tokenizer)  # type: ignore[attr-defined]
        masked = fully_masked(rows, inner[1].mask_token_id)
        figures[name] = measured(*inner, rows, "accuracy"), measured(*inner, masked, "accuracy")
    assert figures[MASKED][0] >= figures[PLAIN][0] - 0.01
    assert figures[MASKED][1] >= MAJORITY - 0.01


def _maxima(model: Classifier, data: Dataset, seed: int, *, masked: bool = True) -> FloatArray:
    """Each input with its words masked at random, at a rate of its own; shape [inputs, layers + 1, neurons]."""
    rng = np.random.default_rng(seed)
    rows: dict[int, FloatArray] = {}

    def ask(x: Subject) -> QuestionGenerator[FloatArray]:
        maxima: FloatArray = yield Hidden(x, rng.random((1, x.n_units)) >= (rng.random() if masked else 0.0))
        return np.asarray(maxima[0])

    def task(number: int, x: Subject) -> Task[FloatArray]:
        def done(outcome: Outcome[FloatArray]) -> tuple[()]:
            assert outcome.value is not None
            rows[number] = outcome.value
            return ()

        return Task(ask(x), done)

    inputs = [model.by_token(instance) for instance in data.instances]
    Engine().run(task(number, Subject(x, model)) for number, x in enumerate(inputs))
    return np.stack([rows[number] for number in range(len(inputs))])


def _learned(model: Classifier, masking: str) -> InDistributionTest:
    reference = Reference.of(InDistribution(masking=masking), model, opinion.load("validation"))  # type: ignore[arg-type]
    return reference.learn(model, Engine(), Console(quiet=True))


def test_random_masks_are_in_distribution_for_the_masked_model_and_not_for_the_plain_one() -> None:
    data = opinion.load("test", 400)
    masked, plain = load_model(MASKED), load_model(PLAIN)
    assert simes(_learned(masked, "auto").p_values(_maxima(masked, data, seed=1))) > 0.05
    assert simes(_learned(plain, "auto").p_values(_maxima(plain, data, seed=1))) < 0.05
    assert simes(_learned(plain, "auto").p_values(_maxima(plain, data, seed=1, masked=False))) > 0.05


def test_p_values_of_fresh_inputs_are_uniform() -> None:
    """Kolmogorov and Smirnov at the 1 % level, over 20 repeats of 10 inputs, which share what they are ranked among."""
    model = load_model(MASKED)
    draws = [_maxima(model, opinion.load("test", 1000, seed=seed), seed) for seed in range(4)]
    maxima = np.concatenate(draws).reshape(20, 200, *draws[0].shape[1:])
    p = [InDistributionTest.fit(repeat[:190], seed=i).p_values(repeat[190:]) for i, repeat in enumerate(maxima)]
    assert kstest(np.concatenate(p), "uniform").pvalue > 0.01


def test_inputs_with_shuffled_embeddings_are_not_in_distribution() -> None:
    model = load_model(MASKED)
    learned = _learned(model, "auto")
    inner = model._model  # type: ignore[attr-defined]
    words = inner.get_input_embeddings().weight
    with torch.no_grad():
        words.copy_(words[torch.randperm(len(words), generator=torch.Generator().manual_seed(0))])
    p = learned.p_values(_maxima(model, opinion.load("test", 200), seed=1))
    assert np.median(p) < 0.02
    assert simes(p) < 0.01


def test_the_preset_runs_on_the_shipped_model_and_says_what_is_valid(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from verax.cli import main

    folder = str(tmp_path / "run")
    command = ["verax", "run", "--preset", "faithfulness-measurable", "--limit", "8", "--out", folder]
    monkeypatch.setattr("sys.argv", command)
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 0
    assert "RACU" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["verax", "show", folder, "--study", "masking", "--format", "json"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 0
    assert '"racu"' in capsys.readouterr().out


def test_only_runs_of_other_seeds_are_averaged(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same model again is no other seed, and another kind of model can't be averaged at all."""
    from verax.cli import main

    options: dict[str, Any] = {"progress": False}
    plain = evaluate(
        load_model(PLAIN), opinion.load("test", 80), [], ["recursive_masking"], out=tmp_path / "a", **options
    )
    again = shutil.copytree(run.folder, tmp_path / "again")
    folders = ((again, "same model"), (plain.folder, "masking"))
    for other, told in folders:
        monkeypatch.setattr("sys.argv", ["verax", "show", str(run.folder), str(other), "--study", "masking"])
        with pytest.raises(SystemExit) as end:
            main()
        assert end.value.code == 2
        assert told in capsys.readouterr().err
