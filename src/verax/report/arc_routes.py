"""How an arc runs: over one line, or from line to line between the words of the lines that lie in between."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from verax.report.arc_lines import MARGIN, Line

TEXT = 20.0
"""How high a line of text is."""
_SPREAD = 5.0
# Between words that touch an arc has no room of its own: it goes so far round for a gap that is wide enough and free.
_CLEAR = 3.0
_DETOUR = 40.0
_SIDE_BY_SIDE = 6.0
_SPOTS = (0.5, 0.36, 0.64, 0.24, 0.76)


class Point(NamedTuple):
    """A place in the picture."""

    x: float
    y: float


@dataclass
class Gaps:
    """Where arcs cross the lines: between words or beside them, and rather each through a gap of its own."""

    lines: Sequence[Line]
    width: float
    taken: Counter[tuple[int, float]] = field(default_factory=Counter)

    def take(self, number: int, x: float) -> float:
        """The gap of a line that is nearest to x, as far as others leave it free."""
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


def over(start: Point, end: Point, rise: float) -> tuple[str, tuple[Point, ...]]:
    """An arc over a line, and where its label may stand; a word paired with itself gets a loop."""
    if abs(start.x - end.x) < 2 * _SPREAD:
        start, end = start._replace(x=start.x - _SPREAD), end._replace(x=end.x + _SPREAD)
    top = min(start.y, end.y) - rise + 6
    path = f"M{start.x:.1f} {start.y:.1f}C{start.x:.1f} {top:.1f} {end.x:.1f} {top:.1f} {end.x:.1f} {end.y:.1f}"
    apex = (start.y + 6 * top + end.y) / 8
    return path, (Point((start.x + end.x) / 2, apex),)


def routed(
    gaps: Gaps, tops: Sequence[float], upper: tuple[Point, int], lower: tuple[Point, int]
) -> tuple[str, tuple[Point, ...]]:
    """An arc from a place under one line to a place over a later one, and where its label may stand.

    Args:
        gaps: between the words of the lines, of which the arc takes those that it crosses.
        tops: of the lines.
        upper, lower: each end with the number of its line.
    """
    (start, first), (end, last) = upper, lower
    points = [start]
    for number in range(first + 1, last):
        x = gaps.take(number, _wanted(gaps.lines, number, first, last, points[-1], end))
        points += [Point(x, tops[number]), Point(x, tops[number] + TEXT)]
    points.append(end)
    path = f"M{start.x:.1f} {start.y:.1f}"
    bends = list(pairwise(points))[::2]
    for index, (a, b) in enumerate(bends):
        path += f"L{a.x:.1f} {a.y:.1f}" if index else ""
        half = (a.y + b.y) / 2
        path += f"C{a.x:.1f} {half:.1f} {b.x:.1f} {half:.1f} {b.x:.1f} {b.y:.1f}"
    longest = max(bends, key=lambda bend: bend[1].y - bend[0].y)
    return path, tuple(_on_bend(*longest, share) for share in _SPOTS)


def _on_bend(a: Point, b: Point, t: float) -> Point:
    """A point of the curve that leaves one place upright and meets the other upright."""
    along = 3 * t * t - 2 * t**3
    return Point(a.x + (b.x - a.x) * along, a.y + (b.y - a.y) * (1.5 * t * (1 - t) + t**3))


def _wanted(lines: Sequence[Line], number: int, first: int, last: int, so_far: Point, end: Point) -> float:
    """Where an arc would best cross a line: straight down within the part it leaves, above its end within the last.

    So it goes sideways in the free room between the parts and not between lines.
    """
    if lines[first].part == lines[last].part:
        return so_far.x + (end.x - so_far.x) / (last - number + 1)
    return end.x if lines[number].part == lines[last].part else so_far.x


def _range(low: float, high: float) -> list[float]:
    """Places for arcs side by side where there is no text."""
    return [low + _SIDE_BY_SIDE * index for index in range(int((high - low) / _SIDE_BY_SIDE) + 1)]
