"""What people read of tables and figures, without the markup of a format."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from verax.results.render.cells import write
from verax.results.study import Study
from verax.results.table import Table


def lines_of(table: Table) -> list[list[str]]:
    """The cells that people see, row by row."""
    return [[write(table.columns[place], row.cells[place]).line for place in table.shown] for row in table.rows]


def heads_of(table: Table) -> list[str]:
    """The titles of the columns that people see."""
    return [table.columns[place].title for place in table.shown]


def figures_of(study: Study[Any], result: Any) -> list[str]:
    """The names of the figures of a result."""
    return [figure.name for figure in study.figures(result)]


def printed(thing: Any, width: int = 100, **options: Any) -> str:
    """What a terminal of so many columns shows."""
    stream = io.StringIO()
    Console(file=stream, width=width, **({"force_terminal": False} | options)).print(thing)
    return stream.getvalue()
