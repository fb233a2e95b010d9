"""The application that commands are added to, and how they print."""
# ruff: noqa: PLC0415

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from verax.types import UserError

if TYPE_CHECKING:
    from verax.results.table import Table

app = typer.Typer(
    help="Tell whether an explanation of a language model can be trusted.",
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
out = Console()
notes = Console(stderr=True)

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Csv = Annotated[bool, typer.Option("--csv", help="Print CSV.")]
Latex = Annotated[bool, typer.Option("--latex", help="Print a LaTeX table (booktabs).")]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")]


@app.callback()
def _options(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Tell whether an explanation of a language model can be trusted."""
    context.obj = {"debug": debug}


def print_table(table: Table, records: Table | None = None, **wanted: bool) -> None:
    """Print a table in the one format that was asked for (json, csv, latex, markdown), or for the terminal.

    Args:
        records: the table that JSON and CSV hold instead.
    """
    from verax.results.render import plain
    from verax.results.render.terminal import Board

    chosen = [name for name, yes in wanted.items() if yes]
    if len(chosen) > 1:
        raise UserError(f"--{chosen[0]} and --{chosen[1]} exclude each other: choose one")
    match chosen:
        case []:
            out.print(Board(table))
        case ["json"]:
            print_json((records or table).records())
        case ["csv"]:
            print_raw(plain.to_csv([records or table]))
        case ["latex"]:
            print_raw(plain.to_latex([table]))
        case _:
            print_raw(plain.to_markdown([table]))


def print_json(value: Any) -> None:
    """A value for a program."""
    print_raw(json.dumps(value, ensure_ascii=True, indent=1, allow_nan=False))


def print_raw(text: str) -> None:
    """Text for a program: no wrapping, no colour."""
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
