"""One explanation as a notebook shows it: static HTML with its looks inside, no script."""

from __future__ import annotations

from verax.report.arcs import people_html
from verax.report.pairs import TOP
from verax.report.picture import picture
from verax.results.render.markup import Html, join, tag
from verax.results.render.numbers import number
from verax.types import Highlight, Instance, Prediction

_LEGEND = "Orange, solid line: for. Blue, dotted line: against. Boxed: marked by people. Point at a word for its score."
_ARCS_LEGEND = (
    "An arc joins a pair; its number is its rank. Orange, solid line: for. Blue, dotted line: against. Thicker is "
    "stronger. Boxed: marked by people. Point at an arc for its score."
)


def highlight_html(
    highlight: Highlight, instance: Instance, prediction: Prediction | None = None, *, top: int = TOP
) -> str:
    """The explanation under a line that says which method explains what.

    Args:
        highlight: the explanation.
        instance: the input that it explains.
        prediction: what the model said of it, where known.
        top: how many pairs of an explanation by interactions are drawn; those with the highest scores.
    """
    head: list[Html | str] = [tag("strong", highlight.method, dir="auto"), f" explains {highlight.target}"]
    if prediction is not None:
        chance = dict(zip(prediction.labels, prediction.probabilities, strict=True)).get(prediction.label)
        head += [" · predicted ", tag("strong", prediction.label, dir="auto"), f" ({number(chance)})"]
    if instance.label is not None:
        head += [" · gold ", tag("strong", instance.label, dir="auto")]
    quiet = "font-size:.75em;opacity:.75;margin-top:.3em"
    people = None if highlight.kind == "token" else people_html(instance, inline=True)
    return str(
        tag(
            "div",
            tag("div", join(*head), style="font-size:.85em;margin-bottom:.3em"),
            picture(highlight, instance, inline=True, top=top),
            None if people is None else join(tag("div", "Pairs that people marked:", style=quiet), people),
            tag("div", _LEGEND if highlight.kind == "token" else _ARCS_LEGEND, style=quiet),
            style="font-family:system-ui,sans-serif;max-width:60em",
        )
    )
