"""The unified framework in a terminal: a table for each property, kinds by bases."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from verax.report.terminal import Board, plain
from verax.report.unified_tables import STABILITY_SAID
from verax.report.unified_words import (
    BASE_NAMES,
    SIGNS_SAID,
    SUFFICIENCY_SAID,
    Line,
    caption,
    direction,
    ends,
    lines,
    methods_said,
    titles,
)
from verax.results.render.numbers import MISSING, count, number
from verax.stats.unified import Unified

_SHORT = {"integrated_gradients": "Int. gradients"}


def unified(found: Unified) -> RenderableType:
    """Tables and what they are over; below each kind its interval, and its difference from random."""
    heads = ("explanation", *(_SHORT.get(base, BASE_NAMES[base]) for base in found.bases()))
    shown: list[RenderableType] = []
    for one, title in zip(found.properties, titles(found), strict=True):
        rows = tuple(row for line in lines(found, one) for row in _rows(line))
        shown += [Board(f"{title} ({direction(one)})", heads, rows), plain(caption(one), "dim"), Text()]
    if found.stability:
        stable = tuple((row.method, number(row.value.value), ends(row.value), count(row.n)) for row in found.stability)
        shown += [Board("Stability of spans", ("spans", "mean", "95 % interval", "n"), stable)]
        shown += [plain(STABILITY_SAID, "dim"), Text()]
    names = {one.name for one in found.properties}
    said = [SIGNS_SAID, methods_said(found), *([SUFFICIENCY_SAID] if "sufficiency" in names else [])]
    return Group(*shown, *(plain(line, "dim") for line in said))


def _rows(line: Line) -> list[tuple[str, ...]]:
    """Value, interval and difference, one below the other, as far as the line has them."""
    values = [MISSING if cell is None else f"{cell.signs} {number(cell.value.value)}".strip() for cell in line.cells]
    rows = [(line.name, *values)]
    if any(cell is not None and ends(cell.value) for cell in line.cells):
        rows.append(("  interval", *("" if cell is None else ends(cell.value) for cell in line.cells)))
    if any(cell is not None and cell.difference for cell in line.cells):
        gaps = [cell.difference if cell is not None else None for cell in line.cells]
        rows.append(("  Δ random", *("" if gap is None else f"{gap.value:+.3f}" for gap in gaps)))
    return rows
