"""Elements that several sections of the page share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from verax.report.content import Content
from verax.results.render.html import breakable
from verax.results.render.markup import Html, join, tag
from verax.results.render.numbers import count, plural
from verax.types import Instance, Skip


def instance_count(content: Content) -> Html:
    """Number of instances of the run that the report holds."""
    shown, total = len(content.instances), len(content.run.instances)
    held = plural(total, "instance")
    if shown < total:
        held = f"The first {count(shown)} of {held}"
    return tag("p", f"{held}, in the order of the run.")


def method_label(content: Content, method: str) -> Html:
    """Display name of a method, with a tag on random baselines."""
    name = tag("span", breakable(content.manifest.display(method)), dir="auto", class_="label", title=method)
    return join(name, tag("span", "baseline", class_="flag") if content.manifest.method(method).random else None)


def wrong_flag(instance: Instance, predicted: str, labels: Sequence[str]) -> Html | None:
    """A flag on a wrong prediction."""
    return tag("span", "✗ wrong", class_="flag wrong") if is_wrong(instance, predicted, labels) else None


def is_wrong(instance: Instance, predicted: str, labels: Sequence[str]) -> bool:
    """Whether the gold class is another one than the predicted class, and among the classes of the model."""
    gold = (instance.label or "").casefold()
    return predicted.casefold() != gold and gold in {label.casefold() for label in labels}


def human_texts(instance: Instance) -> Html | None:
    """The human explanations of an instance."""
    if instance.human is None or not instance.human.explanations:
        return None
    texts = [tag("p", text, dir="auto") for text in instance.human.explanations]
    return tag("div", tag("p", "People say", class_="quiet"), texts, class_="human")


def missing(method: str, skips: Iterable[Skip]) -> Html:
    """Why there is no explanation by a method."""
    skip = next((skip for skip in skips if skip.method == method), None)
    if skip is None:
        return tag("p", tag("strong", "not computed"), class_="skip")
    why = f"{'failed' if skip.failed else 'skipped'}: {skip.reason}"
    return tag("p", tag("strong", why), f" {skip.detail}", class_="skip", dir="auto")


def search(name: str) -> Html:
    """A field to search for text."""
    field = tag("input", type="search", id=name, placeholder="words or id", autocomplete="off")
    return tag("label", "Text ", field)


def select(title: str, name: str, options: Mapping[str, str], chosen: str | None = None, **attributes: str) -> Html:
    """A choice between options, given as value and text."""
    listed = [tag("option", text, value=value, selected=value == chosen) for value, text in options.items()]
    return tag("label", f"{title} ", tag("select", listed, id=name, **attributes))
