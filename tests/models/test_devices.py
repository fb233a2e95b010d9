"""Devices and precision: what `auto` means, what this machine lacks, and sums that half precision does not round."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
import typer.main
from accelerate.hooks import AlignDevicesHook, add_hook_to_module
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from verax.cli import app
from verax.models import devices
from verax.models.classifier import Classifier, PathPoint
from verax.models.devices import resolve_device, resolve_dtype
from verax.models.encoding import PerturbedInput
from verax.models.hf_classifier import HFClassifier
from verax.models.load import DType, load_model
from verax.models.targets import Readout
from verax.types import FloatArray, Instance, UserError

CPU = torch.device("cpu")
LOADING = ["run", "demo", "audit", "explain", "align", "similarity", "build-highlights", "roar"]
TRAINING = ["masked", "plain", "nle", "editor"]


@pytest.mark.parametrize(
    ("cuda", "mps", "expected"), [(True, True, "cuda"), (False, True, "mps"), (False, False, "cpu")]
)
def test_auto_is_the_first_device_of_the_machine(
    cuda: bool, mps: bool, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    assert resolve_device("auto") == torch.device(expected)


@pytest.mark.parametrize("name", ["cuda:99", "toaster", "meta"])
def test_a_missing_device_is_named_with_those_of_the_machine(name: str) -> None:
    with pytest.raises(UserError, match=rf"^device: '{name}' can't be used: .*; this machine has auto, .*cpu$"):
        resolve_device(name)


def test_auto_precision_is_that_of_the_checkpoint_but_on_a_cpu_at_least_float32() -> None:
    assert resolve_dtype("auto", torch.float16, torch.device("cuda")) == torch.float16
    assert resolve_dtype("auto", torch.float16, CPU) == torch.float32
    assert resolve_dtype("auto", torch.float64, CPU) == torch.float64
    with pytest.raises(UserError, match=r"^dtype: mps devices have no float64"):
        resolve_dtype("float64", torch.float32, torch.device("mps"))


def test_a_precision_that_kills_the_process_is_found_in_another_process(
    checkpoint: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert devices._probe("") is None
    assert devices._probe("raise ValueError('no such kernel')") == "ValueError: no such kernel"
    monkeypatch.setattr(devices, "_PROBE", "import os, signal; os.kill(os.getpid(), signal.SIGILL)  # {name}")
    expected = r"^dtype: this CPU can't compute in bfloat16 \(the process is killed by SIGILL\); use float32$"
    with pytest.raises(UserError, match=expected):
        load_model(checkpoint("bert"), dtype="bfloat16", device="cpu")


def answers(model: Classifier, instance: Instance) -> tuple[FloatArray, ...]:
    assert isinstance(model, HFClassifier)
    encoding = model.encode(instance)
    row = PerturbedInput(encoding, np.zeros(len(encoding.units), np.int8))
    point = PathPoint(row, "zero", 0.5, Readout("logit", 0))
    return model.logits([row]), model.gradients([point])[0].gradient, np.asarray(model.hidden([row]))


@pytest.mark.parametrize(("dtype", "tolerance"), [("bfloat16", 0.1), ("float16", 0.01)])
def test_half_precision_is_close_to_float32_or_rejected(
    dtype: DType, tolerance: float, checkpoint: Callable[[str], Path], instances: list[Instance]
) -> None:
    folder = checkpoint("bert")
    try:
        half = load_model(folder, dtype=dtype, device="cpu")
    except UserError as error:
        assert str(error).startswith(f"dtype: this CPU can't compute in {dtype}")  # noqa: PT017
        return
    exact = load_model(folder, dtype="float32", device="cpu")
    assert half.fingerprint == {**exact.fingerprint, "dtype": dtype}
    for low, high in zip(answers(half, instances[0]), answers(exact, instances[0]), strict=True):
        np.testing.assert_allclose(low, high, atol=tolerance * np.abs(high).max())


def test_norms_over_the_vocabulary_are_summed_in_float32(checkpoint: Callable[[str], Path]) -> None:
    """A sum in float16 is off by about 1e-3; the weights are read as they are, so float64 gives the true sum."""
    folder = checkpoint("bert")
    network = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float16)
    model = load_model(network, tokenizer=AutoTokenizer.from_pretrained(folder))
    assert isinstance(model, HFClassifier)
    weights = network.get_input_embeddings().weight.detach().double().numpy()
    gradient = np.random.default_rng(0).normal(size=(3, weights.shape[1]))
    expected = np.abs(gradient @ weights.T).sum(1)
    np.testing.assert_allclose(model.vocabulary_norm(gradient, 1), expected, rtol=1e-5)


def test_tf32_needs_a_cuda_device(checkpoint: Callable[[str], Path]) -> None:
    with pytest.raises(UserError, match=r"^tf32: only cuda devices have it, and the model is on cpu"):
        load_model(checkpoint("bert"), device="cpu", tf32=True)


def test_every_command_that_loads_a_model_has_a_device() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    loading = [commands[name] for name in LOADING] + [commands["train"].commands[name] for name in TRAINING]
    without = [command.name for command in loading if "device" not in {option.name for option in command.params}]
    assert without == []


def test_a_model_spread_over_devices_gives_the_same_answers(
    checkpoint: Callable[[str], Path], instances: list[Instance]
) -> None:
    """On the only device of most machines, with the hooks that move what goes from one device to another."""
    home = checkpoint("bert")
    whole = load_model(home, dtype="float64", device="cpu")
    mapped = load_model(home, dtype="float64", device_map="auto")
    assert mapped.fingerprint == whole.fingerprint
    model = AutoModelForSequenceClassification.from_pretrained(home, dtype=torch.float64)
    for module in (model.bert.embeddings, *model.bert.encoder.layer, model.bert.pooler, model.classifier):
        add_hook_to_module(module, AlignDevicesHook("cpu", io_same_device=True))
    hooked = load_model(model, tokenizer=AutoTokenizer.from_pretrained(home))
    for other in (mapped, hooked):
        for instance in instances[:2]:
            for answer, expected in zip(answers(other, instance), answers(whole, instance), strict=True):
                np.testing.assert_allclose(answer, expected, rtol=1e-12, atol=1e-14)


def test_a_model_spread_over_devices_names_none(
    checkpoint: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserError, match="device_map: it spreads the model over all devices, and device: cpu names one"):
        load_model(checkpoint("bert"), device="cpu", device_map="auto")
    monkeypatch.setattr(devices, "find_spec", lambda _: None)
    with pytest.raises(UserError, match=r"pip install 'verax\[accelerate\]'"):
        load_model(checkpoint("bert"), device_map="auto")
