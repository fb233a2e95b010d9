"""The examples of docs/data.md, written to files and run in the order of the page."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest
import yaml

from verax.data.columns import KNOWN_PARTS, Columns
from verax.data.explanations import FIELDS, load_explanations
from verax.data.load import load_dataset

PAGE = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+) ?(\S*)\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for _, name, content in BLOCKS:
        if name:
            (tmp_path / name).write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_python_examples_print_what_they_say(folder: Path) -> None:
    namespace: dict[str, object] = {}
    examples = [content for kind, _, content in BLOCKS if kind == "python"]
    assert len(examples) == 3
    for content in examples:
        said = re.findall(r"^print\(.*\)  # (.*)$", content, flags=re.MULTILINE)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(content, namespace)  # noqa: S102
        assert printed.getvalue().splitlines() == said


def test_the_yaml_examples_can_be_loaded(folder: Path) -> None:
    examples = [yaml.safe_load(content) for kind, _, content in BLOCKS if kind == "yaml"]
    assert len(examples) == 4
    for example in examples:
        dataset = load_dataset(**example["data"])
        assert len(dataset) == 2
        for path in example.get("explanations", ()):
            assert list(load_explanations(Path(path), dataset)) == ["mine", "wordpiece"]


def test_every_field_and_every_guess_is_documented() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", PAGE, flags=re.MULTILINE)
    assert set(rows) == {*Columns.model_fields, *FIELDS}
    assert all(field.description for field in Columns.model_fields.values())
    assert all(f"`{name}`" in PAGE for names in KNOWN_PARTS for name in names)
