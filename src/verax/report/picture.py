"""Which picture an explanation gets."""

from __future__ import annotations

from verax.report.markup import Html
from verax.report.pairs import pairs_html
from verax.report.words import words_html
from verax.types import Highlight, Instance


def picture(highlight: Highlight, instance: Instance, *, inline: bool) -> Html:
    """Coloured words where single words or phrases are scored, a list of pairs where interactions are."""
    draw = words_html if highlight.kind == "token" else pairs_html
    return draw(highlight, instance, inline=inline)
