"""The training loop: gradients summed over pieces, memory that runs out, and states within an epoch."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from rich.console import Console
from torch import Tensor

from support import tiny
from support.tiny_text import generator_model
from verax.data.text import split_words
from verax.models.devices import half_precision
from verax.models.hf_generator import HFGenerator
from verax.train import fine_tuning, text_training
from verax.train.fine_tuning import fit
from verax.train.loop import Autocast, FineTuning, Loop, in_pieces
from verax.train.resume import Resume, Weights
from verax.train.rows import encode
from verax.train.text_pairs import TrainingPair
from verax.train.text_training import Weigh, encode_pair
from verax.types import Dataset, Instance, UserError

WORDS = ("boat", "the lake", "a tall woman sells bread", "children never run", "warm bread and honey", "the old market")
LABELS = ("yes", "maybe", "no")
RECIPE = FineTuning(epochs=2, batch_size=4, learning_rate=1e-3)
STEPS = 2 * 6
KILLED_AT = 9
"""The third step of the second epoch."""


def _data() -> Dataset:
    instances = (
        Instance(str(i), (split_words(WORDS[i % 6]), split_words(WORDS[i % 5])), LABELS[i % 3]) for i in range(24)
    )
    return Dataset("words", tuple(instances), LABELS)


def _classifier(micro_batch: int | None = None) -> fine_tuning._ClassifierTraining:
    """The training of a model in float64 without dropout, so that only rounding can differ."""
    model, tokenizer = tiny.build("bert")
    rows = encode(model.double().eval(), tokenizer, _data())
    recipe = FineTuning(batch_size=16)
    return fine_tuning._ClassifierTraining(
        model, tokenizer, recipe, ("none",), rows, rows, "accuracy", None, micro_batch
    )


def _generator(weigh: Weigh, micro_batch: int | None = None) -> text_training._GeneratorTraining:
    tokenizer = tiny.tokenizer_of("bytes")
    torch.manual_seed(0)
    model = generator_model("t5", tokenizer).double().eval()
    asked = HFGenerator(model, tokenizer, name="tiny", fingerprint={})
    rows = [encode_pair(asked, TrainingPair(WORDS[i % 6], WORDS[i % 5])) for i in range(16)]
    recipe = FineTuning(batch_size=16)
    return text_training._GeneratorTraining(model, asked.pad, recipe, rows, rows, None, weigh, None, micro_batch)


def _gradients(training: Loop) -> tuple[float, list[Tensor]]:
    """The loss of the first mini-batch and its gradients."""
    rows = next(training._batches(0))
    loss = training._gradients(rows)
    return loss, [weight.grad for weight in training.model.parameters() if weight.grad is not None]


def _assert_equal(some: tuple[float, list[Tensor]], others: tuple[float, list[Tensor]]) -> None:
    assert some[0] == pytest.approx(others[0], rel=1e-12)
    torch.testing.assert_close(some[1], others[1], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("micro_batch", [1, 5, 8])
def test_gradients_of_a_classifier_over_pieces_are_those_of_the_whole_batch(micro_batch: int) -> None:
    """The oracle is the mean loss of the whole mini-batch, differentiated at once."""
    training = _classifier()
    rows = next(training._batches(0))
    batch = fine_tuning.collate(training.tokenizer, [features for features, _ in rows], training.model.device)
    golds = torch.tensor([gold for _, gold in rows])
    mean = torch.nn.functional.cross_entropy(training.model(**batch).logits, golds)
    expected = torch.autograd.grad(mean, [weight for weight in training.model.parameters() if weight.requires_grad])
    _assert_equal(_gradients(_classifier(micro_batch)), (16 * mean.item(), list(expected)))


@pytest.mark.parametrize("weigh", ["tokens", "pairs"])
def test_gradients_of_a_generator_over_pieces_are_those_of_the_whole_batch(weigh: Weigh) -> None:
    _assert_equal(_gradients(_generator(weigh, 3)), _gradients(_generator(weigh)))


def _small_memory(training: Loop, fit_at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    loss = training._loss

    def limited(rows: Sequence[Any]) -> tuple[Tensor, int]:
        if len(rows) > fit_at_once:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return loss(rows)

    monkeypatch.setattr(training, "_loss", limited)


def test_pieces_are_halved_when_memory_runs_out_and_the_gradients_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    training = _classifier()
    training.console = Console(quiet=True)
    _small_memory(training, 3, monkeypatch)
    _assert_equal(_gradients(training), _gradients(_classifier()))
    assert training.micro_batch == 2


def _failing_once(training: Loop, at: int, monkeypatch: pytest.MonkeyPatch) -> tuple[float, list[Tensor]]:
    """Gradients with dropout of a training whose memory runs out once, at a piece."""
    loss, calls = training._loss, count(1)

    def limited(rows: Sequence[Any]) -> tuple[Tensor, int]:
        if next(calls) == at:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return loss(rows)

    training.console = Console(quiet=True)
    training.model.train()
    monkeypatch.setattr(training, "_loss", limited)
    torch.manual_seed(1)
    return _gradients(training)


def test_a_mini_batch_that_starts_again_draws_the_same_dropout(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first piece has drawn its dropout when the second one does not fit."""
    again, at_once = _failing_once(_classifier(8), 2, monkeypatch), _failing_once(_classifier(4), 0, monkeypatch)
    _assert_equal(again, at_once)


def test_an_input_that_does_not_fit_into_memory_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    training = _classifier()
    training.console = Console(quiet=True)
    _small_memory(training, 0, monkeypatch)
    with pytest.raises(UserError, match=r"^batch_size: a single input does not fit into memory"):
        _gradients(training)


def _computes(autocast: Autocast) -> bool:
    """Whether this CPU computes in a half precision; a training on one that does not is rejected."""
    try:
        half_precision(autocast, torch.device("cpu"))
    except UserError:
        with pytest.raises(UserError, match=rf"^dtype: this CPU can't compute in {autocast}"):
            _fit(None, autocast)
        return False
    return True


@pytest.mark.parametrize("autocast", ["bfloat16", "float16"])
def test_autocast_rounds_the_products_and_nothing_else(autocast: Autocast) -> None:
    if not _computes(autocast):
        return
    losses, gradients = [], []
    for recipe in (FineTuning(batch_size=16), FineTuning(batch_size=16, autocast=autocast)):
        model, tokenizer = tiny.build("bert")
        rows = encode(model.eval(), tokenizer, _data())
        training = fine_tuning._ClassifierTraining(model, tokenizer, recipe, ("none",), rows, rows, "accuracy", None)
        loss, _ = _gradients(training)
        training._scaler.unscale_(training.optimiser)
        losses.append(loss)
        gradients.append(torch.cat([weight.grad.flatten() for weight in model.parameters() if weight.grad is not None]))
        assert {weight.dtype for weight in model.parameters()} == {torch.float32}
    assert losses[0] != losses[1]
    assert losses[1] == pytest.approx(losses[0], rel=0.01)
    assert float((gradients[0] - gradients[1]).norm()) < 0.02 * float(gradients[0].norm())


def test_a_recipe_without_autocast_has_the_key_that_it_had() -> None:
    assert "autocast" not in FineTuning().as_dict()
    assert FineTuning(autocast="float16").as_dict() == {**FineTuning().as_dict(), "autocast": "float16"}


def test_validation_is_halved_when_memory_runs_out() -> None:
    tried: list[int] = []

    def compute(rows: Sequence[int]) -> list[int]:
        tried.append(len(rows))
        if len(rows) > 3:
            raise MemoryError
        return list(rows)

    assert [row for piece in in_pieces(range(13), 8, compute) for row in piece] == list(range(13))
    assert tried == [8, 4, 2, 2, 2, 2, 2, 2, 1]
    with pytest.raises(MemoryError):
        list(in_pieces(range(2), 8, lambda rows: compute(range(4))))


def _fit(resume: Resume | None, autocast: Autocast | None) -> Weights:
    model, tokenizer = tiny.build("bert")
    recipe = replace(RECIPE, autocast=autocast)
    _, weights = fit(model, tokenizer, _data(), _data(), recipe, resume=resume, console=Console(quiet=True))
    return weights["none"]


def _killed(folder: Path, autocast: Autocast | None) -> None:
    """A training that stores its state after every step, and is killed in the middle of the second epoch."""
    step = fine_tuning._ClassifierTraining._step

    def dying(self: Any, number: int, rows: Sequence[Any]) -> float:
        if number == KILLED_AT - 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return step(self, number, rows)

    fine_tuning._ClassifierTraining._step = dying  # type: ignore[method-assign]
    torch.set_num_threads(1)
    _fit(Resume(folder, "key", save_every=0), autocast)


@pytest.mark.parametrize("autocast", [None, "float16"])
def test_a_killed_training_continues_within_its_epoch_and_gives_the_same_bits(
    autocast: Autocast | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if autocast is not None and not _computes(autocast):
        autocast = None
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        child = multiprocessing.get_context("spawn").Process(target=_killed, args=(tmp_path / "resume", autocast))
        child.start()
        child.join()
        assert child.exitcode == -signal.SIGKILL
        steps: list[int] = []
        step = fine_tuning._ClassifierTraining._step

        def counted(self: Any, number: int, rows: Sequence[Any]) -> float:
            steps.append(number)
            return step(self, number, rows)

        with monkeypatch.context() as patched:
            patched.setattr(fine_tuning._ClassifierTraining, "_step", counted)
            continued = _fit(Resume(tmp_path / "resume", "key"), autocast)
        assert steps == list(range(KILLED_AT - 1, STEPS))
        whole = _fit(None, autocast)
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(tensor, continued[name]) for name, tensor in whole.items())


def test_states_within_an_epoch_are_stored_by_the_minute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps of one minute on a clock of the test; the end of an epoch (0) is stored in any case."""
    now, saved = [0.0], list[int]()
    step = fine_tuning._ClassifierTraining._step

    def minute(self: Any, number: int, rows: Sequence[Any]) -> float:
        now[0] += 60
        return step(self, number, rows)

    monkeypatch.setattr("verax.train.loop.time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(fine_tuning._ClassifierTraining, "_step", minute)
    monkeypatch.setattr(Resume, "save", lambda *state: saved.append(state[-1].get("done", [0])[0]))
    _fit(Resume(tmp_path, "key", save_every=4), None)
    assert saved == [4, 0, 4, 0]


def test_the_best_weights_are_copies_on_the_cpu() -> None:
    training = _classifier()
    training.trained.curves["none"] = [1.0]
    training._keep_best(0)
    kept, weights = training.weights["none"], training.model.state_dict()
    assert {tensor.device.type for tensor in kept.values()} == {"cpu"}
    assert not {tensor.data_ptr() for tensor in kept.values()} & {tensor.data_ptr() for tensor in weights.values()}
