"""The plan of a run: the rows that it consists of, by key, generated instance by instance."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from verax.align.protocol import Aligner
from verax.engine.protocols import Method, Metric, kinds_of
from verax.run.context import TEXT, RunContext
from verax.run.parameters import Configured
from verax.run.providers import Provider, Providers
from verax.store.keys import JSON, key_of
from verax.types import PREDICTION, Highlight, Instance, Kind, Passes

PREPARATION = "(preparation)"
"""Passes of a provider before the first instance, in place of the name of an explainer."""


class PlannedScore(NamedTuple):
    """One score of one explanation.

    Args:
        rows: keys of rows that its providers need in addition to the explanation.
        deferred: whether it is measured after all explanations are stored.
    """

    metric: Configured[Metric]
    key: str
    rows: tuple[str, ...]
    deferred: bool


@dataclass(frozen=True, slots=True)
class PlannedExplanation:
    """One explanation of one instance, and its scores; `method` is None if it was made elsewhere and is `given`."""

    label: str
    kind: Kind
    key: str
    method: Configured[Method] | None
    given: Highlight | None
    scores: tuple[PlannedScore, ...]


@dataclass(frozen=True, slots=True)
class PlannedInstance:
    """One instance: its own row, its prediction's if it has one, and its explanations'."""

    instance: Instance
    key: str
    prediction: str | None
    explanations: tuple[PlannedExplanation, ...]

    def row_keys(self) -> Iterator[str]:
        """Keys of the rows that are counted: the prediction, the explanations, the scores."""
        if self.prediction is not None:
            yield self.prediction
        for explanation in self.explanations:
            yield explanation.key
            yield from (score.key for score in explanation.scores)


class Outline(NamedTuple):
    """An instance without its scores: its key, that of its prediction, and those of its explanations by label."""

    instance: Instance
    key: str
    prediction: str | None
    explanations: Mapping[str, str]


class RowGroup(NamedTuple):
    """Rows of one kind: the predictions, the explanations by a method, or the scores of a metric for them."""

    explainer: str
    metric: str | None = None


class RowLoad(NamedTuple):
    """What one row takes at most: passes, and inputs that a text generator is asked about."""

    group: RowGroup
    passes: Passes = Passes(0, 0)
    inputs: int = 0


@dataclass(slots=True)
class Load:
    """What some rows take at most: passes, also times the words of their inputs, and inputs that are asked about."""

    rows: int = 0
    words: int = 0
    forward: int = 0
    backward: int = 0
    forward_words: int = 0
    backward_words: int = 0
    inputs: int = 0

    def add(self, words: int, passes: Passes, inputs: int = 0, *, rows: int = 1) -> None:
        """Add a row about an input of so many words."""
        self.rows += rows
        self.words += words
        self.forward += passes.forward
        self.backward += passes.backward
        self.forward_words += words * passes.forward
        self.backward_words += words * passes.backward
        self.inputs += inputs


@dataclass(frozen=True, slots=True)
class Remaining:
    """What is left of a run.

    Args:
        rows: of the whole run.
        done: rows that are stored.
        deferred: rows that are not stored, and wait for all explanations.
        new: inputs that are not stored.
        groups: the load of the rows that are not stored.
    """

    rows: int
    done: int
    deferred: int
    new: int
    groups: Mapping[RowGroup, Load]

    @property
    def requests(self) -> int:
        """Upper bound on requests to an endpoint: one for the class and one for the explanation of each input."""
        return 2 * sum(load.inputs for load in self.groups.values())

    @property
    def passes(self) -> Passes:
        """Upper bound on the passes, without those of text generators."""
        loads = self.groups.values()
        return Passes(sum(load.forward for load in loads), sum(load.backward for load in loads))


class Plan:
    """The rows of a run; iterating over it generates its planned instances.

    The key of a row is a hash of everything that determines the row; shared parts are hashed once.

    Args:
        run: the run.
        providers: of its metrics.
        again: keys of stored rows without a result that are computed again, under other keys.
    """

    def __init__(self, run: RunContext, providers: Providers, again: Collection[str] = ()) -> None:
        self.run, self.providers, self._again = run, providers, again
        self._fingerprint: dict[str, str] = run.model.fingerprint
        self._instance_keys: dict[int, str] = {}
        self._prediction = key_of(row="prediction", model=self._fingerprint) if run.scores_words else None
        self._identities = {
            one.label: _text_identity(one) if one.component.kind == TEXT else self._identity("explanation", one)
            for one in run.methods
        }
        self._measured_by = {one.label: one.measured_by for one in run.methods}
        measures = map(self._measure, run.metrics)
        # metrics that leave instances out come last
        self._measures = sorted(measures, key=lambda one: any(provider.selective for provider in one.providers))
        for provider in providers:
            provider.survey(self)

    def __len__(self) -> int:
        return len(self.run.data)

    def __iter__(self) -> Iterator[PlannedInstance]:
        return map(self.planned, self.run.data.instances)

    def planned(self, instance: Instance) -> PlannedInstance:
        """One instance of the data."""
        outline = self.outline(instance)
        explanations = [
            PlannedExplanation(
                label,
                kind,
                outline.explanations[label],
                method,
                None if method else self.run.given[label].get(instance.id),
                tuple(self._scores(outline, label, kind)),
            )
            for label, kind, _, method in self.run.explainers
        ]
        return PlannedInstance(instance, outline.key, outline.prediction, tuple(explanations))

    def outlines(self) -> Iterator[Outline]:
        """Every instance without its scores."""
        return map(self.outline, self.run.data.instances)

    def outline(self, instance: Instance) -> Outline:
        """One instance of the data without its scores."""
        key, parts = self.instance_key(instance), self.run.parts
        prediction = None if self._prediction is None else self._fresh(_joined(self._prediction, key))
        explained = key if parts is None else key_of(row="parts", instance=key, parts=parts)
        keys = {}
        for label, kind, _, method in self.run.explainers:
            if method is None:
                keys[label] = _given_key(label, self.run.given[label].get(instance.id), explained)
            elif kind == TEXT:
                identity = self._identities[label]
                keys[label] = self._fresh(key_of(row="nle", input=key, model=self._fingerprint, setup=identity))
            else:
                keys[label] = self._fresh(_joined(str(self._identities[label]), explained))
        return Outline(instance, key, prediction, keys)

    def instance_key(self, instance: Instance) -> str:
        """Key of an instance of the data."""
        key = self._instance_keys.get(id(instance))
        if key is None:
            key = self._instance_keys[id(instance)] = input_key(instance)
        return key

    def labels(self) -> tuple[str, ...]:
        """Labels of all explainers, those made elsewhere last."""
        return tuple(explainer.label for explainer in self.run.explainers)

    def remaining(self, present: Collection[str]) -> Remaining:
        """What is still to be computed if some rows are present."""
        rows = done = deferred = new = 0
        groups: dict[RowGroup, Load] = {}
        for planned in self:
            keys = list(planned.row_keys())
            stored = sum(key in present for key in keys)
            rows, done, new = rows + len(keys), done + stored, new + (planned.key not in present)
            if stored == len(keys):
                continue
            words = length(planned.instance)
            for group, passes, inputs in self.missing(planned, present):
                groups.setdefault(group, Load()).add(words, passes, inputs)
            scores = (score for explanation in planned.explanations for score in explanation.scores)
            deferred += sum(score.deferred and score.key not in present for score in scores)
        if done < rows:
            for provider in self.providers:
                for words, passes in provider.preparation():
                    groups.setdefault(RowGroup(PREPARATION, type(provider).__name__), Load()).add(words, passes, rows=0)
        return Remaining(rows, done, deferred, new, groups)

    def missing(self, planned: PlannedInstance, present: Collection[str]) -> Iterator[RowLoad]:
        """Rows of an instance that are not present, and what they take."""
        parts, model = self.run.parts, self.run.model
        n = sum(parts is None or unit[0].part in parts for unit in planned.instance.units)
        if planned.prediction is not None and planned.prediction not in present:
            yield RowLoad(RowGroup(PREDICTION), Passes(1, 0))
        for explanation in planned.explanations:
            method = None if explanation.method is None else explanation.method.component
            answers = explanation.kind == TEXT and bool(getattr(method, "stages", ()))
            if explanation.key not in present:
                passes = Passes(0, 0) if method is None else passes_of(method, n, model)
                yield RowLoad(RowGroup(explanation.label), passes, int(answers))
            for score in explanation.scores:
                if score.key not in present:
                    metric: Any = score.metric.component
                    providers = self.providers.of(score.metric).values()
                    further = [one for provider in providers for one in provider.passes(score.metric, method, n)]
                    passes = Passes(*map(sum, zip(metric.passes(n), *further, strict=True)))
                    asks = answers and hasattr(metric, "max_inputs")
                    inputs = metric.max_inputs(len(planned.instance.parts), len(model.labels)) if asks else 0
                    yield RowLoad(RowGroup(explanation.label, score.metric.label), passes, inputs)

    def _scores(self, outline: Outline, label: str, kind: Kind) -> Iterator[PlannedScore]:
        """The scores of one explanation."""
        explanation = outline.explanations[label]
        measured_by = self._measured_by.get(label)
        for metric, providers, deferred, identity, text_identity in self._measures:
            if (identity if kind != TEXT else text_identity) is None:
                continue
            if measured_by is not None and metric.name not in measured_by:
                continue
            if not self.run.measures_in(metric, outline.instance.lang):
                continue
            parts = [provider.part(metric, outline, label) for provider in providers]
            if None in parts:
                continue
            keys = [key for part in parts if part for key in part.keys]
            rows = tuple(key for part in parts if part for key in part.rows)
            if kind == TEXT:
                more = {"parts": keys} if keys else {}
                key = key_of(row="tested", explanation=explanation, metric=text_identity, **more)
            else:
                key = _joined(str(identity), explanation, *keys)
            yield PlannedScore(metric, self._fresh(key), rows, deferred)

    def _fresh(self, key: str) -> str:
        """The key, or a key derived from it if the row is computed again: stored rows are never replaced."""
        while key in self._again:
            key = key_of(again=key)
        return key

    def _measure(self, metric: Configured[Metric]) -> _Measure:
        """A metric with its identities.

        Explanations by scores of a kind that it does not measure get a row too, with the metric's reason.
        """
        named, kinds = self.providers.of(metric), kinds_of(metric.component)
        keys = {name: key for name, provider in named.items() if (key := provider.key(metric)) is not None}
        identity, text_identity = None, None
        if kinds - {TEXT}:
            identity = self._identity("score", metric)
            for key in keys.values():
                identity = _joined(identity, key if isinstance(key, str) else key_of(key=key))
        if TEXT in kinds:
            provenance = dict(getattr(metric.component, "provenance", {}))
            text_identity = {**_text_identity(metric), "told": provenance, "handed": keys}  # names in stored keys
        deferred = any(provider.deferred for provider in named.values())
        return _Measure(metric, tuple(named.values()), deferred, identity, text_identity)

    def _identity(self, row: str, named: Configured[Any]) -> str:
        """Everything but the input that determines the scores of a method, or a metric's score of them."""
        versions = _versions(named.component)
        version = versions if len(versions) > 1 else versions[0]
        return key_of(row=row, model=self._fingerprint, name=named.name, parameters=named.parameters, version=version)


@dataclass(frozen=True)
class PlanKeys:
    """Keys of all rows of a plan: instances, counted rows, products of providers. Each iteration generates them."""

    plan: Plan

    def __iter__(self) -> Iterator[str]:
        for planned in self.plan:
            yield planned.key
            yield from planned.row_keys()
        for provider in self.plan.providers:
            yield from provider.products()


class _Measure(NamedTuple):
    """A metric, its providers, and its identity in keys of scores of words and of text; None if it measures none."""

    metric: Configured[Metric]
    providers: tuple[Provider, ...]
    deferred: bool
    identity: str | None
    text_identity: JSON


def _versions(component: Any) -> list[int]:
    """Version of a component, then those of the components among its parameters."""
    inner = [getattr(component, field.name) for field in dataclasses.fields(component)]
    parts = [one for one in inner if isinstance(one, (Method, Aligner))]
    return [component.version, *(version for part in parts for version in _versions(part))]


def length(instance: Instance) -> int:
    """Words of an input, which the tokens of a pass are about proportional to."""
    return sum(len(part.words) for part in instance.parts)


def passes_of(method: Method, n: int, model: Any) -> Passes:
    """Passes that a method asks a model for at most, on an input of n units."""
    passes = method.passes(n)
    layers = int(getattr(model, "attention_layers", 1)) if getattr(method, "per_layer", False) else 1
    return passes._replace(backward=passes.backward * layers)


def input_key(instance: Instance) -> str:
    """Key of an input: everything that it holds, its annotations too."""
    fields = dataclasses.asdict(instance)
    if fields["human"] and not fields["human"]["relations"]:
        del fields["human"]["relations"]  # keys from before there were any stay valid
    return key_of(row="instance", **fields)


def _given_key(label: str, given: Highlight | None, content: str) -> str:
    """Key of an explanation made elsewhere."""
    values: JSON = None if given is None else {"scores": given.scores, "target": given.target.of}
    if given is not None and given.kind != "token":  # words are those of the input, pairs are up to the file
        values = {**values, "kind": given.kind, "units": given.units}  # type: ignore[dict-item]
    return _joined(key_of(row="explanation", outside=label, said=values), content)


def _text_identity(named: Configured[Any]) -> dict[str, JSON]:
    """Everything but model and input that determines the text of a method, or a metric's score of it."""
    return {"name": named.name, "version": named.component.version, "parameters": named.parameters}


def _joined(*keys: str) -> str:
    """One key of several; all have one length, so their concatenation is unambiguous."""
    return hashlib.sha256("".join(keys).encode()).hexdigest()
