"""Across languages in the report, the terminal and tables, against numbers computed by hand; hostile strings too."""

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from verax.report.tables import to_csv, to_json, to_latex, to_markdown

import many_languages as made
from verax.report.crosslingual_plot import axis_for, lines_of, names, panel
from verax.report.crosslingual_scatter import scatter
from verax.report.crosslingual_sheets import sheets
from verax.report.crosslingual_tables import COLUMNS, crosslingual_records, crosslingual_tables
from verax.report.crosslingual_terminal import crosslingual as in_terminal
from verax.report.crosslingual_words import correlation_said, verdict
from verax.report.page import render
from verax.stats.crosslingual import crosslingual
from verax.stats.crosslingual_grids import Language
from verax.stats.crosslingual_relations import Correlation
from verax.stats.crosslingual_rows import LanguageRun
from verax.store.read import Stored
from verax.types import Alignment, Estimate, Highlight, Target

pytestmark = pytest.mark.usefixtures("four_are_enough")

MEAN_TP, L2_TP, MEAN_LOSS, L2_LOSS, LIME, RANDOM = made.LABELS


def run_of(**changes):
    parts = (made.card(), made.instances(), made.predictions(made.RIGHT), made.all_scores())
    return replace(LanguageRun(*parts), **changes)


@pytest.fixture(scope="module")
def found():
    return crosslingual([run_of()])


@pytest.fixture(scope="module")
def several():
    models = (("Bert", "a"), ("Bert", "b"), ("XLMRoberta", "c"))
    cards = [made.card(model={"architecture": name, "parameters": "1", "hash": key}) for name, key in models]
    lower = [replace(s, value=s.value - 0.2) if s.value is not None else s for s in made.all_scores()]
    return crosslingual([run_of(card=cards[0]), run_of(card=cards[1], scores=lower), run_of(card=cards[2])])


def stored_run(instances=None, card=None, scores=None, alignments=None, labels=made.LABELS):
    """The same as a stored run, each word explained by each method: later words count more, every second against."""
    instances = made.instances() if instances is None else instances
    highlights = [
        Highlight(i.id, label, "token", Target(), i.units, tuple((-1.0) ** k * (k + 1) for k in range(len(i.units))))
        for i in instances
        for label in labels
    ]
    links = [
        Alignment(i.id, f"{i.parallel_id}-en", "embedding", ((0, 0), (1, 1), (1, 2), (3, 3)))
        for i in instances
        if i.lang != "en"
    ]
    return Stored(
        folder=Path("run"),
        card=card or made.card(),
        instances=instances,
        predictions=made.predictions(made.RIGHT),
        highlights=highlights,
        skips=[],
        scores=made.all_scores() if scores is None else scores,
        damaged=(),
        alignments=links if alignments is None else alignments,
    )


def printed(thing, width=100):
    console = Console(file=io.StringIO(), width=width)
    console.print(thing)
    return console.file.getvalue()


def test_the_tables_stand_in_the_order_of_the_paper(found):
    assert [sheet.title for sheet in sheets(found)] == [
        "Cross-lingual faithfulness",
        "Cross-lingual faithfulness by aligner",
        "Cross-lingual faithfulness: de",
        "Cross-lingual faithfulness: es",
        "Faithfulness and accuracy by language",
        "Comprehensiveness",
        "Sufficiency",
        "Plausibility",
        "Spread over methods",
        "Agreement of rankings",
    ]


def test_the_first_table_has_values_signs_and_counts(found):
    first = sheets(found)[0]
    assert first.heads == ("Method", "Prediction", "Loss", "n", "Skipped")
    rows = {row[0]: row[1:] for row in first.rows}
    assert rows["saliency (mean)"][0].startswith("0.150 [")
    assert rows["saliency (l2)"][0].startswith("◆ 0.400 [")
    assert rows["saliency (l2)"][2:] == ("7 to 8", "0 to 1")
    assert rows["lime"] == ("–", "–", "4", "4")
    assert list(rows)[-1] == "random"
    assert first.said.endswith("Words aligned by: embedding. lime: no value in es.")


def test_aligners_stand_side_by_side(found):
    one = sheets(found)[1]
    heads = ("Method", "embedding: Prediction", "embedding: Loss", "random: Prediction", "random: Loss")
    assert one.heads == heads
    assert {row[0]: row[1:] for row in one.rows}["saliency (l2)"] == ("0.400", "0.450", "0.000", "0.000")


def test_languages_have_faithfulness_accuracy_and_a_reason_for_no_correlation(found):
    one = sheets(found)[4]
    cells = {row[0]: row[1:] for row in one.rows}
    assert cells["en (reference)"][0] == "–"
    assert cells["de"][0].startswith("0.425 [")
    assert cells["es"][1].startswith("0.500 [")
    assert "No correlation of faithfulness and accuracy: fewer than 3 languages to correlate." in one.said
    known = replace(found, correlation=Correlation(0.83, 0.0214, 7))
    assert "over 7 languages: +0.830 (p = 0.021)." in correlation_said(known)
    assert "(p < 0.001)" in correlation_said(replace(found, correlation=Correlation(0.99, 1e-5, 7)))


def test_several_runs_have_mean_and_deviation_by_architecture(several):
    made_sheets = {sheet.title: sheet for sheet in sheets(several)}
    one = made_sheets["Cross-lingual faithfulness, by architecture"]
    assert one.heads[1:] == ("Bert (2) Prediction", "Bert (2) Loss", "XLMRoberta (1) Prediction", "XLMRoberta (1) Loss")
    rows = {row[0]: row[1:] for row in one.rows}
    # 0.4 and 0.2: mean 0.3, sample deviation 0.1414
    assert rows["saliency (l2)"] == ("0.300 ± 0.141", "0.350 ± 0.141", "0.400", "0.450")
    assert rows["lime"] == ("–",) * 4
    for title in ("Comprehensiveness", "Sufficiency", "Cross-lingual faithfulness: de"):
        assert f"{title}, by architecture" in made_sheets
    assert "intervals over 3 runs" in " ".join(made_sheets["Cross-lingual faithfulness"].signs)
    table = made_sheets["Faithfulness and accuracy by language"]
    assert table.heads[-2:] == ("Accuracy, Bert (2)", "Accuracy, XLMRoberta (1)")
    assert table.rows[1][-2:] == ("0.750 ± 0.000", "0.750")


def test_records_hold_every_number_in_full(found, several):
    rows = json.loads(to_json(crosslingual_records(found)))
    assert {tuple(row) for row in rows} == {COLUMNS}
    (one,) = [
        r
        for r in rows
        if (r["measure"], r["method"], r["language"], r["aligner"]) == ("faithfulness", L2_TP, None, "embedding")
    ]
    assert one["value"] == pytest.approx(0.4, abs=1e-12)
    assert (one["row"], one["output"], one["n"], one["skipped"]) == ("saliency (l2)", "prediction", 7, 1)
    assert (one["best"], one["like_random"], one["over"]) == (True, False, "inputs")
    accuracy = {row["language"]: row["value"] for row in rows if row["measure"] == "accuracy"}
    assert accuracy == pytest.approx({"en": 1.0, "de": 0.75, "es": 0.5})
    (tau,) = [row for row in rows if row["measure"] == "Kendall's tau of comprehensiveness and sufficiency"]
    assert tau["value"] == pytest.approx(1.0)
    (no,) = [row for row in rows if row["measure"] == "correlation of faithfulness and accuracy"]
    assert (no["value"], no["reason"]) == (None, "fewer than 3 languages to correlate")
    seeds = [row for row in crosslingual_records(several).records if row["architecture"] == "Bert"]
    (deviating,) = [
        r
        for r in seeds
        if (r["measure"], r["method"], r["language"], r["aligner"]) == ("faithfulness", L2_TP, None, "embedding")
    ]
    assert (deviating["value"], deviating["sd"]) == pytest.approx((0.3, 0.02**0.5))
    assert deviating["runs"] == 2
    written = list(csv.DictReader(io.StringIO(to_csv(crosslingual_records(found)))))
    assert len(written) == len(rows)


def test_tables_for_papers(found):
    tables = crosslingual_tables(found)
    markdown = to_markdown(tables[0])
    assert "| Method | Prediction | Loss | n | Skipped |" in markdown
    assert "| saliency (l2) | ◆ 0.400 " in markdown
    assert markdown.startswith("Cross-lingual faithfulness. Spearman correlation")
    latex = to_latex(tables[0])
    assert "\\caption{Cross-lingual faithfulness." in latex
    assert r"saliency (l2) & $\diamond$ 0.400" in latex


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_terminal_fits_and_cuts_no_number(found, several, width):
    for tables in (found, several):
        shown = printed(in_terminal(tables), width)
        assert "…" not in shown
        assert all(len(line.rstrip()) <= width for line in shown.splitlines())
        together = re.sub(r"\s+", "", shown)
        for piece in ("0.750", "+1.000(p=0.017)"):
            assert piece in together
    assert "◆0.400" in re.sub(r"\s+", "", printed(in_terminal(found), width))


def test_a_table_that_would_squeeze_its_names_becomes_a_list(several):
    shown = printed(in_terminal(several), 80)
    assert "saliency (l2)\n    Bert (2) Prediction 0.300 ± 0.141, Bert (2) Loss" in shown
    wide = printed(in_terminal(several), 120)
    assert re.search(r"saliency \(l2\) +0.300 ± 0.141 +0.350 ± 0.141 +0.400", wide)


def test_what_is_the_same_for_many_tables_is_said_once(found):
    together = re.sub(r"\s+", " ", printed(in_terminal(found), 120))
    assert together.count("In brackets:") == 1


def test_a_verdict_names_the_best_and_counts_what_is_like_random(found):
    said = verdict(found)
    assert "saliency (l2), prediction; saliency (l2), loss." in said
    assert "Of 4 explanations 0 can't be told apart" in said


def test_signs_stand_where_their_numbers_are(found):
    grid = found.others[0]
    axis = axis_for([grid])
    svg = panel(found, grid, axis, "Comprehensiveness")
    marks = re.findall(r'<svg x="([\d.]+)%" y="([\d.]+)" class="plot mark output(\d)', svg)
    ys = [line.y for line in lines_of(found)]
    assert len(marks) == 5  # two rows of two outputs, and lime of one
    # values from 0.0 (random) to 0.5, between 6 and 94 percent of the width
    expected = [(0.1, ys[0]), (0.2, ys[0]), (0.4, ys[1]), (0.3, ys[1]), (0.5, ys[2])]
    for (x, y, _), (value, row) in zip(marks, expected, strict=True):
        assert float(x) == pytest.approx(6 + 88 * value / 0.5, abs=0.02)
        assert abs(float(y) - row) < 13
    assert [look for _, _, look in marks] == ["0", "1", "0", "1", "0"]
    random = re.search(r'<line x1="([\d.]+)%" x2="[\d.]+%" y1="0" y2="[\d.]+" class="random">', svg)
    assert float(random[1]) == pytest.approx(6, abs=0.02)
    heights = {re.search(r'height="(\d+)"', drawn)[1] for drawn in (svg, names(found))}
    assert len(heights) == 1, "else the rows of a panel would not stand beside their names"


def test_correlations_are_drawn_from_0_and_what_is_like_random_is_hollow(found):
    axis = axis_for(found.overall)
    assert axis.low <= 0.0
    assert panel(found, found.overall[1], axis, "random").count("hollow") == 5
    assert "hollow" not in panel(found, found.overall[0], axis, "embedding")


def test_the_scatter_has_a_point_for_each_language_but_the_reference(found):
    svg = scatter(found)
    assert svg.count('class="dot"') == 2
    points = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', svg)
    (x_de, y_de), (x_es, y_es) = [(float(x), float(y)) for x, y in points]
    assert x_de > x_es, "accuracy to the right"
    assert y_de < y_es, "faithfulness up"
    assert "de: accuracy 0.750, faithfulness 0.425" in svg
    assert scatter(replace(found, languages=found.languages[:2])) is None


def test_names_in_the_scatter_stand_over_no_point_and_no_other_name(found):
    at = [(0.85, 0.383), (0.875, 0.378), (0.86, 0.38), (0.65, 0.3)]
    near = tuple(
        Language(f"l{place}", Estimate(y, y - 0.01, y + 0.01), Estimate(x), 9) for place, (x, y) in enumerate(at)
    )
    svg = scatter(replace(found, languages=near))
    dots = [(float(x), float(y)) for x, y in re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', svg)]
    places = [(float(x), float(y)) for x, y in re.findall(r'<text x="([\d.]+)" y="([\d.]+)" class="tick point', svg)]
    assert len(places) == len(dots) == 4
    for place, (left, base) in enumerate(places):
        assert not [x for x, y in dots if left < x < left + 10 and base - 9 < y < base]
        assert not [o for o in places[:place] if abs(o[0] - left) < 10 and abs(o[1] - base) < 11]


def test_the_page_has_the_section_only_where_languages_were_compared(run):
    assert 'id="crosslingual"' not in render(run(3))
    html = render(stored_run())
    assert html.index('id="leaderboard"') < html.index('id="crosslingual"') < html.index('id="instances"')
    for anchor in ("languages-grid", "effects", "aligners", "languages-known", "parallel-title"):
        assert f'id="{anchor}"' in html
    assert html.count('class="plot effect"') == 4 + 2
    only = made.card(metrics=[made.METRICS[0]])
    assert 'id="aligners"' not in render(stored_run(card=only))


def test_the_grid_has_number_interval_and_depth_of_colour(run):
    html = render(stored_run())
    grid = html[html.index('id="languages-grid"') : html.index('id="effects"')]
    rows = grid.split("<tr")[2:]
    assert len(rows) == 6
    assert "saliency (l2)" in rows[1]
    assert re.findall(r'class="number (tint\d)( best)?" data-head="(\w+)"', rows[1]) == [
        ("tint2", " best", "all"),
        ("tint3", " best", "de"),
        ("tint1", " best", "es"),
    ]
    assert 'title="n = 7, 1 skipped"' in rows[1]
    assert 'title="no value in es"' in rows[4]
    assert "baseline" in rows[-1]


@pytest.mark.parametrize(
    "odd",
    [
        {"methods": [1, {"label": "x"}, {"label": L2_TP, "name": [], "parameters": 3, "kind": "token"}]},
        {"metrics": [1, {"label": made.FAITHFULNESS, "name": made.FAITHFULNESS, "parameters": "x"}]},
        {"metrics": [{"label": made.FAITHFULNESS, "name": made.FAITHFULNESS, "parameters": {"aligner": 3}}]},
        {"metrics": [{"label": made.FAITHFULNESS, "name": made.FAITHFULNESS, "parameters": {"reference_lang": "xx"}}]},
        {"model": 3, "data": []},
    ],
)
def test_a_card_of_any_shape_is_shown(odd):
    assert "Run card" in render(stored_run(card=made.card(**odd)))


def test_nothing_is_wider_than_a_phone(browser, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(render(stored_run()), encoding="utf-8")
    for width in (400, 1280):
        browser.open(path, width=width)
        assert browser.ask("document.documentElement.scrollWidth") <= width


EVIL = "\"><img src=x onerror=document.documentElement.setAttribute('ran',1)>\u202e(</title></svg><script>x)"


def test_hostile_languages_labels_and_words_are_text(browser, tmp_path):
    path = tmp_path / "report.html"
    other = {"en": f"en {EVIL}", "de": f"de {EVIL}", "es": f"es {EVIL}"}
    evil = made.text_of(f"{EVIL.replace(' ', '_')} word {EVIL.replace(' ', '_')} end", EVIL)
    instances = [replace(i, lang=other[i.lang], parts=(evil,), label=EVIL) for i in made.instances()]
    renamed = {label: f"{label} {EVIL}" for label in made.LABELS}
    methods = [m | {"label": renamed[m["label"]], "name": f"{m['name']} {EVIL}", "target": EVIL} for m in made.METHODS]
    metrics = [
        m | {"parameters": {"reference_lang": other["en"], "aligner": {f"{EVIL} {place}": {}}}}
        for place, m in enumerate(made.METRICS)
    ]
    scores = [
        replace(s, method=renamed[s.method], reason=EVIL if s.reason else None, detail=EVIL) for s in made.all_scores()
    ]
    stored = stored_run(instances, made.card(methods=methods, metrics=metrics), scores, labels=renamed.values())
    links = [Alignment(i.id, "", EVIL, ((0, 0), (2, 3))) for i in instances]
    path.write_text(render(replace(stored, alignments=links)), encoding="utf-8")
    browser.open(path)
    assert browser.ask("document.documentElement.hasAttribute('ran')") is False
    assert browser.ask("document.images.length") == 0
    assert browser.ask("document.scripts.length") == 1
    assert browser.requests == [path.as_uri()]
    assert browser.ask("document.querySelectorAll('.pair').length") == 8
    # choosing repaints with hostile names, and still nothing runs
    browser.ask(
        "(() => { const m = document.getElementById('parallel-method'); m.value = '1';"
        " m.dispatchEvent(new Event('input')); })()"
    )
    assert browser.ask("document.documentElement.hasAttribute('ran')") is False
    assert "<img src=x" in browser.ask("document.querySelector('.pair .whose').textContent")


@pytest.mark.parametrize("width", [400, 1280])
def test_labels_fit_in_every_font(assert_texts_fit, width):
    assert_texts_fit(render(stored_run()), width)
