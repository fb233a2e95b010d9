"""The command that turns the results of a run into an exit code, for builds."""
# ruff: noqa: PLC0415

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from verax.cli.app import FileOption, FormatOption, OutputFormat, app, notes, out, print_table, write_output
from verax.cli.show import open_all
from verax.types import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verax.results.run import Run
    from verax.results.table import Table
    from verax.studies.leaderboard.requirements import Assessed


@app.command()
def check(
    folder: Annotated[Path, typer.Argument(help="The folder of a run.", metavar="DIR")],
    require: Annotated[
        list[str] | None,
        typer.Option(
            help="[METHOD:] METRIC OPERATOR VALUE, where the value is a number or `random`; repeat it. Without a "
            "method, every one must meet it.",
            metavar="REQUIREMENT",
        ),
    ] = None,
    no_worse_than: Annotated[
        Path | None,
        typer.Option(help="An earlier run on the same inputs: no method may be significantly worse.", metavar="DIR"),
    ] = None,
    interval: Annotated[
        bool, typer.Option("--interval", help="A number must be met by the whole 95 % interval, not by the mean alone.")
    ] = False,
    junit: Annotated[Path | None, typer.Option(help="Write the outcome as JUnit XML, too.", metavar="FILE")] = None,
    format: FormatOption = OutputFormat.terminal,  # noqa: A002 - the name of the option
    file: FileOption = None,
) -> None:
    """Check requirements on the results of a run, so that a build fails when explanations get worse.

    `METRIC > random` (`<` where lower values are better) is met if the method is significantly better than random
    explanations by the test of the leaderboard, adjusted for all pairs of methods. A number is compared with the mean,
    or with --interval with the end of its interval. --no-worse-than makes the comparison of `verax compare`.

    The exit code is 0 if all requirements are met, 1 if one is not, 2 for invalid input, 3 if a run is not finished.

    Examples: `verax check runs/mine --require "leave_one_out: comprehensiveness > random"`

    `verax check runs/mine --require "comprehensiveness >= 0.3" --no-worse-than runs/main --junit checks.xml`
    """
    from verax.results.matching import require_same_texts
    from verax.results.run import UNFINISHED
    from verax.studies.leaderboard.requirements import Requirement, check_no_worse, check_requirements

    requirements = [Requirement.parse(text) for text in require or ()]
    if not requirements and no_worse_than is None:
        raise UserError("nothing to check: give --require, --no-worse-than, or both")
    run, *earlier = open_all([folder, *([] if no_worse_than is None else [no_worse_than])])
    for one in (run, *earlier):
        if one.status == "unfinished":
            notes.print(Text(f"{one.folder}: {one.status_line}; nothing was checked", "red"), soft_wrap=True)
            raise typer.Exit(UNFINISHED)
    checked = check_requirements(run, requirements, interval=interval)
    for other in earlier:
        require_same_texts(other, run)
        compared = list(check_no_worse(run, other))
        if not compared:
            raise UserError(f"{folder} and {other.folder} share no method under the same metric")
        checked += compared
        _note_unshared(other, run)
    table = _table(checked, run)
    if table.rows or format is not OutputFormat.terminal:
        print_table(table, format, file, records=_records(checked))
    else:  # comparisons that are met have no row
        out.print(Text(table.title))
    if junit is not None:
        _write_junit(junit, checked, run)
    if not all(one.met for one in checked):
        raise typer.Exit(1)


def _note_unshared(earlier: Run, run: Run) -> None:
    """Say what only one of two runs has: it was not compared."""
    from verax.studies.leaderboard.tables import unshared

    for line in unshared(earlier, run):
        notes.print(Text(line, "yellow"))


def _table(checked: Sequence[Assessed], run: Run) -> Table:
    """What is not met, then what is; comparisons that are met are only counted."""
    from verax.results.render.numbers import number, plural
    from verax.results.table import Cell, Column, Table, table_row

    titles = {"met": "Met", "requirement": "Requirement", "method": "Method", "found": "Found"}
    rows = [
        table_row(
            "yes" if one.met else "NO",
            one.requirement,
            Cell(one.method, shown=run.manifest.display(one.method)),
            ", ".join(filter(None, ("" if one.value is None else number(one.value.value), one.found))),
        )
        for one in sorted(checked, key=lambda one: one.met)
        if not (one.met and one.compared)
    ]
    failed, equal = sum(not one.met for one in checked), sum(one.met and one.compared for one in checked)
    title = f"{failed} of {plural(len(checked), 'check')} not met" if failed else f"All {len(checked)} checks met"
    title += f" ({plural(equal, 'comparison')} with an earlier run met)" if equal else ""
    columns = tuple(Column(name, title, "text") for name, title in titles.items())
    return Table("check", title, columns, tuple(rows))


def _records(checked: Sequence[Assessed]) -> Table:
    """Every check with its numbers, for programs."""
    from verax.results.table import Column, Table, table_row

    names = ("met", "requirement", "method", "metric", "value", "found")
    rows = tuple(table_row(*(getattr(one, name) for name in names)) for one in checked)
    return Table("check", "Checks", tuple(Column(name, name) for name in names), rows)


def _write_junit(file: Path, checked: Sequence[Assessed], run: Run) -> None:
    """Write JUnit XML: a test case for each requirement and method."""
    from xml.etree import ElementTree

    from verax.results.render.markup import visible

    failures = str(sum(not one.met for one in checked))
    counts = {"tests": str(len(checked)), "failures": failures, "errors": "0", "skipped": "0"}
    root = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(root, "testsuite", {"name": visible(f"verax check {run.folder}"), **counts})
    for one in checked:
        names = {"classname": visible(one.method), "name": visible(one.requirement)}
        case = ElementTree.SubElement(suite, "testcase", names)
        if not one.met:
            value = "" if one.value is None else f" {one.value.value}"
            message = visible(f"{one.method}: {' '.join(filter(None, (one.metric + value, one.found)))}")
            ElementTree.SubElement(case, "failure", {"message": message, "type": "requirement"}).text = message
    write_output("--junit", file, ElementTree.tostring(root, "utf-8", xml_declaration=True))
