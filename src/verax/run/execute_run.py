"""From a spec, or from the things it names, to a finished run."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from verax.data.explanations import load_explanations
from verax.data.files import named_files
from verax.data.load import load_dataset
from verax.engine.engine import Engine, token_budget
from verax.engine.protocols import needs
from verax.models.classifier import Classifier
from verax.models.labels import class_of
from verax.models.load import load_model
from verax.results.run import Run
from verax.run.card import closing_card, opening_card
from verax.run.execute import Execution, by_agents, is_deferred
from verax.run.parameters import Configured, from_config
from verax.run.plan import BASELINE, Plan, Remaining, check_fit, make_plan
from verax.run.progress import progress_bar
from verax.run.reference import Reference
from verax.run.spec import DataSpec, ModelSpec, Spec
from verax.run.translating import Translating
from verax.run.translations import OpenAligner, open_aligners
from verax.store.read import RunTables, read_card
from verax.store.store import Store
from verax.types import Dataset, Highlight, Undefined, UserError

if TYPE_CHECKING:
    from verax.train.agent_start import Start


@dataclass(frozen=True)
class Prepared:
    """A run that is ready to be carried out: everything is loaded and checked, nothing is computed."""

    model: Classifier
    data: Dataset
    plan: Plan
    spec: Spec
    references: Mapping[str, Reference] = field(default_factory=dict)
    starts: Mapping[str, Start] = field(default_factory=dict)
    """What agents start from, by the label of the metric that needs them."""
    aligners: Mapping[str, OpenAligner] = field(default_factory=dict)
    """Who aligns the words of translations, by the label of the metric that needs it."""


def prepare(spec: Spec) -> Prepared:
    """Load what a spec names."""
    model = open_model(spec.model)
    return prepare_with(spec, model, open_data(spec.data, spec.seed))


def prepare_with(
    spec: Spec,
    model: Classifier,
    data: Dataset,
    methods: Sequence[Any] | None = None,
    metrics: Sequence[Any] | None = None,
    validation: Dataset | None = None,
) -> Prepared:
    """Check that methods and metrics fit the model, and lay out the rows.

    `methods` and `metrics` may hold the things themselves beside names; those of the spec by default, and so is
    `validation`, which is opened only if a metric learns from it.
    """
    if spec.data.granularity == "token":
        # alignments of the data count words, and would link the wrong sub-words
        instances = tuple(_by_token(model, instance) for instance in data.instances)
        data = replace(data, instances=instances, aligned={})
    explainers = [from_config("methods", given, spec.seed) for given in (spec.methods if methods is None else methods)]
    if not any(named.name == BASELINE for named in explainers):
        explainers.insert(0, from_config("methods", BASELINE, spec.seed))
    measures = [from_config("metrics", given, spec.seed) for given in (spec.metrics if metrics is None else metrics)]
    for named in (*explainers, *measures):
        check_fit(named, model)
    _check_labels(measures, model, data)
    _check_parts(explainers, data, data.maskable if spec.data.explain == "maskable" else None)
    _check_steps(measures)
    learning = {named.label: named.component for named in measures if "reference" in needs(named.component)}
    references = {}
    if learning:
        validation = open_validation(spec) if validation is None else validation
        references = {label: Reference.of(metric, model, validation) for label, metric in learning.items()}
    parts = data.maskable if spec.data.explain == "maskable" else None
    starts = _starts(measures, model, data)
    keys = {label: reference.key for label, reference in references.items()}
    keys |= {label: start.key for label, start in starts.items()}
    aligners = open_aligners(measures, model, data)
    plan = make_plan(model, data, explainers, measures, _outside(spec, data), parts, keys, aligners)
    return Prepared(model, data, plan, spec, references, starts, aligners)


def _starts(measures: Sequence[Configured[Any]], model: Classifier, data: Dataset) -> Mapping[str, Start]:
    """What agents start from, if a metric needs any."""
    if not any(map(by_agents, measures)):
        return {}
    from verax.run.simulation import starts  # noqa: PLC0415 - imports torch

    return starts(measures, model, data)


def _check_labels(measures: Sequence[Configured[Any]], model: Classifier, data: Dataset) -> None:
    """Refuse data of which no input has a gold class that the model knows, where that is needed."""
    needing = [named.name for named in measures if getattr(named.component, "labelled", False)]
    if not needing or any(class_of(instance.label, model.labels) is not None for instance in data.instances):
        return
    found = sorted({instance.label for instance in data.instances if instance.label is not None})
    said = "data.columns.label names the column"
    if found:
        said = f"there are {', '.join(found[:4])}; the model knows {', '.join(model.labels)}; model.labels renames them"
    raise UserError(
        f"{needing[0]} needs the gold class of the inputs, and none of the {len(data)} of {data.name} has a label that "
        f"the model knows: {said}"
    )


def _check_parts(explainers: Sequence[Configured[Any]], data: Dataset, explained: tuple[int, ...] | None) -> None:
    """Refuse interactions between two parts where no input has two, or only one of them is explained."""
    if not data.instances:
        return
    if any(len(instance.parts) == 2 for instance in data.instances):
        if explained is not None and len(explained) < 2:
            between = [named for named in explainers if _pairs_parts(named)]
            if between:
                raise UserError(
                    f"{between[0].label} pairs the words of two parts, and data.explain: maskable leaves one of them "
                    "out; use explain: all"
                )
        return
    for named in explainers:
        if _pairs_parts(named):
            held = len(data.instances[0].parts)
            fix = (
                f"{{{named.name}: {{over: {{...: {{parts: within}}}}}}}}"
                if hasattr(named.component, "over")
                else "parts: within"
            )
            raise UserError(
                f"{named.label} pairs the words of two parts, and the inputs of {data.name} have {held}; {fix} pairs "
                "the words of the same part"
            )


def _pairs_parts(named: Configured[Any]) -> bool:
    return getattr(getattr(named.component, "over", named.component), "parts", None) == "between"


def _check_steps(measures: Sequence[Configured[Any]]) -> None:
    """Refuse an in-distribution test at other masking ratios than those that are measured."""
    steps = {
        name: {m.component.steps for m in measures if m.name == name}
        for name in ("recursive_masking", "in_distribution")
    }
    measured, tested = steps.values()
    if measured and tested and not measured & tested:
        raise UserError(
            f"in_distribution: steps: got {min(tested)}, and recursive_masking has {min(measured)}: give both the same"
        )


def _outside(spec: Spec, data: Dataset) -> dict[str, list[Highlight]]:
    """Explanations made elsewhere, by method; two files may share a method, but not an explanation."""
    found: dict[str, dict[str, Highlight]] = {}
    for path in spec.explanations:
        for label, rows in load_explanations(path, data).items():
            known = found.setdefault(label, {})
            for row in rows:
                if row.instance_id in known:
                    raise UserError(
                        f"{path}: {row.instance_id!r} already has an explanation by {label!r} in another file"
                    )
                known[row.instance_id] = row
    return {label: list(rows.values()) for label, rows in found.items()}


def open_model(spec: ModelSpec) -> Classifier:
    """The model that a spec names."""
    for name in ("endpoint", "prompts"):
        if getattr(spec, name) is not None:
            raise UserError(f"model.{name}: it is for models that explain themselves (verax run --preset nle)")
    options = spec.model_dump(exclude={"name", "endpoint", "prompts"})
    return load_model(spec.name, **options)


def open_data(spec: DataSpec, seed: int) -> Dataset:
    """The data that a spec names."""
    options = spec.model_dump(exclude={"name", "granularity", "columns", "explain"})
    return load_dataset(spec.name, columns=spec.columns, seed=seed, **options)


def open_validation(spec: Spec) -> Dataset:
    """The data that in_distribution learns from: what the spec says, or the validation split of its data."""
    if spec.validation is not None:
        given = spec.validation
        split = given.split or ("validation" if given.name == spec.data.name else None)
        return open_data(given.model_copy(update={"split": split}), spec.seed)
    if named_files(spec.data.name):
        raise UserError(
            "in_distribution learns from a validation set, and a file has no other split than the one that is "
            "measured; name another file: validation: {name: FILE}, or --validation FILE"
        )
    return open_data(spec.data.model_copy(update={"split": "validation", "limit": None}), spec.seed)


def _by_token(model: Classifier, instance: Any) -> Any:
    try:
        return model.by_token(instance)
    except Undefined:  # the instance is skipped with this very reason when the model is asked about it
        return instance


def execute_run(
    prepared: Prepared,
    folder: Path,
    *,
    command: str,
    console: Console,
    announce: Callable[[Remaining, Store], None] = lambda *_: None,
) -> Run:
    """Compute every row that the folder does not hold yet.

    Args:
        prepared: the run.
        folder: where it is kept; rows that are there are not computed again.
        command: what a person types to get the same again.
        console: for progress and notices.
        announce: told what is left before anything is computed.
    """
    plan, model = prepared.plan, prepared.model
    with _settled(), Store.open(folder, say=console.print) as store:
        for line in store.repaired:
            console.print(line, markup=False)
        left = plan.remaining(store.keys)
        announce(left, store)
        card = opening_card(
            model,
            prepared.data,
            plan,
            spec=prepared.spec.model_dump(mode="json"),
            command=command,
            seed=prepared.spec.seed,
        )
        if prepared.starts:
            card["agents"] = {label: {"start": str(start)} for label, start in prepared.starts.items()}
        card["created"] = read_card(folder)[0].get("created", card["created"])
        store.write_card(card)
        aligned = (planned.key for planned in plan.alignments)
        store.write_plan([*(planned.key for planned in plan.instances), *plan.row_keys(), *aligned])
        budget = prepared.spec.token_budget or token_budget(model)
        learned = {}
        if left.done < left.rows:
            for label, reference in prepared.references.items():
                learned[label] = reference.learn(model, Engine(token_budget=budget), console)
        later = sum(key not in store.keys for key in _later(plan))
        translating = Translating(plan, store, prepared.aligners, console)
        with progress_bar(left.rows - later, left.done, console) as watch:
            engine = Engine(token_budget=budget, on_batch=watch.on_batch)
            Execution(plan, store, engine, model, watch.on_row, translating.keep, learned).run()
        if prepared.starts:
            from verax.run.simulation import Simulation  # noqa: PLC0415 - imports torch

            Simulation(plan, store, model, prepared.starts, console).run()
        translating.run()
        store.seal()
        final = closing_card(card, RunTables.open(folder))
        check_counts(final["counts"], left.rows)
        store.write_card(final)
    return Run(folder)


@contextmanager
def _settled() -> Iterator[None]:
    """What is there by now (modules, the model, the plan) stays to the end: no search for garbage looks through it."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _later(plan: Plan) -> Iterator[str]:
    """The keys of the scores that are there only when every explanation is."""
    for planned in plan.instances:
        for explanation in planned.explanations:
            yield from (score.key for score in explanation.scores if is_deferred(score.metric))


def check_counts(counts: Mapping[str, int], planned: int) -> None:
    """Every planned row is there once, and every row is done, failed or skipped."""
    summed = counts["done"] + counts["failed"] + counts["skipped"]
    if not planned == counts["rows"] == summed:
        raise AssertionError(f"{planned} rows planned, {counts['rows']} stored, {summed} done, failed or skipped")
