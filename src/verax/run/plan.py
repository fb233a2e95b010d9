"""The plan of a run: every row that it consists of, by key, and what is left to do."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple

from verax.align.protocol import Aligner
from verax.engine.protocols import Method, Metric, check_capabilities, needs
from verax.models.classifier import Classifier
from verax.models.labels import check_target
from verax.models.removal import check_removal
from verax.run.parameters import Configured
from verax.run.translations import OpenAligner, PlannedAlignment, references
from verax.store.keys import JSON, hash_bytes, key_of
from verax.types import Dataset, Highlight, Instance, Kind, Passes, UserError

BASELINE = "random"


class PlannedScore(NamedTuple):
    """One score of one explanation.

    Args:
        metric: by which it is measured.
        key: its own.
        spans: the labels of the span explanations that set its budget.
        alignment: the key of the alignment that it is measured by, if it is that of a translation.
        reference: the key of the explanation of the same input in the reference language.
    """

    metric: Configured[Metric]
    key: str
    spans: tuple[str, ...] = ()
    alignment: str = ""
    reference: str = ""


@dataclass(frozen=True, slots=True)
class PlannedExplanation:
    """One explanation of one instance, and the scores it gets."""

    label: str
    key: str
    method: Configured[Method] | None
    given: Highlight | None
    scores: tuple[PlannedScore, ...]


@dataclass(frozen=True, slots=True)
class PlannedInstance:
    """One instance: its own row, its prediction's, and its explanations'."""

    instance: Instance
    key: str
    prediction: str
    explanations: tuple[PlannedExplanation, ...]

    def row_keys(self) -> Iterator[str]:
        """The rows that are counted: the prediction, the explanations, the scores."""
        yield self.prediction
        for explanation in self.explanations:
            yield explanation.key
            yield from (score.key for score in explanation.scores)


@dataclass(frozen=True)
class Plan:
    """Everything that a run consists of."""

    instances: tuple[PlannedInstance, ...]
    methods: tuple[Configured[Method], ...]
    metrics: tuple[Configured[Metric], ...]
    outside: Mapping[str, Kind]
    """The labels of explanations made elsewhere, and what they score."""
    parts: tuple[int, ...] | None = None
    """The parts whose words are explained; None: all."""
    layers: int = 1
    """Of the model: what the passes of methods that go layer by layer are multiplied by."""
    alignments: tuple[PlannedAlignment, ...] = ()
    """Of inputs with their translations, each once."""

    def units(self, instance: Instance) -> int:
        """How many words of an instance are explained."""
        return sum(self.parts is None or unit[0].part in self.parts for unit in instance.units)

    def row_keys(self) -> Iterator[str]:
        """Every row that is counted at the end."""
        for planned in self.instances:
            yield from planned.row_keys()

    def labels(self) -> tuple[str, ...]:
        """Labels of all methods, those made elsewhere last."""
        return (*(method.label for method in self.methods), *self.outside)

    def remaining(self, present: Collection[str]) -> Remaining:
        """What is still to be done when some rows are there."""
        forward = backward = 0
        rows = done = 0
        for planned in self.instances:
            keys = list(planned.row_keys())
            there = sum(key in present for key in keys)
            rows, done = rows + len(keys), done + there
            if there == len(keys):
                continue
            n = self.units(planned.instance)
            for explanation in planned.explanations:
                for passes in self._passes(explanation, present, n):
                    forward, backward = forward + passes.forward, backward + passes.backward
        return Remaining(rows, done, Passes(forward, backward))

    def _passes(self, explanation: PlannedExplanation, present: Collection[str], n: int) -> Iterator[Passes]:
        method = None if explanation.method is None else explanation.method.component
        if method is not None and explanation.key not in present:
            yield self._of_method(method, n)
        for score in explanation.scores:
            metric = score.metric
            if score.key in present:
                continue
            yield metric.component.passes(n)
            if method is not None and explain_again(metric.component, method) is not None:
                yield from (self._of_method(method, left) for left in metric.component.explained_again(n))  # type: ignore[attr-defined]

    def _of_method(self, method: Method, n: int) -> Passes:
        passes = method.passes(n)
        return passes._replace(backward=passes.backward * self.layers) if per_layer(method) else passes


@dataclass(frozen=True, slots=True)
class Remaining:
    """Rows of a run, how many are there, and the passes for the rest: at most so many, before anything is shared."""

    rows: int
    done: int
    passes: Passes


def explain_again(metric: Metric, method: Method | None) -> Method | None:
    """The method, if a metric is to run it again; None if the explanation stands."""
    if "explain" not in needs(metric) or getattr(method, "recursive", False):
        return None
    return method


def per_layer(method: Method) -> bool:
    """Whether a method asks for its backward passes once for each layer of the model."""
    return bool(getattr(method, "per_layer", False))


class Source(NamedTuple):
    """Whoever explains: a method, or a file of explanations made elsewhere, which have no base."""

    label: str
    kind: Kind
    base: str | None = None


def sources(methods: Sequence[Configured[Method]], outside: Mapping[str, Sequence[Highlight]]) -> list[Source]:
    """Everybody who explains in a run."""
    made = [Source(method.label, method.component.kind, getattr(method.component, "base", None)) for method in methods]
    return made + [Source(label, rows[0].kind) for label, rows in outside.items() if rows]


def span_labels(everybody: Sequence[Source], label: str, matched: str) -> tuple[str, ...]:
    """Those whose span pairs set the budget of one: itself, those of its base, or else all that are not random.

    Args:
        everybody: who explains in the run.
        label: of the one that is measured.
        matched: `base` or `shared`.
    """
    spans = [one for one in everybody if one.kind == "span_interaction"]
    drawn = [one for one in spans if one.base != BASELINE] or spans
    if matched == "base":
        own = next((one for one in everybody if one.label == label), None)
        if own in drawn:
            return (label,)
        fitting = [span for span in drawn if own is not None and own.base is not None and span.base == own.base]
        drawn = fitting or drawn
    return tuple(one.label for one in drawn)


def make_plan(
    model: Classifier,
    data: Dataset,
    methods: Sequence[Configured[Method]],
    metrics: Sequence[Configured[Metric]],
    outside: Mapping[str, Sequence[Highlight]],
    parts: tuple[int, ...] | None = None,
    references: Mapping[str, str] | None = None,
    aligners: Mapping[str, OpenAligner] | None = None,
) -> Plan:
    """Lay out the rows of a run.

    Args:
        outside: explanations made elsewhere, by their label.
        parts: explain the words of these alone.
        references: for each metric that learns from a validation set, by its label, the key of what it learns.
        aligners: for each metric that compares translations, by its label, who aligns their words.
    """
    if not any(method.name == BASELINE for method in methods):
        raise ValueError("a plan needs the random baseline")
    labels = [*(method.label for method in methods), *outside]
    repeated = sorted({label for label in labels if labels.count(label) > 1})
    if repeated:
        raise UserError(f"methods: {repeated[0]!r} is there twice")
    given = {label: {highlight.instance_id: highlight for highlight in rows} for label, rows in outside.items()}
    everybody = sources(methods, outside)
    _check_spans(everybody, metrics)
    keys = _Keys(model, methods, metrics, references or {})
    instances = []
    for instance in data.instances:
        content = input_key(instance)
        explained = content if parts is None else key_of(row="parts", instance=content, parts=parts)
        explanations = [keys.by_method(explained, method) for method in methods]
        explanations += [keys.from_outside(explained, label, rows.get(instance.id)) for label, rows in given.items()]
        instances.append(PlannedInstance(instance, content, keys.prediction(content), tuple(explanations)))
    layers = getattr(model, "attention_layers", 1) if any(per_layer(method.component) for method in methods) else 1
    pairs = _translations(instances, aligners or {})
    scored = _with_scores(instances, everybody, keys, pairs)
    alignments = {pair.alignment.key: pair.alignment for found in pairs.values() for pair in found.values() if pair}
    kinds: dict[str, Kind] = {label: rows[0].kind if rows else "token" for label, rows in outside.items()}
    return Plan(scored, tuple(methods), tuple(metrics), kinds, parts, layers, tuple(alignments.values()))


class Pair(NamedTuple):
    """An input and its reference: how their words are aligned, and the reference's explanations, keys by label."""

    alignment: PlannedAlignment
    explanations: Mapping[str, str]


def _translations(
    instances: Sequence[PlannedInstance], aligners: Mapping[str, OpenAligner]
) -> dict[str, dict[str, Pair | None]]:
    """By metric, then by the id of each input that it measures: whom that is compared with; None if nobody is there."""
    found: dict[str, dict[str, Pair | None]] = {}
    contents = {one.instance.id: one.key for one in instances}
    explained = {one.instance.id: {made.label: made.key for made in one.explanations} for one in instances}
    for label, aligner in aligners.items():
        known = references((one.instance for one in instances), aligner.lang)
        corpus = hash_bytes(*(one.key.encode() for one in instances)) if aligner.learns else ""
        found[label] = {}
        for one in instances:
            if one.instance.lang == aligner.lang:
                continue
            reference = known.get(one.instance.id)
            if reference is None:
                found[label][one.instance.id] = None
                continue
            alignment = aligner.planned(one.instance, reference, (contents[reference.id], one.key), corpus)
            found[label][one.instance.id] = Pair(alignment, explained[reference.id])
    return found


def _check_spans(everybody: Sequence[Source], metrics: Sequence[Configured[Metric]]) -> None:
    """Refuse metrics that take their budget from span pairs where nobody gives any."""
    needing = [metric.name for metric in metrics if "budget" in needs(metric.component)]
    if needing and not any(one.kind == "span_interaction" for one in everybody):
        raise UserError(
            f"{needing[0]} takes its budget of words from span pairs, and no method gives any: add louvain, or use "
            "metrics without a budget (comprehensiveness_flips: {words: [1, 3, 5]}, agreement, complexity)"
        )


def _with_scores(
    instances: Sequence[PlannedInstance],
    everybody: Sequence[Source],
    keys: _Keys,
    pairs: Mapping[str, Mapping[str, Pair | None]],
) -> tuple[PlannedInstance, ...]:
    """The same instances, each explanation with its scores, whose keys hang on other explanations too."""
    if not instances:
        return ()
    labels = [explanation.label for explanation in instances[0].explanations]
    spans = {(label, how): span_labels(everybody, label, how) for label in labels for how in ("base", "shared")}
    found = [{one.label: one.key for one in planned.explanations} for planned in instances]
    # agents learn from all explanations of a method: another one among them makes other agents
    every = {
        label: hash_bytes(
            *(
                planned.prediction.encode() + keys_[label].encode()
                for planned, keys_ in zip(instances, found, strict=True)
            )
        )
        for label in labels
    }
    return tuple(
        dataclasses.replace(
            planned,
            explanations=tuple(
                dataclasses.replace(
                    one,
                    scores=(
                        *keys.scores(one, here, spans, every),
                        *keys.scores_of_translation(one, planned.instance.id, pairs),
                    ),
                )
                for one in planned.explanations
            ),
        )
        for planned, here in zip(instances, found, strict=True)
    )


def check_fit(named: Configured[Any], model: Classifier) -> None:
    """Refuse a method or metric that asks for what the model can't do."""
    what = named.component
    for problem in check_capabilities(what, model, named.name):
        raise UserError(problem)
    for inner in (getattr(what, field.name) for field in dataclasses.fields(what)):
        if isinstance(inner, Method):
            check_fit(Configured(named.name, inner), model)
    if hasattr(what, "extra") and find_spec(what.extra[0]) is None:
        raise UserError(f"{named.name} needs {what.extra[0]}: pip install 'verax[{what.extra[1]}]'")
    if hasattr(what, "removal"):
        check_removal(what.removal, model.removals, model.name)
    if hasattr(what, "target"):
        check_target(what.target, model.labels)
    if hasattr(what, "baseline"):
        baselines: frozenset[str] = getattr(model, "baselines", frozenset())
        if what.baseline not in baselines:
            can = ", ".join(sorted(baselines)) or "none, it has no gradients"
            raise UserError(f"{named.name}: baseline: got {what.baseline!r}; those of {model.name!r}: {can}")


def input_key(instance: Instance) -> str:
    """The key of an input: everything that it holds, its annotations too."""
    return key_of(row="instance", **dataclasses.asdict(instance))


class _Keys:
    """Keys of the rows of one run: what a row depends on, hashed; what many rows share is hashed once."""

    def __init__(
        self,
        model: Classifier,
        methods: Sequence[Configured[Method]],
        metrics: Sequence[Configured[Metric]],
        references: Mapping[str, str],
    ) -> None:
        self._model = key_of(row="prediction", model=model.fingerprint)
        self._methods = {method.label: _identity(model, method) for method in methods}
        self._metrics = []
        for metric in metrics:
            identity, learned = _identity(model, metric), references.get(metric.label)
            self._metrics.append((metric, identity if learned is None else _joined(identity, learned)))

    def prediction(self, content: str) -> str:
        return _joined(self._model, content)

    def by_method(self, content: str, method: Configured[Method]) -> PlannedExplanation:
        key = _joined(self._methods[method.label], content)
        return PlannedExplanation(method.label, key, method, None, ())

    def from_outside(self, content: str, label: str, given: Highlight | None) -> PlannedExplanation:
        said: JSON = None if given is None else {"scores": given.scores, "target": given.target.of}
        if given is not None and given.kind != "token":  # words are those of the input, pairs anybody's
            said = {**said, "kind": given.kind, "units": given.units}  # type: ignore[dict-item]
        key = _joined(key_of(row="explanation", outside=label, said=said), content)
        return PlannedExplanation(label, key, None, given, ())

    def scores(
        self,
        explanation: PlannedExplanation,
        here: Mapping[str, str],
        spans: Mapping[tuple[str, str], tuple[str, ...]],
        every: Mapping[str, str],
    ) -> tuple[PlannedScore, ...]:
        """The scores of one explanation.

        Args:
            here: the keys of all explanations of the same instance, by label.
            spans: by label and way of matching, the span explanations that set the budget.
            every: by label, the key of all explanations of the run.
        """
        planned = []
        for metric, identity in self._metrics:
            needed = needs(metric.component)
            if "translation" in needed:
                continue
            by = spans[explanation.label, metric.component.budget] if "budget" in needed else ()  # type: ignore[attr-defined]
            keys = [identity, explanation.key, *(here[label] for label in by)]
            if "agents" in needed:
                keys += [every[label] for label in (explanation.label, *by)]
            planned.append(PlannedScore(metric, _joined(*keys), by))
        return tuple(planned)

    def scores_of_translation(
        self, explanation: PlannedExplanation, instance_id: str, pairs: Mapping[str, Mapping[str, Pair | None]]
    ) -> Iterator[PlannedScore]:
        """The scores of one explanation by metrics that compare it with that of the reference language."""
        for metric, identity in self._metrics:
            measured = pairs.get(metric.label, {})
            if instance_id not in measured:
                continue
            pair = measured[instance_id]
            if pair is None:
                yield PlannedScore(metric, _joined(identity, explanation.key))
                continue
            reference = pair.explanations[explanation.label]
            key = _joined(identity, explanation.key, reference, pair.alignment.key)
            yield PlannedScore(metric, key, alignment=pair.alignment.key, reference=reference)


def _identity(model: Classifier, named: Configured[Method] | Configured[Metric]) -> str:
    """Everything but the input that decides what a method or metric gives."""
    kind = "explanation" if isinstance(named.component, Method) else "score"
    inner = [getattr(named.component, field.name) for field in dataclasses.fields(named.component)]  # type: ignore[arg-type]
    versions = [named.component.version, *(what.version for what in inner if isinstance(what, (Method, Aligner)))]
    version = versions if len(versions) > 1 else versions[0]
    return key_of(row=kind, model=model.fingerprint, name=named.name, parameters=named.parameters, version=version)


def _joined(*keys: str) -> str:
    """One key of several: they are all of one length, so nothing can be shifted from one into the next."""
    return hash_bytes(*(key.encode() for key in keys))
