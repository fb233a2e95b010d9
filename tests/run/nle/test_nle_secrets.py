"""A key that must sing nowhere, and hostile answers that must stay text, in whole runs with their reports."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.answering import rule_of, wants_label
from support.fault_server import Asked, Fault, FaultServer, Handler, says, sends
from support.text_runs import PAIRS, content, counterfactual, write_data
from verax.store.read import read_rows
from verax.types import Generated

CANARY = 'sk-canary-"7f\\3a-tweet'
SPELLINGS = (CANARY, json.dumps(CANARY)[1:-1], "canary", "tweet", "yranac", "teewt")
RAN = "document.documentElement.setAttribute('ran','1')"
HOSTILE = (
    f"<script>{RAN}</script>",
    f'"><img src=x onerror={RAN}>',
    "$(touch ran) `touch ran` ; touch ran | touch ran",
    "{{7*7}} ${7*7} {label} {explanation} {1} %s %(key)s",
    "[bold red]loud[/] [link=file:///etc/passwd]x[/link] [/]",
    "\x1b[31mred\x1b]0;title\x07\x1b[2J nul\x00 \u202eback",
)


@pytest.fixture
def canary(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> str:
    monkeypatch.setenv("VERAX_API_KEY", CANARY)
    monkeypatch.setenv("MY_SIGNATURE_TOKEN", CANARY[::-1])
    caplog.set_level(logging.DEBUG)
    return CANARY


def spec_file(place: Path, url: str, metrics: list[Any] | None = None, **changes: Any) -> str:
    endpoint = {"url": url, "first_wait": 0.01, "retries": 0, "concurrency": 1}
    if "MY_SIGNATURE_TOKEN" in os.environ:
        endpoint["headers"] = {"X-Signature": "v1 $MY_SIGNATURE_TOKEN"}
    made = content(place, model={"name": "m", "endpoint": endpoint}, metrics=metrics or ["bleu"], **changes)
    (place / "spec.yaml").write_text(yaml.safe_dump(made))
    return "spec.yaml"


def written(folder: Path) -> Iterator[str]:
    """All that a run left: its files, and the rows that are packed in them."""
    for file in folder.rglob("*"):
        if file.is_file():
            yield file.read_bytes().decode("utf-8", "replace")
    if folder.exists():
        yield from (repr(row) for row in read_rows(folder))


def silent(*outputs: str) -> None:
    for output in outputs:
        found = [spelling for spelling in SPELLINGS if spelling in output]
        assert not found, output[:2000]


def sends_back(make: Callable[[str], Fault]) -> Fault:
    """A fault made of the headers in which the key and the other secret came."""
    sent = ("Authorization", "X-Signature")
    return lambda handler, asked: make(" ".join(asked.headers[name] for name in sent))(handler, asked)


def error(status: int) -> Fault:
    return sends_back(
        lambda key: sends(json.dumps({"error": {"message": f"bad {key}", "headers": [key]}}).encode(), status=status)
    )


def test_the_key_is_sent_and_kept_nowhere(
    canary: str, verax: Callable[..., Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Each input gets the key back in another way; the run, its report and its tables are looked through."""
    faults = {
        "rose": sends_back(lambda key: says(f"It is {key}, neutral.")),
        "dog": error(400),
        "car": error(500),
        "bread": sends_back(lambda key: says(None, refusal=f"Not with {key}.")),
        "boat": sends_back(lambda key: says("who knows", finish=key)),
        "wall": sends_back(lambda key: sends(f"garbage {key}".encode())),
    }

    def fault(handler: Handler, asked: Asked) -> None:
        next(one for text, one in faults.items() if text in asked.user)(handler, asked)

    with FaultServer(default=fault) as server:
        given = spec_file(tmp_path, server.url, [counterfactual(tmp_path), "bleu"], methods=["answer_then_explain"])
        said = [verax("--debug", "run", given, "--out", "run"), verax("report", "run")]
        said += [verax("show", "run", "--format", format_) for format_ in ("json", "latex")]
    assert server.asked[0].headers["Authorization"] == f"Bearer {canary}"
    assert server.asked[0].headers["X-Signature"] == f"v1 {canary[::-1]}"
    card = json.loads((tmp_path / "run" / "run.json").read_text())
    assert card["spec"]["model"]["endpoint"]["headers"] == {"X-Signature": "v1 $MY_SIGNATURE_TOKEN"}
    assert [one.code for one in said] == [0] * 4, said
    kept = [row for _, row in read_rows(tmp_path / "run") if isinstance(row, Generated)]
    assert any("[key]" in row.text for row in kept), "the answer is there, the key is not"
    assert "[key]" in (tmp_path / "run" / "report.html").read_text()
    silent(*written(tmp_path / "run"), *(text for one in said for text in (one.out, one.err)), caplog.text)


@pytest.mark.parametrize(
    "fault",
    [
        error(401),
        error(404),
        sends_back(lambda key: sends(b"", ("Location", f"http://127.0.0.1:1/?{key}"), status=307)),
        sends_back(lambda key: sends(f"garbage {key}".encode())),
    ],
    ids=["401", "404", "redirect", "garbage to all"],
)
def test_a_run_that_ends_early_does_not_tell_either(
    fault: Fault, canary: str, verax: Callable[..., Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with FaultServer(default=fault) as server:
        said = verax("run", spec_file(tmp_path, server.url), "--out", "run", "--debug")
    assert said.code == 2
    assert "Traceback" in said.err, "as was asked for"
    silent(*written(tmp_path / "run"), said.out, said.err, caplog.text)


def test_a_key_among_the_extra_fields_is_refused(canary: str, verax: Callable[..., Any], tmp_path: Path) -> None:
    with FaultServer() as server:
        endpoint = {"url": server.url, "extra": {"user": canary}}
        spec = content(tmp_path, model={"name": "m", "endpoint": endpoint}, metrics=["bleu"])
        (tmp_path / "spec.yaml").write_text(yaml.safe_dump(spec))
        said = verax("run", "spec.yaml", "--out", "run", "--debug")
    assert said.code == 2
    assert "extra: it contains the key of VERAX_API_KEY" in said.err
    assert server.asked == []
    silent(said.out, said.err.replace(str(tmp_path / "spec.yaml"), ""), *written(tmp_path / "run"))


class Elements(HTMLParser):
    """What a browser would make elements and attributes of, and what it would show."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.attributes: list[tuple[str, str | None]] = []
        self.scripts, self.shown = "", ""
        self._inside = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts += data
        else:
            self.shown += data


def test_hostile_answers_stay_text(verax: Callable[..., Any], tmp_path: Path) -> None:
    """In the terminal, in prompts that hold them, in tables and in the report."""
    by_premise = {premise: text for (premise, _, _), text in zip(PAIRS, HOSTILE, strict=True)}

    def fault(handler: Handler, asked: Asked) -> None:
        hostile = next((text for premise, text in by_premise.items() if premise in asked.user), "edited, so it is")
        label = hostile if "crimson" in asked.user else f"{rule_of(asked.user)} {hostile}"
        says(label if wants_label(asked.user) else hostile)(handler, asked)

    with FaultServer(default=fault) as server:
        given = spec_file(tmp_path, server.url, [counterfactual(tmp_path), "bleu"], methods=["explain_then_answer"])
        said = [verax("run", given, "--out", "run"), verax("report", "run"), verax("show", "run")]
        said += [verax("show", "run", "--format", format_) for format_ in ("json", "csv", "latex", "markdown")]
    assert {one.code for one in said} == {0}, said
    for one in said:
        assert "\x1b" not in one.out + one.err
        assert "\x07" not in one.out + one.err
    prompts = "\n".join(one.user for one in server.asked)
    for text in (HOSTILE[0], HOSTILE[2], HOSTILE[3], HOSTILE[4]):
        assert f"Reason: {text}" in prompts, "what is put into a prompt is not filled in again"
    assert not (tmp_path / "ran").exists()
    page = Elements((tmp_path / "run" / "report.html").read_text())
    assert "setAttribute('ran'" not in page.scripts
    assert not [name for name, value in page.attributes if name == "onerror"]
    for text in (HOSTILE[0], HOSTILE[3], HOSTILE[4]):
        assert text in page.shown
    assert "\x1b" not in page.shown


def test_hostile_inputs_and_details_stay_text_in_the_terminal(verax: Callable[..., Any], tmp_path: Path) -> None:
    """What is said of answers that can't be read is said of strings that others wrote."""
    with FaultServer(default=says("\x1b[2J[bold]gone[/] [/] \x07")) as server:
        given = spec_file(tmp_path, server.url, data=str(write_data(tmp_path / "h.jsonl", PAIRS[:2])))
        said = [verax("run", given, "--out", "run"), verax("show", "run"), verax("report", "run")]
    assert said[0].code == 0
    assert "unparsed_answer" in said[0].out
    for one in said:
        assert "\x1b" not in one.out + one.err
    details = {row.detail for _, row in read_rows(tmp_path / "run") if hasattr(row, "detail")}
    assert any("[bold]gone[/] [/]" in detail for detail in details)
    assert not any("\x1b" in detail for detail in details)
    with FaultServer(default=sends(json.dumps({"error": "\x1b[31m[bold]no[/]"}).encode(), status=404)) as server:
        said = [verax("run", spec_file(tmp_path, server.url), "--out", "other")]
    assert "[bold]no[/]" in said[0].err
    assert "\x1b" not in said[0].err
