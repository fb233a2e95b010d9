"""Figures as data: marks on axes, which `render.svg` and `render.paper` draw and JSON exports."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from verax.types import Estimate

Shape = Literal["circle", "square", "triangle", "diamond", "cross"]
SHAPES: tuple[Shape, ...] = get_args(Shape)


@dataclass(frozen=True, slots=True)
class Series:
    """Marks of the same look; a shape of its own makes a series recognizable without colour.

    Args:
        baseline: draw it in grey.
    """

    name: str
    shape: Shape = "circle"
    baseline: bool = False


@dataclass(frozen=True, slots=True)
class Dot:
    """An estimate on the x axis in one row of a panel, with its interval.

    `hollow` marks an estimate that is not significantly different from the reference.
    """

    row: str
    series: int
    x: Estimate
    hollow: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """Estimates of y at given x values, with a band for their intervals."""

    series: int
    x: tuple[float, ...]
    y: tuple[Estimate, ...]


@dataclass(frozen=True, slots=True)
class Area:
    """The area between two lines over the same x values, counted as positive or negative."""

    x: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    sign: Literal["positive", "negative"]


@dataclass(frozen=True, slots=True)
class Point:
    """A labelled point with intervals in both directions."""

    series: int
    x: Estimate
    y: Estimate
    label: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """A straight reference line at a value of one axis."""

    axis: Literal["x", "y"]
    value: float
    label: str = ""


@dataclass(frozen=True, slots=True)
class Region:
    """A hatched range of x values, such as where a measurement is not valid."""

    start: float
    end: float
    label: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar over a range of x in one row of a panel, with a label at its end."""

    row: str
    start: float
    end: float
    sign: Literal["positive", "negative", "unsigned"]
    label: str = ""


@dataclass(frozen=True, slots=True)
class Swarm:
    """Values of one row as small dots; dots in the same place are drawn next to each other."""

    row: str
    series: int
    values: tuple[float, ...]


AnyMark = Dot | Line | Area | Point | Rule | Region | Bar | Swarm


@dataclass(frozen=True, slots=True)
class Scale:
    """An axis.

    Args:
        label: the quantity, with its unit.
        percent: write ticks in percent.
        low, high: limits; taken from the marks where they are None.
        better: the better end, if any.
    """

    label: str = ""
    percent: bool = False
    low: float | None = None
    high: float | None = None
    better: Literal["low", "high"] | None = None

    @property
    def words(self) -> str:
        """The label, with an arrow to the better end."""
        if self.better is None:
            return self.label
        return f"{self.label}, better →" if self.better == "high" else f"← better, {self.label}"

    def tick(self, value: float) -> str:
        """A number on the axis."""
        return f"{100 * value:.4g}" if self.percent else f"{value:.4g}"


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes.

    Args:
        rows: names of the rows of a dot plot, top to bottom; empty for a plot with two numeric axes. A row that starts
            with `# ` is a heading.
        description: the panel in words, for readers who cannot see it.
    """

    title: str
    x: Scale
    y: Scale
    marks: tuple[AnyMark, ...]
    rows: tuple[str, ...] = ()
    caption: str = ""
    description: str = ""

    def place_of(self, mark: Dot) -> tuple[int, int]:
        """The number of a dot among the series that share its row, and how many these are."""
        sharing = sorted({other.series for other in self.marks if isinstance(other, Dot) and other.row == mark.row})
        return sharing.index(mark.series), len(sharing)


@dataclass(frozen=True, slots=True)
class Figure:
    """Panels that share a legend (`legend`: further lines of the legend)."""

    name: str
    title: str
    series: tuple[Series, ...]
    panels: tuple[Panel, ...]
    caption: str = ""
    legend: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ticks:
    """A numeric axis: its range and the round numbers on it."""

    low: float
    high: float
    values: tuple[float, ...]

    def share(self, value: float) -> float:
        """Position of a value between 0 (low) and 1 (high)."""
        return (value - self.low) / (self.high - self.low)


def ticks_over(values: Sequence[float], low: float | None = None, high: float | None = None) -> Ticks | None:
    """An axis that contains these values; None without values."""
    known = [*values, *(end for end in (low, high) if end is not None)]
    if not known:
        return None
    least = min(known) if low is None else low
    most = max(known) if high is None else high
    if not math.isfinite(most - least):
        return None
    if most - least <= 1e-9 * max(abs(least), abs(most), 1.0):
        margin = 0.1 * abs(least) or 0.5
        least, most = least - margin, most + margin
    return Ticks(least, most, _round_numbers(least, most))


def _round_numbers(low: float, high: float) -> tuple[float, ...]:
    """Three to six round numbers within a range, in steps of 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(high - low))
    step = next(power * factor for factor in (0.2, 0.5, 1.0, 2.0) if (high - low) / (power * factor) <= 5)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return tuple(index * step for index in range(first, last + 1))


def extent(marks: Iterable[AnyMark], axis: Literal["x", "y"]) -> list[float]:
    """All values of marks along one axis, interval ends included."""
    values: list[float | None] = []
    for mark in marks:
        match mark:
            case Dot():
                values += list(mark.x) if axis == "x" else []
            case Line():
                values += mark.x if axis == "x" else [end for estimate in mark.y for end in estimate]
            case Area():
                values += mark.x if axis == "x" else [*mark.lower, *mark.upper]
            case Point():
                values += list(mark.x if axis == "x" else mark.y)
            case Rule():
                values += [mark.value] if mark.axis == axis else []
            case Region() | Bar():
                values += [mark.start, mark.end] if axis == "x" else []
            case Swarm():
                values += mark.values if axis == "x" else []
    return [value for value in values if value is not None]


def as_plain(figure: Figure) -> dict[str, Any]:
    """A figure as JSON values, in full precision."""
    return {
        "name": figure.name,
        "title": figure.title,
        "caption": figure.caption,
        "series": [series.name for series in figure.series],
        "panels": [
            {
                "title": panel.title,
                "x": panel.x.label,
                "y": panel.y.label,
                "rows": list(panel.rows),
                "marks": [_plain(mark) for mark in panel.marks],
            }
            for panel in figure.panels
        ],
    }


def _plain(mark: AnyMark) -> dict[str, Any]:
    fields = {name: getattr(mark, name) for name in mark.__dataclass_fields__}
    return {"mark": type(mark).__name__.lower(), **{name: _json(value) for name, value in fields.items()}}


def _json(value: Any) -> Any:
    if isinstance(value, Estimate):
        return {"value": value.value, "low": value.low, "high": value.high}
    return [_json(item) for item in value] if isinstance(value, tuple) else value
