"""`verax train` from the command line to checkpoints: one model, an ablation, seeds, languages, and mistakes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
import yaml
from safetensors.torch import load_file
from sklearn.metrics import accuracy_score
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from support import tiny
from support.cli import Answer, CallVerax
from verax.cli.training import _next_command
from verax.data.text import split_words
from verax.jobs.training.classifier import ClassifierTraining
from verax.jobs.training.spec import TrainSpec
from verax.jobs.training.splits import Splits, hold_out, open_splits
from verax.models.load import load_model
from verax.run.prepare import prepare
from verax.run.spec import parse, parse_spec, preset_spec, read_spec
from verax.train import fine_tuning
from verax.types import Dataset, Instance, UserError


@pytest.fixture
def train(verax: CallVerax) -> CallVerax:
    """Call `verax train masked`, or another command."""

    def call(*args: object, command: str = "masked") -> Answer:
        return verax("train", command, *args)  # type: ignore[arg-type]

    return call


def _rows(n: int, labels: tuple[str, ...] = ("far", "near")) -> list[dict[str, str]]:
    colours = ("red", "green", "quiet")
    return [{"text": f"the {colours[i % 3]} boat {i} sails", "label": labels[i % len(labels)]} for i in range(n)]


def _file(path: Path, rows: list[dict[str, str]]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


@pytest.fixture
def files(tmp_path: Path) -> list[object]:
    """The flags that name twelve rows to train on, seven to choose the epoch on and five for the test."""
    sizes = {"data": 12, "validation": 7, "test": 5}
    made = [(f"--{name}", _file(tmp_path / f"{name}.jsonl", _rows(n))) for name, n in sizes.items()]
    return [part for pair in made for part in pair]


@pytest.fixture
def trained_epochs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The epochs that were trained, as they are."""
    epochs: list[int] = []
    epoch_of = fine_tuning._ClassifierTraining._epoch

    def epoch(self: Any, number: int, *rest: Any) -> float:
        epochs.append(number)
        return epoch_of(self, number, *rest)

    monkeypatch.setattr(fine_tuning._ClassifierTraining, "_epoch", epoch)
    return epochs


Figures = dict[str, tuple[float, ...]]


@pytest.fixture
def pretend(monkeypatch: pytest.MonkeyPatch) -> Callable[[Figures], list[torch.Tensor]]:
    """Let the validation set say what a test wants it to say; the weights of the head after each epoch are kept."""

    def set_to(figures: Figures) -> list[torch.Tensor]:
        seen: list[torch.Tensor] = []

        def validate(training: Any) -> dict[str, float]:
            seen.append(training.model.classifier.weight.detach().clone())
            epochs = len(next(iter(figures.values())))
            return {name: values[(len(seen) - 1) % epochs] for name, values in figures.items()}

        monkeypatch.setattr(fine_tuning._ClassifierTraining, "_validate", validate)
        return seen

    return set_to


def _head(folder: Path) -> torch.Tensor:
    return load_file(folder / "model.safetensors")["classifier.weight"]


def test_one_model_is_a_normal_checkpoint_with_its_card(
    train: CallVerax, files: list[object], checkpoint: Callable[[str], Path], tmp_path: Path
) -> None:
    base, out = checkpoint("bert"), tmp_path / "made"
    said = train("--base", base, *files, "--out", out, "--epochs", 3, "--batch-size", 4, "--learning-rate", 2e-3)
    assert said.code == 0, said.err
    assert "12 training and 7 validation instances, 5 for the test; 1 training" in said.err
    assert f"Wrote {out}" in said.out
    written = {path.name for path in out.iterdir()}
    assert written >= {"model.safetensors", "config.json", "tokenizer.json", "README.md", "curves.svg", "training.json"}
    assert not [name for name in written if name.endswith((".bin", ".pt", ".pkl", ".tmp"))]
    assert "resume" not in written

    model = AutoModelForSequenceClassification.from_pretrained(out)
    tokenizer = AutoTokenizer.from_pretrained(out)
    assert model.config.id2label == {0: "far", 1: "near"}
    facts = json.loads((out / "training.json").read_text())
    trained_on = [model.config.label2id[row["label"]] for row in _rows(12)]
    most = max(set(trained_on), key=trained_on.count)
    for split, n in (("validation", 7), ("test", 5)):
        rows = _rows(n)
        golds = [model.config.label2id[row["label"]] for row in rows]
        plain, masked = (_guesses(model, tokenizer, [row["text"] for row in rows], masked=m) for m in (False, True))
        assert facts["figures"][split] == {
            "unmasked": pytest.approx(accuracy_score(golds, plain)),
            "fully_masked": pytest.approx(accuracy_score(golds, masked)),
            "majority": pytest.approx(golds.count(most) / n),
            "languages": {},
        }
    assert facts["sizes"] == {"train": 12, "validation": 7, "test": 5}
    assert {name: len(curve) for name, curve in facts["curves"].items()} == {"none": 3, "masking": 3, "both": 3}
    assert facts["best_epoch"] == int(np.argmax(facts["curves"]["both"]))
    assert (facts["recipe"]["masking"], facts["recipe"]["epochs"], facts["select"]) == ("half", 3, "both")
    _check_card((out / "README.md").read_text(), facts)
    picture = ElementTree.fromstring((out / "curves.svg").read_text())  # noqa: S314 - our own
    lines = [
        path for path in picture.iter("{http://www.w3.org/2000/svg}path") if "line" in path.attrib["class"].split()
    ]
    assert [len(line.attrib["d"].split("L")) for line in lines] == [3, 3, 3]

    about = load_model(out).about
    assert {name: about[name] for name in ("masking", "selected_on", "training_seed", "training_majority")} == {
        "masking": "half",
        "selected_on": "both",
        "training_seed": "0",
        "training_majority": model.config.id2label[most],
    }


def _guesses(model: Any, tokenizer: Any, texts: list[str], *, masked: bool) -> list[int]:
    """One input at a time, by the checkpoint alone."""
    found = []
    for text in texts:
        encoded = tokenizer(text, return_tensors="pt")
        if masked:
            encoded["input_ids"][0, 1:-1] = tokenizer.mask_token_id
        with torch.no_grad():
            found.append(int(model(**encoded).logits.argmax()))
    return found


def _check_card(card: str, facts: dict[str, Any]) -> None:
    """Every number of every epoch is in the card, the best epoch bold."""
    assert "Half of every mini-batch was masked" in card
    assert "| epoch | training loss | unmasked | masked | both copies |" in card
    for epoch, loss in enumerate(facts["losses"]):
        number = f"**{epoch + 1}**" if epoch == facts["best_epoch"] else str(epoch + 1)
        values = [loss, *(curve[epoch] for curve in facts["curves"].values())]
        assert f"| {number} | " + " | ".join(f"{value:.4f}" for value in values) + " |" in card
    assert f"Epoch {facts['best_epoch'] + 1} is kept" in card


@pytest.mark.parametrize(("select", "best"), [("none", 0), ("masking", 2), ("both", 1)])
def test_the_epoch_that_the_selection_likes_best_is_kept(
    train: CallVerax,
    files: list[object],
    checkpoint: Callable[[str], Path],
    tmp_path: Path,
    pretend: Callable[[Figures], list[torch.Tensor]],
    select: str,
    best: int,
) -> None:
    seen = pretend({"none": (0.9, 0.7, 0.1), "masking": (0.1, 0.7, 0.9), "both": (0.5, 0.7, 0.5)})
    out = tmp_path / "made"
    told = ("--out", out, "--epochs", 3, "--select", select, "--learning-rate", 1e-2)
    assert train("--base", checkpoint("bert"), *files, *told).code == 0
    assert torch.equal(_head(out), seen[best])
    assert not torch.equal(seen[0], seen[1])
    assert not torch.equal(seen[1], seen[2])
    assert json.loads((out / "training.json").read_text())["best_epoch"] == best
    assert f"Epoch {best + 1} is kept" in (out / "README.md").read_text()


ALL = {"masking": ["none", "masking", "half"], "select": ["none", "masking", "both"]}


def test_an_ablation_is_nine_models_of_three_trainings(
    train: CallVerax,
    files: list[object],
    checkpoint: Callable[[str], Path],
    tmp_path: Path,
    trained_epochs: list[int],
    pretend: Callable[[Figures], list[torch.Tensor]],
) -> None:
    seen = pretend({"none": (0.9, 0.7, 0.1), "masking": (0.1, 0.7, 0.9), "both": (0.5, 0.7, 0.5)})
    spec, out = tmp_path / "ablation.yaml", tmp_path / "models"
    names = dict(zip(files[::2], map(str, files[1::2]), strict=True))
    data = {str(flag).removeprefix("--"): path for flag, path in names.items()}
    spec.write_text(
        yaml.safe_dump({**ALL, **data, "base": str(checkpoint("bert")), "epochs": 3, "learning_rate": 0.01})
    )
    said = train(spec, "--out", out)
    assert said.code == 0, said.err
    assert trained_epochs == [0, 1, 2] * 3
    assert "12 training and 7 validation instances, 5 for the test; 3 trainings" in said.err

    best = {"none": 0, "masking": 2, "both": 1}
    facts = {}
    for number, masking in enumerate(ALL["masking"]):
        for select in ALL["select"]:
            folder = out / f"{masking}-{select}-seed-0"
            facts[masking, select] = json.loads((folder / "training.json").read_text())
            assert torch.equal(_head(folder), seen[3 * number + best[select]])
            assert load_model(folder).about["masking"] == masking
            assert load_model(folder).about["selected_on"] == select
            assert sorted(folder.glob("resume*")) == []
    assert {path.name for path in out.iterdir() if path.is_dir()} == {f"{m}-{s}-seed-0" for m, s in facts}

    rows = json.loads((out / "ablation.json").read_text())
    assert [(row["masking"], row["select"], row["split"]) for row in rows] == [
        (m, s, split) for m in ALL["masking"] for s in ALL["select"] for split in ("validation", "test")
    ]
    table = (out / "ablation.md").read_text().splitlines()
    assert len(table) == 4 + 18
    for row, line in zip(rows, table[4:], strict=True):
        figures = facts[row["masking"], row["select"]]["figures"][row["split"]]
        assert row["unmasked"] == [figures["unmasked"], None, None]
        assert row["fully_masked"] == [figures["fully_masked"], None, None]
        assert (row["majority"], row["seeds"]) == (figures["majority"], 1)
        values = [figures[name] for name in ("unmasked", "fully_masked", "majority")]
        cells = [row["split"], row["masking"], row["select"], *(f"{value:.3f}" for value in values), "1"]
        assert line == f"| {' | '.join(cells)} |"

    before = {path: path.stat().st_mtime_ns for path in out.glob("*/*")}
    again = train(spec, "--out", out)
    assert again.code == 0
    assert "already finished: 3" in again.err
    assert len(trained_epochs) == 9, "nothing is trained again"
    assert {path: path.stat().st_mtime_ns for path in out.glob("*/*")} == before
    assert json.loads((out / "ablation.json").read_text()) == rows


def test_several_seeds_give_intervals_over_them_and_a_new_one_trains_alone(
    train: CallVerax, files: list[object], checkpoint: Callable[[str], Path], tmp_path: Path, trained_epochs: list[int]
) -> None:
    out = tmp_path / "models"
    told = ["--base", checkpoint("bert"), *files, "--out", out, "--epochs", 1, "--learning-rate", 1e-2]
    seeds = [part for seed in (0, 1, 2) for part in ("--seed", seed)]
    assert train(*told, *seeds, "--seed", 1).code == 0, "a seed that is named twice is one"
    assert len(trained_epochs) == 3
    folders = [out / f"half-both-seed-{seed}" for seed in range(3)]
    heads = [_head(folder) for folder in folders]
    assert not torch.equal(heads[0], heads[1])
    figures = [json.loads((folder / "training.json").read_text())["figures"] for folder in folders]
    for row in json.loads((out / "ablation.json").read_text()):
        assert row["seeds"] == 3
        for name in ("unmasked", "fully_masked"):
            values = np.array([one[row["split"]][name] for one in figures])
            assert row[name] == [pytest.approx(values.mean()), None, None], "three seeds are too few for an interval"
    # one more seed, and no --test: what all models were measured on is what is told
    assert train(*told[:6], "--out", out, "--epochs", 1, "--learning-rate", 1e-2, *seeds, "--seed", 7).code == 0
    assert len(trained_epochs) == 4
    rows = json.loads((out / "ablation.json").read_text())
    assert [(row["split"], row["seeds"]) for row in rows] == [("validation", 4)]


def test_another_test_set_is_measured_without_training(
    train: CallVerax, files: list[object], checkpoint: Callable[[str], Path], tmp_path: Path, trained_epochs: list[int]
) -> None:
    out = tmp_path / "made"
    told = ["--base", checkpoint("bert"), *files[:4], "--out", out, "--epochs", 2, "--learning-rate", 2e-3]
    assert train(*told).code == 0
    assert len(trained_epochs) == 2
    weights = (out / "model.safetensors").read_bytes()
    model, tokenizer = (kind.from_pretrained(out) for kind in (AutoModelForSequenceClassification, AutoTokenizer))
    first = json.loads((out / "training.json").read_text())
    sets = {"some": _rows(5), "turned": [{**row, "label": "near"} for row in _rows(8)]}
    for name, rows in sets.items():
        said = train(*told, "--test", _file(tmp_path / f"{name}.jsonl", rows), "--json")
        assert said.code == 0, said.err
        assert f"{out}: measured on the test set, without training" in said.err
        golds = [model.config.label2id[row["label"]] for row in rows]
        right = accuracy_score(golds, _guesses(model, tokenizer, [row["text"] for row in rows], masked=False))
        (row,) = [row for row in json.loads(said.out)["rows"] if row["split"] == "test"]
        assert row["unmasked"][0] == pytest.approx(right)
        facts = json.loads((out / "training.json").read_text())
        assert facts["sizes"] == {"train": 12, "validation": 7, "test": len(rows)}
        assert {**facts, **{field: first[field] for field in ("test_key", "sizes", "figures", "checksum")}} == first
        assert facts["figures"]["validation"] == first["figures"]["validation"]
        assert f"| test ({len(rows)}) | {right:.4f} |" in (out / "README.md").read_text()
    written = (out / "training.json").stat().st_mtime_ns
    again = train(*told, "--test", tmp_path / "turned.jsonl")
    assert (again.code, "measured on" in again.err) == (0, False)
    assert (out / "training.json").stat().st_mtime_ns == written
    assert (out / "model.safetensors").read_bytes() == weights
    assert len(trained_epochs) == 2


def test_another_recipe_into_the_same_folder_is_refused(
    train: CallVerax, files: list[object], checkpoint: Callable[[str], Path], tmp_path: Path, trained_epochs: list[int]
) -> None:
    out = tmp_path / "made"
    told = ["--base", checkpoint("bert"), *files, "--out", out, "--epochs", 1]
    assert train(*told).code == 0
    before = _head(out)
    _file(tmp_path / "other.jsonl", _rows(12, ("near", "far")))
    recipes = {
        ("--seed", 1): "seed was 0 and is now 1",
        ("--learning-rate", 1e-3): "learning_rate was 2e-05 and is now 0.001",
        ("--masking", "none"): 'masking was "half" and is now "none"',
        ("--data", tmp_path / "other.jsonl"): "data is not the same",
    }
    for record in ("new", "from before there was artifact.json"):
        for other, named in recipes.items():
            said = train(*told, *other)
            unknown = "the base, the data or the version of verax is not the same"  # training.json has no key of data
            told_of = unknown if record != "new" and "--data" in other else named
            advice = "choose another folder, or remove this one to start again"
            assert (said.code, said.err) == (2, f"error: {out} holds another checkpoint: {told_of}; {advice}\n")
        again = train(*told)
        assert (again.code, "already finished: 1" in again.err) == (0, True)
        (out / "artifact.json").unlink(missing_ok=True)
    (out / "training.json").write_text("{")
    assert train(*told).err.startswith(f"error: {out / 'training.json'} is damaged: ")
    (out / "training.json").unlink()
    assert "and no checkpoint; choose a new or empty folder" in train(*told).err
    assert torch.equal(_head(out), before)
    assert len(trained_epochs) == 1


def test_a_damaged_checkpoint_is_reported_and_a_lost_one_is_made_again(
    train: CallVerax, files: list[object], checkpoint: Callable[[str], Path], tmp_path: Path, trained_epochs: list[int]
) -> None:
    out = tmp_path / "made"
    told = ["--base", checkpoint("bert"), *files, "--out", out, "--epochs", 1]
    assert train(*told).code == 0
    weights = out / "model.safetensors"
    content = weights.read_bytes()
    weights.write_bytes(content[:-1])
    _one_line(train(*told), f"error: {weights} is damaged: it was changed after it was written; remove it to make it")
    weights.unlink()
    assert train(*told).code == 0
    assert weights.read_bytes() == content
    assert len(trained_epochs) == 2


def test_a_base_without_masks_trains_plain(train: CallVerax, tmp_path: Path, files: list[object]) -> None:
    """Without masking and selection by it no mask token is needed; what needs one is left out."""
    model, tokenizer = tiny.build("bert")
    tokenizer.mask_token = None
    model.save_pretrained(tmp_path / "base")
    tokenizer.save_pretrained(tmp_path / "base")
    told = ["--base", tmp_path / "base", *files, "--epochs", 1]
    said = train(*told, "--out", tmp_path / "plain", "--masking", "none", "--select", "none")
    assert said.code == 0, said.err
    facts = json.loads((tmp_path / "plain" / "training.json").read_text())
    assert list(facts["curves"]) == ["none"]
    assert facts["figures"]["validation"]["fully_masked"] is None
    said = train(*told, "--out", tmp_path / "masked")
    assert (said.code, said.out) == (2, "")
    assert "has no mask token: masked fine-tuning needs a masked language model" in said.err


def test_parts_that_may_be_masked_are_the_datas_to_say(checkpoint: Callable[[str], Path], tmp_path: Path) -> None:
    recipes = []
    for parts in ("all", "maskable"):
        content = {"base": str(checkpoint("bert")), "data": {"name": "world/nli", "limit": 4}, "parts": parts}
        spec = parse(TrainSpec, content)
        data = open_splits(spec)
        marked = Dataset(data.train.name, data.train.instances, data.train.labels, maskable=(0,))
        splits = Splits(marked, data.validation, None)
        recipes.append(ClassifierTraining(spec, tmp_path, checkpoint("bert"), splits, "half", 0).recipe.parts)
    assert recipes == [None, (0,)]


def test_a_file_alone_holds_a_fifth_out(tmp_path: Path) -> None:
    path = _file(tmp_path / "data.jsonl", _rows(53))
    spec = parse(TrainSpec, {"base": "unused", "data": str(path)})
    first, again = open_splits(spec), open_splits(spec)
    ids = [{instance.id for instance in part.instances} for part in (first.train, first.validation)]
    assert [len(part) for part in ids] == [42, 11]
    assert not ids[0] & ids[1]
    assert len(ids[0] | ids[1]) == 53
    assert first == again
    assert first.test is None
    assert [one.id for one in first.validation.instances] != [str(i + 1) for i in range(42, 53)], (
        "not just the last ones"
    )


@pytest.mark.parametrize("n", range(1, 12))
def test_something_is_left_on_both_sides_or_it_is_refused(n: int) -> None:
    data = Dataset("toy", tuple(Instance(str(i), (split_words("a"),)) for i in range(n)), ("a", "b"))
    if n < 3:
        with pytest.raises(
            UserError, match=f"^toy: {n} instances are too few to hold a fifth out; name a --validation"
        ):
            hold_out(data, 0.2)
        return
    left, held = hold_out(data, 0.2)
    assert len(held) == pytest.approx(n / 5, abs=0.5)
    assert len(held) >= 1
    assert {one.id for one in left.instances + held.instances} == {str(i) for i in range(n)}
    assert len(left) + len(held) == n


def test_several_files_are_data_like_one(tmp_path: Path) -> None:
    for lang in ("de", "en"):
        _file(tmp_path / f"train.{lang}.jsonl", _rows(10))
    data = open_splits(parse(TrainSpec, {"base": "unused", "data": str(tmp_path / "train.*.jsonl")}))
    assert (len(data.train), len(data.validation), data.test) == (16, 4, None)
    assert {one.lang for one in data.train.instances} == {"de", "en"}


def test_translations_are_held_out_together() -> None:
    texts = ((f"{lang}-{i}", lang, f"n{i}") for i in range(20) for lang in ("en", "de", "fr"))
    instances = tuple(
        Instance(name, (split_words("a"),), lang=lang, parallel_id=shared) for name, lang, shared in texts
    )
    left, held = hold_out(Dataset("toy", instances, ("a", "b")), 0.2)
    shared = [{one.parallel_id for one in part.instances} for part in (left, held)]
    assert not shared[0] & shared[1]
    assert (len(left), len(held)) == (48, 12)
    with pytest.raises(UserError, match="too few to hold a fifth out"):
        hold_out(Dataset("toy", instances[:3], ("a", "b")), 0.2)


def test_a_dataset_of_ours_has_splits_of_its_own() -> None:
    spec = parse(TrainSpec, {"base": "unused", "data": {"name": "world/opinion", "limit": 5}})
    data = open_splits(spec)
    assert len(data.train) == 5
    assert len(data.validation) > 5
    assert data.test is not None
    texts = [{i.parts[0].raw for i in part.instances} for part in (data.train, data.validation, data.test)]
    assert not texts[0] & texts[1]
    assert not texts[0] & texts[2]
    assert not texts[1] & texts[2]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([{"text": row["text"]} for row in _rows(9)], "error: data: {path} has no labels; training needs at least two"),
        (_rows(9, ("far",)), "error: data: the only label of {path} is 'far'; training needs at least two classes"),
        ([], "error: {path}: contains no rows"),
        (_rows(2), "error: {path}: 2 instances are too few to hold a fifth out; name a --validation"),
        (
            [{**row, "label": None} if i == 4 else row for i, row in enumerate(_rows(9))],
            "error: {path}: instance '5' has",
        ),
    ],
    ids=["no labels", "one class", "empty", "two rows", "a label is missing"],
)
def test_data_that_cannot_be_trained_on(
    train: CallVerax, checkpoint: Callable[[str], Path], tmp_path: Path, rows: list[Any], told: str
) -> None:
    path = _file(tmp_path / "bad.jsonl", rows)
    said = train("--base", checkpoint("bert"), "--data", path, "--out", tmp_path / "made", "--epochs", 1)
    _one_line(said, told.format(path=path))
    assert not (tmp_path / "made").exists()


def _one_line(said: Answer, told: str) -> None:
    """A complaint of one line, after at most one that says what the data are; no traceback."""
    assert said.code == 2, said.err
    *before, last = said.err.splitlines()
    assert told in last
    assert all("training and" in line for line in before), said.err
    assert said.out == ""


def test_labels_of_other_sets_are_looked_at_before_the_training(
    train: CallVerax, checkpoint: Callable[[str], Path], tmp_path: Path, trained_epochs: list[int]
) -> None:
    data, other = _file(tmp_path / "data.jsonl", _rows(10)), _file(tmp_path / "other.jsonl", _rows(6, ("far", "odd")))
    for flag in ("--validation", "--test"):
        said = train("--base", checkpoint("bert"), "--data", data, flag, other, "--out", tmp_path / "made")
        _one_line(said, f"error: {other}: instance '2' has the label 'odd'; training needs one of far, near")
    assert trained_epochs == []


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ({"maskin": "half"}, "error: spec: unknown field 'maskin'; did you mean 'masking'?"),
        ({"masking": "hlaf"}, "error: spec: masking.0: Input should be 'none', 'masking' or 'half', got 'hlaf'"),
        ({"select": ["both", "al"]}, "error: spec: select.1: Input should be 'none', 'masking' or 'both', got 'al'"),
        ({"masking": []}, "error: spec: masking: "),
        ({"epochs": 0}, "error: spec: epochs: Input should be greater than or equal to 1, got 0"),
        ({"seeds": [0, -1]}, "error: spec: seeds.1: Input should be greater than or equal to 0, got -1"),
        ({"seeds": 2**64}, "error: spec: seeds.0: "),
        ({"learning_rate": float("inf")}, "error: spec: learning_rate: "),
        ({"learning_rate": float("nan")}, "error: spec: learning_rate: "),
        ({"weight_decay": float("inf")}, "error: spec: weight_decay: "),
        ({"warmup": 1}, "error: spec: warmup: Input should be less than 1, got 1"),
        ({"data": {"nam": "x"}}, "error: spec: unknown field 'data.nam'; did you mean 'data.name'?"),
        ({"device": "nowhere"}, "error: device: 'nowhere' can't be used: "),
    ],
)
def test_mistakes_in_a_spec(
    train: CallVerax,
    files: list[object],
    checkpoint: Callable[[str], Path],
    tmp_path: Path,
    content: dict[str, Any],
    told: str,
) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text(yaml.safe_dump(content))
    said = train(spec, "--base", checkpoint("bert"), *files, "--out", tmp_path / "made")
    _one_line(said, told)
    assert not (tmp_path / "made").exists()


def test_mistakes_in_flags(
    train: CallVerax, files: list[object], checkpoint: Callable[[str], Path], tmp_path: Path
) -> None:
    base, made = ("--base", checkpoint("bert")), ("--out", tmp_path / "made")
    _one_line(train(*base, *files, *made, "--masking", "hlaf"), "'none', 'masking' or 'half', got 'hlaf'")
    _one_line(train(*files, *made), "error: base is missing: give --base")
    _one_line(train(*base, *made), "error: data is missing: give --data")
    nowhere = tmp_path / "nowhere"
    _one_line(train("--base", nowhere, *files, *made), f"there is no folder '{nowhere}'")
    _one_line(train(*base, "--data", nowhere, *made), "nowhere")
    _one_line(train("--base", "wrold/opinion", *files, *made), "did you mean 'world/opinion'")
    (tmp_path / "taken").write_text("x")
    _one_line(train(*base, *files, "--out", tmp_path / "taken"), "taken is a file; name a folder")
    assert not (tmp_path / "made").exists()


def test_sets_with_other_parts_do_not_go_together(
    train: CallVerax, checkpoint: Callable[[str], Path], tmp_path: Path
) -> None:
    pairs = [{"premise": row["text"], "hypothesis": "the lake", "label": row["label"]} for row in _rows(6)]
    data, other = _file(tmp_path / "data.jsonl", _rows(10)), _file(tmp_path / "other.jsonl", pairs)
    said = train("--base", checkpoint("bert"), "--data", data, "--test", other, "--out", tmp_path / "made")
    _one_line(said, "part(s); a classifier reads one, or two, in all instances")


def test_instances_without_words_are_left_out_and_counted(
    train: CallVerax, checkpoint: Callable[[str], Path], tmp_path: Path
) -> None:
    rows = [*_rows(12), {"text": "  ", "label": "far"}]
    data, validation = _file(tmp_path / "some.jsonl", rows), _file(tmp_path / "other.jsonl", _rows(4))
    said = train(
        "--base",
        checkpoint("bert"),
        "--data",
        data,
        "--validation",
        validation,
        "--epochs",
        1,
        "--out",
        tmp_path / "made",
    )
    assert said.code == 0
    assert "left out: 1 instances with a part that has no words" in said.err
    assert "12 training and 4 validation instances" in said.err
    assert f"Next: verax run --preset faithfulness-measurable --model {tmp_path / 'made'} --data FILE" in said.out
    assert f"--validation {validation}" in said.out


@pytest.mark.parametrize("on_long", ["error", "truncate"])
def test_inputs_that_are_too_long_are_left_out_or_cut_and_the_card_says_so(
    train: CallVerax, checkpoint: Callable[[str], Path], tmp_path: Path, on_long: str
) -> None:
    rows = [*_rows(12), {"text": "the red boat " * 200, "label": "far"}]
    data, validation = _file(tmp_path / "some.jsonl", rows), _file(tmp_path / "other.jsonl", rows[-5:])
    flags = ["--base", checkpoint("bert"), "--data", data, "--validation", validation, "--epochs", 1]
    said = train(*flags, "--on-long", on_long, "--longest", 30, "--out", tmp_path / "made")
    assert said.code == 0, said.err
    kept = on_long == "truncate"
    assert ("left out: 2 instances that are too long; --on-long truncate cuts them" in said.err) != kept
    assert f"{12 + kept} training and {4 + kept} validation instances" in said.err
    facts = json.loads((tmp_path / "made" / "training.json").read_text())
    assert (facts["on_long"], facts["left_out"]) == (on_long, {} if kept else {"too_long": 2})
    card = (tmp_path / "made" / "README.md").read_text()
    assert f"| on_long | {on_long} |" in card
    assert ("Left out of all sets: too_long: 2." in card) != kept
    assert load_model(tmp_path / "made").about["trained_on_long"] == on_long
    assert ("--on-long" in said.out or "run.yaml" in said.out) == kept


def test_the_next_command_reads_the_data_as_the_training_did(
    train: CallVerax, checkpoint: Callable[[str], Path], tmp_path: Path
) -> None:
    """Columns, metric and maskable part are in a spec, since no flag names them; the run measures by them."""
    rows = [{"body": row["text"], "ask": "is it near", "kind": row["label"]} for row in _rows(60)]
    named = {name: str(_file(tmp_path / f"{name}.jsonl", rows[:n])) for name, n in (("a", 12), ("b", 60), ("c", 5))}
    columns = {"parts": ["body", "ask"], "label": "kind", "maskable_part": "body", "metric": "macro_f1"}
    data = {"name": named["a"], "columns": columns, "sample": 10}
    content = {"base": str(checkpoint("bert")), "data": data, "epochs": 1}
    content |= {
        "validation": {"name": named["b"], "columns": columns},
        "test": {"name": named["c"], "columns": columns},
    }
    (tmp_path / "spec.yaml").write_text(json.dumps(content))
    said = train("spec.yaml", "--out", "made")
    assert said.code == 0, said.err
    (command,) = re.findall(r"Next: verax run (made/run\.yaml) --preset faithfulness-measurable", said.out)
    spec = parse_spec(preset_spec("faithfulness-measurable", read_spec(Path(command))))
    assert (spec.model.name, spec.data.name, spec.data.explain) == ("made", named["c"], "maskable")
    assert spec.validation is not None
    assert spec.data.columns == spec.validation.columns
    assert (spec.data.sample, spec.validation.sample) == (None, None), "the sample is of the training data"
    prepared = prepare(spec)
    assert (prepared.run.data.metric, prepared.run.parts) == ("macro_f1", (0,))
    assert [len(instance.parts) for instance in prepared.run.data.instances] == [2] * 5


@pytest.mark.parametrize("test", [None, {"name": "test.jsonl"}])
def test_the_next_command_has_the_columns_of_the_training_data(tmp_path: Path, test: dict[str, str] | None) -> None:
    columns = {"maskable_part": ["premise"], "metric": "macro_f1"}
    content = {"base": "b", "data": {"name": "train.jsonl", "columns": columns, "limit": 9}, "test": test}
    command = _next_command(parse(TrainSpec, content), "masked", "made", tmp_path)
    assert command == f"verax run {tmp_path / 'run.yaml'} --preset faithfulness-measurable"
    data = yaml.safe_load((tmp_path / "run.yaml").read_text())["data"]
    assert data == {"name": "test.jsonl" if test else "FILE", "columns": columns, "explain": "maskable"}


def test_a_folder_that_can_not_be_made_is_told_before_training(
    train: CallVerax, checkpoint: Callable[[str], Path], files: list[object]
) -> None:
    said = train("--base", checkpoint("bert"), *files, "--epochs", 1, "--out", "/proc/made")
    assert (said.code, "cannot be written to" in said.err) == (2, True)


def test_plain_is_masked_without_masks(
    train: CallVerax, files: list[object], checkpoint: Callable[[str], Path], tmp_path: Path
) -> None:
    told = ["--base", checkpoint("bert"), *files, "--epochs", 2, "--learning-rate", 1e-2, "--batch-size", 4]
    plain = train(*told, "--out", tmp_path / "plain", command="plain")
    assert plain.code == 0, plain.err
    assert train(*told, "--out", tmp_path / "masked", "--masking", "none", "--select", "none").code == 0
    assert torch.equal(_head(tmp_path / "plain"), _head(tmp_path / "masked"))
    facts = [json.loads((tmp_path / name / "training.json").read_text()) for name in ("plain", "masked")]
    assert facts[0] == facts[1]
    assert "by `verax train plain`" in (tmp_path / "plain" / "README.md").read_text()
    test = dict(zip(files[::2], files[1::2], strict=True))["--test"]
    assert f"Next: verax run --preset attribution-table --model {tmp_path / 'plain'} --data {test}\n" in plain.out
    again = train(*told, "--out", tmp_path / "plain", command="plain")
    assert "already finished: 1" in again.err


def test_plain_has_no_say_on_masks(
    train: CallVerax, files: list[object], checkpoint: Callable[[str], Path], tmp_path: Path
) -> None:
    told = ["--base", checkpoint("bert"), *files, "--out", tmp_path / "made"]
    said = train(*told, "--masking", "half", command="plain")
    assert (said.code, said.out) == (2, "")
    assert "No such option: --masking" in said.err
    spec = tmp_path / "spec.yaml"
    for field in ("masking", "select", "parts"):
        spec.write_text(yaml.safe_dump({field: "none"}))
        said = train(spec, *told, command="plain")
        _one_line(said, f"error: spec: unknown field '{field}'")
    _one_line(
        train(*told[2:], command="plain"),
        "base is missing: give --base, or name it in a spec: verax train plain spec.yaml",
    )
    assert not (tmp_path / "made").exists()


def _translated(n: int) -> list[dict[str, str]]:
    """Inputs in three languages, rows of them mixed."""
    nouns = {"en": "boat", "de": "haus", "ru": "дом"}
    return [
        {**row, "text": f"{row['text']} {noun}", "lang": lang, "of": str(i)}
        for i, row in enumerate(_rows(n))
        for lang, noun in nouns.items()
    ]


def test_performance_is_told_for_each_language(
    train: CallVerax, checkpoint: Callable[[str], Path], tmp_path: Path
) -> None:
    """A model for each of three seeds, trained on mixed languages; each measured by its checkpoint alone."""
    tested = [{**row, "label": "far"} if row["lang"] == "ru" else row for row in _translated(9)]
    columns = {"lang": "lang", "parallel_id": "of"}
    spec: dict[str, Any] = {
        "data": {"name": str(_file(tmp_path / "data.jsonl", _translated(12))), "columns": columns},
        "test": {"name": str(_file(tmp_path / "test.jsonl", tested)), "columns": {"lang": "lang"}},
    }
    spec |= {"base": str(checkpoint("bert")), "seeds": [0, 1, 2], "epochs": 1, "learning_rate": 0.01}
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(spec))
    out = tmp_path / "models"
    said = train(tmp_path / "spec.yaml", "--out", out, "--json", command="plain")
    assert said.code == 0, said.err
    assert "27 training and 9 validation" in said.err, "a fifth is 8, and translations stay together"
    found = json.loads(said.out)
    assert found["models"] == [str(out / f"none-none-seed-{seed}") for seed in range(3)]

    reached: dict[str | None, list[float]] = {lang: [] for lang in ("de", "en", "ru", None)}
    for folder in map(Path, found["models"]):
        model, tokenizer = (
            kind.from_pretrained(folder) for kind in (AutoModelForSequenceClassification, AutoTokenizer)
        )
        guesses = _guesses(model, tokenizer, [row["text"] for row in tested], masked=False)
        right = np.array(
            [guess == model.config.label2id[row["label"]] for guess, row in zip(guesses, tested, strict=True)]
        )
        langs = np.array([row["lang"] for row in tested])
        for lang, values in reached.items():
            values.append(float(right.mean() if lang is None else right[langs == lang].mean()))
        figures = json.loads((folder / "training.json").read_text())["figures"]
        assert figures["test"]["languages"] == {lang: pytest.approx(reached[lang][-1]) for lang in ("de", "en", "ru")}
        assert list(figures["validation"]["languages"]) == ["de", "en", "ru"]
        of = figures["validation"]["languages"]
        card = (folder / "README.md").read_text()
        assert "| accuracy in | validation | test |" in card
        assert f"| ru | {of['ru']:.4f} | {reached['ru'][-1]:.4f} |" in card

    rows = [row for row in found["languages"] if row["split"] == "test"]
    assert [row["lang"] for row in rows] == ["de", "en", "ru", None]
    for row in rows:
        values = reached[row["lang"]]
        assert row["mean"] == pytest.approx(np.mean(values))
        assert row["deviation"] == pytest.approx(np.std(values, ddof=1), abs=1e-12)
        assert row["seeds"] == 3
    assert json.loads((out / "languages.json").read_text()) == found["languages"]
    table = (out / "languages.md").read_text()
    assert (
        f"| test | none | none | all | {np.mean(reached[None]):.3f} | {np.std(reached[None], ddof=1):.3f} | 3 |"
        in table
    )
    shown = train(tmp_path / "spec.yaml", "--out", out, command="plain")
    assert "already finished: 3" in shown.err
    assert f"test none none ru {np.mean(reached['ru']):.3f}" in " ".join(shown.out.split())
