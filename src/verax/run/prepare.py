"""From a spec, or from loaded objects, to a run that is ready to be executed."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from verax.data.explanations import load_explanations
from verax.data.selection import first_inputs, in_random_order
from verax.engine.protocols import kinds_of
from verax.methods.randomised import Randomised
from verax.models.endpoint import Permissions
from verax.models.load import check_model_name
from verax.registry import entries
from verax.results.manifest import CONTENT_FREE, RANDOMISED
from verax.run.checking import check_fit, check_run, check_unique, removing
from verax.run.context import ALL, BASELINE, TEXT, WIDE, RunContext
from verax.run.endpoint import with_cache
from verax.run.opening import explains_itself, open_data, open_model, open_self_explainer, open_validation
from verax.run.parameters import Configured, check_known, configure, from_config, named_parameters
from verax.run.plan import Plan
from verax.run.providers import Providers, find_provider
from verax.run.spec import Spec
from verax.run.until_decided import check_independent, limited
from verax.types import Dataset, Highlight, Undefined, UserError

NOT_RANDOMISED = frozenset({BASELINE, CONTENT_FREE, RANDOMISED})
"""Methods that depend on no weights, or on randomised ones already."""


@dataclass(frozen=True)
class Recipe:
    """What a run is prepared from; another process prepares the same run from it.

    Args:
        spec: the run.
        permissions: what the spec's endpoint may do.
        model, data, validation: loaded objects, in place of those that the spec names.
        methods, metrics: in place of those of the spec; names or objects.
    """

    spec: Spec
    permissions: Permissions = Permissions()
    model: Any = None
    data: Dataset | None = None
    validation: Dataset | None = None
    methods: Sequence[Any] | None = None
    metrics: Sequence[Any] | None = None

    def on_device(self, device: str) -> Recipe:
        """The recipe with the model on another device."""
        model = self.spec.model.model_copy(update={"device": device})
        return replace(self, spec=self.spec.model_copy(update={"model": model}))

    def prepare(self) -> Prepared:
        """The run, ready to be executed."""
        return prepare(
            self.spec,
            self.model,
            self.data,
            methods=self.methods,
            metrics=self.metrics,
            validation=self.validation,
            permissions=self.permissions,
        )


@dataclass(frozen=True, eq=False)
class Prepared:
    """A run that is ready to be executed: everything is loaded and checked, nothing is computed."""

    run: RunContext
    providers: Providers
    plan: Plan
    recipe: Recipe

    def first(self, inputs: int, looks: tuple[int, ...]) -> Prepared:
        """The run on its first inputs, for the next look of its sequential test."""
        test = self.run.until_decided
        assert test is not None  # noqa: S101 - only such runs are looked at
        data = first_inputs(self.run.data, inputs)
        run = replace(self.run, data=data, until_decided=test.model_copy(update={"looks": looks}))
        providers = Providers(run)
        return replace(self, run=run, providers=providers, plan=Plan(run, providers))

    def plan_again(self, again: Collection[str]) -> Plan:
        """The plan, with other keys for stored rows that are to be computed again."""
        return Plan(self.run, self.providers, again) if again else self.plan


def prepare(
    spec: Spec,
    model: Any = None,
    data: Dataset | None = None,
    *,
    methods: Sequence[Any] | None = None,
    metrics: Sequence[Any] | None = None,
    validation: Dataset | None = None,
    permissions: Permissions = Permissions(),
) -> Prepared:
    """Load what a spec names, check that it fits together, and plan the rows.

    Args:
        spec: the run.
        model, data, validation: loaded objects, in place of those that the spec names.
        methods, metrics: in place of those of the spec; names or objects.
        permissions: what the spec's endpoint may do.
    """
    recipe = Recipe(spec, permissions, model, data, validation, methods, metrics)
    requested = spec.metrics if metrics is None else metrics
    methods = spec.methods if methods is None else methods
    listed = [given for given in requested if given != ALL]
    check_known("methods", *methods)
    check_known("metrics", *listed)
    if model is None and spec.model.endpoint is None:
        check_model_name(spec.model.name)
    explainers = [from_config("methods", given, spec.seed) for given in methods]
    measures = [from_config("metrics", given, spec.seed) for given in listed]
    wanted = _Wanted.of(spec, explainers, () if ALL in requested else measures)
    given_data, data = data, open_data(spec.data, spec.seed) if data is None else data
    wide = _wide_data(spec, data) if given_data is None and wanted.text else data
    if spec.until_decided is not None:
        data = in_random_order(data, spec.seed)
    if model is None:
        model = _open_model(spec, wide, wanted, permissions)
    model = with_cache(model)

    @cache  # each look at a run until decided asks for it
    def open_other() -> Dataset:
        return open_validation(spec) if validation is None else validation

    explainers = [from_config("methods", removing(given, model, spec.seed), spec.seed) for given in methods]
    for named in explainers:
        check_fit(named, model)
    answered = any(method.component.kind == TEXT for method in explainers)
    for named in measures if ALL not in requested else ():
        check_fit(named, model, asks_method=answered and kinds_of(named.component) == {TEXT})
    if wanted.words and "outputs" not in model.capabilities:
        raise UserError(f"explanations: scores of words are about class outputs, and {model.name!r} has none")
    explainers = [_fitted(method, SimpleNamespace(model=model, open_validation=open_other)) for method in explainers]
    explainers += _randomised(explainers, spec)
    explainers = _with_defaults(explainers, measures, model, wanted, spec.seed)
    if wanted.words and spec.data.granularity == "token":
        # alignments of the data count words, and would link the wrong sub-words
        instances = tuple(_by_token(model, instance) for instance in data.instances)
        data = replace(data, instances=instances, aligned={})
    run = RunContext(
        spec=spec,
        model=model,
        data=data,
        wide_data=wide,
        methods=tuple(explainers),
        metrics=() if ALL in requested else tuple(measures),
        open_validation=open_other,
        given=_given(spec.explanations, data),
        products=tuple(_product(one, spec.seed) for one in spec.products),
        parts=data.maskable if spec.data.explain == "maskable" else None,
    )
    run = replace(run, metrics=tuple(_fitted(metric, run) for metric in run.metrics))
    if ALL in requested:
        run = _with_every_metric(run, measures)
    check_unique(run)
    check_run(run)
    run = limited(run)
    providers = Providers(run)
    check_independent(run, providers)
    return Prepared(run, providers, Plan(run, providers), recipe)


@dataclass(frozen=True)
class _Wanted:
    """The kinds of explanations that a spec asks for."""

    words: bool
    text: bool

    @classmethod
    def of(cls, spec: Spec, methods: Sequence[Configured[Any]], metrics: Sequence[Configured[Any]]) -> _Wanted:
        kinds = [kinds_of(metric.component) for metric in metrics]
        kinds += [frozenset({method.component.kind}) for method in methods]
        text = any(several == {TEXT} for several in kinds)
        words = any(TEXT not in several for several in kinds) or bool(spec.explanations or spec.products)
        # a method of free text without prompts asks a classifier
        words |= any(method.component.kind == TEXT and not method.component.stages for method in methods)
        return cls(words or not text, text)


def _wide_data(spec: Spec, data: Dataset) -> Dataset:
    """The data with a large limit, which prompts and random words are taken from: so a small limit changes no row."""
    limit, sample = spec.data.limit, spec.data.sample
    if sample is None and (limit is None or limit >= WIDE):
        return data
    return open_data(spec.data.model_copy(update={"limit": max(limit or 0, WIDE), "sample": None}), spec.seed)


def _open_model(spec: Spec, data: Dataset, wanted: _Wanted, permissions: Permissions) -> Any:
    """The model that a spec names, as one that explains itself if free text is wanted of it."""
    if not wanted.text or (wanted.words and not explains_itself(spec.model)):
        return open_model(spec.model)
    if not data.instances:
        raise UserError(f"data: {data.name} has no inputs")
    return open_self_explainer(spec.model, data, spec.model.labels or spec.data.labels, permissions)


def _with_defaults(
    methods: Sequence[Configured[Any]], metrics: Sequence[Configured[Any]], model: Any, wanted: _Wanted, seed: int
) -> list[Configured[Any]]:
    """The methods with implied ones: the random baseline, and the method that a model was trained for."""
    complete = list(methods)
    if wanted.text and not any(method.component.kind == TEXT for method in complete):
        if complete:
            measure = next(metric for metric in metrics if kinds_of(metric.component) == {TEXT})
            raise UserError(f"{measure.name} measures free text, and no method gives any: add one of the kind text")
        names = ("explain_then_answer", "answer_then_explain") if model.setup is None else (model.setup,)
        complete += [from_config("methods", name, seed) for name in names]
    if wanted.words and not any(method.name == BASELINE for method in complete):
        complete.insert(0, from_config("methods", BASELINE, seed))
    complete = [one for method in complete for one in _matched(method, complete)]
    return [*complete, *_baselines(metrics, {method.label for method in complete}, seed)]


def _matched(method: Configured[Any], others: Sequence[Configured[Any]]) -> list[Configured[Any]]:
    """A random explanation that is matched to a method, once for each method of its kind unless it names one."""
    component = method.component
    if getattr(component, "like", method) is not None:
        return [method]
    alike = [one.component for one in others if one.component.kind == component.kind and one.name != method.name]
    return [replace(method, component=replace(component, like=one)) for one in alike] or [method]


def _randomised(methods: Sequence[Configured[Any]], spec: Spec) -> list[Configured[Any]]:
    """Each method that scores words by what the model has learned, applied to randomised weights, if requested."""
    if "randomised" not in spec.controls:
        return []
    chosen = [one for one in methods if one.component.kind == "token" and one.name not in NOT_RANDOMISED]
    return [Configured(RANDOMISED, Randomised(one.component, spec.seed), one.implied | {"seed"}) for one in chosen]


def _baselines(metrics: Sequence[Configured[Any]], listed: Collection[str], seed: int) -> Iterator[Configured[Any]]:
    """The methods that metrics declare as their baselines, unless the spec lists them; only these metrics use them."""
    users: dict[str, set[str]] = {}
    methods: dict[str, Configured[Any]] = {}
    for metric in metrics:
        for name, parameters in getattr(metric.component, "baselines", ()):
            method = from_config("methods", {name: dict(parameters)}, seed)
            methods[method.label] = method
            users.setdefault(method.label, set()).add(metric.name)
    for label, method in methods.items():
        if label not in listed:
            yield replace(method, measured_by=frozenset(users[label]))


def _fitted(given: Configured[Any], run: Any) -> Configured[Any]:
    """A method or metric whose open parameters are fitted to the run; these are not part of its label.

    Args:
        run: the run; for a method its `model` and `open_validation` only, since the methods are not complete yet.
    """
    if not hasattr(given.component, "fitted"):
        return given
    component = given.component.fitted(run)
    names = [field.name for field in dataclasses.fields(component)]
    implied = {name for name in names if getattr(component, name) != getattr(given.component, name)}
    return replace(given, component=component, implied=given.implied | implied)


def _with_every_metric(run: RunContext, listed: Sequence[Configured[Any]]) -> RunContext:
    """The run with the listed metrics and every registered one, plug-ins included, as far as they fit.

    Why others do not fit is recorded by their labels.
    """
    metrics: dict[str, Configured[Any]] = {}
    left_out: dict[str, str] = {}
    kinds = {explainer.kind for explainer in run.explainers}
    candidates: list[Any] = [*listed, *entries("metrics")]
    for given in candidates:
        label = given if isinstance(given, str) else given.label
        try:
            metric: Configured[Any] = from_config("metrics", given, run.spec.seed) if isinstance(given, str) else given
            measured = kinds_of(metric.component)
            if measured.isdisjoint(kinds):
                raise UserError(f"{label} measures {', '.join(sorted(measured))}, and no method gives any")
            check_fit(metric, run.model, asks_method=measured == {TEXT})
            metric = _fitted(metric, replace(run, metrics=(metric,)))
            alone = replace(run, metrics=(metric,))
            check_run(alone)
            providers = Providers(alone)
            Plan(alone, providers)
            check_independent(alone, providers)
        except UserError as error:
            left_out[label] = str(error)
        else:
            metrics.setdefault(metric.label, metric)
    return replace(run, metrics=tuple(metrics.values()), left_out=left_out)


def _product(given: Any, seed: int) -> Configured[Any]:
    """A product that a spec requests of a provider."""
    name, parameters = named_parameters("products", given)
    provider = find_provider(name)
    if provider is None or provider.request is None:
        raise UserError(f"products: got {name!r}; alignment can be requested")
    return configure(name, provider.request, parameters, seed)


def _given(paths: Sequence[Path], data: Dataset) -> dict[str, dict[str, Highlight]]:
    """Explanations made elsewhere, by method and instance; two files may share a method, but no explanation."""
    given: dict[str, dict[str, Highlight]] = {}
    for path in paths:
        for label, rows in load_explanations(path, data).items():
            known = given.setdefault(label, {})
            for row in rows:
                if row.instance_id in known:
                    raise UserError(
                        f"{path}: {row.instance_id!r} already has an explanation by {label!r} in another file"
                    )
                known[row.instance_id] = row
    return {label: rows for label, rows in given.items() if rows}


def _by_token(model: Any, instance: Any) -> Any:
    try:
        return model.by_token(instance)
    except Undefined:  # the instance is skipped with this reason when the model is asked about it
        return instance
