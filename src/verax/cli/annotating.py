"""The command for the manual check of free-text explanations."""
# ruff: noqa: PLC0415

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from verax.cli.app import FileOption, FormatOption, OutputFormat, app, json_text, out, print_results, write_output
from verax.cli.show import open_all
from verax.types import UserError


@app.command()
def annotate(
    folders: Annotated[list[Path], typer.Argument(help="Runs with a counterfactual test.", metavar="DIR...")],
    read: Annotated[
        list[Path] | None, typer.Option(help="A sheet that was filled in; repeat it for several annotators.")
    ] = None,
    inputs: Annotated[int, typer.Option(help="Rows of each setting and editor, at most.", min=1)] = 100,
    seed: Annotated[int, typer.Option(help="Seed of the order of the rows.", min=0)] = 0,
    format: FormatOption = OutputFormat.terminal,  # noqa: A002 - the name of the option
    file: FileOption = None,
) -> None:
    """Write a sheet to check by hand whether explanations mention inserted words; read it back with agreement.

    The sheet is a CSV file. In its column `mentioned` an annotator writes `word`, `paraphrase` or `no`. It does not say
    what the rules decided.

    Examples: `verax annotate runs/mt-ra runs/st-re --out sheet.csv`

    `verax annotate runs/mt-ra runs/st-re --read anna.csv --read ben.csv`
    """
    from verax.results.render.plain import to_csv
    from verax.results.render.terminal import TerminalTable
    from verax.results.run import run_names
    from verax.studies.free_text.annotation import agreement, read_sheet, sheet
    from verax.studies.free_text.outcomes import text_run

    opened = open_all(folders)
    runs = [text_run(name, run) for name, run in zip(run_names(opened), opened, strict=True)]
    if not read:
        if file is None:
            raise UserError("name the sheet to write (--out sheet.csv), or one that was filled in (--read sheet.csv)")
        table = sheet(runs, inputs=inputs, seed=seed)
        write_output("--out", file, to_csv([table]).encode())
        out.print(Text(f"Wrote {len(table.rows)} rows to {file}: fill in the column `mentioned`"))
        return
    tables = agreement(runs, [read_sheet(path) for path in read])
    shown = [TerminalTable(table) for table in tables]
    print_results(format, file, shown=shown, tables=tables, as_json=lambda: json_text([t.records() for t in tables]))
