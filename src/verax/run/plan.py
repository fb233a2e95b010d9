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
from verax.types import Highlight, Instance, Kind, Passes


class PlannedScore(NamedTuple):
    """One score of one explanation.

    Args:
        metric: the metric.
        key: of the score.
        rows: keys of rows that its providers need, besides the explanation itself.
        deferred: whether it is measured only once every explanation is stored.
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
            for score in explanation.scores:
                yield score.key


class Outline(NamedTuple):
    """An instance without its scores: its key, that of its prediction, and those of its explanations by label."""

    instance: Instance
    key: str
    prediction: str | None
    explanations: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Remaining:
    """Rows of a run, how many are stored, how many of the others are deferred, and an upper bound on their passes."""

    rows: int
    done: int
    deferred: int
    passes: Passes


class Plan:
    """Everything that a run consists of; iterating over it generates its planned instances.

    Args:
        run: the run.
        providers: of its metrics.
        again: keys of stored rows without a result that are to be computed again: they get other keys.
    """

    def __init__(self, run: RunContext, providers: Providers, again: Collection[str] = ()) -> None:
        self.run, self.providers = run, providers
        self._keys = _Keys(run, providers, again)
        self._predicts = run.scores_words
        for provider in providers:
            provider.survey(self)

    def __len__(self) -> int:
        return len(self.run.data)

    def __iter__(self) -> Iterator[PlannedInstance]:
        for outline in self.outlines():
            instance, key, prediction, explanations = outline
            planned = [
                PlannedExplanation(
                    label,
                    kind,
                    explanations[label],
                    method,
                    self.run.given.get(label, {}).get(instance.id),
                    tuple(self._keys.scores(outline, label, kind)),
                )
                for label, kind, method in self._keys.explainers
            ]
            yield PlannedInstance(instance, key, prediction, tuple(planned))

    def outlines(self) -> Iterator[Outline]:
        """Every instance without its scores."""
        return map(self.outline, self.run.data.instances)

    def outline(self, instance: Instance) -> Outline:
        """One instance of the data without its scores."""
        key = self._keys.content(instance)
        prediction = self._keys.prediction(key) if self._predicts else None
        return Outline(instance, key, prediction, self._keys.explanations(instance, key))

    def instance_key(self, instance: Instance) -> str:
        """Key of an instance of the data."""
        return self._keys.content(instance)

    def keys(self) -> Iterator[str]:
        """Every row of the run: instances, what is counted of them, and products of providers."""
        for planned in self:
            yield planned.key
            yield from planned.row_keys()
        for provider in self.providers:
            yield from provider.products()

    def labels(self) -> tuple[str, ...]:
        """Labels of all explainers, those made elsewhere last."""
        return tuple(explainer.label for explainer in self.run.explainers)

    def remaining(self, present: Collection[str]) -> Remaining:
        """What is still to be computed if some rows are present."""
        rows = done = deferred = forward = backward = 0
        for planned in self:
            keys = list(planned.row_keys())
            stored = sum(key in present for key in keys)
            rows, done = rows + len(keys), done + stored
            if stored == len(keys):
                continue
            n = units(planned.instance, self.run.parts)
            for explanation in planned.explanations:
                deferred += sum(score.deferred and score.key not in present for score in explanation.scores)
                for passes in self._passes(explanation, present, n):
                    forward, backward = forward + passes.forward, backward + passes.backward
        return Remaining(rows, done, deferred, Passes(forward, backward))

    def _passes(self, explanation: PlannedExplanation, present: Collection[str], n: int) -> Iterator[Passes]:
        if explanation.kind == TEXT:  # how many passes text takes depends on what the model writes
            return
        method = None if explanation.method is None else explanation.method.component
        if method is not None and explanation.key not in present:
            yield passes_of(method, n, self._layers)
        for score in explanation.scores:
            if score.key in present:
                continue
            yield score.metric.component.passes(n)
            for provider in self.providers.of(score.metric).values():
                yield from provider.passes(score.metric, method, n)

    @property
    def _layers(self) -> int:
        return int(getattr(self.run.model, "attention_layers", 1))


def passes_of(method: Method, n: int, layers: int) -> Passes:
    """Passes that a method asks for at most, on an input of n units by a model of so many attention layers."""
    passes = method.passes(n)
    return passes._replace(backward=passes.backward * layers) if getattr(method, "per_layer", False) else passes


def units(instance: Instance, parts: tuple[int, ...] | None) -> int:
    """Number of words of an instance that are explained."""
    return sum(parts is None or unit[0].part in parts for unit in instance.units)


def input_key(instance: Instance) -> str:
    """Key of an input: everything that it holds, its annotations too."""
    return key_of(row="instance", **dataclasses.asdict(instance))


def measures(metric: Metric, kind: Kind) -> bool:
    """Whether a metric gives explanations of a kind a score.

    Explanations by scores of a kind that the metric does not measure get one too: it has the metric's reason.
    """
    kinds = kinds_of(metric)
    return kind in kinds or (kind != TEXT and bool(kinds - {TEXT}))


class _Explainer(NamedTuple):
    label: str
    kind: Kind
    method: Configured[Method] | None


class _Measure(NamedTuple):
    """A metric, its providers, and what identifies it in keys: of scores of words, and of scores of text."""

    metric: Configured[Metric]
    providers: tuple[Provider, ...]
    deferred: bool
    identity: str
    text_identity: JSON


class _Keys:
    """Keys of the rows of one run: a hash of everything that determines a row; what rows share is hashed once."""

    def __init__(self, run: RunContext, providers: Providers, again: Collection[str]) -> None:
        self._run, self._again = run, again
        self._contents: dict[int, str] = {}
        self._fingerprint: dict[str, str] = run.model.fingerprint
        self._prediction = key_of(row="prediction", model=self._fingerprint)
        made = [_Explainer(one.label, one.component.kind, one) for one in run.methods]
        self.explainers = (*made, *(_Explainer(label, kind, None) for label, kind in run.given_kinds.items()))
        self._methods = {
            one.label: _text_identity(one)
            if one.component.kind == TEXT
            else _identity("explanation", self._fingerprint, one)
            for one in run.methods
        }
        self._measures = [
            _Measure(
                metric,
                tuple(providers.of(metric).values()),
                providers.is_deferred(metric),
                _with_keys(_identity("score", self._fingerprint, metric), metric, providers),
                _text_metric_identity(metric, providers) if measures(metric.component, TEXT) else None,
            )
            for metric in sorted(run.metrics, key=providers.is_selective)
        ]

    def content(self, instance: Instance) -> str:
        """Key of an instance of the data."""
        key = self._contents.get(id(instance))
        if key is None:
            key = self._contents[id(instance)] = input_key(instance)
        return key

    def prediction(self, content: str) -> str:
        return _joined(self._prediction, content)

    def explanations(self, instance: Instance, content: str) -> dict[str, str]:
        """Keys of all explanations of an instance, by label."""
        parts = self._run.parts
        explained = content if parts is None else key_of(row="parts", instance=content, parts=parts)
        keys = {}
        for label, kind, method in self.explainers:
            if method is None:
                keys[label] = _given_key(label, self._run.given[label].get(instance.id), explained)
            elif kind == TEXT:
                own = key_of(row="nle", input=content, model=self._fingerprint, setup=self._methods[label])
                keys[label] = self._fresh(own)
            else:
                keys[label] = _joined(self._methods[label], explained)  # type: ignore[arg-type]
        return keys

    def scores(self, outline: Outline, label: str, kind: Kind) -> Iterator[PlannedScore]:
        """The scores of one explanation."""
        explanation = outline.explanations[label]
        for metric, providers, deferred, identity, text_identity in self._measures:
            if not measures(metric.component, kind):
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
                key = _joined(identity, explanation, *keys)
            yield PlannedScore(metric, self._fresh(key), rows, deferred)

    def _fresh(self, key: str) -> str:
        """The key, or one derived from it if the row is to be computed again: the store keeps what it has."""
        while key in self._again:
            key = key_of(again=key)
        return key


def _given_key(label: str, given: Highlight | None, content: str) -> str:
    """Key of an explanation made elsewhere."""
    said: JSON = None if given is None else {"scores": given.scores, "target": given.target.of}
    if given is not None and given.kind != "token":  # words are those of the input, pairs are up to the file
        said = {**said, "kind": given.kind, "units": given.units}  # type: ignore[dict-item]
    return _joined(key_of(row="explanation", outside=label, said=said), content)


def _identity(row: str, model: Mapping[str, str], named: Configured[Any]) -> str:
    """Everything but the input that determines the scores of words by a method, or a score of them by a metric."""
    component = named.component
    inner = [getattr(component, field.name) for field in dataclasses.fields(component)]
    versions = [component.version, *(one.version for one in inner if isinstance(one, (Method, Aligner)))]
    version = versions if len(versions) > 1 else versions[0]
    return key_of(row=row, model=model, name=named.name, parameters=named.parameters, version=version)


def _with_keys(identity: str, metric: Configured[Metric], providers: Providers) -> str:
    """The identity of a metric with the keys of its providers."""
    for provider in providers.of(metric).values():
        key = provider.key(metric)
        if key is not None:
            identity = _joined(identity, key if isinstance(key, str) else key_of(key=key))
    return identity


def _text_identity(named: Configured[Any]) -> dict[str, JSON]:
    """Everything but model and input that determines the text of a method."""
    return {"name": named.name, "version": named.component.version, "parameters": named.parameters}


def _text_metric_identity(named: Configured[Any], providers: Providers) -> dict[str, JSON]:
    """Everything but the explanation that determines a score of text."""
    provided = {name: provider.key(named) for name, provider in providers.of(named).items()}
    handed = {name: key for name, key in provided.items() if key is not None}
    told = dict(getattr(named.component, "provenance", {}))
    return {**_text_identity(named), "told": told, "handed": handed}


def _joined(*keys: str) -> str:
    """One key of several: they are all of one length, so nothing can be shifted from one into the next."""
    return hashlib.sha256("".join(keys).encode()).hexdigest()
