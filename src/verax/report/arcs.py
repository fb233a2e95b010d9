"""Interactions as a picture: the parts of an input one below the other, an arc for each of the strongest pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from verax.report.arc_layout import Arc, Bracket, Layout, layout
from verax.report.arc_lines import SIZE, Box
from verax.report.arc_routes import TEXT, Point
from verax.report.pairs import SHOWN, Pair, joined, pairs_table, step, top_pairs, words_of
from verax.report.words import gold_words
from verax.results.render.markup import Html, join, tag
from verax.results.render.numbers import count, plural
from verax.results.render.text_width import FONT, fitted, label
from verax.types import Highlight, Instance, Unit

INKS = {"for": "#b05800", "against": "#0072b2", "neither": "#707784"}
"""Colours with enough contrast to white figures and to light and dark pages."""
_PEOPLE_SHOWN = 30
_RADIUS = 7.5
_RANK_SIZE = 10.0
_ARROW = 6.0
_BASELINE = 15.0


class _Drawn(NamedTuple):
    """One pair as it is drawn: its tooltip, its rank if it has one, and the look of its arc.

    `share` is its strength relative to the strongest pair, `step` the class by which the page can hide it.
    """

    unit: Unit
    said: str
    rank: int | None
    ink: str
    share: float
    dotted: bool
    directed: bool
    step: str | None

    def stroke(self) -> dict[str, str | None]:
        """Attributes of its line."""
        width = 1.6 + 3 * self.share
        return {
            "stroke_width": f"{width:.1f}",
            "stroke_opacity": f"{0.6 + 0.4 * self.share:.2f}",
            "stroke_dasharray": f"0 {2 * width:.1f}" if self.dotted else None,
        }


def arcs_html(highlight: Highlight, instance: Instance, *, inline: bool, top: int = SHOWN) -> Html:
    """The pairs with the highest scores as arcs between their words or brackets, and as a table.

    Args:
        highlight: an explanation by interactions.
        instance: the input it explains.
        inline: for places without the style sheet of the page, which hides pairs that a reader did not ask for.
        top: how many pairs are drawn.
    """
    pairs = top_pairs(highlight, instance, top)
    if not pairs:
        return tag("p", tag("em", "no pair of words or spans"))
    strongest = max(abs(score) for score in highlight.scores)
    drawn = [_scored(pair, strongest, inline=inline) for pair in pairs]
    spoken = f"The {plural(len(pairs), 'pair')} with the highest scores: {_listed(drawn)}"
    picture = _drawing(drawn, instance, spoken, bracketed=highlight.kind == "span_interaction", inline=inline)
    return join(picture, pairs_table(pairs, len(highlight.units), inline=inline))


def people_html(instance: Instance, *, inline: bool) -> Html | None:
    """The annotated span pairs, in grey; None where there are none."""
    units = () if instance.human is None else instance.human.span_pairs or ()
    if not units:
        return None
    drawn = [
        _Drawn(
            unit, joined(words_of(unit, instance)), None, INKS["neither"], 0.3, dotted=False, directed=False, step=None
        )
        for unit in units[:_PEOPLE_SHOWN]
    ]
    rest = len(units) - len(drawn)
    more = tag("p", f"and {count(rest)} more") if rest else None
    return join(_drawing(drawn, instance, f"Marked by people: {_listed(drawn)}", bracketed=True, inline=inline), more)


def _scored(pair: Pair, strongest: float, *, inline: bool) -> _Drawn:
    ink = INKS["for" if pair.score > 0 else "against" if pair.score < 0 else "neither"]
    share = abs(pair.score) / strongest if strongest else 0.0
    seen = None if inline else step(pair.rank)
    return _Drawn(pair.unit, pair.said, pair.rank, ink, share, pair.score < 0, pair.directed, seen)


def _listed(drawn: Sequence[_Drawn]) -> str:
    return "; ".join(pair.said for pair in drawn)


def _drawing(drawn: Sequence[_Drawn], instance: Instance, spoken: str, *, bracketed: bool, inline: bool) -> Html:
    """Arcs at the bottom, words over them, ranks on top."""
    plan = layout(instance, [pair.unit for pair in drawn], bracketed=bracketed)
    # Weak ones first, so that strong ones lie over them.
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
        aria_label=spoken,
        class_=None if inline else "arcs",
    )
    frame = {"style": "overflow-x:auto"} if inline else {"class_": "scroll"}
    return tag("div", picture, dir="rtl" if plan.lines[0].rtl else None, **frame)


def _arc(plan: Layout, pair: _Drawn, arc: Arc, *, tinted: bool) -> Html:
    """One arc with the brackets or coloured words that it joins, and the pair as a tooltip."""
    opacity = f"{0.12 + 0.25 * pair.share:.2f}"
    words = [_rectangle(place.left, place.right, plan.tops[place.line]) for place in arc.stretches]
    tints = tag("g", words, stroke="none", fill=pair.ink, fill_opacity=opacity) if tinted else None
    brackets = tag("path", d="".join(map(_bracket, arc.brackets)), stroke_width="1.6") if arc.brackets else None
    line = tag("path", d=arc.path, **pair.stroke())
    head = tag("path", d=_arrow(arc), stroke_width="2") if pair.directed else None
    return tag("g", tag("title", pair.said), tints, brackets, line, head, stroke=pair.ink, class_=pair.step)


def _bracket(bracket: Bracket) -> str:
    start = f"M{bracket.left:.1f} {bracket.foot if bracket.left_foot else bracket.y:.1f}V{bracket.y:.1f}"
    return f"{start}H{bracket.right:.1f}" + (f"V{bracket.foot:.1f}" if bracket.right_foot else "")


def _arrow(arc: Arc) -> str:
    """The head of an arrow at the second end, which an arc meets upright from its own side of the line."""
    x, y = arc.ends[1]
    back = y - _ARROW if arc.above[1] else y + _ARROW
    return f"M{x - 4:.1f} {back:.1f}L{x:.1f} {y:.1f}L{x + 4:.1f} {back:.1f}"


def _rectangle(left: float, right: float, top: float, **looks: str) -> Html:
    return tag(
        "rect",
        x=f"{left - 1:.1f}",
        y=f"{top:.1f}",
        width=f"{right - left + 2:.1f}",
        height=f"{TEXT:.0f}",
        rx="3",
        **looks,
    )


def _words(plan: Layout, instance: Instance) -> Html:
    """The words at their places, in reading order; annotated words are boxed."""
    gold = gold_words(instance)
    lines: list[Html] = []
    for line, top in zip(plan.lines, plan.tops, strict=True):
        boxed = [
            _rectangle(box.left, box.right, top, stroke="currentColor", fill="none")
            for box in line.boxes
            if box.word is not None and (line.part, box.word) in gold
        ]
        words = tag("g", map(_word, line.boxes), transform=f"translate(0 {top + _BASELINE:.1f})")
        lines.append(
            tag("g", boxed, words, direction="rtl" if line.rtl else "ltr", lang=instance.parts[line.part].lang)
        )
    return tag("g", lines, fill="currentColor", font_size=f"{SIZE:g}", text_anchor="middle")


def _word(box: Box) -> Html:
    # The space is for text search and copying; it takes no room in the picture.
    return join(" " if box.space else None, fitted(box.shown, box.width, x=f"{box.middle:.1f}"))


def _label_spots(arcs: Sequence[Arc]) -> list[Point]:
    """A place on each arc for its rank: the first that is clear of earlier ranks, else the clearest."""
    chosen: list[Point] = []
    for arc in arcs:
        clear = [min((_distance(spot, other) for other in chosen), default=99.0) for spot in arc.spots]
        good = next((index for index, distance in enumerate(clear) if distance > 2 * _RADIUS), None)
        chosen.append(arc.spots[clear.index(max(clear)) if good is None else good])
    return chosen


def _distance(one: Point, other: Point) -> float:
    return float(((one.x - other.x) ** 2 + (one.y - other.y) ** 2) ** 0.5)


def _label(pair: _Drawn, spot: Point) -> Html:
    """The rank on its arc."""
    disc = tag("circle", cx=f"{spot.x:.1f}", cy=f"{spot.y:.1f}", r=f"{_RADIUS}", fill=pair.ink)
    figure = label(str(pair.rank), _RANK_SIZE, x=f"{spot.x:.1f}", y=f"{spot.y + 3.6:.1f}", fill="#fff")
    return tag("g", disc, figure, class_=pair.step)
