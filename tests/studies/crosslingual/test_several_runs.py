"""Several models on the same data: means over runs, architectures, and runs that do not belong together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support import many_languages as made
from verax.results.run import Run
from verax.stats.correlation import Spread
from verax.studies.crosslingual import STUDY
from verax.studies.crosslingual.analysis import CrossLingual, analyse, common_languages
from verax.studies.crosslingual.grids import LanguageAccuracy
from verax.studies.crosslingual.tables import tables
from verax.types import Estimate, Score, UserError

MEAN_TP, L2_TP, MEAN_LOSS, L2_LOSS, LIME, RANDOM = made.LABELS
Write = Callable[..., Run]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Store a run under a name, by default that of a model of its own."""

    def store(name: str, architecture: str = "Bert", size: str = "10", **changes: Any) -> Run:
        return made.write(tmp_path / name, **({"model": model(architecture, name, size)} | changes))

    return store


def model(architecture: str, key: str, size: str = "10") -> dict[str, str]:
    return {"architecture": f"{architecture}ForSequenceClassification", "parameters": size, "hash": key}


def shifted(by: float, metrics: tuple[str, ...] = (made.FAITHFULNESS,)) -> list[Score]:
    return [
        replace(score, value=score.value + by) if score.value is not None and score.metric in metrics else score
        for score in made.all_scores()
    ]


def result_of(*runs: Run) -> CrossLingual:
    result = analyse(runs)
    assert result is not None
    return result


def test_runs_give_means_and_deviations_by_architecture(write: Write) -> None:
    result = result_of(
        write("a", scores=shifted(0.0)),
        write("b", scores=shifted(0.2)),
        write("c", "XLMRoberta", scores=shifted(0.4)),
    )
    assert result.architectures == (("Bert", 2), ("XLMRoberta", 1))
    assert (result.runs, result.over, result.left_out) == (3, "runs", ())
    cell = result.overall[0].cells[L2_TP]
    assert cell.value is not None
    assert cell.value.value == pytest.approx(0.4 + 0.2, abs=1e-12)
    bert, roberta = cell.by_architecture
    assert bert == pytest.approx((0.5, np.sqrt(0.02), 2), abs=1e-12)
    assert roberta is not None
    assert roberta.mean == pytest.approx(0.8, abs=1e-12)
    assert (roberta.sd, roberta.n) == (None, 1)
    assert (cell.n, cell.skipped) == (21, 3)
    german = result.by_language[0].cells[L2_TP].by_architecture[0]
    assert german is not None
    assert german.mean == pytest.approx(0.7, abs=1e-12)
    assert result.languages[1].by_architecture[0] == pytest.approx((0.75, 0.0, 2))


def test_models_of_one_class_and_two_sizes_are_two_architectures(write: Write) -> None:
    names = [one.name for one in result_of(write("a"), write("b", size="20")).architectures]
    assert names == ["Bert (10 parameters)", "Bert (20 parameters)"]


def test_a_method_that_one_run_does_not_have_is_left_out_by_name(write: Write) -> None:
    result = result_of(write("a"), write("b", methods=list(made.METHODS[1:])))
    assert MEAN_TP not in result.overall[0].cells
    assert result.left_out == (MEAN_TP,)
    assert any(MEAN_TP in sentence for sentence in STUDY.findings(result))


def test_methods_whose_parameters_differ_between_runs_share_a_row_that_shows_them(write: Write) -> None:
    def run(name: str, steps: int) -> Run:
        methods = [
            made.method("integrated_gradients", target, aggregate=aggregate, steps=steps)
            for target in ("prediction", "loss")
            for aggregate in ("mean", "l2")
        ]
        rows = [
            replace(score, method=methods[made.LABELS.index(score.method)]["label"])
            for score in made.all_scores()
            if score.method in made.LABELS[:4]
        ]
        return write(name, methods=methods, scores=rows)

    result = result_of(run("a", 75), run("b", 100))
    assert [(one.row, one.output) for one in result.methods] == [
        ("integrated_gradients (mean): steps=75 / 100", "prediction"),
        ("integrated_gradients (l2): steps=75 / 100", "prediction"),
        ("integrated_gradients (mean): steps=75 / 100", "loss"),
        ("integrated_gradients (l2): steps=75 / 100", "loss"),
    ]
    assert result.left_out == ()
    l2 = result.methods[1]
    assert [f"steps={steps}" in label for label, steps in zip(l2.labels, (75, 100), strict=True)] == [True, True]
    # the second run has the scores of prediction under the labels of its own; both runs have the same values
    assert result.overall[0].cells[result.methods[1].label].n > 0


def test_a_metric_that_one_run_does_not_have_is_left_out_by_name(write: Write) -> None:
    rows = [score for score in made.all_scores() if score.metric != "sufficiency"]
    result = result_of(write("a"), write("b", scores=rows))
    assert [grid.measure.name for grid in result.others] == ["comprehensiveness", "plausibility"]
    assert result.left_out == ("sufficiency",)


def test_runs_of_one_model_or_of_different_inputs_are_refused(write: Write) -> None:
    first = write("a")
    with pytest.raises(UserError, match=r"a and .*twin are runs of the same model"):
        analyse([first, write("twin", model=model("Bert", "a"))])
    with pytest.raises(UserError, match=r"a and .*elsewhere cannot be averaged: the data .* differs, d and other"):
        analyse([first, write("elsewhere", data={"hash": "other"})])


@pytest.mark.parametrize("labels", [[f"{made.FAITHFULNESS}(aligner=given)"], [made.FAITHFULNESS], [made.SHUFFLED]])
def test_runs_that_are_measured_by_other_aligners_are_refused(write: Write, labels: list[str]) -> None:
    rows = [
        replace(score, metric=label)
        for label in labels
        for score in made.all_scores()
        if score.metric == made.FAITHFULNESS
    ]
    first = write("a")
    second = write("b", metrics=[made.metric(made.FAITHFULNESS, one) for one in labels], scores=rows)
    for runs in ([first, second], [second, first]):
        with pytest.raises(UserError, match="cannot be averaged: faithfulness differs") as refused:
            analyse(runs)
        assert all(label in str(refused.value) for label in labels)


def test_a_run_without_the_metric_is_refused_next_to_one_that_has_it(write: Write) -> None:
    runs = [write("a"), write("b", metrics=[made.metric("comprehensiveness")])]
    for order in (runs, runs[::-1]):
        with pytest.raises(UserError, match="b has no scores of crosslingual_faithfulness"):
            analyse(order)


def test_faithfulness_of_a_language_has_a_deviation_over_the_seeds_of_each_architecture(write: Write) -> None:
    """Averages over methods with a value in every language: 0.425 in German, and 0.2 more in the second run."""
    result = result_of(write("a", scores=shifted(0.0)), write("b", scores=shifted(0.2)))
    english, german, _ = result.languages
    assert english.faithfulness_by_architecture == ()
    assert german.faithfulness_by_architecture[0] == pytest.approx((0.525, np.sqrt(0.02), 2), abs=1e-12)
    (table,) = [one for one in tables(result) if one.name == "languages"]
    assert table.records()[1]["shown_faithfulness_Bert"] == "0.525 ± 0.141"


def test_plausibility_of_every_method_in_every_language(write: Write) -> None:
    """Measured in English and in German, averaged over both runs."""
    result = result_of(write("a"), write("b", scores=shifted(0.2, ("plausibility",))))
    assert [grid.language for grid in result.map_by_language] == ["en", "de"]
    (table,) = [one for one in tables(result) if one.name == "plausibility_by_language"]
    rows = {row["method"]: row for row in table.records()}
    assert rows["saliency (l2), loss"]["en"] == pytest.approx(0.6)
    assert rows["saliency (l2), loss"]["de"] == pytest.approx(9.1)
    assert set(rows) == {
        "saliency (mean), prediction",
        "saliency (l2), prediction",
        "saliency (mean), loss",
        "saliency (l2), loss",
        "lime, prediction",
        "random",
    }


def test_common_languages_are_among_the_most_accurate_of_every_architecture() -> None:
    """The first knows a to e best, the second b to f; the reference counts among the five, and is not named."""

    def language(lang: str, first: float, second: float) -> LanguageAccuracy:
        return LanguageAccuracy(lang, None, Estimate(first), 9, (Spread(first, None, 1), Spread(second, None, 1)))

    both = [language(lang, 0.9 - i / 10, 0.3 + i / 10) for i, lang in enumerate("abcdef")]
    assert common_languages(both, "c") == ("b", "d", "e")
    one = [replace(known, by_architecture=()) for known in both]
    assert common_languages(one, "a") == ("b", "c", "d", "e")
