"""Pickled checkpoints become safetensors without running what a pickle may hold."""

from __future__ import annotations

import os
import pickle
import resource
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForMaskedLM

from support.cli import CallVerax
from verax.align.embedding import Embedding
from verax.align.protocol import TextPair
from verax.data.text import from_words
from verax.jobs.convert import convert_checkpoint
from verax.types import UserError

PAIR = TextPair(from_words(["the", "red", "boat"]), from_words(["das", "rote", "Boot"], "de"))


@pytest.fixture
def pickled(checkpoint: Callable[[str], Path], tmp_path: Path) -> Path:
    """A folder as awesome-align writes it: a masked language model with further heads, pickled, with tied weights."""
    folder = tmp_path / "pickled"
    shutil.copytree(checkpoint("bert"), folder)
    (folder / "model.safetensors").unlink()
    model = AutoModelForMaskedLM.from_pretrained(checkpoint("bert"))
    weights = {**model.state_dict(), "psi_cls.bias": torch.zeros(2), "guide_layer.linear.weight": torch.ones(2, 3)}
    torch.save(weights, folder / "pytorch_model.bin")
    return folder


def test_a_converted_checkpoint_aligns_like_the_model_it_came_from(
    pickled: Path, checkpoint: Callable[[str], Path], verax: CallVerax, tmp_path: Path
) -> None:
    said = verax("convert-checkpoint", pickled, "--out", tmp_path / "safe")
    assert said.code == 0, said.err
    assert "Use it by --encoder" in said.err
    with pytest.raises(UserError, match="no safetensors file"):
        next(Embedding(str(pickled)).align([PAIR]))
    links, expected = (
        next(Embedding(str(folder), extract="softmax").align([PAIR]))
        for folder in (tmp_path / "safe", checkpoint("bert"))
    )
    assert links.tolist() == expected.tolist()  # type: ignore[union-attr]


class Harmful:
    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, ("touch ran",)


def test_what_is_more_than_weights_is_refused_and_not_run(pickled: Path, tmp_path: Path) -> None:
    (pickled / "pytorch_model.bin").write_bytes(pickle.dumps({"a": Harmful()}, protocol=2))
    with pytest.raises(UserError, match="holds more than weights"):
        convert_checkpoint(pickled, tmp_path / "out")
    assert not Path("ran").exists()
    assert not (tmp_path / "out").exists()
    torch.save({"step": 3}, pickled / "pytorch_model.bin")
    with pytest.raises(UserError, match="no mapping from names to weights"):
        convert_checkpoint(pickled, tmp_path / "out")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.ones(1).as_strided((2**20, 2**20), (0, 0)),
        lambda: torch.eye(2).to_sparse(),
        lambda: torch.quantize_per_tensor(torch.eye(2), 0.1, 0, torch.qint8),
        lambda: torch.empty(2, device="meta"),
    ],
    ids=["stride 0", "sparse", "quantised", "meta"],
)
def test_unusual_tensors_are_one_clear_line(make: Callable[[], torch.Tensor], pickled: Path, tmp_path: Path) -> None:
    torch.save({"good": torch.ones(2), "strange": make()}, pickled / "pytorch_model.bin")
    with pytest.raises(UserError, match="strange is not dense"):
        convert_checkpoint(pickled, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_nothing_is_left_of_a_conversion_without_room(pickled: Path, tmp_path: Path) -> None:
    """Files may have 1 kB at most, so the weights do not fit."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(Exception, match="File too large"):
            convert_checkpoint(pickled, tmp_path / "out")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert not (tmp_path / "out").exists()


def test_nothing_is_overwritten_and_what_is_missing_is_named(pickled: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="exists; name a new folder"):
        convert_checkpoint(pickled, tmp_path)
    (pickled / "config.json").unlink()
    with pytest.raises(UserError, match=r"holds no config\.json"):
        convert_checkpoint(pickled, tmp_path / "out")
