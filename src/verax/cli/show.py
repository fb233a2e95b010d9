"""Commands that print results and write reports."""
# ruff: noqa: PLC0415

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from verax.cli.app import app, notes, out
from verax.types import UserError

if TYPE_CHECKING:
    from verax.results.run import Run
    from verax.results.study import Findings, Study
    from verax.results.table import Table


class OutputFormat(StrEnum):
    """How results are printed."""

    terminal = "terminal"
    json = "json"
    csv = "csv"
    latex = "latex"
    markdown = "markdown"


FormatOption = Annotated[OutputFormat, typer.Option("--format", "-f", help="Output format.")]
FileOption = Annotated[Path | None, typer.Option("--out", "-o", help="Write to a file instead of the terminal.")]
TableOption = Annotated[
    list[str] | None,
    typer.Option("--table", help="Show only this table; repeat for several. `list` prints their names."),
]


@app.command()
def show(
    folders: Annotated[list[Path], typer.Argument(help="One run, or several to read together.", metavar="DIR...")],
    study: Annotated[
        str | None, typer.Option(help="Show only this study (`verax list studies`); all that apply by default.")
    ] = None,
    table: TableOption = None,
    format: FormatOption = OutputFormat.terminal,  # noqa: A002 - the name of the option
    file: FileOption = None,
) -> None:
    """Show the results of one run, or of several: seeds, models or data sets; or of a ROAR (`verax roar`).

    Every study that applies to the runs gives its tables: the leaderboard, recursive masking, the unified framework,
    evaluation across languages, free text, and those of plug-ins. Methods are matched between runs; parameters that
    differ are shown. Runs that do not belong together are refused with the difference.

    Examples: `verax show runs/demo`

    `verax show runs/sst2-seed-* --study masking --format latex --out table.tex`

    `verax show runs/mine --table comprehensiveness --format csv`
    """
    from verax.results.roar import has_result
    from verax.studies.masking.roar import roar_findings

    if study in {None, "masking"} and any(map(has_result, folders)):
        _print(_chosen([roar_findings(folders)], table), format, file)
        return
    runs = open_all(folders)
    found = findings_of(runs, study)
    if not found:
        raise UserError(f"{folders[0]}: no study applies to what this run holds; verax list studies names them all")
    _print(_chosen(found, table), format, file)


@app.command()
def compare(
    folder_a: Annotated[Path, typer.Argument(help="The folder of a run.", metavar="DIR_A")],
    folder_b: Annotated[Path, typer.Argument(help="The folder of another.", metavar="DIR_B")],
    format: FormatOption = OutputFormat.terminal,  # noqa: A002 - the name of the option
    file: FileOption = None,
) -> None:
    """Compare two runs instance by instance: a paired test for each method and metric, Holm-corrected.

    Example: `verax compare runs/base runs/large`
    """
    from verax.results.matching import require_same_texts
    from verax.results.study import Findings
    from verax.studies.leaderboard import STUDY
    from verax.studies.leaderboard.analysis import contrast
    from verax.studies.leaderboard.tables import comparison, unshared

    first, second = open_all([folder_a, folder_b])
    require_same_texts(first, second)
    contrasts = contrast(first, second)
    if not contrasts:
        raise UserError(f"{folder_a} and {folder_b} share no method under the same metric")
    table = comparison(contrasts, (str(folder_a), str(folder_b)))
    _print([Findings(STUDY, (table,), (), tuple(unshared(first, second)), ())], format, file)


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(help="The folder of a run.", metavar="DIR")],
    file: Annotated[Path | None, typer.Option("-o", "--output", help="DIR/report.html by default.")] = None,
    instances: Annotated[int, typer.Option(help="Number of instances to show.", min=0)] = 100,
) -> None:
    """Write the report of a run: one HTML file that needs no network.

    Example: `verax report runs/demo -o report.html`
    """
    from verax.report.page import write_report

    out.print(Text(f"Wrote {write_report(folder, file, instances=instances)}"))


def open_all(folders: Sequence[Path]) -> list[Run]:
    """Open runs, and warn about what is missing in them."""
    from verax.results.run import open_runs

    runs = open_runs(folders)
    for run in runs:
        for line in run.problems:
            notes.print(Text(f"warning: {run.folder}: {line}", "yellow"))
    return runs


def findings_of(runs: Sequence[Run], name: str | None = None) -> list[Findings]:
    """What the studies that apply show; the one that was asked for must apply."""
    from verax.registry import resolve
    from verax.results.study import studies

    if name is None:
        return _applicable(runs, studies())
    found = resolve("studies", name).apply(runs)
    if found is None:
        presets = " or ".join(preset.name for preset in resolve("studies", name).presets)
        hint = f"; verax run --preset {presets} produces such a run" if presets else ""
        raise UserError(f"{runs[0].folder} has no results for the study {name!r}{hint}")
    return [found]


def _applicable(runs: Sequence[Run], every: Sequence[Study[Any]]) -> list[Findings]:
    """What all studies that accept the runs show; one that refuses them is a note, unless no other accepts them."""
    found, refused = [], []
    for study in every:
        try:
            findings = study.apply(runs)
        except UserError as error:
            refused.append((study.name, error))
            continue
        if findings is not None:
            found.append(findings)
    if refused and not found:
        raise refused[0][1]
    for name, refusal in refused:
        notes.print(Text(f"{name}: not shown: {refusal}", "yellow"))
    return found


def _chosen(found: Sequence[Findings], names: Sequence[str] | None) -> list[Findings]:
    """The findings with the tables that were asked for."""
    from dataclasses import replace

    from verax.registry import unknown

    if not names:
        return list(found)
    known = [table.name for findings in found for table in findings.tables]
    if "list" in names:
        out.print(Text("\n".join(known)))
        raise typer.Exit
    for name in names:
        if name not in known:
            raise UserError(f"--table: {unknown('table', name, known)}")
    kept = [
        replace(one, tables=tuple(table for table in one.tables if table.name in names), figures=(), sentences=())
        for one in found
    ]
    return [one for one in kept if one.tables]


def _print(found: Sequence[Findings], format: OutputFormat, file: Path | None) -> None:  # noqa: A002
    """Print findings, or write them to a file."""
    from verax.results.render import plain
    from verax.results.render.terminal import show_findings

    tables: list[Table] = [table for findings in found for table in findings.tables]
    if format is OutputFormat.terminal:
        if file is None:
            for findings in found:
                out.print(show_findings(findings))
            return
        from rich.console import Console

        try:
            with file.open("w", encoding="utf-8") as stream:
                console = Console(file=stream, width=120)
                for findings in found:
                    console.print(show_findings(findings))
        except OSError as error:
            raise UserError(f"--out: {file} cannot be written: {error.strerror}") from None
        return
    writers = {"csv": plain.to_csv, "latex": plain.to_latex, "markdown": plain.to_markdown}
    text = plain.to_json(found) if format is OutputFormat.json else writers[format.value](tables)
    if file is None:
        typer.echo(text, nl=False)
        return
    try:
        file.write_text(text, "utf-8")
    except OSError as error:
        raise UserError(f"--out: {file} cannot be written: {error.strerror}") from None
