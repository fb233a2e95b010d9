"""The number of words that an explanation may point at, taken from the span pairs of the same input."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from verax.engine.protocols import Metric
from verax.metrics.ranking import Budget, budget_of
from verax.models.subject import Subject
from verax.run.context import BASELINE, ExplanationSource, RunContext
from verax.run.parameters import Configured
from verax.run.plan import Outline
from verax.run.providers import Part, Provider, Request
from verax.store.tables import Row
from verax.types import Highlight, Undefined, UserError


class BudgetProvider(Provider):
    """Budgets, each set by span explanations of the same instance, as the metric's parameter `budget` says."""

    def __init__(self, run: RunContext, metrics: Sequence[Configured[Any]], others: Mapping[str, Provider]) -> None:
        super().__init__(run, metrics, others)
        if not any(explainer.kind == "span_interaction" for explainer in run.explainers):
            raise UserError(
                f"{metrics[0].name} takes its budget of words from span pairs, and no method gives any: add louvain, "
                "or use metrics without a budget (comprehensiveness_flips: {words: [1, 3, 5]}, agreement, complexity)"
            )
        self._labels = cache(lambda label, matched: span_labels(run.explainers, label, matched))

    def labels(self, metric: Configured[Any], label: str) -> tuple[str, ...]:
        """Labels of the span explanations that set the budget of an explainer's explanations."""
        return self._labels(label, metric.component.budget)

    def part(self, metric: Configured[Metric], outline: Outline, label: str) -> Part:
        """The span explanations are part of the key and must be there."""
        keys = tuple(outline.explanations[span] for span in self.labels(metric, label))
        return Part(keys, keys)

    def provide(self, request: Request) -> Budget:
        """The budget, counting the words that are explained; raises Undefined if no span explanation sets it."""
        labels = self.labels(request.metric, request.explanation.label)
        return budget_of(spans_in(labels, request.score.rows, request.rows), set(request.x.words))

    @classmethod
    def example(cls, metric: Any, subjects: Sequence[Subject]) -> Callable[[Subject, Highlight], Budget]:
        """Up to three words."""
        return lambda x, highlight: Budget((1, 2, 3), 2)


def span_labels(explainers: Sequence[ExplanationSource], label: str, matched: str) -> tuple[str, ...]:
    """Labels of the span explanations that set the budget of an explainer.

    Args:
        explainers: all explainers of the run.
        label: of the explainer whose explanations are measured.
        matched: `base` for those of the same base, the explainer itself if it gives span pairs, those that a random
            explanation is matched to, or all that are not random if there are none; `shared` for all that are not
            random.
    """
    spans = [one for one in explainers if one.kind == "span_interaction"]
    chosen = [one for one in spans if one.base != BASELINE] or spans
    if matched == "base":
        own = next((one for one in explainers if one.label == label), None)
        if own in chosen:
            return (label,)
        like = getattr(own.method.component, "like", None) if own is not None and own.method is not None else None
        if like is not None:
            same = [span for span in chosen if span.method is not None and span.method.component == like]
        else:
            same = [span for span in chosen if own is not None and own.base is not None and span.base == own.base]
        chosen = same or chosen
    return tuple(one.label for one in chosen)


def spans_in(labels: Sequence[str], keys: Sequence[str], rows: Mapping[str, Row]) -> list[Highlight]:
    """The span explanations among rows; raises Undefined if there are none.

    Args:
        labels: of those that set the budget.
        keys: of rows, theirs among them.
    """
    spans = [row for key in keys if isinstance(row := rows.get(key), Highlight) and row.method in labels]
    if not spans:
        raise Undefined("no_budget", f"no span explanation sets its budget ({', '.join(labels)})")
    return spans
