"""Content-free scores, randomised weights, predictions and links: what agreement across languages is compared with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from support import many_languages as made
from verax.results.run import Run
from verax.studies.crosslingual.analysis import CrossLingual, analyse
from verax.studies.crosslingual.figures import figures
from verax.studies.crosslingual.tables import findings, tables
from verax.types import Alignment, Score

PART, LENGTH = (made.method("content_free", feature=feature) for feature in ("part", "characters"))
CONTROL = {
    **made.method("randomised", "prediction"),
    "label": "randomised(over=saliency)",
    "parameters": {"over": {"saliency": {"aggregate": "l2"}}, "seed": 0},
}
L2 = made.LABELS[1]


def write(folder: Path, form: float, control: float = 0.0) -> Run:
    """The run with content-free scores, one of them at `form` in each language, and a control of one method."""
    rows = made.all_scores()
    for entry, value in ((PART, form), (LENGTH, form - 0.1), (CONTROL, control)):
        shaken = [value + 0.01, value - 0.01, value, value]
        rows += made.scores(entry["label"], made.FAITHFULNESS, {"de": shaken, "es": shaken})
    return made.write(folder, scores=rows, methods=[*made.METHODS, PART, LENGTH, CONTROL])


def result_of(run: Run) -> CrossLingual:
    result = analyse([run])
    assert result is not None
    return result


def test_a_method_is_faithful_only_if_it_beats_the_best_content_free_scores(tmp_path: Path) -> None:
    """Saliency by l2 has 0.4 and 0.45, by the mean 0.15 and 0.25: all far above random, half of them above 0.2."""
    result = result_of(write(tmp_path, 0.2))
    grid = result.overall[0]
    assert grid.form == PART["label"], "the higher of the two"
    assert all(grid.cells[label].better for label in made.LABELS[:4])
    assert [grid.cells[label].above_form for label in made.LABELS[:4]] == [False, True, False, True]
    first = findings(result)[0]
    assert first.startswith("Faithful across languages, since significantly better than the best content-free scores, ")
    assert "content_free (part) (0.200): saliency (l2), prediction; saliency (l2), loss." in first
    table = tables(result)[0]
    marked = {str(row.cells[0].value): [mark.name for cell in row.cells for mark in cell.marks] for row in table.rows}
    assert marked["saliency (l2)"].count("above_form") == 2
    assert "above_form" not in marked["saliency (mean)"]


def test_where_form_explains_more_no_method_is_faithful_or_best(tmp_path: Path) -> None:
    result = result_of(write(tmp_path, 0.9))
    cells = result.overall[0].cells
    assert cells[L2].better, "better than random"
    assert not any(cell.best or cell.above_form for cell in cells.values())
    first, second, *_ = findings(result)
    assert first.startswith("No method is faithful across languages: none is significantly better than the best ")
    assert second.startswith("No method may be best: a baseline beats each of them.")


def test_baselines_and_controls_are_rows_at_the_end_and_in_no_average(tmp_path: Path) -> None:
    result, without = result_of(write(tmp_path / "a", 0.9)), result_of(made.write(tmp_path / "b"))
    rows = result.rows(result.overall[0])
    assert [row.name for row in rows][3:] == [
        "saliency (l2), randomised weights",
        "content_free (part)",
        "content_free (characters)",
        "random",
    ]
    assert result.overall[0].average == without.overall[0].average
    assert result.spreads["faithfulness"] == without.spreads["faithfulness"]
    baselines = [row.baseline for row in tables(result)[0].rows]
    assert baselines == [False] * 3 + [True] * 4


def test_a_method_is_compared_with_itself_on_randomised_weights(tmp_path: Path) -> None:
    weak, strong = (result_of(write(tmp_path / str(value), 0.0, value)) for value in (0.05, 0.41))
    assert weak.overall[0].cells[L2].above_randomised is True
    assert strong.overall[0].cells[L2].above_randomised is False
    assert weak.overall[0].cells[made.LABELS[3]].above_randomised is None, "that of the loss was not run"
    assert findings(strong)[-1].startswith("1 of 1 explanation not significantly better than the same method applied")


def test_faithfulness_is_split_by_whether_both_predictions_are_the_same(tmp_path: Path) -> None:
    """German is predicted like English but in the fourth input, Spanish but in the second and the fourth."""
    split = result_of(made.write(tmp_path)).split
    assert split is not None
    assert split.pairs == ((3 + 2) * made.ROUNDS, (1 + 2) * made.ROUNDS)
    same, different = (grid.cells[made.LABELS[3]].value for grid in (split.same, split.different))
    assert same is not None
    assert different is not None
    # by input: (0.9 + 0.3) / 2, 0.6, (0.5 + 0.2) / 2; and 0.4 of Spanish, (0.4 + 0.3) / 2
    assert same.value == pytest.approx((0.6 + 0.6 + 0.35) / 3, abs=1e-12)
    assert different.value == pytest.approx((0.4 + 0.35) / 2, abs=1e-12)


def linked(label: str, german: int, spanish: int) -> list[Alignment]:
    """As many of four words linked in each language."""
    return [
        Alignment(f"p{group}-{lang}", f"p{group}-en", label, tuple((i, i) for i in range(count)))
        for group in range(made.GROUPS)
        for lang, count in (("de", german), ("es", spanish))
    ]


def test_faithfulness_is_plotted_against_f1_where_gold_links_are_there(tmp_path: Path) -> None:
    rows = [*linked("embedding", 4, 2), *linked("random", 1, 1), *linked("given", 4, 4)]
    result = result_of(made.write(tmp_path, others=rows))
    assert result.quality is not None
    assert result.quality.measured == "F1 of links"
    german, spanish = result.quality.languages
    assert (german.name, german.quality.value) == ("de", 1.0)
    assert spanish.quality.value == pytest.approx(2 * 2 / (2 + 4))
    means = {method: made.ACROSS[method]["de"] for method in made.LABELS[:5]}
    expected = [sum(value or 0 for value in column) / len(column) for column in means.values()]
    assert german.faithfulness.value == pytest.approx(sum(expected) / len(expected), abs=1e-12)
    (figure,) = [figure for figure in figures(result) if figure.name == "link_quality"]
    assert [panel.title for panel in figure.panels] == ["Languages", "Quarters of the pairs"]
    assert result.quality.correlation.value is not None
    assert result.quality.correlation.value > 0


def test_without_gold_links_quality_is_the_share_of_linked_words(tmp_path: Path) -> None:
    def with_series(row: Score) -> Score:
        share = (4.0, 4.0) if row.instance_id.endswith("de") else (1.0, 4.0)
        return replace(row, series={"linked": share}) if row.metric == made.FAITHFULNESS else row

    result = result_of(made.write(tmp_path, scores=map(with_series, made.all_scores())))
    assert result.quality is not None
    assert result.quality.measured == "share of words with a link"
    assert [point.quality.value for point in result.quality.languages] == [1.0, 0.25]
