"""The unified framework: every kind of explanation under every property, drawn on one scale and in tables."""

from __future__ import annotations

from collections.abc import Sequence

from verax.report.content import Content
from verax.report.labels import method_label
from verax.report.unified_plot import names, panel, swatch
from verax.report.unified_tables import STABILITY_SAID
from verax.report.unified_words import (
    BASE_NAMES,
    BEST,
    DRAWN_SAID,
    SIGNS_SAID,
    SUFFICIENCY_SAID,
    UNITS,
    WEAK,
    Line,
    Shown,
    caption,
    direction,
    ends,
    gain,
    lines,
    methods_said,
    titles,
    verdict,
)
from verax.results.render.markup import Html, join, tag
from verax.results.render.numbers import MISSING, count, number
from verax.stats.unified import Property, Unified
from verax.types import Base

_SIDE_BY_SIDE = 7
_SOFT_HYPHEN = "\N{SOFT HYPHEN}"


def section(content: Content) -> Html:
    """Nothing if the run has fewer than two kinds of explanation; else the figure, the tables, and how to read them."""
    found = content.unified
    if found is None:
        return join()
    named = titles(found)
    return join(
        tag("p", verdict(found)),
        _figure(found, named),
        tag("p", SIGNS_SAID, class_="legend"),
        tag("div", [_table(found, one, named, place) for place, one in enumerate(found.properties)], class_="grids"),
        _stability(content, found),
        _explained(found),
    )


def _figure(found: Unified, named: list[str]) -> Html:
    panels = [
        tag(
            "figure",
            tag(
                "figcaption",
                tag("strong", title.replace("Comprehen", f"Comprehen{_SOFT_HYPHEN}"), dir="auto"),
                tag("small", UNITS[one.name]),
            ),
            tag("div", names(found), panel(found, one, title)),
        )
        for one, title in zip(found.properties, named, strict=True)
    ]
    many = len(panels) > _SIDE_BY_SIDE
    return join(
        tag("div", names(found), panels, class_="effects stacked" if many else "effects"),
        _key([base for base in found.bases() if base != "random"]),
    )


def _key(bases: list[Base]) -> Html:
    """What is drawn how."""
    items = [tag("li", swatch(base), f" {BASE_NAMES[base]}") for base in bases]
    if bases:
        items.append(
            tag("li", swatch(bases[0], hollow=True), " hollow: the interval holds 0, not told apart from random")
        )
    items.append(
        tag("li", "grey line: random of the same kind; bars: 95 % intervals; each panel has a scale of its own")
    )
    return tag("ul", items, class_="legend keys")


def _table(found: Unified, one: Property, named: list[str], place: int) -> Html:
    """Kinds by bases: values, intervals, and differences from random."""
    anchor = f"property-{place}"
    heads = [tag("th", BASE_NAMES[base], scope="col", class_="number") for base in found.bases()]
    table = tag(
        "table",
        tag("thead", tag("tr", tag("th", "Explanation", scope="col"), heads)),
        tag("tbody", [_row(line, found.bases()) for line in lines(found, one)]),
        aria_labelledby=anchor,
    )
    return tag(
        "section",
        tag("h3", tag("span", named[place], dir="auto"), " ", tag("small", direction(one)), id=anchor),
        tag("div", table, class_="scroll", role="region", aria_labelledby=anchor, tabindex=0),
        tag("p", caption(one), class_="note", dir="auto"),
        class_="property",
    )


def _row(line: Line, bases: Sequence[Base]) -> Html:
    cells = [_cell(cell, BASE_NAMES[base]) for cell, base in zip(line.cells, bases, strict=True)]
    return tag("tr", tag("th", line.name, scope="row"), cells)


def _cell(cell: Shown | None, head: str) -> Html:
    if cell is None:
        return tag("td", MISSING, class_="number", data_head=head)
    meanings = {BEST: "best kind of its base", WEAK: "not told apart from random"}
    meaning = ", ".join(meanings[sign] for sign in cell.signs)
    sign = tag("span", cell.signs, class_="sign", role="img", aria_label=meaning, title=meaning) if cell.signs else None
    return tag(
        "td",
        tag("span", sign, " " if sign else None, number(cell.value.value), class_="value"),
        tag("small", f" {ends(cell.value)}") if ends(cell.value) else None,
        tag("small", f"Δ {gain(cell.difference)}", class_="gap") if cell.difference else None,
        class_="number best" if BEST in cell.signs else "number",
        data_head=head,
    )


def _stability(content: Content, found: Unified) -> Html | None:
    """How far the spans hang on a seed."""
    if not found.stability:
        return None
    rows = [
        tag(
            "tr",
            tag("th", method_label(content, row.method), scope="row"),
            tag("td", tag("span", number(row.value.value), class_="value"), " ", ends(row.value), class_="number"),
            tag("td", count(row.n), class_="number"),
        )
        for row in found.stability
    ]
    heads = [tag("th", head, scope="col", class_="number") for head in ("Stability", "n")]
    table = tag("table", tag("thead", tag("tr", tag("th", "Spans", scope="col"), heads)), tag("tbody", rows))
    said = (
        "Louvain's partitions of small graphs depend on the order in which words are visited. Where stability is far "
        "below 1, another seed gives other spans: what is said of span pairs then holds of these spans, not of all."
    )
    return tag(
        "section",
        tag("h3", "Stability of the spans", id="stability"),
        tag("p", said),
        tag("div", table, class_="scroll", role="region", aria_labelledby="stability", tabindex=0),
        tag("p", STABILITY_SAID, class_="note"),
        class_="property stability",
    )


def _explained(found: Unified) -> Html:
    """What is compared with what."""
    met = {one.name for one in found.properties}
    lines_said = [
        f"Methods: {methods_said(found)}",
        "Words, word pairs and span pairs are compared at the same number of words: that of the top span pairs. The "
        "figure shows the difference from the random explanation of the same kind on the same instances (Δ in the "
        "tables), so 0 is random; right is better in every panel.",
        "With budgets by base, explanations of one base have the same number of words, those of different bases and of "
        "random need not: the captions say how many they have. Metrics with budget: shared give all the same number.",
    ]
    lines_said += [SUFFICIENCY_SAID] if "sufficiency" in met else []
    lines_said += [f"Complexity is turned round in the figure. {DRAWN_SAID}"] if "complexity" in met else []
    listed = tag("ul", [tag("li", line, dir="auto") for line in lines_said])
    return tag("details", tag("summary", "How to read this"), listed, open=True, class_="how")
