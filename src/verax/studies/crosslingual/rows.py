"""What runs in several languages hold: methods, measures, and values by input and language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from verax.registry import built_in
from verax.results.manifest import CONTENT_FREE, RANDOMISED, Manifest, MethodEntry, MetricEntry
from verax.results.matching import match_methods
from verax.results.run import Run
from verax.types import FloatArray, IntArray

METRIC = "crosslingual_faithfulness"
MeasureName = Literal["faithfulness", "comprehensiveness", "sufficiency", "plausibility"]
Role = Literal["method", "randomised", "content_free", "random"]
ROLES: tuple[Role, ...] = get_args(Role)
"""In the order of rows: methods, the same applied to randomised weights, scores by the form of words, random scores."""
_OUTPUTS = ("prediction", "loss")


class Explainer(NamedTuple):
    """A method and its place in the tables.

    Args:
        labels: its label in each run.
        row: name with aggregation; methods that differ only in their output share a row.
        output: what it explains, the column; None for a method that does not depend on it, which is in every column.
    """

    labels: tuple[str, ...]
    row: str
    output: str | None
    role: Role = "method"

    @property
    def label(self) -> str:
        """Its label in the first run."""
        return self.labels[0]

    @property
    def is_method(self) -> bool:
        """Whether it is neither a baseline nor a control."""
        return self.role == "method"


class Measure(NamedTuple):
    """A metric of the runs and what it measures here.

    Args:
        aligner: name of the aligner with the parameters that are not default; None for measures in one language.
        aligner_labels: labels that the alignments of this aligner may have in a run, the most specific first.
        controlling: features of the form of words that are held constant.
    """

    name: MeasureName
    metric: str
    higher_is_better: bool
    aligner: str | None = None
    aligner_labels: tuple[str, ...] = ()
    controlling: tuple[str, ...] = ()

    def find_aligner(self, known: Collection[str]) -> str | None:
        """The label that this aligner has in a run: one of its own, or else the only one of its name, or at all."""
        name = (self.aligner or "").partition("(")[0].partition(",")[0]
        alike = [label for label in known if label.partition("(")[0].partition(",")[0] == name]
        only = next((several[0] for several in (alike, list(known)) if len(several) == 1), None)
        return next((label for label in self.aligner_labels if label in known), only)


def explainers(runs: Sequence[Run]) -> tuple[tuple[Explainer, ...], tuple[str, ...]]:
    """The methods that score words and that all runs have, in the order of the first; names of the other methods."""
    matched = match_methods(runs, _word_methods)
    shared = [tuple(map(str, one.labels)) for one in matched if None not in one.labels]
    variants = [[run.manifest.method(label) for run, label in zip(runs, labels, strict=True)] for labels in shared]
    methods = [
        Explainer(labels, row, _output(first), _role(first))
        for labels, row, (first, *_) in zip(shared, _row_names(variants), variants, strict=True)
    ]
    return tuple(methods), tuple(one.name for one in matched if None in one.labels)


def _word_methods(run: Run) -> list[str]:
    return [entry.label for entry in run.manifest.methods if entry.kind == "token"]


def _role(entry: MethodEntry) -> Role:
    if entry.random:
        return "random"
    return "content_free" if entry.name == CONTENT_FREE else "randomised" if entry.name == RANDOMISED else "method"


def _output(entry: MethodEntry) -> str | None:
    return None if entry.random or entry.target in {None, "none"} else entry.target


def _row_names(variants: Sequence[Sequence[MethodEntry]]) -> list[str]:
    """Name and aggregation of each method, with the parameters in which it differs from others or between runs."""
    variants = [[_explained(entry) for entry in entries] for entries in variants]
    names = [(_with_aggregation(first), RANDOMISED in first.parameters) for first, *_ in variants]
    facts = [_facts(entries) for entries in variants]
    rows = []
    for name, own in zip(names, facts, strict=True):
        alike = [other for other, other_name in zip(facts, names, strict=True) if other_name == name]
        differing = [key for key in own if len(own[key]) > 1 or any(other.get(key) != own[key] for other in alike)]
        details = ", ".join(f"{key}={' / '.join(own[key])}" for key in differing)
        row = f"{name[0]}: {details}" if details else name[0]
        rows.append(randomised_row(row) if name[1] else row)
    return rows


def _explained(entry: MethodEntry) -> MethodEntry:
    """The entry of a method; of one applied to randomised weights, that method with its own parameters."""
    over = entry.parameters.get("over")
    if entry.name != RANDOMISED or not isinstance(over, Mapping) or len(over) != 1:
        return entry
    ((name, parameters),) = over.items()
    known = dict(parameters) if isinstance(parameters, Mapping) else {}
    return entry.model_copy(update={"name": str(name), "parameters": {**known, RANDOMISED: True}})


def _with_aggregation(entry: MethodEntry) -> str:
    detail = entry.parameters.get("aggregate") or (entry.name == CONTENT_FREE and entry.parameters.get("feature"))
    name = entry.name or entry.label
    return f"{name} ({detail})" if detail else name


def randomised_row(row: str) -> str:
    """The row of a method that is applied to randomised weights, from the row of the method."""
    return f"{row}, randomised weights"


def _facts(entries: Sequence[MethodEntry]) -> dict[str, tuple[str, ...]]:
    """The different values of each parameter over the runs; what is explained makes a column, not a row."""
    names = dict.fromkeys(name for entry in entries for name in entry.parameters if name != "target")
    return {name: tuple(dict.fromkeys(str(entry.parameters.get(name)) for entry in entries)) for name in names}


def outputs_of(methods: Sequence[Explainer]) -> tuple[str, ...]:
    """The columns of the tables: what is explained, the prediction first, then the loss, then others."""
    explained = dict.fromkeys(method.output for method in methods if method.output is not None)
    known = [output for output in _OUTPUTS if output in explained]
    return tuple(dict.fromkeys([*known, *explained])) or ("any",)


def measures(manifest: Manifest) -> tuple[Measure, ...]:
    """The metrics that the tables show: faithfulness by each aligner (random links last), then one of each other name.

    Plausibility is the metric of this name, or else agreement on words. The first reference language counts.
    """
    reference = reference_of(manifest)
    chosen = [
        entry
        for entry in manifest.metrics
        if entry.name == METRIC and _parameters(entry)["reference_lang"] == reference
    ]
    chosen.sort(key=lambda entry: (bool(_parameters(entry)["controlling"]), _aligner(entry)[0] == "random"))
    across = [_faithfulness(entry, manifest.seed) for entry in chosen]
    others = [
        _first(manifest, "comprehensiveness", "comprehensiveness"),
        _first(manifest, "sufficiency", "sufficiency"),
        _first(manifest, "plausibility", "plausibility") or _first(manifest, "plausibility", "agreement"),
    ]
    return (*across, *(measure for measure in others if measure is not None))


def reference_of(manifest: Manifest) -> str:
    """The language that the others are compared with."""
    languages = [_parameters(entry)["reference_lang"] for entry in manifest.metrics if entry.name == METRIC]
    return str(languages[0] if languages else built_in("metrics")[METRIC].defaults["reference_lang"])


def _parameters(entry: MetricEntry) -> dict[str, Any]:
    """All parameters of cross-lingual faithfulness; defaults for those that were not recorded."""
    recorded = {name: value for name, value in entry.parameters.items() if value}
    return {**built_in("metrics")[METRIC].defaults, **recorded}


def _faithfulness(entry: MetricEntry, seed: int | None) -> Measure:
    """Faithfulness by one aligner.

    Labels leave out a seed that is the run's own, but not the same seed if the spec names it. A manifest records the
    value only, so that the alignments of a run can have either label; that of a plug-in, whose defaults are not known,
    can be the bare name.
    """
    name, parameters = _aligner(entry)
    plain = {key: value for key, value in parameters.items() if key != "seed" or value != seed}
    labels = [_label(name, plain), _label(name, parameters), name]
    aligner = labels[0]
    if _parameters(entry)["align_parts"] == "joint":
        labels = [f"{label}, parts joint" for label in labels]
        aligner = f"{aligner}, align_parts=joint"
    controlling = tuple(map(str, _parameters(entry)["controlling"]))
    return Measure("faithfulness", entry.label, True, aligner, tuple(dict.fromkeys(labels)), controlling)


def _aligner(entry: MetricEntry) -> tuple[str, Mapping[str, Any]]:
    """Name and parameters of the aligner of a metric, which a manifest holds as a name or as `{name: parameters}`."""
    aligner = _parameters(entry)["aligner"]
    if isinstance(aligner, Mapping) and len(aligner) == 1:
        ((name, parameters),) = aligner.items()
        return str(name), parameters if isinstance(parameters, Mapping) else {}
    return str(aligner), {}


def _label(name: str, parameters: Mapping[str, Any]) -> str:
    """An aligner as runs label it: its name with the parameters that are not default."""
    entry = built_in("aligners").get(name)
    defaults = {} if entry is None else entry.defaults
    changed = [
        f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}"
        for key, value in parameters.items()
        if key not in defaults or value != defaults[key]
    ]
    return f"{name}({', '.join(changed)})" if changed else name


def _first(manifest: Manifest, name: MeasureName, metric: str) -> Measure | None:
    for entry in manifest.metrics:
        whole = entry.parameters.get("level") in {None, "token"} and entry.parameters.get("within") in {None, "all"}
        if entry.name == metric and whole:
            higher = name != "sufficiency" if entry.higher_is_better is None else entry.higher_is_better
            return Measure(name, entry.label, higher)
    return None


class MeasureValues(NamedTuple):
    """The values of a measure.

    Args:
        values: shape [groups, methods, languages], NaN where there is none; a group is one input with all its
            translations.
        skipped: number of instances with a reason in place of a value, shape [methods, languages].
    """

    values: FloatArray
    skipped: IntArray


@dataclass(frozen=True)
class LanguageRun:
    """A run whose instances are grouped by input and language."""

    run: Run

    @cached_property
    def languages(self) -> dict[str, str]:
        """The language of each instance."""
        return dict(zip(self.run.instances.ids, self.run.instances.langs, strict=True))

    @cached_property
    def groups(self) -> dict[str, int]:
        """The number of each instance's group: translations of one input are in one group."""
        shared = self.run.parallel
        seen: Counter[tuple[str, str]] = Counter()
        numbers: dict[tuple[str, int], int] = {}
        groups: dict[str, int] = {}
        for instance, lang in self.languages.items():
            key = shared.get(instance, instance)
            # a second input of the same language under the same id starts a group of its own
            again = seen[key, lang]
            seen[key, lang] += 1
            groups[instance] = numbers.setdefault((key, again), len(numbers))
        return groups

    @cached_property
    def size(self) -> int:
        """Number of groups."""
        return max(self.groups.values(), default=-1) + 1

    def others(self, reference: str) -> tuple[str, ...]:
        """The languages other than the reference, as first met."""
        return tuple(dict.fromkeys(lang for lang in self.languages.values() if lang != reference))

    def measured(self, measure: Measure) -> bool:
        """Whether there are scores of a measure."""
        return len(self.run.scores.where(metric=measure.metric)) > 0

    def values(self, metric: str, methods: Sequence[str], languages: Sequence[str]) -> MeasureValues:
        """The values of one metric by group, method and language; scores of others are left out."""
        scores = self.run.scores
        names, codes = scores.instance.names, scores.instance.codes
        column = {lang: place for place, lang in enumerate(languages)}
        group_of = _by_code([self.groups.get(one, -1) for one in names])
        language_of = _by_code([column.get(self.languages.get(one, ""), -1) for one in names])
        order = {label: place for place, label in enumerate(methods)}
        method_of = _by_code([order.get(label, -1) for label in scores.method.names])
        rows = scores.where(metric=metric)
        rows = rows[(method_of[scores.method.codes[rows]] >= 0) & (language_of[codes[rows]] >= 0)]
        group, language = group_of[codes[rows]], language_of[codes[rows]]
        method, value = method_of[scores.method.codes[rows]], scores.value[rows]
        values = np.full((self.size, len(methods), len(languages)), np.nan)
        values[group, method, language] = value
        skipped = np.zeros((len(methods), len(languages)), np.int64)
        np.add.at(skipped, (method, language), np.isnan(value))
        return MeasureValues(values, skipped)

    def by_group(self, known: Mapping[str, float], languages: Sequence[str]) -> FloatArray:
        """Numbers by instance as an array, shape [groups, languages], NaN where there is none."""
        array = np.full((self.size, len(languages)), np.nan)
        for instance, value in known.items():
            if self.languages.get(instance) in languages:
                array[self.groups[instance], languages.index(self.languages[instance])] = value
        return array

    def linked(self, metric: str) -> dict[str, float]:
        """The share of words of the reference that have a link, by the translation."""
        method = next(entry.label for entry in self.run.manifest.methods if entry.kind == "token")
        rows = self.run.scores.where(metric=metric, method=method)
        shares = zip(self.run.scores.ids(rows), self.run.scores.series(rows), strict=True)
        return {name: of["linked"][0] / of["linked"][1] for name, of in shares if "linked" in of}

    def same_prediction(self, reference: str, languages: Sequence[str]) -> FloatArray:
        """1 where a translation is predicted like its reference, 0 where it is not: shape [groups, languages]."""
        predicted = {row.instance_id: row.label for row in self.run.predictions()}
        first = {self.groups[name]: label for name, label in predicted.items() if self.languages.get(name) == reference}
        known = {
            name: float(label == first[self.groups[name]])
            for name, label in predicted.items()
            if self.groups.get(name) in first
        }
        return self.by_group(known, languages)

    def correct(self, languages: Sequence[str]) -> FloatArray:
        """1 where the prediction is the gold class, 0 where it is not: shape [groups, 1, languages].

        NaN without a prediction, without a label, and where the model does not have the class of the label.
        """
        predicted = {row.instance_id: row for row in self.run.predictions()}
        inputs = self.run.instances
        right = np.full((self.size, 1, len(languages)), np.nan)
        for instance, label, lang in zip(inputs.ids, inputs.labels, inputs.langs, strict=True):
            row = predicted.get(instance)
            if row is None or label is None or lang not in languages:
                continue
            gold = label.casefold()
            if gold in {known.casefold() for known in row.labels}:
                right[self.groups[instance], 0, languages.index(lang)] = row.label.casefold() == gold
        return right


def _by_code(numbers: Sequence[int]) -> IntArray:
    """A lookup table for the codes of a column; -1, the code of no name, gives -1."""
    return np.array([*numbers, -1], np.int64)
