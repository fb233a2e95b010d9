"""Commands that execute runs."""
# ruff: noqa: PLC0415

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from verax.cli.app import Device, DTypeOption, app, model_line, notes, out, print_table
from verax.cli.exporting import LogOption, check_loggers, log_run
from verax.types import UserError

if TYPE_CHECKING:
    from verax.results.run import Labels, Run
    from verax.run.plan import Remaining
    from verax.run.prepare import Prepared
    from verax.types import BoolArray, IntArray, Score, Skip


_NOT_RECORDED = frozenset({"spec", "folder", "dry_run", "loggers", "retry_failed", "fail_on_error"}) | frozenset(
    {"workers", "executor", "address", "cpus_per_worker"}
)
"""Parameters of `verax run` that its rows do not depend on, or that are recorded in another way."""


@app.command()
def run(
    context: typer.Context,
    spec: Annotated[Path | None, typer.Argument(help="The YAML file of the run.", metavar="[SPEC.yaml]")] = None,
    preset: Annotated[
        str | None, typer.Option(help="A name from `verax list presets`: methods and metrics of a study.")
    ] = None,
    folder: Annotated[Path | None, typer.Option("--out", help="Folder of the run; default: runs/NAME.")] = None,
    limit: Annotated[
        int | None,
        typer.Option(help="Only the first N inputs (in each language).", min=1, rich_help_panel="Data"),
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(
            help="Only N inputs, drawn at random by the seed (in each language).", min=1, rich_help_panel="Data"
        ),
    ] = None,
    until_decided: Annotated[
        str | None,
        typer.Option(
            help="Take inputs in random order and stop once it is decided by a sequential test which methods differ "
            "from random (random), or which one is best (best).",
            metavar="random|best",
            rich_help_panel="Inputs",
        ),
    ] = None,
    max_inputs: Annotated[
        int | None,
        typer.Option(
            help="Of --until-decided: stop after N inputs in any case.",
            metavar="N",
            min=1,
            rich_help_panel="Inputs",
        ),
    ] = None,
    model: Annotated[str | None, typer.Option(help="Replaces the model of the spec.", rich_help_panel="Model")] = None,
    on_long: Annotated[
        str | None,
        typer.Option(
            help="Inputs beyond the model's length: error skips them (default), truncate cuts them.",
            rich_help_panel="Model",
        ),
    ] = None,
    device: Device = None,
    dtype: DTypeOption = None,
    data: Annotated[str | None, typer.Option(help="Replaces the data of the spec.", rich_help_panel="Data")] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            help="Columns of the data, in place of the spec's: premise=first,hypothesis=second,label=verdict.",
            metavar="NAME=COLUMN,...",
            rich_help_panel="Data",
        ),
    ] = None,
    methods: Annotated[
        str | None, typer.Option(help="Replaces the methods of the spec: names, separated by commas.")
    ] = None,
    metrics: Annotated[
        str | None, typer.Option(help="Replaces the metrics of the spec: names, separated by commas.")
    ] = None,
    validation: Annotated[
        str | None,
        typer.Option(
            help="Data that in_distribution learns from; default: the split `validation`.", rich_help_panel="Data"
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Replaces the seed of the spec.", min=0)] = None,
    editor: Annotated[
        str | None,
        typer.Option(help="Of free-text explanations: a folder made by `verax train editor`.", rich_help_panel="Model"),
    ] = None,
    endpoint: Annotated[
        str | None,
        typer.Option(
            help="Of free-text explanations: base URL that the model is asked at, by its name.",
            metavar="URL",
            rich_help_panel="Model",
        ),
    ] = None,
    allow_key_env: Annotated[
        list[str] | None,
        typer.Option(
            help="An environment variable that the spec's endpoint may be sent, besides those that end in _API_KEY or "
            "_TOKEN; repeat it.",
            metavar="NAME",
            rich_help_panel="Model",
        ),
    ] = None,
    allow_insecure: Annotated[
        bool,
        typer.Option(
            "--allow-insecure", help="Send keys over plain HTTP to other machines, too.", rich_help_panel="Model"
        ),
    ] = False,
    import_from: Annotated[
        Path | None,
        typer.Option(
            help="Folder with the module of a model `python:module:function`; code in it is executed.",
            metavar="FOLDER",
            exists=True,
            file_okay=False,
            rich_help_panel="Model",
        ),
    ] = None,
    max_new_tokens: Annotated[
        int | None,
        typer.Option(
            help="Of free-text explanations: length of the longest, in tokens; default 64.",
            min=1,
            rich_help_panel="Model",
        ),
    ] = None,
    retry_failed: Annotated[
        bool,
        typer.Option(
            "--retry-failed",
            help="Compute all rows again that failed, not only temporary failures.",
            rich_help_panel="Failures",
        ),
    ] = False,
    fail_on_error: Annotated[
        int | None, typer.Option(help="Stop after N failed rows.", metavar="N", min=1, rich_help_panel="Failures")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            help="Compute in N processes, each with its own model; default: in this one.",
            metavar="N",
            min=1,
            rich_help_panel="Workers",
        ),
    ] = None,
    executor: Annotated[
        str | None,
        typer.Option(
            help="Where rows are computed: inline (default), processes (as --workers), ray.", rich_help_panel="Workers"
        ),
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(
            help="Of --executor ray: a running cluster, auto or HOST:PORT; default: one is started here.",
            rich_help_panel="Workers",
        ),
    ] = None,
    cpus_per_worker: Annotated[
        int, typer.Option(help="Of --executor ray: cores of a worker.", min=1, rich_help_panel="Workers")
    ] = 1,
    loggers: LogOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Time a few seconds of the run, print what it would take, and stop.")
    ] = False,
) -> None:
    """Explain and measure as a spec defines; an interrupted run is continued.

    Rows that failed for a reason that may pass (a callable that raised, a broken connection, out of memory) are
    computed again when the run is continued. The exit code is 0 if the run is finished, 1 if it is finished with
    failures or a logger failed, 3 if it was stopped by --fail-on-error.

    Examples: `verax run spec.yaml --out runs/mine --limit 50`

    `verax run spec.yaml --sample 200 --seed 1`

    `verax run spec.yaml --until-decided random --max-inputs 1000`

    `verax run --model my-model --data reviews.csv --methods lime,saliency --metrics comprehensiveness --out runs/mine`

    `verax run --preset attribution-table --model my-model --data reviews.csv`

    `verax run --preset nle --model my-nle-model --editor my-editor --data test.jsonl`

    `verax run spec.yaml --workers 8`
    """
    from verax.models.endpoint import Permissions
    from verax.run.placement import placement_of
    from verax.run.prepare import prepare
    from verax.run.spec import override, parse_spec, preset_spec, read_spec

    if spec is None and preset is None and (metrics is None or folder is None):
        raise UserError(
            "name a spec (verax run spec.yaml), a preset (--preset attribution-table), or both; or give --model, "
            "--data, --methods, --metrics and --out"
        )
    content = {} if spec is None else read_spec(spec)
    if preset is not None:
        content = preset_spec(preset, content)
    served = None if endpoint is None else _served(content, endpoint)
    sections: dict[str, dict[str, Any]] = {
        "model": {
            "name": model,
            "endpoint": served,
            "on_long": on_long,
            "max_new_tokens": max_new_tokens,
            "device": device,
            "dtype": dtype,
        },
        "data": {"name": data, "limit": limit, "sample": sample, "columns": _named_columns(columns)},
        "validation": {"name": validation},
        "until_decided": {"goal": until_decided, "max_inputs": max_inputs},
    }
    content = override(content, {"seed": seed, "methods": _names(methods), "metrics": _names(metrics)}, sections)
    content = _edited_by(content, preset, editor)
    folder = folder or Path("runs") / (preset if spec is None else spec.stem)  # type: ignore[operator]
    placement = placement_of(executor, workers, address, cpus_per_worker)
    check_loggers(loggers or ())
    parsed = parse_spec(content)
    if import_from is not None:
        allow_imports(import_from, parsed.model.name)
    with notes.status("loading model and data"):
        prepared = prepare(parsed, permissions=Permissions(frozenset(allow_key_env or ()), allow_insecure))
    if dry_run:
        _estimate(prepared, folder, workers=placement.workers or 1, retry_failed=retry_failed)
        return
    how: Any = {"retry_failed": retry_failed, "fail_on_error": fail_on_error, "placement": placement}
    show_run(prepared, folder, _recorded(context, folder), loggers or (), **how)
    out.print(Text(f"Next: verax report {shlex.quote(str(folder))}"))


def _recorded(context: typer.Context, folder: Path) -> str:
    """The command as the card of the run records it: with all options that its rows depend on."""
    spec = context.params["spec"]
    command = ["verax", "run", *([] if spec is None else [str(spec)]), "--out", str(folder)]
    for option in context.command.params:
        value = context.params[str(option.name)]
        if option.name in _NOT_RECORDED or value is None or value is False:
            continue
        flag = option.opts[0]
        if value is True:
            command.append(flag)
        else:
            command += [
                part for one in (value if isinstance(value, (list, tuple)) else [value]) for part in (flag, str(one))
            ]
    return shlex.join(command)


def _names(given: str | None) -> list[str] | None:
    """Names that are separated by commas."""
    return None if given is None else [name.strip() for name in given.split(",") if name.strip()]


def _named_columns(given: str | None) -> dict[str, Any] | None:
    """The columns that `--columns` names; a field that is named again has several."""
    columns: dict[str, list[str]] = {}
    for item in _names(given) or ():
        name, equals, column = item.partition("=")
        if not equals or not name or not column:
            raise UserError(f"--columns: got {item!r}; write premise=COLUMN,hypothesis=COLUMN,label=COLUMN")
        columns.setdefault(name, []).append(column)
    return {name: few[0] if len(few) == 1 else few for name, few in columns.items()} or None


def allow_imports(folder: Path, model: str) -> None:
    """Let modules of a folder be imported, after those that are installed."""
    if not model.startswith("python:"):
        raise UserError(f"--import-from: it is for models given as python:module:function, and the model is {model!r}")
    sys.path.append(str(folder.resolve()))


def _served(content: Mapping[str, Any], url: str) -> dict[str, Any]:
    """The section `model.endpoint` of a spec with another URL."""
    model = content.get("model")
    section = model.get("endpoint") if isinstance(model, Mapping) else None
    return {**(section if isinstance(section, Mapping) else {}), "url": url}


def _edited_by(content: dict[str, Any], preset: str | None, editor: str | None) -> dict[str, Any]:
    """A spec's content with the editor that a flag names; a preset's, fitted to the data."""
    from verax.run.editor_option import fitted_to_data, with_editor

    if preset != "nle":
        return with_editor(content, editor)
    fitted = fitted_to_data(content)
    if editor is None and len(fitted["metrics"]) < len(content["metrics"]):
        notes.print(Text("edits are random only; --editor names a folder made by `verax train editor`"))
    return with_editor(fitted, editor)


@app.command()
def demo(
    folder: Annotated[Path, typer.Option("--out", help="Folder of the run.")] = Path("runs/demo"),
    limit: Annotated[int, typer.Option(help="Number of instances.", min=1)] = 200,
    device: Device = None,
) -> None:
    """Explain and measure the shipped model on the built-in corpus, and write the report.

    Example: `verax demo`
    """
    from verax.report.page import write_report
    from verax.run.prepare import prepare
    from verax.run.spec import parse_spec

    spec: dict[str, Any] = {
        "model": {"name": "world/nli", "device": device or "auto"},
        "data": {"name": "world/nli", "split": "test", "limit": limit},
        "methods": ["random", "leave_one_out", "saliency", "input_x_gradient", "integrated_gradients"],
        "metrics": ["comprehensiveness", "sufficiency", "agreement", "complexity"],
    }
    prepared = prepare(parse_spec(spec))
    command = ["verax", "demo", "--out", str(folder), "--limit", str(limit)]
    show_run(prepared, folder, shlex.join(command + ([] if device is None else ["--device", device])))
    out.print(Text(f"Wrote {write_report(folder)}: open it in a browser"))
    out.print(Text('Next: verax explain "The small red boat is on the lake." "The boat is green."'))


def show_run(
    prepared: Prepared,
    folder: Path,
    command: str,
    loggers: Sequence[str] = (),
    **how: Any,
) -> None:
    """Execute a run, and print its findings, counts, missing values and warnings; exit with 1 if rows failed.

    Args:
        loggers: trackers that the finished run is logged to.
        how: further arguments of `execute_run`.
    """
    from verax.cli.show import findings_of
    from verax.results.render.terminal import show_results
    from verax.results.run import UNFINISHED
    from verax.run.execute_run import TooManyFailures, execute_run

    try:
        run = execute_run(
            prepared,
            folder,
            command=command,
            console=notes,
            announce=lambda left: _announce(prepared, folder, left),
            **how,
        )
    except TooManyFailures as error:
        notes.print(Text(f"unfinished: {error}", "red"), soft_wrap=True)
        raise typer.Exit(UNFINISHED) from None
    for part in show_results([run.headline, *run.notices], findings_of([run])):
        out.print(part)
    counts = run.manifest.counts
    if counts is not None:
        parts = f"{counts.done} done + {counts.failed} failed + {counts.skipped} skipped"
        out.print(Text(f"{counts.rows} rows = {parts}"))
    for line in _missing(run):
        out.print(Text(line))
    for warning in run.manifest.warnings:
        notes.print(Text(f"warning: {warning}", "yellow"))
    log_run(run, loggers)
    if counts is not None and counts.failed:
        first = _first_failure(run)
        notes.print(Text(f"{counts.failed} rows failed, the first: {first.method}: {first.detail}", "red"))
        raise typer.Exit(1)


def _first_failure(run: Run) -> Skip | Score:
    """An explanation that failed, or else a score."""
    import numpy as np

    for (failed, _), rows in run.skip_groups().items():
        if failed:
            return run.skips(rows=rows[:1])[0]
    reason = run.scores.reason
    return run.score_rows(rows=np.flatnonzero(reason.codes == reason.code("failed"))[:1])[0]


def _missing(run: Run) -> Iterator[str]:
    """Missing explanations and scores by reason, with the methods that they concern."""
    counts: dict[str, Counter[str]] = {}
    explained = run.labels("explanations", "method")
    for (_, reason), rows in run.skip_groups().items():
        _count(counts.setdefault(reason, Counter()), explained, rows)
    for code, reason in enumerate(run.scores.reason.names):
        rows = run.scores.reason.codes == code
        _count(counts.setdefault(reason, Counter()), run.scores.method, rows)
    for reason, methods in sorted(counts.items(), key=lambda item: -item[1].total()):
        named = sorted(methods)
        more = f" and {len(named) - 3} more" if len(named) > 3 else ""
        yield f"without a value: {reason} {methods.total()} ({', '.join(named[:3])}{more})"


def _count(counter: Counter[str], methods: Labels, rows: IntArray | BoolArray) -> None:
    """Count the rows of each method among some rows."""
    import numpy as np

    codes, numbers = np.unique(methods.codes[rows], return_counts=True)
    counter.update({methods.names[code]: n for code, n in zip(codes.tolist(), numbers.tolist(), strict=True)})


def _estimate(prepared: Prepared, folder: Path, *, workers: int, retry_failed: bool) -> None:
    """Print what is left of a run and what it takes."""
    from verax.cli.cost_table import cost_table
    from verax.run.cost import estimate_cost

    with notes.status("timing a few seconds of the run"):
        cost = estimate_cost(prepared, folder, workers=workers, retry_failed=retry_failed)
    _announce(prepared, folder, cost.left)
    print_table(cost_table(cost))


def _announce(prepared: Prepared, folder: Path, left: Remaining) -> None:
    from verax.results.render.numbers import plural
    from verax.run.endpoint import endpoint_of

    run, plan = prepared.run, prepared.plan
    counted = "predictions, explanations, scores" if run.scores_words else "explanations, scores"
    lines = [
        model_line(run.model),
        f"{plural(len(plan), 'instance')} x {plural(len(plan.labels()), 'method')} x "
        f"{plural(len(run.metrics), 'metric')}: {plural(left.rows, 'row')} "
        f"({counted}) in {folder}",
        f"done already: {left.done}; to do: {left.rows - left.done}",
    ]
    if run.scores_words:
        lines[-1] += f", computing at most {left.passes.forward} forward and {left.passes.backward} backward passes"
    if endpoint_of(run.model) is not None:
        lines.append(f"at most {plural(left.requests, 'request')}, repeated ones not counted")
    if run.until_decided is not None:
        lines.append(f"inputs are taken in random order until decided ({run.until_decided.goal}), so this is the most")
    if left.done < left.rows:
        lines += [line for provider in plan.providers if (line := provider.announcement()) is not None]
    for line in lines:
        notes.print(Text(line))
