"""Tables and figures of the unified framework, against numbers written by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from support.markup import parse
from support.tables import heads_of, lines_of, printed
from verax.results.figure import Dot, Rule
from verax.results.render.plain import to_latex, to_markdown
from verax.results.render.svg import figure_svg
from verax.results.render.terminal import show_findings
from verax.studies.unified import STUDY
from verax.studies.unified.analysis import BASES, KINDS, Bounds, Entry, Property, Stability, Unified, UnifiedRun
from verax.studies.unified.figures import figures
from verax.studies.unified.tables import caption, direction, findings, reading, tables, titles
from verax.types import Base, Estimate, Kind


def at(value: float, half: float = 0.1) -> Estimate:
    return Estimate(value, value - half, value + half)


def entries(value: float, difference: Estimate, **changes: Any) -> tuple[Entry, ...]:
    """Every kind and base with the same numbers; random without a difference."""
    return tuple(
        Entry(kind, base, f"{base}/{kind}", at(value), 40, None if base == "random" else difference, 40, **changes)
        for kind in KINDS
        for base in BASES
    )


FLIPS = {"k": 3, "grid": "matched", "budget": "base", "words": None}
COMPREHENSIVENESS = Property("comprehensiveness", "flips", FLIPS, True, entries(0.5, at(0.3), words=6.5))
SUFFICIENCY = replace(COMPREHENSIVENESS, name="sufficiency", metric="sufficiency_flips")
COMPLEXITY = Property(
    "complexity", "entropy", {"budget": "shared"}, False, entries(2.0, at(-0.5), bounds=Bounds(2.5, 2.75))
)
SIMULATABILITY = Property(
    "simulatability",
    "agents",
    {"insertion": "text", "k": 1},
    True,
    entries(0.02, at(0.01), sf=at(0.8)),
    "seeds and instances",
    3,
    0.78,
)
STABLE = Stability("louvain", "Louvain over Shapley", "shapley", Estimate(0.5, 0.4, 0.6), 1234)


def of(*properties: Property, stability: tuple[Stability, ...] = ()) -> Unified:
    return Unified((UnifiedRun("tiny", properties, stability),))


def changed(one: Property, kind: Kind, base: Base, **changes: Any) -> Property:
    """The property with one entry changed."""
    rows = [replace(made, **changes) if (made.kind, made.base) == (kind, base) else made for made in one.entries]
    return replace(one, entries=tuple(rows))


def test_captions_say_the_budget_and_what_the_intervals_are_over() -> None:
    said = caption(COMPREHENSIVENESS)
    assert "1 to 3 span pairs" in said
    assert "Shapley 6.5, Attention 6.5, Integrated gradients 6.5, Random 6.5" in said
    assert "40 instances" in said
    fewer = changed(COMPREHENSIVENESS, "token", "shapley", n=38)
    assert "38 to 40 instances" in caption(fewer)
    tiny = replace(COMPREHENSIVENESS, entries=tuple(replace(one, n=5) for one in COMPREHENSIVENESS.entries))
    assert "Over 5 instances; there are intervals from 6 on." in caption(tiny)
    assert "40 instances and the budgets of 5 seeds (BCa" in caption(replace(COMPREHENSIVENESS, draws=5))
    assert "Marks come from the joint test of all methods, not from these intervals." in said
    assert "1, 3 words" in caption(replace(COMPREHENSIVENESS, parameters=FLIPS | {"words": [1, 3]}))
    budgets = {
        caption(replace(COMPREHENSIVENESS, parameters=FLIPS | change))
        for change in ({}, {"budget": "shared"}, {"grid": "incremental"}, {"grid": "incremental", "budget": "shared"})
    }
    assert len(budgets) == 4
    said = caption(SIMULATABILITY)
    assert "0.780" in said
    assert "3 seeds" in said
    agreement = replace(COMPREHENSIVENESS, name="agreement_of_words", parameters={"within": "budget", "k": 3})
    everywhere = replace(agreement, parameters={"within": "all"})
    assert "3 span pairs" in caption(agreement)
    assert "span pairs" not in caption(everywhere).split(".")[1]
    assert caption(replace(everywhere, name="agreement_of_pairs")) != caption(everywhere)
    assert (direction(COMPLEXITY), direction(COMPREHENSIVENESS)) == ("lower is better", "higher is better")
    matched = "from random, for span pairs from those matched to the method (in the column: their mean)."
    assert matched in caption(COMPREHENSIVENESS)
    alone = [one for one in COMPREHENSIVENESS.entries if one.kind == "token" or one.base in {"shapley", "random"}]
    assert matched not in caption(replace(COMPREHENSIVENESS, entries=tuple(alone))), "the column has those themselves"


def test_properties_of_the_same_name_have_different_titles() -> None:
    def titled(*properties: Property) -> list[str]:
        return titles(of(*properties).runs[0])

    other = replace(COMPREHENSIVENESS, metric="flips(words=2)")
    assert titled(COMPREHENSIVENESS, COMPLEXITY) == ["Comprehensiveness", "Complexity"]
    assert titled(COMPREHENSIVENESS, other) == ["Comprehensiveness: flips", "Comprehensiveness: flips(words=2)"]
    symbol = replace(SIMULATABILITY, parameters={"insertion": "symbol"})
    assert titled(symbol, SIMULATABILITY) == ["Simulatability (symbol)", "Simulatability (text)"]


def test_a_table_has_kinds_by_bases_with_marks_and_bounds() -> None:
    one = changed(COMPLEXITY, "token", "shapley", best=True, difference=at(0.05), p=0.4, like_random=True)
    one = replace(one, entries=tuple(e for e in one.entries if (e.kind, e.base) != ("token_interaction", "attention")))
    (table,) = tables(of(one))
    assert table.name == "complexity"
    assert heads_of(table) == ["Explanation", "Shapley", "Attention", "Integrated gradients", "Random"]
    plain = "2.000 [1.900, 2.100]"
    assert lines_of(table) == [
        ["span pairs", plain, plain, plain, plain],
        ["word pairs", plain, "–", plain, plain],
        ["words", f"◆○ {plain}", plain, plain, plain],
        ["drawn scores", "2.500", "2.500", "2.500", "2.500"],
        ["equal scores", "2.750", "2.750", "2.750", "2.750"],
    ]
    assert [mark.name for mark in table.marks] == ["best", "like_random"]


def test_simulatability_shows_the_f1_that_it_is_made_from() -> None:
    (table,) = tables(of(SIMULATABILITY))
    names = [line[0] for line in lines_of(table)]
    assert names == ["span pairs", "word pairs", "words", "SF, span pairs", "SF, word pairs", "SF, words"]
    assert lines_of(table)[3][1] == "0.800 [0.700, 0.900]"


def test_records_are_in_full_with_differences_and_marks() -> None:
    (table,) = tables(of(changed(COMPREHENSIVENESS, "span_interaction", "shapley", best=True)))
    record = table.records()[0]
    assert {key: value for key, value in record.items() if key.startswith("shapley")} == {
        "shapley": 0.5,
        "shapley_low": 0.4,
        "shapley_high": 0.6,
        "shapley_difference": 0.3,
        "shapley_difference_low": 0.3 - 0.1,
        "shapley_difference_high": 0.4,
        "shapley_marks": "best",
        "shapley_p": None,
        "shapley_method": "shapley/span_interaction",
        "shapley_n": 40,
        "shapley_pairs": 40,
        "shapley_words": 6.5,
    }
    assert "random_difference" not in record
    assert [record[field] for field in ("metric", "over", "seeds", "without")] == ["flips", "instances", None, None]
    agents = tables(of(SIMULATABILITY))[0].records()
    assert {(one["seeds"], one["without"]) for one in agents} == {(3, 0.78)}
    assert [one["shapley_n"] for one in agents] == [40] * 3 + [None] * 3
    assert table.rows[0].cells[1].details == ("shapley/span_interaction, n = 40",)


def test_papers_get_a_table_for_each_property() -> None:
    made = tables(of(changed(COMPREHENSIVENESS, "token", "shapley", best=True), COMPLEXITY, stability=(STABLE,)))
    assert [table.name for table in made] == ["comprehensiveness", "complexity", "stability"]
    latex = to_latex(made)
    assert latex.count(r"\begin{table}") == latex.count(r"\end{table}") == latex.count(r"\caption{") == 3
    assert r"words & $\diamond$ 0.500 [0.400, 0.600] & " in latex
    assert "\n\n| Explanation | Shapley | Attention | Integrated gradients | Random |\n" in to_markdown(made)
    assert lines_of(made[-1]) == [["Louvain over Shapley", "0.500 [0.400, 0.600]", "1,234"]]


def test_several_runs_are_sections_of_one_table() -> None:
    small = UnifiedRun("small", (COMPREHENSIVENESS, COMPLEXITY), (STABLE,))
    large = UnifiedRun("large", (changed(COMPREHENSIVENESS, "token", "shapley", value=at(0.9)),), (STABLE,))
    result = Unified((small, large))
    comprehensiveness, complexity, _, stability = tables(result)
    assert [row.section for row in comprehensiveness.rows] == ["small"] * 3 + ["large"] * 3
    assert lines_of(comprehensiveness)[5][:2] == ["large: words", "0.900 [0.800, 1.000]"]
    assert {row.section for row in complexity.rows} == {"small"}
    assert [line[0] for line in lines_of(stability)] == ["small: Louvain over Shapley", "large: Louvain over Shapley"]
    assert [figure.title.partition(":")[0] for figure in figures(result)] == ["small", "large"]
    assert comprehensiveness.caption == caption(COMPREHENSIVENESS), "it holds for both"
    fewer = UnifiedRun("large", (changed(COMPREHENSIVENESS, "token", "shapley", n=38),), ())
    (differing, *_) = tables(Unified((small, fewer)))
    assert "small: " in differing.caption
    assert "38 to 40 instances" in differing.caption.partition("large: ")[2]
    assert [sentence.partition(":")[0] for sentence in findings(result)] == ["small", "large"]


def test_wins_are_counted_over_runs_and_bases() -> None:
    """Two runs and three bases are six cases; equal values are won by none."""
    words = changed(COMPREHENSIVENESS, "token", "shapley", value=at(0.9), best=True, better=True, p=0.01)
    spans = changed(words, "span_interaction", "attention", value=at(0.8), difference=at(-0.1))
    runs = (UnifiedRun("small", (words,), ()), UnifiedRun("large", (spans,), ()))
    wins = next(table for table in tables(Unified(runs)) if table.name == "wins")
    assert lines_of(wins) == [
        ["Comprehensiveness: best kind", "1 of 6 (0)", "0 of 6 (0)", "2 of 6 (2)"],
        ["Comprehensiveness: better than random", "5 of 6 (0)", "6 of 6 (0)", "6 of 6 (2)"],
    ]
    lower = replace(spans, higher_is_better=False)
    wins = next(
        table for table in tables(Unified((runs[0], UnifiedRun("large", (lower,), ())))) if table.name == "wins"
    )
    assert wins.records()[0]["token_cases"] == 6


def test_the_models_and_the_attainable_maximum_are_shown() -> None:
    run = UnifiedRun("tiny", (COMPREHENSIVENESS,), (), "tiny", "nli", at(0.7))
    assert lines_of(tables(Unified((run,)))[-1]) == [["tiny", "tiny", "nli", "0.700 [0.600, 0.800]"]]
    within = {"within": "budget", "k": 3}
    one = Property("agreement_of_words", "ap", within, True, entries(0.3, at(0.1), maximum=0.45))
    (table,) = tables(of(one, replace(one, parameters={"within": "all"}, entries=entries(0.5, at(0.1)))))[:1]
    assert table.title == "Agreement on words (at the budget) (higher is better)"
    assert lines_of(table)[-1] == ["attainable maximum", *["0.450"] * 4]


def test_the_finding_counts_better_worse_and_alike() -> None:
    one = changed(COMPREHENSIVENESS, "token", "shapley", p=0.01, worse=True)
    one = changed(one, "token", "attention", p=0.3, like_random=True)
    one = changed(one, "token_interaction", "attention", p=0.01, better=True)
    (sentence,) = findings(of(one, COMPLEXITY))
    assert "3 comparisons" in sentence
    assert findings(of(COMPLEXITY)) == ["No comparison with random has enough inputs to tell."]
    assert "1 are significantly better, 1 worse, and 1 not" in sentence


def test_reading_speaks_of_what_was_measured() -> None:
    lines = {name: reading(of(one)) for name, one in (("c", COMPREHENSIVENESS), ("s", SUFFICIENCY), ("x", COMPLEXITY))}
    assert len(lines["s"]) == len(lines["x"]) == len(lines["c"]) + 1
    assert "shapley/token" in lines["c"][0]


@pytest.mark.parametrize("width", [30, 60, 80, 120])
def test_the_terminal_fits_and_cuts_no_number(width: int) -> None:
    result = of(COMPREHENSIVENESS, SIMULATABILITY, COMPLEXITY, stability=(STABLE,))
    said = printed(show_findings(STUDY.findings_of(result)), width)
    assert "…" not in said
    assert all(len(line) <= width for line in said.splitlines())
    together = "".join(said.split())
    for piece in ("0.500", "[0.400,0.600]", "+0.300", "[-0.080,0.120]", "-0.500", "2.750", "1,234"):
        assert piece in together


# -- figures ------------------------------------------------------------------------------------------------------


def dots(one: Property) -> dict[str, Dot]:
    (figure,) = figures(of(one))
    return {mark.row.strip(): mark for mark in figure.panels[0].marks if isinstance(mark, Dot)}


def test_better_is_to_the_right() -> None:
    assert dots(COMPREHENSIVENESS)["Shapley (words)"].x == at(0.3)
    assert dots(COMPLEXITY)["Shapley (words)"].x == pytest.approx((0.5, 0.4, 0.6))
    bare = changed(COMPLEXITY, "token", "shapley", difference=Estimate(-1.0))
    assert dots(bare)["Shapley (words)"].x == Estimate(1.0)


def test_dots_stand_in_rows_by_kind_and_random_has_none() -> None:
    (figure,) = figures(of(COMPREHENSIVENESS, COMPLEXITY))
    assert [panel.title for panel in figure.panels] == ["Comprehensiveness", "Complexity"]
    assert figure.panels[0].rows == figure.panels[1].rows
    assert [row for row in figure.panels[0].rows if row.startswith("# ")] == ["# span pairs", "# word pairs", "# words"]
    assert len(figure.panels[0].rows) == 3 + 9
    assert [series.name for series in figure.series] == ["Shapley", "Attention", "Integrated gradients"]
    assert len({series.shape for series in figure.series}) == 3
    assert [mark.value for mark in figure.panels[0].marks if isinstance(mark, Rule)] == [0.0]


def test_hollow_dots_are_not_significantly_different_from_random() -> None:
    better = replace(COMPREHENSIVENESS, entries=tuple(replace(made, better=True) for made in COMPREHENSIVENESS.entries))
    one = changed(better, "token", "shapley", difference=Estimate(-0.1, -0.4, 0.2), p=0.2, better=False)
    one = changed(one, "token", "attention", difference=None)
    drawn = dots(one)
    assert {row for row, dot in drawn.items() if dot.hollow} == {"Shapley (words)"}
    assert "Attention (words)" not in drawn
    (figure,) = figures(of(one))
    tree = parse(figure_svg(figure.panels[0], figure.series))
    assert len(tree.all(None, "mark hollow")) == 1
    assert len(tree.all(None, "mark")) == len(tree.all("line", "whisker")) == 8
    assert "Shapley (words), Shapley: -0.100 [-0.400, 0.200]" in tree.only("svg")["aria-label"]
