"""Across languages: methods by languages, the effect of output and aggregation, accuracy, and parallel sentences."""

from __future__ import annotations

from collections.abc import Sequence

from verax.report.content import Content
from verax.report.crosslingual_plot import axis_for, cell_svg, names, panel, swatch
from verax.report.crosslingual_scatter import scatter
from verax.report.crosslingual_sheets import comparison, of_grid, of_languages
from verax.report.crosslingual_words import (
    SIGNS_SAID,
    TITLES,
    UNITS,
    arrow,
    direction,
    intervals_said,
    measured,
    output_name,
    signs,
    verdict,
)
from verax.report.parallel import parallel
from verax.report.plot import Axis
from verax.report.sheet import Sheet, sheet_html
from verax.report.unified_words import BEST, WEAK, ends
from verax.results.render.markup import Html, join, tag
from verax.results.render.numbers import MISSING, number
from verax.stats.crosslingual import CrossLingual
from verax.stats.crosslingual_grids import Cell, Grid
from verax.stats.crosslingual_rows import Explainer

_TINTS = 5


def section(content: Content) -> Html:
    """Nothing of a run without cross-lingual faithfulness; else the grid, figures, tables, and sentences in pairs."""
    found = content.crosslingual
    if found is None:
        return join()
    return join(
        tag("p", verdict(found)),
        _grid(found),
        _effects(found),
        _ablation(found),
        _languages(found),
        [sheet_html(sheet, f"others-{place}") for place, sheet in enumerate(_other_sheets(found))],
        parallel(content, found),
        _explained(found),
    )


def _other_sheets(found: CrossLingual) -> list[Sheet]:
    return [*(sheet for grid in found.others for sheet in of_grid(found, grid)), *comparison(found)]


def _grid(found: CrossLingual) -> Html:
    """Methods by languages: number, interval and a dot on the axis that all cells share."""
    grids = (found.overall[0], *found.by_language)
    axis = axis_for(grids)
    heads = [tag("th", "all languages" if grid.language is None else grid.language, scope="col") for grid in grids]
    body = []
    for method in sorted(found.methods, key=lambda one: one.random):
        cells = [grid.cells.get(method.label) for grid in grids]
        if any(cells):
            shown = [_cell(cell, grid, axis) for cell, grid in zip(cells, grids, strict=True)]
            look = "baseline" if method.random else None
            body.append(tag("tr", tag("th", *_named(method), scope="row"), shown, class_=look))
    table = tag(
        "table",
        tag("thead", tag("tr", tag("th", "Method, and what it explains", scope="col"), heads)),
        tag("tbody", body),
        aria_labelledby="languages-grid",
    )
    return tag(
        "section",
        tag("h3", "Methods by languages ", tag("small", direction(grids[0])), id="languages-grid"),
        tag("div", table, class_="scroll", role="region", aria_labelledby="languages-grid", tabindex=0),
        tag("p", f"{measured(found, grids[0])} {intervals_said(found)} {SIGNS_SAID}", class_="note", dir="auto"),
        class_="sheet languages-grid",
    )


def _named(method: Explainer) -> list[Html | str]:
    flag = tag("span", "baseline", class_="flag") if method.random else None
    what = tag("small", output_name(method.output)) if method.output else None
    return [part for part in (tag("span", method.row, dir="auto", class_="label"), what, flag) if part is not None]


def _cell(cell: Cell | None, grid: Grid, axis: Axis | None) -> Html:
    head = grid.language or "all"
    if cell is None or cell.value is None:
        return tag("td", MISSING, title=cell.reason if cell else None, class_="number", data_head=head)
    value = cell.value
    skipped = f", {cell.skipped} skipped" if cell.skipped else ""
    return tag(
        "td",
        tag("span", _signs(cell), number(value.value), class_="value"),
        tag("small", ends(value)),
        None if axis is None else cell_svg(value, axis),
        title=f"n = {cell.n}{skipped}",
        class_=f"number tint{_tint(value.value)}{' best' if cell.best else ''}",
        data_head=head,
    )


def _tint(value: float) -> int:
    """The depth of a cell's colour: correlations from 0 to 1 in steps, below 0 none."""
    return min(_TINTS, max(0, round(value * _TINTS)))


def _signs(cell: Cell) -> Html | None:
    shown = signs(cell)
    meanings = {BEST: "among the best of its output", WEAK: "not told apart from random"}
    said = ", ".join(meanings[sign] for sign in shown)
    return tag("span", shown, class_="sign", role="img", aria_label=said, title=said) if shown else None


def _effects(found: CrossLingual) -> Html:
    """Every measure by output and aggregation, on rows that all panels share."""
    grids = (found.overall[0], *found.others)
    panels = [
        (f"{TITLES[grid.measure.name]} {arrow(grid)}", UNITS[grid.measure.name], grid, axis_for([grid]))
        for grid in grids
    ]
    return tag(
        "section",
        tag("h3", "Effect of output and aggregation", id="effects"),
        _figure(found, panels),
        _key(found),
        class_="drawn",
    )


def _ablation(found: CrossLingual) -> Html | None:
    """Faithfulness by each aligner, on one scale."""
    if len(found.overall) < 2:
        return None
    axis = axis_for(found.overall)
    panels = [(f"Aligner: {grid.measure.aligner}", "Spearman correlation", grid, axis) for grid in found.overall]
    said = (
        "The same scores, compared over other links between the words. With random links the correlation should be "
        "near 0: what is left of it would be owed to something else than translation."
    )
    return tag(
        "section",
        tag("h3", "Do the alignments matter?", id="aligners"),
        tag("p", said),
        _figure(found, panels),
        class_="drawn",
    )


def _figure(found: CrossLingual, panels: Sequence[tuple[str, str, Grid, Axis | None]]) -> Html:
    drawn = [
        tag(
            "figure",
            tag("figcaption", tag("strong", title, dir="auto"), tag("small", unit)),
            tag("div", names(found), panel(found, grid, axis, title)),
        )
        for title, unit, grid, axis in panels
        if axis is not None
    ]
    return tag("div", names(found), drawn, class_="effects across")


def _key(found: CrossLingual) -> Html:
    """What is drawn how."""
    items = [tag("li", swatch(place), f" {output_name(output)}") for place, output in enumerate(found.outputs)]
    items.append(tag("li", swatch(0, hollow=True), " hollow: not told apart from random"))
    items.append(
        tag("li", "grey line: the random explanation; bars: 95 % intervals; each panel has a scale of its own")
    )
    return tag("ul", items, class_="legend keys")


def _languages(found: CrossLingual) -> Html:
    """The table of languages beside its drawing."""
    drawn = scatter(found)
    return tag(
        "div",
        sheet_html(of_languages(found), "languages-known"),
        tag("figure", tag("figcaption", "Faithfulness by accuracy, a point for each language"), drawn)
        if drawn is not None
        else None,
        class_="beside",
    )


def _explained(found: CrossLingual) -> Html:
    """How to read it, and what it does not show."""
    said = (
        f"The model reads the same input in {found.reference} and in another language. If an explanation tells what "
        "the model does, words that translate each other should get like scores: high with high, low with low.",
        "The scores of all words that are aligned to a word are added up; a word without a link gets 0. Both lists of "
        "scores are ranked and correlated, premise and hypothesis in one. 1: the same order; 0: unrelated.",
        "A low value has several causes: an unfaithful method, a model that treats the languages differently, or bad "
        "alignments. Compare methods within a language, and look at the accuracy of the model in it.",
        "A high value is agreement between languages, not proof: scores that depend on word forms or positions alone "
        "can agree too. The random explanation and random alignments show what agreement comes from nothing.",
    )
    listed = tag("ul", [tag("li", line) for line in said])
    return tag("details", tag("summary", "How to read this"), listed, open=True, class_="how")
