"""Runs under recursive masking, written by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from support.runs import make_run, method_entry, metric_entry, plain_instances, run_card, word_rows
from verax.results.run import Run
from verax.types import Score

NAMES = ("recursive_masking", "in_distribution")


def masking_scores(
    method: str,
    predicted: Mapping[str, Sequence[int]],
    metric: str = "recursive_masking",
    gold: Mapping[str, int] | None = None,
) -> list[Score]:
    """What was predicted at each step, by instance; gold is 0 unless given."""
    return [
        Score(
            name,
            method,
            metric,
            0.0,
            series={"predicted": tuple(map(float, row)), "gold": (float((gold or {}).get(name, 0)),)},
        )
        for name, row in predicted.items()
    ]


def p_value_scores(
    method: str, p_values: Mapping[str, Sequence[float]], metric: str = "in_distribution"
) -> list[Score]:
    """The p-values of each instance at each step."""
    return [Score(name, method, metric, 0.5, curve=tuple(map(float, row))) for name, row in p_values.items()]


def masking_metrics(*steps: int, tested: int | None = None) -> list[dict[str, Any]]:
    """Recursive masking with so many steps, once for each, and the in-distribution test at so many."""
    labels = ["recursive_masking" if len(steps) == 1 else f"recursive_masking(steps={step})" for step in steps]
    found = [
        metric_entry(label, "recursive_masking", parameters={"steps": step})
        for label, step in zip(labels, steps, strict=True)
    ]
    if tested is not None:
        found.append(metric_entry("in_distribution", ranked=False, parameters={"steps": tested}))
    return found


def seed_run(folder: Path, scores: Sequence[Score], **card: Any) -> Run:
    """A run of scores under recursive masking; two steps, and a model of its own, unless the card says otherwise."""
    methods = [method_entry(name) for name in dict.fromkeys(score.method for score in scores)]
    facts = {
        "model": {"name": "tiny", "hash": folder.name, "architecture": "Bert"},
        "data": {"name": "pairs", "hash": "inputs", "n": len({score.instance_id for score in scores})},
    }
    given = {"methods": methods, "metrics": masking_metrics(2), **facts, **card}
    return make_run(folder, card=given, instances=plain_instances(scores), scores=scores)


def masked_word_run(
    folder: Path,
    methods: Sequence[str] = ("random", "loo"),
    steps: tuple[int, int] = (4, 4),
    metrics: Sequence[str] = ("masking", "within"),
    n: int = 6,
    **changes: Any,
) -> Run:
    """A run in which random masking loses the gold class late and the others at once; with p-values of 0.9."""
    scores = []
    for i in range(n):
        for method in methods:
            fall = 1 + i % 3 if method == methods[0] else 1
            predicted = tuple(float(place < fall) for place in range(steps[0] + 1))
            probabilities = tuple(0.9 if right else 0.2 for right in predicted)
            series = {"gold": (1.0,), "predicted": predicted}
            scores.append(Score(f"id-{i}", method, metrics[0], 0.5, curve=probabilities, series=series))
            if len(metrics) > 1:
                scores.append(Score(f"id-{i}", method, metrics[1], 0.9, curve=(0.9,) * (steps[1] + 1)))
    entries = [method_entry(m, "random" if m == methods[0] else m, signed=False) for m in methods]
    measured = [
        metric_entry(label, name, ranked=name != "in_distribution", parameters={"steps": step})
        for label, name, step in zip(metrics, NAMES, steps, strict=False)
    ]
    rows = word_rows(n, methods, scores=scores, card=run_card(entries, measured))
    return make_run(folder, **(rows | changes))
