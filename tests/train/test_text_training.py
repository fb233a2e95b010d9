"""Fine-tuning on pairs of texts: the loss is the generator's own likelihood, and a rule is learned."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console

from support import tiny
from support.tiny_text import ARCHITECTURES, generator_model
from verax.models.generator import GeneratePass, LikelihoodPass, Prompt
from verax.models.hf_generator import HFGenerator
from verax.train import text_training
from verax.train.loop import FineTuning, Trained
from verax.train.resume import Resume
from verax.train.text_pairs import TrainingPair
from verax.train.text_training import encode_pair, fit_pairs
from verax.types import Generated, UserError

QUIET = Console(quiet=True)
PAIRS = (
    TrainingPair("the small red boat", "sails"),
    TrainingPair("nobody on the shore is watching the boat, and", "the wind is not strong"),
    TrainingPair("bread", "warm bread and honey"),
)


def _rule(n: int) -> list[TrainingPair]:
    """What is red is far, what is green is near."""
    seen = (("red", "far away"), ("green", "very near"))
    return [TrainingPair(f"answer: the {seen[i % 2][0]} boat {i}", seen[i % 2][1]) for i in range(n)]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_loss_is_the_likelihood_that_the_generator_tells(architecture: str) -> None:
    """Summed over the tokens of the targets, in a padded batch; 1e-10 in float64."""
    tokenizer = tiny.tokenizer_of("bytes")
    model = generator_model(architecture, tokenizer).double().eval()
    asked = HFGenerator(model, tokenizer, name="", fingerprint={})
    told = asked.likelihoods([LikelihoodPass(Prompt(one.source, plain=True), (one.target,)) for one in PAIRS])
    rows = [encode_pair(asked, pair) for pair in PAIRS]
    training = text_training._GeneratorTraining(model, asked.pad, FineTuning(), rows, rows, None, "tokens")
    loss, tokens = training._loss(rows)
    assert -loss.item() == pytest.approx(sum(float(one[0]) for one in told if isinstance(one, np.ndarray)), abs=1e-10)
    crossing = model.config.is_encoder_decoder
    targets = [tokenizer(p.target if crossing else f" {p.target}", add_special_tokens=False) for p in PAIRS]
    assert tokens == sum(len(one["input_ids"]) + 1 for one in targets)
    assert training._validate() == {"none": pytest.approx(loss.item() / tokens, abs=1e-10)}


@pytest.mark.parametrize("architecture", ["t5", "llama"])
def test_padding_leaves_the_gradients_alone(architecture: str) -> None:
    tokenizer = tiny.tokenizer_of("bytes")
    model = generator_model(architecture, tokenizer).double().eval()
    asked = HFGenerator(model, tokenizer, name="", fingerprint={})
    rows = [encode_pair(asked, pair) for pair in PAIRS]
    training = text_training._GeneratorTraining(model, asked.pad, FineTuning(), rows, rows, None, "tokens")

    def gradients(batches: list[list[Any]]) -> list[torch.Tensor]:
        model.zero_grad()
        for batch in batches:
            training._loss(batch)[0].backward()  # type: ignore[no-untyped-call]
        return [weight.grad.clone() for weight in model.parameters() if weight.grad is not None]

    together, alone = gradients([rows]), gradients([[row] for row in rows])
    assert len(together) == len(alone) > 10
    for one, other in zip(together, alone, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


@pytest.mark.parametrize("architecture", ["t5", "gpt2"])
def test_pairs_weigh_the_same_whatever_the_length_of_their_targets(architecture: str) -> None:
    """Token by token from the logits of each pair alone."""
    tokenizer = tiny.tokenizer_of("bytes")
    model = generator_model(architecture, tokenizer).double().eval()
    asked = HFGenerator(model, tokenizer, name="", fingerprint={})
    rows = [encode_pair(asked, pair) for pair in PAIRS]
    assert len({len(text) for _, text in rows}) > 1
    losses = []
    for row in rows:
        logits, _ = text_training.continuation_logits(model, [row], asked.pad)
        losses.append([-logits[0, at].log_softmax(-1)[token].item() for at, token in enumerate(row[1])])
    for weigh, expected in (
        ("tokens", (sum(map(sum, losses)), sum(map(len, losses)))),
        ("pairs", (sum(sum(one) / len(one) for one in losses), len(losses))),
    ):
        training = text_training._GeneratorTraining(model, asked.pad, FineTuning(), rows, rows, None, weigh)  # type: ignore[arg-type]
        total, things = training._loss(rows)
        assert (total.item(), things) == (pytest.approx(expected[0], abs=1e-10), expected[1])
        assert training._validate()["none"] == pytest.approx(expected[0] / expected[1], abs=1e-10)


@pytest.mark.parametrize("architecture", ["t5", "gpt2", "llama"])
def test_a_rule_is_learned_and_written_down(architecture: str) -> None:
    tokenizer = tiny.tokenizer_of("bytes")
    model = generator_model(architecture, tokenizer)
    recipe = FineTuning(epochs=18, batch_size=8, learning_rate=5e-3)
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0  # it would take a model of this size much longer
    trained = fit_pairs(model, tokenizer, _rule(48), _rule(8), recipe, console=QUIET)
    assert trained.losses[-1] < 0.2 * trained.losses[0]
    assert not model.training
    asked = HFGenerator(model, tokenizer, name="", fingerprint={})
    unseen = _rule(56)[48:]
    prompts = [Prompt(one.source, plain=True) for one in unseen]
    written = asked.generate([GeneratePass(prompt, 8) for prompt in prompts])
    assert [one.text for one in written if isinstance(one, Generated)] == [one.target for one in unseen]
    assert all(isinstance(one, Generated) and one.finish == "stop" for one in written), "it learned to end too"


RECIPE = FineTuning(epochs=4, batch_size=4, learning_rate=3e-3)
LOSSES = (0.5, 0.1, 0.9, 0.1)


def _fit(
    monkeypatch: pytest.MonkeyPatch, resume: Resume | None = None, stop: int | None = None
) -> tuple[Trained, dict[str, torch.Tensor], int]:
    """Train from the same weights, stopped by Ctrl-C in an epoch; what happened, the weights, epochs begun."""
    tokenizer = tiny.tokenizer_of("bytes")
    model = generator_model("t5", tokenizer)
    epochs: list[int] = []
    epoch_of = text_training._GeneratorTraining._epoch

    def epoch(self: Any, number: int, *rest: Any) -> float:
        epochs.append(number)
        if number == stop:
            raise KeyboardInterrupt
        return epoch_of(self, number, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(text_training._GeneratorTraining, "_epoch", epoch)
        patched.setattr(text_training._GeneratorTraining, "_validate", lambda _: {"none": LOSSES[epochs[-1]]})
        trained = fit_pairs(model, tokenizer, _rule(8), _rule(4), RECIPE, resume=resume, console=QUIET)
    return trained, model.state_dict(), len(epochs)


def test_the_first_epoch_with_the_lowest_loss_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    trained, weights, _ = _fit(monkeypatch)
    assert trained.best == {"none": 1}
    assert trained.curves == {"none": list(LOSSES)}
    tokenizer = tiny.tokenizer_of("bytes")
    model = generator_model("t5", tokenizer)
    with monkeypatch.context() as patched:  # the same learning rates, but the training ends after the second epoch
        patched.setattr(
            text_training._GeneratorTraining, "_save", lambda _, epoch: epoch == 1 and pytest.exit("enough")
        )
        patched.setattr(text_training._GeneratorTraining, "_validate", lambda _: {"none": 0.0})
        with pytest.raises(pytest.exit.Exception):
            fit_pairs(model, tokenizer, _rule(8), _rule(4), RECIPE, console=QUIET)
    assert all(torch.equal(weights[name], tensor) for name, tensor in model.state_dict().items())


@pytest.mark.parametrize("stop", [1, 2, 3])
def test_stopped_in_any_epoch_it_goes_on_bit_for_bit(
    stop: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, expected, _ = _fit(monkeypatch)
    resume = Resume(tmp_path / "resume", "key")
    with pytest.raises(KeyboardInterrupt):
        _fit(monkeypatch, resume, stop)
    trained, weights, epochs = _fit(monkeypatch, resume)
    assert epochs == 4 - stop
    assert trained == whole
    assert all(torch.equal(weights[name], expected[name]) for name in expected)


def test_what_does_not_fit_is_left_out_and_counted() -> None:
    tokenizer = tiny.tokenizer_of("bytes")
    model = generator_model("gpt2", tokenizer)
    said = io.StringIO()
    pairs = [*_rule(4), TrainingPair("boat " * 200, "far"), TrainingPair("the boat", " ")]
    recipe = FineTuning(epochs=1, learning_rate=1e-3)
    fit_pairs(model, tokenizer, pairs, _rule(2), recipe, console=Console(file=said, width=200))
    assert "train: left out 2 of 6 pairs: empty, or longer than" in said.getvalue()
    with pytest.raises(UserError, match="validation: nothing to train on: all 1 pairs of texts are empty or"):
        fit_pairs(model, tokenizer, pairs, pairs[-1:], recipe, console=QUIET)
    with pytest.raises(UserError, match="train: nothing to train on: no pairs"):
        fit_pairs(model, tokenizer, [], pairs, recipe, console=QUIET)
