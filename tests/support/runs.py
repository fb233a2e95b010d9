"""Runs written by hand into real folders, and the builders of their rows and cards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from verax.results.run import Run
from verax.store.store import Store
from verax.store.tables import Row
from verax.types import Alignment, Highlight, Human, Instance, Nle, Prediction, Score, Skip, Target, Text


def make_run(
    folder: Path,
    *,
    card: Mapping[str, Any] | None = None,
    instances: Sequence[Instance] = (),
    predictions: Sequence[Prediction] = (),
    highlights: Sequence[Highlight] = (),
    skips: Sequence[Skip] = (),
    scores: Sequence[Score] = (),
    texts: Sequence[Nle] = (),
    alignments: Sequence[Alignment] = (),
    plan: Sequence[str] | None = None,
) -> Run:
    """Write a run through the store and open it; the key of a row is its number."""
    rows: list[Row] = [*instances, *predictions, *highlights, *skips, *texts, *alignments, *scores]
    with Store.open(folder) as store:
        for number, row in enumerate(rows):
            store.append(str(number), row)
        if card is not None:
            store.write_card(card)
        if plan is not None:
            store.write_plan(plan)
    return Run(folder)


def method_entry(label: str, name: str | None = None, **more: Any) -> dict[str, Any]:
    """A method of a run card."""
    return {"label": label, "name": name or label, **more}


def metric_entry(label: str, name: str | None = None, *, higher: bool = True, **more: Any) -> dict[str, Any]:
    """A metric of a run card."""
    return {"label": label, "name": name or label, "higher_is_better": higher, **more}


def run_card(methods: Sequence[Mapping[str, Any]], metrics: Sequence[Mapping[str, Any]], **more: Any) -> dict[str, Any]:
    """The card of a run of the model `tiny` on the data `pairs`."""
    return {
        "methods": list(methods),
        "metrics": list(metrics),
        "model": {"name": "tiny"},
        "data": {"name": "pairs"},
        **more,
    }


def scores_of(metric: str, table: Mapping[str, Sequence[float | None]], **series: Sequence[float]) -> list[Score]:
    """Scores by method and instance (`i0`, `i1`, ...), None for a missing one.

    `series` has a number for each instance, which is the last of two in the series of each score.
    """
    return [
        Score(
            f"i{i}",
            method,
            metric,
            value,
            None if value is not None else "empty",
            series={key: (0.0, numbers[i]) for key, numbers in series.items()} if value is not None else {},
        )
        for method, column in table.items()
        for i, value in enumerate(column)
    ]


def score_run(
    folder: Path,
    tables: Mapping[str, Mapping[str, Sequence[float | None]]],
    *,
    metrics: Sequence[Mapping[str, Any]] = (),
    methods: Sequence[Mapping[str, Any]] = (),
    **card: Any,
) -> Run:
    """A run of scores by metric, method and instance; higher is better unless an entry says otherwise."""
    named = {entry["label"]: entry for entry in metrics}
    scores = [score for metric, table in tables.items() for score in scores_of(metric, table)]
    known = [named.get(metric, metric_entry(metric)) for metric in tables]
    met = dict.fromkeys(method for table in tables.values() for method in table)
    entries = methods or [method_entry(method) for method in met]
    return make_run(folder, card=run_card(entries, known, **card), instances=plain_instances(scores), scores=scores)


def plain_instances(scores: Sequence[Score]) -> list[Instance]:
    """An instance for each that has a score."""
    return [Instance(name, (text_of(f"input {name}"),)) for name in dict.fromkeys(row.instance_id for row in scores)]


def text_of(raw: str, lang: str = "en") -> Text:
    """A text split at spaces."""
    offsets, end = [], 0
    for word in raw.split(" "):
        start = raw.index(word, end)
        end = start + len(word)
        if word:
            offsets.append((start, end))
    return Text(raw, tuple(raw[a:b] for a, b in offsets), tuple(offsets), lang)


WORD_SCORES = (0.0, 0.25, 1.0, -0.5, 0.0, 0.5, -1.0)


def word_rows(n: int = 3, methods: Sequence[str] = ("random", "loo"), **changes: Any) -> dict[str, Any]:
    """The rows of a run of premise and hypothesis in which `loo` finds the gold word; every third is predicted wrong.

    The score of method k on instance i is 0.1 (k + 1) + 0.01 i. `changes` replace whole parts.
    """
    instances = [
        Instance(
            f"id-{i}",
            (text_of("a small dog runs"), text_of("an animal moves")),
            "yes",
            human=Human(words=((2,), (1,)), explanations=("a dog is an animal",)),
        )
        for i in range(n)
    ]
    return {
        "card": run_card([method_entry(method) for method in methods], [metric_entry("comp")]),
        "instances": instances,
        "predictions": [
            Prediction(one.id, "yes" if i % 3 else "no", ("no", "yes"), (0.3, 0.7)) for i, one in enumerate(instances)
        ],
        "highlights": [
            Highlight(one.id, method, "token", Target(), one.units, WORD_SCORES)
            for one in instances
            for method in methods
        ],
        "scores": [
            Score(one.id, method, "comp", 0.1 * (k + 1) + 0.01 * i)
            for i, one in enumerate(instances)
            for k, method in enumerate(methods)
        ],
    } | changes


def word_run(folder: Path, n: int = 3, methods: Sequence[str] = ("random", "loo"), **changes: Any) -> Run:
    """The run of `word_rows`."""
    return make_run(folder, **word_rows(n, methods, **changes))
