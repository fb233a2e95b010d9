"""The stored state of a training: damage is told, never trained on."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import torch

from verax.store.lock import Lock
from verax.train.resume import Resume, read_weights, write_weights
from verax.types import UserError


@pytest.fixture
def weights() -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return {
        "layer.weight": torch.randn(4, 5, generator=generator),
        "count": torch.tensor(7),
        "mask": torch.tensor([True, False]),
        "half": torch.randn(3, generator=generator).to(torch.bfloat16),
    }


def test_weights_come_back(tmp_path: Path, weights: dict[str, torch.Tensor]) -> None:
    write_weights(tmp_path / "w.safetensors", weights, {"key": "k"})
    read, metadata = read_weights(tmp_path / "w.safetensors")
    assert metadata == {"key": "k"}
    assert all(torch.equal(read[name], tensor) for name, tensor in weights.items())


def test_a_flipped_bit_anywhere_is_told_or_changes_nothing(tmp_path: Path, weights: dict[str, torch.Tensor]) -> None:
    """One bit of every byte of the best weights so far."""
    path = Resume(tmp_path, "key").best("none", 1)
    write_weights(path, weights, {"key": "k"})
    whole, dice, told = path.read_bytes(), random.Random(0), 0
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << dice.randrange(8)]) + whole[at + 1 :])
        try:
            read, _ = read_weights(path)
        except UserError as error:
            assert "start the training again" in str(error)  # noqa: PT017
            told += 1
        else:
            assert all(torch.equal(read[name], tensor) for name, tensor in weights.items()), at
    assert told > 0.9 * len(whole)


def test_best_weights_that_changed_places_are_told(tmp_path: Path, weights: dict[str, torch.Tensor]) -> None:
    first, second = (Resume(tmp_path, "key").best("none", epoch) for epoch in (1, 2))
    write_weights(first, weights)
    first.rename(second)
    with pytest.raises(UserError, match="does not match its SHA-256"):
        read_weights(second)


def test_a_training_whose_lock_was_taken_away_stores_nothing_more(
    tmp_path: Path, weights: dict[str, torch.Tensor]
) -> None:
    lock = Lock.take(tmp_path / "lock")
    write_weights(tmp_path / "resume" / "one", weights)
    (tmp_path / "lock").unlink()
    with pytest.raises(UserError, match="was removed or replaced"):
        write_weights(tmp_path / "resume" / "two", weights)
    assert [path.name for path in (tmp_path / "resume").iterdir()] == ["one"]
    lock.release()


def test_nothing_is_removed_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").write_text("precious")
    (tmp_path / "run.resume").symlink_to(tmp_path / "mine")
    with pytest.raises(UserError, match=r"run.resume is a symbolic link"):
        Resume(tmp_path / "run.resume", "key").remove()
    assert (tmp_path / "mine" / "notes").read_text() == "precious"
