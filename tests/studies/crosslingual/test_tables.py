"""Tables across languages: structure, values and every output format."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from support import many_languages as made
from verax.results.render.html import findings_html
from verax.results.render.plain import to_csv, to_json, to_latex, to_markdown
from verax.results.render.terminal import show_findings
from verax.results.study import Findings
from verax.results.table import Table, Value
from verax.stats.correlation import Correlation
from verax.studies.crosslingual import STUDY
from verax.studies.crosslingual.analysis import CrossLingual, analyse
from verax.studies.crosslingual.tables import findings, tables

MEAN_TP, L2_TP, MEAN_LOSS, L2_LOSS, LIME, RANDOM = made.LABELS


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> CrossLingual:
    found = analyse([made.write(tmp_path_factory.mktemp("run"))])
    assert found is not None
    return found


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> CrossLingual:
    lower = [replace(s, value=s.value - 0.2) if s.value is not None else s for s in made.all_scores()]
    rows = {"a": made.all_scores(), "b": lower, "c": made.all_scores()}
    runs = []
    for key, scores in rows.items():
        model = {"architecture": "XLMRoberta" if key == "c" else "Bert", "parameters": "1", "hash": key}
        runs.append(made.write(tmp_path_factory.mktemp(key), scores=scores, model=model))
    found = analyse(runs)
    assert found is not None
    return found


def by_name(result: CrossLingual) -> dict[str, Table]:
    found = tables(result)
    assert len({table.name for table in found}) == len(found)
    return {table.name: table for table in found}


def records(table: Table) -> dict[Value, dict[str, Value]]:
    """Records by the first column."""
    return {record[table.columns[0].name]: record for record in table.records()}


def titles(table: Table) -> list[str]:
    return [table.columns[place].title for place in table.shown]


def all_findings(result: CrossLingual) -> Findings:
    return Findings(
        STUDY,
        tuple(STUDY.tables(result)),
        tuple(STUDY.figures(result)),
        tuple(STUDY.findings(result)),
        tuple(STUDY.reading(result)),
    )


def test_the_tables_are_in_the_order_of_the_paper(result: CrossLingual) -> None:
    assert list(by_name(result)) == [
        "faithfulness",
        "faithfulness_by_aligner",
        "faithfulness_de",
        "faithfulness_es",
        "faithfulness_by_prediction",
        "languages",
        "comprehensiveness",
        "sufficiency",
        "plausibility",
        "plausibility_by_language",
        "spread",
        "correlations",
    ]


def test_one_measure_and_one_aligner_need_no_comparison(tmp_path: Path) -> None:
    found = analyse([made.write(tmp_path, metrics=[made.METRICS[0]])])
    assert found is not None
    across = ["faithfulness", "faithfulness_de", "faithfulness_es", "faithfulness_by_prediction"]
    assert list(by_name(found)) == [*across, "languages", "correlations"]


def test_the_first_table_has_values_marks_and_counts(result: CrossLingual) -> None:
    table = by_name(result)["faithfulness"]
    assert titles(table) == ["Method", "Prediction", "Loss", "n", "Skipped"]
    rows = records(table)
    assert list(rows) == ["saliency (mean)", "saliency (l2)", "lime", "random"]
    assert [row.baseline for row in table.rows] == [False, False, False, True]
    l2 = rows["saliency (l2)"]
    cell = result.overall[0].cells[L2_TP]
    assert cell.value is not None
    assert cell.difference is not None
    ends = ("value_prediction", "value_prediction_low", "value_prediction_high")
    assert tuple(l2[name] for name in ends) == cell.value
    gaps = ("value_prediction_difference", "value_prediction_difference_low", "value_prediction_difference_high")
    assert tuple(l2[name] for name in gaps) == cell.difference
    assert l2["value_prediction"] == pytest.approx(0.4, abs=1e-12)
    assert (l2["value_prediction_marks"], rows["saliency (mean)"]["value_prediction_marks"]) == ("best", "")
    assert (l2["n"], l2["skipped"]) == ("21 to 24", "0 to 3")
    assert (l2["n_prediction"], l2["skipped_prediction"], l2["n_loss"], l2["skipped_loss"]) == (21, 3, 24, 0)
    assert (l2["method_prediction"], l2["method_loss"]) == (L2_TP, L2_LOSS)
    facts = ("measure", "metric", "aligner", "language", "higher_is_better", "over", "runs")
    expected = ("faithfulness", made.FAITHFULNESS, "embedding", None, True, "inputs", 1)
    assert tuple(l2[name] for name in facts) == expected
    lime = rows["lime"]
    assert (lime["value_prediction"], lime["value_prediction_reason"]) == (None, "no value in es")
    assert (lime["n"], lime["skipped"], lime["method_loss"], lime["n_loss"]) == (12, 12, None, None)


def test_tables_of_a_language_and_of_other_measures_say_so(result: CrossLingual) -> None:
    found = by_name(result)
    german = records(found["faithfulness_de"])["saliency (l2)"]
    assert german["language"] == "de"
    assert german["value_prediction"] == pytest.approx(0.6, abs=1e-12)
    erased = records(found["sufficiency"])["lime"]
    assert (erased["language"], erased["higher_is_better"], erased["aligner"]) == ("en", False, None)
    assert erased["value_prediction"] == pytest.approx(0.1, abs=1e-9)
    assert erased["value_prediction_marks"] == "best"


def test_aligners_are_next_to_each_other(result: CrossLingual) -> None:
    table = by_name(result)["faithfulness_by_aligner"]
    heads = ["Method", "embedding: Prediction", "embedding: Loss", "random: Prediction", "random: Loss"]
    assert titles(table) == heads
    row = records(table)["saliency (l2)"]
    values = [row[f"{metric}_{output}"] for metric in (made.FAITHFULNESS, made.SHUFFLED) for output in result.outputs]
    assert values == pytest.approx([0.4, 0.45, 0.0, 0.0], abs=1e-12)
    assert row[f"{made.SHUFFLED}_loss_marks"] == "like_random"
    assert (row[f"n_{made.FAITHFULNESS}_prediction"], row[f"skipped_{made.FAITHFULNESS}_prediction"]) == (21, 3)


def test_languages_have_faithfulness_accuracy_and_a_reason_for_no_correlation(result: CrossLingual) -> None:
    found = by_name(result)
    rows = records(found["languages"])
    assert (rows["en"]["faithfulness"], rows["en"]["reference"]) == (None, True)
    assert rows["de"]["faithfulness"] == pytest.approx(0.425, abs=1e-12)
    assert {lang: row["accuracy"] for lang, row in rows.items()} == pytest.approx({"en": 1.0, "de": 0.75, "es": 0.5})
    assert "fewer than 3 languages to correlate" in found["languages"].verdict
    row = records(found["correlations"])["Faithfulness, accuracy"]
    assert (row["value"], row["p"], row["n"]) == (None, None, 2)
    assert row["value_reason"] == "fewer than 3 languages to correlate"


@pytest.mark.parametrize(
    ("known", "words"), [((0.83, 0.0214, 7), "+0.830 (p = 0.021)"), ((0.99, 1e-5, 7), "p < 0.001")]
)
def test_a_correlation_is_stated_with_its_p_value(
    result: CrossLingual, known: tuple[float, float, int], words: str
) -> None:
    found = by_name(replace(result, correlation=Correlation(*known)))
    assert words in found["languages"].verdict
    row = records(found["correlations"])["Faithfulness, accuracy"]
    assert (row["value"], row["p"], row["n"]) == known


def test_measures_are_compared(result: CrossLingual) -> None:
    found = by_name(result)
    spreads = {row["measure"]: row for row in found["spread"].records()}
    assert list(spreads) == ["faithfulness", "comprehensiveness", "sufficiency", "plausibility"]
    assert spreads["faithfulness"]["mean"] == pytest.approx((0.15 + 0.4 + 0.25 + 0.45) / 4)
    taus = records(found["correlations"])
    assert len(taus) == 7
    assert taus["Comprehensiveness, sufficiency"]["value"] == pytest.approx(1.0)
    assert taus["Cross-lingual faithfulness, plausibility"]["value_reason"] == "all methods have the same value"


def test_several_runs_have_mean_and_deviation_by_architecture(several: CrossLingual) -> None:
    found = by_name(several)
    table = found["faithfulness_by_architecture"]
    assert titles(table)[1:] == [
        "Bert (2) Prediction",
        "Bert (2) Loss",
        "XLMRoberta (1) Prediction",
        "XLMRoberta (1) Loss",
    ]
    row = records(table)["saliency (l2)"]
    # 0.4 and 0.2: mean 0.3, sample deviation 0.1414
    assert (row["mean_Bert_prediction"], row["sd_Bert_prediction"]) == pytest.approx((0.3, 0.02**0.5))
    assert row["runs_Bert_prediction"] == 2
    assert (row["shown_Bert_prediction"], row["shown_XLMRoberta_loss"]) == ("0.300 ± 0.141", "0.450")
    assert records(table)["lime"]["shown_Bert_prediction"] is None
    for name in ("comprehensiveness", "sufficiency", "faithfulness_de"):
        assert f"{name}_by_architecture" in found
    by_aligner = records(found["faithfulness_by_aligner"])["saliency (l2)"]
    assert by_aligner[f"mean_Bert_{made.SHUFFLED}_prediction"] == pytest.approx(-0.1)
    languages = records(found["languages"])["de"]
    assert (languages["mean_accuracy_Bert"], languages["sd_accuracy_Bert"]) == pytest.approx((0.75, 0.0))
    assert languages["shown_accuracy_XLMRoberta"] == "0.750"
    assert all(row["over"] == "runs" and row["runs"] == 3 for row in found["faithfulness"].records())


def test_findings_name_the_best_and_count_those_like_random(result: CrossLingual) -> None:
    unknown, sentence = findings(result)
    assert unknown == "Not compared with content-free scores: no method can be called faithful across languages."
    assert "saliency (l2), prediction; saliency (l2), loss." in sentence
    assert "saliency (mean)" not in sentence
    assert "0 of 4 explanations" in sentence


def test_every_format_shows_every_table(result: CrossLingual, several: CrossLingual) -> None:
    for one in (result, several):
        found = all_findings(one)
        (study,) = json.loads(to_json([found]))
        assert [table["name"] for table in study["tables"]] == list(by_name(one))
        assert to_latex(found.tables).count(r"\begin{tabular}") == len(found.tables)
        rules = re.findall(r"^\|(?: :?-+:? \|)+$", to_markdown(found.tables), re.MULTILINE)
        assert len(rules) == len(found.tables)
        assert findings_html(found).count("<table") == len(found.tables)
    first = tables(result)[0]
    assert "| saliency (l2) | ◆ 0.400 " in to_markdown([first])
    assert r"saliency (l2) & $\diamond$ 0.400" in to_latex([first])
    rows = list(csv.DictReader(io.StringIO(to_csv([first]))))
    assert [row["method"] for row in rows] == ["saliency (mean)", "saliency (l2)", "lime", "random"]
    assert float(rows[1]["value_prediction"]) == pytest.approx(0.4, abs=1e-12)


def printed(result: CrossLingual, width: int) -> str:
    stream = io.StringIO()
    Console(file=stream, width=width).print(show_findings(all_findings(result)))
    return stream.getvalue()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_terminal_fits_and_cuts_no_number(result: CrossLingual, several: CrossLingual, width: int) -> None:
    for one in (result, several):
        shown = printed(one, width)
        assert "…" not in shown
        assert all(len(line.rstrip()) <= width for line in shown.splitlines())
        together = re.sub(r"\s+", "", shown)
        assert all(piece in together for piece in ("0.750", "0.425" if one is result else "0.358", "0.017"))
    assert "◆0.400" in re.sub(r"\s+", "", printed(result, width))


def test_what_is_common_to_many_tables_is_shown_once(result: CrossLingual) -> None:
    assert re.sub(r"\s+", " ", printed(result, 120)).count("In brackets:") == 1


EVIL = '"><img src=x onerror=alert(1)>\u202e(</title></svg><script>x)'


def test_hostile_names_are_text_in_every_format(tmp_path: Path) -> None:
    other = {"en": "en", "de": f"de {EVIL}", "es": f"es {EVIL}"}
    instances = [replace(one, lang=other[one.lang], label=EVIL) for one in made.instances()]
    renamed = {label: f"{label} {EVIL}" for label in made.LABELS}
    methods = [
        one | {"label": renamed[one["label"]], "name": f"{one['name']} {EVIL}", "target": EVIL} for one in made.METHODS
    ]
    scores = [replace(score, method=renamed[score.method]) for score in made.all_scores()]
    found = analyse([made.write(tmp_path, instances=instances, methods=methods, scores=scores)])
    assert found is not None
    html = findings_html(all_findings(found))
    assert "<img" not in html
    assert "<script" not in html
    assert "&lt;img src=x" in html
    assert "\u202e" not in html + to_latex(tables(found)) + to_markdown(tables(found)) + to_csv(tables(found))
    assert "\u202e" not in printed(found, 120)
    assert "<img" not in to_markdown(tables(found))
