"""A training that is killed goes on as if nothing had been: the same weights, the same curves, nothing left behind."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console

from support import tiny
from support.killed import deaths_of
from verax.data.text import split_words
from verax.jobs.training.classifier import train_classifiers
from verax.jobs.training.spec import TrainSpec
from verax.run.spec import parse
from verax.train import fine_tuning
from verax.train.fine_tuning import fit
from verax.train.loop import FineTuning, Trained
from verax.train.resume import Resume
from verax.types import Dataset, Instance, UserError

KILLED = 9
QUIET = Console(quiet=True)


def _rows(n: int) -> list[dict[str, str]]:
    colours = ("red", "green", "quiet")
    return [{"text": f"the {colours[i % 3]} boat {i} sails", "label": ("far", "near")[i % 3 == 0]} for i in range(n)]


def _file(path: Path, rows: list[dict[str, str]]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_killed_at_any_step_the_same_command_goes_on(checkpoint: Callable[[str], Path], tmp_path: Path) -> None:
    """Kill -9 at each step of the optimiser and each change of a file, before it or after it, in turn.

    Two epochs with dropout, two models of one training. Bit for bit what an uninterrupted training writes.
    """
    train, validation = _file(tmp_path / "train.jsonl", _rows(6)), _file(tmp_path / "validation.jsonl", _rows(5))
    command = ["train", "masked", "--base", str(checkpoint("bert")), "--data", str(train), "--validation"]
    command += [str(validation), "--epochs", "2", "--batch-size", "3", "--learning-rate", "3e-3"]
    command += ["--select", "none", "--select", "both"]
    given = json.dumps({"command": command, "root": str(tmp_path / "killed")})
    killed, whole = deaths_of(Path(__file__).with_name("dying.py"), given)
    assert (whole["ended"], whole["before"], whole["after"]) == (0, 2, 0), "run again, nothing is trained again"
    assert {one["where"] for one in killed} == {"replace", "unlink", "rmdir", "save_pretrained", "_step"}
    assert len(killed) > 20
    expected = _files(tmp_path / "killed" / str(whole["step"]) / "model")
    models = ("half-none-seed-0", "half-both-seed-0")
    assert {f"{model}/model.safetensors" for model in models} <= expected.keys()
    for one in killed:
        home = tmp_path / "killed" / str(one["step"])
        assert (one["ended"], one["again"]) == (KILLED, 0), (one, (home / "said").read_text())
        assert one["before"] + one["after"] in {2, 3}, one  # one epoch may be over, but not on disk
        if one["begun"]:
            assert one["after"] < 2, one
        assert _files(home / "model") == expected, one
        assert not list(home.rglob("resume")), one
    curves = json.loads(expected["half-both-seed-0/training.json"])["curves"]
    assert [len(curve) for curve in curves.values()] == [2, 2, 2]


def _data(n: int = 8) -> Dataset:
    made = [Instance(str(i), (split_words(row["text"]),), ("yes", "no")[i % 2]) for i, row in enumerate(_rows(n))]
    return Dataset("boats", tuple(made), ("yes", "maybe", "no"))


@pytest.fixture(scope="module")
def built() -> tuple[Any, Any, dict[str, torch.Tensor]]:
    model, tokenizer = tiny.build("bert")
    return model, tokenizer, {name: tensor.clone() for name, tensor in model.state_dict().items()}


RECIPE = FineTuning(epochs=4, batch_size=4, learning_rate=3e-3, masking="half")


def _fit(
    built: tuple[Any, Any, dict[str, torch.Tensor]],
    resume: Resume | None,
    monkeypatch: pytest.MonkeyPatch,
    stop: int | None = None,
    scores: tuple[float, ...] = (0.5, 0.9, 0.1, 0.2),
) -> tuple[Trained, dict[str, torch.Tensor], int]:
    """Train from the same weights, stopped by Ctrl-C in an epoch; what happened, the weights, epochs begun."""
    model, tokenizer, start = built
    model.load_state_dict(start)
    epochs: list[int] = []
    epoch_of = fine_tuning._ClassifierTraining._epoch

    def epoch(self: Any, number: int, *rest: Any) -> float:
        epochs.append(number)
        if number == stop:
            raise KeyboardInterrupt
        return epoch_of(self, number, *rest)

    def validate(*_: Any) -> dict[str, float]:
        return {"none": scores[epochs[-1]], "masking": scores[-1 - epochs[-1]], "both": 0.5}

    with monkeypatch.context() as patched:
        patched.setattr(fine_tuning._ClassifierTraining, "_epoch", epoch)
        patched.setattr(fine_tuning._ClassifierTraining, "_validate", validate)
        selections = ("none", "masking", "both")
        trained, weights = fit(
            model, tokenizer, _data(), _data(), RECIPE, select=selections, resume=resume, console=QUIET
        )
    named = {f"{selection} {name}": t for selection in selections for name, t in weights[selection].items()}
    return trained, named, len(epochs)


@pytest.mark.parametrize("stop", [0, 1, 2, 3])
def test_stopped_in_any_epoch_it_goes_on_bit_for_bit(
    built: tuple[Any, Any, dict[str, torch.Tensor]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: int
) -> None:
    whole, expected, _ = _fit(built, None, monkeypatch)
    resume = Resume(tmp_path / "resume", "key")
    with pytest.raises(KeyboardInterrupt):
        _fit(built, resume, monkeypatch, stop)
    assert (resume.folder / "epoch.safetensors").exists() == (stop > 0)
    best = {path.name for path in resume.folder.glob("best-*")}
    if stop == 3:  # only the best so far are kept
        assert best == {"best-none-1.safetensors", "best-masking-2.safetensors", "best-both-0.safetensors"}
    trained, weights, epochs = _fit(built, resume, monkeypatch)
    assert epochs == 4 - stop
    assert trained == whole
    assert whole.best == {"none": 1, "masking": 2, "both": 0}
    assert weights.keys() == expected.keys()
    assert all(torch.equal(weights[name], expected[name]) for name in expected)
    resume.remove()
    assert not resume.folder.exists()
    resume.remove()  # nothing there is no mistake


@pytest.fixture
def unfinished(
    built: tuple[Any, Any, dict[str, torch.Tensor]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    with pytest.raises(KeyboardInterrupt):
        _fit(built, Resume(tmp_path / "resume", "key"), monkeypatch, 2)
    return tmp_path / "resume"


def test_the_state_of_another_training_is_refused(
    built: tuple[Any, Any, dict[str, torch.Tensor]], unfinished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _files(unfinished)
    with pytest.raises(UserError, match=r"resume holds an unfinished training with other data, .* remove it"):
        _fit(built, Resume(unfinished, "other"), monkeypatch)
    assert _files(unfinished) == before


@pytest.mark.parametrize("name", ["epoch.safetensors", "best-none-1.safetensors"])
@pytest.mark.parametrize("damage", ["cut", "shorter", "empty", "other", "gone"])
def test_a_damaged_state_is_told_in_one_line(
    built: tuple[Any, Any, dict[str, torch.Tensor]],
    unfinished: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    damage: str,
) -> None:
    path = unfinished / name
    content = path.read_bytes()
    if damage == "gone":
        path.unlink()
        if name == "epoch.safetensors":  # then it begins anew
            assert _fit(built, Resume(unfinished, "key"), monkeypatch)[2] == 4
            return
    else:
        damaged = {"cut": content[:1000], "shorter": content[:-1], "empty": b"", "other": b"\xff" * 500}
        path.write_bytes(damaged[damage])
    with pytest.raises(
        UserError, match=rf"{name} can't be read .*; remove its folder to start the training again"
    ) as told:
        _fit(built, Resume(unfinished, "key"), monkeypatch)
    assert "\n" not in str(told.value)


def test_a_command_with_another_recipe_does_not_go_on_from_an_unfinished_one(
    checkpoint: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = {"base": str(checkpoint("bert")), "data": str(_file(tmp_path / "train.jsonl", _rows(10))), "epochs": 2}

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(fine_tuning._ClassifierTraining, "_keep_best", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train_classifiers(parse(TrainSpec, content), tmp_path / "out", console=QUIET)
    assert not (tmp_path / "out" / "resume" / "epoch.safetensors").exists(), "half an epoch is not kept"
    save = fine_tuning._ClassifierTraining._save

    def saved(self: Any, epoch: int) -> None:
        save(self, epoch)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(fine_tuning._ClassifierTraining, "_save", saved)
        with pytest.raises(KeyboardInterrupt):
            train_classifiers(parse(TrainSpec, content), tmp_path / "out", console=QUIET)
    with pytest.raises(
        UserError, match=r"the beginning of another checkpoint: learning_rate was 2e-05 and is now 0\.001"
    ):
        train_classifiers(parse(TrainSpec, {**content, "learning_rate": 1e-3}), tmp_path / "out", console=QUIET)
    _file(tmp_path / "train.jsonl", [{**row, "label": "far"} if i == 3 else row for i, row in enumerate(_rows(10))])
    with pytest.raises(UserError, match="the beginning of another checkpoint: data is not the same; choose"):
        train_classifiers(parse(TrainSpec, content), tmp_path / "out", console=QUIET)
