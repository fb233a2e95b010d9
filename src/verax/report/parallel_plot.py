"""Two parallel texts as SVG: words coloured by their scores, lines between aligned words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from verax.report.lines import SIZE, TEXT, Box
from verax.report.parallel_layout import LinkNumber, ParallelLayout, Strand, WordRow, lay_out_parallel
from verax.report.words import LEVELS, largest, level, look, written
from verax.results.render.markup import Html, join, tag
from verax.results.render.text_width import FONT, fitted, label
from verax.types import Instance, Links

_BASELINE = 15.0
_DEEPEST = 0.6
_FAINTEST = 0.25
_LISTED = 40
_MARK_SIZE = 10.0


class Scored(NamedTuple):
    """Scores of the words of one side, by their numbers over all parts, and whether they have a sign."""

    scores: Mapping[int, float]
    signed: bool = True

    def level(self, word: int) -> int:
        """Strength relative to the strongest word, in ten steps."""
        return level(self.scores.get(word, 0.0), largest(self.scores))

    def title(self, word: int) -> str:
        """The score of a word as text."""
        return written(self.scores[word], signed=self.signed) if word in self.scores else "not scored"

    def look(self, word: int) -> str:
        """CSS class of a word: for, against, size, neither (too weak to be visible) or unscored."""
        if word not in self.scores:
            return "unscored"
        return look(self.scores[word], signed=self.signed) if self.level(word) else "neither"


def drawing(reference: Instance, translation: Instance, links: Links, sides: tuple[Scored, Scored]) -> Html:
    """The picture. The script of the page repaints it for another method by the same rules (`paint` there)."""
    plan = lay_out_parallel(reference, translation, links)
    rows = [_row(row, side, sides[side]) for pair in plan.rows for side, row in enumerate(pair)]
    words = [[word for part in one.parts for word in part.words] for one in (reference, translation)]
    drawn = tag(
        "svg",
        tag("g", [_strand(strand, words, sides) for strand in plan.strands]),
        tag("g", rows, font_size=f"{SIZE:g}", text_anchor="middle"),
        tag("g", [_mark(mark) for mark in plan.marks], class_="elsewhere"),
        width=f"{plan.width:.0f}",
        height=f"{plan.height:.0f}",
        viewBox=f"0 0 {plan.width:.0f} {plan.height:.0f}",
        font_family=FONT,
        role="img",
        aria_label=_spoken(words, links),
        class_="plot parallel",
    )
    return tag("div", drawn, class_="scroll", dir="rtl" if _all_rtl(plan) else None)


def _all_rtl(plan: ParallelLayout) -> bool:
    return all(row.rtl for pair in plan.rows for row in pair)


def _row(row: WordRow, side: int, scored: Scored) -> Html:
    # the attributes of SVG and HTML: some readers know only one of them
    way = "rtl" if row.rtl else "ltr"
    return tag("g", [_word(box, row.top, side, scored) for box in row.boxes], direction=way, dir=way, lang=row.lang)


def _word(box: Box, top: float, side: int, scored: Scored) -> Html:
    """One word with its colour behind it and a line below: solid for, dotted against."""
    # the space is for text search and copying; it takes no room in the picture
    before = " " if box.space else None
    shown = fitted(box.shown, box.width, x=f"{box.middle:.1f}", y=f"{top + _BASELINE:.1f}")
    if box.word is None:
        return join(before, shown)
    depth = scored.level(box.word) / LEVELS
    left, y = f"{box.left - 1:.1f}", f"{top + TEXT - 1:.1f}"
    place = {"x": left, "y": f"{top:.1f}", "width": f"{box.width + 2:.1f}", "height": f"{TEXT:.0f}"}
    return join(
        before,
        tag(
            "g",
            tag("title", scored.title(box.word)),
            tag("rect", **place, rx="2", fill_opacity=f"{_DEEPEST * depth:.2f}"),
            tag("line", x1=left, x2=f"{box.right + 1:.1f}", y1=y, y2=y, stroke_width=f"{2 + 2 * depth:.1f}"),
            shown,
            class_=f"scored {scored.look(box.word)}",
            data_at=f"{side} {box.word}",
        ),
    )


def _strand(strand: Strand, words: Sequence[Sequence[str]], sides: tuple[Scored, Scored]) -> Html:
    """A link: stronger the more both words weigh, and in their colour if it is the same."""
    a, b = strand.ends
    looks = sides[0].look(a), sides[1].look(b)
    both = looks[0] if looks[0] == looks[1] and looks[0] in {"for", "against", "size"} else "neither"
    weight = sides[0].level(a) * sides[1].level(b) / LEVELS**2
    return tag(
        "path",
        tag("title", f"{words[0][a]} ↔ {words[1][b]}"),
        d=strand.path,
        class_=f"link {both}",
        stroke_opacity=f"{_FAINTEST + (1 - _FAINTEST) * weight:.2f}",
        data_ends=f"{a} {b}",
    )


def _mark(mark: LinkNumber) -> Html:
    return label(mark.shown, _MARK_SIZE, x=f"{mark.x:.1f}", y=f"{mark.y:.1f}", text_anchor="middle", class_="tick")


def _spoken(words: Sequence[Sequence[str]], links: Links) -> str:
    """Text alternative of the picture: which words are aligned."""
    known = [(a, b) for a, b in links if a < len(words[0]) and b < len(words[1])]
    if not known:
        return f"{' '.join(words[0])} / {' '.join(words[1])}: no words are linked."
    listed = "; ".join(f"{words[0][a]} ↔ {words[1][b]}" for a, b in known[:_LISTED])
    rest = f"; and {len(known) - _LISTED} more" if len(known) > _LISTED else ""
    return f"Words that belong together: {listed}{rest}."
