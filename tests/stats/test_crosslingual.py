"""The tables across languages against means, marks and correlations computed by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import many_languages as made
from verax.stats import bca, crosslingual_grids
from verax.stats.crosslingual import CrossLingual, crosslingual
from verax.stats.crosslingual_grids import Cell
from verax.stats.crosslingual_means import Contrast, layers, resample_groups, resample_runs
from verax.stats.crosslingual_relations import pearson, rank_agreements, spread
from verax.stats.crosslingual_rows import LanguageRun, explainers, groups_of, measures, outputs_of, reference_of
from verax.types import Score

pytestmark = pytest.mark.usefixtures("four_are_enough")
MEAN_TP, L2_TP, MEAN_LOSS, L2_LOSS, LIME, RANDOM = made.LABELS


def run(**changes: Any) -> LanguageRun:
    parts: dict[str, Any] = {
        "card": made.card(),
        "instances": made.instances(),
        "predictions": made.predictions(made.RIGHT),
        "scores": made.all_scores(),
    }
    return LanguageRun(**(parts | changes))


def found(*runs: LanguageRun) -> CrossLingual:
    tables = crosslingual(runs or (run(),))
    assert tables is not None
    return tables


@pytest.fixture(scope="module")
def tables(four_are_enough: None) -> CrossLingual:
    return found()


def test_of_few_inputs_nothing_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crosslingual_grids, "FEWEST", 5)
    cells = found().overall[0].cells
    known = [cell for label, cell in cells.items() if label != RANDOM and cell.value is not None]
    assert all(cell.like_random and cell.best for cell in known)
    monkeypatch.setattr(crosslingual_grids, "FEWEST", 4)
    cells = found().overall[0].cells
    assert not all(cell.like_random for label, cell in cells.items() if label != RANDOM and cell.value is not None)


def value(cell: Cell) -> float:
    assert cell.value is not None
    return cell.value.value


def test_faithfulness_is_the_unweighted_mean_over_languages_of_means_over_instances(tables: CrossLingual) -> None:
    cells = tables.overall[0].cells
    assert value(cells[L2_TP]) == pytest.approx((0.6 + 0.2) / 2, abs=1e-12)  # not the mean of all seven: 0.4286
    assert (cells[L2_TP].n, cells[L2_TP].skipped) == (7, 1)
    assert value(cells[MEAN_TP]) == pytest.approx((0.2 + 0.1) / 2, abs=1e-12)
    assert value(cells[L2_LOSS]) == pytest.approx((0.6 + 0.3) / 2, abs=1e-12)
    by_language = {grid.language: value(grid.cells[L2_TP]) for grid in tables.by_language}
    assert by_language == pytest.approx({"de": 0.6, "es": 0.2}, abs=1e-12)


def test_a_method_without_a_value_in_one_language_has_none_overall_and_says_where(tables: CrossLingual) -> None:
    cell = tables.overall[0].cells[LIME]
    assert (cell.value, cell.reason, cell.n, cell.skipped) == (None, "no value in es", 4, 4)
    german, spanish = (grid.cells[LIME] for grid in tables.by_language)
    assert german.value is not None
    assert german.value.value == pytest.approx(0.15, abs=1e-12)
    assert german.reason is None
    assert (spanish.value, spanish.reason, spanish.skipped) == (None, "no value in es", 4)


def test_the_best_of_each_output_is_marked_and_the_random_one_never(tables: CrossLingual) -> None:
    cells = tables.overall[0].cells
    assert [cells[label].best for label in (MEAN_TP, L2_TP, MEAN_LOSS, L2_LOSS)] == [False, True, False, True]
    alone = {RANDOM: {lang: [0.9] * 4 for lang in ("de", "es")}}
    strong = [score for score in made.all_scores() if score.method != RANDOM or score.metric != made.FAITHFULNESS]
    strong += made.scores(RANDOM, made.FAITHFULNESS, alone[RANDOM])
    again = found(run(scores=strong)).overall[0].cells
    assert not again[RANDOM].best
    assert again[L2_TP].best
    assert again[RANDOM].difference is None


def test_what_can_not_be_told_apart_from_the_best_is_marked_too() -> None:
    near = {"de": [1.1, 0.4, 0.5, 0.5], "es": [0.2, 0.4, 0.1, 0.0]}
    rows = [score for score in made.all_scores() if (score.method, score.metric) != (MEAN_TP, made.FAITHFULNESS)]
    cells = found(run(scores=rows + made.scores(MEAN_TP, made.FAITHFULNESS, near))).overall[0].cells
    assert cells[MEAN_TP].best
    assert cells[L2_TP].best


def test_differences_from_random_are_paired_by_input(tables: CrossLingual) -> None:
    cell = tables.overall[0].cells[L2_LOSS]
    assert cell.difference is not None
    assert cell.difference.value == pytest.approx(0.45, abs=1e-12)  # random: 0 in both languages
    assert not cell.like_random
    assert tables.overall[1].cells[L2_LOSS].like_random  # random alignments


def test_tables_have_a_row_for_each_aggregation_a_column_for_each_output_and_random_last(tables: CrossLingual) -> None:
    assert tables.outputs == ("prediction", "loss")
    rows = tables.rows(tables.overall[0])
    assert [name for name, _, _ in rows] == ["saliency (mean)", "saliency (l2)", "lime", "random"]
    assert [random for _, random, _ in rows] == [False, False, False, True]
    lime, random = rows[2][2], rows[3][2]
    assert lime[1] is None
    assert random[0] is random[1] is tables.overall[0].cells[RANDOM]  # no output makes a difference to it


def test_erasure_and_plausibility_are_of_the_reference_language_alone(tables: CrossLingual) -> None:
    values = {grid.measure.name: grid.cells for grid in tables.others}
    assert list(values) == ["comprehensiveness", "sufficiency", "plausibility"]
    for name, column in made.ERASURE.items():
        for label, expected in zip(made.LABELS, column, strict=True):
            cell = values[name][label]  # type: ignore[index]
            assert cell.value is not None
            assert cell.value == pytest.approx((expected, expected, expected), abs=1e-9)
            assert cell.n == 4
    assert values["sufficiency"][LIME].best, "lower is better"
    assert not values["sufficiency"][MEAN_TP].best


def test_accuracy_and_average_faithfulness_by_language(tables: CrossLingual) -> None:
    english, german, spanish = tables.languages
    assert [one.lang for one in tables.languages] == ["en", "de", "es"]
    assert english.faithfulness is None
    accuracies = [one.accuracy.value for one in tables.languages if one.accuracy]
    assert accuracies == pytest.approx([1.0, 0.75, 0.5])
    assert [one.n for one in tables.languages] == [4, 4, 4]
    # lime has none in Spanish, so it counts in neither; random never does
    assert german.faithfulness is not None
    assert spanish.faithfulness is not None
    assert german.faithfulness.value == pytest.approx((0.2 + 0.6 + 0.3 + 0.6) / 4, abs=1e-12)
    assert spanish.faithfulness.value == pytest.approx((0.1 + 0.2 + 0.2 + 0.3) / 4, abs=1e-12)
    assert tables.correlation == (None, None, 2, "fewer than 3 languages to correlate")


def test_an_input_that_can_not_be_judged_does_not_count_for_accuracy() -> None:
    rows = made.instances()
    rows[0] = replace(rows[0], label=None)
    rows[3] = replace(rows[3], label="maybe")
    assert found(run(instances=rows)).languages[0].n == 2


def test_pearson_over_three_languages_or_more_is_scipys() -> None:
    languages = ("en", "de", "es", "fr")
    right = {"en": [True] * 4, "de": [True] * 4, "es": [True, True, True, False], "fr": [True, False, False, False]}
    rows = []
    for label in made.LABELS:
        for lang, level in (("de", 0.6), ("es", 0.5), ("fr", 0.1)):
            rows += made.scores(label, made.FAITHFULNESS, {lang: [level, level + 0.1, level - 0.1, level]})
    tables = found(run(instances=made.instances(languages), predictions=made.predictions(right), scores=rows))
    expected = stats.pearsonr([0.6, 0.5, 0.1], [1.0, 0.75, 0.25])
    assert tables.correlation.value == pytest.approx(expected.statistic, abs=1e-9)
    assert tables.correlation.p == pytest.approx(expected.pvalue, abs=1e-9)
    assert pearson([(0.1, 1.0), (0.2, 1.0), (0.3, 1.0)], "languages").reason == "all languages have the same value"


def test_spread_over_methods_and_agreement_of_rankings(tables: CrossLingual) -> None:
    assert tables.spreads["faithfulness"].sd == pytest.approx(np.std([0.15, 0.4, 0.25, 0.45], ddof=1), abs=1e-12)
    assert tables.spreads["faithfulness"].n == 4
    assert tables.spreads["comprehensiveness"].sd == pytest.approx(np.std([1, 4, 2, 3, 5], ddof=1) / 10, abs=1e-12)
    taus = {(one.first, one.second): one.tau for one in tables.agreements}
    # by sufficiency lower is better, so the rankings of the five methods are the same
    assert taus["comprehensiveness", "sufficiency"].value == pytest.approx(1.0)
    # .15 .4 .25 .45 against .1 .4 .2 .3: five pairs of six in the same order
    assert taus["faithfulness", "comprehensiveness"].value == pytest.approx((5 - 1) / 6)
    assert taus["faithfulness", "plausibility"].reason == "all methods have the same value"
    assert len(taus) == 6


def test_the_random_aligner_comes_second_whatever_the_order_of_the_card() -> None:
    turned = made.card(metrics=[made.METRICS[1], made.METRICS[0]])
    assert [grid.measure.aligner for grid in found(run(card=turned)).overall] == ["embedding", "random"]


def test_a_run_without_the_metric_or_without_other_languages_has_no_tables() -> None:
    assert crosslingual([run(card=made.card(metrics=[made.metric("comprehensiveness")]))]) is None
    english = [row for row in made.instances() if row.lang == "en"]
    assert crosslingual([run(instances=english)]) is None
    assert crosslingual([run(scores=[])]) is None


def test_another_reference_language() -> None:
    named = made.card(metrics=[made.metric(made.FAITHFULNESS, reference_lang="de", aligner="given")])
    rows = [replace(score, instance_id=score.instance_id.replace("-de", "-en")) for score in made.all_scores()]
    tables = found(run(card=named, scores=rows))
    assert tables.reference == "de"
    assert [grid.language for grid in tables.by_language] == ["en", "es"]
    assert [one.lang for one in tables.languages] == ["de", "en", "es"]
    assert tables.overall[0].measure.aligner == "given"


def test_seeds_give_mean_and_deviation_by_architecture() -> None:
    def shifted(by: float, architecture: str, name: str) -> LanguageRun:
        rows = [
            replace(score, value=score.value + by)
            if score.value is not None and score.metric == made.FAITHFULNESS
            else score
            for score in made.all_scores()
        ]
        model = {"architecture": f"{architecture}ForSequenceClassification", "parameters": "10", "hash": name}
        return run(card=made.card(model=model), scores=rows)

    runs = (shifted(0.0, "Bert", "a"), shifted(0.2, "Bert", "b"), shifted(0.4, "XLMRoberta", "c"))
    tables = found(*runs)
    assert tables.architectures == (("Bert", 2), ("XLMRoberta", 1))
    assert (tables.runs, tables.over) == (3, "runs")
    cell = tables.overall[0].cells[L2_TP]
    assert cell.value is not None
    assert cell.value.value == pytest.approx(0.4 + 0.2, abs=1e-12)
    bert, roberta = cell.by_architecture
    assert bert is not None
    assert roberta is not None
    assert bert == pytest.approx((0.5, np.sqrt(0.02), 2), abs=1e-12)
    assert roberta.mean == pytest.approx(0.8, abs=1e-12)
    assert (roberta.sd, roberta.n) == (None, 1)
    assert (cell.n, cell.skipped) == (7, 1)
    german = tables.by_language[0].cells[L2_TP].by_architecture[0]
    assert german is not None
    assert german.mean == pytest.approx(0.7, abs=1e-12)
    assert tables.languages[1].by_architecture[0] == pytest.approx((0.75, 0.0, 2))


def test_models_of_one_class_and_two_sizes_are_two_architectures() -> None:
    small, large = (
        run(card=made.card(model={"architecture": "BertForSequenceClassification", "parameters": size}))
        for size in ("10", "20")
    )
    names = [one.name for one in found(small, large).architectures]
    assert names == ["Bert (10 parameters)", "Bert (20 parameters)"]


def test_methods_of_several_runs_are_those_that_all_have() -> None:
    fewer = made.card(methods=list(made.METHODS[1:]))
    assert MEAN_TP not in found(run(), run(card=fewer)).overall[0].cells


def test_rows_that_differ_in_another_parameter_are_told_apart() -> None:
    entries = [
        made.method("integrated_gradients", target, aggregate="l2", steps=steps, rule="a")
        for steps in (20, 50)
        for target in ("prediction", "loss")
    ]
    named = explainers({"methods": entries})
    assert [one.row for one in named] == [
        "integrated_gradients (l2): steps=20",
        "integrated_gradients (l2): steps=20",
        "integrated_gradients (l2): steps=50",
        "integrated_gradients (l2): steps=50",
    ]
    assert outputs_of(named) == ("prediction", "loss")


def test_pairs_of_words_are_no_rows_and_agreement_on_words_stands_in_for_plausibility() -> None:
    pairs = {"label": "louvain", "name": "louvain", "kind": "span_interaction"}
    assert explainers({"methods": [pairs]}) == ()
    entries = [made.metric("agreement", "a", level="interaction"), made.metric("agreement", "b", level="token")]
    assert [measure.metric for measure in measures({"metrics": entries})] == ["b"]
    assert reference_of({}) == "en"


def test_an_input_that_is_there_twice_in_a_language_is_not_lost() -> None:
    rows = made.instances(groups=2)
    twin = replace(rows[1], id="twin")
    numbers = groups_of([*rows, twin])
    assert numbers["p0-en"] == numbers["p0-de"] == numbers["p0-es"] != numbers["p1-de"]
    assert numbers["twin"] not in {numbers["p0-de"], numbers["p1-de"]}


def test_intervals_resample_whole_groups_of_translations() -> None:
    # languages that move against each other within a group: the mean over both never moves
    values = np.array([0.1, 0.5, 0.9, 0.3, 0.7])
    both = np.stack([values, 1 - values], axis=-1)[:, None, :]
    found = resample_groups(both, [], [0])
    overall, first, _ = found.means[0]
    assert overall == pytest.approx((0.5, 0.5, 0.5), abs=1e-9)
    assert first is not None
    assert first.low is not None
    assert first.high is not None
    assert first.low < 0.4
    assert first.high > 0.6
    assert found.averages[0] == overall


def test_the_interval_of_one_column_is_near_scipys_bca() -> None:
    values = np.random.default_rng(1).exponential(size=12)  # skewed, so that the correction matters
    ((_, one),) = resample_groups(values[:, None, None], [], []).means
    assert one == pytest.approx((values.mean(), *(bca(values) or ())), abs=0.06)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(st.floats(-1, 1), min_size=3, max_size=3), min_size=1, max_size=6), st.randoms())
def test_layers_are_the_means_of_what_is_known(rows: list[list[float]], random: Any) -> None:
    values = np.array(rows)[:, None, :]
    for group in range(1, len(values)):
        values[group, 0, random.randrange(3)] = np.nan
    expected = [np.mean([v for v in values[:, 0, lang] if np.isfinite(v)]) for lang in range(3)]
    assert layers(values)[0] == pytest.approx([np.mean(expected), *expected], abs=1e-12)


def test_one_group_has_no_interval_and_contrasts_are_first_minus_second() -> None:
    values = np.array([[[0.5], [0.2]]])
    found = resample_groups(values, [Contrast(0, 0, 1)], [0, 1])
    assert found.means[0][0] == (0.5, None, None)
    assert found.contrasts[0] is not None
    assert found.contrasts[0].value == pytest.approx(0.3)
    assert found.averages[0] is not None
    assert found.averages[0].value == pytest.approx(0.35)
    runs = resample_runs(np.array([[[0.5], [0.2]], [[0.7], [np.nan]]]), [], [0])
    assert runs.means[0][0] is not None
    assert runs.means[0][0].value == pytest.approx(0.6)
    assert runs.means[1][0] is not None
    assert runs.means[1][0].value == pytest.approx(0.2)


def test_small_statistics() -> None:
    assert spread([0.5]) == (0.5, None, 1)
    (one,) = rank_agreements(
        {"faithfulness": {"a": 1.0, "b": 2.0}, "sufficiency": {"b": 1.0, "a": 2.0, "c": 3.0}},
        {"faithfulness": True, "sufficiency": False},
    )
    assert one.tau == (None, None, 2, "fewer than 3 methods to correlate")


def test_scores_of_methods_and_instances_that_nobody_knows_are_passed_over() -> None:
    strange = [Score("nowhere", L2_TP, made.FAITHFULNESS, 1.0), Score("p0-de", "?", made.FAITHFULNESS, 1.0)]
    assert found(run(scores=made.all_scores() + strange)).overall == found().overall
