"""One explanation for a notebook: static HTML with inline styles, without scripts."""

from __future__ import annotations

from verax.report.arcs import TOP, people_html, picture
from verax.results.render.markup import Html, join, tag
from verax.results.render.numbers import number
from verax.types import Highlight, Instance, Prediction

_LEGEND = "Orange, solid line: supports. Blue, dotted line: opposes. Boxed: annotated. Point at a word for its score."
_ARCS_LEGEND = (
    "An arc joins a pair; its number is its rank. Orange, solid line: supports. Blue, dotted line: opposes. Thicker is "
    "stronger. Boxed: annotated. Point at an arc for its score."
)


def highlight_html(
    highlight: Highlight, instance: Instance, prediction: Prediction | None = None, *, top: int = TOP
) -> str:
    """The explanation below a line with the method, its target and the prediction.

    Args:
        top: number of pairs that are drawn of an explanation by interactions, those with the highest scores.
    """
    head: list[Html | str] = [tag("strong", highlight.method, dir="auto"), f" explains {highlight.target}"]
    if prediction is not None:
        head += [" · predicted ", tag("strong", prediction.label, dir="auto"), f" ({number(prediction.probability)})"]
    if instance.label is not None:
        head += [" · gold ", tag("strong", instance.label, dir="auto")]
    quiet = "font-size:.75em;opacity:.75;margin-top:.3em"
    people = None if highlight.kind == "token" else people_html(instance, inline=True)
    return str(
        tag(
            "div",
            tag("div", join(*head), style="font-size:.85em;margin-bottom:.3em"),
            picture(highlight, instance, inline=True, top=top),
            None if people is None else join(tag("div", "Annotated pairs:", style=quiet), people),
            tag("div", _LEGEND if highlight.kind == "token" else _ARCS_LEGEND, style=quiet),
            style="font-family:system-ui,sans-serif;max-width:60em",
        )
    )
