"""Files that would never end, never load or end the process: one clear line each."""

from __future__ import annotations

import base64
import faulthandler
import json
import os
import shutil
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from support.cli import CallVerax
from support.runs import word_run
from verax.api import evaluate
from verax.data.text import split_words
from verax.models.editor_wording import read_editor_facts
from verax.models.load import load_model
from verax.models.self_explainer import read_facts
from verax.studies.free_text.annotation import read_sheet
from verax.types import Dataset, Instance, UserError

ROWS = '{"id": "a", "text": "a boat", "label": "yes"}\n{"id": "b", "text": "a lake", "label": "no"}\n'


@pytest.fixture
def copied(checkpoint: Callable[[str], Path], tmp_path: Path) -> Path:
    """A checkpoint that may be changed."""
    shutil.copytree(checkpoint("bert"), tmp_path / "model")
    return tmp_path / "model"


def spec_of(tmp_path: Path, **changes: Any) -> Path:
    content = {"model": "model", "data": "data.jsonl", "methods": ["random"], "metrics": ["complexity"], **changes}
    (tmp_path / "data.jsonl").write_text(ROWS)
    (tmp_path / "spec.yaml").write_text(json.dumps(content))
    return tmp_path / "spec.yaml"


@pytest.fixture
def one_line(verax: CallVerax) -> Iterator[Callable[..., str]]:
    """Call the command line; if it waits for a file, the process of the tests ends after two minutes."""

    def call(*args: str) -> str:
        said = verax(*args)
        assert (said.code, said.err.count("\n")) == (2, 1), said
        return said.err

    faulthandler.dump_traceback_later(120, exit=True, file=sys.__stderr__)
    yield call
    faulthandler.cancel_dump_traceback_later()


def panics_beyond_ascii() -> dict[str, str]:
    """A normaliser whose table has an entry for ASCII bytes only: others index beyond its end, which Rust panics at."""
    table = struct.pack("<I", 4 * 128) + bytes(4 * 128)
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(table).decode()}


def test_a_tokenizer_that_panics_costs_one_input(
    copied: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    tokenizer = json.loads((copied / "tokenizer.json").read_text())
    (copied / "tokenizer.json").write_text(json.dumps(tokenizer | {"normalizer": panics_beyond_ascii()}))
    texts = {"good": "a boat", "bad": "ein schönes Boot", "last": "a lake"}
    data = Dataset("d", tuple(Instance(id_, (split_words(text),), "yes") for id_, text in texts.items()), ("yes",))
    run = evaluate(load_model(copied), data, ["random"], ["complexity"], out=tmp_path / "run", progress=False)
    assert "panicked" in capfd.readouterr().err, "a real panic"
    assert {row.instance_id for row in run.skips()} == {"bad"}
    assert all("the tokenizer panicked: index out of bounds" in row.detail for row in run.skips())
    assert {row.instance_id for row in run.score_rows() if row.value is not None} == {"good", "last"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_hidden_layers": 10**9}, "num_hidden_layers is 1000000000, and the weights hold"),
        ({"hidden_size": 10**9}, "hidden_size is 1000000000, and the largest dimension"),
        ({"vocab_size": 10**12}, "vocab_size is"),
        ({"intermediate_size": 10**10}, "intermediate_size is"),
        ({"num_attention_heads": 10**9}, "num_attention_heads is"),
        ({"num_labels": 10**9, "id2label": None}, "num_labels is"),
        ({"max_position_embeddings": 10**12}, "max_position_embeddings is"),
        ({"num_hidden_layers": -1}, "num_hidden_layers is -1"),
        ({"hidden_size": "large"}, "can't be loaded"),
        ({"hidden_act": "no such function"}, "can't be loaded"),
    ],
)
def test_a_config_of_other_sizes_than_its_weights(
    changes: dict[str, Any], message: str, copied: Path, tmp_path: Path, verax: CallVerax
) -> None:
    config = json.loads((copied / "config.json").read_text())
    (copied / "config.json").write_text(json.dumps(config | changes))
    spec_of(tmp_path)
    said = verax("run", "spec.yaml")
    assert (said.code, said.err.count("\n")) == (2, 1), said.err
    assert message in said.err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[" * 100_000, "nested too deeply"),
        ("[]", "no object"),
        ("{", "not JSON"),
        ('{"hidden_size": ' + "9" * 5000 + "}", "not JSON"),
    ],
)
def test_a_config_that_cannot_be_read(
    content: str, message: str, copied: Path, tmp_path: Path, verax: CallVerax
) -> None:
    (copied / "config.json").write_text(content)
    spec_of(tmp_path)
    said = verax("run", "spec.yaml")
    assert (said.code, said.err.count("\n")) == (2, 1), said.err
    assert message in said.err


LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12)
)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (LAUGHS, "more than 100000 values"),
        ("model: " + "[" * 20_000, "nested too deeply"),
        ("model: " + "{a: " * 5_000, "nested too deeply"),
        ("model: &a [*a]\n", "more than 100000 values"),
        ("model: !!python/object/apply:os.system [touch executed]\n", "not valid YAML"),
    ],
)
def test_a_spec_that_grows_or_is_nested_without_end(
    content: str, message: str, verax: CallVerax, tmp_path: Path
) -> None:
    (tmp_path / "spec.yaml").write_text(content)
    said = verax("run", "spec.yaml")
    assert (said.code, said.err.count("\n")) == (2, 1), said.err[:300]
    assert message in said.err
    assert not (tmp_path / "executed").exists()


def test_data_that_is_nested_without_end(verax: CallVerax, tmp_path: Path, copied: Path) -> None:
    spec_of(tmp_path)
    (tmp_path / "data.jsonl").write_text('{"text": ' + "[" * 100_000 + "\n")
    said = verax("run", "spec.yaml")
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert "nested too deeply" in said.err


@pytest.mark.parametrize(
    ("pipe", "command"),
    [
        ("spec.yaml", ("run", "spec.yaml")),
        ("data.jsonl", ("run", "spec.yaml")),
        ("made.jsonl", ("run", "spec.yaml")),
        ("model/config.json", ("run", "spec.yaml")),
        ("model/tokenizer.json", ("run", "spec.yaml")),
        ("model/model.safetensors", ("run", "spec.yaml")),
        ("model/special.json", ("run", "spec.yaml")),
        ("prompts.txt", ("explain", "a boat", "--model", "model", "--labels", "a,b", "--prompts", "prompts.txt")),
        ("ig.pt", ("import", "captum", "ig.pt", "--data", "data.jsonl", "--out", "out.jsonl")),
        ("a.en", ("align", "--source", "a.en", "--target", "data.jsonl", "--out", "links.txt")),
        ("run/run.json", ("show", "run")),
    ],
)
def test_a_pipe_in_place_of_a_file_is_not_waited_for(
    pipe: str, command: tuple[str, ...], copied: Path, tmp_path: Path, one_line: Callable[..., str]
) -> None:
    spec_of(tmp_path, **({"explanations": ["made.jsonl"]} if pipe == "made.jsonl" else {}))
    path = tmp_path / pipe
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    assert one_line(*command).startswith("error: ")


@pytest.mark.parametrize("kind", ["link", "pipe"])
@pytest.mark.parametrize(
    "command",
    [("show", "run", "--out"), ("check", "run", "--require", "comp > 0", "--junit")],
    ids=" ".join,
)
def test_a_file_that_is_written_is_not_a_link_and_not_a_pipe(
    kind: str, command: tuple[str, ...], verax: CallVerax, tmp_path: Path
) -> None:
    word_run(tmp_path / "run")
    (tmp_path / "mine").write_text("precious")
    if kind == "link":
        (tmp_path / "written").symlink_to(tmp_path / "mine")
    else:
        os.mkfifo(tmp_path / "written")
    said = verax(*command, "written")
    assert (said.code, said.err.count("\n")) == (2, 1), said
    assert "written is " in said.err
    assert (tmp_path / "mine").read_text() == "precious"


def test_a_sheet_that_is_a_pipe_and_facts_that_are_nested_without_end(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "sheet.csv")
    with pytest.raises(UserError, match="not a regular file"):
        read_sheet(tmp_path / "sheet.csv")
    (tmp_path / "nle.json").write_text("[" * 100_000)
    with pytest.raises(UserError, match=r"nle.json cannot be read"):
        read_facts(tmp_path)
    (tmp_path / "editor.json").write_text("[" * 100_000)
    with pytest.raises(UserError, match=r"editor.json can't be read"):
        read_editor_facts(tmp_path)


DENSE = torch.tensor([[0.5, 0.25]])
TENSORS: dict[str, Callable[[], Any]] = {
    "sparse": DENSE.to_sparse,
    "sparse_csr": DENSE.to_sparse_csr,
    "quantised": lambda: torch.quantize_per_tensor(DENSE, 0.1, 0, torch.qint8),
    "complex": lambda: DENSE.to(torch.complex64),
    "meta": lambda: torch.empty(1, 2, device="meta"),
    "stride 0": lambda: torch.ones(1).as_strided((2**20, 2**20), (0, 0)),
    "nested": lambda: torch.nested.nested_tensor([DENSE[0]]),
    "text": lambda: "0.5 0.25",
    "nothing": lambda: torch.empty(0),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", TENSORS)
def test_unusual_tensors_of_other_tools(kind: str, copied: Path, verax: CallVerax, tmp_path: Path) -> None:
    (tmp_path / "data.jsonl").write_text(ROWS)
    torch.save({"a": TENSORS[kind]()}, tmp_path / "ig.pt")
    given = ("--data", "data.jsonl", "--tokenizer", copied, "--out", "out.jsonl")
    said = verax("import", "captum", "ig.pt", *given)
    assert (said.code, said.err.count("\n")) == (2, 1), said.err
    assert not (tmp_path / "out.jsonl").exists()
