"""Notebooks without a kernel process: execute them in this one, and turn them into Markdown.

`python docs/_site/notebooks.py [NOTEBOOK...]` executes notebooks, by default all of docs/notebooks, and stores them
with their outputs.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "notebooks"
KEPT = ("text/html", "image/svg+xml", "text/plain")
"""Media types that are stored, the richest first, which is the one that the site shows."""

Notebook = dict[str, Any]


def read(path: Path) -> Notebook:
    """A notebook as JSON."""
    return json.loads(path.read_text("utf-8"))  # type: ignore[no-any-return]


def write(path: Path, notebook: Notebook) -> None:
    """Store a notebook, the same text for the same content."""
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n", "utf-8")


def source(cell: dict[str, Any]) -> str:
    """The text of a cell."""
    return "".join(cell["source"])


def fingerprint(notebook: Notebook) -> str:
    """A hash of all code; stored when the notebook is executed, so that outputs of other code are noticed."""
    code = [source(cell) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return hashlib.sha256(json.dumps(code).encode()).hexdigest()[:16]


def execute(notebook: Notebook) -> Notebook:
    """The notebook with the outputs of its code, which runs in an empty temporary folder; an exception is raised.

    Progress, on stderr, is not stored.
    """
    cells, count = [], 0
    with _shell() as (shell, outputs):
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                count += 1
                outputs.clear()
                printed = io.StringIO()
                with redirect_stdout(printed):
                    shell.run_cell(source(cell), store_history=False).raise_error()
                stream = {"output_type": "stream", "name": "stdout", "text": lines(printed.getvalue())}
                kept = [*([stream] if printed.getvalue() else []), *(_output(one, count) for one in outputs)]
                cell = {**cell, "execution_count": count, "outputs": kept}  # noqa: PLW2901
            cells.append(cell)
    return {**notebook, "cells": cells, "metadata": {**notebook["metadata"], "verax": {"code": fingerprint(notebook)}}}


def lines(text: str) -> list[str]:
    """A text as notebooks store it."""
    return text.splitlines(keepends=True)


def _output(data: dict[str, str], count: int) -> dict[str, Any]:
    kept = {kind: lines(data[kind]) for kind in KEPT if kind in data}
    return {"output_type": "execute_result", "data": kept, "metadata": {}, "execution_count": count}


@contextmanager
def _shell() -> Iterator[tuple[Any, list[dict[str, str]]]]:
    """An IPython shell in a temporary folder, and the list to which it adds what it displays."""
    from IPython.core.displayhook import DisplayHook
    from IPython.core.displaypub import DisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    outputs: list[dict[str, str]] = []

    class Hook(DisplayHook):  # type: ignore[misc]
        def write_output_prompt(self) -> None: ...

        def write_format_data(self, format_dict: dict[str, str], md_dict: Any = None) -> None:
            outputs.append(format_dict)

    class Publisher(DisplayPublisher):  # type: ignore[misc]
        def publish(self, data: dict[str, str], *_: Any, **__: Any) -> None:
            outputs.append(data)

    class Shell(InteractiveShell):  # type: ignore[misc]
        displayhook_class = Hook
        display_pub_class = Publisher

        def init_sys_modules(self) -> None:
            """`__main__` stays what it is."""

    before, hooks = Path.cwd(), (sys.excepthook, sys.displayhook)
    InteractiveShell.clear_instance()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            shell = Shell.instance(config=Config({"HistoryManager": {"enabled": False}}), ipython_dir=folder)
            yield shell, outputs
        finally:
            os.chdir(before)
            Shell.clear_instance()
            sys.excepthook, sys.displayhook = hooks


def markdown(notebook: Notebook) -> str:
    """A notebook as a page of the site: outputs below the code that made them."""
    blocks = []
    for cell in notebook["cells"]:
        text = source(cell)
        blocks.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
        blocks += [_shown(output) for output in cell.get("outputs", ())]
    return "\n\n".join(blocks) + "\n"


def _shown(output: dict[str, Any]) -> str:
    if output["output_type"] == "stream":
        return _text("".join(output["text"]))
    kind = next(kind for kind in KEPT if kind in output["data"])
    text = "".join(output["data"][kind])
    if kind == "text/plain":
        return _text(text)
    html = "\n".join(line for line in text.splitlines() if line.strip())
    return f'<div class="output">\n{html}\n</div>'


def _text(text: str) -> str:
    return f'<div class="output" markdown>\n\n```text\n{text.rstrip()}\n```\n\n</div>'


def main() -> None:
    """Execute the notebooks that are named, or all."""
    for path in [Path(name) for name in sys.argv[1:]] or sorted(FOLDER.glob("*.ipynb")):
        write(path, execute(read(path)))


if __name__ == "__main__":
    main()
