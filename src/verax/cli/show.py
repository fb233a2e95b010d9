"""Commands that print results and write reports."""
# ruff: noqa: PLC0415

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from verax.cli.app import (
    FileOption,
    FormatOption,
    OutputFormat,
    TitleOption,
    WidthOption,
    app,
    notes,
    out,
    print_results,
    process,
)
from verax.types import UserError

if TYPE_CHECKING:
    from verax.results.figure import Figure
    from verax.results.run import Run
    from verax.results.study import Findings, Study


TableOption = Annotated[
    list[str] | None,
    typer.Option("--table", help="Show only this table; repeat for several. `list` prints their names."),
]
FigureOption = Annotated[
    list[str] | None,
    typer.Option(
        "--figure",
        help="Write this figure to --out, as PDF, SVG or PNG; repeat for several. `list` prints their names, `all` "
        "means those of all studies.",
        rich_help_panel="Figures",
    ),
]
SwarmOption = Annotated[
    list[str] | None,
    typer.Option("--method", help="For --figure beeswarm: only this method; repeat it.", rich_help_panel="Figures"),
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
    figure: FigureOption = None,
    method: SwarmOption = None,
    width: WidthOption = "column",
    title: TitleOption = True,
) -> None:
    """Show the results of one run, or of several: seeds, models or data sets; or of a ROAR (`verax roar`).

    With both runs and ROARs on the same data, recursive masking gets a column for the ROARs.

    Every study that applies to the runs gives its tables: the leaderboard, recursive masking, the unified framework,
    evaluation across languages, free text, and those of plug-ins. Methods are matched between runs; parameters that
    differ are shown. Runs that do not belong together are refused with the difference.

    The first line states the status of the run. The exit code is 0 if it is finished, 1 if it is finished with
    failures, and 3 if rows are missing or files are damaged.

    Examples: `verax show runs/demo`

    `verax show runs/sst2-seed-* --study masking --format latex --out table.tex`

    `verax show runs/mine --table comprehensiveness --format csv`

    `verax show runs/nle --study free_text --table cards --format csv --out cards.csv`

    `verax show runs/mine --figure leaderboard --width text --out leaderboard.pdf`
    """
    from verax.cli.figures import write_all, write_figures
    from verax.results.roar import has_result
    from verax.studies.masking.roar import findings_with_roar, roar_findings

    if method and not figure:
        raise UserError("--method: it is for --figure beeswarm")
    if figure and len(folders) == 1 and (curves := _training_curves(folders[0])) is not None:
        write_all({curves.name: curves}, format, file, width, title=title)
        return
    roars = [folder for folder in folders if has_result(folder)]
    if study in {None, "masking"} and roars:
        rest = [folder for folder in folders if folder not in roars]
        runs = open_all(rest, warn=format is not OutputFormat.terminal)
        found = [findings_with_roar(runs, roars) if runs else roar_findings(roars)]
    else:
        runs = open_all(folders, warn=format is not OutputFormat.terminal)
        found = findings_of(runs, study)
    if not found:
        open_all(folders)  # what cannot be read may be the reason
        raise UserError(f"{folders[0]}: no study applies to this run; `verax list studies` lists them")
    if figure:
        write_figures(found, runs, figure, method, format, file, width, title=title)
    else:
        _print(_chosen(found, table), format, file, _headlines(runs))
    _exit_by_status(runs)


def _training_curves(folder: Path) -> Figure | None:
    """Performance by epoch of a trained classifier; None for other folders."""
    from verax.jobs.training.folder import FACTS

    if not (folder / FACTS).is_file():
        return None
    from verax.jobs.training.card import curves_figure
    from verax.store.artifact import read_json

    facts = read_json(folder / FACTS) or {}
    try:
        return curves_figure(facts["curves"], facts["metric"], facts["best_epoch"])
    except KeyError as missing:
        raise UserError(f"{folder / FACTS} holds no curves: it has no {missing}") from None


@app.command()
def compare(
    folder_a: Annotated[Path, typer.Argument(help="The folder of a run.", metavar="DIR_A")],
    folder_b: Annotated[Path, typer.Argument(help="The folder of another.", metavar="DIR_B")],
    format: FormatOption = OutputFormat.terminal,  # noqa: A002 - the name of the option
    file: FileOption = None,
) -> None:
    """Compare two runs instance by instance: a joint test of all methods and metrics.

    Example: `verax compare runs/base runs/large`
    """
    from verax.studies.leaderboard import compare_runs

    first, second = open_all([folder_a, folder_b], warn=format is not OutputFormat.terminal)
    _print([compare_runs(first, second)], format, file, _headlines([first, second]))


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(help="The folder of a run.", metavar="DIR")],
    file: Annotated[Path | None, typer.Option("-o", "--out", "--output", help="DIR/report.html by default.")] = None,
    instances: Annotated[int, typer.Option(help="Number of instances to show.", min=0)] = 100,
) -> None:
    """Write the report of a run: one HTML file that needs no network.

    The exit code is that of `verax show`.

    Example: `verax report runs/demo -o report.html`
    """
    from verax.report.page import write_report
    from verax.results.roar import has_result

    runs = [] if has_result(folder) else open_all([folder])
    path = write_report(folder, file, instances=instances, run=runs[0] if runs else None)
    out.print(Text(f"Wrote {path}"))
    _exit_by_status(runs)


def _exit_by_status(runs: Sequence[Run]) -> None:
    """Exit with the highest code of several runs unless it is 0."""
    code = max((run.exit_code for run in runs), default=0)
    if code:
        raise typer.Exit(code)


def open_all(folders: Sequence[Path], *, warn: bool = True) -> list[Run]:
    """Open runs, and warn about unreadable data and unfinished runs, unless the output itself says so."""
    from verax.results.run import open_runs
    from verax.store.read import spare_pandas

    if process.own:
        spare_pandas()
    runs = open_runs(folders)
    for line in _problems(runs) if warn else ():
        notes.print(Text(line, "yellow"))
    return runs


def _problems(runs: Sequence[Run]) -> list[str]:
    return [f"warning: {run.folder}: {line}" for run in runs for line in run.problems]


def _headlines(runs: Sequence[Run]) -> list[str]:
    """What a reader must know first: the status, what was run on what, how accurate the model is, and problems."""
    return [*(line for run in runs for line in (run.headline, *run.notices)), *_problems(runs)]


def findings_of(runs: Sequence[Run], name: str | None = None) -> list[Findings]:
    """Findings of all studies that apply, or of the named one, which must apply."""
    from verax.registry import resolve
    from verax.results.study import studies

    if name is None:
        return _applicable(runs, studies(runs))
    found = resolve("studies", name).apply(runs)
    if found is None:
        presets = " or ".join(preset.name for preset in resolve("studies", name).presets)
        hint = f"; verax run --preset {presets} produces such a run" if presets else ""
        raise UserError(f"{runs[0].folder} has no results for the study {name!r}{hint}")
    return [found]


def _applicable(runs: Sequence[Run], candidates: Sequence[Study[Any]]) -> list[Findings]:
    """Findings of the studies that apply; one that rejects the runs is a note, unless no other accepts them."""
    found, refused = [], []
    for study in candidates:
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
    """The findings with the named tables only; all if none is named."""
    from dataclasses import replace

    from verax.registry import unknown

    if not names:
        return list(found)
    known = [name for findings in found for name in (*(t.name for t in findings.all_tables), *findings.exports)]
    if "list" in names:
        out.print(Text("\n".join(known)))
        raise typer.Exit
    for name in names:
        if name not in known:
            raise UserError(f"--table: {unknown('table', name, known)}")
    kept = [
        replace(
            findings,
            tables=(
                *(table for table in findings.all_tables if table.name in names),
                *(make() for name, make in findings.exports.items() if name in names),
            ),
            figures=(),
            sentences=(),
            verdict=None,
        )
        for findings in found
    ]
    return [findings for findings in kept if findings.tables]


def _print(
    found: Sequence[Findings],
    format: OutputFormat,  # noqa: A002
    file: Path | None,
    headlines: Sequence[str] = (),
) -> None:
    from verax.results.render.plain import to_json
    from verax.results.render.terminal import show_results

    tables = [table for findings in found for table in findings.all_tables]
    shown = show_results(headlines, found)
    print_results(format, file, shown=shown, tables=tables, as_json=lambda: to_json(found))
