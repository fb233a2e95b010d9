"""Words on a page in lines, each on the colour of its score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.patches import Rectangle

from verax.results.render.paper.canvas import INK, LINE, QUIET, TITLE, Page, own_settings, width_of, wrapped
from verax.results.render.paper.layout import EDGE

WORDS = 9.0
"""Font size of the words."""
UNIT = WORDS / 15 / 72
"""A unit of the layout of lines, whose font size is 15, in inches."""
_HEIGHT = 0.2
_BOX = 0.155
_UNDERLINE = 0.055


def in_units(shown: str) -> float:
    """The width of a word in units of the layout."""
    return width_of(shown, WORDS) / UNIT


class Word(NamedTuple):
    """A word of a line with its ends in inches from the left."""

    shown: str
    left: float
    right: float
    tint: tuple[tuple[int, int, int], int] | None


Tint = tuple[tuple[int, int, int], int]
"""A colour (red, green, blue), and the side that a word takes: 1 supports, -1 opposes, 0 neither."""


def draw_lines(
    lines: Sequence[Sequence[Word]], starts: Sequence[bool], width: float, *, title: str, heading: str, key: str
) -> Page:
    """Lines of words below a heading, and what the colours mean.

    Args:
        starts: whether a part of the input begins with each line.
        title: of the file; `heading` is what is written, if anything.
    """
    head = wrapped(heading, width - 2 * EDGE, TITLE, bold=True)
    keys = wrapped(key, width - 2 * EDGE)
    gaps = sum(starts[1:]) * 0.06
    top = EDGE + LINE * 1.15 * len(head) + (0.05 if head else 0.0)
    page = Page(width, top + _HEIGHT * len(lines) + gaps + 0.06 + LINE * len(keys) + EDGE / 2, title)
    with own_settings():
        for number, line in enumerate(head):
            page.write(EDGE, EDGE + LINE * (1.15 * number + 0.5), line, size=TITLE, bold=True)
        y = top + _HEIGHT / 2
        for number, (words, first) in enumerate(zip(lines, starts, strict=True)):
            y += 0.06 if first and number else 0.0
            for word in words:
                _word(page, word, y)
            y += _HEIGHT
        y += 0.06 - _HEIGHT / 2 + LINE / 2
        for line in keys:
            page.write(EDGE, y, line, color=QUIET)
            y += LINE
    page.warn_of_missing_glyphs()
    return page


def _word(page: Page, word: Word, y: float) -> None:
    shown = word.shown
    while len(shown) > 1 and width_of(shown, WORDS) > word.right - word.left + 0.02:
        shown = f"{shown.rstrip('…')[:-1]}…"
    if word.tint is not None:
        (red, green, blue), side = word.tint
        corner = (word.left - 0.01, page.size[1] - y - _BOX / 2)
        face = (red / 255, green / 255, blue / 255)
        box = Rectangle(corner, word.right - word.left + 0.02, _BOX, facecolor=face, linewidth=0.0, gid="word")
        box.set_transform(page.dpi_scale_trans)
        page.add_artist(box, clip=False)
        if side:
            ends = [word.left, word.right]
            style = "-" if side > 0 else (0, (1, 1.2))
            page.line(ends, [y + _UNDERLINE + 0.012] * 2, color=INK, linewidth=0.7, linestyle=style)
    page.write((word.left + word.right) / 2, y, shown, size=WORDS, ha="center")
