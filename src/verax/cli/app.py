"""The application: its entry point, its consoles, and the options and output that commands share."""
# ruff: noqa: PLC0415

from __future__ import annotations

import io
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import RenderableType
from rich.text import Text

from verax.results.render.console import TerminalConsole
from verax.store.files import disk_problem, replace_file
from verax.store.interrupt import interruptible, received_signal
from verax.types import UserError

if TYPE_CHECKING:
    from verax.results.table import Table

INTERRUPTED = 130
FILE_WIDTH = 120
"""Columns of terminal output that is written to a file."""

app = typer.Typer(
    help="Tell whether an explanation of a language model can be trusted.",
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
process = SimpleNamespace(own=False)
"""Whether the process ends with the command, so that it may change settings of other libraries."""
out = TerminalConsole()
notes = TerminalConsole(stderr=True)


class OutputFormat(StrEnum):
    """Formats of results."""

    terminal = "terminal"
    json = "json"
    csv = "csv"
    latex = "latex"
    markdown = "markdown"
    parquet = "parquet"
    svg = "svg"
    png = "png"
    pdf = "pdf"


Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Device = Annotated[
    str | None, typer.Option(help="cpu, cuda, cuda:1, mps; default: auto, the first of cuda, mps and cpu here.")
]
DTypeOption = Annotated[
    str | None, typer.Option(help="float32 (default), float64, bfloat16, float16, or auto: that of the checkpoint.")
]
FormatOption = Annotated[
    OutputFormat,
    typer.Option("--format", "-f", help="Output format; parquet needs --out; svg, png and pdf: for figures."),
]
FileOption = Annotated[Path | None, typer.Option("--out", "-o", help="Write to a file instead of the terminal.")]
WidthOption = Annotated[
    str,
    typer.Option(help="Of a figure: column (3.3 in), text (6.9 in), or inches.", rich_help_panel="Figures"),
]
TitleOption = Annotated[
    bool, typer.Option("--title/--no-title", help="Write the title above a figure.", rich_help_panel="Figures")
]


def _print_version(wanted: bool) -> None:
    if wanted:
        print_raw(f"verax {version('verax')}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Tell whether an explanation of a language model can be trusted."""
    context.obj = {"debug": debug}


def main(*, own_process: bool = False) -> None:
    """Run the command line.

    Invalid input gives one line and exit code 2. Ctrl-C, SIGTERM and SIGHUP store finished work, and give one line and
    exit code 128 + the number of the signal.
    """
    # threads that wait by spinning make torch many times slower on a machine that others use too
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    process.own = own_process
    args = sys.argv[1:] or ["--help"]
    debug = "--debug" in args  # anywhere in the command
    try:
        with interruptible():
            code = app(args=["--debug"] * debug + [arg for arg in args if arg != "--debug"], standalone_mode=False)
        if code == INTERRUPTED:  # some versions of typer return it, others raise
            raise KeyboardInterrupt
    except UserError as error:
        code = _complain(f"error: {error}", debug=debug, code=2)
    except (KeyboardInterrupt, typer.Abort):
        code = _stopped(debug=debug)
    except Exception as error:  # noqa: BLE001 - an unexpected error is one line too, with an exit code
        if received_signal() is not None:  # a library turned the interruption into an error of its own
            code = _stopped(debug=debug)
        elif (problem := disk_problem(error)) is not None:
            code = _complain(f"error: {problem}", debug=debug, code=2)
        elif hasattr(error, "format_message"):  # wrong usage; typer may bring its own click to raise it
            known = [command.name or getattr(command.callback, "__name__", "") for command in app.registered_commands]
            known += [group.name or "" for group in app.registered_groups]
            about = f"verax {args[0]} --help" if args[0] in known else "verax --help"
            code = _complain(f"error: {error.format_message().strip()} (see {about})", debug=debug, code=2)
        else:
            text = f"error: unexpected {type(error).__name__}: {error} (--debug shows where)"
            code = _complain(text, debug=debug, code=1)
    except BaseException as error:
        from verax.models.panics import is_panic

        if not is_panic(error):
            raise
        code = _complain(f"error: a Rust library panicked: {error} (--debug shows where)", debug=debug, code=1)
    sys.exit(code if isinstance(code, int) else 0)


def _stopped(*, debug: bool) -> int:
    number = received_signal() or signal.SIGINT
    by = "" if number == signal.SIGINT else f" by {signal.Signals(number).name}"
    text = f"stopped{by}; finished work is stored, and the same command continues from there"
    return _complain(text, debug=debug, code=128 + number)


def _complain(text: str, *, debug: bool, code: int) -> int:
    if debug:
        notes.print(Text(traceback.format_exc()), soft_wrap=True)
    notes.print(Text(" ".join(text.splitlines()), "red"), soft_wrap=True)
    return code


def print_results(
    format: OutputFormat,  # noqa: A002 - the name of the option
    file: Path | None,
    *,
    shown: Sequence[RenderableType],
    tables: Sequence[Table],
    as_json: Callable[[], str],
) -> None:
    """Print results, or write them to a file.

    Args:
        shown: what a terminal shows.
        tables: for CSV, LaTeX, Markdown and Parquet.
        as_json: gives the JSON.
    """
    from verax.results.render import plain

    if format is OutputFormat.terminal and file is None:
        for renderable in shown:
            out.print(renderable)
        return
    match format:
        case OutputFormat.terminal:
            written = io.StringIO()
            TerminalConsole(file=written, width=FILE_WIDTH).print(*shown, sep="\n")
            text = written.getvalue()
        case OutputFormat.json:
            text = as_json()
        case OutputFormat.csv:
            text = plain.to_csv(tables)
        case OutputFormat.latex:
            text = plain.to_latex(tables)
        case OutputFormat.markdown:
            text = plain.to_markdown(tables)
        case OutputFormat.parquet:
            from verax.results.render.parquet import to_parquet

            if file is None:
                raise UserError("--format parquet: name the file to write with --out FILE")
            write_output("--out", file, to_parquet(tables))
            return
        case OutputFormat.svg | OutputFormat.png | OutputFormat.pdf:
            raise UserError(f"--format {format.value}: figures have it: verax show --figure, verax explain --plot")
    write_text(text, file)


def write_text(text: str, file: Path | None) -> None:
    """Print a text, or write it to a file if one is given."""
    if file is None:
        print_raw(text)
    else:
        write_output("--out", file, text.encode())


def write_output(option: str, file: Path, data: bytes) -> None:
    """Write the file that an option names, atomically; anything but a regular file is not replaced."""
    try:
        replace_file(file, data)
    except OSError as error:
        raise UserError(f"{option}: {file} cannot be written: {error.strerror}") from None
    except UserError as error:
        raise UserError(f"{option}: {error}") from None


def print_table(
    table: Table,
    format: OutputFormat = OutputFormat.terminal,  # noqa: A002 - the name of the option
    file: Path | None = None,
    records: Table | None = None,
) -> None:
    """Print one table, or write it to a file; `records` replaces it in JSON and CSV."""
    from verax.results.render.terminal import TerminalTable

    data = records or table
    tables = [data if format in {OutputFormat.csv, OutputFormat.parquet} else table]
    print_results(format, file, shown=[TerminalTable(table)], tables=tables, as_json=lambda: json_text(data.records()))


def model_line(model: Any) -> str:
    """The name of a loaded model, and where and in which precision it computes."""
    used = model.explainer if hasattr(model, "explainer") else model
    facts = [used.about["device"], used.fingerprint.get("dtype", "")]
    return f"model {model.name}: {', '.join(filter(None, facts))}"


def json_text(value: Any) -> str:
    """A value as JSON that any terminal can print."""
    return json.dumps(value, ensure_ascii=True, indent=1, allow_nan=False) + "\n"


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    print_raw(json_text(value))


def print_raw(text: str) -> None:
    """Print text without wrapping or colour."""
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
