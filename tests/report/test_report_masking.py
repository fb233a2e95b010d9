"""Recursive masking in the report, against curves written by hand."""

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from verax.report.masking_plot import between, panel, spark
from verax.report.masking_words import distribution_said, marks, performance_said, ratios
from verax.report.tables import masking_table, to_csv, to_json, to_latex, to_markdown

from verax.report.content import content_of
from verax.report.page import render
from verax.report.terminal import masking
from verax.results.render.markup import visible
from verax.types import Estimate, MaskingCurve, MaskingCurves, Score

RANDOM = (1.0, 0.9, 0.8, 0.7, 0.5)
LEFT, RIGHT, TOP, BOTTOM = 40, 350, 22, 168
"""The plot area of a panel in its own units."""


def curve(method, values, acu=0.0, racu=0.0, **changes):
    """A measure whose every point has an interval of 0.05 to either side, cut at 0 and 1."""
    points = tuple(Estimate(v, max(v - 0.05, 0.0), min(v + 0.05, 1.0)) for v in values)
    areas = (Estimate(acu, acu - 0.01, acu + 0.02), Estimate(racu, racu - 0.1, racu + 0.1))
    facts = {
        "metric": "accuracy",
        "reason": None,
        "signed": False,
        "n": 50,
        "skipped": 0,
        "over": "instances",
        "p_values": None,
    }
    return MaskingCurve(method=method, curve=points, acu=areas[0], racu=areas[1], **(facts | changes))


def three(p_random=None, p_good=None, p_bad=None, **changes):
    """A measure that is better than random, a signed one that crosses it, and random, first as in a run."""
    rows = (
        curve("random", RANDOM, p_values=p_random),
        curve("bad", (1.0, 1.0, 0.6, 0.9, 0.5), -0.012, -0.05, signed=True, skipped=1234, p_values=p_bad),
        curve("good", (1.0, 0.4, 0.3, 0.3, 0.5), 0.287, 0.958, p_values=p_good),
    )
    return MaskingCurves("random", 0.52, tuple(replace(row, **changes) for row in rows))


def drawn(svg):
    """All coordinates of lines and boxes, and of dots, in drawing units."""
    found = []
    for d in re.findall(r' d="([^"]*)"', svg):
        numbers = [float(n) for n in re.findall(r"-?[\d.]+", d)]
        found += list(zip(numbers[::2], numbers[1::2], strict=True))
    for rect in re.findall(r"<rect[^>]*>", svg):
        x, y, width, height = (float(re.search(rf' {key}="([^"]*)"', rect)[1]) for key in ("x", "y", "width", "height"))
        found += [(x, y), (x + width, y + height)]
    dots = re.findall(r'cx="([^"]*)" cy="([^"]*)"', svg)
    return found + [(float(x), float(y)) for x, y in dots]


def hatched(svg):
    """The stretches of masking ratios that are hatched."""
    boxes = re.findall(r'<rect class="outside" x="([\d.]+)" width="([\d.]+)"', svg)
    spans = [(float(x), float(x) + float(width)) for x, width in boxes]
    return [tuple(round((end - LEFT) / (RIGHT - LEFT), 3) for end in ends) for ends in spans]


def row_of(curves, method):
    return next(row for row in curves.curves if row.method == method)


def printed(thing, width=80):
    console = Console(file=io.StringIO(), width=width)
    console.print(thing)
    return console.file.getvalue()


def test_the_table_is_ranked_in_percent_with_random_last():
    table = masking_table(three())
    assert table.heads == ("Performance", "Measure", "ACU [%]", "RACU [%]", "n", "Skipped", "Note")
    assert table.cells == (
        ("accuracy", "good", "28.7 [27.7, 30.7]", "95.8 [85.8, 105.8]", "50", "0", ""),
        ("accuracy", "bad", "-1.2 [-2.2, 0.8]", "-5.0 [-15.0, 5.0]", "50", "1,234", "no bound"),
        ("accuracy", "random", "–", "–", "50", "0", "baseline"),
    )


def test_records_are_flat_and_in_full():
    curves = three((0.5,) * 5, (0.5, 0.5, 0.04, 0.05, 0.0))
    curves = replace(curves, curves=(*curves.curves, curve("flat", RANDOM, reason="no_area", p_values=None)))
    curves = replace(curves, curves=(*curves.curves[:-1], replace(curves.curves[-1], racu=None)))
    rows = {row["method"]: row for row in json.loads(to_json(masking_table(curves)))}
    assert rows["good"] == {
        "method": "good", "metric": "accuracy", "acu": 0.287, "acu_low": 0.287 - 0.01, "acu_high": 0.287 + 0.02,
        "racu": 0.958, "racu_low": 0.958 - 0.1, "racu_high": 0.958 + 0.1, "reason": None, "signed": False,
        "n": 50, "skipped": 0, "over": "instances", "out_of_distribution": "0.5 1", "valid": False,
        "unmasked": 1.0, "fully_masked": 0.5, "majority": 0.52,
    }  # fmt: skip
    assert rows["random"]["out_of_distribution"] == ""
    assert rows["random"]["valid"] is True
    assert (rows["bad"]["out_of_distribution"], rows["bad"]["valid"]) == (None, None)
    assert (rows["flat"]["racu"], rows["flat"]["reason"]) == (None, "no_area")
    assert "NaN" not in to_json(masking_table(curves))
    assert len(to_csv(masking_table(curves)).splitlines()) == 5


def test_papers_get_escaped_tables():
    curves = three((0.5, 0.5, 0.01, 0.5, 0.5))
    curves = replace(curves, curves=(*curves.curves, curve("a_b|c & $d$", RANDOM)))
    latex = to_latex(masking_table(curves))
    assert r"accuracy & good & 28.7 [27.7, 30.7] & 95.8 [85.8, 105.8] & 50 & 0 & not valid at 50 \% \\" in latex
    assert r"a\_b\textbar{}c \& \$d\$" in latex
    assert latex.count(r"\midrule") == 1
    assert r"a\_b\|c &amp; \$d\$" in to_markdown(masking_table(curves))


@pytest.mark.parametrize(
    ("places", "said"),
    [((), ""), ((0,), "0 %"), ((2, 3, 4), "50–100 %"), ((0, 2, 3), "0 %, 50–75 %"), ((1, 3), "25 %, 75 %")],
)
def test_ratios_are_joined_to_stretches(places, said):
    assert ratios(places, 5) == said


def test_an_area_is_not_valid_where_either_of_its_curves_is_not():
    curves = three((0.9, 0.9, 0.9, 0.9, 0.01), (0.9, 0.01, 0.9, 0.9, 0.9), (0.9,) * 5)
    assert marks(curves, row_of(curves, "good")) == ["not valid at 25 %, 100 %"]
    assert marks(curves, row_of(curves, "bad")) == ["not valid at 100 %", "no bound"]
    assert marks(curves, row_of(curves, "random")) == ["baseline", "not valid at 100 %"]


def test_words_say_how_the_model_does_and_whether_that_is_valid():
    said = performance_said(three())
    assert "100.0 [95.0, 100.0] with nothing masked, 50.0 [45.0, 55.0] with everything masked" in said
    assert "the most frequent class gives 52.0." in said
    assert "worse" not in said
    assert "worse than that" in performance_said(replace(three(), majority=0.56))
    assert "was not tested" in distribution_said(three())
    fine = (0.5, 0.05, 0.5, 0.5, 0.5)
    assert "pass as in-distribution at every masking ratio" in distribution_said(three(fine, fine, fine))
    assert "Not tested: bad." in distribution_said(three(fine, fine))
    said = distribution_said(three(fine, (0.5, 0.5, 0.049, 0.5, 0.001), fine))
    assert "(p < 0.05) at masking ratios 50 %, 100 %, with good: the numbers are not valid there." in said


@pytest.mark.parametrize(
    ("p_random", "p_good", "expected"),
    [
        ((0.5,) * 5, (0.5, 0.05, 0.5, 0.5, 0.5), []),
        ((0.5,) * 5, (0.5, 0.5, 0.0499, 0.001, 0.5), [(0.375, 0.875)]),
        ((0.04, 0.5, 0.5, 0.5, 0.5), (0.5, 0.5, 0.5, 0.5, 0.0), [(0.0, 0.125), (0.875, 1.0)]),
        ((0.0,) * 5, (0.5,) * 5, [(0.0, 1.0)]),
        (None, None, []),
    ],
)
def test_hatched_exactly_where_a_p_value_is_below_the_level(p_random, p_good, expected):
    curves = three(p_random, p_good)
    svg = panel(curves, row_of(curves, "good"))
    assert hatched(svg) == expected
    assert svg.count('class="hatch"') == len(expected)
    for path in re.findall(r'<path d="([^"]*)" class="hatch"', svg):
        xs = [(float(x) - LEFT) / (RIGHT - LEFT) for x in re.findall(r"([\d.]+) [\d.]+", path)]
        assert all(any(a - 1e-3 <= x <= b + 1e-3 for a, b in expected) for x in xs)


@pytest.mark.parametrize("tested", [True, False])
@pytest.mark.parametrize("metric", ["accuracy", "matthews"])
def test_nothing_is_drawn_outside_the_plot_areas(tested, metric):
    p = (1.0, 0.5, 1e-9, 0.0, 0.03) if tested else None
    curves = three(p, p, p, metric=metric)
    if metric == "matthews":
        rows = (*curves.curves, curve("wrong", (1.0, -0.3, -0.9, 0.0, -1.0), metric=metric, p_values=p))
        curves = replace(curves, majority=0.0, curves=rows)
    beyond = (Estimate(1.0, 0.9, 1.3), *curves.curves[-1].curve[1:])
    curves = replace(curves, curves=(*curves.curves[:-1], replace(curves.curves[-1], curve=beyond)))
    for row in curves.curves:
        svg = panel(curves, row)
        assert "nan" not in svg.lower()
        assert "inf" not in svg.lower()
        bottom = 262 if tested else BOTTOM
        assert all(LEFT <= x <= RIGHT and TOP <= y <= bottom for x, y in drawn(svg))
        assert ("log scale" in svg) == tested
        height = float(re.search(r'viewBox="0 0 360 (\d+)"', svg)[1])
        assert all(0 < float(y) < height for y in re.findall(r'<text [^>]*y="([\d.]+)"', svg))
    assert (">≤ 0.0001<" in panel(curves, curves.curves[1])) == tested


def test_a_curve_without_intervals_and_with_two_points_is_drawn():
    bare = tuple(Estimate(v) for v in (1.0, 0.5))
    rows = tuple(replace(curve(m, (1.0, 0.5)), curve=bare, acu=Estimate(0.0)) for m in ("random", "m"))
    curves = MaskingCurves("random", 0.5, rows)
    svg = panel(curves, rows[1])
    assert 'class="ribbon"' not in svg
    assert 'class="ends"' not in svg
    assert masking_table(curves).cells[0][2] == "0.0"


def test_the_shaded_areas_are_those_of_equation_3():
    def size(outline):
        return abs(sum(a * d - b * c for (a, b), (c, d) in zip(outline, [*outline[1:], outline[0]], strict=True))) / 2

    curves = three()
    random, bad = (row_of(curves, name) for name in ("random", "bad"))
    pieces = list(between(random, bad))
    assert [side for side, _ in pieces] == ["above", "below", "above"]
    signed = sum(size(outline) * (1 if side == "below" else -1) for side, outline in pieces)
    assert signed == pytest.approx(0.25 * sum(r - v.value for r, v in zip(RANDOM, bad.curve, strict=True)), abs=1e-12)
    crossing = pieces[0][1][2]
    assert crossing == pytest.approx((1 / 3, 0.9 - 0.1 / 3)), "from 0.1 above to 0.2 below: after a third of the step"
    assert not list(between(random, random))


def test_the_drawing_says_its_numbers():
    curves = three((0.5,) * 5, (0.5, 0.2, 0.04, 0.0001, 0.3))
    svg = panel(curves, row_of(curves, "good"))
    level = BOTTOM - 0.52 * (BOTTOM - TOP)
    assert f'<path d="M40.0 {level:.1f}L350.0 {level:.1f}" class="majority">' in svg
    assert "0 %: 100.0, 25 %: 40.0, 50 %: 30.0, 75 %: 30.0, 100 %: 50.0." in svg
    assert "p-values: 0.500, 0.200, 0.040, &lt; 0.001, 0.300." in svg
    assert "<title>25 % masked: 40.0 [35.0, 45.0]; random 90.0 [85.0, 95.0]; p 0.200</title>" in svg


def test_one_instance_has_a_small_curve():
    svg = spark((1.0, 0.5, 0.0), (1.0, 1.0, 0.0))
    assert '<path d="M2.0 3.0L60.0 15.0L118.0 27.0" class="measure">' in svg
    assert '<path d="M2.0 3.0L60.0 3.0L118.0 27.0" class="random">' in svg
    assert "1.000, 0.500, 0.000" in svg
    assert 'class="random"' not in spark((1.0, 0.5), None)


@pytest.mark.parametrize("width", [30, 60, 80, 120])
def test_the_terminal_fits_and_cuts_no_number(width):
    p = (0.5, 0.5, 0.5, 0.01, 0.01)
    curves = three((0.5,) * 5, p, (0.5,) * 5)
    shown = printed(masking(curves), width)
    assert "…" not in shown
    assert all(len(line) <= width for line in shown.splitlines())
    together = re.sub(r"\s+", "", shown)
    for piece in ("28.7[27.7,30.7]", "95.8[85.8,105.8]", "1,234", "notvalidat75–100%", "overthe50instancesofthisrun"):
        assert piece in together


def test_the_terminal_marks_what_must_be_known():
    curves = three((0.5,) * 5, (0.5, 0.5, 0.5, 0.01, 0.01), (0.5,) * 5)
    rows = {line.split()[0]: line.split()[-1] for line in printed(masking(curves)).splitlines() if "[" in line}
    assert (rows["good"], rows["bad"]) == ("✗", "±")
    seeds = replace(curves, curves=tuple(replace(row, over="seeds") for row in curves.curves), runs=5)
    assert "over 5 runs that differ in the seed of their model." in printed(masking(seeds), 200)
    assert "So few runs say little" in printed(masking(replace(seeds, runs=2)), 200)
    only_the_end = three((0.5,) * 5, (0.5, 0.5, 0.5, 0.5, 0.01), (0.5,) * 5)
    assert "tends to reject fully masked inputs" in printed(masking(only_the_end), 400)
    assert "tends to reject" not in printed(masking(curves), 400)
    evil = replace(curves, curves=(*curves.curves, curve("\x1b[2J[bold]x\u202e", RANDOM)))
    assert not set(printed(masking(evil))) & set("\x1b\u202e")
    assert "[bold]x" in printed(masking(evil))


def scored(run, methods=("random", "loo"), steps=(4, 4), metrics=("masking", "within"), instances=6):
    """A run in which random masking loses the gold class late and the others at once; with p-values of 0.9."""
    stored = run(instances, methods)
    scores = []
    for i in range(instances):
        for method in methods:
            fall = 1 + i % 3 if method == methods[0] else 1
            predicted = tuple(float(place < fall) for place in range(steps[0] + 1))
            probabilities = tuple(0.9 if right else 0.2 for right in predicted)
            series = {"gold": (1.0,), "predicted": predicted}
            scores.append(Score(f"id-{i}", method, metrics[0], 0.5, curve=probabilities, series=series))
            if len(metrics) > 1:
                scores.append(Score(f"id-{i}", method, metrics[1], 0.9, curve=(0.9,) * (steps[1] + 1)))
    names = ("recursive_masking", "in_distribution")
    card = stored.card | {
        "methods": [{"label": m, "name": "random" if m == methods[0] else m, "signed": False} for m in methods],
        "metrics": [
            {"label": label, "name": name, "ranked": name != "in_distribution", "parameters": {"steps": step}}
            for label, name, step in zip(metrics, names, steps, strict=False)
        ],
    }
    return replace(stored, card=card, scores=scores)


def test_the_page_has_the_section_only_where_something_was_masked(run):
    assert 'id="masking"' not in render(run(3))
    assert "small curve" not in render(run(3))
    html = render(scored(run))
    assert html.index('id="leaderboard"') < html.index('id="masking"') < html.index('id="instances"')
    assert html.count('class="plot masked"') == 1, "one drawing for each measure but the random one"
    assert html.count('class="plot spark"') == 12, "one small curve for each explanation of each instance"
    table = re.search(r'<table class="areas">.*?</table>', html, re.DOTALL)[0]
    # random masks right for 1, 2 and 3 of 4 steps, a third of the instances each; loo for one
    # curves: random 1, 2/3, 1/3, 0, 0 after the first; loo 0; area (2/3 + 1/3) / 4; of random's own area 1.5 / 4
    assert "<b>25.0</b>" in table
    assert "<b>66.7</b>" in table
    assert "pass as in-distribution at every masking ratio" in html


def test_what_does_not_rank_is_not_on_the_leaderboard(run):
    stored = scored(run)
    assert {row.metric for row in content_of(stored, 5).summaries} == {"masking"}
    html = render(stored)
    board = html[html.index('id="leaderboard"') : html.index('id="masking"')]
    assert "within" not in board
    assert "within" in html[html.index('id="instances"') :]
    only = replace(stored, scores=[score for score in stored.scores if score.metric == "within"])
    assert "no scores that rank methods" in render(only)
    assert 'id="masking"' not in render(only)


def test_p_values_of_other_steps_are_not_taken(run):
    curves = content_of(scored(run, steps=(4, 5)), 5).masking["masking"]
    assert all(row.p_values is None for row in curves.curves)
    assert "was not tested" in render(scored(run, metrics=("masking",)))


def test_without_the_random_measure_it_is_said(run):
    stored = scored(run)
    html = render(replace(stored, scores=[score for score in stored.scores if score.method != "random"]))
    assert "random has no curve in this run" in html


@pytest.mark.parametrize(
    "odd",
    [
        {"data": "text"},
        {"data": {"metric": "no such thing"}},
        {"methods": [1, {"name": "random"}, {"label": 3}]},
        {"metrics": [1, {"name": "recursive_masking"}, {"label": "masking", "name": "recursive_masking"}]},
    ],
)
def test_a_card_of_any_shape_is_shown(run, odd):
    stored = scored(run)
    assert "Run card" in render(replace(stored, card=stored.card | odd))


EVIL = "\"><img src=x onerror=document.documentElement.setAttribute('ran',1)>\u202e(</title></svg><script>x)"


def test_hostile_labels_are_text(browser, run, tmp_path: Path):
    path = tmp_path / "report.html"
    path.write_text(render(scored(run, methods=(f"random {EVIL}", f"loo {EVIL}"))), encoding="utf-8")
    browser.open(path)
    assert browser.ask("document.documentElement.hasAttribute('ran')") is False
    assert browser.ask("document.scripts.length + document.images.length") == 1
    assert browser.ask("document.querySelectorAll('svg:not(.plot)').length") == 0
    assert browser.ask("document.querySelectorAll('[style]').length") == 0
    assert visible(f"loo {EVIL}") in browser.ask("document.querySelector('.panels').textContent")
    assert visible(f"masked by loo {EVIL}") in browser.ask("document.querySelector('svg.masked').ariaLabel")


@pytest.mark.parametrize("dark", [False, True])
def test_a_phone_shows_the_section_without_sideways_scrolling(browser, run, tmp_path: Path, dark):
    path = tmp_path / "report.html"
    methods = ("random", f"integrated_gradients(target=gold, {'x' * 200}=1)")
    path.write_text(render(scored(run, methods=methods)), encoding="utf-8")
    browser.open(path, width=400, dark=dark)
    assert browser.ask("document.documentElement.scrollWidth") <= 400
    widths = browser.ask("[...document.querySelectorAll('svg.masked')].map(e => e.getBoundingClientRect().width)")
    assert all(250 < width < 400 for width in widths)
    colours = browser.ask(
        "['.measure', 'path.random'].map(s => getComputedStyle(document.querySelector('svg.masked ' + s)).stroke)"
    )
    expected = ["rgb(156, 192, 234)", "rgb(127, 137, 150)"] if dark else ["rgb(43, 79, 124)", "rgb(139, 147, 160)"]
    assert colours == expected


def test_labels_fit_in_every_font(assert_texts_fit, run):
    assert_texts_fit(render(scored(run)))


def test_the_longest_label_of_an_axis_fits_in_every_font(assert_texts_fit):
    curves = three(p_random=(1e-9,) * 5, p_good=(1e-9,) * 5)
    svg = panel(curves, row_of(curves, "good"))
    assert "≤ 0.0001" in svg
    assert_texts_fit(f"<!doctype html><meta charset=utf-8><body style='font: 11px sans-serif'>{svg}")
