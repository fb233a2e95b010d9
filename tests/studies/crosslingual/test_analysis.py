"""Results across languages against means, marks and correlations computed by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from support import many_languages as made
from verax.results.manifest import Manifest
from verax.results.run import Run
from verax.run.parameters import as_configured, from_config
from verax.stats.intervals import bca
from verax.studies.crosslingual.analysis import CrossLingual, analyse, rank_agreements
from verax.studies.crosslingual.grids import Difference, GridCell, layers, resample
from verax.studies.crosslingual.presets import CROSSLINGUAL
from verax.studies.crosslingual.rows import LanguageRun, Measure, explainers, measures, outputs_of, reference_of
from verax.studies.crosslingual.tables import findings
from verax.studies.leaderboard.presets import ATTRIBUTION_TABLE
from verax.types import Score

MEAN_TP, L2_TP, MEAN_LOSS, L2_LOSS, LIME, RANDOM = made.LABELS
Write = Callable[..., Run]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Store a run in a folder of its own."""
    return lambda **changes: made.write(tmp_path / str(len(list(tmp_path.iterdir()))), **changes)


def result_of(*runs: Run) -> CrossLingual:
    result = analyse(runs)
    assert result is not None
    return result


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> CrossLingual:
    return result_of(made.write(tmp_path_factory.mktemp("run")))


def value(cell: GridCell) -> float:
    assert cell.value is not None
    return cell.value.value


def test_faithfulness_is_the_unweighted_mean_over_languages_of_means_over_instances(result: CrossLingual) -> None:
    cells = result.overall[0].cells
    assert value(cells[L2_TP]) == pytest.approx((0.6 + 0.2) / 2, abs=1e-12)  # not the mean of all 21: 0.4286
    assert (cells[L2_TP].n, cells[L2_TP].skipped) == (21, 3)
    assert value(cells[MEAN_TP]) == pytest.approx((0.2 + 0.1) / 2, abs=1e-12)
    assert value(cells[L2_LOSS]) == pytest.approx((0.6 + 0.3) / 2, abs=1e-12)
    by_language = {grid.language: value(grid.cells[L2_TP]) for grid in result.by_language}
    assert by_language == pytest.approx({"de": 0.6, "es": 0.2}, abs=1e-12)


def test_a_method_without_a_value_in_one_language_has_none_overall_and_says_where(result: CrossLingual) -> None:
    cell = result.overall[0].cells[LIME]
    assert (cell.value, cell.reason, cell.n, cell.skipped) == (None, "no value in es", 12, 12)
    german, spanish = (grid.cells[LIME] for grid in result.by_language)
    assert value(german) == pytest.approx(0.15, abs=1e-12)
    assert german.reason is None
    assert (spanish.value, spanish.reason, spanish.skipped) == (None, "no value in es", 12)


def test_with_few_inputs_nothing_is_marked_and_the_number_that_would_do_is_named(write: Write) -> None:
    result = result_of(write(instances=made.instances(groups=4)))
    known = [cell for cell in result.overall[0].cells.values() if cell.value is not None]
    assert not any(cell.best or cell.better or cell.worse for cell in known)
    assert all(cell.value is not None and cell.value.low is None for cell in known), "no interval below 6 inputs"
    assert "Too few inputs to rank 6 methods: 4 where at least 10 are needed." in findings(result)[0]
    assert "faithful across languages" not in " ".join(findings(result)), "nothing can be said either way"


def test_the_best_of_each_output_is_marked_and_the_random_one_never(result: CrossLingual, write: Write) -> None:
    cells = result.overall[0].cells
    assert [cells[label].best for label in (MEAN_TP, L2_TP, MEAN_LOSS, L2_LOSS)] == [False, True, False, True]
    strong = [score for score in made.all_scores() if score.method != RANDOM or score.metric != made.FAITHFULNESS]
    strong += made.scores(RANDOM, made.FAITHFULNESS, {lang: [0.9] * 4 for lang in ("de", "es")})
    again = result_of(write(scores=strong)).overall[0].cells
    assert not any(cell.best for cell in again.values()), "what random beats is not best either"
    assert again[L2_TP].worse
    assert again[RANDOM].difference is None


def test_what_is_not_significantly_different_from_the_best_is_marked_too(write: Write) -> None:
    near = {"de": [1.1, 0.4, 0.5, 0.5], "es": [0.2, 0.4, 0.1, 0.0]}
    rows = [score for score in made.all_scores() if (score.method, score.metric) != (MEAN_TP, made.FAITHFULNESS)]
    cells = result_of(write(scores=rows + made.scores(MEAN_TP, made.FAITHFULNESS, near))).overall[0].cells
    assert cells[MEAN_TP].best
    assert cells[L2_TP].best


def test_differences_from_random_are_paired_by_input(result: CrossLingual) -> None:
    cell = result.overall[0].cells[L2_LOSS]
    assert cell.difference is not None
    assert cell.difference.value == pytest.approx(0.45, abs=1e-12)  # random: 0 in both languages
    assert not cell.like_random
    assert result.overall[1].cells[L2_LOSS].like_random  # random alignments


def test_rows_are_aggregations_columns_are_outputs_and_random_is_last(result: CrossLingual) -> None:
    assert result.outputs == ("prediction", "loss")
    rows = result.rows(result.overall[0])
    assert [row.name for row in rows] == ["saliency (mean)", "saliency (l2)", "lime", "random"]
    assert [row.role for row in rows] == ["method", "method", "method", "random"]
    lime, random = rows[2].cells, rows[3].cells
    assert lime[1] is None
    assert random[0] is random[1] is result.overall[0].cells[RANDOM]  # it does not depend on the output


def test_erasure_and_plausibility_are_of_the_reference_language_only(result: CrossLingual) -> None:
    cells = {str(grid.measure.name): grid.cells for grid in result.others}
    assert list(cells) == ["comprehensiveness", "sufficiency", "plausibility"]
    for name, column in made.ERASURE.items():
        for label, expected in zip(made.LABELS, column, strict=True):
            assert cells[name][label].value == (pytest.approx(expected, abs=1e-9), None, None)
            assert cells[name][label].n == 12
    assert cells["sufficiency"][LIME].best, "lower is better"
    assert not cells["sufficiency"][MEAN_TP].best


def test_accuracy_and_average_faithfulness_by_language(result: CrossLingual) -> None:
    english, german, spanish = result.languages
    assert [one.lang for one in result.languages] == ["en", "de", "es"]
    assert english.faithfulness is None
    assert [one.accuracy.value for one in result.languages if one.accuracy] == pytest.approx([1.0, 0.75, 0.5])
    assert [one.n for one in result.languages] == [12, 12, 12]
    # lime has no value in Spanish, so it counts in neither language; random never counts
    assert german.faithfulness is not None
    assert spanish.faithfulness is not None
    assert german.faithfulness.value == pytest.approx((0.2 + 0.6 + 0.3 + 0.6) / 4, abs=1e-12)
    assert spanish.faithfulness.value == pytest.approx((0.1 + 0.2 + 0.2 + 0.3) / 4, abs=1e-12)
    assert result.correlation == (None, None, 2, "fewer than 3 languages to correlate")


def test_accuracy_leaves_out_instances_without_a_label_that_the_model_has(write: Write) -> None:
    rows = made.instances()
    rows[0] = replace(rows[0], label=None)
    rows[3] = replace(rows[3], label="maybe")
    assert result_of(write(instances=rows)).languages[0].n == 10


def test_faithfulness_and_accuracy_are_correlated_over_languages(write: Write) -> None:
    languages = ("en", "de", "es", "fr")
    right = {"en": [True] * 4, "de": [True] * 4, "es": [True, True, True, False], "fr": [True, False, False, False]}
    rows = []
    for label in made.LABELS:
        for lang, level in (("de", 0.6), ("es", 0.5), ("fr", 0.1)):
            rows += made.scores(label, made.FAITHFULNESS, {lang: [level, level + 0.1, level - 0.1, level]})
    run = write(instances=made.instances(languages), predictions=made.predictions(right), scores=rows)
    expected = stats.pearsonr([0.6, 0.5, 0.1], [1.0, 0.75, 0.25])
    found = result_of(run).correlation
    assert (found.value, found.p) == pytest.approx((expected.statistic, expected.pvalue), abs=1e-9)


def test_spread_over_methods_and_agreement_of_rankings(result: CrossLingual) -> None:
    assert result.spreads["faithfulness"].sd == pytest.approx(np.std([0.15, 0.4, 0.25, 0.45], ddof=1), abs=1e-12)
    assert result.spreads["faithfulness"].n == 4
    assert result.spreads["comprehensiveness"].sd == pytest.approx(np.std([1, 4, 2, 3, 5], ddof=1) / 10, abs=1e-12)
    taus = {(one.first, one.second): one.tau for one in result.agreements}
    # of sufficiency lower is better, so the rankings of the five methods are the same
    assert taus["comprehensiveness", "sufficiency"].value == pytest.approx(1.0)
    # .15 .4 .25 .45 against .1 .4 .2 .3: five pairs of six in the same order
    assert taus["faithfulness", "comprehensiveness"].value == pytest.approx((5 - 1) / 6)
    assert taus["faithfulness", "plausibility"].reason == "all methods have the same value"
    assert len(taus) == 6


def test_rankings_are_compared_over_the_methods_that_both_measures_have() -> None:
    columns = {
        Measure("faithfulness", "a", True): {"a": 1.0, "b": 2.0},
        Measure("sufficiency", "b", False): {"b": 1.0, "a": 2.0, "c": 3.0},
    }
    (one,) = rank_agreements(columns)
    assert one.tau == (None, None, 2, "fewer than 3 methods to correlate")


def test_a_run_without_the_metric_or_without_other_languages_has_no_result(write: Write) -> None:
    assert analyse([write(metrics=[made.metric("comprehensiveness")])]) is None
    assert analyse([write(instances=[row for row in made.instances() if row.lang == "en"])]) is None
    assert analyse([write(scores=[])]) is None


def test_another_reference_language(write: Write) -> None:
    metrics = [made.metric(made.FAITHFULNESS, reference_lang="de", aligner="given")]
    rows = [replace(score, instance_id=score.instance_id.replace("-de", "-en")) for score in made.all_scores()]
    kept = [row for row in rows if row.metric == made.FAITHFULNESS]
    result = result_of(write(metrics=metrics, scores=kept))
    assert result.reference == "de"
    assert [grid.language for grid in result.by_language] == ["en", "es"]
    assert [one.lang for one in result.languages] == ["de", "en", "es"]
    assert result.overall[0].measure.aligner == "given"


def test_scores_of_unknown_methods_and_instances_are_left_out(write: Write, result: CrossLingual) -> None:
    strange = [Score("nowhere", L2_TP, made.FAITHFULNESS, 1.0), Score("p0-de", "?", made.FAITHFULNESS, 1.0)]
    found = result_of(write(scores=made.all_scores() + strange)).overall
    assert [grid.cells for grid in found] == [grid.cells for grid in result.overall]


def test_rows_that_differ_in_another_parameter_show_it(write: Write) -> None:
    entries = [
        made.method("integrated_gradients", target, aggregate="l2", steps=steps, rule="a")
        for steps in (20, 50)
        for target in ("prediction", "loss")
    ]
    methods, others = explainers([write(methods=entries)])
    assert [one.row for one in methods] == [
        "integrated_gradients (l2): steps=20",
        "integrated_gradients (l2): steps=20",
        "integrated_gradients (l2): steps=50",
        "integrated_gradients (l2): steps=50",
    ]
    assert outputs_of(methods) == ("prediction", "loss")
    assert others == ()


def test_pairs_of_words_are_no_rows_and_agreement_on_words_counts_as_plausibility(write: Write) -> None:
    pairs = {"label": "louvain", "name": "louvain", "kind": "span_interaction"}
    assert explainers([write(methods=[pairs])]) == ((), ())
    entries = [made.metric("agreement", "a", level="interaction"), made.metric("agreement", "b", level="token")]
    assert [measure.metric for measure in measures(manifest(metrics=entries))] == ["b"]
    assert reference_of(Manifest()) == "en"


def manifest(**fields: Any) -> Manifest:
    found, problems = Manifest.read(fields)
    assert not problems
    return found


def test_random_links_come_last_whatever_the_order_of_the_manifest() -> None:
    found = measures(manifest(metrics=[made.METRICS[1], made.METRICS[0]]))
    assert [measure.aligner for measure in found] == ["embedding", "random"]


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize(
    "given_parameters",
    [
        {},
        {"aligner": "random"},
        {"aligner": {"random": {"seed": 3}}},
        {"aligner": {"random": {"seed": 7}}},
        {"aligner": "given"},
        {"aligner": {"given": {"possible": True}}},
        {"aligner": {"embedding": {"layer": 1, "extract": "argmax"}}, "reference_lang": "de"},
        {"aligner": {"embedding": {"threshold": 0.1}}, "align_parts": "joint"},
        {"align_parts": "joint"},
    ],
)
def test_aligners_are_named_from_parameters_as_runs_label_them(given_parameters: dict[str, Any], seed: int) -> None:
    metric = from_config("metrics", {made.FAITHFULNESS: given_parameters}, seed)
    entry = {"label": metric.label, "name": metric.name, "parameters": metric.parameters}
    (measure,) = measures(manifest(metrics=[entry], seed=seed))
    label = as_configured("aligners", metric.component.aligner, metric.implied).label
    joint = metric.component.align_parts == "joint"
    stored = f"{label}, parts joint" if joint else label  # what `run.translations.OpenAligner.label` gives
    assert stored in measure.aligner_labels
    if given_parameters != {"aligner": {"random": {"seed": 7}}} or seed != 7:  # the run's own seed is not shown
        assert measure.aligner == (f"{label}, align_parts=joint" if joint else label)


def test_an_aligner_of_a_plug_in_may_be_labelled_by_its_bare_name() -> None:
    entry = made.metric(made.FAITHFULNESS, aligner={"mine": {"depth": 2}})
    (measure,) = measures(manifest(metrics=[entry]))
    assert (measure.aligner, measure.aligner_labels) == ("mine(depth=2)", ("mine(depth=2)", "mine"))


@pytest.mark.parametrize("aligner", [3, None, {"embedding": None}, {"a": {}, "b": {}}])
def test_unusual_entries_of_a_manifest_have_some_name(aligner: Any) -> None:
    (measure,) = measures(manifest(metrics=[made.metric(made.FAITHFULNESS, aligner=aligner)]))
    assert measure.aligner


def test_the_preset_is_the_attribution_table_across_languages() -> None:
    assert CROSSLINGUAL.content["methods"] == ATTRIBUTION_TABLE.content["methods"]
    metrics = [from_config("metrics", given, 0) for given in CROSSLINGUAL.content["metrics"]]
    entries = [{"label": one.label, "name": one.name, "parameters": one.parameters} for one in metrics]
    assert [(one.name, one.aligner) for one in measures(manifest(metrics=entries, seed=0))] == [
        ("faithfulness", "embedding"),
        ("faithfulness", "random"),
        ("faithfulness", "embedding"),
        ("comprehensiveness", None),
        ("sufficiency", None),
        ("plausibility", None),
    ]


def test_a_second_input_of_one_language_under_one_parallel_id_is_not_lost(write: Write) -> None:
    rows = made.instances(groups=2)
    groups = LanguageRun(write(instances=[*rows, replace(rows[1], id="twin")])).groups
    assert groups["p0-en"] == groups["p0-de"] == groups["p0-es"] != groups["p1-de"]
    assert groups["twin"] not in {groups["p0-de"], groups["p1-de"]}


def test_intervals_resample_whole_groups_of_translations() -> None:
    # languages that move against each other within a group: the mean over both never moves
    values = np.array([0.1, 0.5, 0.9, 0.3, 0.7, 0.5])
    both = np.stack([values, 1 - values], axis=-1)[:, None, :]
    found = resample(both, [], [0], overall=True)
    overall, first, _ = found.means[0]
    assert overall == (pytest.approx(0.5, abs=1e-9), None, None), "constant over resamples"
    assert first is not None
    assert first.low is not None
    assert first.high is not None
    assert first.low < 0.4
    assert first.high > 0.6
    assert found.averages[0] == overall


def test_the_interval_of_one_column_is_near_scipys_bca() -> None:
    values = np.random.default_rng(1).exponential(size=12)  # skewed, so that the correction matters
    ((_, one),) = resample(values[:, None, None], [], [], overall=True).means
    assert one == pytest.approx((values.mean(), *(bca(values) or ())), abs=0.06)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(st.floats(-1, 1), min_size=3, max_size=3), min_size=1, max_size=6), st.randoms())
def test_layers_are_the_means_of_the_known_values(rows: list[list[float]], random: Any) -> None:
    values = np.array(rows)[:, None, :]
    for group in range(1, len(values)):
        values[group, 0, random.randrange(3)] = np.nan
    expected = [np.mean([v for v in values[:, 0, lang] if np.isfinite(v)]) for lang in range(3)]
    assert layers(values)[0] == pytest.approx([np.mean(expected), *expected], abs=1e-12)


def test_one_group_has_no_interval_and_differences_are_first_minus_second() -> None:
    found = resample(np.array([[[0.5], [0.2]]]), [Difference(0, 0, 1)], [0, 1], overall=True)
    assert found.means[0][0] == (0.5, None, None)
    assert found.differences[0] is not None
    assert found.differences[0].value == pytest.approx(0.3)
    assert found.averages[0] is not None
    assert found.averages[0].value == pytest.approx(0.35)
    runs = resample(np.array([[[0.5], [0.2]], [[0.7], [np.nan]]]), [], [0], overall=False)
    assert runs.means[0][0] is not None
    assert runs.means[0][0].value == pytest.approx(0.6)
    assert runs.means[1][0] is not None
    assert runs.means[1][0].value == pytest.approx(0.2)
