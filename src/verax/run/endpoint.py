"""Runs whose model is at an HTTP endpoint: answers are stored, failures are asked again, requests are counted."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from verax.engine.protocols import kinds_of
from verax.models.endpoint import REASONS, Endpoint
from verax.models.endpoint.cached import CachedEndpoint
from verax.models.self_explainer import SelfExplainer
from verax.run.context import TEXT, RunContext
from verax.store.tables import Row
from verax.types import Score, Skip


def with_cache(model: Any) -> Any:
    """The model with its endpoint's answers stored, in one place for classes and explanations."""
    if not isinstance(model, SelfExplainer) or not isinstance(model.explainer, Endpoint):
        return model
    if model.predictor is not model.explainer:
        return model
    cached = CachedEndpoint(model.explainer)
    return dataclasses.replace(model, explainer=cached, predictor=cached)


def endpoint_of(model: Any) -> CachedEndpoint | None:
    """The endpoint that answers for a model, if there is one."""
    explainer = getattr(model, "explainer", None)
    return explainer if isinstance(explainer, CachedEndpoint) else None


def most_requests(run: RunContext) -> int:
    """Number of requests at most: one for the class and one for the explanation of every input, new ones too."""
    parts, labels = len(run.data.instances[0].parts), len(run.model.labels)
    methods = sum(method.component.kind == TEXT for method in run.methods)
    metrics: list[Any] = [metric.component for metric in run.metrics if TEXT in kinds_of(metric.component)]
    inputs: int = 1 + sum(metric.max_inputs(parts, labels) for metric in metrics)
    return 2 * inputs * methods * len(run.data)


def unanswered(model: Any, rows: Iterable[tuple[str, Row]]) -> frozenset[str]:
    """Keys of rows that have no result because an endpoint did not answer."""
    if endpoint_of(model) is None:
        return frozenset()
    return frozenset(key for key, row in rows if _is_unanswered(row))


def _is_unanswered(row: Row) -> bool:
    if isinstance(row, Score) and row.trial_log is not None and row.trial_log.unanswered:
        return True
    return isinstance(row, (Skip, Score)) and row.reason in REASONS


def hosts(card: Mapping[str, Any]) -> list[str]:
    """Addresses that answered in a folder, by its card; a card of an older version has the last one alone."""
    model = card.get("model", {})
    return list(model.get("hosts", [model["host"]] if "host" in model else []))


def moved(model: Mapping[str, Any]) -> list[str]:
    """A warning if stored answers came from another address: the same name may be another model there."""
    others = [host for host in model.get("hosts", ()) if host != model["host"]]
    if not others:
        return []
    return [
        f"answers of {', '.join(others)} are kept as those of {model['host']}: if that is another model, use another "
        "folder"
    ]


def with_requests(card: Mapping[str, Any], sent: int, earlier: Mapping[str, Any]) -> dict[str, Any]:
    """The card with the requests that were sent; an address that was sent nothing has answered nothing."""
    answered = card["model"]["hosts"] if sent else hosts(earlier)
    return {**card, "model": {**card["model"], "hosts": answered}, "requests": card["requests"] + sent}
