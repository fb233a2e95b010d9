"""How methods and metrics are named throughout the page."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from verax.report.content import NOT_RECORDED, Content
from verax.results.render.markup import Html, join, tag
from verax.types import Instance


def method_label(content: Content, method: str) -> Html:
    """A method's label, with a tag on the random explanations that others are tested against."""
    flag = tag("span", "baseline", class_="flag") if method in content.baselines.values() else None
    return join(tag("span", breakable(method), dir="auto", class_="label"), flag)


def breakable(label: str) -> Html:
    """A label that may be broken between its words: behind underscores, brackets, commas and equals signs."""
    pieces = [piece for piece in re.split(r"(?<=[_(,=/])|(?=\()", label) if piece]
    return join(*(part for piece in pieces for part in (piece, Html("<wbr>"))))


def is_wrong(instance: Instance, predicted: str, labels: Sequence[str]) -> bool:
    """Whether the model had the gold class among its labels to choose and chose another."""
    gold = (instance.label or "").casefold()
    return predicted.casefold() != gold and gold in {label.casefold() for label in labels}


def direction(content: Content, metric: str) -> str:
    """Which way a metric is to be read."""
    higher = content.metric(metric).get("higher_is_better")
    if higher is None:
        return f"direction {NOT_RECORDED}, read as higher is better"
    return "↑ higher is better" if higher else "↓ lower is better"


def parameter(value: Any) -> str:
    """A parameter as people write it; one that has parameters of its own as name(parameter=value), as far as set."""
    if not isinstance(value, Mapping):
        return str(value)
    first = next(iter(value.items()), ("", None))
    if len(value) == 1 and isinstance(first[1], Mapping):
        return f"{first[0]}{parameter(first[1])}"
    inner = [f"{key}={parameter(one)}" for key, one in value.items() if one is not None]
    return f"({', '.join(inner)})" if inner else ""
