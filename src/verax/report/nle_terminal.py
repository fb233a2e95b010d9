"""Free-text explanations under test in a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType

from verax.report.nle_sheets import sheets
from verax.report.nle_words import CONSISTENCY_SAID, doubts, summed_up
from verax.report.terminal import Board, plain
from verax.stats.nle import NleTables


def nle(found: NleTables) -> RenderableType:
    """Every table, what must be known to read it, what the tests found and what the noise floor warns of."""
    made = sheets(found)
    shown: list[RenderableType] = []
    for one in made:
        shown += [Board(one.title, one.heads, one.rows), plain(one.said, "dim"), plain("")]
    signs = dict.fromkeys(line for one in made for line in one.signs)
    ends = [*(plain(line) for line in summed_up(found)), *(plain(line, "yellow") for line in doubts(found))]
    return Group(*shown, *(plain(line, "dim") for line in signs), *ends, plain(CONSISTENCY_SAID))
