"""Explanations by interactions: the pairs with the highest scores as a table, and as arcs between their words."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from typing import NamedTuple

from verax.report.arc_layout import WIDTH, XY, Arc, ArcLayout, Bracket, lay_out_arcs
from verax.report.lines import SIZE, TEXT, Box
from verax.report.words import Look, annotated_words, look, words_html, written
from verax.results.render.markup import Html, join, tag
from verax.results.render.numbers import count, plural
from verax.results.render.text_width import FONT, fitted, label
from verax.types import Highlight, Instance, Unit

SHOWN = 10
"""Number of pairs of an explanation that a page holds and a terminal prints."""
CHOICES = (1, 3, 5, 10)
"""Numbers of pairs that a reader can choose to see."""
TOP = 5
"""Number of pairs that are visible by default."""
INKS: dict[Look, str] = {"for": "#b05800", "against": "#0072b2", "size": "#915ac8", "neither": "#707784"}
"""Colours with enough contrast to white figures and to light and dark pages."""
_PEOPLE_SHOWN = 30
_RADIUS = 7.5
_APART = 1.5
_RANK_SIZE = 10.0
_ARROW = 6.0
_BASELINE = 15.0


class RankedPair(NamedTuple):
    """Two spans, their words, and their score with its rank.

    `directed` says that the other direction, from the second span to the first, has a score of its own.
    """

    rank: int
    unit: Unit
    words: tuple[str, ...]
    score: float
    directed: bool


def top_pairs(highlight: Highlight, instance: Instance, top: int = SHOWN) -> tuple[RankedPair, ...]:
    """The pairs with the highest signed scores; of equal scores the first one wins, as in the metrics."""
    scores = highlight.scores
    best = heapq.nsmallest(top, range(len(scores)), key=lambda index: (-scores[index], index))
    units = frozenset(highlight.units)
    pairs = []
    for rank, index in enumerate(best, 1):
        unit = highlight.units[index]
        directed = unit[0] != unit[-1] and unit[::-1] in units
        pairs.append(RankedPair(rank, unit, span_texts(unit, instance), scores[index], directed))
    return tuple(pairs)


def span_texts(unit: Unit, instance: Instance) -> tuple[str, ...]:
    """The text of each span of a unit."""
    parts = [(instance.parts[span.part], span) for span in unit]
    return tuple(part.raw[part.offsets[span.start][0] : part.offsets[span.end - 1][1]] for part, span in parts)


def heads(pairs: Sequence[RankedPair]) -> tuple[str, str]:
    """Headers of the columns of words in a table of pairs."""
    return ("from", "to") if any(pair.directed for pair in pairs) else ("words", "words")


def _step(rank: int) -> str:
    """CSS class of a pair: the smallest choice of pairs that includes it."""
    return f"k{next(choice for choice in CHOICES if rank <= choice)}"


def picture(
    highlight: Highlight,
    instance: Instance,
    *,
    inline: bool,
    top: int = SHOWN,
    signed: bool = True,
    width: float = WIDTH,
) -> Html:
    """Coloured words for an explanation by words, arcs for one by interactions.

    Args:
        inline: write styles into each element, for places without the style sheet of the page.
        signed: whether scores say what supports and what opposes; else they are more or less, in a colour of their own.
        width: of the lines under arcs, at most.
    """
    if highlight.kind == "token":
        return words_html(highlight, instance, inline=inline, signed=signed)
    return arcs_html(highlight, instance, inline=inline, top=top, signed=signed, width=width)


def arcs_html(
    highlight: Highlight,
    instance: Instance,
    *,
    inline: bool,
    top: int = SHOWN,
    signed: bool = True,
    width: float = WIDTH,
) -> Html:
    """The pairs with the highest scores as arcs between their words or brackets, and as a table.

    Args:
        inline: for places without the style sheet of the page, which hides pairs beyond the reader's choice.
        signed, width: as for `picture`.
    """
    pairs = top_pairs(highlight, instance, top)
    if not pairs:
        return tag("p", tag("em", "no pair of words or spans"))
    strongest = max(abs(score) for score in highlight.scores)
    drawn = [_scored(pair, strongest, inline=inline, signed=signed) for pair in pairs]
    spoken = f"The {plural(len(pairs), 'pair')} with the highest scores"
    bracketed = highlight.kind == "span_interaction"
    picture = _drawing(drawn, instance, spoken, bracketed=bracketed, inline=inline, width=width)
    return join(picture, _table(pairs, len(highlight.units), inline=inline, signed=signed))


def people_html(instance: Instance, *, inline: bool) -> Html | None:
    """The annotated span pairs, in grey; None where there are none."""
    units = () if instance.human is None else instance.human.span_pairs or ()
    if not units:
        return None
    drawn = [_Drawn(unit, " ↔ ".join(span_texts(unit, instance))) for unit in units[:_PEOPLE_SHOWN]]
    rest = len(units) - len(drawn)
    more = tag("p", f"and {count(rest)} more") if rest else None
    return join(_drawing(drawn, instance, "Annotated pairs", bracketed=True, inline=inline), more)


def _table(pairs: Sequence[RankedPair], total: int, *, inline: bool, signed: bool) -> Html:
    """Rank, words and score of each pair, on demand: the picture for readers who cannot see it."""
    head = tag("tr", [tag("th", name, scope="col") for name in ("#", *heads(pairs), "score")])
    rows = [
        tag(
            "tr",
            tag("td", pair.rank),
            [tag("td", tag("bdi", words)) for words in pair.words],
            tag("td", written(pair.score, signed=signed)),
            class_=None if inline else _step(pair.rank),
        )
        for pair in pairs
    ]
    title = "Pairs and scores" + (f" (the highest of {count(total)})" if total > len(pairs) else "")
    small = "font-size:.85em" if inline else None
    return tag("details", tag("summary", title), tag("table", tag("thead", head), tag("tbody", rows)), style=small)


class _Drawn(NamedTuple):
    """A pair as it is drawn; the defaults are those of an annotated pair.

    Args:
        share: strength relative to the strongest pair.
        step: CSS class by which the page can hide it.
    """

    unit: Unit
    tooltip: str
    rank: int | None = None
    ink: str = INKS["neither"]
    share: float = 0.3
    dotted: bool = False
    directed: bool = False
    step: str | None = None

    def stroke(self) -> dict[str, str | None]:
        """Attributes of its line."""
        width = 1.6 + 3 * self.share
        return {
            "stroke_width": f"{width:.1f}",
            "stroke_opacity": f"{0.6 + 0.4 * self.share:.2f}",
            "stroke_dasharray": f"0 {2 * width:.1f}" if self.dotted else None,
        }


def _scored(pair: RankedPair, strongest: float, *, inline: bool, signed: bool) -> _Drawn:
    tooltip = (
        f"{pair.rank}. {(' → ' if pair.directed else ' ↔ ').join(pair.words)} {written(pair.score, signed=signed)}"
    )
    side = look(pair.score, signed=signed)
    share = abs(pair.score) / strongest if strongest else 0.0
    step = None if inline else _step(pair.rank)
    return _Drawn(pair.unit, tooltip, pair.rank, INKS[side], share, side == "against", pair.directed, step)


def _drawing(
    drawn: Sequence[_Drawn], instance: Instance, title: str, *, bracketed: bool, inline: bool, width: float = WIDTH
) -> Html:
    """Arcs at the bottom, words over them, ranks on top."""
    plan = lay_out_arcs(instance, [pair.unit for pair in drawn], bracketed=bracketed, width=width)
    # Weak ones first, so that strong ones are drawn over them.
    arcs = [
        _arc(plan, pair, arc, tinted=not bracketed) for pair, arc in reversed([*zip(drawn, plan.arcs, strict=True)])
    ]
    spots = zip(drawn, _label_spots(plan.arcs), strict=True)
    labels = [_label(pair, spot) for pair, spot in spots if pair.rank is not None]
    picture = tag(
        "svg",
        tag("g", arcs, fill="none", stroke_linecap="round"),
        _words(plan, instance),
        tag("g", labels, font_size=f"{_RANK_SIZE:g}", font_weight="bold", text_anchor="middle"),
        width=f"{plan.width:.0f}",
        height=f"{plan.height:.0f}",
        viewBox=f"0 0 {plan.width:.0f} {plan.height:.0f}",
        font_family=FONT,
        role="img",
        aria_label=f"{title}: {'; '.join(pair.tooltip for pair in drawn)}",
        class_=None if inline else "arcs",
    )
    frame = {"style": "overflow-x:auto"} if inline else {"class_": "scroll"}
    return tag("div", picture, dir="rtl" if plan.lines[0].rtl else None, **frame)


def _arc(plan: ArcLayout, pair: _Drawn, arc: Arc, *, tinted: bool) -> Html:
    """One arc with the brackets or coloured words that it joins."""
    opacity = f"{0.12 + 0.25 * pair.share:.2f}"
    words = [_rectangle(place.left, place.right, plan.tops[place.line]) for place in arc.stretches]
    tints = tag("g", words, stroke="none", fill=pair.ink, fill_opacity=opacity) if tinted else None
    brackets = tag("path", d="".join(map(_bracket, arc.brackets)), stroke_width="1.6") if arc.brackets else None
    line = tag("path", d=arc.path, **pair.stroke())
    head = tag("path", d=_arrow(arc), stroke_width="2") if pair.directed else None
    return tag("g", tag("title", pair.tooltip), tints, brackets, line, head, stroke=pair.ink, class_=pair.step)


def _bracket(bracket: Bracket) -> str:
    start = f"M{bracket.left:.1f} {bracket.foot if bracket.left_foot else bracket.y:.1f}V{bracket.y:.1f}"
    return f"{start}H{bracket.right:.1f}" + (f"V{bracket.foot:.1f}" if bracket.right_foot else "")


def _arrow(arc: Arc) -> str:
    """An arrow head at the second end, where the arc is vertical."""
    x, y = arc.ends[1]
    back = y - _ARROW if arc.above[1] else y + _ARROW
    return f"M{x - 4:.1f} {back:.1f}L{x:.1f} {y:.1f}L{x + 4:.1f} {back:.1f}"


def _rectangle(left: float, right: float, top: float, **looks: str) -> Html:
    place = {"x": f"{left - 1:.1f}", "y": f"{top:.1f}", "width": f"{right - left + 2:.1f}", "height": f"{TEXT:.0f}"}
    return tag("rect", **place, rx="3", **looks)


def _words(plan: ArcLayout, instance: Instance) -> Html:
    """The words at their places, in reading order; annotated words are boxed."""
    gold = annotated_words(instance)
    lines: list[Html] = []
    for line, top in zip(plan.lines, plan.tops, strict=True):
        boxed = [
            _rectangle(box.left, box.right, top, stroke="currentColor", fill="none")
            for box in line.boxes
            if box.word is not None and (line.part, box.word) in gold
        ]
        words = tag("g", map(_word, line.boxes), transform=f"translate(0 {top + _BASELINE:.1f})")
        way = "rtl" if line.rtl else "ltr"
        lines.append(tag("g", boxed, words, direction=way, lang=instance.parts[line.part].lang))
    return tag("g", lines, fill="currentColor", font_size=f"{SIZE:g}", text_anchor="middle")


def _word(box: Box) -> Html:
    # The space is for text search and copying; it takes no room in the picture.
    return join(" " if box.space else None, fitted(box.shown, box.width, x=f"{box.middle:.1f}"))


def _label_spots(arcs: Sequence[Arc]) -> list[XY]:
    """A position on each arc for its rank: the first that is clear of earlier ranks, else the clearest."""
    chosen: list[XY] = []
    for arc in arcs:
        clear = [min((math.dist(spot, other) for other in chosen), default=99.0) for spot in arc.spots]
        good = next((index for index, distance in enumerate(clear) if distance > 2 * _RADIUS + _APART), None)
        chosen.append(arc.spots[clear.index(max(clear)) if good is None else good])
    return chosen


def _label(pair: _Drawn, spot: XY) -> Html:
    """The rank on its arc."""
    disc = tag("circle", cx=f"{spot.x:.1f}", cy=f"{spot.y:.1f}", r=f"{_RADIUS}", fill=pair.ink)
    figure = label(str(pair.rank), _RANK_SIZE, x=f"{spot.x:.1f}", y=f"{spot.y + 3.6:.1f}", fill="#fff")
    return tag("g", disc, figure, class_=pair.step)
