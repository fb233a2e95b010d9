"""Plots of explanations: their bars, steps and colours, as text for LaTeX, and of the words of a run."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from results.render.test_paper import check_texts
from support.hostile import HOSTILE
from support.runs import text_of
from verax.report.plots import Ends, PlottedExplanation, beeswarm, draw_words, figure_of
from verax.results.figure import Bar, Figure, Rule, Swarm
from verax.results.manifest import MethodEntry
from verax.results.plot import draw_figure
from verax.results.run import Run
from verax.types import Highlight, Instance, Kind, Prediction, Target, UserError


def explanation(
    *texts: str, scores: tuple[float, ...] | None = None, signed: bool = True, kind: Kind = "token", lang: str = "en"
) -> PlottedExplanation:
    """An explanation whose scores are 1, -2, 3, ... unless they are given."""
    instance = Instance("i", tuple(text_of(text, lang) for text in texts), "yes", lang)
    units: Any = instance.units
    if kind != "token":
        units = tuple((a[0], b[0]) for a, b in pairwise(units))
    given = scores or tuple((-1.0) ** i * (i + 1) for i in range(len(units)))
    highlight = Highlight("i", "m", kind, Target(), units, given)
    return PlottedExplanation(
        highlight, instance, Prediction("i", "yes", ("yes",), (1.0,)), MethodEntry(label="m", signed=signed)
    )


def bars(figure: Figure) -> list[tuple[str, float, float, str]]:
    (panel,) = figure.panels
    return [(mark.row.strip(), mark.start, mark.end, mark.sign) for mark in panel.marks if isinstance(mark, Bar)]


def test_the_strongest_words_have_bars_and_equal_words_are_numbered() -> None:
    figure = explanation("a b a", "# b", scores=(1.0, -2.0, 3.0, 0.5, -1.5)).bars(4)
    assert bars(figure) == [
        ("a (2)", 0.0, 3.0, "positive"),
        ("b (1)", 0.0, -2.0, "negative"),
        ("b (2)", 0.0, -1.5, "negative"),
        ("a (1)", 0.0, 1.0, "positive"),
    ]
    assert "1 weaker word left out" in figure.legend
    assert not any(row.startswith("#") for row in explanation("# b").bars().panels[0].rows), "a word is no heading"


def test_scores_without_a_sign_have_a_colour_of_their_own() -> None:
    assert {sign for *_, sign in bars(explanation("a b", signed=False).bars())} == {"unsigned"}


def test_pairs_have_bars_but_no_waterfall() -> None:
    pairs = explanation("a b c", kind="token_interaction")
    assert [row for row, *_ in bars(pairs.bars())] == ["b – c", "a – b"]
    with pytest.raises(UserError, match="scores pairs"):
        pairs.require_additive()
    with pytest.raises(UserError, match="have no sign"):
        explanation("a b", signed=False).require_additive()


@pytest.mark.parametrize(("full", "remainder"), [(2.5, None), (4.0, 1.5)])
def test_a_waterfall_leads_from_the_value_without_words_to_that_of_the_input(
    full: float, remainder: float | None
) -> None:
    figure = explanation("a b c d", scores=(1.0, -2.0, 3.0, 0.5)).waterfall(2, Ends(0.0, full), "mask")
    steps = bars(figure)
    assert [row for row, *_ in steps] == ["c", "b", "2 other words"] + ["remainder"] * (remainder is not None)
    assert all(before[2] == after[1] for before, after in pairwise(steps))
    assert (steps[0][1], steps[-1][2]) == (0.0, full)
    if remainder is not None:
        assert steps[-1][2] - steps[-1][1] == pytest.approx(remainder)
    rules = {mark.value: mark.label for mark in figure.panels[0].marks if isinstance(mark, Rule)}
    assert rules == {0.0: "without words (mask): 0.000", full: f"this input: {full:.3f}"}
    assert ("remainder" in " ".join(figure.legend)) is (remainder is not None)
    check_texts(draw_figure(figure))


def test_words_are_coloured_by_sign_and_strength() -> None:
    tints = explanation("a b c", scores=(2.0, -1.0, 0.001)).tints()
    assert {place: side for place, (_, side) in tints.items()} == {(0, 0): 1, (0, 1): -1}
    assert max(tints[0, 0][0]) < 256
    assert tints[0, 0][0][2] < tints[0, 0][0][0], "orange"
    assert tints[0, 1][0][0] < tints[0, 1][0][2], "blue"
    assert {side for _, side in explanation("a b", signed=False, scores=(1.0, 2.0)).tints().values()} == {0}


@pytest.mark.filterwarnings("ignore:no installed font")
@pytest.mark.parametrize("text", ["one word " * 40, "x" * 400, "", "العربية (2024) abc", "这只猫", r"$\frac{1}{0}$"])
def test_coloured_text_stays_on_its_page(text: str) -> None:
    plotted = explanation(text, "b")
    page = draw_words(plotted, "column")
    check_texts(page)
    assert sum(artist.get_gid() == "word" for artist in page.artists) == len(plotted.tints()) or "x" * 9 in text
    assert not any(written.get_parse_math() for written in page.texts)


def test_brackets_of_text_from_right_to_left_are_mirrored() -> None:
    shown = [one.get_text() for one in draw_words(explanation("אב ( גד )", lang="he"), "column").texts]
    assert shown.index(")") < shown.index("(")


def test_latex_has_a_box_for_each_tint_and_nothing_is_a_command() -> None:
    plain = explanation("a b.", "c", scores=(2.0, -1.0, 0.0)).latex()
    assert plain.splitlines()[1:] == [
        r"{\fboxsep=1pt",
        r"\noindent \colorbox[RGB]{240,174,102}{\strut \underline{a}} "
        r"\colorbox[RGB]{178,213,232}{\strut \textsl{b.}}\par",
        r"\noindent c\par",
        "}",
    ]
    assert "violet" in explanation("a b", signed=False).latex()
    assert "XeLaTeX" in explanation("кот").latex()


@pytest.mark.parametrize("text", [*HOSTILE[::5], r"\input{x} $y$ 5% #1 & ~ ^ _ {"])
def test_hostile_text_is_no_latex(text: str) -> None:
    latex = explanation(text, text).latex()
    commands = set(re.findall(r"\\[a-zA-Z]+", latex))
    allowed = "usepackage fboxsep noindent colorbox strut underline textsl par textbackslash textasciitilde "
    allowed += "textasciicircum textless textgreater textbar char rule"
    assert commands <= {rf"\{name}" for name in allowed.split()}
    body = re.sub(r"\\[\\{}%$#&_]", "", latex)
    assert body.count("{") == body.count("}")
    assert all(line.startswith("%") or "%" not in line.replace(r"\%", "") for line in latex.splitlines())


def swarms(figure: Figure, panel: int = 0) -> dict[tuple[str, str], tuple[float, ...]]:
    found = [mark for mark in figure.panels[panel].marks if isinstance(mark, Swarm)]
    return {(mark.row.strip(), figure.series[mark.series].name): mark.values for mark in found}


def test_a_beeswarm_has_a_dot_for_each_occurrence_by_predicted_class(run: Callable[..., Run]) -> None:
    made = run(3, methods=("loo", "random"))
    figure = beeswarm(made)
    assert [panel.title for panel in figure.panels] == ["loo"], "random scores are drawn only if they are asked for"
    found = swarms(figure)
    assert found["dog", "predicted no"] == (1.0,)
    assert found["dog", "predicted yes"] == (1.0, 1.0)
    assert sum(map(len, found.values())) == 3 * 7
    order = [row.strip() for row in figure.panels[0].rows]
    assert order[:2] == ["dog", "moves"], "by the sum of the sizes, then by name"
    check_texts(draw_figure(figure))


def test_other_methods_of_a_beeswarm_are_named_or_refused(run: Callable[..., Run]) -> None:
    made = run(2, methods=("loo", "random"))
    assert [panel.title for panel in figure_of([made], "beeswarm", ["random"]).panels] == ["Random"]
    with pytest.raises(UserError, match="did you mean 'random'"):
        figure_of([made], "beeswarm", ["randm"])
    with pytest.raises(UserError, match="one run, got 2"):
        figure_of([made, made], "beeswarm")
    with pytest.raises(UserError, match="only beeswarm"):
        figure_of([made], "leaderboard", ["random"])
    with pytest.raises(UserError, match="did you mean 'leaderboard'"):
        figure_of([made], "leaderbord")
