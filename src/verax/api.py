"""The Python interface: explain one input, evaluate methods on many, train models, open and compare stored runs."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from verax.data.load import load_dataset
from verax.data.memory import is_table
from verax.data.segmenters import Splitter
from verax.engine.engine import Engine, Task, TaskResult
from verax.engine.protocols import Method, Metric
from verax.engine.questions import Outputs, QuestionGenerator, resolve_target
from verax.exports.export import export as export_to
from verax.exports.hub import push_dataset
from verax.loggers.record import logger_named, record_of
from verax.methods.integrated_gradients import REMOVED
from verax.models.classifier import Classifier
from verax.models.self_explainer import SelfExplainer
from verax.models.subject import Subject
from verax.registry import Namespace, entries, unknown
from verax.report.arcs import span_texts
from verax.report.notebook import highlight_html, side_by_side_html
from verax.report.page import write_report
from verax.report.plots import MOST_WORDS, PLOT_KINDS, Ends, PlotKind, PlottedExplanation, draw_words, figure_of
from verax.results.manifest import MethodEntry
from verax.results.plot import draw_figure, written
from verax.results.render.console import TerminalConsole
from verax.results.run import Run as _Run
from verax.results.table import Table
from verax.run.audit import execute_audit, fitted, plan_audit
from verax.run.card import method_entry
from verax.run.checking import check_fit, check_prompts, removing
from verax.run.context import TEXT
from verax.run.execute_run import execute_run
from verax.run.parameters import Configured, from_config, named_parameters
from verax.run.placement import placement_of
from verax.run.prepare import prepare
from verax.run.rows import as_explanation, predict
from verax.run.rows import explain as explain_by
from verax.run.spec import parse, parse_spec
from verax.studies.leaderboard import compare_runs
from verax.studies.leaderboard.conclusion import Conclusion, conclusion_of
from verax.types import Dataset, Highlight, Instance, Nle, Prediction, Removal, Skip, Span, Target, Undefined, UserError

if TYPE_CHECKING:
    from verax.jobs.training.spec import TrainSpec
    from verax.results.render.paper.canvas import Page

T = TypeVar("T")
_TOP = 3
"""Units with the highest scores that the short form of an explanation shows."""


@dataclass(frozen=True)
class Explanation:
    """One explanation of one input, by scores or in free text, with the prediction; renders itself in a notebook."""

    instance: Instance
    prediction: Prediction
    row: Highlight | Nle
    entry: MethodEntry
    subject: Subject | None = field(default=None, repr=False, compare=False)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """All parameters of the method."""
        return self.entry.parameters

    @property
    def highlight(self) -> Highlight:
        """The scores."""
        if not isinstance(self.row, Highlight):
            raise UserError(f"{self.row.method} explains in free text: there are no scores, but `text`")
        return self.row

    @property
    def text(self) -> str:
        """The free text."""
        if not isinstance(self.row, Nle):
            raise UserError(f"{self.row.method} explains by scores: there is no text, but `highlight`")
        return self.row.text

    def to_dict(self) -> dict[str, Any]:
        """Method, parameters, target, prediction, and words and offsets of each part.

        Scores of words are in each part; interactions are `pairs` of spans, words and a score; free text is `text`.
        """
        row = self.row
        parts: list[dict[str, Any]] = [
            {"text": text.raw, "words": list(text.words), "offsets": list(map(list, text.offsets))}
            for text in self.instance.parts
        ]
        explained: dict[str, Any] = {}
        if isinstance(row, Nle):
            explained["text"] = row.text
        elif row.kind == "token":
            scores = {unit[0]: score for unit, score in zip(row.units, row.scores, strict=True)}
            for number, part in enumerate(parts):
                part["scores"] = [scores.get(Span(number, word, word + 1)) for word in range(len(part["words"]))]
        else:
            explained["pairs"] = [
                {"spans": list(map(list, unit)), "words": list(span_texts(unit, self.instance)), "score": score}
                for unit, score in zip(row.units, row.scores, strict=True)
            ]
        chances = dict(zip(self.prediction.labels, self.prediction.probabilities, strict=False))
        return {
            "method": row.method,
            "parameters": dict(self.parameters),
            "target": {"of": row.target.of, "space": row.target.space},
            "prediction": {"label": self.prediction.label, "probabilities": chances},
            "parts": parts,
            **explained,
            "notes": dict(row.notes),
        }

    def plot(
        self,
        kind: PlotKind = "bar",
        *,
        top: int = MOST_WORDS,
        width: str | float = "column",
        title: bool = True,
        out: Path | str | None = None,
    ) -> Page:
        """The explanation as a figure of matplotlib (`pip install 'verax[figures]'`), which notebooks show.

        Args:
            kind: `bar`, the strongest words or pairs; `waterfall`, how the scores of words lead from the value without
                words to that of the input; `text`, the text in colour.
            top: number of words or pairs in bars.
            width: `column`, `text`, or inches.
            title: say above it what is explained by what.
            out: a file to write as well: SVG, PNG or PDF by its suffix.
        """
        if kind not in PLOT_KINDS:
            raise UserError(unknown("plot", kind, PLOT_KINDS))
        highlight = self.highlight
        plotted = PlottedExplanation(highlight, self.instance, self.prediction, self.entry)
        if kind == "text":
            return written(draw_words(plotted, width, title=title), out)
        figure = plotted.bars(top) if kind == "bar" else plotted.waterfall(top, self._ends(plotted), self._removal)
        return draw_figure(figure, width, title=title, out=out)

    def to_latex(self) -> str:
        """The text with its words in colour, as LaTeX that needs the package xcolor."""
        return PlottedExplanation(self.highlight, self.instance, self.prediction, self.entry).latex()

    @property
    def _removal(self) -> Removal:
        """How the method removes words, or replaces all of them at the start of its path."""
        removal: Removal = self.parameters.get("removal", REMOVED.get(self.parameters.get("baseline", ""), "mask"))
        return removal

    def _ends(self, plotted: PlottedExplanation) -> Ends:
        """The explained value of the input without its words, and of the input."""
        plotted.require_additive()
        if self.subject is None:
            raise UserError("waterfall: it asks the model for two values, so it needs an explanation made by `explain`")
        try:
            ends = _outcome(Engine(), _values(self.subject, self.highlight.target, self._removal)).value
        except Undefined as undefined:
            raise UserError(f"waterfall: the value without words is not defined: {undefined}") from undefined
        assert ends is not None  # noqa: S101 - it has ended without an error
        return ends

    def __repr__(self) -> str:
        if isinstance(self.row, Nle):
            shown = repr(self.row.text)
        else:
            ranked = sorted(zip(self.row.units, self.row.scores, strict=True), key=lambda item: -item[1])
            named = [("–".join(span_texts(unit, self.instance)), score) for unit, score in ranked[:_TOP]]
            shown = ", ".join(f"{words} {score:.3g}" for words, score in named) + ", ..." * (len(ranked) > _TOP)
        return f"<Explanation of {self.prediction.label!r} by {self.row.method}: {shown}>"

    def _repr_html_(self) -> str:
        if isinstance(self.row, Nle):
            return f"<p><b>{escape(self.prediction.label)}</b>: {escape(self.row.text)}</p>"
        return highlight_html(self.row, self.instance, self.prediction, entry=self.entry)


@dataclass(frozen=True)
class SideBySide:
    """Explanations of one input by several methods, and why others gave none; renders itself in a notebook."""

    instance: Instance
    prediction: Prediction
    explanations: tuple[Explanation, ...]
    skipped: tuple[Skip, ...]

    @property
    def highlights(self) -> tuple[Highlight, ...]:
        """The scores of each method."""
        return tuple(made.highlight for made in self.explanations)

    def to_dict(self) -> dict[str, Any]:
        """All explanations as by `Explanation.to_dict`, and the reasons of methods without one."""
        skipped = [{"method": skip.method, "reason": skip.reason, "detail": skip.detail} for skip in self.skipped]
        return {"explanations": [made.to_dict() for made in self.explanations], "skipped": skipped}

    def __repr__(self) -> str:
        methods = ", ".join(made.row.method for made in self.explanations)
        return f"<SideBySide of {self.prediction.label!r}: {methods}; {len(self.skipped)} skipped>"

    def _repr_html_(self) -> str:
        made = [(one.row, one.entry) for one in self.explanations]
        return side_by_side_html(made, self.instance, self.prediction, self.skipped)


class Run(_Run):
    """A run that can also write its report and its figures."""

    def report(self, out: Path | str | None = None) -> Path:
        """Write the report as one HTML file; `report.html` in the run's folder by default."""
        return write_report(self.folder, None if out is None else Path(out))

    def plot(
        self,
        figure: str,
        *,
        method: str | Sequence[str] | None = None,
        width: str | float = "column",
        title: bool = True,
        out: Path | str | None = None,
    ) -> Page:
        """A figure of this run; as `verax.plot`."""
        return plot(self, figure, method=method, width=width, title=title, out=out)

    def export(self, format: str, out: Path | str, **options: Any) -> Path:  # noqa: A002 - the natural name
        """Write the word scores of a method as JSONL in another project's format: `eraser` or `thermostat`.

        Args:
            options: `method` (by default the only one that scores words); of `eraser` `top`, the share of the tokens in
                a hard rationale; of `thermostat` the `tokenizer`.
        """
        export_to(self, format, Path(out), **options)
        return Path(out)

    def push(self, repository: str, **options: Any) -> str:
        """Upload the explanations to the Hugging Face hub as a dataset with its card; returns the address.

        Args:
            options: `private`, `token_env` (an environment variable), `licence` (an identifier of the hub).
        """
        return push_dataset(self, repository, **options)

    def log(self, *loggers: str) -> list[str]:
        """Log the run to trackers of experiments: `mlflow`, `wandb` or those of plug-ins; returns where."""
        found = [logger_named(name) for name in loggers]
        logged = record_of(self, self.report())
        return [logger(logged) for logger in found]

    def conclusion(self) -> Conclusion | None:
        """Which method to use, how certain that is, and what fails; None for a run that ranks no methods."""
        return conclusion_of(self)


def explain(
    model: Classifier | SelfExplainer,
    *texts: str | Instance,
    method: str | Mapping[str, Any] | Method | None = None,
    target: str | None = None,
    label: str | None = None,
    lang: str = "en",
    seed: int = 0,
) -> Explanation:
    """Explain one input.

    Args:
        model: from `load_model`, or from `load_self_explainer` for explanations in free text.
        texts: one instance of a dataset, or the texts of its parts (premise and hypothesis).
        method: a name, `{name: {parameter: value}}`, or a method object. Default: `integrated_gradients`; for a model
            without gradients `leave_one_out`; for a model that explains itself the method that it was trained for, or
            `explain_then_answer`.
        target: what is explained: `prediction` (default), `gold`, `loss` or the name of a class.
        label: gold class of the texts, for targets that need it.
        lang: language of the texts.
        seed: for methods that draw at random.
    """
    _check_model(model)
    instance = _as_instance(texts, label, lang)
    given = default_method(model) if method is None else method
    if target is not None:
        name, parameters = named_parameters("methods", given)
        if "target" in parameters:
            raise UserError("target and the parameter target of the method are the same: give one of them")
        given = {name: {**parameters, "target": target}}
    named = from_config("methods", removing(given, model, seed), seed)
    check_fit(named, model)
    x, engine = Subject(instance, model), Engine()
    if named.component.kind == TEXT:
        check_prompts(named, model, instance)
        return _explanation(engine, x, None, named)
    return _explanation(engine, x, _outcome(engine, predict(x)).value, named)


def _check_model(model: Any) -> None:
    if not hasattr(model, "capabilities"):
        raise UserError(
            f"model: expected what load_model or load_self_explainer returns, got {type(model).__name__}; load_model "
            "takes names, folders, pipelines and functions"
        )


def default_method(model: Classifier | SelfExplainer) -> str:
    """The method that `explain` uses if none is named."""
    if isinstance(model, SelfExplainer):
        return model.setup or "explain_then_answer"
    return "integrated_gradients" if "gradients" in model.capabilities else "leave_one_out"


def explain_all(
    model: Classifier | SelfExplainer,
    *texts: str | Instance,
    methods: Sequence[str | Mapping[str, Any] | Method] | None = None,
    target: str | None = None,
    label: str | None = None,
    lang: str = "en",
    seed: int = 0,
    without: Collection[tuple[int, int]] = (),
) -> SideBySide:
    """Explain one input by several methods; answers of the model are shared between them.

    Args:
        model, texts, label, lang, seed: as for `explain`.
        methods: as for `explain`, each; by default all. Of those, methods that do not fit the model are skipped with
            their reason, while a named method that does not fit is an error.
        target: what methods explain that name no target of their own; of objects it is their own.
        without: words, by part and position, that are deleted from the input that the model reads. The target is still
            that of the whole input.
    """
    _check_model(model)
    if methods is not None and (isinstance(methods, str) or not methods):
        raise UserError(f"explain_all: methods: expected a list of methods, got {methods!r}")
    instance, engine = _as_instance(texts, label, lang), Engine()
    x, prediction = Subject(instance, model), None
    scores_words = "outputs" in model.capabilities
    if scores_words:
        x = x.encoded()
        x = _reduced(x, without) if without else x
        prediction = _outcome(engine, predict(x)).value
    made, skipped = [], []
    # controls explain nothing
    several = [entry for entry in entries("methods").values() if entry.reference != "control"]
    fitting = [entry.name for entry in several if (entry.kind != TEXT) is scores_words]
    for given in fitting if methods is None else methods:
        named = _aimed(removing(given, model, seed), target, seed)
        try:
            check_fit(named, model)
            if named.component.kind == TEXT:
                check_prompts(named, model, instance)
        except UserError as error:
            if methods is not None:
                raise
            skipped.append(Skip(instance.id, named.label, "unfit", str(error)))
            continue
        try:
            made.append(_explanation(engine, x, prediction, named))
        except Undefined as undefined:
            skipped.append(Skip(instance.id, named.label, undefined.reason, undefined.detail))
    if prediction is None and not made:
        raise Undefined(skipped[0].reason, skipped[0].detail)
    return SideBySide(instance, prediction or made[0].prediction, tuple(made), tuple(skipped))


def _reduced(x: Subject, without: Collection[tuple[int, int]]) -> Subject:
    """An input from which words are deleted; at least one must stay."""
    unknown = sorted(set(without).difference(x.words))
    if unknown:
        raise UserError(f"without: the model reads no word {unknown[0]} (part, position)")
    dropped = np.array([word in without for word in x.words], bool)
    if dropped.all():
        raise UserError("without: no word is left to explain")
    return x.without(dropped, "delete")


def _aimed(given: str | Mapping[str, Any] | Method, target: str | None, seed: int) -> Configured[Method]:
    """A method, with `target` unless it is an object or names a target."""
    named: Configured[Method] = from_config("methods", given, seed)
    if target is None or not isinstance(given, str | Mapping) or "target" in named_parameters("methods", given)[1]:
        return named
    return replace(named, component=_at(named.component, Target(target)))


def _at(method: Any, target: Target) -> Any:
    """A method, and the methods among its parameters, with another target."""
    values = {field.name: getattr(method, field.name) for field in fields(method)}
    changed = {name: _at(value, target) for name, value in values.items() if isinstance(value, Method)}
    return replace(method, **changed, **({"target": target} if "target" in values else {}))


def _explanation(engine: Engine, x: Subject, prediction: Prediction | None, named: Configured[Any]) -> Explanation:
    """The explanation of an input; free text comes with a prediction of its own."""
    outcome = _outcome(engine, explain_by(x, named))
    row = as_explanation(x.instance, named, outcome.value, x.model.labels, outcome.cost)  # type: ignore[arg-type]
    if isinstance(row, Nle):
        prediction = Prediction(x.instance.id, row.label, row.labels, row.probabilities)
    assert prediction is not None  # noqa: S101 - scores are of a prediction
    asked = x.copy({}) if isinstance(row, Highlight) else None  # without the answers, which take memory
    return Explanation(x.instance, prediction, row, method_entry(named), asked)


def _values(x: Subject, target: Target, removal: Removal) -> QuestionGenerator[Ends]:
    """The target without any word, and with all of them."""
    readout = yield from resolve_target(target, x)
    logits = yield Outputs(x, np.zeros((1, x.n_units), bool), removal, and_full=True)
    return Ends(*readout(logits).tolist())


def _outcome(engine: Engine, generator: QuestionGenerator[T]) -> TaskResult[T]:
    """Value and cost of one generator; raises the error of the generator."""
    ended: list[TaskResult[T]] = []

    def keep(outcome: TaskResult[T]) -> tuple[()]:
        ended.append(outcome)
        return ()

    engine.run([Task(generator, keep)])
    outcome = ended[0]
    if outcome.error is not None:
        raise outcome.error
    return outcome


def _as_instance(texts: Sequence[str | Instance], label: str | None, lang: str) -> Instance:
    if len(texts) == 1 and isinstance(texts[0], Instance):
        return texts[0]
    raw = [text for text in texts if isinstance(text, str)]
    if not raw or len(raw) != len(texts):
        raise UserError("explain: give one instance of a dataset, or one text for each part")
    split = Splitter()
    return Instance("input", tuple(split(text, lang) for text in raw), label, lang)


def evaluate(
    model: str | Path | Mapping[str, Any] | Classifier | SelfExplainer,
    data: str | Path | Mapping[str, Any] | Dataset | Any,
    methods: Sequence[str | Mapping[str, Any] | Method],
    metrics: Sequence[str | Mapping[str, Any] | Metric],
    *,
    out: Path | str | None = None,
    seed: int = 0,
    explanations: Sequence[Path | str] = (),
    products: Sequence[str | Mapping[str, Any]] = (),
    granularity: str | None = None,
    explain: str | None = None,
    controls: str | Sequence[str] = (),
    measured_langs: str | Sequence[str] = "reference",
    until_decided: str | Mapping[str, Any] | None = None,
    validation: Dataset | Any = None,
    executor: str | None = None,
    workers: int | None = None,
    address: str | None = None,
    cpus_per_worker: int = 1,
    progress: bool = True,
) -> Run:
    """Explain every instance by every method and measure every explanation by every metric.

    Methods may give scores of words, of pairs of words or of spans, or free text, as far as the model can answer them;
    an explanation is measured by the metrics that are defined for its kind.

    Args:
        model: from `load_model` or `load_self_explainer`; or a name, a folder or a section `model` as in a spec.
        data: from `load_dataset`; or a name, a file or a section `data` as in a spec; or a pandas DataFrame, an Arrow
            table, a list of dicts or a Hugging Face `Dataset`.
        methods: names, `{name: {parameter: value}}`, or method objects. `random` is always run with methods that give
            scores. Without any, metrics of free text measure the model's own way to explain itself.
        metrics: names, `{name: {parameter: value}}`, or metric objects.
        out: folder of the run; stored rows are not computed again. Default: a temporary folder.
        seed: of all random draws.
        explanations: JSONL files with explanations made elsewhere.
        products: rows to store in addition, such as `{"alignment": {"reference_lang": "en"}}`.
        granularity: `word` (default), or `token` for the model's sub-words.
        explain: `all` parts (default), or only those that the data declares `maskable`.
        controls: `randomised` also applies each method that scores words to the model with randomised weights.
        measured_langs: languages in which metrics other than `crosslingual_faithfulness` are measured next to it:
            `reference`, `all` or a list.
        until_decided: take inputs in random order and stop once a ranking is decided by a sequential test: `random`,
            every method against its random baseline; `best`, which one is best; or a section as in a spec, such as
            `{"goal": "random", "metrics": ["comprehensiveness"], "max_inputs": 1000}`.
        validation: data that `in_distribution` learns from; default: the validation split of the data.
        executor: where rows are computed: `inline` (default), `processes` (the default with `workers`) or `ray`.
        workers: number of processes or Ray actors, each with its own model; the model is then given by name.
        address: of a running Ray cluster.
        cpus_per_worker: cores of a Ray actor.
        progress: show a progress bar.
    """
    placement = placement_of(executor, workers, address, cpus_per_worker)
    if not isinstance(model, (str, Path, Mapping)):
        _check_model(model)
    data = load_dataset(data) if is_table(data) else data
    validation = load_dataset(validation) if is_table(validation) else validation
    folder = Path(tempfile.mkdtemp(prefix="verax-")) if out is None else Path(out)
    changes = {"granularity": granularity, "explain": explain}
    spec = parse_spec(
        {
            "model": _section(model),
            "data": {**_section(data), **{name: value for name, value in changes.items() if value is not None}},
            "methods": [_echo("methods", given, seed) for given in methods],
            "metrics": [_echo("metrics", given, seed) for given in metrics],
            "explanations": list(explanations),
            "products": list(products),
            "controls": controls,
            "measured_langs": measured_langs,
            "until_decided": until_decided,
            "seed": seed,
        }
    )
    prepared = prepare(
        spec,
        None if isinstance(model, (str, Path, Mapping)) else model,
        data if isinstance(data, Dataset) else None,
        methods=methods,
        metrics=metrics,
        validation=validation,
    )
    console = TerminalConsole(stderr=True, quiet=not progress)
    command = f"verax.evaluate(..., out={str(folder)!r})"
    execute_run(prepared, folder, command=command, console=console, placement=placement)
    return Run(folder)


def _section(given: Any) -> dict[str, Any]:
    """A model or data as a section of a spec."""
    if isinstance(given, Mapping):
        return dict(given)
    return {"name": str(given) if isinstance(given, (str, Path)) else given.name}


def _echo(namespace: Namespace, given: Any, seed: int) -> Any:
    """An entry of a spec; an object becomes its name and parameters."""
    if isinstance(given, str | Mapping):
        return given
    named = from_config(namespace, given, seed)
    return {named.name: named.parameters}


def audit(
    model: str | Path | Mapping[str, Any] | Classifier | SelfExplainer,
    data: str | Path | Mapping[str, Any] | Dataset | Any,
    *,
    budget: float | None = None,
    out: Path | str | None = None,
    seed: int = 0,
    progress: bool = True,
) -> Run:
    """Find out whether the explanations of a model can be trusted, as `verax audit` does; see `Run.conclusion`.

    Args:
        model, data, out, seed, progress: as for `evaluate`; the spec is saved next to `out`.
        budget: seconds for the run; by default it ends when each method is decided against random, or with the data.
    """
    stop_at = None if budget is None else time.monotonic() + budget
    folder = Path(tempfile.mkdtemp(prefix="verax-")) / "audit" if out is None else Path(out)
    data = load_dataset(data) if is_table(data) else data
    loaded = None if isinstance(model, (str, Path, Mapping)) else model
    if loaded is not None:
        _check_model(loaded)
    content = {"model": _section(model), "data": _section(data), "seed": seed}
    planned = plan_audit(content, loaded, data if isinstance(data, Dataset) else None)
    if stop_at is not None or planned.prepared.run.spec.model.endpoint is not None:
        planned, _ = fitted(planned, folder, budget, stop_at)
    execute_audit(planned, folder, console=TerminalConsole(stderr=True, quiet=not progress), stop_at=stop_at)
    return Run(folder)


def train_masked(base: str, data: str | Mapping[str, Any], out: Path | str, **fields: Any) -> list[Path]:
    """Fine-tune a classifier with masking; an interrupted training is continued.

    Args:
        base: a folder with a checkpoint, a hub id, or a shipped model.
        data: the name of a dataset or file, or a section `data` as in a spec.
        out: folder of the model, or of the models if there are several.
        fields: the other fields of `verax train masked` (docs/training.md): masking, select, seeds, ...

    Returns:
        The folder of each model; `load_model` takes them.
    """
    from verax.jobs.training.spec import TrainSpec  # noqa: PLC0415 - imports torch

    return _train(parse(TrainSpec, {"base": str(base), "data": data, **fields}), Path(out))


def train_plain(base: str, data: str | Mapping[str, Any], out: Path | str, **fields: Any) -> list[Path]:
    """Fine-tune a classifier as usual; arguments and result as for `train_masked`, without masking, select, parts."""
    from verax.jobs.training.spec import parse_plain  # noqa: PLC0415 - imports torch

    return _train(parse_plain({"base": str(base), "data": data, **fields}), Path(out))


def train_nle(base: str, data: str | Mapping[str, Any], out: Path | str, **fields: Any) -> Path:
    """Fine-tune a text generator to answer and to explain its answer; arguments as for `train_masked`.

    `fields` are those of `verax train nle` (docs/training.md): setup, prompts, explanations, epochs, ...

    Returns:
        The folder of the model; `load_self_explainer` and `evaluate` take it.
    """
    from verax.jobs.training.self_explainer import train_self_explainer  # noqa: PLC0415 - imports torch
    from verax.jobs.training.spec import NleSpec  # noqa: PLC0415

    spec = parse(NleSpec, {"base": str(base), "data": data, **fields})
    train_self_explainer(spec, Path(out), console=TerminalConsole(stderr=True))
    return Path(out)


def train_editor(base: str, data: str | Mapping[str, Any], out: Path | str, **fields: Any) -> Path:
    """Fine-tune a text generator to insert words that fit a class; arguments as for `train_masked`.

    `fields` are those of `verax train editor` (docs/training.md): labels_by, masks, epochs, ...

    Returns:
        The folder of the editor, for `{"counterfactual_test": {"editor": {"infill": {"path": folder}}}}`.
    """
    from verax.jobs.training.editor import train_editor as train  # noqa: PLC0415 - imports torch
    from verax.jobs.training.spec import EditorSpec  # noqa: PLC0415

    train(
        parse(EditorSpec, {"base": str(base), "data": data, **fields}), Path(out), console=TerminalConsole(stderr=True)
    )
    return Path(out)


def _train(spec: TrainSpec, out: Path) -> list[Path]:
    from verax.jobs.training.classifier import train_classifiers  # noqa: PLC0415 - imports torch
    from verax.jobs.training.comparison import variant_folder, variants  # noqa: PLC0415

    train_classifiers(spec, out, console=TerminalConsole(stderr=True))
    return [variant_folder(out, spec, variant) for variant in variants(spec)]


def open_run(folder: Path | str) -> Run:
    """The run in a folder."""
    return Run(folder)


def plot(
    runs: _Run | Path | str | Sequence[_Run | Path | str],
    figure: str,
    *,
    method: str | Sequence[str] | None = None,
    width: str | float = "column",
    title: bool = True,
    out: Path | str | None = None,
) -> Page:
    """A figure of a run, or of several together, as a figure of matplotlib (`pip install 'verax[figures]'`).

    Args:
        runs: opened runs or their folders.
        figure: a name such as `leaderboard`, `curves` or `beeswarm`; `verax show DIR --figure list` prints those of a
            run.
        method: for `beeswarm`: one method, or several; the first six that score words by default.
        width: `column` (3.3 inches), `text` (6.9 inches), or inches.
        title: write the title and the caption of the figure above it.
        out: a file to write as well: SVG, PNG or PDF by its suffix.
    """
    given = [runs] if isinstance(runs, _Run | Path | str) else list(runs)
    opened = [one if isinstance(one, _Run) else Run(one) for one in given]
    methods = [method] if isinstance(method, str) else method
    return draw_figure(figure_of(opened, figure, methods), width, title=title, out=out)


def compare(first: _Run | Path | str, second: _Run | Path | str) -> Table:
    """Two runs, or their folders, compared instance by instance: a joint test of all methods and metrics they share.

    Returns:
        A row for each method and metric (`pandas.DataFrame(table.records())`); what only one run has is in its notes.
    """
    opened = [given if isinstance(given, _Run) else Run(given) for given in (first, second)]
    found = compare_runs(*opened)
    return replace(found.tables[0], notes=(*found.tables[0].notes, *found.sentences))
