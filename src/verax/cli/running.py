"""Commands that execute runs."""
# ruff: noqa: PLC0415

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from verax.cli.app import app, notes, out
from verax.types import UserError

if TYPE_CHECKING:
    from verax.results.run import Run
    from verax.run.plan import Remaining
    from verax.run.prepare import Prepared
    from verax.types import IntArray


@app.command()
def run(
    spec: Annotated[
        Path | None, typer.Argument(help="The YAML file that says what to run.", metavar="[SPEC.yaml]")
    ] = None,
    preset: Annotated[
        str | None, typer.Option(help="Methods and metrics under one name: `verax list presets` shows them.")
    ] = None,
    folder: Annotated[Path | None, typer.Option("--out", help="Where to keep it; runs/NAME by default.")] = None,
    limit: Annotated[
        int | None,
        typer.Option(help="Only the first N inputs (in each language).", min=1),
    ] = None,
    model: Annotated[str | None, typer.Option(help="Another model than the spec's.")] = None,
    data: Annotated[str | None, typer.Option(help="Other data than the spec's.")] = None,
    validation: Annotated[
        str | None, typer.Option(help="What in_distribution learns from; the data's split `validation` by default.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Another seed than the spec's.", min=0)] = None,
    editor: Annotated[
        str | None, typer.Option(help="Of free-text explanations: a folder made by `verax train editor`.")
    ] = None,
    endpoint: Annotated[
        str | None,
        typer.Option(
            help="Of free-text explanations: base URL that the model is asked at, by its name.", metavar="URL"
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan and stop.")] = False,
) -> None:
    """Explain and measure, as a spec says; go on by itself where an earlier run of it stopped.

    Examples: `verax run spec.yaml --out runs/mine --limit 50`

    `verax run --preset attribution-table --model my-model --data reviews.csv`

    `verax run --preset nle --model my-nle-model --editor my-editor --data test.jsonl`
    """
    from verax.run.execute_run import remaining_in
    from verax.run.prepare import prepare
    from verax.run.spec import override, parse_spec, preset_spec, read_spec

    if spec is None and preset is None:
        raise UserError("say what to run: a spec (verax run spec.yaml), a preset (--preset attribution-table), or both")
    content = {} if spec is None else read_spec(spec)
    if preset is not None:
        content = preset_spec(preset, content)
    content = override(
        content, limit=limit, model=model, data=data, validation=validation, seed=seed, endpoint=endpoint
    )
    content = _edited_by(content, preset, editor)
    folder = folder or Path("runs") / (preset if spec is None else spec.stem)  # type: ignore[operator]
    command = ["verax", "run", *([] if spec is None else [str(spec)]), "--out", str(folder)]
    flags = {"--preset": preset, "--limit": limit, "--model": model, "--data": data, "--validation": validation}
    for flag, value in {**flags, "--seed": seed, "--editor": editor, "--endpoint": endpoint}.items():
        command += [] if value is None else [flag, str(value)]
    with notes.status("loading model and data"):
        prepared = prepare(parse_spec(content))
    if dry_run:
        _announce(prepared, folder, remaining_in(prepared, folder))
        return
    show_run(prepared, folder, shlex.join(command))
    out.print(Text(f"Next: verax report {shlex.quote(str(folder))}"))


def _edited_by(content: dict[str, Any], preset: str | None, editor: str | None) -> dict[str, Any]:
    """A spec's content with the editor that a flag names, or without the shipped one on other data."""
    from verax.run.editor_option import with_editor, without_shipped_editor

    if preset == "nle" and editor is None and (fitting := without_shipped_editor(content)) != content:
        notes.print(Text("edits are drawn at random alone; --editor names one that `verax train editor` made"))
        return fitting
    return with_editor(content, editor)


@app.command()
def demo(
    folder: Annotated[Path, typer.Option("--out", help="Where to keep it.")] = Path("runs/demo"),
    limit: Annotated[int, typer.Option(help="How many instances.", min=1)] = 200,
) -> None:
    """Explain and measure the shipped model on the built-in corpus, and write the report.

    Example: `verax demo`
    """
    from verax.report.page import write_report
    from verax.run.prepare import prepare
    from verax.run.spec import parse_spec

    spec: dict[str, Any] = {
        "model": "world/nli",
        "data": {"name": "world/nli", "split": "test", "limit": limit},
        "methods": ["random", "leave_one_out", "saliency", "input_x_gradient", "integrated_gradients"],
        "metrics": ["comprehensiveness", "sufficiency", "agreement", "complexity"],
    }
    prepared = prepare(parse_spec(spec))
    show_run(prepared, folder, shlex.join(["verax", "demo", "--out", str(folder), "--limit", str(limit)]))
    out.print(Text(f"Wrote {write_report(folder)}: open it in a browser"))
    out.print(Text('Next: verax explain "The small red boat is on the lake." "The boat is green."'))


def show_run(prepared: Prepared, folder: Path, command: str) -> None:
    """Execute a run, and print what it found and what is missing in it."""
    from verax.run.execute_run import execute_run

    execute_run(
        prepared,
        folder,
        command=command,
        console=notes,
        announce=lambda left: _announce(prepared, folder, left),
    )
    show_finished(folder)


def show_finished(folder: Path) -> None:
    """Print the findings of a run, its counts, missing values and warnings; exit with 1 if rows failed."""
    from verax.cli.show import findings_of
    from verax.results.render.terminal import show_findings
    from verax.results.run import Run

    run = Run(folder)
    for findings in findings_of([run]):
        out.print(show_findings(findings))
    counts = run.manifest.counts
    if counts is not None:
        parts = f"{counts.done} done + {counts.failed} failed + {counts.skipped} skipped"
        out.print(Text(f"{counts.rows} rows = {parts}"))
    for line in _missing(run):
        out.print(Text(line))
    for warning in run.manifest.warnings:
        notes.print(Text(f"warning: {warning}", "yellow"))
    if counts is not None and counts.failed:
        first = next((skip for skip in run.skips() if skip.failed), None)
        row = None if first is not None else next(iter(run.score_rows(rows=_failed(run)[:1])), None)
        method, detail = (
            (first.method, first.detail)
            if first is not None
            else (getattr(row, "method", ""), getattr(row, "detail", ""))
        )
        notes.print(Text(f"{counts.failed} rows failed, the first: {method}: {detail}", "red"))
        raise typer.Exit(1)


def _failed(run: Run) -> IntArray:
    import numpy as np

    return np.flatnonzero(run.scores.reason.codes == run.scores.reason.code("failed"))


def _missing(run: Run) -> Iterator[str]:
    """Values and explanations that are missing, by reason, with the methods they concern."""
    found: dict[str, Counter[str]] = {}
    for skip in run.skips():
        found.setdefault(skip.reason, Counter())[skip.method] += 1
    scores = run.scores
    for reason, code in ((name, scores.reason.code(name)) for name in scores.reason.names):
        for method in scores.method.codes[scores.reason.codes == code].tolist():
            found.setdefault(reason, Counter())[scores.method.names[method]] += 1
    for reason, methods in sorted(found.items(), key=lambda item: -item[1].total()):
        named = sorted(methods)
        more = f" and {len(named) - 3} more" if len(named) > 3 else ""
        yield f"without a value: {reason} {methods.total()} ({', '.join(named[:3])}{more})"


def _announce(prepared: Prepared, folder: Path, left: Remaining) -> None:
    from verax.run.endpoint import endpoint_of, most_requests

    run, plan = prepared.run, prepared.plan
    counted = "predictions, explanations, scores" if run.scores_words else "explanations, scores"
    lines = [
        f"{len(plan)} instances x {len(plan.labels())} methods x {len(run.metrics)} metrics: {left.rows} rows "
        f"({counted}) in {folder}",
        f"done already: {left.done}; to do: {left.rows - left.done}",
    ]
    if run.scores_words:
        lines[-1] += f", computing at most {left.passes.forward} forward and {left.passes.backward} backward passes"
    if endpoint_of(run.model) is not None:
        lines.append(f"at most {most_requests(run)} requests in all, repeated ones not counted")
    if left.done < left.rows:
        lines += [line for provider in plan.providers if (line := provider.announcement()) is not None]
    for line in lines:
        notes.print(Text(line))
