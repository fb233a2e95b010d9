"""Hostile texts from data, checkpoints, specs, file and method names, through the output of every command."""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.cli import Answer, CallVerax
from support.hostile import FORMULAS, HOSTILE, LINKS, OBEYED
from support.runs import make_run, metric_entry, run_card, text_of
from verax.cli.app import OutputFormat
from verax.types import Highlight, Instance, Prediction, Score, Skip, Target

PRINTED = (OutputFormat.terminal, OutputFormat.json, OutputFormat.csv, OutputFormat.latex, OutputFormat.markdown)
BATCHES = tuple(HOSTILE[start : start + 16] for start in range(0, len(HOSTILE), 16))


def check(said: Answer) -> Answer:
    for stream in (said.out, said.err):
        found = OBEYED & set(stream)
        assert not found, (sorted(map(repr, found)), stream[:400])
    return said


@pytest.fixture
def hostile_run(tmp_path: Path) -> Callable[[tuple[str, ...], str], Path]:
    """A run in which every name is hostile."""

    def made(texts: tuple[str, ...], name: str) -> Path:
        instances, predictions, highlights, skips, scores = [], [], [], [], []
        methods = [{"label": f"{text} method", "name": f"{text} name", "parameters": {text: text}} for text in texts]
        metrics = [metric_entry(f"{text} metric", f"{text} measure", reference=text) for text in texts[:3]]
        for number, text in enumerate(texts):
            id_ = f"{text} {number}"
            instance = Instance(id_, (text_of("a boat", lang=text),), f"{text} gold")
            instances.append(instance)
            predictions.append(Prediction(id_, f"{text} class", (f"{text} class",), (1.0,)))
            for method in methods:
                label = method["label"]
                highlights.append(Highlight(id_, label, "token", Target(text), instance.units, (0.5, 0.1)))
                scores += [Score(id_, label, metric["label"], 0.1 * number) for metric in metrics]
            skips.append(Skip(id_, f"{text} skipping", f"{text} reason", f"{text} detail", failed=True))
        run = make_run(
            tmp_path / name,
            instances=instances,
            predictions=predictions,
            highlights=highlights,
            skips=skips,
            scores=scores,
            card=run_card(methods, metrics, model={"name": texts[0]}, data={"name": texts[1]}, command=texts[2]),
        )
        return run.folder

    return made


@pytest.mark.filterwarnings("ignore:no installed font")
@pytest.mark.parametrize("batch", range(len(BATCHES)))
def test_what_a_run_holds_is_shown_and_not_obeyed(
    batch: int, hostile_run: Callable[[tuple[str, ...], str], Path], verax: CallVerax
) -> None:
    texts = BATCHES[batch]
    folder, other = hostile_run(texts, "run"), hostile_run(texts, "other")
    for command in (("show", folder), ("compare", folder, other), ("report", folder)):
        assert check(verax(*command)).code in {0, 1}, command
    for format_ in PRINTED:
        said = check(verax("show", folder, "--format", format_.value))
        assert said.code == 0, said.err
        if format_ is OutputFormat.csv:
            for cell in cells(said.out):
                assert unicodedata.normalize("NFKC", cell.strip())[:1] not in {"=", "+", "-", "@"}, cell
        elif format_ is OutputFormat.markdown:
            assert not re.search(r"(?<!\\)!\[|://|www\.|@\w|:\w+:|<\w", said.out)

    saved = check(verax("show", folder, "--format", "parquet", "--out", folder.parent / "tables.parquet"))
    drawn = check(verax("show", folder, "--figure", "all", "--format", "svg", "--out", folder.parent / "figures"))
    assert (saved.code, drawn.code) == (0, 0), saved.err + drawn.err


def cells(text: str) -> Iterator[str]:
    for row in csv.reader(io.StringIO(text), quoting=csv.QUOTE_ALL):
        for cell in row:
            try:
                float(cell)
            except ValueError:
                yield cell


def test_there_are_112() -> None:
    assert len(HOSTILE) == len(set(HOSTILE)) == 112
    assert set(FORMULAS) | set(LINKS) <= set(HOSTILE)


COMMANDS: tuple[tuple[str, ...], ...] = (
    ("list", "{}"),
    ("explain", "a boat", "--method", "{}"),
    ("explain", "a boat", "--model", "{}"),
    ("run", "{}"),
    ("run", "--preset", "{}"),
    ("run", "{}.yaml"),
    ("show", "{}"),
    ("show", "{}", "--study", "{}"),
    ("compare", "{}", "{}"),
    ("report", "{}"),
    ("import", "{}", "x.jsonl", "--data", "data.jsonl", "--out", "y.jsonl"),
    ("import", "eraser", "{}", "--data", "{}", "--out", "y.jsonl"),
    ("align", "--source", "{}", "--target", "{}", "--out", "links.txt"),
    ("similarity", "--model", "{}", "--data", "{}"),
    ("train", "plain", "--base", "{}", "--data", "{}", "--out", "made"),
    ("train", "masked", "--base", "{}", "--data", "data.jsonl", "--out", "{}"),
    ("train", "nle", "--base", "{}", "--data", "{}", "--out", "made", "--setup", "{}"),
    ("train", "editor", "--base", "{}", "--data", "{}", "--out", "made"),
    ("roar", "--base", "{}", "--data", "{}", "--out", "roar"),
    ("build-highlights", "{}", "--out", "made"),
    ("check-highlights", "{}"),
    ("audit", "{}", "data.jsonl"),
    ("audit", "world/nli", "{}"),
    ("audit", "world/nli", "data.jsonl", "--budget", "{}"),
    ("check", "{}", "--require", "complexity < 2"),
    ("check", "run", "--require", "{}"),
    ("check", "run", "--no-worse-than", "{}"),
    ("view", "{}"),
    ("view", ".", "--model", "{}"),
    ("view", ".", "--host", "{}"),
    ("verify", "{}"),
    ("repair", "{}"),
    ("annotate", "{}", "--read", "{}"),
    ("convert-checkpoint", "{}", "--out", "{}"),
    ("{}",),
    ("show", "--{}"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_arguments_come_back_harmless_and_on_one_line(
    command: tuple[str, ...], verax: CallVerax, tmp_path: Path
) -> None:
    (tmp_path / "data.jsonl").write_text('{"text": "a boat", "label": "x"}\n{"text": "a lake", "label": "y"}\n' * 20)
    for start in range(0, len(HOSTILE), 8):
        text = "x" + "".join(HOSTILE[start : start + 8])
        said = check(verax(*(part.replace("{}", text) for part in command)))
        assert said.code == 2, (text, said)
        assert said.err.count("\n") == 1, said.err


def test_a_spec_comes_back_harmless(verax: CallVerax, tmp_path: Path) -> None:
    data = {"name": "world/nli", "limit": 2}
    good = {"model": "world/nli", "data": data, "methods": ["random"], "metrics": ["complexity"]}
    changes = (
        lambda text: {text: 1},
        lambda text: {"model": text},
        lambda text: {"model": {"name": "world/nli", "dtype": text}},
        lambda text: {"model": {"name": f"python:{text}:f", "labels": ["a", "b"]}},
        lambda text: {"data": text},
        lambda text: {"data": {"name": "world/nli", "split": text}},
        lambda text: {"methods": [text]},
        lambda text: {"methods": [{"random": {text: text}}]},
        lambda text: {"metrics": [{"complexity": {"top": text}}]},
        lambda text: {"explanations": [text]},
    )
    for start in range(0, len(HOSTILE), 8):
        text = "x" + "".join(HOSTILE[start : start + 8])
        for change in changes:
            (tmp_path / "spec.yaml").write_text(json.dumps(good | change(text)))
            said = check(verax("run", "spec.yaml"))
            assert said.code == 2, (text, said)
            assert said.err.count("\n") == 1, said.err


def test_texts_labels_and_ids_of_data_and_checkpoints(
    verax: CallVerax, checkpoint: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = checkpoint("bert")
    config = json.loads((folder / "config.json").read_text())
    labels = ["".join(HOSTILE[start::3]) for start in range(3)]
    config |= {"id2label": dict(enumerate(labels)), "label2id": {label: i for i, label in enumerate(labels)}}
    mine = tmp_path / "model"
    mine.mkdir()
    for file in folder.iterdir():
        (mine / file.name).write_bytes(file.read_bytes())
    (mine / "config.json").write_text(json.dumps(config))
    rows = [{"id": f"{i}{text}", "text": f"a boat {text}", "label": labels[i % 3]} for i, text in enumerate(HOSTILE)]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    spec = {"model": str(mine), "data": "data.jsonl", "methods": ["random"], "metrics": ["complexity"]}
    (tmp_path / "spec.yaml").write_text(json.dumps(spec))
    check(verax("run", "spec.yaml", "--out", "run"))
    assert check(verax("show", "run")).code == 0
    for text in HOSTILE[::8]:
        said = check(verax("explain", f"a boat {text}", "--model", mine, "--method", "random"))
        assert said.code == 0, said.err
