"""What a run of several languages holds: methods as rows and columns of tables, measures, values by language."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from verax.stats.recorded import RANDOM, parameter, recorded
from verax.types import FloatArray, Instance, IntArray, Prediction, Score

METRIC = "crosslingual_faithfulness"
REFERENCE = "en"
"""The reference language where a run card does not tell it."""
_DEFAULT = "embedding"
MeasureName = Literal["faithfulness", "comprehensiveness", "sufficiency", "plausibility"]
_OUTPUTS = ("prediction", "loss")


@dataclass(frozen=True)
class LanguageRun:
    """The rows of one run that tables of languages are made from."""

    card: Mapping[str, Any]
    instances: Sequence[Instance]
    predictions: Sequence[Prediction]
    scores: Sequence[Score]


class Explainer(NamedTuple):
    """A method and its place in the tables.

    Args:
        label: in the run.
        row: the method with its aggregation; methods that differ in their output alone share it.
        output: what it explains; None if that makes no difference to it, and it stands in every column.
        random: whether it is the baseline.
    """

    label: str
    row: str
    output: str | None
    random: bool


class Measure(NamedTuple):
    """A metric of the run and what it stands for here; `aligner` is the aligner that it used."""

    name: MeasureName
    metric: str
    higher_is_better: bool
    aligner: str | None = None


class Values(NamedTuple):
    """The values of a measure.

    Args:
        values: shape [groups, methods, languages], NaN where there is none; a group is one input in all its
            translations.
        skipped: how many have a reason in place of a value, shape [methods, languages].
    """

    values: FloatArray
    skipped: IntArray


def explainers(card: Mapping[str, Any]) -> tuple[Explainer, ...]:
    """The methods of a run that score words, as the run card lists them."""
    entries = [entry for entry in recorded(card, "methods") if entry.get("kind", "token") == "token"]
    alike: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for entry in entries:
        if (facts := _facts(entry)) not in alike[_row(entry)]:
            alike[_row(entry)].append(facts)
    return tuple(
        Explainer(entry["label"], _told_apart(entry, alike[_row(entry)]), _output(entry), _is_random(entry))
        for entry in entries
    )


def _facts(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that make a row of its own: all but what is explained."""
    parameters = entry.get("parameters")
    given = parameters if isinstance(parameters, Mapping) else {}
    return {str(name): value for name, value in given.items() if name != "target"}


def _row(entry: Mapping[str, Any]) -> str:
    aggregate = parameter(entry, "aggregate")
    name = str(entry.get("name", entry["label"]))
    return f"{name} ({aggregate})" if aggregate else name


def _told_apart(entry: Mapping[str, Any], alike: Sequence[Mapping[str, Any]]) -> str:
    """The name of a row, with the parameters in which it differs from others of the same name."""
    facts = _facts(entry)
    differing = [name for name in facts if any(other.get(name) != facts[name] for other in alike)]
    said = ", ".join(f"{name}={facts[name]}" for name in differing)
    return f"{_row(entry)}: {said}" if said else _row(entry)


def _output(entry: Mapping[str, Any]) -> str | None:
    target = entry.get("target")
    return None if _is_random(entry) or target in {None, "none"} else str(target)


def _is_random(entry: Mapping[str, Any]) -> bool:
    return entry.get("name") == RANDOM["token"]


def outputs_of(methods: Sequence[Explainer]) -> tuple[str, ...]:
    """The columns of the tables: what is explained, the prediction first, then the loss, then others."""
    met = dict.fromkeys(method.output for method in methods if method.output is not None)
    known = [output for output in _OUTPUTS if output in met]
    return tuple(dict.fromkeys([*known, *met])) or ("any",)


def measures(card: Mapping[str, Any]) -> tuple[Measure, ...]:
    """The metrics that the tables show: faithfulness by each aligner (random alignments last), then one of each other.

    Plausibility is that of the metric of this name, or else agreement with people on words. Of several reference
    languages the first counts.
    """
    entries = recorded(card, "metrics")
    language = reference_of(card)
    across = [
        Measure("faithfulness", entry["label"], True, _aligner(entry))
        for entry in entries
        if entry.get("name") == METRIC and (parameter(entry, "reference_lang") or REFERENCE) == language
    ]
    across.sort(key=lambda measure: str(measure.aligner).startswith("random"))
    others = [
        _first(entries, "comprehensiveness", "comprehensiveness"),
        _first(entries, "sufficiency", "sufficiency"),
        _first(entries, "plausibility", "plausibility") or _first(entries, "plausibility", "agreement"),
    ]
    return (*across, *(measure for measure in others if measure is not None))


def reference_of(card: Mapping[str, Any]) -> str:
    """The language that the others are compared with."""
    said = (parameter(entry, "reference_lang") for entry in recorded(card, "metrics") if entry.get("name") == METRIC)
    return next((str(language) for language in said if language), REFERENCE)


def _aligner(entry: Mapping[str, Any]) -> str:
    """An aligner by its name, with what tells it from others of the run: whatever is not as it is by default."""
    label = str(entry["label"])
    told = label[len(METRIC) + 1 : -1] if label.startswith(f"{METRIC}(") else ""
    told = re.sub(r"reference_lang=[^,]*(, )?", "", told).replace("aligner=", "", 1)
    return f"{_DEFAULT}, {told}" if told.startswith("align_parts=") else told or _name(parameter(entry, "aligner"))


def _name(given: Any) -> str:
    """Of an aligner, which the card has as a name or as {name: parameters}."""
    if isinstance(given, Mapping) and len(given) == 1:
        return str(next(iter(given)))
    return given if isinstance(given, str) else _DEFAULT


def _first(entries: Sequence[Mapping[str, Any]], name: MeasureName, metric: str) -> Measure | None:
    for entry in entries:
        plain = parameter(entry, "level") in {None, "token"} and parameter(entry, "within") in {None, "all"}
        if entry.get("name") == metric and plain:
            return Measure(name, entry["label"], bool(entry.get("higher_is_better", name != "sufficiency")))
    return None


def languages_of(instances: Sequence[Instance], reference: str) -> tuple[str, ...]:
    """The languages other than the reference, as first met."""
    return tuple(dict.fromkeys(instance.lang for instance in instances if instance.lang != reference))


def groups_of(instances: Sequence[Instance]) -> dict[str, int]:
    """The number of each instance's group: translations of one input are in one."""
    met: Counter[tuple[str, str]] = Counter()
    numbers: dict[tuple[str, int], int] = {}
    found: dict[str, int] = {}
    for instance in instances:
        shared = instance.id if instance.parallel_id is None else instance.parallel_id
        # a second input of the same language under the same id starts a group of its own: nothing is lost
        again = met[shared, instance.lang]
        met[shared, instance.lang] += 1
        found[instance.id] = numbers.setdefault((shared, again), len(numbers))
    return found


def values_of(run: LanguageRun, metric: str, methods: Sequence[str], languages: Sequence[str]) -> Values:
    """The values of one metric by group, method and language."""
    groups = groups_of(run.instances)
    lang = {instance.id: instance.lang for instance in run.instances}
    row = {label: place for place, label in enumerate(methods)}
    column = {name: place for place, name in enumerate(languages)}
    values = np.full((max(groups.values(), default=-1) + 1, len(row), len(column)), np.nan)
    skipped = np.zeros((len(row), len(column)), np.int64)
    for score in run.scores:
        spoken = lang.get(score.instance_id)
        if score.metric != metric or score.method not in row or spoken not in column:
            continue
        method, language = row[score.method], column[spoken]
        if score.value is None:
            skipped[method, language] += 1
        else:
            values[groups[score.instance_id], method, language] = score.value
    return Values(values, skipped)


def correct(run: LanguageRun, languages: Sequence[str]) -> FloatArray:
    """1 where the prediction is the gold class, 0 where it is another: shape [groups, 1, languages], NaN without one.

    An instance without a label, or with one that the model has no class for, can't be judged.
    """
    groups = groups_of(run.instances)
    predicted = {prediction.instance_id: prediction for prediction in run.predictions}
    right = np.full((max(groups.values(), default=-1) + 1, 1, len(languages)), np.nan)
    for instance in run.instances:
        made = predicted.get(instance.id)
        if made is None or instance.label is None or instance.lang not in languages:
            continue
        gold = instance.label.casefold()
        if gold in {label.casefold() for label in made.labels}:
            right[groups[instance.id], 0, languages.index(instance.lang)] = made.label.casefold() == gold
    return right
