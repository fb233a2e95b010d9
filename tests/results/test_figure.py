"""Figures as data, and drawn: well-formed SVG with every mark where its numbers are."""

from __future__ import annotations

import json
import re
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.markup import Node, parse
from verax.results.figure import (
    AnyMark,
    Area,
    Bar,
    Dot,
    Figure,
    Line,
    Panel,
    Point,
    Region,
    Rule,
    Scale,
    Series,
    Swarm,
    as_plain,
    extent,
    ticks_over,
)
from verax.results.render.html import figure_html
from verax.results.render.markup import visible
from verax.results.render.svg import figure_svg
from verax.types import Estimate

SERIES = (Series("one"), Series("two", "square", baseline=True), Series("three", "cross"))
HOSTILE = '"><img src=x onerror=alert(1)>\u202e(</title></svg>\x00\uffff<script>x)]]>&amp;'


def well_formed(markup: str) -> ElementTree.Element:
    return ElementTree.fromstring(markup)  # noqa: S314 - it was drawn here


def draw(*marks: AnyMark, **more: Any) -> Node:
    """One panel; it must be well-formed XML with nothing but drawing elements."""
    panel = Panel("panel", Scale("x", **more.pop("x", {})), Scale("y", **more.pop("y", {})), marks, **more)
    svg = figure_svg(panel, SERIES)
    tags = {element.tag for element in well_formed(svg).iter()}
    assert tags <= {"svg", "g", "title", "path", "circle", "line", "text"}
    return parse(svg)


def numbers(node: Node, *names: str) -> list[float]:
    return [float(node[name]) for name in names]


def plot_area(tree: Node) -> tuple[float, float, float, float]:
    """Left, right, top and bottom of where marks are drawn, from the grid."""
    lines = tree.all("line", "grid")
    upright = [line for line in lines if line["x1"] == line["x2"]]
    level = [line for line in lines if line["y1"] == line["y2"]]
    x = [float(line[end]) for line in level for end in ("x1", "x2")] or [float(line["x1"]) for line in upright]
    y = [float(line[end]) for line in upright for end in ("y1", "y2")]
    return min(x), max(x), min(y), max(y)


def at(node: Node) -> tuple[float, float]:
    """Where a sign is."""
    match = re.fullmatch(r"translate\((\S+) (\S+)\)", node["transform"])
    assert match is not None
    return float(match[1]), float(match[2])


def corners(path: Node) -> list[tuple[float, float]]:
    found = [float(number) for number in re.findall(r"-?[\d.]+", path["d"])]
    return list(zip(found[::2], found[1::2], strict=True))


def test_a_line_has_its_points_its_band_and_its_signs() -> None:
    line = Line(0, (0.0, 0.5, 1.0), (Estimate(1.0, 0.9, 1.0), Estimate(0.5, 0.4, 0.6), Estimate(0.0, 0.0, 0.1)))
    tree = draw(line, x={"low": 0.0, "high": 1.0}, y={"low": 0.0, "high": 1.0})
    left, right, top, bottom = plot_area(tree)
    middle = ((left + right) / 2, (top + bottom) / 2)
    expected = [(left, top), middle, (right, bottom)]
    assert corners(tree.only("path", "line")) == [pytest.approx(corner, abs=0.1) for corner in expected]
    assert [at(sign) for sign in tree.all("circle", "mark")] == [pytest.approx(c, abs=0.1) for c in expected]
    assert len(corners(tree.only("path", "band"))) == 6
    assert [node.text for node in tree.all("title")] == [
        "one at 0: 1.000 [0.900, 1.000]",
        "one at 0.5: 0.500 [0.400, 0.600]",
        "one at 1: 0.000 [0.000, 0.100]",
    ]


def test_a_line_without_intervals_has_no_band() -> None:
    tree = draw(Line(1, (0.0, 1.0), (Estimate(1.0), Estimate(0.5))))
    assert tree.all("path", "band") == []
    assert len(tree.all("path", "mark small base")) == 2, "squares, in the look of a baseline"


def test_dots_are_in_their_rows_and_hollow_where_they_are_not_significant() -> None:
    rows = ("# group", "  first", "  second")
    dots = (
        Dot("  first", 0, Estimate(0.5, 0.25, 1.0)),
        Dot("  second", 2, Estimate(-1.0), hollow=True),
        Rule("x", 0.0, "random"),
    )
    tree = draw(*dots, rows=rows)
    assert [node.text for node in tree.all("text", "kind")] == ["groupgroup"], "its title and its text"
    names = {node.only("title").text: float(node["y"]) for node in tree.all("text", "tick") if node.all("title")}
    assert list(names) == ["first", "second"]
    (full,), (hollow,) = tree.all("circle", "mark"), tree.all("path", "mark")
    assert "hollow" in hollow.classes
    assert "hollow" not in full.classes
    whisker = tree.only("line", "whisker")
    assert float(whisker["y1"]) == at(full)[1]
    rule = float(tree.only("line", "rule")["x1"])
    low, high = numbers(whisker, "x1", "x2")
    assert at(hollow)[0] < rule < low < at(full)[0] < high
    assert (high - rule) == pytest.approx(4 * (low - rule), abs=0.3)
    assert names["first"] == pytest.approx(at(full)[1] + 4, abs=0.1)
    assert names["second"] == pytest.approx(at(hollow)[1] + 4, abs=0.1)


def test_series_that_share_a_row_do_not_cover_each_other() -> None:
    marks = [Dot(row, series, Estimate(0.5)) for row in ("a", "b") for series in range(3)]
    tree = draw(*marks, Dot("c", 1, Estimate(0.5)), rows=("a", "b", "c"))
    heights = [at(sign)[1] for sign in tree.all(None, "mark")]
    assert heights == sorted(heights)
    first, second, alone = heights[:3], heights[3:6], heights[6]
    assert first[1] - first[0] == pytest.approx(first[2] - first[1], abs=0.11)
    assert first[1] - first[0] >= 5
    assert second[0] - first[2] >= first[1] - first[0], "rows are further apart than series"
    assert alone - second[1] == pytest.approx(second[1] - first[1], abs=0.11), "a dot of its own is in the middle"


def test_long_names_of_rows_stay_distinguishable() -> None:
    def names(*rows: str) -> list[tuple[str, str]]:
        """What is shown of each name, and all of it."""
        tree = draw(*(Dot(row, 0, Estimate(0.5)) for row in rows), rows=rows)
        named = [node for node in tree.all("text") if node.all("title")]
        return [(str(node.children[0]), node.only("title").text) for node in named]

    rows = ("integrated_gradients (mean)", "integrated_gradients (l2)")
    assert names(*rows) == [(row, row) for row in rows]
    ((short, whole),) = names("a" * 200)
    assert short.endswith("…")
    assert whole == "a" * 200


def test_dots_are_on_a_common_scale_from_left_to_right() -> None:
    tree = draw(*(Dot("a", 0, Estimate(value)) for value in (0.0, 0.25, 1.0)), rows=("a",))
    left, middle, right = (at(sign)[0] for sign in tree.all("circle", "mark"))
    assert (middle - left) / (right - left) == pytest.approx(0.25, abs=0.01)


def test_points_have_intervals_both_ways_and_a_label() -> None:
    point = Point(0, Estimate(0.5, 0.2, 0.8), Estimate(3.0, 2.0, 4.0), "here")
    other = Point(2, Estimate(0.0), Estimate(1.0))
    tree = draw(point, other)
    level, upright = tree.all("line", "whisker")
    x, y = at(tree.only("circle", "mark"))
    assert (float(level["y1"]), float(upright["x1"])) == (y, x)
    assert float(level["x1"]) < x < float(level["x2"])
    assert float(upright["y1"]) > y > float(upright["y2"])
    assert [node.text for node in tree.all("text") if node.text == "here"] == ["here"]
    assert tree.only("svg")["aria-label"].startswith("panel. here: 0.500 [0.200, 0.800], 3.000 [2.000, 4.000]")


def test_labels_cover_no_point_and_no_other_label() -> None:
    places = [(0.85, 0.383), (0.875, 0.378), (0.86, 0.38), (0.65, 0.3)]
    tree = draw(*(Point(0, Estimate(x), Estimate(y), f"l{number}") for number, (x, y) in enumerate(places)))
    dots = [at(sign) for sign in tree.all("circle", "mark")]
    labels = [numbers(node, "x", "y", "textlength") for node in tree.all("text") if re.fullmatch(r"l\d", node.text)]
    assert len(labels) == len(dots) == 4
    for number, (left, base, width) in enumerate(labels):
        assert not [x for x, y in dots if left < x < left + width and base - 9 < y < base]
        assert not [other for other in labels[:number] if abs(other[0] - left) < width and abs(other[1] - base) < 10]


def test_areas_and_regions_fill_what_they_say() -> None:
    area = Area((0.0, 0.5, 1.0), (0.0, 0.0, 0.0), (1.0, 1.0, 1.0), "negative")
    region = Region(0.5, 1.0, "not valid")
    tree = draw(area, region, x={"low": 0.0, "high": 1.0}, y={"low": 0.0, "high": 1.0})
    left, right, top, bottom = plot_area(tree)
    outline = corners(tree.only("path", "area negative"))
    assert {outline[0], outline[2], outline[3], outline[-1]} == {
        (left, top),
        (right, top),
        (right, bottom),
        (left, bottom),
    }
    hatch = tree.only("g", "hatch")
    assert hatch.only("title").text == "not valid"
    xs = [x for x, _ in corners(hatch.only("path"))]
    assert min(xs) == pytest.approx((left + right) / 2, abs=0.1)
    assert max(xs) == pytest.approx(right, abs=0.1)


def test_bars_and_swarms_are_in_their_rows() -> None:
    marks = (Bar(" a", 0.0, 1.0, "negative", "+1"), Bar(" b", 1.0, 0.5, "positive"), Swarm(" b", 0, (0.0, 0.5)))
    tree = draw(*marks, rows=(" a", " b"))
    left, right, _, _ = plot_area(tree)
    found = [
        re.findall(r"[\d.]+", bar["d"])
        for bar in (tree.only("path", "bar negative"), tree.only("path", "bar positive"))
    ]
    (start, top, end, bottom, _), (other, lower, back, _, _) = [[float(number) for number in one] for one in found]
    assert (start, end, other, back) == pytest.approx((left, right, right, (left + right) / 2), abs=0.1)
    assert top < bottom < lower
    dots = [at(dot) for dot in tree.all("circle", "mark")]
    assert [x for x, _ in dots] == pytest.approx([left, (left + right) / 2], abs=0.1)
    assert all(y > lower for _, y in dots)


def test_nothing_is_drawn_outside_of_the_plot() -> None:
    line = Line(0, (0.0, 0.5, 1.0), (Estimate(1.5, 1.0, 2.0), Estimate(-3.0, -4.0, 0.5), Estimate(0.5)))
    marks = (line, Region(-0.5, 0.2), Area((0.0, 1.0), (-9.0, 0.0), (9.0, 1.0), "positive"), Rule("y", 7.0))
    tree = draw(*marks, x={"low": 0.0, "high": 1.0}, y={"low": 0.0, "high": 1.0})
    left, right, top, bottom = plot_area(tree)
    drawn = [corner for path in tree.all("path") if "transform" not in path.attributes for corner in corners(path)]
    drawn += [at(sign) for sign in tree.all(None, "mark")]
    drawn += [(float(rule["x1"]), float(rule["y1"])) for rule in tree.all("line", "rule")]
    assert all(left - 0.1 <= x <= right + 0.1 and top - 0.1 <= y <= bottom + 0.1 for x, y in drawn)
    height = float(tree.only("svg")["viewbox"].split()[3])
    assert all(0 < float(node["y"]) < height for node in tree.all("text"))


@pytest.mark.parametrize("marks", [(), (Line(0, (0.0, 1.0), (Estimate(1.7e308), Estimate(-1.7e308))),)])
def test_nothing_to_draw_is_no_error(marks: tuple[AnyMark, ...]) -> None:
    assert "svg" not in figure_svg(Panel("p", Scale(), Scale(), ()), SERIES)
    svg = figure_svg(Panel("p", Scale(), Scale(), marks), SERIES)
    assert "nan" not in svg
    assert "inf" not in svg


def test_one_value_alone_has_an_axis() -> None:
    tree = draw(Dot("row", 0, Estimate(0.5)), rows=("row",))
    left, right, _, _ = plot_area(tree)
    assert left < at(tree.only("circle", "mark"))[0] < right


def test_ticks_are_in_percent_where_the_scale_says_so_and_say_which_end_is_better() -> None:
    line = Line(0, (0.0, 1.0), (Estimate(0.0), Estimate(1.0)))
    tree = draw(line, x={"percent": True, "better": "high"})
    texts = [node.text for node in tree.all("text")]
    assert [text for text in texts if text.isdigit()][:6] == ["0", "20", "40", "60", "80", "100"]
    assert "x, better →" in texts
    assert "← better, x" in [node.text for node in draw(line, x={"better": "low"}).all("text")]


def test_a_panel_is_described_for_those_who_cannot_see_it() -> None:
    line = Line(0, (0.0, 1.0), (Estimate(1.0), Estimate(0.5)))
    spoken = draw(line, Dot("row", 1, Estimate(0.25)), rows=("row",)).only("svg")["aria-label"]
    assert spoken == "panel. one: from 1.000 to 0.500; row, two: 0.250."
    assert draw(line, description="Told otherwise.").only("svg")["aria-label"] == "Told otherwise."


def test_hostile_names_are_text() -> None:
    series = (Series(HOSTILE),)
    dot = Dot(f"  {HOSTILE}", 0, Estimate(0.5, 0.0, 1.0))
    panels = (
        Panel(HOSTILE, Scale(HOSTILE), Scale(), (dot, Rule("x", 0.0, HOSTILE)), (f"# {HOSTILE}", dot.row), HOSTILE),
        Panel(
            "p", Scale("x"), Scale(HOSTILE), (Point(0, Estimate(0.0), Estimate(1.0), HOSTILE), Region(0, 1, HOSTILE))
        ),
    )
    html = figure_html(Figure("f", HOSTILE, series, panels, HOSTILE, (HOSTILE,)))
    well_formed(html)
    tree = parse(html)
    assert {node.tag for node in tree.walk()} <= {
        *("section", "h3", "p", "div", "ul", "li", "figure", "figcaption", "strong", "small"),
        *("svg", "g", "title", "path", "circle", "line", "text"),
    }
    assert tree.text.count(visible(HOSTILE)) >= 12
    assert visible(HOSTILE) in tree.all("svg", "chart")[0]["aria-label"]


def test_the_legend_shows_each_series_with_its_shape() -> None:
    panel = Panel("p", Scale(), Scale(), (Dot("row", 0, Estimate(0.5)),), ("row",))
    tree = parse(figure_html(Figure("f", "Title", SERIES, (panel, panel), "Caption", ("hollow: like random",))))
    items = tree.only("ul", "legend keys").all("li")
    assert [item.words for item in items] == ["one", "two", "three", "hollow: like random"]
    assert [len(item.all("svg", "swatch")) for item in items] == [1, 1, 1, 0]
    assert items[1].only("path")["d"] != items[2].only("path")["d"], "no colour is needed to tell them apart"
    assert len(tree.all("figure")) == 2


MARKS = st.one_of(
    st.builds(lambda v, a, b: Dot("row", 0, Estimate(v, min(a, b), max(a, b))), *[st.floats(-1e6, 1e6)] * 3),
    st.builds(lambda y, w: Line(1, (0.0, 1.0), (Estimate(y), Estimate(w))), *[st.floats(-1e6, 1e6)] * 2),
    st.builds(lambda x, y: Point(2, Estimate(x), Estimate(y), "label"), *[st.floats(-1e6, 1e6)] * 2),
    st.builds(lambda a, b: Area((0.0, 1.0), (a, a), (b, b), "positive"), *[st.floats(-1e6, 1e6)] * 2),
    st.builds(Rule, st.sampled_from(["x", "y"]), st.floats(-1e6, 1e6)),
    st.builds(lambda a, b: Region(min(a, b), max(a, b)), *[st.floats(-1e6, 1e6)] * 2),
)


@settings(max_examples=60)
@given(st.lists(MARKS, min_size=1, max_size=6), st.booleans())
def test_every_mark_is_drawn(marks: list[AnyMark], rows: bool) -> None:
    drawn = [mark for mark in marks if rows or not isinstance(mark, Dot)]
    if not any(extent(drawn, "x")):
        return
    tree = draw(*drawn, rows=("row",) if rows else ())
    signs = sum(1 if isinstance(mark, Dot | Point) else 2 for mark in drawn if isinstance(mark, Dot | Point | Line))
    assert len(tree.all(None, "mark")) == signs
    for kind, tag, look in (
        (Line, "path", "line"),
        (Area, "path", "area"),
        (Rule, "line", "rule"),
        (Region, "g", "hatch"),
    ):
        assert len(tree.all(tag, look)) == sum(isinstance(mark, kind) for mark in drawn)
    assert len(tree.all("line", "whisker")) == sum(isinstance(mark, Dot) for mark in drawn)


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=6))
def test_an_axis_holds_its_values_and_a_few_round_ticks(values: list[float]) -> None:
    axis = ticks_over(values)
    assert axis is not None
    assert all(-1e-6 <= axis.share(value) <= 1 + 1e-6 for value in values)
    assert 1 <= len(axis.values) <= 6
    assert all(-1e-6 <= axis.share(tick) <= 1 + 1e-6 for tick in axis.values)


def test_axes() -> None:
    assert ticks_over([]) is None
    assert ticks_over([1.7e308, -1.7e308]) is None
    fixed = ticks_over([0.3], 0.0, 1.0)
    assert fixed is not None
    assert (fixed.low, fixed.high, fixed.values) == (0.0, 1.0, pytest.approx((0.0, 0.2, 0.4, 0.6, 0.8, 1.0)))
    alone = ticks_over([0.0])
    assert alone is not None
    assert (alone.low, alone.high) == (-0.5, 0.5)


def test_programs_get_what_is_drawn_in_full() -> None:
    marks = (
        Dot("row", 0, Estimate(1 / 3, 0.25, 0.5), hollow=True),
        Line(1, (0.0, 1.0), (Estimate(1.0), Estimate(0.5, 0.4, 0.6))),
        Area((0.0,), (0.0,), (1.0,), "positive"),
        Point(0, Estimate(1.0), Estimate(2.0), "here"),
        Rule("y", 0.5),
        Region(0.0, 0.5, "out"),
    )
    figure = Figure("f", "F", SERIES, (Panel("p", Scale("x"), Scale("y"), marks, ("row",)),), "caption")
    plain = json.loads(json.dumps(as_plain(figure), allow_nan=False))
    (panel,) = plain["panels"]
    assert [mark["mark"] for mark in panel["marks"]] == ["dot", "line", "area", "point", "rule", "region"]
    assert panel["marks"][0]["x"] == {"value": 1 / 3, "low": 0.25, "high": 0.5}
    assert panel["marks"][1]["y"][1] == {"value": 0.5, "low": 0.4, "high": 0.6}
    assert (plain["series"], panel["rows"], panel["x"]) == (["one", "two", "three"], ["row"], "x")
