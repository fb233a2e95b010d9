"""From a spec, or from the things that it names, to a run that is ready to be executed."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from verax.data.explanations import load_explanations
from verax.engine.protocols import kinds_of
from verax.run.checking import check_fit, check_run, check_unique
from verax.run.context import BASELINE, TEXT, RunContext
from verax.run.endpoint import with_cache
from verax.run.opening import explains_itself, open_data, open_model, open_self_explainer, open_validation
from verax.run.parameters import Configured, configure, from_config, named_parameters
from verax.run.plan import Plan
from verax.run.providers import Providers, find_provider
from verax.run.providers.vocabulary import WORDS_FROM
from verax.run.spec import Spec
from verax.types import Dataset, Highlight, Undefined, UserError


@dataclass(frozen=True, eq=False)
class Prepared:
    """A run that is ready to be executed: everything is loaded and checked, nothing is computed."""

    run: RunContext
    providers: Providers
    plan: Plan

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
) -> Prepared:
    """Load what a spec names, check that it fits together, and plan the rows.

    Args:
        spec: the run.
        model, data, validation: in place of what the spec names.
        methods, metrics: in place of those of the spec; they may hold objects as well as names.
    """
    explainers = [from_config("methods", given, spec.seed) for given in (spec.methods if methods is None else methods)]
    measures = [from_config("metrics", given, spec.seed) for given in (spec.metrics if metrics is None else metrics)]
    wanted = _Wanted.of(spec, explainers, measures)
    given_data, data = data, open_data(spec.data, spec.seed) if data is None else data
    wide = _wide_data(spec, data) if given_data is None and wanted.text else data
    if model is None:
        model = _open_model(spec, wide, wanted)
    model = with_cache(model)
    for named in (*explainers, *measures):
        check_fit(named, model)
    if wanted.words and "outputs" not in model.capabilities:
        raise UserError(f"explanations: scores of words are about class outputs, and {model.name!r} has none")
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
        metrics=tuple(measures),
        open_validation=lambda: open_validation(spec) if validation is None else validation,
        given=_given(spec.explanations, data),
        products=tuple(_product(one, spec.seed) for one in spec.products),
        parts=data.maskable if spec.data.explain == "maskable" else None,
    )
    run = replace(run, metrics=tuple(_fitted(metric, run) for metric in run.metrics))
    check_unique(run)
    check_run(run)
    providers = Providers(run)
    return Prepared(run, providers, Plan(run, providers))


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
        return cls(words or not text, text)


def _wide_data(spec: Spec, data: Dataset) -> Dataset:
    """The data before it was limited: what a limit leaves out changes neither prompts nor the words that are drawn."""
    limit = spec.data.limit
    if limit is None or limit >= WORDS_FROM:
        return data
    return open_data(spec.data.model_copy(update={"limit": WORDS_FROM}), spec.seed)


def _open_model(spec: Spec, data: Dataset, wanted: _Wanted) -> Any:
    """The model that a spec names, as one that explains itself if free text is wanted of it."""
    if not wanted.text or (wanted.words and not explains_itself(spec.model)):
        return open_model(spec.model)
    if not data.instances:
        raise UserError(f"data: {data.name} has no inputs")
    return open_self_explainer(spec.model, data, spec.model.labels or spec.data.labels)


def _with_defaults(
    methods: Sequence[Configured[Any]], metrics: Sequence[Configured[Any]], model: Any, wanted: _Wanted, seed: int
) -> list[Configured[Any]]:
    """The methods with those that need not be named: the random baseline, and the model's own way to explain itself."""
    found = list(methods)
    if wanted.text and not any(method.component.kind == TEXT for method in found):
        if found:
            measure = next(metric for metric in metrics if kinds_of(metric.component) == {TEXT})
            raise UserError(f"{measure.name} measures free text, and no method gives any: add one of the kind text")
        names = ("explain_then_answer", "answer_then_explain") if model.setup is None else (model.setup,)
        found += [from_config("methods", name, seed) for name in names]
    if wanted.words and not any(method.name == BASELINE for method in found):
        found.insert(0, from_config("methods", BASELINE, seed))
    return found


def _fitted(metric: Configured[Any], run: RunContext) -> Configured[Any]:
    """A metric with what fits the run, where a parameter was left open; such parameters are not part of its label."""
    if not hasattr(metric.component, "fitted"):
        return metric
    component = metric.component.fitted(run)
    names = [field.name for field in dataclasses.fields(component)]
    implied = {name for name in names if getattr(component, name) != getattr(metric.component, name)}
    return Configured(metric.name, component, metric.implied | implied)


def _product(given: Any, seed: int) -> Configured[Any]:
    """What a spec requests of a provider: its name, or {name: {parameter: value}}."""
    name, parameters = named_parameters("products", given)
    provider = find_provider(name)
    if provider is None or provider.request is None:
        raise UserError(f"products: got {name!r}; alignment can be requested")
    return configure(name, provider.request, parameters, seed)


def _given(paths: Sequence[Path], data: Dataset) -> dict[str, dict[str, Highlight]]:
    """Explanations made elsewhere by method; two files may share a method, but not an explanation."""
    found: dict[str, dict[str, Highlight]] = {}
    for path in paths:
        for label, rows in load_explanations(path, data).items():
            known = found.setdefault(label, {})
            for row in rows:
                if row.instance_id in known:
                    raise UserError(
                        f"{path}: {row.instance_id!r} already has an explanation by {label!r} in another file"
                    )
                known[row.instance_id] = row
    return {label: rows for label, rows in found.items() if rows}


def _by_token(model: Any, instance: Any) -> Any:
    try:
        return model.by_token(instance)
    except Undefined:  # the instance is skipped with this very reason when the model is asked about it
        return instance
