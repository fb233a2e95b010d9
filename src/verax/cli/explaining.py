"""Commands about single explanations: list components, explain one input, import explanations of other tools."""
# ruff: noqa: PLC0415

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.table import Table
from rich.text import Text

from verax.cli.app import (
    Device,
    DTypeOption,
    FileOption,
    FormatOption,
    Json,
    OutputFormat,
    TitleOption,
    WidthOption,
    app,
    json_text,
    notes,
    out,
    print_results,
    write_text,
)
from verax.registry import NAMESPACES, described, entries, resolve, unknown
from verax.types import Dataset, Undefined, UserError

PLOTS = ("bar", "waterfall", "text")
if TYPE_CHECKING:
    from verax.api import Explanation, SideBySide
    from verax.models.classifier import Classifier
    from verax.models.self_explainer import SelfExplainer
    from verax.registry.lookup import RegistryEntry


@app.command("list")
def list_names(
    namespace: Annotated[
        str | None,
        typer.Argument(
            metavar="[COMPONENTS]", help=f"{', '.join(NAMESPACES[:-1])} or {NAMESPACES[-1]}.  [default: all]"
        ),
    ] = None,
    format: FormatOption = OutputFormat.terminal,  # noqa: A002 - the name of the option
    file: FileOption = None,
) -> None:
    """List available components, those of installed plug-ins last.

    Examples: `verax list`

    `verax list methods`

    `verax list datasets --format json`
    """
    from verax.results.table import Column, table_row
    from verax.results.table import Table as ResultTable

    if namespace is not None and namespace not in NAMESPACES:
        raise UserError(unknown("list", namespace, NAMESPACES))
    names = NAMESPACES if namespace is None else (namespace,)
    listed = {name: [described(entry) for entry in entries(name).values()] for name in names}
    fields = ("name", "display", "kind", "summary", "cost", "reference")
    columns = tuple(Column(field, field, "text") for field in fields)
    tables = []
    for name, own in listed.items():
        rows = tuple(table_row(*(getattr(entry, field) for field in fields)) for entry in own)
        tables.append(ResultTable(name, name, columns, rows))
    records = {table.title: table.records() for table in tables}
    if namespace is None:
        shown = [_summaries(name, own) for name, own in listed.items() if own]
    else:
        shown = [_details(listed[namespace])]
    print_results(
        format,
        file,
        shown=shown,
        tables=tables,
        as_json=lambda: json_text(records if namespace is None else records[namespace]),
    )


def _summaries(namespace: str, components: Sequence[RegistryEntry]) -> Table:
    """Components of one namespace, a line each."""
    shown = Table(box=None, pad_edge=False, title=namespace, title_justify="left", show_header=False)
    shown.add_column(style="bold", min_width=max(len(component.name) for component in components))  # never cut off
    shown.add_column()
    for component in components:
        # the text is cut off, and not its column: of columns that cannot wrap rich may leave nothing
        shown.add_row(Text(component.name), Text(component.summary, no_wrap=True, overflow="ellipsis"))
    return shown


def _details(components: Sequence[RegistryEntry]) -> Table:
    """Components with all that is known of them before they are imported."""
    shown = Table(box=None, pad_edge=False)
    shown.add_column("name", style="bold", no_wrap=True)
    shown.add_column("kind", no_wrap=True)
    shown.add_column("")
    for component in components:
        facts = Text(component.summary)
        if component.cost:
            facts.append(f"\npasses for n words: {component.cost}", "dim")
        if component.reference:
            facts.append(f"\n{component.reference}", "dim italic")
        shown.add_row(Text(component.name), Text(component.kind), facts)
    return shown


@app.command()
def explain(
    texts: Annotated[list[str], typer.Argument(help="The parts of the input: one text, or premise and hypothesis.")],
    model: Annotated[str, typer.Option(help="A shipped model, a folder or a hub id.")] = "world/nli",
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="A name from `verax list methods`; repeat it, or give all, to see several. Default: "
            "integrated_gradients, or the method that the model was trained for."
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A parameter of the method (one method only); repeat it."),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(help="prediction (default), gold, loss, or the name of a class.", rich_help_panel="Target"),
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="The gold class, for the targets gold and loss.", rich_help_panel="Target")
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            help="The classes that a model that follows instructions chooses from: `yes,no`.",
            rich_help_panel="Free text",
        ),
    ] = None,
    endpoint: Annotated[
        str | None,
        typer.Option(help="Base URL of an endpoint that serves the model.", metavar="URL", rich_help_panel="Free text"),
    ] = None,
    prompts: Annotated[
        Path | None, typer.Option(help="A file of prompts that replaces the shipped ones.", rich_help_panel="Free text")
    ] = None,
    max_new_tokens: Annotated[
        int | None,
        typer.Option(
            help="Length of the longest free-text explanation, in tokens; default 64.",
            min=1,
            rich_help_panel="Free text",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="For methods that draw at random.", min=0)] = 0,
    device: Device = None,
    dtype: DTypeOption = None,
    as_json: Json = False,
    format: FormatOption = OutputFormat.terminal,  # noqa: A002 - the name of the option
    file: FileOption = None,
    plot: Annotated[
        str | None,
        typer.Option(help=f"Write a plot to --out, as PDF, SVG or PNG: {', '.join(PLOTS)}.", rich_help_panel="Figures"),
    ] = None,
    width: WidthOption = "column",
    title: TitleOption = True,
) -> None:
    """Explain one input: by scores of its words, or in free text by a model that explains itself.

    Examples: `verax explain "A red kettle is in the kitchen." "The kettle is blue." --method leave_one_out`

    `verax explain "A red kettle is in the kitchen." "The kettle is blue." --method all`

    `verax explain "A red kettle is in the kitchen." "The kettle is blue." --model world/nli-mt-ra`

    `verax explain "A red kettle is here." "It is blue." --method kernel_shap --plot waterfall --out waterfall.pdf`
    """
    from verax.run.parameters import from_config

    _check_output(plot, format, file, method, width)
    parameters = _parameters(settings or [])
    several = method is not None and (len(method) > 1 or "all" in method)
    if several and parameters:
        raise UserError("--set: several methods are shown, and a parameter belongs to one; name one --method")
    if target is not None:
        if "target" in parameters:
            raise UserError("--target and --set target=... give the same parameter: use one of them")
        parameters["target"] = target
    for name in method or ():  # before the model is loaded, which may take minutes
        if name != "all":
            from_config("methods", {name: parameters}, seed)

    from verax.api import SideBySide, default_method, explain_all
    from verax.api import explain as explain_one
    from verax.report import terminal

    options: dict[str, Any] = {"label": label, "seed": seed}
    try:
        with notes.status("explaining"):
            precision: dict[str, Any] = {"device": device or "auto", "dtype": dtype or "float32"}
            opened = _open_model(model, texts, method or [], labels, endpoint, prompts, max_new_tokens, precision)
            if not several:
                chosen = {method[0] if method else default_method(opened): parameters}
                shown: Explanation | SideBySide = explain_one(opened, *texts, method=chosen, **options)
            else:
                methods = None if method is None or "all" in method else method
                shown = explain_all(opened, *texts, methods=methods, target=target, **options)
    except Undefined as undefined:
        raise UserError(f"this input cannot be explained: {undefined}") from undefined
    if plot is not None or format is OutputFormat.latex:
        assert not isinstance(shown, SideBySide)  # noqa: S101 - checked before
        _write_explanation(shown, plot, file, width, title=title)
    elif as_json or format is OutputFormat.json:
        write_text(json_text(shown.to_dict()), file)
    elif isinstance(shown, SideBySide):
        made = [(one.row, one.entry) for one in shown.explanations]
        out.print(terminal.side_by_side(made, shown.instance, shown.prediction, shown.skipped))
    else:
        signed = shown.entry.two_sided
        out.print(terminal.explanation(shown.row, shown.instance, shown.prediction, signed=signed))


def _check_output(
    plot: str | None,
    format: OutputFormat,  # noqa: A002
    file: Path | None,
    methods: Sequence[str] | None,
    width: str,
) -> None:
    """Check how an explanation is to be written, before it is computed."""
    several = methods is not None and (len(methods) > 1 or "all" in methods)
    if plot is not None:
        from verax.cli.figures import destination
        from verax.results.plot import in_inches, require_matplotlib

        if plot not in PLOTS:
            raise UserError(f"--plot: {unknown('plot', plot, PLOTS)}")
        if destination(format, file)[0] is None:
            raise UserError(f"--out: name a file for the plot that ends in .pdf, .svg or .png, got {file}")
        in_inches(width)
        require_matplotlib()
    elif format not in {OutputFormat.terminal, OutputFormat.json, OutputFormat.latex}:
        raise UserError(
            f"--format {format.value}: an explanation is written as terminal, json or latex, or with --plot"
        )
    elif format is OutputFormat.terminal and file is not None:
        raise UserError("--out: it is for --plot, --format json and --format latex")
    if several and (plot is not None or format is OutputFormat.latex):
        raise UserError("--plot and --format latex show one explanation; name one --method")


def _write_explanation(
    made: Explanation,
    plot: str | None,
    file: Path | None,
    width: str,
    *,
    title: bool,
) -> None:
    if plot is None:
        write_text(made.to_latex(), file)
        return
    made.plot(cast(Any, plot), width=width, title=title, out=file)
    out.print(Text(f"Wrote {file}"), soft_wrap=True)


def _open_model(
    model: str,
    texts: Sequence[str],
    methods: Sequence[str],
    labels: str | None,
    endpoint: str | None,
    prompts: Path | None,
    max_new_tokens: int | None,
    precision: Mapping[str, Any],
) -> Classifier | SelfExplainer:
    """A classifier, or a model that explains itself if it was trained to, or if a method or option prompts it."""
    from verax.models.endpoint import Endpoint
    from verax.models.load import load_model
    from verax.models.self_explainer import is_trained, load_self_explainer

    known = entries("methods")
    text = [resolve("methods", name) for name in methods if name in known and known[name].kind == "text"]
    prompted = endpoint is not None or prompts is not None or any(not method.trained for method in text)
    trained = endpoint is None and not model.startswith("python:") and is_trained(model)
    if not prompted and not trained:
        if max_new_tokens is not None:
            raise UserError("--max-new-tokens: it is for models that explain themselves in free text")
        return load_model(model, **precision)
    if labels is None and not trained:
        raise UserError("--labels: a model that follows instructions needs the names of its classes, such as yes,no")
    return load_self_explainer(
        model,
        labels=[one.strip() for one in labels.split(",")] if labels else (),
        parts=len(texts),
        prompts=prompts,
        endpoint=None if endpoint is None else Endpoint(endpoint, model),
        max_new_tokens=max_new_tokens,
        **precision,
    )


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

    options: dict[str, Any] = {"method": method, "target": target, "tokenizer": tokenizer, "aggregate": aggregate}
    names = None if ids is None else _lines_of(ids)
    found = import_explanations(kind, file, open_inputs(data), out=to, ids=names, **options)
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
    from verax.data.table import check_regular

    check_regular(path)
    try:
        return [line for line in path.read_text("utf-8").splitlines() if line]
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"--ids: {path} cannot be read: {error}") from None


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
