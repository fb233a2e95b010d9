"""The protocol on the built-in world: what masked fine-tuning promises, measured on the shipped models."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from rich.console import Console

from verax.api import Run, evaluate
from verax.data.world import opinion
from verax.engine.ask import ask_all
from verax.engine.engine import Engine
from verax.engine.questions import HiddenStatistic, QuestionGenerator
from verax.methods.occlusion import LeaveOneOut
from verax.metrics.faithfulness.in_distribution import InDistribution
from verax.metrics.faithfulness.recursive_masking import masked_at_random
from verax.models.classifier import Classifier
from verax.models.load import load_model
from verax.models.subject import Subject
from verax.run.providers.reference import Reference
from verax.stats.masf import InDistributionTest, simes
from verax.studies.masking.curves import MaskingCurve
from verax.train.fine_tuning import performance_on
from verax.train.rows import encode, fully_masked
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
        figures[name] = performance_on(*inner, rows, "accuracy"), performance_on(*inner, masked, "accuracy")
    assert figures[MASKED][0] >= figures[PLAIN][0] - 0.01
    assert figures[MASKED][1] >= MAJORITY - 0.01


def _statistics(model: Classifier, data: Dataset, test: InDistributionTest, seed: int, steps: int = 10) -> FloatArray:
    """Statistics of each input with its words masked at random at each ratio; shape [inputs, steps + 1]."""
    rows: dict[int, FloatArray] = {}

    def ask(x: Subject) -> QuestionGenerator[FloatArray]:
        keep = masked_at_random(x.n_units, steps, np.random.default_rng([seed, *x.instance.id.encode()]))
        statistics: FloatArray = yield HiddenStatistic(x, keep, statistic=test.statistics)
        return statistics

    ask_all(((i, ask(Subject(x, model))) for i, x in enumerate(data.instances)), rows.__setitem__)
    return np.stack([rows[number] for number in range(len(data))])


def _learned(model: Classifier, masking: str) -> InDistributionTest:
    reference = Reference.of(InDistribution(masking=masking), model, opinion.load("validation"))  # type: ignore[arg-type]
    return reference.learn(model, Engine(), Console(quiet=True))


def test_random_masks_are_in_distribution_for_the_masked_model_and_not_for_the_plain_one() -> None:
    """At every ratio up to 100 %: among a mixture of ratios every fully masked input was strange."""
    data = opinion.load("test", 300)
    masked, plain = load_model(MASKED), load_model(PLAIN)
    test = _learned(masked, "auto")
    p = test.p_values(_statistics(masked, data, test, seed=1))
    assert min(simes(column) for column in p.T) > 0.05
    assert (p[:, -1] < 0.05).mean() < 0.15
    test = _learned(plain, "auto")
    p = test.p_values(_statistics(plain, data, test, seed=1))
    assert simes(p[:, 0]) > 0.05
    assert max(simes(column) for column in p.T[5:]) < 0.05


def test_the_level_is_kept_at_every_ratio() -> None:
    """20 repeats: 180 fresh inputs are split at random into 120 to learn from and 60 to test.

    Of 60 p-values that share what they are ranked among, 5 % are below 0.05 in expectation; their share over the
    repeats has a standard error of 0.9 points. The data set is rejected in at most 5 % of the repeats, so that more
    than 4 of 20 have a probability of 0.3 %.
    """
    model, steps = load_model(MASKED), 10
    inputs = [opinion.load("test", 180, seed=seed) for seed in range(4)]
    share, rejected = np.zeros(steps + 1), np.zeros(steps + 1)
    for repeat in range(20):
        data = inputs[repeat % 4]
        order = np.random.default_rng(repeat).permutation(180)
        known, new = (
            replace(data, instances=tuple(data.instances[i] for i in part)) for part in np.split(order, [120])
        )
        metric = InDistribution(masking="half", seed=repeat, steps=steps)
        test = Reference.of(metric, model, known).learn(model, Engine(), Console(quiet=True))
        p = test.p_values(_statistics(model, new, test, seed=repeat))
        share += (p < 0.05).mean(0) / 20
        rejected += [simes(column) < 0.05 for column in p.T]
    assert share.max() < 0.08, share
    assert rejected.max() <= 4, rejected


def test_inputs_with_shuffled_embeddings_are_not_in_distribution() -> None:
    model = load_model(MASKED)
    learned = _learned(model, "auto")
    inner = model._model  # type: ignore[attr-defined]
    words = inner.get_input_embeddings().weight
    with torch.no_grad():
        words.copy_(words[torch.randperm(len(words), generator=torch.Generator().manual_seed(0))])
    p = learned.p_values(_statistics(model, opinion.load("test", 200), learned, seed=1))
    assert np.median(p[:, :9]) < 0.02
    assert max(simes(column) for column in p.T[:9]) < 0.02


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
    """The same model again is no other seed, and one that was trained in another way has tables of its own."""
    from verax.cli import main

    options: dict[str, Any] = {"progress": False}
    plain = evaluate(
        load_model(PLAIN), opinion.load("test", 80), [], ["recursive_masking"], out=tmp_path / "a", **options
    )
    again = shutil.copytree(run.folder, tmp_path / "again")
    for other, code in ((again, 2), (plain.folder, 0)):
        monkeypatch.setattr("sys.argv", ["verax", "show", str(run.folder), str(other), "--study", "masking"])
        with pytest.raises(SystemExit) as end:
            main()
        assert end.value.code == code
        printed = capsys.readouterr()
        assert ("same model" in printed.err) == (code == 2)
        assert ("masked fine-tuning" in printed.out) == (code == 0)
