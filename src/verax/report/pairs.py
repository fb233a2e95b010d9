"""The picture of an explanation by interactions: its strongest pairs of words or spans, as a list."""

from __future__ import annotations

from verax.report.markup import Html, join, tag
from verax.report.numbers import count, signed
from verax.report.words import dress, shade
from verax.types import Highlight, Instance, Span

SHOWN = 10


def pairs_html(highlight: Highlight, instance: Instance, *, inline: bool) -> Html:
    """The strongest interactions first, each side in its own direction of writing, coloured by score."""
    ranked = sorted(zip(highlight.units, highlight.scores, strict=True), key=lambda pair: -abs(pair[1]))
    strongest = abs(ranked[0][1]) if ranked else 0.0
    rows = []
    for unit, score in ranked[:SHOWN]:
        shown = shade(score, strongest)
        sides = []
        for span in unit:
            sides += [" ↔ ", tag("bdi", _words(span, instance))]
        looks = dress("word", shown, inline=inline) if shown else {}
        rows.append(
            tag("li", tag("mark" if shown else "span", sides[1:], title=signed(score), **looks), f" {signed(score)}")
        )
    rest = len(ranked) - SHOWN
    return join(tag("ol", rows), tag("p", f"and {count(rest)} weaker ones") if rest > 0 else None)


def _words(span: Span, instance: Instance) -> str:
    part = instance.parts[span.part]
    return part.raw[part.offsets[span.start][0] : part.offsets[span.end - 1][1]]
