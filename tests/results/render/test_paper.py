"""Figures on pages of matplotlib: every mark where its numbers are, every text on the page and none on another."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from support.hostile import HOSTILE
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
    ticks_over,
)
from verax.results.plot import draw_figure, in_inches
from verax.results.render.paper import canvas
from verax.results.render.paper.canvas import Page, one_line, width_of, wrapped
from verax.results.render.paper.draw import swarm_heights
from verax.types import Estimate, UserError

SERIES = (Series("one"), Series("two", "square", baseline=True), Series("three", "cross"))
TEX = r"$\frac{1}{0}$ \input{x} a_b^c $x"
LONG = "a metric with a very long name (aggregate=mean, target=loss, words=1/2/4) and more_of_it_without_any_space"
SIGNS = {"mark", "line", "area", "band", "whisker", "rule", "region", "bar", "swarm"}


def figure_of(*marks: AnyMark, **more: Any) -> Figure:
    panel = Panel(more.pop("title", "panel"), more.pop("x", Scale("x")), more.pop("y", Scale("y")), marks, **more)
    return Figure("f", "Figure", SERIES, (panel,), legend=("hollow: like random",))


def drawn(page: Page) -> dict[str, list[Artist]]:
    """What is drawn in the plots of a page, by kind."""
    found: dict[str, list[Artist]] = {name: [] for name in SIGNS}
    for axes in page.axes:
        for artist in axes.get_children():
            if artist.get_gid() in SIGNS:
                found[str(artist.get_gid())].append(artist)
    return found


def texts(page: Page) -> list[str]:
    return [text.get_text() for text in page.texts]


def boxes(page: Page) -> Iterator[tuple[Text, Any]]:
    """Each text with its place on the page in pixels."""
    page.set_dpi(100)
    with canvas.own_settings():
        renderer = FigureCanvasAgg(page).get_renderer()
        yield from [(text, text.get_window_extent(renderer)) for text in page.texts]


def check_texts(page: Page) -> None:
    """No text is cut off at the edge of the page, and none is written over another."""
    width, height = page.size
    placed = list(boxes(page))
    for text, box in placed:
        assert box.x0 >= -1, text
        assert box.y0 >= -1, text
        assert box.x1 <= 100 * width + 1, text
        assert box.y1 <= 100 * height + 1, text
        assert text.get_fontsize() >= 7
    for (text, one), (other, another) in combinations(placed, 2):
        across = min(one.x1, another.x1) - max(one.x0, another.x0)
        along = min(one.y1, another.y1) - max(one.y0, another.y0)
        assert across < 1 or along < 2, (text, other)


def at(axes: Axes, value: float, panel: Panel) -> float:
    """Where a value of x is, from the ticks around it."""
    axis = ticks_over([], panel.x.low, panel.x.high)
    assert axis is not None
    grid = sorted(float(line.get_xdata()[0]) for line in axes.lines if line.get_gid() == "grid")[: len(axis.values)]
    return float(np.interp(value, axis.values, grid))


def test_dots_are_at_their_values_in_their_rows_hollow_ones_too() -> None:
    rows = ("# words", "  a", "  b")
    marks = (
        Dot("  a", 0, Estimate(0.25, 0.0, 0.5)),
        Dot("  a", 1, Estimate(0.5)),
        Dot("  b", 0, Estimate(0.75), hollow=True),
        Rule("x", 0.5, "random"),
    )
    figure = figure_of(*marks, rows=rows, x=Scale("score", low=0.0, high=1.0, better="high"))
    page = draw_figure(figure)
    (axes,) = page.axes
    signs = drawn(page)
    places = [(float(one.get_xdata()[0]), float(one.get_ydata()[0])) for one in signs["mark"]]
    assert [x for x, _ in places] == pytest.approx([at(axes, x, figure.panels[0]) for x in (0.25, 0.5, 0.75)])
    assert places[0][1] > places[1][1] > places[2][1], "the second series is below the first, the second row below both"
    assert [one.get_markerfacecolor() == "white" for one in signs["mark"]] == [False, False, True]
    assert [one.get_marker() for one in signs["mark"]] == ["o", "s", "o"]
    (whisker,) = signs["whisker"]
    assert list(whisker.get_xdata()) == pytest.approx([at(axes, x, figure.panels[0]) for x in (0.0, 0.5)])
    shown = texts(page)
    assert {"words", "a", "b", "score, better →", "random"} <= set(shown)
    bold = {text.get_text() for text in page.texts if text.get_weight() == "bold"}
    assert bold == {"Figure", "panel", "words"}
    check_texts(page)


def test_lines_have_bands_areas_regions_and_dashes_of_their_own() -> None:
    x, y = (0.0, 0.5, 1.0), (Estimate(1.0, 0.9, 1.0), Estimate(0.5, 0.4, 0.6), Estimate(0.0))
    marks = (
        Region(0.5, 1.0, "not valid"),
        Area(x, (0.0, 0.1, 0.2), (0.2, 0.3, 0.4), "positive"),
        Area(x, (0.0, 0.1, 0.2), (0.2, 0.3, 0.4), "negative"),
        Line(0, x, y),
        Line(1, x, tuple(Estimate(value.value) for value in y)),
        Rule("y", 0.5, "majority"),
    )
    page = draw_figure(figure_of(*marks, x=Scale("share", percent=True)))
    signs: dict[str, Any] = drawn(page)
    assert {name: len(signs[name]) for name in ("line", "band", "area", "region", "rule")} == {
        "line": 2, "band": 1, "area": 2, "region": 1, "rule": 1,
    }  # fmt: skip
    assert len({str(line.get_linestyle()) + line.get_marker() for line in signs["line"]}) == 2
    assert len({area.get_hatch() for area in signs["area"]}) == 2, "no colour is needed to tell them apart"
    assert signs["region"][0].get_hatch()
    assert {"20", "100", "share", "y", "one", "two", "majority"} <= set(texts(page))
    check_texts(page)


def test_a_bar_reaches_from_its_start_to_its_end_and_its_label_is_behind_it() -> None:
    bars = (
        Bar(" up", 0.0, 2.0, "positive", "+2.00"),
        Bar(" down", 2.0, -1.0, "negative", "−3.00"),
        Bar(" size", 0.0, 1.0, "unsigned", "1.00"),
    )
    page = draw_figure(figure_of(*bars, rows=(" up", " down", " size")))
    up, down, _ = drawn(page)["bar"]
    assert up.get_x() + up.get_width() == pytest.approx(down.get_x() + down.get_width())
    assert down.get_width() == pytest.approx(1.5 * up.get_width())
    assert bool(up.get_hatch()) < bool(down.get_hatch())
    assert {"+2.00", "−3.00", "1.00"} <= set(texts(page))
    check_texts(page)


def test_dots_of_a_swarm_do_not_cover_each_other() -> None:
    marks = (Swarm(" word", 0, (0.0, 0.01, 0.02, 1.0)), Swarm(" word", 2, (0.0, 0.015)))
    page = draw_figure(figure_of(*marks, rows=(" word",)))
    assert sum(len(one.get_xdata()) for one in drawn(page)["swarm"]) == 6
    xs = sorted(np.random.default_rng(0).normal(0, 0.05, 40))
    heights = swarm_heights(xs, 0.02, 10.0)
    near = [np.hypot(a - b, y - z) for (a, y), (b, z) in combinations(zip(xs, heights, strict=True), 2)]
    assert min(near) >= 0.0195
    assert max(map(abs, swarm_heights([0.5] * 50, 0.02, 0.2))) <= 0.1, "crowded dots stay in their row"


def test_points_have_labels_next_to_them() -> None:
    points = tuple(Point(0, Estimate(0.5 + i / 100, 0.4, 0.7), Estimate(0.5 - i / 50), f"lang {i}") for i in range(4))
    page = draw_figure(figure_of(*points))
    assert {f"lang {i}" for i in range(4)} <= set(texts(page))
    assert len(drawn(page)["mark"]) == len(drawn(page)["whisker"]) == 4
    check_texts(page)


STRESS = {
    "long names": figure_of(
        *(Dot(f"  {LONG} {i}", 0, Estimate(i)) for i in range(3)),
        rows=tuple(f"  {LONG} {i}" for i in range(3)), title=LONG, x=Scale(LONG, better="low"), caption=LONG,
    ),
    "60 rows": figure_of(
        *(Dot(f" row {i}", 0, Estimate(i)) for i in range(60)), rows=tuple(f" row {i}" for i in range(60))
    ),
    "one point": figure_of(Point(0, Estimate(1e-9), Estimate(-1e9), "here")),
    "no value": figure_of(rows=(" a", " b")),
    "no panel": Figure("f", "Figure", (), ()),
    "huge": figure_of(Line(0, (0.0, 1.0), (Estimate(1.7e308), Estimate(-1.7e308)))),
    "many panels": Figure(
        "f", LONG, tuple(Series(f"{LONG} {i}") for i in range(8)),
        tuple(
            Panel(f"p {i}", Scale("x", low=0.00012, high=0.00013), Scale(), (Dot(" r", i, Estimate(1e-4)),), (" r",))
            for i in range(8)
        ), LONG, (LONG,),
    ),
    "tex": figure_of(Dot(TEX, 0, Estimate(0.5)), rows=(TEX,), title=TEX, x=Scale(TEX), caption=TEX),
}  # fmt: skip


@pytest.mark.parametrize("width", [2.0, "column", "text"])
@pytest.mark.parametrize("name", STRESS)
def test_no_text_is_cut_off_or_written_over_another(name: str, width: Any) -> None:
    page = draw_figure(STRESS[name], width)
    assert page.size[0] == in_inches(width)
    check_texts(page)


def test_panels_with_equal_rows_name_them_once() -> None:
    panel = Panel("p", Scale("x"), Scale(), (Dot(" method", 0, Estimate(0.5)),), (" method",))
    page = draw_figure(Figure("f", "F", SERIES, (panel, panel, panel)), "text")
    assert texts(page).count("method") == 1
    tops = {round(axes.get_position().y1, 6) for axes in page.axes}
    assert len(page.axes) == 3
    assert len(tops) == 1


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
def test_files_are_equal_twice_and_fonts_are_embedded(suffix: str, tmp_path: Path) -> None:
    files = [tmp_path / f"{number}.{suffix}" for number in range(2)]
    for file in files:
        draw_figure(STRESS["tex"], out=file)
    content = files[0].read_bytes()
    assert content == files[1].read_bytes()
    if suffix == "svg":
        root = ElementTree.fromstring(content)  # noqa: S314 - it was drawn here
        assert root.attrib["width"] == f"{72 * 3.3:g}pt"
        assert not [one for one in root.iter() if one.tag.endswith(("date", "script", "image", "foreignObject"))]
    elif suffix == "pdf":
        assert b"/FontFile2" in content
        assert b"/Type3" not in content
        assert b"CreationDate" not in content
    else:
        assert content.startswith(b"\x89PNG")


def test_nothing_of_matplotlib_is_changed_for_others() -> None:
    with mpl.rc_context({"text.usetex": True, "font.size": 30.0, "pdf.fonttype": 3, "text.parse_math": True}):
        before = dict(mpl.rcParams)
        page = draw_figure(STRESS["tex"])
        page.savefig(io.BytesIO(), format="pdf")
        assert dict(mpl.rcParams) == before
    check_texts(page)
    assert page._repr_png_().startswith(b"\x89PNG")


@pytest.mark.filterwarnings("ignore:no installed font")
@pytest.mark.parametrize("name", [*HOSTILE[::7], TEX, "<b>&amp;</b>"])
def test_hostile_names_are_text(name: str) -> None:
    figure = Figure(
        name, name, (Series(name), Series("b")),
        (Panel(name, Scale(name), Scale(), (Dot(f" {name}", 0, Estimate(0.5)), Dot(f" {name}", 1, Estimate(0.5)),
         Rule("x", 0.0, name)), (f" {name}",)),), name, (name,),
    )  # fmt: skip
    page = draw_figure(figure, 30)
    assert all(not text.get_parse_math() for text in page.texts)
    assert texts(page).count(one_line(name)) >= 6
    file = io.BytesIO()
    page.savefig(file, format="svg")
    ElementTree.fromstring(file.getvalue())  # noqa: S314 - as above


def test_what_no_font_has_is_named_in_a_warning() -> None:
    unassigned = "\N{OLD PERMIC LETTER AN}\N{OLD PERMIC LETTER BUR}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(canvas, "_fallbacks", tuple)
        canvas._fonts_for.cache_clear()
        with pytest.warns(UserWarning, match=f"no installed font has '{unassigned}'"):
            draw_figure(figure_of(Dot(unassigned, 0, Estimate(0.5)), rows=(unassigned,)))
    canvas._fonts_for.cache_clear()


@settings(max_examples=25)
@given(st.text(st.characters(codec="latin-1", exclude_categories=["Cc"]), max_size=80), st.floats(0.5, 4))
def test_wrapped_lines_fit_and_lose_nothing(text: str, room: float) -> None:
    lines = wrapped(text, room)
    assert "".join("".join(lines).split()) == "".join(one_line(text).split())
    assert all(width_of(line) <= room for line in lines)


def test_lines_are_broken_at_spaces_and_arrows_stay_with_their_words() -> None:
    assert wrapped("a (words=1/2/4)", width_of("(words=1/2/")) == ["a", "(words=1/2/", "4)"]
    assert wrapped("a (words=1/2/4)", width_of("(words=1/2/4)")) == ["a", "(words=1/2/4)"]
    assert wrapped("one, better →", width_of("one, better")) == ["one,", "better\u00a0→"]


@pytest.mark.parametrize("width", ["colum", "0", "-3", 1e9, "nan"])
def test_other_widths_are_rejected(width: Any) -> None:
    with pytest.raises(UserError, match="expected column"):
        draw_figure(STRESS["one point"], width)


def test_other_formats_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=re.escape("svg, pdf, png")):
        draw_figure(STRESS["one point"], out=tmp_path / "x.gif")
    with pytest.raises(UserError, match="cannot be written"):
        draw_figure(STRESS["one point"], out=tmp_path / "none" / "x.pdf")
