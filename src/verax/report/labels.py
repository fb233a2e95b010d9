"""How methods and predictions are named throughout the page."""

from __future__ import annotations

from collections.abc import Sequence

from verax.report.content import Content
from verax.results.render.html import breakable
from verax.results.render.markup import Html, join, tag
from verax.types import Instance


def method_label(content: Content, method: str) -> Html:
    """The label of a method, with a tag on random baselines."""
    flag = tag("span", "baseline", class_="flag") if content.manifest.method(method).random else None
    return join(
        tag("span", breakable(content.manifest.display(method)), dir="auto", class_="label", title=method), flag
    )


def is_wrong(instance: Instance, predicted: str, labels: Sequence[str]) -> bool:
    """Whether the model could have predicted the gold class and predicted another one."""
    gold = (instance.label or "").casefold()
    return predicted.casefold() != gold and gold in {label.casefold() for label in labels}
