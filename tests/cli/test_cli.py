"""The command line, as a person meets it."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from conftest import PAIRS
from support.plug_ins import InstallPlugIn
from verax.cli import main
from verax.registry import entries

VERAX = [sys.executable, "-m", "verax"]


class Answer(NamedTuple):
    """What a command printed, and how it ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def verax(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., Answer]:
    """Call the command line in this process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")

    def call(*args: str | Path) -> Answer:
        monkeypatch.setattr(sys, "argv", ["verax", *map(str, args)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return Answer(int(ended.value.code or 0), out, err)

    return call


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
        "import sys; sys.argv = ['verax', 'list', 'methods', '--json']\n"
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
def test_list(verax: Callable[..., Answer], what: str) -> None:
    said = verax("list", what)
    rows = json.loads(verax("list", what, "--json").out)
    assert said.code == 0
    assert all(row["name"] in said.out for row in rows)
    assert all(set(row) == {"name", "display", "kind", "summary", "cost", "reference"} for row in rows)


def test_run_from_plan_to_report(verax: Callable[..., Answer], spec: Path, tmp_path: Path) -> None:
    plan = verax("run", spec, "--dry-run")
    assert plan.code == 0
    assert "15 instances x 3 methods x 2 metrics: 150 rows" in plan.err
    assert "done already: 0; to do: 150" in plan.err
    assert not (tmp_path / "runs").exists(), "a dry run leaves nothing behind"
    first = verax("run", spec, "--limit", "10", "--out", "mine")
    assert first.code == 0, first.err
    assert "100 rows = 90 done + 0 failed + 10 skipped" in first.out
    assert "Next: verax report mine" in first.out
    assert "done already: 100; to do: 50" in verax("run", spec, "--dry-run", "--out", "mine").err
    whole = verax("run", spec, "--out", "mine")
    assert "150 rows = 140 done + 0 failed + 10 skipped" in whole.out
    again = verax("run", spec, "--out", "mine")
    assert "done already: 150; to do: 0, computing at most 0 forward and 0 backward passes" in again.err
    assert verax("report", "mine", "-o", "report.html").code == 0
    assert "leave_one_out" in (tmp_path / "report.html").read_text()
    card = json.loads((tmp_path / "mine" / "run.json").read_text())
    assert card["command"] == f"verax run {spec} --out mine"
    assert card["spec"]["data"]["columns"]["gold_words"] == ["gold"]


def test_summary_formats(verax: Callable[..., Answer], spec: Path) -> None:
    verax("run", spec, "--out", "r")
    rows = json.loads(verax("summary", "r", "--json").out)
    assert len(rows) == 6
    fields = {"method", "metric", "mean", "low", "high", "n", "skipped", "random", "p", "p_holm"}
    assert fields <= set(rows[0])
    assert {row["skipped"] for row in rows} == {1}
    assert len(list(csv.DictReader(io.StringIO(verax("summary", "r", "--csv").out)))) == 6
    assert r"\toprule" in verax("summary", "r", "--latex").out
    assert verax("summary", "r", "--markdown").out.startswith("|")
    assert "agreement" in verax("summary", "r").out
    both = verax("summary", "r", "--json", "--csv")
    assert (both.code, both.err.count("\n")) == (2, 1)


def test_unified_formats(verax: Callable[..., Answer], tmp_path: Path, checkpoint: Callable[[str], Path]) -> None:
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
    shown = verax("unified", "r").out
    assert shown in ran.out, "a run that has the tables prints them"
    assert "Sufficiency (higher is better)" in shown
    rows = json.loads(verax("unified", "r", "--json").out)
    places = {(row["property"], row["kind"], row["base"]) for row in rows}
    kinds = ("token", "token_interaction", "span_interaction")
    names = ("comprehensiveness", "sufficiency", "complexity")
    expected = {(name, kind, base) for name in names for kind in kinds for base in ("shapley", "random")}
    assert places == expected | {("stability", "span_interaction", "shapley")}
    assert len(list(csv.DictReader(io.StringIO(verax("unified", "r", "--csv").out)))) == len(rows)
    assert verax("unified", "r", "--latex").out.count(r"\begin{table}") == 4
    assert "| Sufficiency | Shapley | Random |" in verax("unified", "r", "--markdown").out
    both = verax("unified", "r", "--latex", "--csv")
    assert (both.code, both.err.count("\n")) == (2, 1)


def test_unified_needs_two_kinds(verax: Callable[..., Answer], spec: Path) -> None:
    verax("run", spec, "--out", "r", "--limit", "2")
    said = verax("unified", "r")
    assert (said.code, said.out) == (2, "")
    assert "fewer than two kinds of explanation" in said.err


def test_compare(verax: Callable[..., Answer], spec: Path, checkpoint: Callable[[str], Path]) -> None:
    verax("run", spec, "--out", "a")
    verax("run", spec, "--out", "b", "--model", checkpoint("distilbert"))
    rows = json.loads(verax("compare", "a", "b", "--json").out)
    assert {(row["method"], row["metric"]) for row in rows} >= {("leave_one_out", "agreement")}
    same = json.loads(verax("compare", "a", "a", "--json").out)
    assert {row["p_holm"] for row in same} == {1.0}
    assert "leave_one_out" in verax("compare", "a", "b").out


def test_what_is_missing_is_said(verax: Callable[..., Answer], spec: Path, tmp_path: Path) -> None:
    """Reasons after a run; a run that lacks a shard, or has other texts under the same ids, is not taken as it is."""
    said = verax("run", spec, "--out", "a")
    assert "without a value: empty 10" in said.out
    assert "warning" not in verax("summary", "a").err
    other = tmp_path / "other"
    other.mkdir()
    changed = Path(json.loads(spec.read_text())["data"]["name"])
    changed.write_text(changed.read_text().replace("boat", "ship"))
    verax("run", spec, "--out", "b")
    mixed = verax("compare", "a", "b")
    assert (mixed.code, mixed.err.count("\n")) == (2, 1)
    assert "not the same text" in mixed.err
    next((tmp_path / "a" / "shards").glob("scores-*")).unlink()
    lacking = verax("summary", "a")
    assert lacking.code == 0
    assert "the run is not finished: 90 of 165 rows are not there" in lacking.err


def test_a_model_that_fails_is_no_success(verax: Callable[..., Answer], tmp_path: Path) -> None:
    (tmp_path / "broken_model.py").write_text("def answer(texts):\n    raise RuntimeError('out of order')\n")
    (tmp_path / "data.jsonl").write_text('{"text": "a boat", "label": "perhaps"}\n')
    model = {"name": "python:broken_model:answer", "labels": ["x", "y"]}
    content = {"model": model, "data": "data.jsonl", "metrics": ["complexity", "comprehensiveness"]}
    (tmp_path / "spec.yaml").write_text(json.dumps(content))
    said = verax("run", "spec.yaml")
    assert said.code == 1
    assert "out of order" in said.err
    assert "'perhaps'" in said.err, "a label that the model has no class for"


def test_explain(verax: Callable[..., Answer], checkpoint: Callable[[str], Path]) -> None:
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


def test_explain_side_by_side(verax: Callable[..., Answer], checkpoint: Callable[[str], Path]) -> None:
    """All methods that there are, or those that were named; what has nothing to say gives its reason."""
    args = ("explain", "The small boat", "a lake", "--model", checkpoint("bert"))
    said = verax(*args, "--method", "all", "--target", "no", "--json")
    made = json.loads(said.out)
    assert made["skipped"] == []
    assert [one["method"].split("(")[0] for one in made["explanations"]] == [
        entry.name for entry in entries("methods").values() if entry.kind != "text"
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


def test_a_preset(verax: Callable[..., Answer], spec: Path, checkpoint: Callable[[str], Path]) -> None:
    """On a spec's model and data, and echoed so that the run can be done again."""
    said = verax("run", spec, "--preset", "importance-measures", "--limit", "2", "--out", "out")
    assert said.code == 0, said.err
    card = json.loads(Path("out/run.json").read_text())
    assert len(card["methods"]) == 10, "nine measures and random"
    assert card["command"] == f"verax run {spec} --out out --preset importance-measures --limit 2"
    assert verax("run", "--preset", "attribution-table", "--limit", "2", "--dry-run").code == 0
    assert "runs/attribution-table" in verax("run", "--preset", "attribution-table", "--limit", "2", "--dry-run").err


def test_list_shows_cost_and_reference(verax: Callable[..., Answer]) -> None:
    shown = verax("list", "methods").out
    assert "n + 1 forward" in shown
    assert "Sundararajan" in shown
    listed = {row["name"]: row for row in json.loads(verax("list", "methods", "--json").out)}
    assert listed["leave_one_out"]["cost"] == "n + 1 forward"
    assert listed["beam"]["reference"].startswith("Zhou and Shah 2023")


def test_list_describes_plug_ins_and_survives_those_that_cannot_be_imported(
    verax: Callable[..., Answer], tmp_path: Path, install_plug_in: InstallPlugIn
) -> None:
    (tmp_path / "cli_plug_in.py").write_text("class Shout:\n    kind, summary = 'token', 'Scores by capitals.'\n")
    (tmp_path / "cli_broken.py").write_text("raise RuntimeError('out of order')\n")
    install_plug_in("loud", {"verax.methods": {"shout": "cli_plug_in:Shout", "broken": "cli_broken:Shout"}})
    answer = verax("list", "methods", "--json")
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
        (("explain", "a", "--model", "{bert}", "--set", "target=yes", "--target", "no"), "give one of them"),
        (("explain", "a", "--model", "{bert}", "--set", "steps"), "write it as key=value"),
        (("explain", "a", "--model", "{bert}", "--set", "step=3"), "did you mean 'steps'"),
        (("explain", "a", "--model", "{bert}", "--target", "nein"), "unknown target 'nein'"),
        (("explain", "a", "--model", "{bert}", "--target", "gold"), "no_label"),
        (("explain", " ", "--model", "{bert}"), "empty: part 1 has no words"),
        (("explain", "a", "--model", "wrld/nli"), "did you mean 'world/nli'"),
        (("list", "method"), "did you mean 'methods'"),
        (("summary", "nowhere"), "nowhere"),
        (("report", "nowhere"), "nowhere"),
        (("compare", "nowhere", "there"), "nowhere"),
        (("run", "nothing.yaml"), "nothing.yaml"),
        (("rum", "x"), "Did you mean 'run'"),
        (("run", "--limt", "3", "x"), "--limit"),
        (("run",), "spec.yaml"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(
    verax: Callable[..., Answer], checkpoint: Callable[[str], Path], args: tuple[str, ...], message: str
) -> None:
    said = verax(*(str(checkpoint("bert")) if arg == "{bert}" else arg for arg in args))
    assert said.code == 2
    assert message in said.err
    assert said.err.startswith("error: ")
    assert said.err.count("\n") == 1, said.err
    assert "Traceback" not in said.err


def test_debug_shows_where(verax: Callable[..., Answer]) -> None:
    said = verax("summary", "nowhere", "--debug")
    assert said.code == 2
    assert "Traceback" in said.err


def test_help_has_examples_and_few_options(verax: Callable[..., Answer]) -> None:
    assert verax().code == 0
    for command in ("list", "explain", "run", "summary", "compare", "report", "import", "demo"):
        said = verax(command, "--help")
        assert f"verax {command}" in said.out.replace("\n", " ")
        assert "Example" in said.out
        options = [line for line in said.out.splitlines() if re.match(r"│[ *]+(-\w,? +)?--", line)]
        assert 1 <= len(options) <= 11, "ten, and --help"


def test_data_that_looks_like_markup_is_shown_as_it_is(
    verax: Callable[..., Answer], checkpoint: Callable[[str], Path]
) -> None:
    said = verax("explain", "[bold]boat[/bold] \x1b[31mred", "--model", checkpoint("bert"), "--method", "saliency")
    assert said.code == 0
    assert "[bold]boat[/bold]" in said.out
    assert "\x1b[31mred" not in said.out


def test_ctrl_c_keeps_what_was_done(tmp_path: Path, checkpoint: Callable[[str], Path]) -> None:
    """A real SIGINT in the middle of a run: exit code 130, and the same command goes on from there."""
    spec = write_spec(tmp_path, checkpoint("bert"), 1500, token_budget=256)
    command = [*VERAX, "run", str(spec), "--out", str(tmp_path / "run")]
    # whoever runs the tests in the background ignores the signal, and children inherit that
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    pipes: dict[str, Any] = {"stderr": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes, preexec_fn=heard) as process:  # noqa: PLW1509 - no thread holds a lock here
        deadline = time.monotonic() + 300
        while not list(tmp_path.glob("run/shards/scores-*.parquet")):
            assert time.monotonic() < deadline
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "the same command goes on from there" in err
    assert "Traceback" not in err
    plan = subprocess.run([*command, "--dry-run"], capture_output=True, text=True, check=True)
    done = int(plan.stderr.partition("done already: ")[2].partition(";")[0])
    assert 0 < done < 15000


def test_a_second_process_is_refused_within_a_second(
    tmp_path: Path, checkpoint: Callable[[str], Path], verax: Callable[..., Answer]
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
    command = f"{sys.executable} -m verax list methods --json | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, env={**os.environ})
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
