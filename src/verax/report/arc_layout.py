"""Where everything of a picture of pairs stands: lines of words, brackets along spans, and the arcs between them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from verax.report.arc_lines import MARGIN, Line, lay_out
from verax.report.arc_routes import TEXT, Gaps, Point, over, routed
from verax.types import Instance, Span, Unit

WIDTH = 800.0
"""The most that a picture is wide; it is as wide as its longest line."""
LANE = 6.0
"""How far apart brackets lie that would overlap."""
_BAND = 84.0
_LEADING = 8.0
_ROUTED_LEADING = 15.0
_RISE = (22.0, 0.14, 62.0)
_FOOT = 4.0
_BESIDE = 3.0


class Stretch(NamedTuple):
    """A part of a line that a span covers."""

    line: int
    left: float
    right: float

    @property
    def middle(self) -> float:
        """Half-way along it."""
        return (self.left + self.right) / 2


class Side(NamedTuple):
    """One side of a pair: all that its span covers, which of it the arc ends at and where, and whether above it."""

    stretches: tuple[Stretch, ...]
    end: Stretch
    x: float
    above: bool


class Bracket(NamedTuple):
    """A line along a stretch of words at height `y`; it has feet down to `foot` where its span begins and ends."""

    left: float
    right: float
    y: float
    foot: float
    left_foot: bool
    right_foot: bool


@dataclass(frozen=True, slots=True)
class Arc:
    """One pair: its arc as SVG writes paths, where its label may stand, what its spans cover, and their brackets.

    `ends` are in the order of the unit's spans; `above` says of each whether it lies above its line or below.
    """

    ends: tuple[Point, Point]
    above: tuple[bool, bool]
    path: str
    spots: tuple[Point, ...]
    stretches: tuple[Stretch, ...]
    brackets: tuple[Bracket, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """A picture in numbers: its lines, the top of each, and an arc for each pair, in the order of the pairs."""

    width: float
    height: float
    lines: tuple[Line, ...]
    tops: tuple[float, ...]
    arcs: tuple[Arc, ...]


def layout(instance: Instance, units: Sequence[Unit], *, bracketed: bool) -> Layout:
    """Set the words of an instance and lead an arc from one span of each unit to the other.

    Args:
        instance: whose words are set.
        units: pairs of spans; the first ones come nearest to the text.
        bracketed: whether spans get brackets, for which there must be room; else arcs end at the words.
    """
    lines, width = lay_out(instance.parts, WIDTH)
    both = frozenset(units)
    sides = [_sides(lines, unit, beside=unit[::-1] in both) for unit in units]
    lanes = _Lanes()
    taken = [tuple(lanes.take(side) if bracketed else 0 for side in pair) for pair in sides]
    tops, height = _tops(lines, sides, lanes)
    gaps = Gaps(lines, width)
    arcs = tuple(
        _arc(gaps, tops, pair, numbers, bracketed=bracketed) for pair, numbers in zip(sides, taken, strict=True)
    )
    return Layout(width, height, lines, tops, arcs)


def _stretches(lines: Sequence[Line], span: Span) -> tuple[Stretch, ...]:
    """What a span covers, in reading order; a line has two of them where words written the other way stand between."""
    found: list[Stretch] = []
    for number, line in enumerate(lines):
        open_stretch: Stretch | None = None
        boxes = [box for box in line.boxes if box.word is not None and line.part == span.part]
        for box in sorted(boxes, key=lambda box: box.left, reverse=line.rtl):
            if box.word in range(span.start, span.end):
                near = open_stretch or Stretch(number, box.left, box.right)
                open_stretch = Stretch(number, min(near.left, box.left), max(near.right, box.right))
            elif open_stretch is not None:
                found.append(open_stretch)
                open_stretch = None
        if open_stretch is not None:
            found.append(open_stretch)
    return tuple(found)


def _sides(lines: Sequence[Line], unit: Unit, *, beside: bool) -> tuple[Side, Side]:
    """Both sides, each with the widest stretch of its span as the end of the arc.

    Args:
        lines: in which the words stand.
        unit: the pair.
        beside: whether the arc must leave room for that of the other direction.
    """
    found = [_stretches(lines, span) for span in unit]
    first, second = (max(stretches, key=lambda stretch: stretch.right - stretch.left) for stretches in found)
    sign = (unit[0] < unit[1]) - (unit[0] > unit[1]) if beside else 0
    return (
        Side(found[0], first, _end_of(first, sign), above=first.line >= second.line),
        Side(found[1], second, _end_of(second, sign), above=second.line >= first.line),
    )


def _end_of(stretch: Stretch, sign: int) -> float:
    """Where an arc ends along a stretch: in the middle, or a little to one side."""
    return stretch.middle + sign * min(_BESIDE, (stretch.right - stretch.left) / 4)


@dataclass
class _Lanes:
    """Brackets that lie over or under each line, so many lanes deep that none overlaps another."""

    taken: dict[tuple[int, bool], list[list[tuple[float, float]]]] = field(default_factory=lambda: defaultdict(list))

    def take(self, side: Side) -> int:
        """The number of the lane nearest to the text that is free for a span wherever it stands."""
        number = 0
        while not all(self._is_free(stretch, number, above=side.above) for stretch in side.stretches):
            number += 1
        for stretch in side.stretches:
            lanes = self.taken[stretch.line, side.above]
            lanes += [[] for _ in range(number + 1 - len(lanes))]
            lanes[number].append((stretch.left, stretch.right))
        return number

    def _is_free(self, stretch: Stretch, number: int, *, above: bool) -> bool:
        lanes = self.taken[stretch.line, above]
        place = (stretch.left, stretch.right)
        others = lanes[number] if number < len(lanes) else []
        return all(place == other or place[1] < other[0] or other[1] < place[0] for other in others)

    def depth(self, line: int, *, above: bool) -> float:
        """How much room the brackets of one side of a line need."""
        return LANE * len(self.taken.get((line, above), ()))


def _rise(pair: tuple[Side, Side]) -> float:
    """How high an arc within one line stands over it."""
    least, share, most = _RISE
    return min(most, least + share * abs(pair[0].x - pair[1].x))


def _tops(lines: Sequence[Line], sides: Sequence[tuple[Side, Side]], lanes: _Lanes) -> tuple[tuple[float, ...], float]:
    """The top of each line's text, with room for what runs over, under and between the lines; and the whole height."""
    rises: dict[int, float] = {}
    crossings = [sorted((first.end.line, second.end.line)) for first, second in sides]
    for pair in filter(_is_over, sides):
        at = pair[0].end.line
        rises[at] = max(_rise(pair), rises.get(at, 0.0))
    tops: list[float] = []
    y = MARGIN
    for number, line in enumerate(lines):
        if number:
            new_part = lines[number - 1].part != line.part
            passed = any(start < number <= end for start, end in crossings)
            y += (_BAND if new_part else _ROUTED_LEADING) if passed else _LEADING * (1 + 2 * new_part)
        y += lanes.depth(number, above=True) + rises.get(number, 0.0)
        tops.append(y)
        y += TEXT + lanes.depth(number, above=False)
    return tuple(tops), y + MARGIN


def _is_over(pair: tuple[Side, Side]) -> bool:
    return pair[0].end.line == pair[1].end.line


def _arc(gaps: Gaps, tops: Sequence[float], pair: tuple[Side, Side], lanes: Sequence[int], *, bracketed: bool) -> Arc:
    ends: list[Point] = []
    brackets: list[Bracket] = []
    for side, lane in zip(pair, lanes, strict=True):
        away = LANE * (lane + 1) if bracketed else 0.0
        heights = {at: tops[at.line] - away if side.above else tops[at.line] + TEXT + away for at in side.stretches}
        ends.append(Point(side.x, heights[side.end]))
        brackets += _brackets(gaps.lines, heights, _FOOT if side.above else -_FOOT) if bracketed else []
    start, end = ends
    if _is_over(pair):
        path, spots = over(start, end, _rise(pair))
    else:
        upper, lower = sorted(((start, pair[0].end.line), (end, pair[1].end.line)), key=lambda end: end[1])
        path, spots = routed(gaps, tops, upper, lower)
    covered = pair[0].stretches + pair[1].stretches
    return Arc((start, end), (pair[0].above, pair[1].above), path, spots, covered, tuple(brackets))


def _brackets(lines: Sequence[Line], heights: dict[Stretch, float], foot: float) -> list[Bracket]:
    """A bracket for each stretch of a span; where the span goes on in another line it stays open."""
    first, last = next(iter(heights)), next(reversed(heights))
    found = []
    for at, y in heights.items():
        begins, ends = at == first, at == last
        left, right = (ends, begins) if lines[at.line].rtl else (begins, ends)
        found.append(Bracket(at.left, at.right, y, y + foot, left, right))
    return found
