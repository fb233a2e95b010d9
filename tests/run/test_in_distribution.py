"""The in-distribution test in a run: learned once, kept with the model, refused where it can't say anything."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from verax.api import evaluate
from verax.data.text import split_words
from verax.engine.engine import Engine
from verax.metrics.faithfulness.in_distribution import InDistribution
from verax.models.load import load_model
from verax.run.prepare import prepare
from verax.run.providers import reference
from verax.run.providers.reference import Reference
from verax.run.spec import parse_spec
from verax.stats.masf import InDistributionTest, simes
from verax.types import Dataset, Instance, UserError

WORDS = ("the", "small", "red", "boat", "sails", "across", "quiet", "lake", "while", "two", "gulls", "follow", "it")
QUIET = Console(quiet=True)


def _data(n: int, seed: int = 0, label: str | None = "yes") -> Dataset:
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(WORDS, rng.integers(3, 9))) for _ in range(n)]
    instances = tuple(Instance(f"{seed}-{i}", (split_words(text),), label) for i, text in enumerate(texts))
    return Dataset("sentences", instances, ("yes", "maybe", "no"))


@pytest.fixture
def folder(checkpoint: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkpoint of the test's own, and a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Path(shutil.copytree(checkpoint("bert"), tmp_path / "model"))


def _learn(folder: Path, metric: InDistribution | None = None, n: int = 60) -> InDistributionTest:
    model = load_model(folder)
    return Reference.of(metric or InDistribution(), model, _data(n)).learn(model, Engine(), QUIET)


def _kept(folder: Path) -> list[Path]:
    return sorted((folder / "verax").glob("*.safetensors"))


def test_it_is_learned_once_and_kept_with_the_model(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = _learn(folder)
    (kept,) = _kept(folder)
    monkeypatch.setattr(InDistributionTest, "fit", None)  # whoever learns again fails
    again = _learn(folder)
    for name in ("neurons", "layers", "inputs"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    assert kept.stat().st_size > 0


@pytest.mark.parametrize("damage", ["truncated", "flipped", "emptied"])
def test_a_damaged_file_is_learned_anew(folder: Path, damage: str) -> None:
    first = _learn(folder)
    (kept,) = _kept(folder)
    whole = kept.read_bytes()
    data = bytearray(whole)
    if damage == "flipped":
        data[-100] ^= 1
    kept.write_bytes({"truncated": data[: len(data) // 2], "emptied": b""}.get(damage, data))
    again = _learn(folder)
    np.testing.assert_array_equal(first.neurons, again.neurons)
    assert kept.read_bytes() == whole


def test_the_seed_decides_what_is_learned(folder: Path) -> None:
    """The halves of the conformal variant, the masks of training, and which inputs are taken of too many."""
    for parameters in ({}, {"variant": "paper", "masking": "masking"}, {"variant": "paper", "validation": 40}):
        first, second = (_learn(folder, InDistribution(seed=seed, **parameters)) for seed in (0, 1))  # type: ignore[arg-type]
        assert not np.array_equal(first.neurons, second.neurons), parameters


def test_whatever_decides_it_is_in_its_name(folder: Path) -> None:
    model = load_model(folder)
    data = _data(60)
    metrics = [
        InDistribution(),
        InDistribution(seed=1),
        InDistribution(masking="half"),
        InDistribution(variant="paper"),
        InDistribution(validation=50),
    ]
    keys = [Reference.of(metric, model, data).key for metric in metrics]
    keys.append(Reference.of(InDistribution(), model, _data(60, seed=1)).key)
    keys.append(Reference.of(InDistribution(), load_model(folder, dtype="float64"), data).key)
    assert len(set(keys)) == len(keys)
    assert Reference.of(InDistribution(alpha=0.04, steps=5), model, data).key == keys[0]  # they change nothing learned


def test_steps_parts_and_device_are_in_the_name_where_they_matter(folder: Path) -> None:
    """A model trained with masks is ranked at each ratio of the run; hidden states differ between types of device."""
    model, data = load_model(folder), _data(60)
    keys = {Reference.of(InDistribution(masking="half", steps=steps), model, data).key for steps in (5, 10)}
    keys |= {Reference.of(InDistribution(masking="half"), model, data, parts).key for parts in ((0,), (0, 1))}
    keys.add(Reference.of(InDistribution(masking="half"), model, data, by_token=True).key)
    assert len(keys) == 5
    model.about["device"] = "cuda:1"
    other = Reference.of(InDistribution(masking="half"), model, data).key
    assert other not in keys
    model.about["device"] = "cuda:0"
    assert Reference.of(InDistribution(masking="half"), model, data).key == other


def test_where_nobody_may_write_it_goes_to_the_cache(folder: Path, tmp_path: Path) -> None:
    (folder / "verax").write_text("in the way")
    _learn(folder)
    assert len(list((tmp_path / "cache" / "verax").glob("*.safetensors"))) == 1


def test_the_masks_are_those_of_the_training(folder: Path) -> None:
    """`half` masks every other input, token by token at a rate of its own; `auto` does as the model says."""
    model = load_model(folder)
    learned = {
        masking: _learn(folder, InDistribution(variant="paper", masking=masking)) for masking in ("none", "half")
    }
    assert not np.allclose(learned["none"].neurons, learned["half"].neurons)
    assert Reference.of(InDistribution(), model, _data(60)).masking == "none"
    model.about["masking"] = "half"
    told = Reference.of(InDistribution(), model, _data(60))
    assert told.masking == "half"
    assert told.key == Reference.of(InDistribution(masking="half"), model, _data(60)).key


@pytest.mark.parametrize(
    ("metric", "n", "needed"),
    [
        (InDistribution(), 39, 40),
        (InDistribution(alpha=0.01), 100, 200),
        (InDistribution(variant="paper"), 20, 21),
        (InDistribution(validation=30), 1000, 40),
    ],
)
def test_a_validation_set_too_small_tells_the_size_that_is_needed(
    folder: Path, metric: InDistribution, n: int, needed: int
) -> None:
    with pytest.raises(UserError, match=rf"can't give a p-value as small as .* needs at least {needed}$"):
        Reference.of(metric, load_model(folder), _data(n))


def test_the_size_that_is_asked_for_is_just_enough(folder: Path) -> None:
    """Whatever ranks above all others has the least p-value, and that is below alpha, so that it is rejected."""
    for metric, n in ((InDistribution(), 40), (InDistribution(variant="paper"), 21), (InDistribution(alpha=0.03), 66)):
        ranked_among = _learn(folder, metric, n).inputs.shape[1]
        least = 1 / ranked_among if metric.variant == "paper" else 1 / (ranked_among + 1)
        assert least < metric.alpha
        with pytest.raises(UserError, match=f"at least {n}$"):
            metric.check_size(n - 1)


def test_p_values_of_a_run(folder: Path, tmp_path: Path) -> None:
    data = _data(8, seed=5)
    metrics = ["recursive_masking", {"in_distribution": {"steps": 10}}]
    run = evaluate(
        load_model(folder), data, ["leave_one_out"], metrics, out=tmp_path / "run", progress=False, validation=_data(60)
    )
    scores = [score for score in run.score_rows() if score.metric == "in_distribution"]
    assert len(scores) == 16
    for score in scores:
        assert score.curve is not None
        assert len(score.curve) == 11
        assert all(1 / 31 <= p <= 1 for p in score.curve)
        assert score.value == pytest.approx(simes(np.array(score.curve)), abs=1e-15)
    assert {row["metric"] for row in run.study("leaderboard").records()} == {
        "recursive_masking"
    }  # p-values rank nobody
    (curves,) = run.study("masking").groups
    assert curves is not None
    of_method = np.array([score.curve for score in scores if score.method == "leave_one_out"])
    found = next(curve for curve in curves.curves if curve.method == "leave_one_out")
    assert found.p_values == pytest.approx([simes(column) for column in of_method.T])


def test_a_run_that_is_complete_learns_nothing(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {"out": tmp_path / "run", "progress": False, "validation": _data(60)}
    evaluate(load_model(folder), _data(4, seed=5), ["random"], ["in_distribution"], **given)
    shutil.rmtree(folder / "verax")
    monkeypatch.setattr(reference.InDistributionTest, "fit", None)
    again = evaluate(load_model(folder), _data(4, seed=5), ["random"], ["in_distribution"], **given)
    assert len(again.score_rows()) == 4


def test_a_file_needs_a_validation_file_beside_it(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "data.jsonl"
    file.write_text('{"text": "the small red boat", "label": "yes"}\n')
    spec = {"model": str(folder), "data": str(file), "metrics": ["in_distribution"]}
    with pytest.raises(UserError, match="name another file"):
        prepare(parse_spec(spec))
    with pytest.raises(UserError, match=r"1 validation instances can't give a p-value as small as alpha = 0\.05"):
        prepare(parse_spec({**spec, "validation": str(file)}))


def test_a_callable_is_refused(tmp_path: Path) -> None:
    model = load_model(lambda texts: [[0.5, 0.5]] * len(texts), labels=("yes", "no"), mask_text="_")
    with pytest.raises(UserError, match="in_distribution needs hidden states"):
        evaluate(model, _data(4), ["random"], ["in_distribution"], out=tmp_path / "run", validation=_data(60))


def test_a_model_without_a_mask_token_is_refused(checkpoint: Callable[[str], Path], tmp_path: Path) -> None:
    for metric in ("in_distribution", "recursive_masking"):
        with pytest.raises(UserError, match="can't remove words by 'mask'"):
            evaluate(
                load_model(checkpoint("gpt2")), _data(4), ["random"], [metric], out=tmp_path / "r", validation=_data(60)
            )


def test_data_without_labels_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none of the 4 of sentences has a label: data\.columns\.label"):
        evaluate(load_model(folder), _data(4, label=None), ["random"], ["recursive_masking"], out=tmp_path / "run")


def test_labels_that_the_model_does_not_know_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="labels: other; classes: yes, maybe, no"):
        evaluate(load_model(folder), _data(4, label="other"), ["random"], ["recursive_masking"], out=tmp_path / "run")


def test_a_test_at_other_ratios_is_refused(folder: Path, tmp_path: Path) -> None:
    metrics = [{"recursive_masking": {"steps": 5}}, "in_distribution"]
    with pytest.raises(UserError, match="steps: got 10, and recursive_masking has 5: give both the same"):
        evaluate(load_model(folder), _data(4), ["random"], metrics, out=tmp_path / "run", validation=_data(60))


def test_bad_parameters() -> None:
    with pytest.raises(UserError, match="alpha: got 2, it must be between 0 and 1"):
        InDistribution(alpha=2)
    with pytest.raises(UserError, match="in_distribution: steps: got 0"):
        InDistribution(steps=0)


@pytest.mark.parametrize("variant", ["conformal", "paper"])
@pytest.mark.parametrize("masking", ["none", "half"])
def test_the_passes_of_learning_are_announced(folder: Path, variant: str, masking: str) -> None:
    metric = InDistribution(variant=variant, masking=masking)  # type: ignore[arg-type]
    model, engine = load_model(folder), Engine()
    made = Reference.of(metric, model, _data(61))
    assert len(list(made.passes(model))) == 61
    announced = sum(passes.forward for _, passes in made.passes(model))
    made.learn(model, engine, QUIET)
    assert engine.cost.forward_asked == announced
    assert list(made.passes(model)) == [], "it is stored"
