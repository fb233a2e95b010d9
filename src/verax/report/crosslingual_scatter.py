"""Faithfulness by accuracy, a point for each language, as inline SVG."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from verax.report.plot import Axis, axis_over
from verax.report.unified_words import ends
from verax.results.render.markup import Html, tag
from verax.results.render.numbers import number
from verax.results.render.text_width import TICK, fitted, label, text_width
from verax.stats.crosslingual import CrossLingual
from verax.types import Estimate

_WIDTH, _HEIGHT = 340.0, 250.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 50.0, 34.0, 12.0, 42.0
_SIZE = 12.0
_TITLE = 12
"""Baseline of the title of the upright axis, from the left."""


class Point(NamedTuple):
    """A language, how well the model knows it, and how faithful explanations are in it."""

    lang: str
    accuracy: float
    faithfulness: Estimate


def points_of(found: CrossLingual) -> list[Point]:
    """The languages that have both."""
    return [
        Point(one.lang, one.accuracy.value, one.faithfulness)
        for one in found.languages
        if one.accuracy is not None and one.faithfulness is not None
    ]


def scatter(found: CrossLingual) -> Html | None:
    """Accuracy across, faithfulness up, intervals as bars; None where there are fewer than two languages."""
    points = points_of(found)
    across = axis_over([point.accuracy for point in points])
    up = axis_over([end for point in points for end in point.faithfulness if end is not None])
    if len(points) < 2 or across is None or up is None:
        return None
    drawn = [shape for point in points for shape in _dot(point, across, up)]
    said = "; ".join(
        f"{point.lang}: accuracy {number(point.accuracy)}, "
        f"faithfulness {number(point.faithfulness.value)} {ends(point.faithfulness)}"
        for point in points
    )
    return tag(
        "svg",
        [*_frame(across, up)],
        drawn,
        [*_names(points, across, up)],
        class_="plot scatter",
        viewBox=f"0 0 {_WIDTH:.0f} {_HEIGHT:.0f}",
        width=f"{_WIDTH:.0f}",
        role="img",
        aria_label=f"Faithfulness by accuracy. {said}.",
    )


def _x(axis: Axis, value: float) -> float:
    return _LEFT + (value - axis.low) / (axis.high - axis.low) * (_WIDTH - _LEFT - _RIGHT)


def _y(axis: Axis, value: float) -> float:
    return _HEIGHT - _BOTTOM - (value - axis.low) / (axis.high - axis.low) * (_HEIGHT - _TOP - _BOTTOM)


def _frame(across: Axis, up: Axis) -> Iterator[Html]:
    """Ticks with their numbers, and what the axes are."""
    floor = f"{_HEIGHT - _BOTTOM + 6:.0f}"
    for tick in across.ticks:
        x = f"{_x(across, tick):.1f}"
        yield tag("line", x1=x, x2=x, y1=f"{_TOP - 6:.0f}", y2=floor, class_="grid")
        yield label(f"{tick:.6g}", TICK, x=x, y=f"{_HEIGHT - _BOTTOM + 20:.0f}", text_anchor="middle", class_="tick")
    for tick in up.ticks:
        y = _y(up, tick)
        yield tag("line", x1=f"{_LEFT - 8:.0f}", x2=f"{_WIDTH - 4:.0f}", y1=f"{y:.1f}", y2=f"{y:.1f}", class_="grid")
        end = _LEFT - 12
        yield label(
            f"{tick:.6g}",
            TICK,
            room=end - _TITLE - 4,
            x=f"{end:.0f}",
            y=f"{y + 4:.1f}",
            text_anchor="end",
            class_="tick",
        )
    yield label("accuracy", TICK, x=f"{_WIDTH / 2:.0f}", y=f"{_HEIGHT - 4:.0f}", text_anchor="middle", class_="tick")
    middle = (_TOP + _HEIGHT - _BOTTOM) / 2
    turned = f"rotate(-90 {_TITLE} {middle:.0f})"
    yield label(
        "faithfulness", TICK, x=_TITLE, y=f"{middle:.0f}", transform=turned, text_anchor="middle", class_="tick"
    )


def _dot(point: Point, across: Axis, up: Axis) -> Iterator[Html]:
    x = f"{_x(across, point.accuracy):.1f}"
    value, low, high = point.faithfulness
    if low is not None and high is not None:
        yield tag("line", x1=x, x2=x, y1=f"{_y(up, low):.1f}", y2=f"{_y(up, high):.1f}", class_="whisker")
    yield tag("circle", cx=x, cy=f"{_y(up, value):.1f}", r=4, class_="dot")


def _names(points: list[Point], across: Axis, up: Axis) -> Iterator[Html]:
    """The languages beside their points, at the first side where neither a point nor another name is in the way."""
    dots = [(_x(across, point.accuracy), _y(up, point.faithfulness.value)) for point in points]
    taken: list[_Place] = []
    for point, (x, y) in zip(points, dots, strict=True):
        width = text_width(point.lang, _SIZE)
        sides = [
            _Place(x + 8, y - 5, width),
            _Place(x - 8 - width, y - 5, width),
            _Place(x + 8, y + 7, width),
            _Place(x + 8, y - 17, width),
        ]
        others = [dot for dot in dots if dot != (x, y)]
        free = [at for at in sides if not any(map(at.holds, others)) and not any(map(at.meets, taken))]
        taken.append((free or sides)[0])
        left, top, _ = taken[-1]
        yield fitted(point.lang, width, x=f"{left:.1f}", y=f"{top + 9:.1f}", class_="tick point-name")


class _Place(NamedTuple):
    """Where a name would stand."""

    left: float
    top: float
    width: float

    def holds(self, dot: tuple[float, float]) -> bool:
        """Whether a point lies in it."""
        x, y = dot
        return self.left - 5 < x < self.left + self.width + 5 and self.top - 4 < y < self.top + _SIZE + 4

    def meets(self, other: _Place) -> bool:
        """Whether another name would touch it."""
        apart = self.left + self.width < other.left or other.left + other.width < self.left
        return not apart and abs(self.top - other.top) < _SIZE
