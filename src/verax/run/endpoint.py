"""Runs whose model is at an HTTP endpoint: answers are stored, failures are asked again, requests are counted."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from verax.engine.protocols import kinds_of
from verax.models.endpoint import REASONS, CachedEndpoint, Endpoint
from verax.models.self_explainer import SelfExplainer
from verax.results.manifest import Manifest, ModelEntry
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
    """The endpoint of a model, if it has one."""
    explainer = getattr(model, "explainer", None)
    return explainer if isinstance(explainer, CachedEndpoint) else None


def most_requests(run: RunContext) -> int:
    """Upper bound on requests: one for the class and one for the explanation of every input, new ones included."""
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
    log = row.trial_log if isinstance(row, Score) else None
    if log is not None and (log.unanswered or any(trial.untested in REASONS for trial in log.trials)):
        return True
    return isinstance(row, (Skip, Score)) and row.reason in REASONS


def hosts(model: ModelEntry) -> tuple[str, ...]:
    """Addresses that answered in a folder; a manifest of an older version has the last one only."""
    if "hosts" in model.model_fields_set or model.host is None:
        return model.hosts
    return (model.host,)


def moved(model: ModelEntry) -> list[str]:
    """A warning if stored answers came from another address: the same name may be another model there."""
    others = [host for host in model.hosts if host != model.host]
    if not others:
        return []
    return [
        f"answers of {', '.join(others)} are kept as those of {model.host}: if that is another model, use another "
        "folder"
    ]


def with_requests(manifest: Manifest, sent: int, earlier: Manifest) -> Manifest:
    """The manifest with the requests that were sent; an address that was sent nothing has answered nothing."""
    answered = manifest.model.hosts if sent else hosts(earlier.model)
    model = manifest.model.model_copy(update={"hosts": answered})
    return manifest.model_copy(update={"model": model, "requests": (manifest.requests or 0) + sent})
