"""Commands about runs: carry one out, and read what it found."""
# ruff: noqa: PLC0415

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from verax.cli.app import Csv, Json, Latex, Markdown, app, notes, out, show
from verax.types import Score, Skip, UserError

if TYPE_CHECKING:
    from verax.run.plan import Remaining
    from verax.run.prepare import Prepared
    from verax.run.run import Run


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
def summary(
    folder: Annotated[Path, typer.Argument(help="The folder of a run.", metavar="DIR")],
    as_json: Json = False,
    as_csv: Csv = False,
    as_latex: Latex = False,
    as_markdown: Markdown = False,
) -> None:
    """Print the leaderboard of a run.

    Example: `verax summary runs/demo --latex`
    """
    from verax.report import tables, terminal

    opened = open_run(folder)
    rows = opened.summaries
    if not rows and opened.nle is not None:
        raise UserError(f"{folder} holds free-text explanations, which are tested and not ranked: verax nle {folder}")
    show(
        tables.summary_table(rows),
        lambda: terminal.leaderboard(rows),
        json=as_json,
        csv=as_csv,
        latex=as_latex,
        markdown=as_markdown,
    )


@app.command()
def compare(
    folder_a: Annotated[Path, typer.Argument(help="The folder of a run.", metavar="DIR_A")],
    folder_b: Annotated[Path, typer.Argument(help="The folder of another.", metavar="DIR_B")],
    as_json: Json = False,
    as_csv: Csv = False,
    as_latex: Latex = False,
    as_markdown: Markdown = False,
) -> None:
    """Compare two runs, instance by instance: a paired test for each method and metric, Holm-corrected.

    Example: `verax compare runs/base runs/large`
    """
    from verax.report import tables, terminal
    from verax.stats import compare as compare_scores
    from verax.stats.recorded import parallel

    a, b = open_run(folder_a), open_run(folder_b)
    check_same_inputs(a, b)
    together = parallel([*a.stored.instances, *b.stored.instances])
    rows = compare_scores(a.scores, b.scores, {**b.directions, **a.directions}, parallel=together)
    show(
        tables.comparison_table(rows),
        lambda: terminal.comparison(rows, str(folder_a), str(folder_b)),
        json=as_json,
        csv=as_csv,
        latex=as_latex,
        markdown=as_markdown,
    )


@app.command()
def racu(
    folders: Annotated[
        list[Path], typer.Argument(help="Runs with recursive_masking: one, or one a seed.", metavar="DIR")
    ],
    as_json: Json = False,
    as_csv: Csv = False,
    as_latex: Latex = False,
    as_markdown: Markdown = False,
) -> None:
    """Print ACU and RACU of recursive masking, best first.

    Of one run the intervals are over its instances. Of several, which must differ in the seed of their model alone,
    they are over the runs.

    Examples: `verax racu runs/sst2`

    `verax racu runs/sst2-seed-* --latex`
    """
    from verax.report import tables, terminal
    from verax.stats.areas import masked_runs, masking_curves

    opened = [open_run(folder) for folder in folders]
    masked = [list(masked_runs(run.card, run.scores).values())[:1] for run in opened]
    for folder, found in zip(folders, masked, strict=True):
        if not found:
            raise UserError(f"{folder} has no scores of recursive_masking")
    for number, other in enumerate(opened[1:], 1):
        _check_seeds(opened[:number], other)
    curves = masking_curves([run for found in masked for run in found])
    if curves is None:
        raise UserError(f"{folders[0]} has no curve of the random measure, which the others are measured against")
    show(
        tables.masking_table(curves),
        lambda: terminal.masking(curves),
        json=as_json,
        csv=as_csv,
        latex=as_latex,
        markdown=as_markdown,
    )


@app.command()
def unified(
    folder: Annotated[Path, typer.Argument(help="A run with words, word pairs or span pairs.", metavar="DIR")],
    as_json: Json = False,
    as_csv: Csv = False,
    as_latex: Latex = False,
    as_markdown: Markdown = False,
) -> None:
    """Print the properties of words, word pairs and span pairs, by what they are made of: a table for each.

    Examples: `verax unified runs/unified`

    `verax unified runs/unified --latex`
    """
    from verax.report import unified_terminal
    from verax.report.unified_tables import unified_records, unified_tables

    found = open_run(folder).unified
    if found is None:
        raise UserError(
            f"{folder} has fewer than two kinds of explanation under the properties of the unified framework; "
            "verax run --preset unified measures them"
        )
    show(
        unified_records(found),
        lambda: unified_terminal.unified(found),
        for_papers=unified_tables(found),
        json=as_json,
        csv=as_csv,
        latex=as_latex,
        markdown=as_markdown,
    )


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(help="The folder of a run.", metavar="DIR")],
    file: Annotated[Path | None, typer.Option("-o", "--output", help="DIR/report.html by default.")] = None,
    instances: Annotated[int, typer.Option(help="How many instances to show.", min=0)] = 100,
) -> None:
    """Write the report of a run: one HTML file that needs no network.

    Example: `verax report runs/demo -o report.html`
    """
    from verax.report.page import write_report

    out.print(Text(f"Wrote {write_report(folder, file, instances=instances)}"))


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
    """Execute a run, and print its results and what is missing in it."""
    from verax.report import crosslingual_terminal, nle_terminal, terminal, unified_terminal
    from verax.run.execute_run import execute_run

    finished = execute_run(
        prepared,
        folder,
        command=command,
        console=notes,
        announce=lambda left: _announce(prepared, folder, left),
    )
    if finished.summaries:
        out.print(terminal.leaderboard(finished.summaries))
    if finished.masking_curves is not None:
        out.print(terminal.masking(finished.masking_curves))
    if finished.unified is not None:
        out.print(unified_terminal.unified(finished.unified))
    if finished.crosslingual is not None:
        out.print(crosslingual_terminal.crosslingual(finished.crosslingual))
    if finished.nle is not None:
        out.print(nle_terminal.nle(finished.nle))
    show_counts(finished)


def show_counts(finished: Run) -> None:
    """Print how many rows a run has, which are without a value and why, and its warnings; fail if rows failed."""
    counts = finished.card["counts"]
    out.print(
        Text(f"{counts['rows']} rows = {counts['done']} done + {counts['failed']} failed + {counts['skipped']} skipped")
    )
    rows: list[Skip | Score] = [*finished.stored.skips, *finished.stored.scores]
    reasons = Counter(row.reason for row in rows if row.reason is not None)
    for reason, n in reasons.most_common():
        whose = sorted({row.method for row in rows if row.reason == reason})
        named = ", ".join(whose[:3]) + (f" and {len(whose) - 3} more" if len(whose) > 3 else "")
        out.print(Text(f"without a value: {reason} {n} ({named})"))
    for warning in finished.card["warnings"]:
        notes.print(Text(f"warning: {warning}", "yellow"))
    failed = next((row for row in rows if row.reason == "failed"), None)
    if failed is not None:
        notes.print(Text(f"{counts['failed']} rows failed, the first: {failed.method}: {failed.detail}", "red"))
        raise typer.Exit(1)


def open_run(folder: Path) -> Run:
    """A run, with a word on the terminal about what is missing in it."""
    from verax.run.run import Run

    opened = Run(folder)
    for line in opened.stored.damaged:
        notes.print(Text(f"warning: {folder}: {line}", "yellow"))
    return opened


def _check_seeds(before: list[Run], other: Run) -> None:
    """Runs that are averaged must be of the same inputs and of models that differ in their seed alone."""
    first = before[0]
    check_same_inputs(first, other)
    if {i.id for i in first.stored.instances} != {i.id for i in other.stored.instances}:
        raise UserError(f"{first.folder} and {other.folder} do not have the same instances: they can't be averaged")
    for fact in ("architecture", "parameters", "masking"):
        a, b = (run.card.get("model", {}).get(fact) for run in (first, other))
        if a != b:
            raise UserError(f"{first.folder} and {other.folder} are of different models ({fact}: {a}, {b})")
    for run in before:
        if run.card.get("model", {}).get("hash") == other.card.get("model", {}).get("hash"):
            raise UserError(f"{run.folder} and {other.folder} are of the same model: there is no other seed in them")


def check_same_inputs(a: Run, b: Run) -> None:
    """Runs are compared instance by instance: an id must mean the same input in both."""
    texts = {i.id: [part.raw for part in i.parts] for i in a.stored.instances}
    shared = [i for i in b.stored.instances if i.id in texts]
    if not shared:
        raise UserError(f"{a.folder} and {b.folder} share no instance: there is nothing to compare")
    for instance in shared:
        if texts[instance.id] != [part.raw for part in instance.parts]:
            raise UserError(f"instance {instance.id!r} is not the same text in {a.folder} and in {b.folder}")


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
