"""Figures across languages as data: marks are where their numbers are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from support import many_languages as made
from verax.results.figure import Dot, Figure, Panel, Point, Rule
from verax.studies.crosslingual.analysis import CrossLingual, analyse
from verax.studies.crosslingual.figures import figures

MEAN_TP, L2_TP, MEAN_LOSS, L2_LOSS, LIME, RANDOM = made.LABELS


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> CrossLingual:
    found = analyse([made.write(tmp_path_factory.mktemp("run"))])
    assert found is not None
    return found


@pytest.fixture(scope="module")
def drawn(result: CrossLingual) -> Mapping[str, Figure]:
    return {figure.name: figure for figure in figures(result)}


def dots(panel: Panel) -> dict[tuple[str, int], Dot]:
    return {(mark.row, mark.series): mark for mark in panel.marks if isinstance(mark, Dot)}


def test_there_is_a_figure_for_each_question(drawn: Mapping[str, Figure]) -> None:
    assert {name: [panel.title for panel in figure.panels] for name, figure in drawn.items()} == {
        "languages": ["all languages", "de", "es"],
        "effects": ["Cross-lingual faithfulness", "Comprehensiveness", "Sufficiency", "Plausibility"],
        "aligners": ["Aligner: embedding", "Aligner: random"],
        "accuracy": ["Languages"],
    }


def test_one_aligner_is_not_compared(tmp_path: Path) -> None:
    found = analyse([made.write(tmp_path, metrics=[made.METRICS[0]])])
    assert found is not None
    assert "aligners" not in [figure.name for figure in figures(found)]


def test_every_value_is_a_dot_of_its_output_in_its_row(result: CrossLingual, drawn: Mapping[str, Figure]) -> None:
    panel = drawn["effects"].panels[1]
    cells = result.others[0].cells
    expected = {
        ("saliency (mean)", 0): MEAN_TP,
        ("saliency (mean)", 1): MEAN_LOSS,
        ("saliency (l2)", 0): L2_TP,
        ("saliency (l2)", 1): L2_LOSS,
        ("lime", 0): LIME,
        ("random", 2): RANDOM,
    }
    found = dots(panel)
    assert {place: mark.x for place, mark in found.items()} == {
        place: cells[label].value for place, label in expected.items()
    }
    assert [series.name for series in drawn["effects"].series] == ["Prediction", "Loss", "Baseline"]
    assert len({series.shape for series in drawn["effects"].series}) == 3
    (rule,) = [mark for mark in panel.marks if isinstance(mark, Rule)]
    assert rule.value == pytest.approx(0.0, abs=1e-9)  # comprehensiveness of the random explanation


def test_panels_share_their_rows_and_methods_without_a_value_have_no_dot(drawn: Mapping[str, Figure]) -> None:
    for name in ("languages", "effects", "aligners"):
        for panel in drawn[name].panels:
            assert panel.rows == ("saliency (mean)", "saliency (l2)", "lime", "random")
    overall, german, spanish = (dots(panel) for panel in drawn["languages"].panels)
    assert ("lime", 0) in german
    assert ("lime", 0) not in overall
    assert ("lime", 0) not in spanish


def test_correlations_share_a_scale_that_contains_0(drawn: Mapping[str, Figure]) -> None:
    for name in ("languages", "aligners"):
        (scale,) = {(panel.x.low, panel.x.high) for panel in drawn[name].panels}
        assert scale[0] is not None
        assert scale[0] <= 0.0
    assert len({(panel.x.low, panel.x.high) for panel in drawn["effects"].panels}) == 4
    assert [panel.x.better for panel in drawn["effects"].panels] == ["high", "high", "low", "high"]


def test_what_is_like_random_is_hollow(drawn: Mapping[str, Figure]) -> None:
    embedding, random = (dots(panel) for panel in drawn["aligners"].panels)
    assert not any(mark.hollow for mark in embedding.values())
    assert sum(mark.hollow for mark in random.values()) == 5


def test_languages_but_the_reference_are_points(result: CrossLingual, drawn: Mapping[str, Figure]) -> None:
    points = [mark for mark in drawn["accuracy"].panels[0].marks if isinstance(mark, Point)]
    assert [(point.label, point.x, point.y) for point in points] == [
        (one.lang, one.accuracy, one.faithfulness) for one in result.languages[1:]
    ]
    fewer = figures(replace(result, languages=result.languages[:2]))
    assert "accuracy" not in [figure.name for figure in fewer]
