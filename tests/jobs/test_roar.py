"""Recursive ROAR on a toy task: what is trained and masked, what it says, what survives a kill, what is refused."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from rich.console import Console

from support.masking import masked_word_run
from verax.cli import main
from verax.data.text import split_words
from verax.engine.engine import Engine, Task
from verax.engine.questions import QuestionGenerator
from verax.jobs.roar import recursive_roar
from verax.jobs.roar.cost import duration
from verax.jobs.roar.inputs import Masks
from verax.jobs.roar.points import PointFiles, RoarPoint, all_points, point_of
from verax.jobs.roar.recursive_roar import Roar, roar
from verax.jobs.training.spec import RoarSpec
from verax.models.subject import Subject
from verax.report.page import write_report
from verax.results.roar import RoarMeasure, RoarResult, load_result
from verax.run.parameters import Configured, from_config
from verax.run.spec import parse
from verax.studies.masking import STUDY
from verax.studies.masking.curves import MaskingResult
from verax.studies.masking.roar import masking_of, with_roar
from verax.train.fine_tuning import predict
from verax.train.world.start import BertShape, build_bert
from verax.train.world.tokenizers import build_tokenizer
from verax.types import Attribution, Dataset, Estimate, Instance, Kind, Passes, UserError

BIRDS, BEASTS = ("owl", "hen"), ("dog", "cat")
SHAPE = BertShape(seeds=1, whole_words=40, hidden=16, layers=1, heads=2, feed_forward=16)
METHODS = [{"leave_one_out": {"target": "gold"}}, {"input_x_gradient": {"target": "gold", "absolute": True}}]
STEPS = 4
QUIET = Console(quiet=True)


def _rows() -> list[dict[str, str]]:
    """What it is depends on one word of six, or of five."""
    return [
        {
            "id": f"{colour} {animal} {place}",
            "text": f"a {colour} {animal} sits {place}" + (" now" if place == "here" else ""),
            "label": "bird" if animal in BIRDS else "beast",
        }
        for colour in ("red", "blue", "pink", "grey")
        for animal in (*BIRDS, *BEASTS)
        for place in ("here", "there", "inside", "outside")
    ]


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an untrained base and three files."""
    folder = tmp_path_factory.mktemp("toy")
    rows = _rows()
    for name, some in {"train": rows, "validation": rows[::2], "test": rows[1::2]}.items():
        write(folder / f"{name}.jsonl", some)
    data = Dataset("toy", tuple(Instance(r["id"], (split_words(r["text"]),), r["label"]) for r in rows), ("a", "b"))
    tokenizer = build_tokenizer(data, SHAPE.whole_words)
    build_bert(tokenizer, ("beast", "bird"), SHAPE, 0).save_pretrained(folder / "base")
    tokenizer.save_pretrained(folder / "base")
    return folder


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def content(toy: Path, **changes: Any) -> dict[str, Any]:
    files = {"data": "train", "validation": "validation", "test": "test"}
    told = {name: {"name": str(toy / f"{file}.jsonl"), "columns": {"id": "id"}} for name, file in files.items()}
    recipe = {"epochs": 3, "batch_size": 8, "learning_rate": 5e-3, "steps": STEPS, "methods": METHODS}
    return {"base": str(toy / "base"), **told, **recipe, **changes}


def spec_of(toy: Path, **changes: Any) -> RoarSpec:
    return parse(RoarSpec, content(toy, **changes))


@dataclass
class Ran:
    """A finished ROAR and the trainings that it made."""

    prepared: Roar
    found: RoarResult
    result: dict[str, Any]
    trained: list[tuple[Any, Any]]

    @property
    def curves(self) -> tuple[RoarMeasure, ...]:
        return self.found.measures

    def masks(self, measure: int, step: int) -> dict[str, Masks]:
        found = self.prepared.files.masks(point_of(measure, step, STEPS), self.prepared.splits)
        assert found is not None
        return found


@pytest.fixture(scope="module")
def ran(toy: Path, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Not interrupted; the trainings are watched."""
    out, trained = tmp_path_factory.mktemp("whole"), []

    def watched(model: Any, tokenizer: Any, train: Any, validation: Any, *rest: Any, **options: Any) -> Any:
        trained.append((train, validation))
        return fit_rows(model, tokenizer, train, validation, *rest, **options)

    fit_rows = recursive_roar.fit_rows
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recursive_roar, "fit_rows", watched)
        # weights are kept, so that they can be asked what they would have masked
        patch.setattr(PointFiles, "remove_weights", lambda *_: None)
        found = roar(spec_of(toy), out, console=QUIET)
    assert found is not None
    return Ran(Roar(spec_of(toy), out), found, json.loads((out / "roar.json").read_bytes()), trained)


def test_a_model_for_each_step_of_each_measure_and_both_ends_once(ran: Ran) -> None:
    assert [named.name for named in ran.prepared.methods] == ["random", "leave_one_out", "input_x_gradient"]
    assert len(ran.trained) == 3 * (STEPS - 1) + 2 == ran.result["cost"]["trainings"]
    assert ran.result["cost"]["optimiser_steps"] == 11 * 3 * 8
    assert all_points(2, 1) == [RoarPoint(None, 0), RoarPoint(None, 1)]


def test_masks_grow_by_the_stated_number_and_never_shrink(ran: Ran) -> None:
    for measure in range(3):
        for split in ran.prepared.splits:
            before = ran.masks(measure, 0)[split.name]
            assert not any(masked.any() for masked in before)
            for step in range(1, STEPS + 1):
                after = ran.masks(measure, step)[split.name]
                for n, old, new in zip(split.sizes, before, after, strict=True):
                    assert new.sum() == step * n // STEPS
                    assert (old <= new).all()
                before = after


def test_the_masks_are_those_of_the_model_before(ran: Ran) -> None:
    """Asked on its own, the kept model of a step ranks first what the next step masks."""
    prepared = ran.prepared
    for measure, step in ((1, 1), (1, 2), (2, 3)):
        model, _ = prepared.load()
        model.load_state_dict(prepared.files.weights(point_of(measure, step - 1, STEPS)))
        classifier = prepared.view(model.eval())
        split = prepared.splits[0]
        for number in (0, 5, 17, 40):
            old, new = (ran.masks(measure, at)["train"][number] for at in (step - 1, step))
            x = split.encode(classifier, number).without(old, "mask")
            scores: list[Any] = []
            task = Task(
                prepared.methods[measure].component(x), lambda end, scores=scores: scores.append(end.value) or ()
            )
            Engine().run([task])
            more = int(new.sum() - old.sum())
            chosen = np.flatnonzero(~old)[np.argsort(-scores[0].scores, kind="stable")[:more]]
            assert np.flatnonzero(new & ~old).tolist() == sorted(chosen.tolist())


def test_a_model_is_trained_on_the_masked_inputs(ran: Ran) -> None:
    mask_id, order = ran.prepared.tokenizer.mask_token_id, ran.prepared.points
    for number, point in enumerate(order):
        masks = ran.masks(point.measure or 0, point.step)
        for rows, name in zip(ran.trained[number], ("train", "validation"), strict=True):
            for row, masked in zip(rows.features, masks[name], strict=True):
                assert set(row) == {"input_ids", "attention_mask", "token_type_ids"}
                # each word of the toy is one token, between the first and the last special one
                assert [i == mask_id for i in row["input_ids"][1:-1]] == masked.tolist()


def test_a_model_is_measured_on_the_masked_test_set(ran: Ran) -> None:
    """By the code that measures trainings, which shares nothing with the engine."""
    prepared, told = ran.prepared, []
    test = prepared.splits[2]
    for measure, step in ((0, 1), (0, 2), (1, 2)):
        point = point_of(measure, step, STEPS)
        model, tokenizer = prepared.load()
        model.load_state_dict(prepared.files.weights(point))
        masked = test.rows(prepared.view(model), tokenizer, ran.masks(measure, step)["test"])
        whole = test.rows(prepared.view(model), tokenizer, test.masks(masked=False))
        found = prepared.files.finished(point)
        assert found.predicted.tolist() == predict(model, tokenizer, masked).tolist()
        told.append(found.predicted.tolist() != predict(model, tokenizer, whole).tolist())
        right = found.predicted == test.golds.numpy()
        assert ((found.probability > 0.5) == right).all()
        value = ran.curves[measure].curve[step].value
        assert value == pytest.approx(right.mean(), abs=1e-12)
    assert any(told)  # else the masks would not have shown


def test_both_ends_are_the_same_for_all_measures_and_random_has_no_area(ran: Ran) -> None:
    random, *others = ran.curves
    assert random.acu.value == 0
    assert random.method == ran.found.baseline == "random"
    for row in others:
        assert (row.curve[0], row.curve[-1]) == (random.curve[0], random.curve[-1])
        assert len(row.curve) == STEPS + 1
        assert row.acu.low is not None
    assert [row["acu"]["value"] for row in ran.result["measures"]] == [row.acu.value for row in ran.curves]


@dataclass(frozen=True)
class Knows:
    """Puts the animal first, and whatever comes next after it."""

    names: tuple[str, ...] = field(default=(*BIRDS, *BEASTS))
    kind: ClassVar[Kind] = "token"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "a test"

    def passes(self, n: int) -> Passes:
        return Passes(0, 0)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        yield from ()
        words = x.instance.parts[0].words
        return x.attribution(np.array([float(words[unit[0].start] in self.names) for unit in x.units]))


def test_who_knows_the_decisive_word_is_above_random(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measures(spec: RoarSpec) -> list[Configured[Any]]:
        return [from_config("methods", "random", spec.seed), Configured("knows", Knows())]

    monkeypatch.setattr(recursive_roar, "roar_methods", measures)
    result = roar(spec_of(toy, steps=3, epochs=4), tmp_path / "out", console=QUIET)
    assert result is not None
    knows = result.measures[1]
    assert knows.curve[0].value > 0.9
    assert knows.curve[1].value < 0.75  # the word is gone, and no model can learn to do without it
    assert knows.racu is not None
    assert knows.racu.value > 0.3


CHILD = """
import json, os, signal, sys
from pathlib import Path
from rich.console import Console
from verax.jobs.roar.points import PointFiles
from verax.jobs.roar.recursive_roar import roar
from verax.jobs.training.spec import RoarSpec
from verax.run.spec import parse
from verax.train.resume import Resume

where, after, out, content = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), json.loads(sys.argv[4])
saves, finishes, save, finish = [], [], Resume.save, PointFiles.finish

def die():
    print(len(saves), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

def counted_save(*args):
    save(*args)
    saves.append(1)
    if where == "save" and len(saves) == after:
        die()

def counted_finish(*args):
    finishes.append(1)
    if where == "finish" and len(finishes) == after:
        die()
    finish(*args)

Resume.save, PointFiles.finish = counted_save, counted_finish
roar(parse(RoarSpec, content), out, console=Console(quiet=True))
"""


def test_killed_in_the_middle_it_goes_on_to_the_same_curves(ran: Ran, toy: Path, tmp_path: Path) -> None:
    """Once between two epochs of the sixth training, once when a later one is trained but not yet told to be finished.

    The last part is done here; every number is the same to the last digit.
    """
    out = tmp_path / "out"
    env = {**os.environ, "OMP_NUM_THREADS": str(torch.get_num_threads()), "HF_HUB_OFFLINE": "1"}
    kills = (("save", 17, 17, 5, "1-leave_one_out-step-1"), ("finish", 3, 7, 7, "2-input_x_gradient-step-1"))
    for where, after, epochs, finished, newest in kills:
        command = [sys.executable, "-c", CHILD, where, str(after), str(out), json.dumps(content(toy))]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=env)
        assert done.returncode == -signal.SIGKILL, done.stderr
        assert int(done.stdout) == epochs  # the second child: the one that was left of the sixth training, then 3 and 3
        assert len(list((out / "steps").glob("*.answers.safetensors"))) == finished
        kept = {path.name.partition(".")[0] for path in (out / "steps").glob("*.weights.safetensors")}
        assert kept == {"shared-step-0", newest}
    assert not (out / "roar.json").exists()
    lines: list[str] = []
    roar(spec_of(toy), out, console=QUIET, announce=lines.extend)
    assert "already finished: 7 of 11 trainings" in lines
    result = json.loads((out / "roar.json").read_bytes())
    assert result["measures"] == ran.result["measures"]
    assert result["key"] == ran.result["key"]
    left = {path.name for path in (out / "steps").iterdir()}
    assert not any("weights" in name or "resume" in name for name in left)
    again = (out / "roar.json").read_bytes()
    roar(spec_of(toy), out, console=QUIET)
    assert (out / "roar.json").read_bytes() == again


def test_another_spec_in_the_same_folder_is_refused(ran: Ran, toy: Path, tmp_path: Path) -> None:
    out = ran.prepared.artifact.folder
    changes: dict[str, tuple[Any, str]] = {
        "steps": (5, "steps was 4 and is now 5"),
        "seed": (1, "seed was 0 and is now 1"),
        "methods": (["lime"], 'methods.* and is now \\["random", "lime"\\]'),
        "test": (str(toy / "train.jsonl"), "test is not the same"),
    }
    for name, (value, named) in changes.items():
        with pytest.raises(UserError, match=f"holds another ROAR: {named}; choose another folder, or remove this one"):
            Roar(spec_of(toy, **{name: value}), out)
    (tmp_path / "roar.json").write_text('{"key": "other", "spec": {"steps": 9, "seed": 0}}', "utf-8")
    with pytest.raises(UserError, match="holds another ROAR: steps was 9 and is now 4; choose another folder"):
        Roar(spec_of(toy), tmp_path)


def test_in_workers_it_gives_the_same_curves(toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verax.run.placement.os.cpu_count", lambda: 2)
    short = {"epochs": 1, "steps": 2, "methods": METHODS[:1], "device": "cpu"}
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # as each of the workers has
    try:
        results = [
            roar(spec_of(toy, **short, workers=workers), tmp_path / str(workers), console=QUIET) for workers in (1, 2)
        ]
    finally:
        torch.set_num_threads(before)
    alone, together = [[replace(one) for one in found.measures] for found in results if found is not None]
    assert together == alone


def test_the_result_is_read_again_without_torch(ran: Ran) -> None:
    folder = ran.prepared.artifact.folder
    found = load_result(folder)
    assert found.measures == ran.found.measures
    assert (found.spec["seed"], found.metric, found.key) == (0, "accuracy", ran.prepared.artifact.key)
    assert [(one.name, one.method) for one in found.measures] == [
        ("random", "random"),
        ("leave_one_out", "leave_one_out(target=gold)"),
        ("input_x_gradient", "input_x_gradient(target=gold, absolute=True)"),
    ]
    assert found.measures[1].parameters["target"] == {"of": "gold", "space": "logit"}
    code = "import sys; from pathlib import Path; from verax.results.roar import load_result; "
    code += "load_result(Path(sys.argv[1])); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code, str(folder)], check=True)


def test_a_result_of_before_measures_had_names_is_read(ran: Ran, tmp_path: Path) -> None:
    old = {**ran.result, "measures": [dict(measure) for measure in ran.result["measures"]]}
    old.pop("checksum")
    for measure in old["measures"]:
        del measure["name"], measure["parameters"]
    (tmp_path / "roar.json").write_text(json.dumps(old))
    found = load_result(tmp_path)
    assert [one.curve for one in found.measures] == [one.curve for one in ran.found.measures]
    assert [one.name for one in found.measures] == [one.method for one in found.measures]


def test_the_result_is_shown_as_recursive_masking_and_seeds_are_averaged(ran: Ran) -> None:
    spec, measures = ran.found.spec, ran.found.measures
    (one,) = masking_of({Path("a"): ran.found}).groups
    assert [(curve.curve, curve.acu, curve.over) for curve in one.curves] == [
        (measure.curve, measure.acu, "instances") for measure in measures
    ]
    (table,) = STUDY.tables(masking_of({Path("a"): ran.found}))
    assert {record["method"]: record["n"] for record in table.records()} == {one.method: 32 for one in measures}
    lower = [replace(one, curve=tuple(Estimate(point.value / 2) for point in one.curve)) for one in measures]
    other = replace(ran.found, spec={**spec, "seed": 1}, measures=tuple(lower))
    (both,) = masking_of({Path("a"): ran.found, Path("b"): other}).groups
    assert (both.runs, {curve.over for curve in both.curves}) == (2, {"seeds"})
    for mean, measure in zip(both.curves, measures, strict=True):
        assert mean.curve[0].value == pytest.approx(0.75 * measure.curve[0].value, abs=1e-12)
    with pytest.raises(UserError, match="a can't be averaged with a ROAR of the same seed"):
        masking_of({Path("a"): ran.found, Path("b"): ran.found})
    with pytest.raises(UserError, match="a and b can't be averaged: steps is not the same"):
        masking_of({Path("a"): ran.found, Path("b"): replace(other, spec={**other.spec, "steps": 5})})


def test_it_is_a_column_next_to_recursive_masking_on_the_same_data(ran: Ran) -> None:
    """Measures are matched by their display names; a ROAR on other data is refused."""
    roar = {Path("a"): ran.found}
    (one,) = masking_of(roar).groups
    measures = [curve for curve in one.curves if curve.method != one.baseline]
    runs = replace(one, data=ran.found.spec["test"]["name"])
    (found,) = with_roar(MaskingResult((runs,)), roar).groups
    assert {curve.method: curve.roar for curve in found.curves} == {
        one.baseline: None,
        **{curve.method: curve.racu for curve in measures},
    }
    table = STUDY.tables(MaskingResult((found,)))[0]
    assert [record["roar"] for record in table.records()] == [curve.racu and curve.racu.value for curve in measures]
    with pytest.raises(
        UserError, match=r"a: a ROAR on .*train\.jsonl and .*test\.jsonl can't be compared with runs on x"
    ):
        with_roar(MaskingResult((replace(one, data="x"),)), roar)
    strange = replace(runs, display={curve.method: f"other {curve.method}" for curve in runs.curves})
    with pytest.raises(UserError, match=r"a: none of its measures \(.*\) is among those of the runs \(other "):
        with_roar(MaskingResult((strange,)), roar)


def test_the_most_frequent_class_is_that_of_the_training_data(ran: Ran) -> None:
    train, _, test = ran.prepared.splits
    most = int(np.bincount(train.golds.numpy()).argmax())
    assert ran.found.majority == pytest.approx((test.golds.numpy() == most).mean())


def test_show_and_the_report_read_it(
    ran: Ran, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(ran.prepared.artifact.folder)
    shown = verax(monkeypatch, capsys, folder, "--format", "json", command="show")
    (study,) = json.loads(shown)
    (table,) = study["tables"]
    found = {row["method"]: row["acu"] for row in table["rows"] if row["method"] != "random"}
    assert found == {one.method: one.acu.value for one in ran.found.measures if one.method != "random"}
    assert study["figures"]
    page = write_report(Path(folder), tmp_path / "report.html").read_text()
    assert "Recursive ROAR" in page
    assert page.count("<svg") >= 1
    for one in ran.found.measures[1:]:
        assert f"{100 * one.acu.value:.1f}" in page
    assert "&quot;learning_rate&quot;: 0.005" in page or '"learning_rate": 0.005' in page


def test_runs_next_to_it_keep_their_status_and_accuracy(
    ran: Ran, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measure = next(one for one in ran.found.measures if one.method != ran.found.baseline)
    options: Any = {"methods": ("random", measure.name), "metrics": ("masking",)}
    card = dict(masked_word_run(tmp_path / "made", **options).tables.card)
    card["methods"][1]["parameters"] = measure.parameters
    card["data"] = {"name": ran.found.spec["test"]["name"]}
    masked_word_run(tmp_path / "run", **options, card=card, plan=[str(n) for n in range(99)])
    folders = (str(tmp_path / "run"), str(ran.prepared.artifact.folder))
    shown = verax(monkeypatch, capsys, *folders, command="show", code=3)
    assert shown.startswith("Unfinished (")
    assert "accuracy of the model" in " ".join(shown.split())
    assert "R-ROAR" in shown


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "holds no finished ROAR: it has no roar.json"),
        ("{", "roar.json is damaged"),
        ('{"measures": []}', "roar.json is damaged"),
        ('{"version": 9}', "version 9, and this verax reads versions up to 1"),
    ],
)
def test_a_result_that_cannot_be_read(tmp_path: Path, content: str | None, complaint: str) -> None:
    if content is not None:
        (tmp_path / "roar.json").write_text(content)
    with pytest.raises(UserError, match=complaint):
        load_result(tmp_path)


def test_a_roar_of_before_there_were_records_continues(
    ran: Ran, toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unfinished, its key was a file among the points; finished, it is known by its result."""
    out = tmp_path / "out"
    shutil.copytree(ran.prepared.artifact.folder, out)
    (out / "artifact.json").unlink()
    monkeypatch.setattr(recursive_roar, "fit_rows", None)
    lines: list[str] = []
    found = roar(spec_of(toy), out, console=QUIET, announce=lines.extend)
    assert found is not None
    assert found.measures == ran.found.measures
    (out / "roar.json").unlink()
    with pytest.raises(UserError, match=r"contains other files .* and no ROAR"):
        Roar(spec_of(toy), out)
    (out / "steps" / "key").write_text(found.key)
    with pytest.raises(UserError, match="the beginning of another ROAR"):
        Roar(spec_of(toy, steps=3), out)
    assert roar(spec_of(toy), out, console=QUIET) == found
    assert lines == [lines[0], "already finished: 11 of 11 trainings"]


def test_the_cost_is_told_first_and_a_dry_run_writes_nothing(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("a dry run trains nothing")

    monkeypatch.setattr(recursive_roar, "fit_rows", never)
    monkeypatch.chdir(tmp_path)
    said = verax(
        monkeypatch,
        capsys,
        *("--base", str(toy / "base"), "--data", str(toy / "train.jsonl"), "--test", str(toy / "test.jsonl")),
        *("--method", "leave_one_out", "--steps", "3", "--epochs", "2", "--limit", "40", "--dry-run"),
    )
    assert "Recursive ROAR of 2 measures in 3 steps on 32 train, 8 validation, 32 test instances" in said
    assert "to train: 6 models, 2 epochs each: 4 optimiser steps per model, 24 in all" in said
    assert re.search(r"time: (about \d+ seconds?|less than a second) on this machine", said)
    assert list(tmp_path.iterdir()) == []
    lines: list[str] = []
    with pytest.raises(AssertionError, match="a dry run trains nothing"):  # the cost was told before
        roar(spec_of(toy), tmp_path / "out", console=QUIET, announce=lines.extend)
    assert any(line.startswith("to train: 11 models") for line in lines)


def verax(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *args: str,
    command: str = "roar --out out",
    code: int = 0,
) -> str:
    monkeypatch.setattr(sys, "argv", ["verax", *command.split(), *args])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    assert (ended.value.code or 0) == code, said.err
    return said.out + said.err


def test_the_command_prints_the_areas(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    spec = tmp_path / "spec.yaml"
    spec.write_text(json.dumps(content(toy, methods=["activation"])), "utf-8")
    said = verax(monkeypatch, capsys, str(spec), "--steps", "2", "--epochs", "1", "--limit", "16")
    assert "training 4 of 4: for all measures, 100 % of the words masked" in said
    assert "training 2 of 4: random, 50 % of the words masked" in said
    assert "activation" in said.partition("ACU")[2]
    assert json.loads((tmp_path / "out" / "roar.json").read_bytes())["instances"]["train"] == 16


def test_only_the_part_that_may_be_masked_is_masked_and_long_inputs_are_cut(toy: Path, tmp_path: Path) -> None:
    """A tokenizer of sub-words without segments; the first part stays, what is cut off is not counted."""
    from support import tiny

    tiny.save("roberta", tmp_path / "base")
    rows = [
        {"question": "is it quiet", "text": "the small red boat sails " * times, "label": ("yes", "no")[times % 2]}
        for times in (1, 2, 9, 10)
    ]
    columns = {"parts": ["question", "text"], "maskable_part": "text"}
    data = {"name": str(write(tmp_path / "pairs.jsonl", rows)), "columns": columns}
    changes = {"base": str(tmp_path / "base"), "data": data, "validation": data, "test": data, "longest": 40}
    skipped = Roar(spec_of(toy, **changes), tmp_path / "out").splits[0]
    assert (skipped.sizes, skipped.left_out) == ((5, 10), {"too_long": 2}), "as in a run, unless they are to be cut"
    prepared = Roar(spec_of(toy, **changes, on_long="truncate"), tmp_path / "out")
    split, tokenizer = prepared.splits[0], prepared.tokenizer
    assert split.sizes[:2] == (5, 10)
    assert 10 < split.sizes[2] == split.sizes[3] < 45
    model, _ = prepared.load()
    everything = split.rows(prepared.view(model), tokenizer, split.masks(masked=True))
    nothing = split.rows(prepared.view(model), tokenizer, split.masks(masked=False))
    for row, plain, maskable in zip(everything.features, nothing.features, everything.maskable, strict=True):
        assert set(row) == {"input_ids", "attention_mask"}
        assert len(row["input_ids"]) <= 40
        masked = np.array(row["input_ids"]) == tokenizer.mask_token_id
        assert (masked == maskable).all()
        assert (np.array(row["input_ids"])[~masked] == np.array(plain["input_ids"])[~masked]).all()
        shown = tokenizer.decode(np.array(row["input_ids"])[~masked], skip_special_tokens=True)
        assert shown.split() == ["is", "it", "quiet"]
        assert masked.any()


def test_inputs_that_can_not_be_read_are_left_out_and_counted(toy: Path, tmp_path: Path) -> None:
    rows = [*_rows()[:6], {"id": "nothing", "text": " ", "label": "bird"}]
    data = {"name": str(write(tmp_path / "some.jsonl", rows)), "columns": {"id": "id"}}
    prepared = Roar(spec_of(toy, test=data), tmp_path / "out")
    assert [len(split) for split in prepared.splits] == [64, 32, 6]
    said = io.StringIO()
    prepared.print_left_out(Console(file=said, width=200))
    assert said.getvalue() == "test: 1 of 7 instances left out, which the model can't read (empty: 1)\n"


def test_an_explanation_that_can_not_be_had_ends_it_with_its_reason(toy: Path, tmp_path: Path) -> None:
    rows = [*_rows(), {"id": "long", "text": "a red hen " * 6, "label": "bird"}]
    data = {"name": str(write(tmp_path / "some.jsonl", rows)), "columns": {"id": "id"}}
    spec = spec_of(toy, data=data, methods=["exact_shapley"], epochs=1)
    with pytest.raises(UserError, match=r"^exact_shapley can't explain the train instance 'long': "):
        roar(spec, tmp_path / "out", console=QUIET)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"steps": 0}, "spec: steps: Input should be greater than or equal to 1, got 0"),
        ({"step": 3}, "spec: unknown field 'step'.*did you mean 'steps'"),
        ({"methods": ["leave_one_uot"]}, "unknown method 'leave_one_uot'.*did you mean 'leave_one_out'"),
        ({"methods": ["lime", "lime"]}, "methods: 'lime' is given twice"),
        ({"test": None}, "ROAR evaluates its models on a test set: name one with --test"),
    ],
)
def test_a_users_mistakes_are_told_in_one_line(
    toy: Path, tmp_path: Path, changes: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(UserError, match=complaint) as told:
        Roar(spec_of(toy, **changes), tmp_path)
    assert "\n" not in str(told.value)


def test_a_base_without_a_mask_token_and_data_without_labels_are_refused(toy: Path, tmp_path: Path) -> None:
    from support import tiny

    tiny.save("gpt2", tmp_path / "gpt2")
    with pytest.raises(UserError, match="has no mask token, and ROAR masks words"):
        Roar(spec_of(toy, base=str(tmp_path / "gpt2")), tmp_path / "out")
    plain = [{"id": row["id"], "text": row["text"]} for row in _rows()]
    without = {"name": str(write(tmp_path / "plain.jsonl", plain)), "columns": {"id": "id"}}
    with pytest.raises(UserError, match="has no labels"):
        Roar(spec_of(toy, data=without), tmp_path / "out")
    with pytest.raises(UserError, match="has no label; training needs one of beast, bird"):
        Roar(spec_of(toy, test=without), tmp_path / "out")


def test_time_is_told_as_people_do() -> None:
    assert [duration(s) for s in (0.4, 1.2, 59, 119, 600, 3600, 7300, 86400, 4e5)] == [
        "less than a second",
        "about 1 second",
        "about 59 seconds",
        "about 119 seconds",
        "about 10 minutes",
        "about 60 minutes",
        "about 2 hours",
        "about 24 hours",
        "about 5 days",
    ]
