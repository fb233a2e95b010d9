"""`verax train nle` and `verax train editor`: folders that can be asked, figures, and a training that is killed."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sacrebleu
from rich.console import Console
from typer.testing import CliRunner

from support.killed import deaths_of
from support.rigged import NLI, Rigged
from support.rigged import instance as given_instance
from support.text_runs import rule
from support.tiny_text import save_generator
from verax.cli import app
from verax.data.load import load_dataset
from verax.engine.engine import Engine, Task
from verax.engine.protocols import Answer
from verax.jobs.training import editor as editor_job
from verax.jobs.training import generator as generator_job
from verax.jobs.training.editor import train_editor
from verax.jobs.training.self_explainer import train_self_explainer
from verax.jobs.training.spec import EditorSpec, NleSpec, RecipeSpec
from verax.jobs.training.splits import Splits
from verax.metrics.free_text import bleu
from verax.models.editor_wording import EditorFacts, editor_prompt, read_editor_facts
from verax.models.generator import CandidatesPass
from verax.models.load import load_generator
from verax.models.self_explainer import SelfExplainer, load_self_explainer
from verax.models.subject import Subject
from verax.models.wording import shipped_wording
from verax.registry import resolve
from verax.run.spec import parse
from verax.store.artifact import read_json
from verax.types import UserError

KILLED = 9
QUIET = Console(quiet=True)
SEEN = (("red", "far"), ("green", "near"))


def _rows(n: int, **more: Any) -> list[dict[str, Any]]:
    rows = []
    for i in range(n):
        colour, label = SEEN[i % 2]
        why = [f"it is a {colour} boat", f"a {colour} boat it is"]
        rows.append({"id": str(i), "text": f"the {colour} boat {i} sails", "label": label, "explanations": why, **more})
    return rows


def _file(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


@pytest.fixture(scope="module")
def generator(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    root = tmp_path_factory.mktemp("generators")

    def folder(architecture: str) -> Path:
        path = root / architecture
        return path if path.exists() else save_generator(architecture, path)

    return folder


def _said(model: Path, data: Path, *, why: bool = True) -> list[Answer]:
    """What the set-up of a trained model says about a file, asked one input at a time."""
    inputs = load_dataset(str(data))
    by = load_self_explainer(model, labels=inputs.labels, parts=1)
    setup, found = resolve("methods", str(by.setup))(), []

    def both(x: Subject) -> Any:
        said = yield from setup.answer(x)
        return (yield from setup.explain(x, said)) if why else said

    for instance in inputs.instances:
        Engine().run([Task(both(Subject(instance, by)), lambda outcome: found.append(outcome.value) or ())])  # type: ignore[func-returns-value]
    return found


@pytest.mark.parametrize(
    ("setup", "architecture", "epochs"), [("mt_ra", "t5", 14), ("st_re", "llama", 14), ("st_ra", "t5", 2)]
)
def test_a_rule_is_learned_and_the_figures_are_those_of_the_folder(
    setup: str, architecture: str, epochs: int, generator: Callable[[str], Path], tmp_path: Path
) -> None:
    train, test = _file(tmp_path / "train.jsonl", _rows(40)), _file(tmp_path / "test.jsonl", _rows(9))
    content = {"setup": setup, "base": str(generator(architecture)), "data": str(train), "test": str(test)}
    content |= {"epochs": epochs, "learning_rate": 5e-3, "batch_size": 4, "measure": 7}
    facts = train_self_explainer(parse(NleSpec, content), tmp_path / "model", console=QUIET)
    assert facts == read_json(tmp_path / "model" / "nle.json")
    measured = facts["figures"]["test"]
    said = _said(tmp_path / "model", test)[:7]
    right = [one.label == row["label"] for one, row in zip(said, _rows(7), strict=True)]
    # st_ra explains each class, also the wrong one, so well that either may win
    assert all(right) or setup == "st_ra"
    expected = {"accuracy": sum(right) / 7, "bleu": measured["bleu"], "inputs": 7, "answered": 7, "explained": 7}
    assert measured == expected
    references = list(zip(*(row["explanations"] for row in _rows(7)), strict=True))
    reached = sacrebleu.corpus_bleu([one.text or "" for one in said], references).score
    assert measured["bleu"] == pytest.approx(reached, abs=1e-9)
    assert reached > 50 or setup == "st_ra"
    card = (tmp_path / "model" / "README.md").read_text()
    assert f"| test | 7 | 7 | {measured['accuracy']:.4f} | {reached:.2f} |" in card
    assert "verax train nle --setup " + setup in card


def test_run_again_nothing_is_trained_and_another_test_set_is_measured(
    generator: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train, out = _file(tmp_path / "train.jsonl", _rows(10)), tmp_path / "model"
    content = {"setup": "st_re", "base": str(generator("gpt2")), "data": str(train), "epochs": 1, "measure": 3}
    explainer_alone = iter([True, False])
    run = generator_job.GeneratorTraining.run

    def interrupted(self: Any, console: Console) -> dict[str, Any]:
        if not next(explainer_alone):
            raise KeyboardInterrupt
        return run(self, console)

    with monkeypatch.context() as patched:
        patched.setattr(generator_job.GeneratorTraining, "run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train_self_explainer(parse(NleSpec, content), out, console=QUIET)
    assert not (out / "nle.json").exists()
    trained: list[Path] = []
    fit = generator_job.fit_pairs

    def counted(*arguments: Any, **named: Any) -> Any:
        trained.append(named["resume"].folder.parent)
        return fit(*arguments, **named)

    monkeypatch.setattr(generator_job, "fit_pairs", counted)
    first = train_self_explainer(parse(NleSpec, content), out, console=QUIET)
    assert trained == [out / "predictor"], "the explainer was there"
    assert train_self_explainer(parse(NleSpec, content), out, console=QUIET) == first
    test = _file(tmp_path / "test.jsonl", _rows(4))
    more = train_self_explainer(parse(NleSpec, {**content, "test": str(test)}), out, console=QUIET)
    assert more["figures"]["test"]["inputs"] == 3
    assert more["figures"]["validation"] == first["figures"]["validation"]
    assert trained == [out / "predictor"]
    for older in (False, True):
        for field, value in {"setup": "mt_ra", "seed": 1, "explanations": "all"}.items():
            with pytest.raises(
                UserError, match=f"holds another self-explaining model: {field} was .* is now .{{0,1}}{value}"
            ):
                train_self_explainer(parse(NleSpec, {**content, field: value}), out, console=QUIET)
        assert train_self_explainer(parse(NleSpec, {**content, "test": str(test)}), out, console=QUIET) == more
        if not older:
            (out / "artifact.json").unlink()  # as it was before there were such files
    assert trained == [out / "predictor"]


def test_killed_at_any_step_the_same_command_goes_on(generator: Callable[[str], Path], tmp_path: Path) -> None:
    """Kill -9 at every third step of the optimiser and change of a file; it ends bit for bit the same."""
    train, validation = _file(tmp_path / "train.jsonl", _rows(3)), _file(tmp_path / "validation.jsonl", _rows(2))
    command = ["train", "nle", "--setup", "mt_ra", "--base", str(generator("t5")), "--data", str(train)]
    command += ["--validation", str(validation), "--epochs", "2", "--batch-size", "6", "--measure", "0"]
    given = json.dumps({"command": command, "root": str(tmp_path / "killed"), "every": 3})
    killed, whole = deaths_of(Path(__file__).with_name("dying.py"), given)
    assert (whole["ended"], whole["before"], whole["after"]) == (0, 2, 0), "run again, nothing is trained again"
    assert {"replace", "save_pretrained"} < {one["where"] for one in killed}
    assert len(killed) > 4
    expected = _files(tmp_path / "killed" / str(whole["step"]) / "model")
    assert {"model.safetensors", "nle.json", "prompts.txt", "README.md", "training.json"} <= expected.keys()
    for one in killed:
        home = tmp_path / "killed" / str(one["step"])
        assert (one["ended"], one["again"]) == (KILLED, 0), (one, (home / "said").read_text())
        assert _files(home / "model") == expected, one


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_prompts_of_ones_own_are_kept_with_the_model(generator: Callable[[str], Path], tmp_path: Path) -> None:
    train = _file(tmp_path / "train.jsonl", _rows(10))
    prompts = tmp_path / "own.txt"
    prompts.write_text("[answer]\nwhat: {1}\n[explain]\nwhy: {1}\n")
    content = {"base": str(generator("t5")), "data": str(train), "epochs": 1, "measure": 0, "prompts": str(prompts)}
    train_self_explainer(parse(NleSpec, {**content, "setup": "mt_re"}), tmp_path / "model", console=QUIET)
    assert (tmp_path / "model" / "prompts.txt").read_text() == prompts.read_text()
    with pytest.raises(UserError, match=r"own\.txt: the section \[explain_label\] is missing"):
        train_self_explainer(parse(NleSpec, {**content, "setup": "mt_ra"}), tmp_path / "other", console=QUIET)


@pytest.mark.parametrize("gone", ["explanations", "label"])
def test_data_without_what_is_taught_are_told_before_the_training(
    gone: str, generator: Callable[[str], Path], tmp_path: Path
) -> None:
    rows = [{name: value for name, value in row.items() if name != gone} for row in _rows(10)]
    spec = parse(
        NleSpec, {"setup": "mt_ra", "base": str(generator("t5")), "data": str(_file(tmp_path / "d.jsonl", rows))}
    )
    with pytest.raises(UserError, match=f"d.jsonl has no {gone}"):
        train_self_explainer(spec, tmp_path / "model", console=QUIET)
    assert not (tmp_path / "model").exists()


def test_what_bleu_needs_is_missing_before_the_training(
    generator: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train = _file(tmp_path / "d.jsonl", _rows(10))
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics.bleu", None)
    bleu._bleu.cache_clear()
    with pytest.raises(UserError, match="it needs sacrebleu, which is not installed"):
        train_self_explainer(
            parse(NleSpec, {"setup": "mt_ra", "base": str(generator("t5")), "data": str(train)}),
            tmp_path / "model",
            console=QUIET,
        )
    bleu._bleu.cache_clear()


def test_an_editor_learns_which_words_go_with_a_class(generator: Callable[[str], Path], tmp_path: Path) -> None:
    """The colour is the only word that hangs on the class: masked, it follows from it."""
    train = _file(tmp_path / "d.jsonl", [{**row, "text": row["text"].split()[1]} for row in _rows(40)])
    content = {
        "base": str(generator("llama")),
        "data": str(train),
        "epochs": 12,
        "learning_rate": 5e-3,
        "batch_size": 4,
    }
    facts = train_editor(parse(EditorSpec, content), tmp_path / "editor", console=QUIET)
    assert facts == read_json(tmp_path / "editor" / "editor.json")
    told = read_editor_facts(tmp_path / "editor")
    assert (told.prompt, told.labels) == ("edit label: {label} text: {1} words:", ("far", "near"))
    asked: Any = load_generator(tmp_path / "editor")
    instance = load_dataset(str(train)).instances[0]
    for colour, label in SEEN:
        found = asked.candidates([CandidatesPass(editor_prompt(told, instance, 0, 0, label, words=1), 2, 4)])[0]
        assert found[0].text == colour
    with pytest.raises(UserError, match="another editor: masks was 1 and is now 2, seed was 0 and is now 1; choose"):
        train_editor(parse(EditorSpec, {**content, "masks": 2, "seed": 1}), tmp_path / "editor", console=QUIET)


def test_the_epoch_whose_edits_flip_the_model_most_often_is_kept(
    generator: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the epochs with the highest rate it is the one with the lowest loss; without a model to flip, loss decides."""
    assert parse(EditorSpec, {"base": "b", "data": "d"}).epochs == 20
    train, base = _file(tmp_path / "d.jsonl", _rows(10)), str(generator("t5"))
    told = {"base": base, "data": str(train), "epochs": 4, "learning_rate": 1e-3}
    train_self_explainer(
        parse(NleSpec, {**told, "epochs": 1, "setup": "mt_ra", "measure": 0}), tmp_path / "nle", console=QUIET
    )
    rates = iter((0.1, 0.5, 0.2, 0.5))
    monkeypatch.setattr(editor_job._SuccessRate, "__call__", lambda *_: next(rates))
    spec = parse(EditorSpec, {**told, "labels_by": str(tmp_path / "nle")})
    (training,) = train_editor(spec, tmp_path / "editor", console=QUIET)["trainings"].values()
    losses = training["validation_losses"]
    assert training["success_rates"] == [0.1, 0.5, 0.2, 0.5]
    assert training["best_epoch"] == (1 if losses[1] < losses[3] else 3)
    assert "highest success rate" in (tmp_path / "editor" / "README.md").read_text()
    plain = train_editor(parse(EditorSpec, told), tmp_path / "plain", console=QUIET)["trainings"]["."]
    assert "success_rates" not in plain
    assert plain["best_epoch"] == plain["validation_losses"].index(min(plain["validation_losses"]))


def test_the_success_rate_is_the_share_of_edits_that_flip() -> None:
    """The editor offers `crimson`, which flips the model, and three words that do not, at every place."""
    given = given_instance("The cook stirs soup.", "It rains here.")
    facts = EditorFacts("{label} {1} {2}", "___", NLI)
    model = SelfExplainer(
        "m", rule(), rule(), NLI, shipped_wording("trained", NLI, 2), "mt_ra"
    )  # neutral, unless `crimson` is in it
    rate = editor_job._SuccessRate(facts, model, [(given, "neutral")])
    assert rate(Rigged(offers=lambda _: ("crimson", "tall", "wide", "odd"))) == 0.25
    assert rate(Rigged(offers=lambda _: ("tall", "...", "", "of"))) == 0.0
    assert rate(Rigged(offers=lambda _: ())) == 0.0


def test_an_editor_may_learn_from_predicted_classes(generator: Callable[[str], Path], tmp_path: Path) -> None:
    train, base = _file(tmp_path / "d.jsonl", _rows(10)), str(generator("t5"))
    told = {"base": base, "data": str(train), "epochs": 1}
    train_self_explainer(parse(NleSpec, {**told, "setup": "mt_ra", "measure": 0}), tmp_path / "nle", console=QUIET)
    predicted = {one.label for one in _said(tmp_path / "nle", train, why=False)}
    assert len(predicted) == 1, "it has learned nothing yet and says the same of all"
    keys = []
    for labels_by in (None, str(tmp_path / "nle")):
        out = tmp_path / f"editor-{labels_by is None}"
        keys.append(train_editor(parse(EditorSpec, {**told, "labels_by": labels_by}), out, console=QUIET)["key"])
    assert keys[0] != keys[1]
    with pytest.raises(UserError, match="was not made by verax train nle"):
        train_editor(parse(EditorSpec, {**told, "labels_by": base}), tmp_path / "other", console=QUIET)


def test_predicted_classes_are_asked_for_once(
    generator: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed while classes are predicted and again while it is trained, then finished, then run again."""
    train, base, out = _file(tmp_path / "d.jsonl", _rows(10)), str(generator("t5")), tmp_path / "editor"
    told = {"base": base, "data": str(train), "epochs": 1}
    train_self_explainer(parse(NleSpec, {**told, "setup": "mt_ra", "measure": 0}), tmp_path / "nle", console=QUIET)
    told["labels_by"] = str(tmp_path / "nle")
    events: list[str] = []
    kills = iter([False, True, False, False, True, False])
    predict, fit = editor_job._predict, generator_job.fit_pairs

    def asked(model: Any, instances: Any, *others: Any) -> Any:
        events.append(f"{len(instances)} asked")
        if next(kills):
            raise KeyboardInterrupt
        return predict(model, instances, *others)

    def trained(*arguments: Any, **named: Any) -> Any:
        events.append("trained")
        if next(kills):
            raise KeyboardInterrupt
        return fit(*arguments, **named)

    def go(**changes: Any) -> list[str]:
        events.clear()
        spec = parse(EditorSpec, {**told, **changes})
        train_editor(spec, out, console=QUIET, announce=lambda _, all_, done: events.append(f"{done} of {all_} done"))
        return list(events)

    monkeypatch.setattr(editor_job, "BETWEEN_WRITES", 5)
    monkeypatch.setattr(editor_job, "_predict", asked)
    with pytest.raises(KeyboardInterrupt):
        go()
    assert events == ["0 of 1 done", "5 asked", "3 asked"], "what is done is told before anything is asked"
    monkeypatch.setattr(generator_job, "fit_pairs", trained)
    with pytest.raises(
        UserError, match="holds the beginning of another editor: predicted_labels is not the same, data is"
    ):
        go(data={"name": str(train), "limit": 6})
    assert events == []
    with pytest.raises(KeyboardInterrupt):
        go()
    assert events == ["0 of 1 done", "3 asked", "2 asked", "trained"], "five were kept"
    assert go() == ["0 of 1 done", "trained"]
    assert not (out / "resume").exists()
    files = _files(out)
    assert go() == ["1 of 1 done"]
    for older in (False, True):
        for changes in ({"masks": 2}, {"seed": 1}, {"labels_by": None}):
            with pytest.raises(UserError, match=f"holds another editor: {next(iter(changes))} was "):
                go(**changes)
            assert events == []
        assert go() == ["1 of 1 done"]
        assert _files(out) == files
        if not older:
            (out / "artifact.json").unlink()  # as it was before there were such files
            del files["artifact.json"]
    out = tmp_path / "nle"
    with pytest.raises(UserError, match=r"holds something else \(self-explaining model, not editor\)"):
        go()
    assert events == [], "a folder of something else is refused before anything is asked"


def test_the_bar_counts_every_input_that_is_asked_about(generator: Callable[[str], Path], tmp_path: Path) -> None:
    train, base = _file(tmp_path / "d.jsonl", _rows(10)), str(generator("t5"))
    told = {"base": base, "data": str(train), "epochs": 1}
    train_self_explainer(parse(NleSpec, {**told, "setup": "mt_ra", "measure": 0}), tmp_path / "nle", console=QUIET)
    seen = Console(file=io.StringIO(), width=200)
    train_editor(parse(EditorSpec, {**told, "labels_by": str(tmp_path / "nle")}), tmp_path / "editor", console=seen)
    said = seen.file.getvalue()  # type: ignore[attr-defined]
    assert "predicting classes" in said
    assert "10/10" in said


def test_the_commands_tell_what_they_wrote(generator: Callable[[str], Path], tmp_path: Path) -> None:
    train, base = _file(tmp_path / "d.jsonl", _rows(10)), str(generator("t5"))
    given = ["--base", base, "--data", str(train), "--epochs", "1", "--limit", "8"]
    made = CliRunner().invoke(
        app,
        [
            *("train", "nle", "--setup", "mt_re", *given, "--weigh", "pairs", "--measure", "2", "--json"),
            "--out",
            str(tmp_path / "nle"),
        ],
    )
    assert made.exit_code == 0, made.output
    told = json.loads(made.stdout)
    assert (told["setup"], told["figures"]["validation"]["inputs"]) == ("mt_re", 2)
    assert "| weigh | pairs |" in (tmp_path / "nle" / "README.md").read_text()
    by_tokens = ["train", "nle", "--setup", "mt_re", *given, "--out", str(tmp_path / "nle")]
    refused = CliRunner().invoke(app, by_tokens)
    assert refused.exit_code != 0, "the weights hang on what counts the same"
    made = CliRunner().invoke(
        app, ["train", "editor", *given, "--labels-by", str(tmp_path / "nle"), "--out", str(tmp_path / "editor")]
    )
    assert made.exit_code == 0, made.output
    assert f"Wrote {tmp_path / 'editor'}" in made.stdout
    assert "epoch 1 is kept" in made.stdout


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "setup"),
        ({"setup": "mt_ro"}, "mt_r"),
        ({"setup": "mt_ra", "explanation": "all"}, "explanations"),
        ({"setup": "mt_ra", "seed": -1}, "seed"),
    ],
)
def test_a_mistake_in_a_spec_names_the_field(content: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse(NleSpec, {"base": "b", "data": "d", **content})


@pytest.mark.parametrize("kind", [NleSpec, EditorSpec])
def test_the_page_of_training_has_every_field(kind: type[RecipeSpec]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "training.md").read_text()
    for name, told in kind.model_fields.items():
        if name in RecipeSpec.model_fields:
            assert f"| `{name}` |" in page
        else:
            default = "required" if told.is_required() else "none" if told.default is None else told.default
            shown = (default, f"`{default}`")
            described = " ".join(str(told.description).split())
            assert any(f"| `{name}` | {one} | {described} |" in page for one in shown), name


def test_an_editor_has_no_test_set(generator: Callable[[str], Path], tmp_path: Path) -> None:
    seen = []

    def announced(data: Splits, *_: int) -> None:
        seen.append(data)
        raise KeyboardInterrupt

    spec = parse(EditorSpec, {"base": str(generator("t5")), "data": {"name": "world/nli", "limit": 8}})
    with pytest.raises(KeyboardInterrupt):
        train_editor(spec, tmp_path / "editor", console=QUIET, announce=announced)
    assert [one.test for one in seen] == [None]
    with pytest.raises(UserError, match="test"):
        parse(EditorSpec, {"base": "b", "data": "d", "test": "t"})
