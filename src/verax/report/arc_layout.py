"""Positions in a picture of pairs: lines of words, brackets along spans, and the arcs between them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from verax.report.lines import MARGIN, TEXT, TextLine, lay_out
from verax.types import Instance, Span, Unit

WIDTH = 800.0
"""Largest width; a picture is as wide as its longest line."""
LANE = 6.0
"""Distance of brackets that would overlap."""
_BAND = 84.0
_LEADING = 8.0
_ROUTED_LEADING = (15.0, 9.0, 60.0)
"""Between lines of one part: for one arc, more for each other, and at most."""
_RISE = (22.0, 0.14, 62.0)
_FOOT = 4.0
_OFF = 2.0
"""Distance of the nearest bracket from the text, so that it stays clear of boxes around words."""
_OFFSET = 3.0
_SPREAD = 5.0
# An arc avoids gaps between words that are narrower than this or taken, by a detour of at most this length.
_CLEAR = 3.0
_DETOUR = 40.0
_SIDE_BY_SIDE = 6.0
_SPOTS = (0.5, 0.36, 0.64, 0.24, 0.76)


class XY(NamedTuple):
    """A position in the picture."""

    x: float
    y: float


class Stretch(NamedTuple):
    """A part of a line that a span covers."""

    line: int
    left: float
    right: float


class Side(NamedTuple):
    """One side of a pair: the stretches of its span, the one where the arc ends, the x of this end, and its side."""

    stretches: tuple[Stretch, ...]
    end: Stretch
    x: float
    above: bool


class Bracket(NamedTuple):
    """A line along a stretch of words at height `y`, with feet to `foot` where its span begins and ends."""

    left: float
    right: float
    y: float
    foot: float
    left_foot: bool
    right_foot: bool


@dataclass(frozen=True, slots=True)
class Arc:
    """The arc of a pair.

    Args:
        ends: in the order of the unit's spans.
        above: whether each end is above its line.
        spots: positions for its label.
        stretches: of both spans.
    """

    ends: tuple[XY, XY]
    above: tuple[bool, bool]
    path: str
    spots: tuple[XY, ...]
    stretches: tuple[Stretch, ...]
    brackets: tuple[Bracket, ...]


@dataclass(frozen=True, slots=True)
class ArcLayout:
    """A picture: its size, its lines, the top of each line, and an arc for each pair."""

    width: float
    height: float
    lines: tuple[TextLine, ...]
    tops: tuple[float, ...]
    arcs: tuple[Arc, ...]


def lay_out_arcs(instance: Instance, units: Sequence[Unit], *, bracketed: bool, width: float = WIDTH) -> ArcLayout:
    """Lay out the words of an instance, and an arc between the spans of each unit.

    Args:
        units: pairs of spans; the brackets of the first ones are nearest to the text.
        bracketed: whether arcs end at brackets rather than at words.
        width: of a line, at most.
    """
    lines, width = lay_out(instance.parts, width)
    both = frozenset(units)
    sides = [_sides(lines, unit, offset=unit[::-1] in both) for unit in units]
    lanes = _Lanes()
    taken = [tuple(lanes.take(side) if bracketed else 0 for side in pair) for pair in sides]
    tops, height = _tops(lines, sides, lanes)
    gaps = Gaps(lines, width)
    arcs = tuple(
        _arc(gaps, tops, pair, numbers, bracketed=bracketed) for pair, numbers in zip(sides, taken, strict=True)
    )
    return ArcLayout(width, height, lines, tops, arcs)


def _stretches(lines: Sequence[TextLine], span: Span) -> tuple[Stretch, ...]:
    """Stretches of a span in reading order; words in the other direction split a line into two of them."""
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


def _sides(lines: Sequence[TextLine], unit: Unit, *, offset: bool) -> tuple[Side, Side]:
    """Both sides of a pair; the arc ends at the widest stretch of each span.

    Args:
        offset: whether the arc must leave room for that of the other direction.
    """
    found = [_stretches(lines, span) for span in unit]
    first, second = (max(stretches, key=lambda stretch: stretch.right - stretch.left) for stretches in found)
    sign = (unit[0] < unit[1]) - (unit[0] > unit[1]) if offset else 0
    return (
        Side(found[0], first, _end_of(first, sign), above=first.line >= second.line),
        Side(found[1], second, _end_of(second, sign), above=second.line >= first.line),
    )


def _end_of(stretch: Stretch, sign: int) -> float:
    """The x where an arc ends: the middle of a stretch, or a little to one side of it."""
    middle = (stretch.left + stretch.right) / 2
    return middle + sign * min(_OFFSET, (stretch.right - stretch.left) / 4)


@dataclass
class _Lanes:
    """Brackets above and below each line, in lanes so that none overlaps another."""

    taken: dict[tuple[int, bool], list[list[tuple[float, float]]]] = field(default_factory=lambda: defaultdict(list))

    def take(self, side: Side) -> int:
        """Number of the lane nearest to the text that is free for all stretches of a side, which takes it."""
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
        """Height of the brackets on one side of a line."""
        lanes = self.taken.get((line, above), ())
        return LANE * len(lanes) + _OFF if lanes else 0.0


def _rise(pair: tuple[Side, Side]) -> float:
    """Height of an arc within one line."""
    least, share, most = _RISE
    return min(most, least + share * abs(pair[0].x - pair[1].x))


def _tops(
    lines: Sequence[TextLine], sides: Sequence[tuple[Side, Side]], lanes: _Lanes
) -> tuple[tuple[float, ...], float]:
    """The top of each line of text, with room for brackets and arcs, and the height of the picture."""
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
            passed = sum(start < number <= end for start, end in crossings)
            y += _passage(passed, new_part=new_part) if passed else _LEADING * (1 + 2 * new_part)
        y += lanes.depth(number, above=True) + rises.get(number, 0.0)
        tops.append(y)
        y += TEXT + lanes.depth(number, above=False)
    return tuple(tops), y + MARGIN


def _passage(arcs: int, *, new_part: bool) -> float:
    """Height between two lines that arcs pass: the more arcs, the higher, so that they fan out."""
    least, more, most = _ROUTED_LEADING
    return _BAND if new_part else min(most, least + more * (arcs - 1))


def _is_over(pair: tuple[Side, Side]) -> bool:
    return pair[0].end.line == pair[1].end.line


def _arc(gaps: Gaps, tops: Sequence[float], pair: tuple[Side, Side], lanes: Sequence[int], *, bracketed: bool) -> Arc:
    ends: list[XY] = []
    brackets: list[Bracket] = []
    for side, lane in zip(pair, lanes, strict=True):
        away = LANE * (lane + 1) + _OFF if bracketed else 0.0
        heights = {at: tops[at.line] - away if side.above else tops[at.line] + TEXT + away for at in side.stretches}
        ends.append(XY(side.x, heights[side.end]))
        brackets += _brackets(gaps.lines, heights, _FOOT if side.above else -_FOOT) if bracketed else []
    start, end = ends
    if _is_over(pair):
        path, spots = over(start, end, _rise(pair))
    else:
        upper, lower = sorted(((start, pair[0].end.line), (end, pair[1].end.line)), key=lambda end: end[1])
        path, spots = routed(gaps, tops, upper, lower)
    covered = pair[0].stretches + pair[1].stretches
    return Arc((start, end), (pair[0].above, pair[1].above), path, spots, covered, tuple(brackets))


def _brackets(lines: Sequence[TextLine], heights: dict[Stretch, float], foot: float) -> list[Bracket]:
    """A bracket for each stretch of a span, open where the span continues in another line."""
    first, last = next(iter(heights)), next(reversed(heights))
    brackets = []
    for at, y in heights.items():
        begins, ends = at == first, at == last
        left, right = (ends, begins) if lines[at.line].rtl else (begins, ends)
        brackets.append(Bracket(at.left, at.right, y, y + foot, left, right))
    return brackets


@dataclass
class Gaps:
    """Gaps between words and next to them where arcs cross lines, preferably each through a gap of its own."""

    lines: Sequence[TextLine]
    width: float
    taken: Counter[tuple[int, float]] = field(default_factory=Counter)

    def take(self, number: int, x: float) -> float:
        """The gap of a line that is nearest to x, with a penalty for narrow and taken gaps."""
        boxes = sorted(self.lines[number].boxes, key=lambda box: box.left)
        left, right = boxes[0].left - MARGIN / 2, boxes[-1].right + MARGIN / 2
        free = [*_range(MARGIN / 2, left), *_range(right, self.width - MARGIN / 2)]
        costs = {gap: abs(gap - x) for gap in free}
        for before, after in pairwise(boxes):
            gap = (before.right + after.left) / 2
            costs[gap] = abs(gap - x) + (0.0 if after.left - before.right >= _CLEAR else _DETOUR)
        chosen = min(costs, key=lambda gap: costs[gap] + _DETOUR * self.taken[number, gap])
        self.taken[number, chosen] += 1
        return chosen


def over(start: XY, end: XY, rise: float) -> tuple[str, tuple[XY, ...]]:
    """Path of an arc over a line and positions for its label; a word paired with itself gets a loop."""
    if abs(start.x - end.x) < 2 * _SPREAD:
        start, end = start._replace(x=start.x - _SPREAD), end._replace(x=end.x + _SPREAD)
    top = min(start.y, end.y) - rise + 6
    path = f"M{start.x:.1f} {start.y:.1f}C{start.x:.1f} {top:.1f} {end.x:.1f} {top:.1f} {end.x:.1f} {end.y:.1f}"
    return path, tuple(_on_arch(start, end, top, share) for share in _SPOTS)


def routed(
    gaps: Gaps, tops: Sequence[float], upper: tuple[XY, int], lower: tuple[XY, int]
) -> tuple[str, tuple[XY, ...]]:
    """Path of an arc from below one line to above a later one, and positions for its label.

    Args:
        upper, lower: each end with the number of its line.
    """
    (start, first), (end, last) = upper, lower
    points = [start]
    for number in range(first + 1, last):
        x = gaps.take(number, _wanted(gaps.lines, number, first, last, points[-1], end))
        points += [XY(x, tops[number]), XY(x, tops[number] + TEXT)]
    points.append(end)
    path = f"M{start.x:.1f} {start.y:.1f}"
    bends = list(pairwise(points))[::2]
    for index, (a, b) in enumerate(bends):
        path += f"L{a.x:.1f} {a.y:.1f}" if index else ""
        half = (a.y + b.y) / 2
        path += f"C{a.x:.1f} {half:.1f} {b.x:.1f} {half:.1f} {b.x:.1f} {b.y:.1f}"
    longest = max(bends, key=lambda bend: bend[1].y - bend[0].y)
    return path, tuple(_on_bend(*longest, share) for share in _SPOTS)


def _on_arch(start: XY, end: XY, top: float, t: float) -> XY:
    """A point of the curve between two positions that rises to `top`."""
    before, after, rest = (1 - t) ** 3, t**3, 3 * t * (1 - t)
    along = after + rest * t
    return XY(start.x + (end.x - start.x) * along, before * start.y + after * end.y + rest * top)


def _on_bend(a: XY, b: XY, t: float) -> XY:
    """A point of the curve between two positions that is vertical at both ends."""
    along = 3 * t * t - 2 * t**3
    return XY(a.x + (b.x - a.x) * along, a.y + (b.y - a.y) * (1.5 * t * (1 - t) + t**3))


def _wanted(lines: Sequence[TextLine], number: int, first: int, last: int, so_far: XY, end: XY) -> float:
    """The x where an arc should cross a line, such that it moves sideways between parts rather than between lines."""
    if lines[first].part == lines[last].part:
        return so_far.x + (end.x - so_far.x) / (last - number + 1)
    return end.x if lines[number].part == lines[last].part else so_far.x


def _range(low: float, high: float) -> list[float]:
    """Positions for parallel arcs next to the text."""
    return [low + _SIDE_BY_SIDE * index for index in range(int((high - low) / _SIDE_BY_SIDE) + 1)]
