"""Explanations for a notebook: static HTML with inline styles, no scripts, and scores printed below their words."""

from __future__ import annotations

from collections.abc import Sequence

from verax.report.arcs import TOP, people_html, picture
from verax.report.words import STYLES
from verax.results.manifest import Manifest, MethodEntry
from verax.results.render.markup import Html, join, tag
from verax.results.render.numbers import number
from verax.types import Highlight, Instance, Nle, Prediction, Skip

_COLUMN = 400.0
"""Largest width of a picture of pairs in a column."""
_PAGE = "font-family:system-ui,sans-serif;line-height:1.4"
_QUIET = "font-size:.8em;opacity:.8"
_GRID = "display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,26em),1fr));gap:.6em;margin:.4em 0"
_CARD = "border:1px solid rgba(128,128,128,.4);border-radius:6px;padding:.5em .8em;min-width:0;overflow-wrap:anywhere"


def highlight_html(
    highlight: Highlight,
    instance: Instance,
    prediction: Prediction | None = None,
    *,
    top: int = TOP,
    entry: MethodEntry | None = None,
) -> str:
    """One explanation by scores below a line with the method, its target and the prediction.

    Args:
        top: number of pairs that are drawn of an explanation by interactions, those with the highest scores.
        entry: its method as in a run card; by default one of that label with signed scores.
    """
    entry = entry or MethodEntry(label=highlight.method)
    name = tag("strong", Manifest(methods=(entry,)).display(entry.label), dir="auto", title=entry.label)
    head = join(name, f" explains {highlight.target}", _predicted(instance, prediction, " · "))
    return str(
        tag(
            "div",
            tag("div", head, style="font-size:.85em;margin-bottom:.3em"),
            picture(highlight, instance, inline=True, top=top, signed=entry.two_sided),
            _annotated_pairs([highlight], instance),
            _legend([(highlight, entry)], instance),
            style=f"{_PAGE};max-width:60em",
        )
    )


def side_by_side_html(
    made: Sequence[tuple[Highlight | Nle, MethodEntry]],
    instance: Instance,
    prediction: Prediction,
    skipped: Sequence[Skip] = (),
) -> str:
    """Explanations of one input in columns, as many as fit, with one legend; below it methods without one."""
    display = Manifest(methods=tuple(entry for _, entry in made)).display
    columns = [
        tag(
            "div",
            tag("strong", display(entry.label), dir="auto", title=entry.label),
            tag("span", f" explains {row.target}", style=_QUIET) if str(row.target) != "prediction" else None,
            tag("div", _explanation(row, entry, instance), style="margin-top:.2em"),
            style=_CARD,
        )
        for row, entry in made
    ]
    rows = [row for row, _ in made]
    reasons = [tag("li", f"{skip.method}: {skip.reason}: {skip.detail}", dir="auto") for skip in skipped]
    why = [
        tag("summary", f"No explanation by {len(reasons)} of {len(reasons) + len(made)} methods"),
        tag("ul", reasons),
    ]
    return str(
        tag(
            "div",
            tag("div", _predicted(instance, prediction), style="font-size:.9em"),
            tag("div", columns, style=_GRID) if columns else tag("p", "No method gives an explanation."),
            _annotated_pairs(rows, instance),
            _legend(made, instance),
            tag("details", why, style=_QUIET, open=not columns) if reasons else None,
            style=_PAGE,
        )
    )


def _explanation(row: Highlight | Nle, entry: MethodEntry, instance: Instance) -> Html:
    """The content of a column."""
    if isinstance(row, Highlight):
        return picture(row, instance, inline=True, top=TOP, signed=entry.two_sided, width=_COLUMN)
    return join(tag("div", "answers ", tag("strong", row.label, dir="auto")), tag("div", row.text, dir="auto"))


def _predicted(instance: Instance, prediction: Prediction | None, before: str = "") -> Html:
    """Predicted and gold class, as far as they are known."""
    facts: list[Html] = []
    if prediction is not None:
        known = None if prediction.probability is None else f" ({number(prediction.probability)})"
        facts.append(join("predicted ", tag("strong", prediction.label, dir="auto"), known))
    if instance.label is not None:
        facts.append(join("gold ", tag("strong", instance.label, dir="auto")))
    return join([join(" · " if place else before, fact) for place, fact in enumerate(facts)])


def _annotated_pairs(rows: Sequence[Highlight | Nle], instance: Instance) -> Html | None:
    """The annotated pairs, if pairs are explained."""
    if not any(isinstance(row, Highlight) and row.kind != "token" for row in rows):
        return None
    people = people_html(instance, inline=True)
    return None if people is None else join(tag("div", "Annotated pairs:", style=_QUIET), people)


def _legend(made: Sequence[tuple[Highlight | Nle, MethodEntry]], instance: Instance) -> Html | None:
    """What colours, lines, numbers and boxes mean, of those that are shown."""
    shown = [(row, entry.two_sided) for row, entry in made if isinstance(row, Highlight)]
    if not shown:
        return None
    kinds = {row.kind for row, _ in shown}
    keys: list[Html] = []
    if any(signed for _, signed in shown):
        keys += [_sample("for6", "supports"), _sample("against6", "opposes")]
    if not all(signed for _, signed in shown):
        keys.append(_sample("size6", "more (scores without a sign)"))
    if instance.human is not None:
        keys.append(_sample("gold", "annotated"))
    notes = []
    if "token" in kinds:
        notes.append("Deeper is stronger within an explanation; the score is below its word.")
    if kinds != {"token"}:
        notes.append("An arc joins a pair; its number is its rank. The table below has the scores.")
    joined = [join(" · " if place else None, key) for place, key in enumerate(keys)]
    return tag("div", joined, f" · {' '.join(notes)}", style=f"{_QUIET};margin-top:.4em")


def _sample(look: str, meaning: str) -> Html:
    return tag("mark", meaning, style=f"{STYLES['word']};{STYLES[look]}")
