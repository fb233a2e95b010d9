"""`verax push`: the real client of the hub against a real server, and what must not be uploaded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import datasets
import huggingface_hub.constants
import pytest
import yaml

from support import free_text
from support.cli import CallVerax
from support.hub_server import TOKEN, USER, Hub, hub_server
from support.runs import WORD_SCORES, make_run, method_entry, metric_entry, run_card, word_rows, word_run
from support.unified import unified_word_run
from verax.exports.private import without_folders
from verax.results.run import Run
from verax.types import Score

# of the client, which gives a file to its HTTP library in a way that is deprecated there
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=")


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub that the client in this process uses."""
    with hub_server() as served:
        reach(monkeypatch, served.url)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        yield served


def reach(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """Let the client, which has read its settings already, use an address; large files go there as well."""
    for name, value in {"ENDPOINT": url, "HF_HUB_OFFLINE": False, "HF_HUB_DISABLE_XET": True}.items():
        monkeypatch.setattr(huggingface_hub.constants, name, value)


@pytest.fixture(autouse=True)
def no_login(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nobody is logged in, whoever runs the tests."""
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))


def load(folder: Path, subset: str, split: str = "test") -> list[dict[str, Any]]:
    """A subset of a dataset as users load it, by its card."""
    loaded = datasets.load_dataset(str(folder), subset, split=split, cache_dir=str(folder.parent / "cache"))
    return [dict(row) for row in loaded]


def card(folder: Path) -> tuple[dict[str, Any], str]:
    """Metadata and text of a card."""
    _, head, text = (folder / "README.md").read_text("utf-8").split("---\n", 2)
    return yaml.safe_load(head), text


def test_a_pushed_run_is_loaded_back_as_it_was(verax: CallVerax, hub: Hub, tmp_path: Path) -> None:
    run = word_run(tmp_path / "run")
    answer = verax("push", "run", "me/words", "--private", "--license", "mit")
    assert (answer.code, answer.err) == (0, ""), answer.err
    assert f"{hub.url}/datasets/me/words" in answer.out
    assert hub.private == {"me/words": True}
    assert hub.commits == ["Explanations of tiny on pairs"]
    hub.download("me/words", tmp_path / "copy")

    rows = {(row["id"], row["method"]): row for row in load(tmp_path / "copy", "explanations")}
    assert len(rows) == len(run.highlights())
    for highlight, prediction in zip(run.highlights(["id-1"]), run.predictions(["id-1"]) * 2, strict=True):
        row = rows["id-1", highlight.method]
        assert [score for part in row["scores"] for score in part] == list(WORD_SCORES)
        assert row["words"] == [["a", "small", "dog", "runs"], ["an", "animal", "moves"]]
        assert row["texts"] == ["a small dog runs", "an animal moves"]
        assert (row["kind"], row["target"], row["label"]) == ("token", "prediction", "yes")
        assert row["prediction"] == prediction.label
        assert row["probabilities"] == [{"label": "no", "probability": 0.3}, {"label": "yes", "probability": 0.7}]
        assert row["pairs"] is row["explanation"] is row["reason"] is None

    scores = {(row["id"], row["method"], row["metric"]): row["value"] for row in load(tmp_path / "copy", "scores")}
    assert scores == {(one.instance_id, one.method, one.metric): one.value for one in run.score_rows()}
    (expected,) = [table for found in run.findings() for table in found.tables if table.name == "overview"]
    shown = [row for row in load(tmp_path / "copy", "results") if row["table"] == "overview"]
    assert [{key: row[key] for key in expected.records()[0]} for row in shown] == expected.records()

    metadata, text = card(tmp_path / "copy")
    assert metadata["license"] == "mit"
    assert [one["config_name"] for one in metadata["configs"]] == ["explanations", "scores", "results"]
    assert 'load_dataset("me/words", "scores", split="test")' in text
    for heading in ("Verdict", "Results", "How to load it", "Model and data", "Methods and metrics", "Citation"):
        assert f"## {heading}\n" in text
    assert str(tmp_path) not in text

    again = verax("push", "run", "me/words")  # to the repository that there is now
    assert (again.code, len(hub.commits)) == (0, 2)


def test_the_command_reads_the_usual_settings_of_the_client(tmp_path: Path) -> None:
    word_run(tmp_path / "run")
    with hub_server() as served:
        settings = {"HF_ENDPOINT": served.url, "HF_HUB_DISABLE_XET": "1", "HF_HUB_OFFLINE": "0", "MY_KEY": TOKEN}
        command = [sys.executable, "-m", "verax", "push", "run", "words", "--token-env", "MY_KEY"]
        done = subprocess.run(  # noqa: PLW1510 - the code is checked below
            command, cwd=tmp_path, env=os.environ | settings, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
        assert (done.returncode, TOKEN in done.stdout + done.stderr) == (0, False), done.stderr
        assert set(served.files[f"{USER}/words"]) == {
            "README.md",
            "data/explanations.parquet",
            "data/results.parquet",
            "data/scores.parquet",
        }


@pytest.mark.parametrize(
    ("refusal", "message"),
    [
        ({"refusal": 401}, "not valid (401)"),
        ({"refusal": 403}, "write access"),
        ({"refusal": 404}, "no such repository"),
        ({"refusal": 400}, "400"),
        ({"full": True}, "write access"),
    ],
    ids=str,
)
def test_a_refusal_is_one_line(
    verax: CallVerax, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, refusal: dict[str, Any], message: str
) -> None:
    word_run(tmp_path / "run")
    with hub_server(**refusal) as served:
        reach(monkeypatch, served.url)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        answer = verax("push", "run", "me/words")
    assert (answer.code, len(answer.err.splitlines())) == (2, 1), answer.err
    assert answer.err.startswith(f"error: me/words was not uploaded to {served.url}: ")
    assert message in answer.err
    assert TOKEN not in answer.err


def test_a_wrong_token_and_none(verax: CallVerax, hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    word_run(tmp_path / "run")
    monkeypatch.setenv("OTHER_TOKEN", "hf_of_somebody_else")
    assert "not valid (401)" in verax("push", "run", "me/words", "--token-env", "OTHER_TOKEN").err
    assert "NOT_SET is not set" in verax("push", "run", "me/words", "--token-env", "NOT_SET").err
    monkeypatch.delenv("HF_TOKEN")
    asked = len(hub.requests)
    answer = verax("push", "run", "me/words")
    assert (answer.code, "no token" in answer.err, len(hub.requests)) == (2, True, asked)


def test_without_a_network(verax: CallVerax, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    word_run(tmp_path / "run")
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    with hub_server() as served:
        reach(monkeypatch, served.url)
    answer = verax("push", "run", "me/words")  # its port is closed now
    assert (answer.code, "cannot be reached" in answer.err) == (2, True), answer.err
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    answer = verax("push", "run", "me/words")
    assert (answer.code, "unset HF_HUB_OFFLINE" in answer.err) == (2, True), answer.err


def test_invalid_requests_upload_nothing(verax: CallVerax, hub: Hub, tmp_path: Path) -> None:
    make_run(tmp_path / "unfinished", **word_rows(), plan=["0", "missing"])
    answer = verax("push", "unfinished", "me/words")
    assert (answer.code, "nothing was uploaded" in answer.err) == (3, True)
    word_run(tmp_path / "run")
    assert "no name of a repository" in verax("push", "run", "me/a/b").err
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").touch()
    assert "not an empty folder" in verax("push", "run", "me/words", "--out", "full").err
    assert hub.requests == []


def test_interactions_and_free_text(verax: CallVerax, tmp_path: Path) -> None:
    run = unified_word_run(tmp_path / "pairs")
    assert verax("push", "pairs", "me/pairs", "--out", "dataset").code == 0
    rows = {(row["id"], row["method"]): row for row in load(tmp_path / "dataset", "explanations")}
    pairs = [row for row in run.highlights() if row.kind != "token"]
    assert pairs
    for highlight in pairs:
        found = rows[highlight.instance_id, highlight.method]["pairs"]
        assert [tuple(tuple(pair[side].values()) for side in ("first", "second")) for pair in found] == [
            tuple(map(tuple, unit)) for unit in highlight.units
        ]
        assert [pair["score"] for pair in found] == list(highlight.scores)

    texts = free_text.text_run(tmp_path / "texts")
    assert verax("push", "texts", "me/texts", "--out", "written").code == 0
    written = {(row["id"], row["method"]): row for row in load(tmp_path / "written", "explanations")}
    assert {key: row["explanation"] for key, row in written.items() if row["explanation"] is not None} == {
        (row.instance_id, row.method): row.text for row in texts.texts()
    }


def local_run(folder: Path) -> Run:
    """A run whose names contain places on this machine."""
    label = "leave_one_out(of=/home/somebody/secret project/models/mine)"
    rows = word_rows(methods=("random", label))
    methods = [method_entry("random"), method_entry(label, "leave_one_out", parameters={"of": "/home/somebody/mine"})]
    rows["card"] = run_card(methods, [metric_entry("comp")]) | {
        "command": "verax run /home/somebody/spec.yaml",
        "machine": "machine-of-somebody",
        "model": {"name": "/home/somebody/models/mine", "host": "http://somebody.internal/v1"},
        "data": {"name": "C:\\Users\\somebody\\reviews.csv", "provenance": {"path": "/home/somebody/reviews.csv"}},
    }
    detail = "OSError: ~/cache/somebody/lessons.json cannot be read"
    rows["scores"] = [Score(one.id, label, "comp", None, "failed", detail) for one in rows["instances"]]
    return make_run(folder, **rows)


def test_places_on_this_machine_are_left_out(verax: CallVerax, tmp_path: Path) -> None:
    local_run(tmp_path / "run")
    assert verax("push", "run", "me/words", "--out", "dataset").code == 0
    everything = (tmp_path / "dataset/README.md").read_text("utf-8") + json.dumps(
        [load(tmp_path / "dataset", name) for name in ("explanations", "scores", "results")]
    )
    assert "somebody" not in everything
    assert str(tmp_path) not in everything
    assert {"mine", "reviews.csv", "lessons.json"} <= {
        word.strip("()") for word in everything.replace("=", " ").split()
    }


def test_hostile_names_and_texts_are_written_as_they_can_be(verax: CallVerax, tmp_path: Path) -> None:
    bad = "\ud800\x1b[31m</script>---\n| `x`"
    rows = word_rows(methods=("random", bad))
    rows["card"] = run_card([method_entry("random"), method_entry(bad)], [metric_entry(bad)], model={"name": bad})
    rows["instances"] = [replace(one, id=f"{bad}{i}", label=bad, lang=bad) for i, one in enumerate(rows["instances"])]
    names = {f"id-{i}": one.id for i, one in enumerate(rows["instances"])}
    for table in ("predictions", "highlights"):
        rows[table] = [replace(one, instance_id=names[one.instance_id]) for one in rows[table]]
    rows["scores"] = [Score(one.id, bad, bad, 0.5) for one in rows["instances"]]
    make_run(tmp_path / "run", **rows)
    assert verax("push", "run", "me/words", "--out", "dataset").code == 0
    shown = "\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}[31m"
    (label,) = {row["label"] for row in load(tmp_path / "dataset", "explanations")}
    assert label.startswith(shown)
    assert {row["method"] for row in load(tmp_path / "dataset", "scores")} == {label}
    metadata, text = card(tmp_path / "dataset")
    assert metadata["pretty_name"].startswith(f"Explanations of {shown}")
    assert "</script>" not in text


@pytest.mark.parametrize(
    ("text", "public"),
    [
        ("editor(path=/home/me/my-editor)", "editor(path=my-editor)"),
        ("file:///home/me/data.csv", "data.csv"),
        ("'C:\\Users\\me\\data.csv'", "'data.csv'"),
        ("~/models/mine: no such folder", "mine: no such folder"),
        ("world/nli, org/model/x and 3/4", "world/nli, org/model/x and 3/4"),
        ("https://example.org/a/b", "https://example.org/a/b"),
    ],
)
def test_absolute_paths_are_recognised(text: str, public: str) -> None:
    assert without_folders(text) == public


def test_a_key_in_the_texts_is_not_uploaded(
    verax: CallVerax, hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    word_run(tmp_path / "run")
    monkeypatch.setenv("SOME_API_KEY", "small dog runs")  # words of every premise
    answer = verax("push", "run", "me/words")
    assert (answer.code, "explanations.parquet contains the value of SOME_API_KEY" in answer.err) == (2, True)
    assert hub.commits == []
    assert hub.files == {}
