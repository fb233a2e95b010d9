"""The command line. What a command needs is imported when it is called, so that listing and help are instant."""
# ruff: noqa: PLC0415

from __future__ import annotations

import json
import os
import shlex
import sys
import traceback
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from verax.registry import Room, entries, unknown
from verax.types import Score, Skip, Undefined, UserError

if TYPE_CHECKING:
    from verax.run.carry_out import Prepared
    from verax.run.plan import Left
    from verax.run.run import Run

app = typer.Typer(
    help="Tell whether an explanation of a language model can be trusted.",
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
out = Console()
notes = Console(stderr=True)

INTERRUPTED = 130
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


@app.callback()
def _options(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Tell whether an explanation of a language model can be trusted."""
    context.obj = {"debug": debug}


@app.command("list")
def list_names(
    what: Annotated[str, typer.Argument(help="methods, metrics, datasets, models or presets.")], as_json: Json = False
) -> None:
    """Show what there is.

    Example: `verax list methods`
    """
    if what not in get_args(Room):
        raise UserError(unknown("list", what, get_args(Room)))
    found = entries(what)  # type: ignore[arg-type]
    if as_json:
        fields = ("name", "kind", "summary", "cost", "reference")
        _print_json([{field: getattr(entry, field) for field in fields} for entry in found.values()])
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("name", style="bold", no_wrap=True)
    table.add_column("kind", no_wrap=True)
    table.add_column("")
    for entry in found.values():
        facts = Text(entry.summary)
        if entry.cost:
            facts.append(f"\npasses for n words: {entry.cost}", "dim")
        if entry.reference:
            facts.append(f"\n{entry.reference}", "dim italic")
        table.add_row(Text(entry.name), Text(entry.kind), facts)
    out.print(table)


@app.command()
def explain(
    texts: Annotated[list[str], typer.Argument(help="The parts of the input: one text, or premise and hypothesis.")],
    model: Annotated[str, typer.Option(help="A shipped model, a folder or a hub id.")] = "world/nli",
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="A name that `verax list methods` shows, integrated_gradients by default; repeat it, or say all, to "
            "see several side by side."
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A parameter of the method (one method only); repeat it."),
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="prediction (the default), gold, loss, or the name of a class.")
    ] = None,
    label: Annotated[str | None, typer.Option(help="The gold class, for the targets gold and loss.")] = None,
    seed: Annotated[int, typer.Option(help="For methods that draw at random.", min=0)] = 0,
    as_json: Json = False,
) -> None:
    """Explain one input.

    Examples: `verax explain "A red kettle is in the kitchen." "The kettle is blue." --method leave_one_out`

    `verax explain "A red kettle is in the kitchen." "The kettle is blue." --method all`
    """
    from verax.api import explain as explain_one
    from verax.api import explain_all
    from verax.models.load import load_model
    from verax.report import terminal

    methods = method or ["integrated_gradients"]
    parameters = _parameters(settings or [])
    several = len(methods) > 1 or methods == ["all"]
    if several and parameters:
        raise UserError("--set: several methods are shown, and a parameter belongs to one; name one --method")
    if target is not None:
        if "target" in parameters:
            raise UserError("--target and --set target=... say the same thing: give one of them")
        parameters["target"] = target
    try:
        with notes.status("explaining"):
            opened = load_model(model)
            if several:
                chosen = None if "all" in methods else methods
                found = explain_all(opened, *texts, methods=chosen, target=target, label=label, seed=seed)
            else:
                made = explain_one(opened, *texts, method={methods[0]: parameters}, label=label, seed=seed)
    except Undefined as undefined:
        raise UserError(f"this input can't be explained: {undefined}") from undefined
    if as_json:
        _print_json(found.to_dict() if several else made.to_dict())
    elif several:
        out.print(terminal.side_by_side(found.highlights, found.instance, found.prediction, found.skipped))
    else:
        out.print(terminal.explanation(made.highlight, made.instance, made.prediction))


@app.command()
def run(
    spec: Annotated[
        Path | None, typer.Argument(help="The YAML file that says what to run.", metavar="[SPEC.yaml]")
    ] = None,
    preset: Annotated[
        str | None, typer.Option(help="Methods and metrics under one name: `verax list presets` shows them.")
    ] = None,
    folder: Annotated[Path | None, typer.Option("--out", help="Where to keep it; runs/NAME by default.")] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first N instances.", min=1)] = None,
    model: Annotated[str | None, typer.Option(help="Another model than the spec's.")] = None,
    data: Annotated[str | None, typer.Option(help="Other data than the spec's.")] = None,
    seed: Annotated[int | None, typer.Option(help="Another seed than the spec's.", min=0)] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan and stop.")] = False,
) -> None:
    """Explain and measure, as a spec says; go on by itself where an earlier run of it stopped.

    Examples: `verax run spec.yaml --out runs/mine --limit 50`

    `verax run --preset attribution-table --model my-model --data reviews.csv`
    """
    from verax.run.carry_out import prepare
    from verax.run.spec import override, parse_spec, preset_spec, read_spec

    if spec is None and preset is None:
        raise UserError("say what to run: a spec (verax run spec.yaml), a preset (--preset attribution-table), or both")
    content = {} if spec is None else read_spec(spec)
    if preset is not None:
        content = preset_spec(preset, content)
    content = override(content, limit=limit, model=model, data=data, seed=seed)
    folder = folder or Path("runs") / (preset if spec is None else spec.stem)  # type: ignore[operator]
    command = ["verax", "run", *([] if spec is None else [str(spec)]), "--out", str(folder)]
    for flag, value in {"--preset": preset, "--limit": limit, "--model": model, "--data": data, "--seed": seed}.items():
        command += [] if value is None else [flag, str(value)]
    with notes.status("loading model and data"):
        prepared = prepare(parse_spec(content))
    if dry_run:
        from verax.store.read import read_keys

        _announce(prepared, folder, prepared.plan.left(read_keys(folder)))
        return
    _carry_out(prepared, folder, shlex.join(command))
    out.print(Text(f"Next: verax report {shlex.quote(str(folder))}"))


@app.command()
def summary(
    folder: Annotated[Path, typer.Argument(help="The folder of a run.", metavar="DIR")],
    as_json: Json = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    as_latex: Annotated[bool, typer.Option("--latex", help="Print a LaTeX table (booktabs).")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")] = False,
) -> None:
    """Print the leaderboard of a run.

    Example: `verax summary runs/demo --latex`
    """
    from verax.report import tables, terminal

    rows = _open_run(folder).summaries
    written = _written(tables.summary_table(rows), json=as_json, csv=as_csv, latex=as_latex, markdown=as_markdown)
    if written is None:
        out.print(terminal.leaderboard(rows))
    else:
        _print_raw(written)


@app.command()
def compare(
    folder_a: Annotated[Path, typer.Argument(help="The folder of a run.", metavar="DIR_A")],
    folder_b: Annotated[Path, typer.Argument(help="The folder of another.", metavar="DIR_B")],
    as_json: Json = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    as_latex: Annotated[bool, typer.Option("--latex", help="Print a LaTeX table (booktabs).")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")] = False,
) -> None:
    """Compare two runs, instance by instance: a paired test for each method and metric, Holm-corrected.

    Example: `verax compare runs/base runs/large`
    """
    from verax.report import tables, terminal
    from verax.stats import compare as compare_scores

    a, b = _open_run(folder_a), _open_run(folder_b)
    _check_same_inputs(a, b)
    rows = compare_scores(a.scores, b.scores, {**b.directions, **a.directions})
    written = _written(tables.comparison_table(rows), json=as_json, csv=as_csv, latex=as_latex, markdown=as_markdown)
    if written is None:
        out.print(terminal.comparison(rows, str(folder_a), str(folder_b)))
    else:
        _print_raw(written)


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


@app.command("import")
def import_file(
    kind: Annotated[str, typer.Argument(help="captum, shap, inseq or eraser.", metavar="FORMAT")],
    file: Annotated[Path, typer.Argument(help="What the other tool wrote.", metavar="FILE")],
    data: Annotated[str, typer.Option(help="The inputs that were explained: a spec (YAML), a file, or a name.")],
    to: Annotated[Path, typer.Option("--out", help="The JSONL to write, for `explanations` of a spec.")],
    method: Annotated[str | None, typer.Option(help="Their name in the leaderboard; the format by default.")] = None,
    target: Annotated[str | None, typer.Option(help="prediction (the default), gold, loss, or a class.")] = None,
    tokenizer: Annotated[str | None, typer.Option(help="Of the explained model: a folder or a hub id.")] = None,
    aggregate: Annotated[str | None, typer.Option(help="Over dimensions: sum (the default), mean, l1, l2.")] = None,
    ids: Annotated[Path | None, typer.Option(help="A file with the id of each explanation, one a line.")] = None,
) -> None:
    """Turn explanations that another tool computed into a file that a spec can name.

    Example: `verax import captum ig.pt --data spec.yaml --tokenizer my-model --out ig.jsonl`
    """
    from verax.data.imports.load import import_explanations
    from verax.data.load import load_dataset

    if data.endswith((".yaml", ".yml")):
        from verax.run.carry_out import open_data
        from verax.run.spec import parse_spec, read_spec

        spec = parse_spec(read_spec(Path(data)))
        inputs = open_data(spec.data, spec.seed)
    else:
        inputs = load_dataset(data)
    chosen: Any = aggregate
    names = None if ids is None else _lines_of(ids)
    options: dict[str, Any] = {"method": method, "target": target, "tokenizer": tokenizer, "ids": names}
    found = import_explanations(kind, file, inputs, out=to, aggregate=chosen, **options)
    out.print(Text(f"Wrote {to}: {sum(map(len, found.values()))} explanations by {', '.join(found)}"), soft_wrap=True)


def _lines_of(path: Path) -> list[str]:
    try:
        return [line for line in path.read_text("utf-8").splitlines() if line]
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"--ids: {path} can't be read: {error}") from None


@app.command()
def demo(
    folder: Annotated[Path, typer.Option("--out", help="Where to keep it.")] = Path("runs/demo"),
    limit: Annotated[int, typer.Option(help="How many instances.", min=1)] = 200,
) -> None:
    """Explain and measure the shipped model on the built-in corpus, and write the report.

    Example: `verax demo`
    """
    from verax.report.page import write_report
    from verax.run.carry_out import prepare
    from verax.run.spec import parse_spec

    spec: dict[str, Any] = {
        "model": "world/nli",
        "data": {"name": "world/nli", "split": "test", "limit": limit},
        "methods": ["random", "leave_one_out", "saliency", "input_x_gradient", "integrated_gradients"],
        "metrics": ["comprehensiveness", "sufficiency", "agreement", "complexity"],
    }
    prepared = prepare(parse_spec(spec))
    _carry_out(prepared, folder, shlex.join(["verax", "demo", "--out", str(folder), "--limit", str(limit)]))
    out.print(Text(f"Wrote {write_report(folder)}: open it in a browser"))
    out.print(Text('Next: verax explain "The small red boat is on the lake." "The boat is green."'))


def main() -> None:
    """Run the command line: a user's mistake is one line and exit code 2, Ctrl-C is 130."""
    # threads that wait by spinning make torch many times slower on a machine that others use too
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    sys.path.append(str(Path.cwd()))  # so that `python:module:function` finds a function of one's own
    args = sys.argv[1:] or ["--help"]
    debug = "--debug" in args
    try:
        code = app(args=_debug_first(args), standalone_mode=False)
        if code == INTERRUPTED:  # some versions of typer return it, others raise
            raise KeyboardInterrupt
    except UserError as error:
        code = _complain(str(error), debug=debug, code=2)
    except (KeyboardInterrupt, typer.Abort):
        text = "stopped; what was done is kept, and the same command goes on from there"
        code = _complain(text, debug=debug, code=INTERRUPTED)
    except Exception as error:  # noqa: BLE001 - the last line of defence: say it in one line, keep the exit code honest
        if hasattr(error, "format_message"):  # wrong usage; typer may or may not bring a click of its own to raise it
            known = [command.name or getattr(command.callback, "__name__", "") for command in app.registered_commands]
            about = f"verax {args[0]} --help" if args[0] in known else "verax --help"
            text = f"{error.format_message().strip()} ({about} shows how)"
            code = _complain(text, debug=debug, code=2)
        else:
            text = f"unexpected {type(error).__name__}: {error} (--debug shows where)"
            code = _complain(text, debug=debug, code=1)
    sys.exit(code if isinstance(code, int) else 0)


def _debug_first(args: list[str]) -> list[str]:
    """`--debug` may stand anywhere."""
    return ["--debug"] * ("--debug" in args) + [arg for arg in args if arg != "--debug"]


def _complain(text: str, *, debug: bool, code: int) -> int:
    if debug:
        traceback.print_exc()
    notes.print(Text(text if code == INTERRUPTED else f"error: {text}", "red"), soft_wrap=True)
    return code


def _parameters(settings: list[str]) -> dict[str, Any]:
    import yaml

    found: dict[str, Any] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key:
            raise UserError(f"--set: got {setting!r}; write it as key=value")
        try:
            found[key] = yaml.safe_load(value)
        except yaml.YAMLError:
            found[key] = value
    return found


def _carry_out(prepared: Prepared, folder: Path, command: str) -> None:
    from verax.report import terminal
    from verax.run.carry_out import carry_out

    finished = carry_out(
        prepared,
        folder,
        command=command,
        console=notes,
        announce=lambda left, _: _announce(prepared, folder, left),
    )
    out.print(terminal.leaderboard(finished.summaries))
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


def _open_run(folder: Path) -> Run:
    """A run, with a word on the terminal about what is missing in it."""
    from verax.run.run import Run

    opened = Run(folder)
    for line in opened.stored.damaged:
        notes.print(Text(f"warning: {folder}: {line}", "yellow"))
    return opened


def _check_same_inputs(a: Run, b: Run) -> None:
    """Runs are compared instance by instance: an id must mean the same input in both."""
    texts = {i.id: [part.raw for part in i.parts] for i in a.stored.instances}
    shared = [i for i in b.stored.instances if i.id in texts]
    if not shared:
        raise UserError(f"{a.folder} and {b.folder} share no instance: there is nothing to compare")
    for instance in shared:
        if texts[instance.id] != [part.raw for part in instance.parts]:
            raise UserError(f"instance {instance.id!r} is not the same text in {a.folder} and in {b.folder}")


def _announce(prepared: Prepared, folder: Path, left: Left) -> None:
    plan = prepared.plan
    lines = [
        f"{len(plan.instances)} instances x {len(plan.labels())} methods x {len(plan.metrics)} metrics"
        f": {left.rows} rows (predictions, explanations, scores) in {folder}",
        f"done already: {left.done}; to do: {left.rows - left.done}, "
        f"computing at most {left.passes.forward} forward and {left.passes.backward} backward passes",
    ]
    for line in lines:
        notes.print(Text(line))


Format = Literal["json", "csv", "latex", "markdown"]


def _written(table: Any, **wanted: bool) -> str | None:
    """A table in the one format that was asked for, None if none was."""
    from verax.report import tables

    chosen = [name for name, yes in wanted.items() if yes]
    if len(chosen) > 1:
        raise UserError(f"--{chosen[0]} and --{chosen[1]} exclude each other: choose one")
    writers = {"json": tables.to_json, "csv": tables.to_csv, "latex": tables.to_latex, "markdown": tables.to_markdown}
    return writers[chosen[0]](table) if chosen else None


def _print_json(value: Any) -> None:
    _print_raw(json.dumps(value, ensure_ascii=True, indent=1, allow_nan=False))


def _print_raw(text: str) -> None:
    """Text for a program: no wrapping, no colour."""
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
