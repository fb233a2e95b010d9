"""What people call from Python: explain one input, evaluate many, open what was kept."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rich.console import Console

from verax.data.segmenters import Splitter
from verax.engine.engine import Engine, Outcome, Task
from verax.engine.protocols import Method, Metric, as_generator
from verax.engine.questions import QuestionGenerator
from verax.models.classifier import Classifier
from verax.models.encoding import Encoded
from verax.models.self_explainer import PromptedInput, SelfExplainer
from verax.registry import Namespace, entries
from verax.report.notebook import highlight_html
from verax.report.page import write_report
from verax.report.pairs import words_of
from verax.results.run import Run as _Run
from verax.run.execute import as_highlight, predict
from verax.run.execute_run import execute_run, prepare_with
from verax.run.nle.execute import explained
from verax.run.nle.execute_run import execute_text_run
from verax.run.nle.opening import SPOKEN, about_texts, check_prompts, check_setup, open_texts, prepare_texts
from verax.run.parameters import Configured, from_config
from verax.run.plan import check_fit
from verax.run.spec import parse_spec
from verax.types import Dataset, Highlight, Instance, Nle, Prediction, Skip, Span, Target, Undefined, UserError

if TYPE_CHECKING:
    from verax.jobs.training.spec import TrainSpec

T = TypeVar("T")


@dataclass(frozen=True)
class Explanation:
    """One explanation of one input, with what it explains; shows itself in a notebook."""

    instance: Instance
    prediction: Prediction
    highlight: Highlight
    parameters: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Method, parameters, target, prediction, and for each part its words, offsets and scores.

        Of interactions the parts have no scores: `pairs` has the spans, the words and the score of each, in the order
        of the method.
        """
        scored = zip(self.highlight.units, self.highlight.scores, strict=True)
        parts: list[dict[str, Any]] = [
            {"text": text.raw, "words": list(text.words), "offsets": [list(offset) for offset in text.offsets]}
            for text in self.instance.parts
        ]
        pairs = {}
        if self.highlight.kind == "token":
            scores = {unit[0]: score for unit, score in scored}
            for number, part in enumerate(parts):
                part["scores"] = [scores.get(Span(number, word, word + 1)) for word in range(len(part["words"]))]
        else:
            pairs["pairs"] = [
                {
                    "spans": [list(span) for span in unit],
                    "words": list(words_of(unit, self.instance)),
                    "score": score,
                }
                for unit, score in scored
            ]
        chances = dict(zip(self.prediction.labels, self.prediction.probabilities, strict=True))
        return {
            "method": self.highlight.method,
            "parameters": dict(self.parameters),
            "target": {"of": self.highlight.target.of, "space": self.highlight.target.space},
            "prediction": {"label": self.prediction.label, "probabilities": chances},
            "parts": parts,
            **pairs,
            "notes": dict(self.highlight.notes),
        }

    def _repr_html_(self) -> str:
        return highlight_html(self.highlight, self.instance, self.prediction)


@dataclass(frozen=True)
class SideBySide:
    """Several explanations of one input, and why there are no others; shows itself in a notebook."""

    instance: Instance
    prediction: Prediction
    explanations: tuple[Explanation, ...]
    skipped: tuple[Skip, ...]

    @property
    def highlights(self) -> tuple[Highlight, ...]:
        """The scores of each method."""
        return tuple(made.highlight for made in self.explanations)

    def to_dict(self) -> dict[str, Any]:
        """Each explanation as `Explanation.to_dict` gives it, and each method without one with its reason."""
        skipped = [{"method": skip.method, "reason": skip.reason, "detail": skip.detail} for skip in self.skipped]
        return {"explanations": [made.to_dict() for made in self.explanations], "skipped": skipped}

    def _repr_html_(self) -> str:
        return "".join(made._repr_html_() for made in self.explanations)


class Run(_Run):
    """A run that can also write its report."""

    def report(self, out: Path | str | None = None) -> Path:
        """Write the report as one HTML file; `report.html` in the run's folder by default."""
        return write_report(self.folder, None if out is None else Path(out))


def explain(
    model: Classifier,
    *texts: str | Instance,
    method: str | Mapping[str, Any] | Method = "integrated_gradients",
    label: str | None = None,
    lang: str = "en",
    seed: int = 0,
) -> Explanation:
    """Explain one input.

    Args:
        model: from `load_model`.
        texts: one instance of a dataset, or the texts of its parts (premise and hypothesis).
        method: a name, `{name: {parameter: value}}`, or a method.
        label: gold class of the texts, for targets that need it.
        lang: language of the texts.
        seed: for methods that draw at random.
    """
    instance = _as_instance(texts, label, lang)
    named = from_config("methods", method, seed)
    check_fit(named, model)
    x, engine = Encoded.of(model.encode(instance)), Engine(model)
    return _explanation(engine, x, _result(engine, predict(x)), named)


def explain_all(
    model: Classifier,
    *texts: str | Instance,
    methods: Sequence[str | Mapping[str, Any] | Method] | None = None,
    target: str | None = None,
    label: str | None = None,
    lang: str = "en",
    seed: int = 0,
) -> SideBySide:
    """Explain one input by several methods; what one has asked the model, another is not charged for.

    Args:
        model, texts, label, lang, seed: as for `explain`.
        methods: as for `explain`, each; by default all that there are. Of those, what does not fit the model is
            skipped with its reason, while a method that was named is refused with an error.
        target: what all methods explain, for those that are given by name alone.
    """
    if methods is not None and (isinstance(methods, str) or not methods):
        raise UserError(f"explain_all: methods: expected a list of methods, got {methods!r}")
    instance = _as_instance(texts, label, lang)
    x, engine = Encoded.of(model.encode(instance)), Engine(model)
    prediction = _result(engine, predict(x))
    made, skipped = [], []
    scoring = [entry.name for entry in entries("methods").values() if entry.kind != SPOKEN]
    for given in scoring if methods is None else methods:
        named = _aimed(given, target, seed)
        try:
            check_fit(named, model)
        except UserError as error:
            if methods is not None:
                raise
            skipped.append(Skip(instance.id, named.label, "unfit", str(error)))
            continue
        try:
            made.append(_explanation(engine, x, prediction, named))
        except Undefined as undefined:
            skipped.append(Skip(instance.id, named.label, undefined.reason, undefined.detail))
    return SideBySide(instance, prediction, tuple(made), tuple(skipped))


def _aimed(given: str | Mapping[str, Any] | Method, target: str | None, seed: int) -> Configured[Method]:
    """A method, explaining `target` if it was given by its name alone and has a target."""
    named: Configured[Method] = from_config("methods", given, seed)
    if target is None or not isinstance(given, str):
        return named
    return replace(named, component=_at(named.component, Target(target)))


def _at(method: Any, target: Target) -> Any:
    """A method, and those that are its parameters, explaining a target."""
    values = {field.name: getattr(method, field.name) for field in fields(method)}
    changed = {name: _at(value, target) for name, value in values.items() if isinstance(value, Method)}
    return replace(method, **changed, **({"target": target} if "target" in values else {}))


def _explanation(engine: Engine, x: Encoded, prediction: Prediction, named: Configured[Any]) -> Explanation:
    instance = x.encoding.instance
    outcome = _outcome(engine, as_generator(named.component, x))
    highlight = as_highlight(instance, named, outcome.value, outcome.cost)  # type: ignore[arg-type]
    return Explanation(instance, prediction, highlight, named.parameters)


def _result(engine: Engine, generator: QuestionGenerator[T]) -> T:
    """What one generator ends with; what it raises is raised here."""
    return _outcome(engine, generator).value  # type: ignore[return-value]


def _outcome(engine: Engine, generator: QuestionGenerator[T]) -> Outcome[T]:
    """Run one generator to its end, and what it cost; what it raises is raised here."""
    ended: list[Outcome[T]] = []

    def keep(outcome: Outcome[T]) -> tuple[()]:
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
    model: Classifier,
    data: Dataset,
    methods: Sequence[str | Mapping[str, Any] | Method],
    metrics: Sequence[str | Mapping[str, Any] | Metric],
    *,
    out: Path | str | None = None,
    seed: int = 0,
    explanations: Sequence[Path | str] = (),
    granularity: str = "word",
    explain: str = "all",
    validation: Dataset | None = None,
    progress: bool = True,
) -> Run:
    """Explain every instance by every method and measure every explanation by every metric.

    Args:
        model: from `load_model`.
        data: from `load_dataset`.
        methods: names, `{name: {parameter: value}}`, or methods of one's own. `random` is always run beside them.
        metrics: likewise.
        out: folder of the run; what it holds already is not computed again. A temporary folder by default.
        seed: of everything that draws at random.
        explanations: JSONL files with explanations made elsewhere.
        granularity: `word`, or `token` for the model's sub-words.
        explain: `all` parts, or those alone that the data says may be masked (`maskable`).
        validation: what `in_distribution` learns from; the validation split of a built-in dataset by default.
        progress: show a progress bar.
    """
    folder = Path(tempfile.mkdtemp(prefix="verax-")) if out is None else Path(out)
    spec = parse_spec(
        {
            "model": {"name": model.name},
            "data": {"name": data.name, "granularity": granularity, "explain": explain},
            "methods": [_echo("methods", given, seed) for given in methods],
            "metrics": [_echo("metrics", given, seed) for given in metrics],
            "explanations": list(explanations),
            "seed": seed,
        }
    )
    prepared = prepare_with(spec, model, data, methods, metrics, validation)
    console = Console(stderr=True, quiet=not progress)
    execute_run(prepared, folder, command=f"verax.evaluate(..., out={str(folder)!r})", console=console)
    return Run(folder)


def explain_in_words(
    model: SelfExplainer, *texts: str | Instance, setup: str | None = None, label: str | None = None, lang: str = "en"
) -> Nle:
    """Let a model answer one input and say why.

    Args:
        model: from `load_self_explainer`.
        texts, label, lang: as for `explain`.
        setup: how it is asked; what the model was trained as, or explain_then_answer.
    """
    if not isinstance(model, SelfExplainer):
        raise UserError(f"explain_in_words: model: expected what load_self_explainer returns, got {model!r:.60}")
    named = from_config("methods", setup or model.setup or "explain_then_answer", 0)
    check_setup(named, model)
    x = PromptedInput(_as_instance(texts, label, lang), model)
    check_prompts(named, model, x.instance)
    return _result(Engine(None), explained(x, named))


def evaluate_texts(
    model: str | Path | Mapping[str, Any] | SelfExplainer,
    data: str | Path | Mapping[str, Any] | Dataset,
    metrics: Sequence[str | Mapping[str, Any]] = ("counterfactual_test", "reconstruction_test", "bleu"),
    *,
    setups: Sequence[str | Mapping[str, Any]] = (),
    out: Path | str | None = None,
    seed: int = 0,
    progress: bool = True,
) -> Run:
    """Let a model explain itself in free text, and test what it says.

    Args:
        model: a folder made by `verax train nle`, a shipped model, an instruction model, or a section `model` as in a
            spec (with `endpoint`, `prompts`); or what `load_self_explainer` returns.
        data: the name of a dataset or file, a section `data` as in a spec, or what `load_dataset` returns.
        metrics: names, or `{name: {parameter: value}}`.
        setups: how the model is asked; what it was trained as, or both orders of asking one that follows instructions.
        out, seed, progress: as for `evaluate`.
    """
    folder = Path(tempfile.mkdtemp(prefix="verax-")) if out is None else Path(out)
    named = [getattr(one, "name", one) if isinstance(one, (SelfExplainer, Dataset)) else one for one in (model, data)]
    sections = [one if isinstance(one, Mapping) else str(one) for one in named]
    content = {
        "model": sections[0],
        "data": sections[1],
        "methods": list(setups),
        "metrics": list(metrics),
        "seed": seed,
    }
    spec = parse_spec(content)
    if not about_texts(spec):
        raise UserError(
            "evaluate_texts: metrics must be about free text: counterfactual_test, reconstruction_test, bleu"
        )
    console = Console(stderr=True, quiet=not progress)
    command = f"verax.evaluate_texts(..., out={str(folder)!r})"
    by = model if isinstance(model, SelfExplainer) else None
    prepared = prepare_texts(spec, data, by=by) if isinstance(data, Dataset) else open_texts(spec, by)
    execute_text_run(prepared, folder, command=command, console=console)
    return Run(folder)


def _echo(namespace: Namespace, given: Any, seed: int) -> Any:
    """What a spec would say: a thing itself by its name and parameters."""
    if isinstance(given, str | Mapping):
        return given
    named = from_config(namespace, given, seed)
    return {named.name: named.parameters}


def train_masked(base: str, data: str | Mapping[str, Any], out: Path | str, **fields: Any) -> list[Path]:
    """Fine-tune a classifier with masking; what is finished is left as it is, what was interrupted continues.

    Args:
        base: a folder with a checkpoint, a hub id, or a shipped model.
        data: the name of a dataset or file, or a section `data` as in a spec.
        out: where the model goes, or the models if several are asked for.
        fields: the other fields of `verax train masked` (docs/training.md): masking, select, seeds, ...

    Returns:
        The folder of each model; `load_model` takes them.
    """
    from verax.jobs.training.spec import TrainSpec, parse  # noqa: PLC0415 - imports torch

    return _train(parse(TrainSpec, {"base": str(base), "data": data, **fields}), Path(out))


def train_plain(base: str, data: str | Mapping[str, Any], out: Path | str, **fields: Any) -> list[Path]:
    """Fine-tune a classifier as usual; arguments and result as for `train_masked`, without masking, select, parts."""
    from verax.jobs.training.spec import parse_plain  # noqa: PLC0415 - imports torch

    return _train(parse_plain({"base": str(base), "data": data, **fields}), Path(out))


def train_nle(base: str, data: str | Mapping[str, Any], out: Path | str, **fields: Any) -> Path:
    """Fine-tune a text generator to answer and to say why; arguments as for `train_masked`.

    `fields` are those of `verax train nle` (docs/training.md): setup, prompts, explanations, epochs, ...

    Returns:
        The folder of the model; `load_self_explainer` and `evaluate_texts` take it.
    """
    from verax.jobs.training.self_explainer import train_self_explainer  # noqa: PLC0415 - imports torch
    from verax.jobs.training.spec import NleSpec, parse  # noqa: PLC0415

    spec = parse(NleSpec, {"base": str(base), "data": data, **fields})
    train_self_explainer(spec, Path(out), console=Console(stderr=True))
    return Path(out)


def train_editor(base: str, data: str | Mapping[str, Any], out: Path | str, **fields: Any) -> Path:
    """Fine-tune a text generator to write words that lead to a class; arguments as for `train_masked`.

    `fields` are those of `verax train editor` (docs/training.md): labels_by, masks, epochs, ...

    Returns:
        The folder of the editor, for `{"counterfactual_test": {"editor": {"infill": {"path": folder}}}}`.
    """
    from verax.jobs.training.editor import train_editor as train  # noqa: PLC0415 - imports torch
    from verax.jobs.training.spec import EditorSpec, parse  # noqa: PLC0415

    train(parse(EditorSpec, {"base": str(base), "data": data, **fields}), Path(out), console=Console(stderr=True))
    return Path(out)


def _train(spec: TrainSpec, out: Path) -> list[Path]:
    from verax.jobs.training.classifier import train_classifiers  # noqa: PLC0415 - imports torch
    from verax.jobs.training.comparison import folder_of, variants  # noqa: PLC0415

    train_classifiers(spec, out, console=Console(stderr=True))
    return [folder_of(out, spec, variant) for variant in variants(spec)]


def open_run(folder: Path | str) -> Run:
    """The run that is kept in a folder."""
    return Run(folder)
