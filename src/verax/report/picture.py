"""Which picture an explanation gets."""

from __future__ import annotations

from verax.report.arcs import arcs_html
from verax.report.pairs import SHOWN
from verax.report.words import words_html
from verax.results.render.markup import Html
from verax.types import Highlight, Instance


def picture(highlight: Highlight, instance: Instance, *, inline: bool, top: int = SHOWN) -> Html:
    """Coloured words where single words or phrases are scored, arcs between them where interactions are.

    Args:
        highlight: the explanation.
        instance: the input it explains.
        inline: write the looks into each element, for a place without the page's style sheet.
        top: how many arcs are drawn.
    """
    if highlight.kind == "token":
        return words_html(highlight, instance, inline=inline)
    return arcs_html(highlight, instance, inline=inline, top=top)
