"""A dot with its interval on an axis that all rows of a table share, as inline SVG that stretches with its column."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from verax.report.text_width import TICK, label
from verax.results.render.markup import Html, tag
from verax.results.render.numbers import interval, number
from verax.types import Summary

_MARGIN = 6.0


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of values and where its ticks stand."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def at(self, value: float) -> str:
        """How far along the axis a value stands, as SVG writes it."""
        return f"{_MARGIN + self.length(self.low, value):.2f}%"

    def length(self, start: float, end: float) -> float:
        """How much of the drawing's width lies between two values, in percent."""
        return (100 - 2 * _MARGIN) * (end - start) / (self.high - self.low)


def axis_of(summaries: Iterable[Summary]) -> Axis | None:
    """The axis that holds every value and interval of these rows; None when they can't be drawn."""
    return axis_over([v for row in summaries for v in (row.mean, row.low, row.high) if v is not None])


def axis_over(values: Sequence[float]) -> Axis | None:
    """The axis that holds these values; None when they can't be drawn."""
    if not values:
        return None
    low, high = min(values), max(values)
    if not math.isfinite(high - low):
        return None
    if high - low <= 1e-9 * max(abs(low), abs(high), 1.0):
        room = 0.1 * abs(low) or 0.5
        low, high = low - room, high + room
    return Axis(low, high, _ticks(low, high))


def _ticks(low: float, high: float) -> tuple[float, ...]:
    """Three to six round numbers within the range: steps of 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(high - low))
    step = next(power * factor for factor in (0.2, 0.5, 1.0, 2.0) if (high - low) / (power * factor) <= 5)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return tuple(index * step for index in range(first, last + 1))


def ticks_svg(axis: Axis) -> Html:
    """The labels of an axis, for the head of its column."""
    labels = [
        label(f"{tick:.6g}", TICK, x=axis.at(tick), y=12, text_anchor="middle", class_="tick") for tick in axis.ticks
    ]
    return tag("svg", labels, class_="plot head", width="100%", height=16, aria_hidden="true")


def interval_svg(row: Summary, axis: Axis, baseline: Summary | None) -> Html:
    """One row's dot and interval over the ticks; the random explanation is a grey line, its interval a ribbon."""
    shapes = [] if baseline is None else _band(baseline.low, baseline.high, axis)
    shapes += [_upright(tick, axis, "grid") for tick in axis.ticks]
    if baseline is not None and baseline.mean is not None:
        shapes.append(_upright(baseline.mean, axis, "random"))
    if row.low is not None and row.high is not None:
        shapes.append(tag("line", x1=axis.at(row.low), x2=axis.at(row.high), y1="50%", y2="50%", class_="whisker"))
    if row.mean is not None:
        shapes.append(tag("circle", cx=axis.at(row.mean), cy="50%", r=5, class_="dot"))
    spoken = f"{number(row.mean)} {interval(row.low, row.high)}"
    return tag("svg", shapes, class_="plot", width="100%", height="100%", role="img", aria_label=spoken)


def _upright(value: float, axis: Axis, look: str) -> Html:
    return tag("line", x1=axis.at(value), x2=axis.at(value), y1=0, y2="100%", class_=look)


def _band(low: float | None, high: float | None, axis: Axis) -> list[Html]:
    if low is None or high is None:
        return []
    return [tag("rect", x=axis.at(low), y=0, width=f"{axis.length(low, high):.2f}%", height="100%", class_="ribbon")]
