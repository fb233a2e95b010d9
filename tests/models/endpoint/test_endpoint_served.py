"""An endpoint that others wrote: a tiny model behind `transformers serve`, against the same model asked directly."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from importlib.util import find_spec
from pathlib import Path
from time import monotonic, sleep

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GPT2Config, GPT2LMHeadModel

from support import tiny
from support.ruled_decoder import TEMPLATE, WORD, ruled_decoder
from verax.cli import main
from verax.models.endpoint import Endpoint
from verax.models.generator import ChoicePass, Generated, GeneratePass, Prompt
from verax.results.run import Run
from verax.store.read import read_rows
from verax.types import Undefined

NEEDED = ("fastapi", "uvicorn", "openai", "accelerate")
MISSING = [name for name in NEEDED if find_spec(name) is None]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"transformers serve needs {', '.join(MISSING)}")

LONGEST_START = 120.0
TEXTS = ("the small red boat", "a tall woman sells bread", "nobody is watching")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A GPT-2 of two layers with weights drawn at random, its tokenizer and a chat template."""
    place, tokenizer = tmp_path_factory.mktemp("served"), tiny.tokenizer_of("bare bytes")
    tokenizer.chat_template = TEMPLATE
    torch.manual_seed(0)
    sizes = {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 512, "initializer_range": 0.15}
    ends = {"bos_token_id": tokenizer.eos_token_id, "eos_token_id": tokenizer.eos_token_id}
    tiny.logging.disable_progress_bar()
    GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), **sizes, **ends)).save_pretrained(place)
    tokenizer.save_pretrained(place)
    return place


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    with serving(folder) as where:
        yield where


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The address of a server for the model in a folder."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    where = ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu", "--dtype", "float32"]
    command = [Path(sys.executable).with_name("transformers"), "serve", folder, *where]
    log = folder / "serve.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    try:
        until = monotonic() + LONGEST_START
        while not healthy(port):
            assert process.poll() is None, log.read_text()
            assert monotonic() < until, log.read_text()
            sleep(0.1)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def healthy(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def directly(folder: Path, text: str, tokens: int) -> str:
    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    ids = torch.tensor([tokenizer(f"user: {text}\nassistant:")["input_ids"]])
    with torch.no_grad():
        for _ in range(tokens):  # greedy, by hand
            ids = torch.cat([ids, model(ids).logits[:, -1:].argmax(-1)], 1)
    return str(tokenizer.decode(ids[0, -tokens:], skip_special_tokens=True))


def test_a_served_model_says_what_it_says_directly(url: str, folder: Path) -> None:
    model = Endpoint(url, str(folder), concurrency=2)
    asked = [GeneratePass(Prompt(text), max_new_tokens=8) for text in TEXTS]
    answers = model.generate(asked)
    assert [answer.text for answer in answers if isinstance(answer, Generated)] == [
        directly(folder, text, 8) for text in TEXTS
    ]
    assert {(answer.finish, answer.tokens) for answer in answers if isinstance(answer, Generated)} == {("length", 8)}
    assert model.generate(asked) == answers
    assert model.requests == 6


def test_babble_is_no_label_and_a_model_that_is_not_there_is_no_answer(url: str, folder: Path) -> None:
    (choice,) = Endpoint(url, str(folder)).choose([ChoicePass(Prompt("Is it?"), ("entailment", "neutral"))])
    assert isinstance(choice, Undefined)
    assert choice.reason == "unparsed_answer"
    (choice,) = Endpoint(url, str(folder), logprobs=5).choose([ChoicePass(Prompt("Is it?"), ("entailment", "neutral"))])
    assert isinstance(choice, Undefined), "a server that knows no log-probabilities is read"
    assert choice.reason == "unparsed_answer"
    (answer,) = Endpoint(url, "another").generate([GeneratePass(Prompt("a"))])
    assert isinstance(answer, Undefined)
    assert answer.reason == "bad_request"
    assert "another" in answer.detail


def test_a_consistency_test_over_a_served_model_that_follows_a_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One word turns its answer, and its reason, which is the same text, never names the word."""
    tokenizer = tiny.tokenizer_of("bare bytes")
    tokenizer.chat_template = TEMPLATE
    tokenizer.model_max_length = 1024
    for part in (ruled_decoder(tokenizer), tokenizer):
        part.save_pretrained(tmp_path / "model")
    (tmp_path / "prompts.txt").write_text("[answer]\n{1} Is it so?\n[explain_label]\n{1} It is {label}. Why?")
    (tmp_path / "data.jsonl").write_text("".join(f'{{"text": "{text}", "label": "no"}}\n' for text in TEXTS[:2]))
    for file in ("data.adj", "data.adv"):
        (tmp_path / file).write_text(f"00000000 00 a 01 {WORD} 0 000 | none\n00000001 00 a 01 late 0 000 | none\n")
    editor = {"random": {"wordnet": str(tmp_path), "positions": 1, "candidates": 2}}
    monkeypatch.setattr(sys, "argv", ["verax", "run", str(tmp_path / "spec.yaml"), "--out", str(tmp_path / "run")])
    with serving(tmp_path / "model") as url:
        spec = {
            "model": {
                "name": str(tmp_path / "model"),
                "labels": ["yes", "no"],
                "prompts": str(tmp_path / "prompts.txt"),
                "endpoint": {"url": url, "concurrency": 2},
            },
            "data": str(tmp_path / "data.jsonl"),
            "methods": ["answer_then_explain"],
            "metrics": [{"counterfactual_test": {"editor": editor, "noise": 0}}],
        }
        (tmp_path / "spec.yaml").write_text(json.dumps(spec))
        for _ in range(2):
            with pytest.raises(SystemExit) as ended:
                main()
            assert not ended.value.code, capsys.readouterr().err
    run = Run(tmp_path / "run")
    # for each input its class and its reason, the class of two edits, the reason of the one that turns it, four repeats
    assert run.tables.card["requests"] == 2 * (2 + 2 + 1 + 4), "and the second run asks nothing"
    logs = [score.trial_log for score in run.score_rows() if score.trial_log]
    assert [(log.repeats, log.self_flips) for log in logs] == [(4, 0)] * 2
    assert [(nle.label, nle.text, nle.label_source) for nle in run.texts()] == [("no", "no", "parsed")] * 2
    assert [score.value for score in run.score_rows()] == [0.0, 0.0]
    trials = [trial for score in run.score_rows() if score.trial_log for trial in score.trial_log.trials]
    assert [(one.words, one.predicted, one.explanation, one.mentioned) for one in trials] == [
        (WORD, "yes", "yes", False)
    ] * 2


def test_a_whole_run_over_it(
    url: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It babbles: its reasons are kept, none of its answers is a class, and those alone are asked for again."""
    (tmp_path / "prompts.txt").write_text("[explain]\nWhy {1}?\n[answer_explanation]\n{1} {explanation} Which?")
    (tmp_path / "data.jsonl").write_text("".join(f'{{"text": "{text}", "label": "yes"}}\n' for text in TEXTS[:2]))
    spec = {
        "model": {
            "name": str(folder),
            "labels": ["yes", "no"],
            "prompts": str(tmp_path / "prompts.txt"),
            "endpoint": {"url": url, "concurrency": 2},
        },
        "data": str(tmp_path / "data.jsonl"),
        "methods": ["explain_then_answer"],
        "metrics": ["bleu"],
    }
    (tmp_path / "spec.yaml").write_text(json.dumps(spec))
    monkeypatch.setattr(sys, "argv", ["verax", "run", str(tmp_path / "spec.yaml"), "--out", str(tmp_path / "run")])
    for requests in (4, 6):
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code, capsys.readouterr().err
        run = Run(tmp_path / "run")
        assert run.tables.card["requests"] == requests
        assert [skip.reason for skip in run.skips()] == ["unparsed_answer"] * 2
        assert run.tables.card["counts"] == {"rows": 4, "done": 0, "failed": 0, "skipped": 4}
        kept = {row.text for _, row in read_rows(run.folder) if isinstance(row, Generated)}
        assert kept == {directly(folder, f"Why {text}?", 64) for text in TEXTS[:2]}
