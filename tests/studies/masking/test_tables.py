"""Tables and figures of recursive masking, against curves written by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from support.markup import parse
from support.tables import figures_of, lines_of, printed
from verax.results.figure import Area, Dot, Line, Region, Rule
from verax.results.render.plain import to_latex, to_markdown
from verax.results.render.svg import figure_svg
from verax.results.render.terminal import show_findings
from verax.studies.masking import STUDY
from verax.studies.masking.curves import MaskingCurve, MaskingCurves, MaskingResult, SeedValues, Training, paper_name
from verax.studies.masking.figures import between, figures
from verax.studies.masking.tables import distribution, flags, performance_sentence, ratios, tables
from verax.types import Estimate

RANDOM = (1.0, 0.9, 0.8, 0.7, 0.5)
FINE = (0.5, 0.05, 0.5, 0.5, 0.5)
P = tuple[float, ...] | None


def curve(method: str, values: tuple[float, ...], acu: float = 0.0, racu: float = 0.0, **changes: Any) -> MaskingCurve:
    """A measure whose every point has an interval of 0.05 to either side, cut at 0 and 1."""
    points = tuple(Estimate(v, max(v - 0.05, 0.0), min(v + 0.05, 1.0)) for v in values)
    facts: dict[str, Any] = {
        "metric": "accuracy",
        "acu": Estimate(acu, acu - 0.01, acu + 0.02),
        "racu": Estimate(racu, racu - 0.1, racu + 0.1),
        "reason": None,
        "signed": False,
        "n": 50,
        "skipped": 0,
        "over": "instances",
        "p_values": None,
    }
    return MaskingCurve(method=method, curve=points, **(facts | changes))


def three(p_random: P = None, p_good: P = None, p_bad: P = None, **changes: Any) -> MaskingCurves:
    """A measure that is better than random, a signed one that crosses it, and random, first as in a run."""
    rows = (
        curve("random", RANDOM, p_values=p_random),
        curve("bad", (1.0, 1.0, 0.6, 0.9, 0.5), -0.012, -0.05, signed=True, skipped=1234, p_values=p_bad),
        curve("good", (1.0, 0.4, 0.3, 0.3, 0.5), 0.287, 0.958, p_values=p_good),
    )
    return MaskingCurves("masking", "random", 0.52, tuple(replace(row, **changes) for row in rows))


def row_of(group: MaskingCurves, method: str) -> MaskingCurve:
    return next(row for row in group.curves if row.method == method)


def shown(group: MaskingCurves) -> dict[str, list[str]]:
    """The cells that people read, by measure."""
    (table,) = tables(MaskingResult((group,)))
    return {row[0]: row[1:] for row in lines_of(table)}


def records(group: MaskingCurves) -> dict[str, dict[str, Any]]:
    (table,) = tables(MaskingResult((group,)))
    return {str(record["method"]): record for record in table.records()}


def test_the_table_is_ranked_in_percent_with_random_last() -> None:
    cells = shown(three())
    assert cells == {
        "good": ["28.7 [27.7, 30.7]", "95.8 [85.8, 105.8]", "50", "0", ""],
        "bad": ["-1.2 [-2.2, 0.8]", "-5.0 [-15.0, 5.0]", "50", "1,234", "no bound"],
        "random": ["0 by definition", "0 by definition", "50", "0", ""],
    }
    assert list(cells) == ["good", "bad", "random"]


def test_records_are_flat_and_in_full() -> None:
    group = three((0.5,) * 5, (0.5, 0.5, 0.04, 0.05, 0.0))
    flat = replace(curve("flat", RANDOM, reason="no_area"), racu=None)
    rows = records(replace(group, curves=(*group.curves, flat)))
    assert rows["good"] == {
        "method": "good", "acu": 0.287, "acu_low": 0.287 - 0.01, "acu_high": 0.287 + 0.02, "acu_reason": None,
        "racu": 0.958, "racu_low": 0.958 - 0.1, "racu_high": 0.958 + 0.1, "racu_reason": None,
        "n": 50, "skipped": 0, "flags": "not valid at 50 %, 100 %", "metric": "accuracy", "signed": False,
        "over": "instances", "out_of_distribution": "0.5 1", "valid": False,
        "unmasked": 1.0, "fully_masked": 0.5, "majority": 0.52, "majority_of": "measured",
    }  # fmt: skip
    assert (rows["random"]["out_of_distribution"], rows["random"]["valid"]) == ("", True)
    assert (rows["bad"]["out_of_distribution"], rows["bad"]["valid"]) == (None, None), "it was not tested"
    assert (rows["flat"]["racu"], rows["flat"]["racu_reason"]) == (None, "no area")


def test_measures_without_a_curve_have_rows_that_say_why() -> None:
    group = replace(three(), without={"far": "no curve", "alone": "not in every run"})
    cells = shown(group)
    assert cells["far"] == ["no curve", "no curve", "–", "–", "–"]
    assert cells["alone"][:2] == ["not in every run"] * 2
    assert records(group)["alone"]["acu_reason"] == "not in every run"


def test_several_groups_have_tables_of_their_own() -> None:
    several = tables(MaskingResult((three(), replace(three(), name="other"))))
    assert [table.name for table in several] == ["data-sets", "performance", "masking", "other"]
    assert [table.name for table in tables(MaskingResult((three(),)))] == ["areas"]
    assert all(table.title.startswith(f"{table.name}: ") for table in several[2:])


def seeded(name: str, areas: dict[str, float], unmasked: dict[str, float], **more: Any) -> MaskingCurves:
    """A data set with a model for each seed: its area under `good`, its unmasked performance; 0.5 fully masked."""
    base = three(over="seeds")

    def seeds(method: str) -> tuple[SeedValues, ...]:
        good = method == "good"
        return tuple(
            SeedValues(seed, unmasked[seed], 0.5, area if good else 0.0, 2 * area if good else None)
            for seed, area in areas.items()
        )

    rows = tuple(replace(row, seeds=seeds(row.method)) for row in base.curves)
    return replace(base, name=name, curves=rows, runs=len(areas), **({"majority": 0.4} | more))


def test_data_sets_together_have_a_row_for_all_without_seeds_that_did_not_converge() -> None:
    """Seed 2 gains 0.1 over the most frequent class on `b`, and seed 0 gains 0.5: less than half."""
    groups = (
        seeded("a", {"0": 0.1, "1": 0.2, "2": 0.9}, {"0": 0.9, "1": 0.8, "2": 0.9}),
        seeded("b", {"0": 0.3, "1": 0.6, "2": 0.9}, {"0": 0.9, "1": 0.7, "2": 0.5}, majority=0.4),
    )
    together, performances, *_ = tables(MaskingResult(groups))
    rows = {(row[0], row[1]): row[2:] for row in lines_of(together)}
    assert list(rows) == [("a", "bad"), ("a", "good"), ("b", "bad"), ("b", "good"), ("All", "bad"), ("All", "good")]
    assert rows["All", "good"] == ["30.0", "60.0", ""]  # ((0.1 + 0.3) / 2 + (0.2 + 0.6) / 2) / 2
    assert rows["All", "bad"] == ["0.0", "no area", ""], "one without a RACU has none in the mean"
    assert rows["a", "good"] == ["28.7 [27.7, 30.7]", "95.8 [85.8, 105.8]", ""]
    invalid = replace(
        groups[0], curves=tuple(replace(row, p_values=(0.9, 0.9, 0.9, 0.9, 0.01)) for row in groups[0].curves)
    )
    (table, *_) = tables(MaskingResult((invalid, groups[1])))
    notes = {(row[0], row[1]): row[-1] for row in lines_of(table)}
    assert (notes["a", "bad"], notes["b", "bad"]) == ("not valid at 100 %; no bound", "no bound")
    for words in ("2 seeds", "seed 2 on b (50.0 unmasked, 65.0 needed)", "50%", "did not converge"):
        assert words in together.caption
    shown_rows = {row[0]: row[1:] for row in lines_of(performances)}
    assert shown_rows["All"][1:] == ["82.5", "50.0", "40.0", "2"]  # (0.9 + 0.9 + 0.8 + 0.7) / 4
    assert [record["converged"] for record in performances.records()] == [3, 2, None]


def test_a_column_of_recursive_roar() -> None:
    group = three()
    rows = tuple(replace(row, roar=Estimate(0.261) if row.method == "good" else None) for row in group.curves)
    several = MaskingResult((replace(group, curves=rows), replace(three(), name="other")))
    table = tables(several)[0]
    assert [column.title for column in table.columns][-2] == "R-ROAR RACU [%]"
    cells = {(row[0], row[1]): row[-2] for row in lines_of(table)}
    assert (cells["masking", "good"], cells["masking", "bad"]) == ("26.1", "not measured")
    assert len(tables(MaskingResult((three(), replace(three(), name="other"))))[0].columns) == 5


def test_papers_get_the_names_of_the_paper() -> None:
    display = {"good": paper_name("Grad (L2)"), "bad": paper_name("InputXGrad (sign)")}
    latex = to_latex(tables(MaskingResult((replace(three(), display=display),))))
    assert "Grad ($L_2$) & 28.7" in latex
    assert r"x $\odot$ grad (sign) & -1.2" in latex
    assert latex.isascii()


def test_models_of_other_trainings_share_the_figures() -> None:
    """The p-values of a measure in one panel, performance unmasked and fully masked in two, a series each."""
    masked = replace(three((0.5,) * 5, (0.5,) * 5, (0.5,) * 5), training=Training("half", "both"))
    plain = replace(three((0.5,) * 5, (0.01,) * 5, None), training=Training("none", "none"))
    result = MaskingResult((masked, plain))
    by_name = {figure.name: figure for figure in figures(result)}
    names = ["masked fine-tuning", "plain fine-tuning"]
    assert [series.name for series in by_name["p-values"].series] == names
    lines = {
        panel.title: [mark.series for mark in panel.marks if isinstance(mark, Line)]
        for panel in by_name["p-values"].panels
    }
    assert lines == {"good": [0, 1], "bad": [0]}
    performances = by_name["performance"]
    assert [series.name for series in performances.series] == [*names, "always the most frequent class"]
    unmasked, fully_masked = (
        [(mark.row, mark.series, mark.x.value) for mark in panel.marks if isinstance(mark, Dot)]
        for panel in performances.panels
    )
    assert unmasked == [("masking", 0, 1.0), ("masking", 1, 1.0)]
    assert fully_masked == [("masking", 0, 0.5), ("masking", 2, 0.52), ("masking", 1, 0.5), ("masking", 2, 0.52)]
    titles = [figure.title for figure in figures(result) if figure.name == "curves"]
    assert titles == [f"masking, {name}: performance while words are masked" for name in names]
    assert [table.name for table in tables(result)] == ["performance", *(f"masking, {name}" for name in names)]
    others = [replace(group, name="other") for group in (masked, plain)]
    both = tables(MaskingResult((masked, plain, *others)))
    assert [table.name for table in both][:2] == [f"data-sets, {name}" for name in names]


def test_performance_over_data_sets_has_a_row_for_all() -> None:
    seeds = {"0": 0.9, "1": 0.8}
    result = MaskingResult((seeded("a", {"0": 0.1, "1": 0.2}, seeds), seeded("b", {"0": 0.3, "1": 0.6}, seeds)))
    panel = figures(result)[0].panels[0]
    assert panel.rows == ("a", "b", "All")
    (mean,) = [mark for mark in panel.marks if isinstance(mark, Dot) and mark.row == "All"]
    assert mean.x.value == pytest.approx(0.85)


def test_papers_get_escaped_names() -> None:
    group = three((0.5, 0.5, 0.01, 0.5, 0.5))
    made = tables(MaskingResult((replace(group, curves=(*group.curves, curve("a_b|c & $d$", RANDOM))),)))
    latex = to_latex(made)
    assert r"good & 28.7 [27.7, 30.7] & 95.8 [85.8, 105.8] & 50 & 0 & not valid at 50 \% \\" in latex
    assert r"a\_b\textbar{}c \& \$d\$ &" in latex
    assert r"| a\_b\|c &amp; \$d\$ |" in to_markdown(made)


@pytest.mark.parametrize(
    ("places", "said"),
    [((), ""), ((0,), "0 %"), ((2, 3, 4), "50–100 %"), ((0, 2, 3), "0 %, 50–75 %"), ((1, 3), "25 %, 75 %")],
)
def test_ratios_are_joined_to_stretches(places: tuple[int, ...], said: str) -> None:
    assert ratios(places, 5) == said


def test_an_area_is_not_valid_where_either_of_its_curves_is_not() -> None:
    group = three((0.9, 0.9, 0.9, 0.9, 0.01), (0.9, 0.01, 0.9, 0.9, 0.9), (0.9,) * 5)
    assert [group.invalid(row_of(group, name)) for name in ("good", "bad", "random")] == [(1, 4), (4,), (4,)]
    assert flags(group, row_of(group, "good")) == ["not valid at 25 %, 100 %"]
    assert flags(group, row_of(group, "bad")) == ["not valid at 100 %", "no bound"]
    assert flags(group, row_of(group, "random")) == ["not valid at 100 %"]


def test_a_measure_without_an_area_says_so_and_has_no_bound_to_break() -> None:
    group = three()
    bare = replace(row_of(group, "bad"), racu=None, reason="no_area")
    (flag,) = flags(replace(group, curves=(group.curves[0], bare)), bare)
    assert flag.startswith("no RACU")


def test_performance_and_validity_in_words() -> None:
    words = performance_sentence(three())
    for number in ("100.0 [95.0, 100.0]", "50.0 [45.0, 55.0]", "52.0"):
        assert number in words
    assert "the most frequent class of the measured data" in words
    told = performance_sentence(replace(three(), majority_of="training"))
    assert "the most frequent class of the training data gives 52.0" in told
    below = performance_sentence(replace(three(), majority=0.56))
    assert below.startswith(words.replace("52.0", "56.0"))
    assert len(below) > len(words), "a model that is worse than a constant is warned of"
    found = {
        "not tested": distribution(three()),
        "fine": distribution(three(FINE, FINE, FINE)),
        "some": distribution(three(FINE, FINE)),
        "out": distribution(three(FINE, (0.5, 0.5, 0.049, 0.5, 0.001), FINE)),
    }
    assert len(set(found.values())) == len(found)
    assert "in_distribution" in found["not tested"]
    assert found["some"].startswith(found["fine"])
    assert "bad" in found["some"].removeprefix(found["fine"])
    assert "50 %, 100 %, with good" in found["out"]
    assert "bad" not in found["out"]
    assert "Of 15 tests (a measure at a ratio) 2 reject; they are not corrected for their number" in found["out"]


def test_captions_say_what_intervals_are_over() -> None:
    (table,) = tables(MaskingResult((three(),)))
    assert "50 instances" in table.caption
    (few,) = tables(MaskingResult((three(n=5),)))
    assert few.caption == "Of 5 instances; there are intervals from 6 on."
    seeds = three(over="seeds")
    captions = [tables(MaskingResult((replace(seeds, runs=runs),)))[0].caption for runs in (6, 5)]
    assert captions[0].startswith("In brackets: 95 % intervals over 6 runs")
    assert captions[1].startswith("Means over 5 runs"), "no interval below 6, so none is announced"


def test_missing_metrics_are_a_finding() -> None:
    (sentence,) = STUDY.findings(MaskingResult((), ("masking",)))
    assert sentence.startswith("masking: ")
    assert STUDY.reading(MaskingResult((), ("masking",))) == []
    assert list(STUDY.tables(MaskingResult((), ("masking",)))) == []


@pytest.mark.parametrize("width", [30, 60, 80, 120])
def test_the_terminal_fits_and_cuts_no_number(width: int) -> None:
    group = three((0.5,) * 5, (0.5, 0.5, 0.5, 0.01, 0.01), (0.5,) * 5)
    said = printed(show_findings(STUDY.findings_of(MaskingResult((group,)))), width)
    assert "…" not in said
    assert all(len(line) <= width for line in said.splitlines())
    together = "".join(said.split())
    for piece in ("28.7", "[27.7,30.7]", "95.8", "[85.8,105.8]", "1,234", "notvalidat75–100%"):
        assert piece in together


# -- figures ------------------------------------------------------------------------------------------------------


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
def test_hatched_exactly_where_a_p_value_is_below_the_level(p_random: P, p_good: P, expected: list[Any]) -> None:
    curves = figures(MaskingResult((three(p_random, p_good),)))[0]
    good = next(panel for panel in curves.panels if panel.title == "good")
    regions = [(mark.start, mark.end) for mark in good.marks if isinstance(mark, Region)]
    assert regions == [pytest.approx(stretch) for stretch in expected]
    assert len(parse(figure_svg(good, curves.series)).all("g", "hatch")) == len(expected)


def test_a_panel_for_each_measure_but_random_best_first() -> None:
    (curves,) = figures(MaskingResult((three(),)))
    assert [panel.title for panel in curves.panels] == ["good", "bad"]
    (good, _) = curves.panels
    lines = {mark.series: mark for mark in good.marks if isinstance(mark, Line)}
    assert [point.value for point in lines[0].y] == [1.0, 0.4, 0.3, 0.3, 0.5]
    assert [point.value for point in lines[1].y] == list(RANDOM)
    assert curves.series[1].baseline
    assert [mark.value for mark in good.marks if isinstance(mark, Rule)] == [0.52]
    assert "28.7 [27.7, 30.7]" in good.caption
    assert "95.8 [85.8, 105.8]" in good.caption
    assert "28.7 [27.7, 30.7]" in good.description


def test_p_values_are_drawn_where_they_were_tested() -> None:
    assert figures_of(STUDY, MaskingResult((three(),))) == ["curves"]
    tested = MaskingResult((three((0.5,) * 5, (1.0, 0.1, 0.01, 0.0, 0.5)),))
    assert figures_of(STUDY, tested) == ["curves", "p-values"]
    (panel,) = figures(tested)[1].panels
    lines = {mark.series: [point.value for point in mark.y] for mark in panel.marks if isinstance(mark, Line)}
    assert lines[0] == pytest.approx([0.0, -1.0, -2.0, -4.0, -0.3010], abs=1e-4), "0 is drawn at the lower end"
    assert len(lines[1]) == 5


def test_only_the_random_measure_is_no_figure() -> None:
    group = three()
    assert figures(MaskingResult((replace(group, curves=group.curves[:1]),))) == []


@pytest.mark.parametrize("metric", ["accuracy", "matthews"])
def test_the_axis_holds_every_value(metric: Any) -> None:
    group = three(metric=metric)
    if metric == "matthews":
        wrong = curve("wrong", (1.0, -0.3, -0.9, 0.0, -1.0), metric=metric)
        group = replace(group, majority=0.0, curves=(*group.curves, wrong))
    for panel in figures(MaskingResult((group,)))[0].panels:
        assert (panel.y.low, panel.y.high) == ((-1.0 if metric == "matthews" else 0.0), 1.0)
        assert "nan" not in figure_svg(panel, figures(MaskingResult((group,)))[0].series)


def test_the_shaded_areas_are_those_of_equation_3() -> None:
    def size(area: Area) -> float:
        widths = [b - a for a, b in pairwise(area.x)]
        heights = [upper - lower for upper, lower in zip(area.upper, area.lower, strict=True)]
        means = [(a + b) / 2 for a, b in pairwise(heights)]
        assert all(height >= -1e-12 for height in heights)
        return sum(width * mean for width, mean in zip(widths, means, strict=True))

    group = three()
    random, bad = row_of(group, "random"), row_of(group, "bad")
    pieces = list(between(random, bad))
    assert [piece.sign for piece in pieces] == ["negative", "positive", "negative"]
    signed = sum(size(piece) * (1 if piece.sign == "positive" else -1) for piece in pieces)
    assert signed == pytest.approx(0.25 * sum(r - v.value for r, v in zip(RANDOM, bad.curve, strict=True)), abs=1e-12)
    assert (pieces[0].x[-1], pieces[0].upper[-1]) == pytest.approx((1 / 3, 0.9 - 0.1 / 3)), (
        "from 0.1 above to 0.2 below: after a third of the step"
    )
    assert not list(between(random, random))


def test_a_curve_without_intervals_and_with_two_points_is_drawn() -> None:
    bare = tuple(Estimate(v) for v in (1.0, 0.5))
    rows = tuple(replace(curve(m, (1.0, 0.5)), curve=bare, acu=Estimate(0.0)) for m in ("random", "m"))
    group = MaskingCurves("masking", "random", 0.5, rows)
    (figure,) = figures(MaskingResult((group,)))
    assert parse(figure_svg(figure.panels[0], figure.series)).all("path", "band") == []
    assert shown(group)["m"][0] == "0.0"
