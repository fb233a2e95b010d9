"""The notebooks of the documentation run, and what they show is what their code shows today."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import notebooks
import pytest

ALL = sorted(notebooks.FOLDER.glob("*.ipynb"))


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Models that are made at first use go to a folder of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def shape(notebook: dict[str, Any]) -> list[list[tuple[str, tuple[str, ...], int]]]:
    """Of each output of each cell: its type, its media types, and its number of printed lines."""
    return [
        [
            (output["output_type"], tuple(sorted(output.get("data", ()))), len(output.get("text", ())))
            for output in cell.get("outputs", ())
        ]
        for cell in notebook["cells"]
    ]


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_is_stored(path: Path) -> None:
    stored = notebooks.read(path)
    assert stored["metadata"]["verax"]["code"] == notebooks.fingerprint(stored), "run `make notebooks`"
    assert shape(notebooks.execute(stored)) == shape(stored), "run `make notebooks`"


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_a_notebook_names_no_place_and_no_time(path: Path) -> None:
    outputs = [output for cell in notebooks.read(path)["cells"] for output in cell.get("outputs", ())]
    text = "".join("".join(part) for one in outputs for part in (one.get("text", ()), *one.get("data", {}).values()))
    assert text
    assert not re.search(r"/tmp/|/home/|/root/|/Users/|[A-Z]:\\|0x[0-9a-f]{8}|\d seconds|\d{4}-\d\d-\d\d", text)
    assert not re.search(r"(?<![\w<])/(?:\w+/){2,}", re.sub(r"</?\w[^>]*>", "", text))


def test_there_are_six_notebooks() -> None:
    assert len(ALL) == 6


def test_an_error_in_a_notebook_is_raised() -> None:
    notebook = {"cells": [{"cell_type": "code", "source": ["print(1)\n", "1 / 0"]}], "metadata": {}}
    with pytest.raises(ZeroDivisionError):
        notebooks.execute(notebook)


def test_what_is_displayed_and_printed_is_kept_and_nothing_else_changes() -> None:
    before = Path.cwd()
    code = ["from IPython.display import HTML, display\n", "display(HTML('<b>1</b>'))\n", "print('two')\n", "3"]
    notebook = {"cells": [{"cell_type": "code", "source": code}], "metadata": {}}
    (cell,) = notebooks.execute(notebook)["cells"]
    printed, displayed, value = cell["outputs"]
    assert printed["text"] == ["two\n"]
    assert displayed["data"]["text/html"] == ["<b>1</b>"]
    assert value["data"]["text/plain"] == ["3"]
    assert Path.cwd() == before
    page = notebooks.markdown({"cells": [cell], "metadata": {}})
    assert "<b>1</b>" in page
    assert "two" in page
