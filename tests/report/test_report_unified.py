"""The unified framework in the report, the terminal and tables, against numbers written by hand."""

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from verax.report.tables import to_csv, to_json, to_latex, to_markdown
from verax.report.unified_plot import better, names, panel, rows_of
from verax.report.unified_tables import unified_records, unified_tables
from verax.report.unified_terminal import unified as in_terminal
from verax.report.unified_words import caption, lines, titles, verdict
from verax.stats.unified import Bounds, Cell, Property, Stability, Unified

from verax.report.page import render
from verax.results.render.markup import visible
from verax.types import Estimate, Highlight, Score, Span, Target

KINDS = ("span_interaction", "token_interaction", "token")
BASES = ("shapley", "attention", "integrated_gradients", "random")


def at(value, half=0.1):
    return Estimate(value, value - half, value + half)


def cells(value, difference, **changes):
    """Every kind and base with the same numbers; random without a difference."""
    return tuple(
        Cell(kind, base, f"{base}/{kind}", at(value), 40, None if base == "random" else difference, 40, **changes)
        for kind in KINDS
        for base in BASES
    )


FLIPS = {"k": 3, "grid": "matched", "budget": "base", "words": None}
COMPREHENSIVENESS = Property("comprehensiveness", "flips", FLIPS, True, cells(0.5, at(0.3), words=6.5))
COMPLEXITY = Property(
    "complexity", "entropy", {"budget": "shared"}, False, cells(2.0, at(-0.5), bounds=Bounds(2.5, 2.75))
)
SIMULATABILITY = Property(
    "simulatability",
    "agents",
    {"insertion": "text", "k": 1},
    True,
    cells(0.02, at(0.01), sf=at(0.8)),
    "seeds and instances",
    3,
    0.78,
)


def of(*properties, stability=()):
    return Unified(properties, stability)


def changed(one, kind, base, **changes):
    """The property with one cell changed."""
    rows = [replace(cell, **changes) if (cell.kind, cell.base) == (kind, base) else cell for cell in one.cells]
    return replace(one, cells=tuple(rows))


def printed(thing, width=80):
    console = Console(file=io.StringIO(), width=width)
    console.print(thing)
    return console.file.getvalue()


def test_captions_say_the_budget_and_what_the_intervals_are_over():
    said = caption(COMPREHENSIVENESS)
    assert "the top 1 to 3 span pairs of the same base (random: averaged over the bases)" in said
    assert "Shapley 6.5, Attention 6.5, Integrated gradients 6.5, Random 6.5" in said
    assert "95 % intervals over 40 instances" in said
    fewer = changed(COMPREHENSIVENESS, "token", "shapley", n=38)
    assert "over 38 to 40 instances" in caption(fewer)
    assert "at 1, 3 words" in caption(replace(COMPREHENSIVENESS, parameters=FLIPS | {"words": [1, 3]}))
    steps = caption(replace(COMPREHENSIVENESS, parameters=FLIPS | {"grid": "incremental", "budget": "shared"}))
    assert "piece by piece up to as many words as the top 3 span pairs averaged over all span explanations" in steps
    assert "lower is better" in caption(COMPLEXITY)
    assert "span pairs averaged over all span explanations of the run" in caption(COMPLEXITY)
    said = caption(SIMULATABILITY)
    assert "Without explanations their F1 is 0.780." in said
    assert "over 3 seeds of the agents and 40 instances that were held out" in said
    agreement = replace(COMPREHENSIVENESS, name="agreement_of_words", parameters={"within": "budget", "k": 3})
    assert "Within as many words as the top 3 span pairs of the same base" in caption(agreement)
    assert "Over all words, without a budget" in caption(replace(agreement, parameters={"within": "all"}))
    assert "Over all word pairs" in caption(replace(agreement, name="agreement_of_pairs"))


def test_properties_of_the_same_name_are_told_apart():
    other = replace(COMPREHENSIVENESS, metric="flips(words=2)")
    assert titles(of(COMPREHENSIVENESS, COMPLEXITY)) == ["Comprehensiveness", "Complexity"]
    assert titles(of(COMPREHENSIVENESS, other)) == ["Comprehensiveness: flips", "Comprehensiveness: flips(words=2)"]
    symbol = replace(SIMULATABILITY, parameters={"insertion": "symbol"})
    assert titles(of(symbol, SIMULATABILITY)) == ["Simulatability (symbol)", "Simulatability (text)"]


def test_a_table_has_kinds_by_bases_with_signs_and_bounds():
    one = changed(COMPLEXITY, "token", "shapley", best=True, difference=at(0.05))
    one = replace(one, cells=tuple(c for c in one.cells if (c.kind, c.base) != ("token_interaction", "attention")))
    (table,) = unified_tables(of(one))
    assert table.heads == ("Complexity", "Shapley", "Attention", "Integrated gradients", "Random")
    plain = "2.000 [1.900, 2.100]"
    assert table.cells == (
        ("span pairs", plain, plain, plain, plain),
        ("word pairs", plain, "–", plain, plain),
        ("words", f"◆○ {plain}", plain, plain, plain),
        ("drawn scores", "2.500", "2.500", "2.500", "2.500"),
        ("equal scores", "2.750", "2.750", "2.750", "2.750"),
    )
    names = [line.name for line in lines(of(SIMULATABILITY), SIMULATABILITY)]
    assert names == ["span pairs", "word pairs", "words", "SF, span pairs", "SF, word pairs", "SF, words"]


def test_papers_get_a_table_for_each_property():
    found = of(changed(COMPREHENSIVENESS, "token", "shapley", best=True), COMPLEXITY)
    latex = "".join(map(to_latex, unified_tables(found)))
    assert latex.count(r"\begin{table}") == latex.count(r"\end{table}") == latex.count(r"\caption{") == 2
    assert r"words & $\diamond$ 0.500 [0.400, 0.600] & " in latex
    assert r"95 \% intervals" in latex
    assert latex.count(r"\midrule") == 2
    markdown = "".join(map(to_markdown, unified_tables(found)))
    assert markdown.startswith("Comprehensiveness. Share of predictions")
    assert "\n\n| Comprehensiveness | Shapley | Attention | Integrated gradients | Random |\n" in markdown


def test_records_are_flat_and_in_full():
    stable = Stability("louvain", "shapley", Estimate(0.5, 0.4, 0.6), 7)
    table = unified_records(of(COMPREHENSIVENESS, SIMULATABILITY, stability=(stable,)))
    rows = json.loads(to_json(table))
    assert len(rows) == 25
    assert rows[0] == {
        "property": "comprehensiveness", "metric": "flips", "kind": "span_interaction", "base": "shapley",
        "method": "shapley/span_interaction", "value": 0.5, "value_low": 0.4, "value_high": 0.6, "n": 40,
        "difference": 0.3, "difference_low": 0.3 - 0.1, "difference_high": 0.4, "pairs": 40, "best": False,
        "like_random": False, "higher_is_better": True, "over": "instances", "words": 6.5, "random_bound": None,
        "uniform_bound": None, "sf": None, "sf_low": None, "sf_high": None, "f1_without": None, "seeds": None,
    }  # fmt: skip
    assert (rows[12]["sf"], rows[12]["f1_without"], rows[12]["seeds"]) == (0.8, 0.78, 3)
    assert (rows[3]["difference"], rows[3]["like_random"]) == (None, None)
    assert (rows[-1]["property"], rows[-1]["value"], rows[-1]["n"]) == ("stability", 0.5, 7)
    assert len(list(csv.DictReader(io.StringIO(to_csv(table))))) == 25


@pytest.mark.parametrize("width", [30, 60, 80, 120])
def test_the_terminal_fits_and_cuts_no_number(width):
    stable = Stability("louvain", "shapley", Estimate(0.5, 0.4, 0.6), 1234)
    shown = printed(in_terminal(of(COMPREHENSIVENESS, SIMULATABILITY, COMPLEXITY, stability=(stable,))), width)
    assert "…" not in shown
    assert all(len(line) <= width for line in shown.splitlines())
    together = re.sub(r"\s+", "", shown)
    for piece in ("0.500", "[0.400,0.600]", "+0.300", "[-0.080,0.120]", "-0.500", "2.750", "1,234"):
        assert piece in together
    assert "Sufficiencyis" not in together, "said where sufficiency was measured alone"


def test_the_terminal_obeys_no_control_code():
    evil = changed(COMPREHENSIVENESS, "token", "shapley", method="\x1b[2J[bold]x\u202e")
    shown = printed(in_terminal(of(evil)), 200)
    assert not set(shown) & set("\x1b\u202e")
    assert "[bold]x" in shown


def test_a_verdict_counts_better_worse_and_alike():
    one = changed(COMPREHENSIVENESS, "token", "shapley", difference=at(-0.3))
    one = changed(one, "token", "attention", difference=at(0.05))
    assert "Of 18 comparisons with the random explanation of the same kind 16 are better, 1 worse, and 1 can't" in (
        verdict(of(one, COMPLEXITY))
    )


def test_better_is_to_the_right():
    assert better(COMPREHENSIVENESS, COMPREHENSIVENESS.cells[0]) == at(0.3)
    turned = better(COMPLEXITY, COMPLEXITY.cells[0])
    assert turned == pytest.approx((0.5, 0.4, 0.6))
    assert better(COMPLEXITY, replace(COMPLEXITY.cells[0], difference=Estimate(-1.0))) == Estimate(1.0)
    assert better(COMPLEXITY, COMPLEXITY.cells[3]) is None


def test_all_panels_share_their_rows_and_random_has_none():
    found = of(COMPREHENSIVENESS, COMPLEXITY)
    rows = rows_of(found)
    assert [(row.kind, row.base) for row in rows] == [(kind, base) for kind in KINDS for base in (None, *BASES[:3])]
    assert [row.y for row in rows] == sorted(row.y for row in rows)
    heights = {
        re.search(r'height="(\d+)"', svg)[1]
        for svg in (names(found), *(panel(found, p, "t") for p in found.properties))
    }
    assert len(heights) == 1, "else the rows of a panel would not stand beside their names"
    assert names(found).count("<text") == 3 + 9


def marks(svg):
    """Base, place and filling of each sign, in percent of the width."""
    found = re.findall(r'<svg x="([\d.]+)%" y="([\d.]+)" class="plot mark (\w+)( hollow)?"', svg)
    return [(base, float(x), float(y), bool(hollow)) for x, y, base, hollow in found]


def test_signs_and_whiskers_stand_where_their_numbers_are():
    one = changed(COMPREHENSIVENESS, "token", "shapley", difference=Estimate(-0.1, -0.4, 0.2))
    one = changed(one, "span_interaction", "attention", difference=Estimate(0.6, 0.4, 0.6))
    one = changed(one, "token", "attention", difference=None)
    svg = panel(of(one), one, "Comprehensiveness")
    zero = float(re.search(r'<line x1="([\d.]+)%" x2="[\d.]+%" y1="0" y2="[\d.]+" class="random">', svg)[1])
    # the axis runs from -0.4 to 0.6, between 6 and 94 percent of the width
    assert zero == pytest.approx(6 + 88 * 0.4, abs=0.01)
    drawn = marks(svg)
    assert len(drawn) == 8
    by_row = {(base, y): (x, hollow) for base, x, y, hollow in drawn}
    rows = {(row.kind, row.base): row.y for row in rows_of(of(one))}
    x, hollow = by_row["shapley", rows["token", "shapley"]]
    assert (x, hollow) == (pytest.approx(6 + 88 * 0.3, abs=0.01), True)
    x, hollow = by_row["attention", rows["span_interaction", "attention"]]
    assert (x, hollow) == (pytest.approx(94, abs=0.01), False)
    y = rows["token", "shapley"]
    assert f'<line x1="6.00%" x2="58.80%" y1="{y:.1f}" y2="{y:.1f}" class="whisker shapley">' in svg
    assert svg.count("no value") == 1 + 1, "in its row, and for who can't see it"
    assert "words, Shapley: -0.100 [-0.400, 0.200]" in svg


def test_narrow_panels_write_every_other_number():
    wide = panel(of(COMPREHENSIVENESS), COMPREHENSIVENESS, "t")
    narrow = panel(of(*[COMPREHENSIVENESS] * 6), COMPREHENSIVENESS, "t")
    numbers = [re.findall(r'class="tick"[^>]*>([+-]?[\d.]+)<', svg) for svg in (wide, narrow)]
    assert numbers == [["0", "+0.1", "+0.2", "+0.3", "+0.4"], ["0", "+0.2", "+0.4"]]


METRICS = (
    ("comp", "comprehensiveness_flips", True, {"k": 3, "grid": "matched", "budget": "base"}),
    ("suff", "sufficiency_flips", True, {"k": 3, "grid": "matched", "budget": "base"}),
    ("pairs", "agreement", True, {"level": "interaction"}),
)
METHODS = {
    "random": ("random", "token", "random"),
    "shap": ("kernel_shap", "token", "shapley"),
    "random_span": ("random_span", "span_interaction", "random"),
    "spans": ("louvain", "span_interaction", "shapley"),
}


def scored(run, methods=METHODS, metrics=METRICS, instances=8):
    """A run of words and span pairs in which both beat random by 0.5 on every other instance."""
    stored = run(instances, tuple(methods))
    scores, highlights = [], []
    for i in range(instances):
        for label, (_, kind, base) in methods.items():
            for metric, name, _, _ in metrics:
                if name == "agreement" and kind == "token":
                    scores.append(Score(f"id-{i}", label, metric, None, "needs_interactions"))
                    continue
                value = 0.25 + 0.5 * (base != "random" and i % 2)
                scores.append(Score(f"id-{i}", label, metric, value, series={"words": (2.0, 4.0)}))
            if kind == "span_interaction":
                units = ((Span(0, 0, 2), Span(1, 0, 1)), (Span(0, 3, 4), Span(1, 1, 3)))
                notes = {"stability": 0.5} if base != "random" else {}
                highlights.append(Highlight(f"id-{i}", label, kind, Target(), units, (1.0, 0.5), notes=notes))
    card = stored.card | {
        "methods": [{"label": m, "name": n, "kind": k, "base": b} for m, (n, k, b) in methods.items()],
        "metrics": [
            {"label": label, "name": name, "higher_is_better": higher, "parameters": parameters}
            for label, name, higher, parameters in metrics
        ],
    }
    tokens = [row for row in stored.highlights if methods[row.method][1] == "token"]
    return replace(stored, card=card, scores=scores, highlights=[*tokens, *highlights])


def test_the_page_has_the_section_only_where_there_are_two_kinds(run):
    assert 'id="unified"' not in render(run(3))
    words = {label: facts for label, facts in METHODS.items() if facts[1] == "token"}
    assert 'id="unified"' not in render(scored(run, words))
    html = render(scored(run))
    assert html.index('id="leaderboard"') < html.index('id="unified"') < html.index('id="instances"')
    assert html.count('class="plot effect"') == 3
    assert "Stability of the spans" in html
    assert "captions in the paper call lower better" in html
    assert "Δ +0.250" in html
    assert "captions in the paper" not in render(scored(run, metrics=METRICS[:1]))


def test_on_the_leaderboard_each_kind_is_tested_against_its_own_random(run):
    html = render(scored(run))
    board = html[html.index('id="leaderboard"') : html.index('id="unified"')]
    assert board.count('class="flag">baseline') == 2 * 4, "in the overview and under each metric"
    assert "the random explanation of the same kind" in board
    assert "the random explanation of the same kind" not in render(run(3))


def test_the_grey_line_of_a_row_is_the_random_explanation_of_its_kind(run):
    stored = scored(run)
    scores = [replace(s, value=0.3) if s.method == "random_span" and s.value else s for s in stored.scores]
    html = render(replace(stored, scores=scores))
    table = re.search(r'<table class="ranking" aria-labelledby="metric-0">.*?</table>', html, re.DOTALL)[0]
    table = table.replace("<wbr>", "")
    lines_of = {
        re.search(r'class="label">(\w+)', row)[1]: re.findall(r'<line x1="([\d.]+)%"[^>]*class="random"', row)
        for row in table.split("<tr")[2:]
    }
    assert lines_of["shap"] == lines_of["random"] != lines_of["spans"] == lines_of["random_span"]
    assert [len(found) for found in lines_of.values()] == [1] * 4


@pytest.mark.parametrize(
    "odd",
    [
        {"methods": [1, {"name": "random"}, {"label": "shap", "kind": [], "base": {}}]},
        {"metrics": [1, {"label": "comp", "name": "comprehensiveness_flips", "parameters": "x"}]},
        {"metrics": [{"label": "comp", "name": "comprehensiveness_flips", "parameters": {"k": [], "words": 3}}]},
    ],
)
def test_a_card_of_any_shape_is_shown(run, odd):
    stored = scored(run)
    assert "Run card" in render(replace(stored, card=stored.card | odd))


EVIL = "\"><img src=x onerror=document.documentElement.setAttribute('ran',1)>\u202e(</title></svg><script>x)"


def test_hostile_labels_are_text(browser, run, tmp_path: Path):
    path = tmp_path / "report.html"
    methods = {f"{label} {EVIL}": facts for label, facts in METHODS.items()}
    evil = {"k": EVIL, "grid": EVIL, "budget": EVIL, "insertion": EVIL}
    metrics = [(f"{label} {EVIL}", name, higher, evil) for label, name, higher, _ in METRICS]
    path.write_text(render(scored(run, methods, metrics)), encoding="utf-8")
    browser.open(path)
    assert browser.ask("document.documentElement.hasAttribute('ran')") is False
    assert browser.ask("document.scripts.length + document.images.length") == 1
    assert browser.ask("document.querySelectorAll('#unified [style]').length") == 0
    assert browser.ask("document.querySelectorAll('#unified svg:not(.plot)').length") == 0
    assert visible(f"spans {EVIL}") in browser.ask("document.querySelector('#unified .how').textContent")
    assert visible(f"({EVIL})") in browser.ask("document.querySelector('svg.effect').ariaLabel")


@pytest.mark.parametrize("dark", [False, True])
def test_a_phone_shows_every_panel_with_its_names(browser, run, tmp_path: Path, dark):
    path = tmp_path / "report.html"
    path.write_text(render(scored(run)), encoding="utf-8")
    browser.open(path, width=400, dark=dark)
    assert browser.ask("document.documentElement.scrollWidth") <= 400
    boxes = (
        "[...document.querySelectorAll('{}')].map(e => e.getBoundingClientRect()).map(r => [r.left, r.right, r.top])"
    )
    panels, labels = (browser.ask(boxes.format(which)) for which in ("figure svg.effect", "figure > div > svg.names"))
    assert len(panels) == len(labels) == 3
    for one, label in zip(panels, labels, strict=True):
        assert label[1] <= one[0] + 1
        assert one[2] == pytest.approx(label[2], abs=1)
        assert one[1] <= 400
        assert one[1] - one[0] > 150
    fill = browser.ask("getComputedStyle(document.querySelector('svg.effect .mark.shapley circle')).stroke")
    assert fill == ("rgb(98, 189, 240)" if dark else "rgb(0, 114, 178)")


def test_a_wide_page_has_all_panels_beside_one_list_of_names(browser, run, tmp_path: Path):
    path = tmp_path / "report.html"
    path.write_text(render(scored(run)), encoding="utf-8")
    browser.open(path, width=1280)
    tops = browser.ask(
        "[...document.querySelectorAll('.effects > svg.names, svg.effect')].map(e => e.getBoundingClientRect().bottom)"
    )
    assert len(tops) == 4
    assert max(tops) - min(tops) < 1, "a row is at the same height in every panel"
    hidden = browser.ask("[...document.querySelectorAll('figure svg.names')].every(e => !e.getClientRects().length)")
    assert hidden is True


@pytest.mark.parametrize("width", [400, 1280])
def test_labels_fit_in_every_font(assert_texts_fit, run, width):
    assert_texts_fit(render(scored(run)), width)
