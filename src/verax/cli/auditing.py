"""The command that audits a model: plan, cost, run, verdict."""
# ruff: noqa: PLC0415

from __future__ import annotations

import math
import re
import shlex
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table as Grid
from rich.text import Text

from verax.cli.app import Device, app, notes, out
from verax.cli.exporting import LogOption, check_loggers, log_run
from verax.cli.running import allow_imports
from verax.types import UserError

if TYPE_CHECKING:
    from verax.results.run import Run
    from verax.run.audit import Audit
    from verax.run.cost import RunCost

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h)")
_SECONDS = {"s": 1, "m": 60, "h": 3600}

REQUESTS = 1000
"""Requests that an endpoint is sent at most, by default."""
PURPOSES = {
    "faithfulness": "does the model itself depend on the words that are ranked first?",
    "agreement": "do explanations agree with people?",
    "crosslingual": "does a sentence get the same explanation in every language?",
    "consistency": "is the text consistent with how the model behaves?",
}
"""Questions that metrics answer, by the property that they measure."""


@app.command()
def audit(
    model: Annotated[str, typer.Argument(help="A shipped model, a folder, a hub id, or python:module:function.")],
    data: Annotated[str, typer.Argument(help="A dataset (`verax list datasets`) or a file: JSONL, CSV, TSV, Parquet.")],
    budget: Annotated[
        str | None, typer.Option(help="Time for the whole audit: 90s, 10m, 2h. Default: until decided.", metavar="TIME")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--out", help="Folder of the run; default: runs/audit-MODEL-DATA.")
    ] = None,
    split: Annotated[str | None, typer.Option(help="Split of the data; default: test, or the only one.")] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first N inputs.", min=1)] = None,
    seed: Annotated[int, typer.Option(help="Of everything that draws at random.", min=0)] = 0,
    device: Device = None,
    labels: Annotated[
        str | None, typer.Option(help="Classes in the model's order, separated by commas, if it has no names for them.")
    ] = None,
    import_from: Annotated[
        Path | None,
        typer.Option(
            help="Folder with the module of a model `python:module:function`; code in it is executed.",
            metavar="FOLDER",
            exists=True,
            file_okay=False,
        ),
    ] = None,
    endpoint: Annotated[
        str | None,
        typer.Option(
            help="Base URL of a server of the OpenAI API that MODEL is asked at, by its name.",
            metavar="URL",
            rich_help_panel="Endpoint",
        ),
    ] = None,
    key_env: Annotated[
        str | None,
        typer.Option(
            help="Environment variable with its key; default: VERAX_API_KEY.",
            metavar="NAME",
            rich_help_panel="Endpoint",
        ),
    ] = None,
    max_requests: Annotated[
        int | None,
        typer.Option(
            help="Requests that it is sent at most; the number of inputs follows. Default: 1000.",
            metavar="N",
            min=1,
            rich_help_panel="Endpoint",
        ),
    ] = None,
    allow_insecure: Annotated[
        bool,
        typer.Option(
            "--allow-insecure", help="Send keys over plain HTTP to other machines, too.", rich_help_panel="Endpoint"
        ),
    ] = False,
    loggers: LogOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan and its cost, and stop.")] = False,
) -> None:
    """Find out whether the explanations of a model can be trusted.

    Methods and metrics are chosen by what the model supports and what the data contain. The plan and its cost are
    printed first. Inputs are taken in random order until it is decided by a sequential test whether each method is
    better than random explanations, or until the time is over. The verdict says which method to use, how certain that
    is, and what fails. The spec is saved next to the folder of the run, and `verax run` repeats it.

    The exit code is that of `verax run`, whatever the verdict; `verax check` turns results into an exit code.

    Examples: `verax audit world/nli world/nli --budget 1m`

    `verax audit my-model reviews.csv --budget 10m`

    `verax audit python:my_module:predict reviews.csv --import-from . --labels negative,positive`

    `verax audit some-model pairs.jsonl --endpoint http://127.0.0.1:8000/v1 --max-requests 500`
    """
    from verax.models.endpoint import Permissions
    from verax.report.page import write_report
    from verax.run.audit import execute_audit, fitted, plan_audit, spec_file
    from verax.run.execute_run import OutOfTime
    from verax.run.spec import override

    started = time.monotonic()
    check_loggers(loggers or ())
    seconds = None if budget is None else duration_of(budget)
    folder = folder or Path("runs") / f"audit-{_slug(model)}-{_slug(data)}"
    if import_from is not None:
        allow_imports(import_from, model)
    classes = None if labels is None else [label.strip() for label in labels.split(",")]
    served = _served(endpoint, key_env, max_requests)
    sections: dict[str, dict[str, Any]] = {
        "model": {"device": device, "labels": classes, "endpoint": served},
        "data": {"split": split, "limit": limit},
    }
    content = override({"model": {"name": model}, "data": {"name": data}, "seed": seed}, {}, sections)
    with notes.status("loading model and data"):
        permissions = Permissions(frozenset([key_env] if key_env else []), allow_insecure)
        planned = plan_audit(content, permissions=permissions)
    stop_at = None if seconds is None else started + seconds
    with notes.status("timing a few seconds of the audit"):
        planned, cost = fitted(planned, folder, seconds, stop_at)
    _print_plan(planned, cost, None if dry_run else spec_file(folder), seconds)
    if dry_run:
        return
    try:
        run = execute_audit(planned, folder, console=notes, stop_at=stop_at)
    except OutOfTime:
        from verax.results.run import UNFINISHED

        again = "the same command with a larger --budget continues from there"
        notes.print(Text(f"unfinished: the time was over before the first results; {again}", "red"), soft_wrap=True)
        raise typer.Exit(UNFINISHED) from None
    print_verdict(run)
    shown = shlex.quote(str(folder))
    out.print(Text(f"Report: {write_report(folder)}   All tables: verax show {shown}"), soft_wrap=True)
    log_run(run, loggers or ())
    if run.exit_code:
        raise typer.Exit(run.exit_code)


def _served(url: str | None, key_env: str | None, max_requests: int | None) -> dict[str, Any] | None:
    """The section `model.endpoint` of the spec."""
    if url is None:
        for option, value in {"--key-env": key_env, "--max-requests": max_requests}.items():
            if value is not None:
                raise UserError(f"{option}: it is an option of --endpoint URL")
        return None
    key = {} if key_env is None else {"key_env": key_env}
    return {"url": url, "max_requests": max_requests or REQUESTS, **key}


def duration_of(text: str) -> float:
    """The seconds of a time such as 90s, 10m or 2h."""
    found = _DURATION.fullmatch(text.strip())
    if found is None or not float(found[1]):
        raise UserError(f"--budget: expected a time such as 90s, 10m or 2h, got {text!r}")
    return float(found[1]) * _SECONDS[found[2]]


def _slug(name: str) -> str:
    """A name of a model or of data, of a path its end, as part of the name of a folder."""
    path = Path(name)
    return re.sub(r"\W+", "-", path.stem if path.exists() else name).strip("-") or "unnamed"


def _print_plan(planned: Audit, cost: RunCost, spec: Path | None, budget: float | None) -> None:
    """What is going to be run, why, and what it takes."""
    out.print(Text("Plan", "bold"))
    out.print(_lines(_plan(planned, cost, spec, budget)))
    out.print()


def _plan(planned: Audit, cost: RunCost, spec: Path | None, budget: float | None) -> Iterable[tuple[str, str]]:
    from verax.registry import display_names, entries
    from verax.results.render.numbers import listed

    run, found = planned.prepared.run, planned.contents
    yield (
        "Model",
        f"{run.model.name}: {listed(run.model.labels, 4)}; it gives {listed(sorted(run.model.capabilities), 9)}",
    )
    contains = {
        "gold classes": found.labels,
        "human highlights": found.highlights,
        "human explanations": found.explanations,
        f"translations ({', '.join(found.langs)})": found.translations,
    }
    parts = " or ".join(map(str, found.parts))
    has = listed([name for name, present in contains.items() if present]) or "neither classes nor annotations"
    yield "Data", f"{run.data.name}: {found.inputs:,} inputs of {parts} part{'s' * (parts != '1')}, with {has}"
    listed_methods = [one for one in run.methods if one.measured_by is None]
    names = display_names("methods", [(one.name, one.parameters) for one in listed_methods])
    yield "Methods", listed(names, 12)
    kinds: dict[str, list[str]] = {}
    for metric in run.metrics:
        kinds.setdefault(entries("metrics")[metric.name].kind, []).append(metric.name)
    metrics = [f"{kind} ({listed(list(dict.fromkeys(several)))}): {PURPOSES[kind]}" for kind, several in kinds.items()]
    yield from _rows("Metrics", metrics)
    reasons: dict[str, list[str]] = {}
    for name, why in planned.left_out.items():
        reasons.setdefault(why.removeprefix(f"{name} "), []).append(name)
    yield from _rows("Left out", [f"{listed(several)}: {why}" for why, several in reasons.items()])
    yield "Inputs", _inputs(planned)
    yield "Cost", _cost(planned, cost, budget)
    if spec is not None:
        yield "Spec", f"{spec}: `verax run {spec}` repeats the audit"


def _inputs(planned: Audit) -> str:
    if planned.prepared.run.until_decided is None:
        return f"{planned.most:,} of {planned.contents.inputs:,}"
    until = "in random order until each method is decided to be better or worse than random"
    return f"{until}; at most {planned.most:,} of {planned.contents.inputs:,}"


def _cost(planned: Audit, cost: RunCost, budget: float | None) -> str:
    """The time of the inputs that are taken at most."""
    from verax.results.render.numbers import count, duration, plural

    limit = "" if budget is None else f"; it stops after {duration(budget).removeprefix('about ')}"
    if cost.requests is not None and cost.requests.requests:
        share = planned.most / planned.contents.inputs
        most = [math.ceil(share * number) for number in cost.requests[:3]]
        tokens = f"{count(most[1])} tokens of prompts and {count(most[2])} of answers"
        return f"at most {plural(most[0], 'request')}, {tokens}; nothing was sent so far{limit}"
    if cost.expected is None or cost.expected.seconds is None:
        return f"{'nothing is left to compute' if cost.left.done == cost.left.rows else 'not known'}{limit}"
    wanted = cost.left.rows * planned.most / planned.contents.inputs - cost.left.done
    share = min(1.0, max(0.0, wanted / (cost.left.rows - cost.left.done)))
    passes, texts = cost.expected.forward + cost.expected.backward, cost.expected.text
    work = f"{count(round(share * texts))} texts" if texts else f"{count(round(share * passes))} passes"
    return f"{duration(share * cost.expected.seconds)} at most on this machine, {work}{limit}"


def print_verdict(run: Run) -> None:
    """The conclusion of a run, and the table that it follows from."""
    from verax.cli.show import findings_of
    from verax.results.render.terminal import TerminalTable, plain
    from verax.studies.leaderboard import STUDY
    from verax.studies.leaderboard.conclusion import conclusion

    board = STUDY.analyse([run])
    if board is None:
        sentences = [line for findings in findings_of([run]) for line in findings.sentences]
        rows, overview = [*_rows("Found", sentences)], None
    else:
        found, overview = conclusion(board), STUDY.tables(board)[0]
        rows = [("Use", found.use), ("Certainty", found.certainty)]
        rows += [*_rows("Besides", found.others), *_rows("Fails", found.fails)]
    rows += _rows(
        "Accuracy", [f"{run.accuracy_in_words} of the model's predictions are right"] if run.accuracies else []
    )
    out.print()
    out.print(Text("Verdict", "bold"))
    out.print(_lines([*rows, *_rows("Read next", _read_next(run))]))
    out.print()
    if overview is not None:
        out.print(TerminalTable(overview))
        notes_below = [*(f"{mark.symbol} {mark.meaning}" for mark in overview.marks), overview.caption]
        for line in filter(None, notes_below):
            out.print(plain(line, "dim"))
        out.print()


def _rows(heading: str, lines: Iterable[str]) -> list[tuple[str, str]]:
    """Lines of which the first has the heading."""
    return [("" if number else heading, line) for number, line in enumerate(lines)]


def _read_next(run: Run) -> list[str]:
    """Pages of the documentation about what the run measured."""
    names = {run.manifest.metric(label).name for label in run.metrics}
    pages = {
        "docs/metrics.md: what each metric measures, and what it does not": "comprehensiveness" in names,
        "docs/faithfulness-measurable.md: models whose explanations can be measured by masking": "sufficiency" in names,
        "docs/crosslingual.md: explanations across languages": "crosslingual_faithfulness" in names,
        "docs/free-text.md: tests of explanations in free text": "counterfactual_test" in names,
        "docs/statistics.md: how certain marks and p-values are": True,
    }
    return [page for page, concerns in pages.items() if concerns]


def _lines(rows: Iterable[tuple[str, str]]) -> Grid:
    """Lines with a heading each, wrapped to the terminal."""
    from verax.results.render.terminal import plain

    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True, style="bold cyan", min_width=9)
    grid.add_column()
    for heading, text in rows:
        grid.add_row(Text(heading), plain(text))
    return grid
