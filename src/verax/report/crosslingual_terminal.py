"""Evaluation across languages in a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType

from verax.report.crosslingual_sheets import sheets
from verax.report.crosslingual_words import verdict
from verax.report.terminal import Board, plain
from verax.stats.crosslingual import CrossLingual


def crosslingual(found: CrossLingual) -> RenderableType:
    """Every table, what must be known to read it, and what the first says."""
    made = sheets(found)
    shown: list[RenderableType] = []
    for one in made:
        shown += [Board(one.title, one.heads, one.rows), plain(one.said, "dim"), plain("")]
    signs = dict.fromkeys(line for one in made for line in one.signs)
    return Group(*shown, *(plain(line, "dim") for line in signs), plain(verdict(found)))
