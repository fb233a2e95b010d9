"""Runs of words, word pairs and span pairs, written by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from support.runs import make_run, method_entry, metric_entry, plain_instances, run_card, word_rows
from verax.results.run import Run
from verax.types import Highlight, Score, Span, Target

KINDS = ("span_interaction", "token_interaction", "token")
RANDOM = {"token": "random", "token_interaction": "random_interaction", "span_interaction": "random_span"}
FLIPS = metric_entry("comprehensiveness_flips", parameters={"k": 3})
METHODS = (
    *(method_entry(RANDOM[kind], kind=kind, base="random") for kind in KINDS),
    method_entry("louvain", kind="span_interaction", base="shapley"),
    method_entry("bivariate", kind="token_interaction", base="shapley"),
    method_entry("shap", kind="token", base="shapley"),
)


def kinds_run(
    folder: Path,
    scores: Sequence[Score],
    metrics: Sequence[Mapping[str, Any]] = (FLIPS,),
    methods: Sequence[Mapping[str, Any]] = METHODS,
    **parts: Any,
) -> Run:
    """A run of scores, with methods of three kinds."""
    given = {"card": run_card(methods, metrics), "instances": plain_instances(scores), "scores": scores}
    return make_run(folder, **(given | parts))


def agent_scores(
    label: str, answers: Mapping[str, Sequence[Sequence[int]]], without: Sequence[Sequence[int]]
) -> list[Score]:
    """Held-out instances of the classes 0, 1, 0, 1, ...; each with what the agents of every seed predict."""
    return [
        Score(
            f"i{i}",
            name,
            label,
            0.0,
            series={
                "model": (float(i % 2),),
                "with": tuple(map(float, predicted)),
                "without": tuple(map(float, without[i])),
            },
        )
        for name, column in answers.items()
        for i, predicted in enumerate(column)
    ]


PAGE_METRICS = (
    ("comp", "comprehensiveness_flips", {"k": 3, "grid": "matched", "budget": "base"}),
    ("suff", "sufficiency_flips", {"k": 3, "grid": "matched", "budget": "base"}),
    ("pairs", "agreement", {"level": "interaction"}),
)
PAGE_METHODS = {
    "random": ("random", "token", "random"),
    "shap": ("kernel_shap", "token", "shapley"),
    "random_span": ("random_span", "span_interaction", "random"),
    "spans": ("louvain", "span_interaction", "shapley"),
}


def unified_word_run(
    folder: Path,
    methods: Mapping[str, tuple[str, str, str]] = PAGE_METHODS,
    metrics: Sequence[tuple[str, str, Mapping[str, Any]]] = PAGE_METRICS,
    n: int = 8,
    **changes: Any,
) -> Run:
    """A run of words and span pairs in which both are better than random by 0.5 on every other instance."""
    scores, highlights = [], []
    for i in range(n):
        for label, (_, kind, base) in methods.items():
            for metric, name, _ in metrics:
                if name == "agreement" and kind == "token":
                    scores.append(Score(f"id-{i}", label, metric, None, "needs_interactions"))
                    continue
                value = 0.25 + 0.5 * (base != "random" and i % 2)
                scores.append(Score(f"id-{i}", label, metric, value, series={"words": (2.0, 4.0)}))
            if kind == "span_interaction":
                units = ((Span(0, 0, 2), Span(1, 0, 1)), (Span(0, 3, 4), Span(1, 1, 3)))
                notes = {"stability": 0.5} if base != "random" else {}
                highlights.append(Highlight(f"id-{i}", label, kind, Target(), units, (1.0, 0.5), notes=notes))  # type: ignore[arg-type]
    rows = word_rows(n, tuple(methods))
    tokens = [row for row in rows["highlights"] if methods[row.method][1] == "token"]
    card = run_card(
        [method_entry(m, name, kind=kind, base=base) for m, (name, kind, base) in methods.items()],
        [metric_entry(label, name, parameters=dict(parameters)) for label, name, parameters in metrics],
    )
    return make_run(folder, **(rows | {"card": card, "scores": scores, "highlights": [*tokens, *highlights]} | changes))
