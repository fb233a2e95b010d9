"""What a run card says of its methods and metrics; whatever else somebody wrote there is passed over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from verax.types import Instance

RANDOM = {"token": "random", "token_interaction": "random_interaction", "span_interaction": "random_span"}
"""The method that gives random explanations of each kind."""


def recorded(card: Any, key: str) -> list[Mapping[str, Any]]:
    """The entries under a key that have a label."""
    rows = card.get(key) if isinstance(card, Mapping) else None
    if not isinstance(rows, list):
        return []
    return [row for row in rows if isinstance(row, Mapping) and isinstance(row.get("label"), str)]


def parameter(entry: Mapping[str, Any], name: str) -> Any:
    """A parameter of a method or a metric; None where it is not recorded."""
    parameters = entry.get("parameters")
    return parameters.get(name) if isinstance(parameters, Mapping) else None


def parallel(instances: Iterable[Instance]) -> dict[str, str]:
    """What translations of one input share, by the id of the instance."""
    return {instance.id: instance.parallel_id for instance in instances if instance.parallel_id is not None}


def baselines(card: Any) -> dict[str, str]:
    """For each method the label of the random explanation of its own kind, or of words if the run has none of its kind.

    A random explanation is its own. Of several of one kind the first counts.
    """
    methods = recorded(card, "methods")
    first = {str(entry.get("name")): entry["label"] for entry in reversed(methods)}
    words = first.get(RANDOM["token"], RANDOM["token"])
    return {entry["label"]: first.get(RANDOM.get(str(entry.get("kind")), words), words) for entry in methods}
