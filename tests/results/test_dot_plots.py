"""Dot plots and labelled points as SVG."""

from __future__ import annotations

import re

import pytest

from verax.results.figure import Dot, Panel, Point, Scale, Series
from verax.results.render.svg import figure_svg
from verax.types import Estimate

SERIES = (Series("first"), Series("second", "square"), Series("third", "triangle"))


def panel(*marks: Dot | Point, rows: tuple[str, ...] = ()) -> Panel:
    return Panel("Panel", Scale("x"), Scale("y"), tuple(marks), rows)


def places(svg: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r'transform="translate\(([\d.-]+) ([\d.-]+)\)"', svg)]


def test_dots_are_on_a_common_scale_from_left_to_right() -> None:
    marks = [Dot("a", 0, Estimate(value)) for value in (0.0, 0.25, 1.0)]
    (left, _), (middle, _), (right, _) = places(figure_svg(panel(*marks, rows=("a",)), SERIES))
    assert (middle - left) / (right - left) == pytest.approx(0.25, abs=0.01)


def test_series_that_share_a_row_do_not_cover_each_other() -> None:
    marks = [Dot(row, series, Estimate(0.5)) for row in ("a", "b") for series in range(3)]
    heights = [
        y for _, y in places(figure_svg(panel(*marks, Dot("c", 1, Estimate(0.5)), rows=("a", "b", "c")), SERIES))
    ]
    assert heights == sorted(heights)
    first, second, alone = heights[:3], heights[3:6], heights[6]
    assert first[1] - first[0] == pytest.approx(first[2] - first[1], abs=0.11)
    assert first[1] - first[0] >= 5
    assert second[0] - first[2] >= first[1] - first[0], "rows are further apart than series"
    assert alone - second[1] == pytest.approx(second[1] - first[1], abs=0.11), "a dot of its own is in the middle"


def test_long_names_of_rows_stay_distinguishable() -> None:
    rows = ("integrated_gradients (mean)", "integrated_gradients (l2)")
    svg = figure_svg(panel(*(Dot(row, 0, Estimate(0.5)) for row in rows), rows=rows), SERIES)
    names = re.findall(r"<text[^>]*>([^<]*)<title>", svg)
    assert names == list(rows)
    very_long = "a" * 200
    svg = figure_svg(panel(Dot(very_long, 0, Estimate(0.5)), rows=(very_long,)), SERIES)
    (short,) = re.findall(r"<text[^>]*>([^<]*)<title>", svg)
    assert short.endswith("…")
    assert f"<title>{very_long}</title>" in svg


def test_labels_cover_no_point_and_no_other_label() -> None:
    at = [(0.85, 0.383), (0.875, 0.378), (0.86, 0.38), (0.65, 0.3)]
    points = [Point(0, Estimate(x), Estimate(y), f"l{place}") for place, (x, y) in enumerate(at)]
    svg = figure_svg(panel(*points), SERIES)
    dots = places(svg)
    found = re.findall(r'<text x="([\d.-]+)" y="([\d.-]+)" class="tick" textLength="([\d.]+)"[^>]*>l\d', svg)
    labels = [tuple(map(float, one)) for one in found]
    assert len(labels) == len(dots) == 4
    for place, (left, base, width) in enumerate(labels):
        assert not [x for x, y in dots if left < x < left + width and base - 9 < y < base]
        assert not [o for o in labels[:place] if abs(o[0] - left) < width and abs(o[1] - base) < 10]
