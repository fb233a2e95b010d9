"""The command line, as a person meets it."""

from __future__ import annotations

import csv
import importlib.metadata
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from conftest import PAIRS
from support.answering import answers_by_rule
from support.cli import CallVerax
from support.fault_server import FaultServer
from support.plug_ins import InstallPlugIn
from verax.jobs.training.spec import EditorSpec, NleSpec, RecipeSpec, TrainSpec
from verax.registry import entries
from verax.results.run import Run
from verax.run.prepare import prepare
from verax.run.spec import parse_spec, read_spec
from verax.store.store import Store

VERAX = [sys.executable, "-m", "verax"]


@pytest.fixture
def spec(tmp_path: Path, checkpoint: Callable[[str], Path]) -> Path:
    """Fifteen pairs with gold words, one of them blank, and a tiny model."""
    return write_spec(tmp_path, checkpoint("bert"), 15)


def write_spec(folder: Path, model: Path, rows: int, **more: Any) -> Path:
    lines = []
    for i in range(rows):
        premise, hypothesis = PAIRS[i % len(PAIRS)]
        blank = i == 7
        row = {"premise": f"{premise} {i}", "hypothesis": " " if blank else hypothesis, "label": "no"}
        lines.append(json.dumps({**row, "gold": [[0], [] if blank else [0]]}))
    (folder / "data.jsonl").write_text("\n".join(lines))
    content = {
        "model": str(model),
        "data": {"name": str(folder / "data.jsonl"), "columns": {"gold_words": "gold"}},
        "methods": ["leave_one_out", "saliency"],
        "metrics": ["comprehensiveness", "agreement"],
        **more,
    }
    path = folder / "spec.yaml"
    path.write_text(json.dumps(content))
    return path


def test_listing_imports_no_torch() -> None:
    code = (
        "import sys; sys.argv = ['verax', 'list', 'methods', '--format', 'json']\n"
        "from verax.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        "heavy = {'torch', 'transformers', 'scipy', 'pandas', 'pyarrow', 'sklearn'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    names = [row["name"] for row in json.loads(done.stdout)]
    assert names[:2] == ["activation", "attention"]


@pytest.mark.parametrize("what", ["methods", "metrics", "datasets", "models", "presets"])
def test_list(verax: CallVerax, what: str) -> None:
    said = verax("list", what)
    rows = json.loads(verax("list", what, "--format", "json").out)
    assert said.code == 0
    assert all(row["name"] in said.out for row in rows)
    assert all(set(row) == {"name", "display", "kind", "summary", "cost", "reference"} for row in rows)


@pytest.mark.parametrize("width", [60, 80, 160])
def test_list_without_a_name_lists_everything(verax: CallVerax, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    said = verax("list")
    listed = json.loads(verax("list", "--format", "json").out)
    assert said.code == 0
    assert {"methods", "metrics", "datasets", "models", "presets", "studies"} <= set(listed)
    assert all(row["name"] in said.out for rows in listed.values() for row in rows)
    assert listed["methods"] == json.loads(verax("list", "methods", "--format", "json").out)


def test_run_from_plan_to_report(verax: CallVerax, spec: Path, tmp_path: Path) -> None:
    plan = verax("run", spec, "--dry-run")
    assert plan.code == 0
    assert "15 instances x 3 methods x 2 metrics: 150 rows" in plan.err
    assert "done already: 0; to do: 150" in plan.err
    names = ["forward passes", "backward passes", "time", "memory", "disk"]
    assert [line.split("  ")[0] for line in plan.out.splitlines()[3:8]] == names
    assert not (tmp_path / "runs").exists(), "a dry run leaves nothing behind"
    first = verax("run", spec, "--limit", "10", "--out", "mine")
    assert first.code == 0, first.err
    assert "100 rows = 90 done + 0 failed + 10 skipped" in first.out
    assert "Next: verax report mine" in first.out
    assert "done already: 100; to do: 50" in verax("run", spec, "--dry-run", "--out", "mine").err
    whole = verax("run", spec, "--out", "mine")
    assert "150 rows = 140 done + 0 failed + 10 skipped" in whole.out
    finished = verax("run", spec, "--dry-run", "--out", "mine").out
    assert "nothing is left" in finished
    assert "passes" not in finished
    again = verax("run", spec, "--out", "mine")
    assert "done already: 150; to do: 0, computing at most 0 forward and 0 backward passes" in again.err
    assert verax("report", "mine", "-o", "report.html").code == 0
    assert "leave_one_out" in (tmp_path / "report.html").read_text()
    card = json.loads((tmp_path / "mine" / "run.json").read_text())
    assert card["command"] == f"verax run {spec} --out mine"
    assert card["spec"]["data"]["columns"]["gold_words"] == ["gold"]


def test_results_of_a_run_in_every_format(verax: CallVerax, spec: Path) -> None:
    verax("run", spec, "--out", "r")
    (study,) = json.loads(verax("show", "r", "--format", "json").out)
    rankings = {table["name"]: table["rows"] for table in study["tables"]}
    assert list(rankings) == ["verdict", "overview", "comprehensiveness", "agreement"]
    rows = rankings["comprehensiveness"] + rankings["agreement"]
    assert len(rows) == 6
    fields = {"method", "metric", "mean", "mean_low", "mean_high", "n", "skipped", "random", "p"}
    assert fields <= set(rows[0])
    assert {row["skipped"] for row in rows} == {1}
    one = ("show", "r", "--table", "agreement", "--format")
    assert len(list(csv.DictReader(io.StringIO(verax(*one, "csv").out)))) == 3
    assert r"\toprule" in verax(*one, "latex").out
    assert "| Method | Mean |" in verax(*one, "markdown").out
    assert "agreement" in verax("show", "r").out


def test_kinds_of_a_run(verax: CallVerax, tmp_path: Path, checkpoint: Callable[[str], Path]) -> None:
    few = {"budget": 12}
    methods = [
        {"kernel_shap": few},
        {"bivariate_shapley": few},
        {"louvain": {"over": {"bivariate_shapley": few}}},
        "random_interaction",
        "random_span",
    ]
    metrics = ["comprehensiveness_flips", "sufficiency_flips", {"complexity": {"top": "span_pairs"}}]
    spec = write_spec(tmp_path, checkpoint("bert"), 6, methods=methods, metrics=metrics)
    ran = verax("run", spec, "--out", "r")
    assert ran.code == 0, ran.err
    assert verax("show", "r").out in ran.out, "a run prints what it found"
    (study,) = json.loads(verax("show", "r", "--study", "unified", "--format", "json").out)
    tables = {table["name"]: table["rows"] for table in study["tables"]}
    assert list(tables) == ["comprehensiveness", "sufficiency", "complexity", "models", "stability"]
    for name in ("comprehensiveness", "sufficiency", "complexity"):
        kinds = [row for row in tables[name] if row["explanation"] in {"words", "word pairs", "span pairs"}]
        assert len(kinds) == 3
        assert all(row["shapley"] is not None and row["random"] is not None for row in kinds)
    assert len(tables["stability"]) == 1


def test_compare(verax: CallVerax, spec: Path, checkpoint: Callable[[str], Path]) -> None:
    verax("run", spec, "--out", "a")
    verax("run", spec, "--out", "b", "--model", checkpoint("distilbert"))
    verax("run", spec, "--out", "c")
    (study,) = json.loads(verax("compare", "a", "b", "--format", "json").out)
    pairs = {(row["method"], row["metric"]) for row in study["tables"][0]["rows"]}
    assert pairs >= {("leave_one_out", "agreement")}
    (same,) = json.loads(verax("compare", "a", "c", "--format", "json").out)
    assert {row["p"] for row in same["tables"][0]["rows"]} == {1.0}
    assert "LOO" in verax("compare", "a", "b").out


def test_what_is_missing_is_said(verax: CallVerax, spec: Path, tmp_path: Path) -> None:
    """Reasons after a run; a run that lacks a shard, or has other texts under the same ids, is not taken as it is."""
    said = verax("run", spec, "--out", "a")
    assert "without a value: empty 10" in said.out
    assert "warning" not in verax("show", "a").err
    other = tmp_path / "other"
    other.mkdir()
    changed = Path(json.loads(spec.read_text())["data"]["name"])
    changed.write_text(changed.read_text().replace("boat", "ship"))
    verax("run", spec, "--out", "b")
    mixed = verax("compare", "a", "b")
    assert (mixed.code, mixed.err.count("\n")) == (2, 1)
    assert "not the same text" in mixed.err
    next((tmp_path / "a" / "shards").glob("scores-*")).unlink()
    lacking = verax("show", "a")
    assert (lacking.code, lacking.out) == (2, "")
    assert "scores-" in lacking.err
    assert "60 of 150 rows done, 90 missing" in lacking.err
    assert "150 rows = " in said.out, "inputs are no rows here either"


def test_a_model_that_fails_is_no_success(verax: CallVerax, tmp_path: Path) -> None:
    code = "def answer(texts):\n    if texts != [('a lake',)]:\n        raise RuntimeError('out of order')\n"
    (tmp_path / "broken_model.py").write_text(f"{code}    return [[0.5, 0.5]]\n")
    (tmp_path / "data.jsonl").write_text('{"text": "a boat", "label": "perhaps"}\n{"text": "a lake", "label": "x"}\n')
    model = {"name": "python:broken_model:answer", "labels": ["x", "y"]}
    content = {"model": model, "data": "data.jsonl", "metrics": ["complexity", "comprehensiveness"]}
    (tmp_path / "spec.yaml").write_text(json.dumps(content))
    said = verax("run", "spec.yaml", "--import-from", ".")
    assert said.code == 1
    assert "out of order" in said.err
    assert "'perhaps'" in said.err, "a label that the model has no class for"


def test_explain(verax: CallVerax, checkpoint: Callable[[str], Path]) -> None:
    args = ("explain", "The small boat", "a lake", "--model", checkpoint("bert"), "--method", "integrated_gradients")
    said = verax(*args, "--set", "steps=7", "--target", "no", "--json")
    made = json.loads(said.out)
    assert (made["method"], made["target"]["of"]) == ("integrated_gradients(target=no, steps=7)", "no")
    assert made["parameters"]["steps"] == 7
    assert [part["words"] for part in made["parts"]] == [["The", "small", "boat"], ["a", "lake"]]
    assert made["parts"][0]["offsets"] == [[0, 3], [4, 9], [10, 14]]
    assert all(isinstance(score, float) for part in made["parts"] for score in part["scores"])
    assert set(made["prediction"]["probabilities"]) == {"yes", "maybe", "no"}
    shown = verax(*args)
    assert shown.code == 0
    assert "The small boat" in shown.out
    assert "predicted" in shown.out


def test_explain_side_by_side(verax: CallVerax, checkpoint: Callable[[str], Path]) -> None:
    """All methods that there are, or those that were named; what has nothing to say gives its reason."""
    args = ("explain", "The small boat", "a lake", "--model", checkpoint("bert"))
    said = verax(*args, "--method", "all", "--target", "no", "--json")
    made = json.loads(said.out)
    assert made["skipped"] == []
    assert [one["method"].split("(")[0] for one in made["explanations"]] == [
        entry.name for entry in entries("methods").values() if entry.kind != "text" and entry.reference != "control"
    ]
    assert {one["target"]["of"] for one in made["explanations"]} == {"no", "prediction"}, "random explains nothing"
    shown = verax(*args, "--method", "lime", "--method", "exact_shapley")
    assert shown.code == 0
    assert all(word in shown.out for word in ("lime", "exact_shapley", "small", "lake", "predicted"))
    assert "saliency" not in shown.out
    long = ("explain", " ".join("abcdefghijklmno"), "--model", checkpoint("bert"))
    assert "exact_shapley: too_many_words: 15 words" in verax(*long, "--method", "all").out
    assert "removal" in verax(*args[:3], "--model", checkpoint("gpt2"), "--method", "all").out.replace(
        "remove", "removal"
    )
    refused = verax(*args, "--method", "lime", "--method", "saliency", "--set", "samples=3")
    assert (refused.code, "--set" in refused.err) == (2, True)
    nothing = verax(*args, "--method", "beam", "--method", "lime", "--target", "gold")
    assert "no_label" in nothing.out


def test_a_self_explaining_model_is_explained_in_its_own_words(verax: CallVerax) -> None:
    args = ("explain", "A gloomy teacher is peaceful.", "The teacher is sad.", "--model", "world/nli-mt-ra")
    made = json.loads(verax(*args, "--json").out)
    assert made["method"] == "mt_ra"
    assert made["text"]
    shown = verax(*args, "--method", "mt_ra")
    assert shown.code == 0, shown.err
    assert "mt_ra explains" in shown.out
    assert made["text"] in shown.out
    every = json.loads(verax(*args, "--method", "all", "--json").out)
    assert [one["text"] for one in every["explanations"]] == [made["text"]]
    assert {one["reason"] for one in every["skipped"]} == {"unfit"}
    assert made["text"] in verax(*args, "--method", "all").out
    for options, problem in {
        ("--method", "saliency"): "saliency needs class outputs and gradients",
        ("--prompts", "mine.txt"): "prompts: 'world/nli-mt-ra' has the prompts that it was trained on",
    }.items():
        said = verax(*args, *options)
        assert (said.code, problem in said.err) == (2, True), said.err


def test_a_model_that_follows_instructions_is_prompted(verax: CallVerax) -> None:
    args = ("explain", "A dog sleeps.", "A cat sleeps.", "--model", "m", "--method", "explain_then_answer")
    with FaultServer(default=answers_by_rule()) as server:
        said = verax(*args, "--endpoint", server.url, "--labels", "entailment, neutral,contradiction", "--json")
        lacking = verax(*args, "--endpoint", server.url)
    made = json.loads(said.out)
    assert made["method"] == "explain_then_answer"
    assert made["prediction"]["label"] in {"entailment", "neutral", "contradiction"}
    assert (lacking.code, "--labels" in lacking.err) == (2, True)
    refused = verax("explain", "a b", "c", "--method", "mt_ra")
    assert (refused.code, "mt_ra needs free text" in refused.err) == (2, True)


def test_a_preset(verax: CallVerax, spec: Path, checkpoint: Callable[[str], Path]) -> None:
    """On a spec's model and data, and echoed so that the run can be done again."""
    said = verax("run", spec, "--preset", "importance-measures", "--limit", "2", "--out", "out")
    assert said.code == 0, said.err
    card = json.loads(Path("out/run.json").read_text())
    assert len(card["methods"]) == 10, "nine measures and random"
    assert card["command"] == f"verax run {spec} --out out --preset importance-measures --limit 2"
    assert verax("run", "--preset", "attribution-table", "--limit", "2", "--dry-run").code == 0
    assert "runs/attribution-table" in verax("run", "--preset", "attribution-table", "--limit", "2", "--dry-run").err


def test_flags_can_take_the_place_of_a_spec(verax: CallVerax, checkpoint: Callable[[str], Path]) -> None:
    Path("mine.csv").write_text("two,one,verdict\na lake,The small boat,yes\nthe wind,A tall woman,no\n")
    flags = ("--model", checkpoint("bert"), "--data", "mine.csv", "--methods", "leave_one_out, saliency")
    flags += ("--columns", "hypothesis=two,premise=one,label=verdict", "--metrics", "comprehensiveness")
    flags += ("--on-long", "truncate")
    said = verax("run", *flags, "--out", "out")
    assert said.code == 0, said.err
    run = Run(Path("out"))
    assert run.methods == ("random", "leave_one_out", "saliency")
    assert run.metrics == ("comprehensiveness",)
    assert [[part.raw for part in one.parts] for one in run.inputs()] == [
        ["The small boat", "a lake"],
        ["A tall woman", "the wind"],
    ]
    assert "'leave_one_out, saliency'" in run.manifest.command
    assert run.manifest.model.facts["on_long"] == "truncate"
    assert verax(*shlex.split(run.manifest.command)[1:]).code == 0, "the recorded command repeats the run"


def test_flags_replace_methods_and_metrics_of_a_spec(verax: CallVerax, spec: Path) -> None:
    said = verax("run", spec, "--methods", "random", "--metrics", "complexity", "--limit", "2", "--out", "out")
    assert said.code == 0, said.err
    assert (Run(Path("out")).methods, Run(Path("out")).metrics) == (("random",), ("complexity",))


def test_version(verax: CallVerax) -> None:
    said = verax("--version")
    assert (said.code, said.out) == (0, f"verax {importlib.metadata.version('verax')}\n")


def test_a_list_is_written_in_every_format(verax: CallVerax, tmp_path: Path) -> None:
    assert verax("list", "aligners", "--format", "csv").out.startswith('"name","display","kind"')
    assert verax("list", "aligners", "--format", "markdown").out.count("\n| ") > 3
    for kind in ("terminal", "latex"):
        assert verax("list", "aligners", "--format", kind, "--out", "list.txt").out == ""
        assert "embedding" in (tmp_path / "list.txt").read_text()
    refused = verax("list", "aligners", "--format", "csv", "--out", "nowhere/list.csv")
    assert (refused.code, "cannot be written" in refused.err) == (2, True)


def test_list_shows_cost_and_reference(verax: CallVerax) -> None:
    shown = verax("list", "methods").out
    assert "n + 1 forward" in shown
    assert "Sundararajan" in shown
    listed = {row["name"]: row for row in json.loads(verax("list", "methods", "--format", "json").out)}
    assert listed["leave_one_out"]["cost"] == "n + 1 forward"
    assert listed["beam"]["reference"].startswith("Zhou and Shah 2023")


def test_list_describes_plug_ins_and_survives_those_that_cannot_be_imported(
    verax: CallVerax, tmp_path: Path, install_plug_in: InstallPlugIn
) -> None:
    (tmp_path / "cli_plug_in.py").write_text("class Shout:\n    kind, summary = 'token', 'Scores by capitals.'\n")
    (tmp_path / "cli_broken.py").write_text("raise RuntimeError('out of order')\n")
    install_plug_in("loud", {"verax.methods": {"shout": "cli_plug_in:Shout", "broken": "cli_broken:Shout"}})
    answer = verax("list", "methods", "--format", "json")
    assert answer.code == 0
    rows = {row["name"]: row for row in json.loads(answer.out)}
    assert (rows["shout"]["kind"], rows["shout"]["summary"]) == ("token", "Scores by capitals. From loud.")
    assert rows["broken"]["kind"] == "plug-in"
    assert rows["broken"]["summary"] == "From loud; it cannot be imported: RuntimeError: out of order"
    assert verax("list", "methods").code == 0


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("explain", "a", "--model", "{bert}", "--method", "salience"), "did you mean 'saliency'"),
        (("explain", " ", "--model", "{bert}", "--method", "all"), "empty: part 1 has no words"),
        (("explain", "a", "--model", "{bert}", "--method", "lime", "--method", "beem"), "did you mean 'beam'"),
        (("run", "--preset", "importance"), "did you mean 'importance-measures'"),
        (("explain", "a", "--model", "{bert}", "--set", "target=yes", "--target", "no"), "use one of them"),
        (("explain", "a", "--model", "{bert}", "--set", "steps"), "write it as key=value"),
        (("explain", "a", "--model", "{bert}", "--set", "step=3"), "did you mean 'steps'"),
        (("explain", "a", "--model", "{bert}", "--target", "nein"), "unknown target 'nein'"),
        (("explain", "a", "--model", "{bert}", "--target", "gold"), "no_label"),
        (("explain", " ", "--model", "{bert}"), "empty: part 1 has no words"),
        (("explain", "a", "--model", "wrld/nli"), "did you mean 'world/nli'"),
        (("list", "method"), "did you mean 'methods'"),
        (("show", "nowhere"), "nowhere"),
        (("report", "nowhere"), "nowhere"),
        (("compare", "nowhere", "there"), "nowhere"),
        (("run", "nothing.yaml"), "nothing.yaml"),
        (("rum", "x"), "Did you mean 'run'"),
        (("run", "--limt", "3", "x"), "--limit"),
        (("run",), "spec.yaml"),
        (("run", "--model", "m", "--data", "d", "--metrics", "agreement"), "--out"),
        (("run", "--preset", "unified", "--columns", "premise"), "write premise=COLUMN"),
        (("run", "--preset", "unified", "--methods", "louvain,lemi"), "unknown method 'lemi'"),
        (("run", "--preset", "unified", "--metrics", "agreemnt"), "did you mean 'agreement'"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(
    verax: CallVerax, checkpoint: Callable[[str], Path], args: tuple[str, ...], message: str
) -> None:
    said = verax(*(str(checkpoint("bert")) if arg == "{bert}" else arg for arg in args))
    assert said.code == 2
    assert message in said.err
    assert said.err.startswith("error: ")
    assert said.err.count("\n") == 1, said.err
    assert "Traceback" not in said.err


def test_debug_shows_where(verax: CallVerax) -> None:
    said = verax("show", "nowhere", "--debug")
    assert said.code == 2
    assert "Traceback" in said.err


def test_help_has_examples_and_few_options_in_a_panel(verax: CallVerax) -> None:
    assert verax().code == 0
    for command in ("list", "explain", "run", "show", "compare", "report", "import", "demo", "audit", "check"):
        said = verax(command, "--help")
        assert f"verax {command}" in said.out.replace("\n", " ")
        assert "Example" in said.out
        for panel in said.out.split("╭─")[1:]:
            options = [line for line in panel.splitlines() if re.match(r"│[ *]+(-\w,? +)?--", line)]
            assert len(options) <= 11, "ten in a panel, and --help"


def test_data_that_looks_like_markup_is_shown_as_it_is(verax: CallVerax, checkpoint: Callable[[str], Path]) -> None:
    said = verax("explain", "[bold]boat[/bold] \x1b[31mred", "--model", checkpoint("bert"), "--method", "saliency")
    assert said.code == 0
    assert "[bold]boat[/bold]" in said.out
    assert "\x1b[31mred" not in said.out


def test_ctrl_c_keeps_what_was_done(tmp_path: Path, checkpoint: Callable[[str], Path]) -> None:
    """A real SIGINT in the middle of a run: exit code 130, and the same command goes on from there."""
    spec = write_spec(tmp_path, checkpoint("bert"), 600, token_budget=256)
    command = [*VERAX, "run", str(spec), "--out", str(tmp_path / "run")]
    # whoever runs the tests in the background ignores the signal, and children inherit that
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    pipes: dict[str, Any] = {"stderr": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes, preexec_fn=heard) as process:  # noqa: PLW1509 - no thread holds a lock here
        deadline = time.monotonic() + 300
        while not any(path.stat().st_size > 20_000 for path in tmp_path.glob("run/journal-*.log")):
            assert time.monotonic() < deadline
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "the same command continues from there" in err
    assert "Traceback" not in err
    with Store.open(tmp_path / "run") as store:
        left = prepare(parse_spec(read_spec(spec))).plan.remaining(store.keys)
    assert 0 < left.done < left.rows == 6000


def test_a_second_process_is_refused_within_a_second(
    tmp_path: Path, checkpoint: Callable[[str], Path], verax: CallVerax
) -> None:
    """Refusal itself takes less than a second; loading the model, which comes before it, is not counted."""
    spec = write_spec(tmp_path, checkpoint("bert"), 5)
    holder = (
        "import sys, time; from pathlib import Path; from verax.store.store import Store\n"
        "with Store.open(Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"
    )
    folder = tmp_path / "run"
    with subprocess.Popen([sys.executable, "-c", holder, str(folder)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        said = verax("run", spec, "--out", folder)
        assert said.code == 2
        assert str(process.pid) in said.err
        process.kill()
    assert verax("run", spec, "--out", folder).code == 0, "a lock dies with its process"


def test_the_run_survives_a_closed_pipe(tmp_path: Path, checkpoint: Callable[[str], Path]) -> None:
    """`verax list | head -1` is no error worth a traceback."""
    command = f"{sys.executable} -m verax list methods --format json | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, env={**os.environ})
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("command", "spec"), [("masked", TrainSpec), ("nle", NleSpec), ("editor", EditorSpec)])
def test_the_help_of_train_states_the_defaults_of_the_spec(
    verax: CallVerax, command: str, spec: type[RecipeSpec]
) -> None:
    said = " ".join(verax("train", command, "--help").out.replace("│", " ").split())
    fields = spec.model_fields
    for option in ("epochs", "batch_size", "learning_rate"):
        stated = re.search(rf"--{option.replace('_', '-')} .*?[Dd]efault: ([\w.-]+?)\.? ", said)
        default = fields[option].default
        assert stated is not None
        assert default is None or float(stated[1]) == default
