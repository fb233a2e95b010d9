"""The application that commands are added to, and how they print."""
# ruff: noqa: PLC0415

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console

from verax.types import UserError

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


def written(table: Any, *, for_papers: Sequence[Any] = (), **wanted: bool) -> str | None:
    """A table in the one format that was asked for, None if none was.

    Args:
        for_papers: the tables that LaTeX and Markdown show instead, one after the other.
    """
    from verax.report import tables

    chosen = [name for name, yes in wanted.items() if yes]
    if len(chosen) > 1:
        raise UserError(f"--{chosen[0]} and --{chosen[1]} exclude each other: choose one")
    writers = {"json": tables.to_json, "csv": tables.to_csv, "latex": tables.to_latex, "markdown": tables.to_markdown}
    if not chosen:
        return None
    shown = for_papers if for_papers and chosen[0] in {"latex", "markdown"} else [table]
    return "\n".join(writers[chosen[0]](one) for one in shown)


def show(table: Any, pretty: Callable[[], Any], *, for_papers: Sequence[Any] = (), **wanted: bool) -> None:
    """A table in the one format that was asked for, or else as a person likes it; `for_papers` as in `written`."""
    made = written(table, for_papers=for_papers, **wanted)
    if made is None:
        out.print(pretty())
    else:
        print_raw(made)


def print_json(value: Any) -> None:
    """A value for a program."""
    print_raw(json.dumps(value, ensure_ascii=True, indent=1, allow_nan=False))


def print_raw(text: str) -> None:
    """Text for a program: no wrapping, no colour."""
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
