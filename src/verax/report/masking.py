"""Recursive masking: what it says of the model, the areas of each measure, and a drawing of each."""

from __future__ import annotations

from verax.report.content import Content
from verax.report.labels import method_label
from verax.report.masking_plot import panel, swatch
from verax.report.masking_words import (
    PERFORMANCE,
    areas,
    baseline_of,
    distribution_said,
    intervals_said,
    marks,
    ordered,
    performance_said,
)
from verax.results.render.markup import Html, join, tag
from verax.results.render.numbers import count
from verax.stats.leaderboard import ALPHA
from verax.types import MaskingCurve, MaskingCurves


def section(content: Content) -> Html:
    """Nothing if no metric of the run masked recursively; else words, table and drawings for each that did."""
    several = len(content.masking) > 1
    return join(
        *(
            [tag("h3", label, dir="auto") if several else None, _metric(content, curves, f"areas-{place}")]
            for place, (label, curves) in enumerate(content.masking.items())
        ),
        _explained(content) if any(content.masking.values()) else None,
    )


def _metric(content: Content, curves: MaskingCurves | None, anchor: str) -> Html:
    if curves is None:
        said = f"{content.baseline} has no curve in this run, so there is nothing to measure the others against."
        return tag("p", said, class_="note", dir="auto")
    rows = ordered(curves)
    table = tag(
        "table",
        tag("caption", f"Areas between the curves of {PERFORMANCE[rows[0].metric]}, in percent", id=anchor),
        tag("thead", _head()),
        tag("tbody", [_row(content, curves, row) for row in rows]),
        class_="areas",
    )
    drawn = [_figure(content, curves, row) for row in rows if row.method != curves.baseline]
    return join(
        tag("p", performance_said(curves)),
        tag("p", distribution_said(curves), dir="auto"),
        tag("div", table, class_="scroll", role="region", aria_labelledby=anchor, tabindex=0),
        tag("p", f"{intervals_said(curves)} The areas of {curves.baseline} are 0 by definition.", class_="legend"),
        _key(curves) if drawn else None,
        tag("div", drawn, class_="panels") if drawn else None,
    )


def _head() -> Html:
    return tag(
        "tr",
        tag("th", "Measure", scope="col"),
        [tag("th", _value(head), scope="col", class_="number") for head in ("ACU", "RACU")],
        [tag("th", head, scope="col", class_="number") for head in ("n", "Skipped")],
        tag("th", "Note", scope="col"),
    )


def _row(content: Content, curves: MaskingCurves, row: MaskingCurve) -> Html:
    said = [mark for mark in marks(curves, row) if mark != "baseline"]
    flags = [tag("span", mark, class_="flag wrong" if mark.startswith("not valid") else "flag") for mark in said]
    return tag(
        "tr",
        tag("th", method_label(content, row.method), scope="row"),
        [
            tag("td", _value(shown), class_="number", data_head=head)
            for head, shown in zip(("ACU", "RACU"), areas(curves, row), strict=True)
        ],
        tag("td", count(row.n), class_="number", data_head="n"),
        tag("td", count(row.skipped), class_="number", data_head="skipped"),
        tag("td", flags, class_="marks"),
        class_="baseline" if row.method == curves.baseline else None,
    )


def _value(shown: str) -> Html:
    """The value, and in a column of its own the interval, so that values stand one below the other."""
    value, bracket, interval = shown.partition(" [")
    return join(tag("b", value), tag("small", f"{bracket}{interval}"))


def _figure(content: Content, curves: MaskingCurves, row: MaskingCurve) -> Html:
    acu, racu = areas(curves, row)
    return tag(
        "figure",
        tag(
            "figcaption",
            tag("strong", method_label(content, row.method)),
            tag("span", tag("span", f"ACU {acu}"), " ", tag("span", f"RACU {racu}"), class_="quiet"),
        ),
        panel(curves, row),
    )


def _key(curves: MaskingCurves) -> Html:
    """What is drawn how."""
    keys = [
        ("measure", "masked by the measure, with intervals"),
        ("random", f"masked by {curves.baseline}, with intervals"),
        ("below", "area that ACU counts"),
        ("above", "area that it takes off"),
        ("majority", "always the most frequent class"),
    ]
    if any(row.p_values is not None for row in curves.curves):
        keys.append(("hatch", f"not in-distribution (p < {ALPHA}): not valid"))
    items = [tag("li", swatch(look), f" {meaning}", dir="auto") for look, meaning in keys]
    untested = baseline_of(curves).p_values is None
    note = tag("li", "Whether masked inputs are in-distribution was not tested.") if untested else None
    return tag("ul", items, note, class_="legend keys")


def _explained(content: Content) -> Html:
    """How the numbers came about."""
    lines = (
        "The words that a measure puts first are masked, the masked input is explained anew, and so on until all words "
        "are masked. The faster the model's performance falls, the better the measure knew what the model uses.",
        f"ACU is the area between the curve of {content.baseline} and that of the measure; negative: masking at random "
        "hurts more. RACU is its share of the area between the random curve and its end, which a measure would reach "
        "that finds all that matters at the first step. Where that area is small, RACU is uncertain: see its interval.",
        "No bound: the scores of a signed measure tell for from against, so masking by it can turn the prediction "
        "round, below what masking everything does. Its RACU can exceed 100 %; compare it with other signed measures.",
        "Not valid: at these masking ratios the inputs masked by the measure, or by "
        f"{content.baseline}, are unlike those the model was made for (p < {ALPHA}). What it does there may come from "
        "the strangeness of the input and not from the words that are missing.",
    )
    listed = tag("ul", [tag("li", line) for line in lines])
    return tag("details", tag("summary", "How to read this"), listed, open=True, class_="how")
