"""Commands about single explanations: list components, explain one input, import explanations of other tools."""
# ruff: noqa: PLC0415

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from verax.cli.app import Json, app, notes, out, print_json
from verax.registry import NAMESPACES, described, entries, unknown
from verax.types import Dataset, Undefined, UserError


@app.command("list")
def list_names(
    namespace: Annotated[
        str, typer.Argument(metavar="COMPONENTS", help=f"{', '.join(NAMESPACES[:-1])} or {NAMESPACES[-1]}.")
    ],
    as_json: Json = False,
) -> None:
    """List available components.

    Those of installed plug-ins come last.

    Examples: `verax list methods`

    `verax list datasets --json`
    """
    if namespace not in NAMESPACES:
        raise UserError(unknown("list", namespace, NAMESPACES))
    listed = [described(entry) for entry in entries(namespace).values()]
    if as_json:
        fields = ("name", "display", "kind", "summary", "cost", "reference")
        print_json([{field: getattr(entry, field) for field in fields} for entry in listed])
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("name", style="bold", no_wrap=True)
    table.add_column("kind", no_wrap=True)
    table.add_column("")
    for entry in listed:
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
        print_json(found.to_dict() if several else made.to_dict())
    elif several:
        out.print(terminal.side_by_side(found.highlights, found.instance, found.prediction, found.skipped))
    else:
        out.print(terminal.explanation(made.highlight, made.instance, made.prediction))


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

    inputs = open_inputs(data)
    chosen: Any = aggregate
    names = None if ids is None else _lines_of(ids)
    options: dict[str, Any] = {"method": method, "target": target, "tokenizer": tokenizer, "ids": names}
    found = import_explanations(kind, file, inputs, out=to, aggregate=chosen, **options)
    out.print(Text(f"Wrote {to}: {sum(map(len, found.values()))} explanations by {', '.join(found)}"), soft_wrap=True)


def open_inputs(data: str, limit: int | None = None) -> Dataset:
    """The inputs that `--data` names: a dataset by its name or path, or the `data` of a spec (YAML).

    Args:
        limit: the first so many of them; None: all, or as many as the spec says.
    """
    from verax.data.load import load_dataset

    if not data.endswith((".yaml", ".yml")):
        return load_dataset(data, limit=limit)
    from verax.run.opening import open_data
    from verax.run.spec import parse_data, read_spec

    content = read_spec(Path(data))
    asked = parse_data(content)
    asked = asked if limit is None else asked.model_copy(update={"limit": limit})
    return open_data(asked, content.get("seed", 0))


def _lines_of(path: Path) -> list[str]:
    try:
        return [line for line in path.read_text("utf-8").splitlines() if line]
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"--ids: {path} can't be read: {error}") from None


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
