"""Models that are asked beside the one under test: loaded once, where that one is, and anew when their files change."""

from __future__ import annotations

from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from support.rigged import Rigged, instance, posed
from support.tiny_text import save_generator
from verax.metrics.free_text import second_model
from verax.metrics.free_text.second_model import hashes_of, second_generator
from verax.models.subject import Subject


def asked_on(device: str) -> Subject:
    model = Rigged()
    model.about = {"device": device}
    return posed(instance("A cook", "It rains"), model)


@pytest.mark.parametrize(
    ("device", "expected"), [("cpu", "cpu"), ("cuda:1", "cuda:1"), ("remote", "auto"), ("unknown", "auto")]
)
def test_it_is_loaded_where_the_model_under_test_is(
    device: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[tuple[Path, str]] = []

    def load(folder: Path, *, device: str) -> Rigged:
        loaded.append((folder, device))
        return Rigged()

    monkeypatch.setattr(second_model, "load_generator", load)
    first = second_generator(asked_on(device), str(tmp_path))
    assert second_generator(asked_on(device), str(tmp_path)) is first
    assert loaded == [(tmp_path, expected)]


def test_what_is_changed_is_loaded_and_hashed_anew(tmp_path: Path) -> None:
    folder = save_generator("gpt2", tmp_path)
    hashes, before = hashes_of(str(folder)), second_generator(asked_on("cpu"), str(folder))
    assert hashes == {name: before.fingerprint[name] for name in ("weights", "tokenizer")}
    weights = folder / "model.safetensors"
    save_file({name: tensor + 1 for name, tensor in load_file(weights).items()}, weights, {"format": "pt"})
    after = second_generator(asked_on("cpu"), str(folder))
    assert after is not before
    assert hashes_of(str(folder))["weights"] == after.fingerprint["weights"] != hashes["weights"]
