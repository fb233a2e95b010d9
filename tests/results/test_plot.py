"""Figures of whole studies: their names, those of tables, and all of them on pages."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from results.render.test_paper import check_texts
from support import free_text, many_languages
from support.masking import masked_word_run
from support.runs import method_entry, score_run, word_run
from support.unified import unified_word_run
from verax.results.figure import Dot, Figure, Rule
from verax.results.plot import choose, draw_figure, named_figures, require_matplotlib
from verax.results.run import Run
from verax.types import Estimate, UserError

LEVELS = ("true", "partial", "random", "plausible", "inverted")


def known_run(folder: Path) -> Run:
    """A run of explanations of known truth."""
    methods = [method_entry(level, "known_reasons", parameters={"truth": level}) for level in LEVELS]
    columns = {level: [0.9 - 0.2 * k] * 8 for k, level in enumerate(LEVELS)}
    return score_run(folder, {"comp": columns}, methods=[method_entry("random"), *methods])


RUNS: Mapping[str, Callable[[Path], Run]] = {
    "leaderboard": lambda folder: word_run(folder, 12),
    "masking": masked_word_run,
    "unified": unified_word_run,
    "free_text": free_text.text_run,
    "crosslingual": many_languages.write,
    "diagnosticity": known_run,
}


@pytest.mark.parametrize("study", RUNS)
def test_every_study_is_drawn_in_every_format(study: str, tmp_path: Path) -> None:
    found = RUNS[study](tmp_path / "run").findings()
    assert study in [one.study.name for one in found]
    figures = named_figures(found)
    assert figures
    for figure in figures.values():
        check_texts(draw_figure(figure, "text"))
        page = draw_figure(figure)
        check_texts(page)
        for suffix in ("svg", "pdf", "png"):
            page.savefig(io.BytesIO(), format=suffix, dpi=50)


def drawn_from(figure: Figure, panel: int = 0) -> dict[tuple[str, str], Estimate]:
    """Values by row and series."""
    marks = [mark for mark in figure.panels[panel].marks if isinstance(mark, Dot)]
    return {(mark.row.strip(), figure.series[mark.series].name): mark.x for mark in marks}


def test_a_leaderboard_has_a_panel_for_each_metric_with_the_means_of_its_table(tmp_path: Path) -> None:
    tables = {
        "comp": {"random": [0.1] * 8, "loo": [0.5 + 0.01 * i for i in range(8)], "ig": [None] * 8},
        "suff": {"loo": [0.2] * 8, "random": [0.3] * 8},
    }
    (findings,) = score_run(tmp_path, tables).findings("leaderboard")
    (figure,) = named_figures([findings]).values()
    assert figure.name == "leaderboard"
    assert [panel.title.split()[0] for panel in figure.panels] == ["comp", "suff"]
    values = drawn_from(figure)
    assert values["loo", "mean"].value == pytest.approx(0.535)
    assert values["Random", "baseline"].value == pytest.approx(0.1)
    assert {row for row, _ in values} == {"loo", "Random"}, "a method without a value has a row without a dot"
    assert [row.strip() for row in figure.panels[1].rows] == ["loo", "Random", "ig"], (
        "rows are those of the first panel"
    )
    (rule,) = [mark for mark in figure.panels[0].marks if isinstance(mark, Rule)]
    assert (rule.value, rule.label) == (pytest.approx(0.1), "Random")


def test_several_runs_are_series_of_the_same_panel(tmp_path: Path) -> None:
    runs = [word_run(tmp_path / name) for name in ("a", "b")]
    (findings,) = [one for one in [runs[0].findings("leaderboard")[0].study.apply(runs)] if one is not None]
    (figure,) = named_figures([findings]).values()
    assert [series.name for series in figure.series] == [str(run.folder) for run in runs]
    assert {series for _, series in drawn_from(figure)} == {str(run.folder) for run in runs}


def test_tables_with_other_columns_are_other_figures(tmp_path: Path) -> None:
    (findings,) = free_text.text_run(tmp_path).findings("free_text")
    figures = named_figures([findings])
    assert {"counterfactual", "edits", "performance"} <= set(figures)
    assert all(panel.x.percent for panel in figures["counterfactual"].panels)


def test_equal_names_get_numbers_and_unknown_ones_the_nearest() -> None:
    class Found:
        figures = (Figure("curves", "A", (), ()), Figure("curves", "B", (), ()), Figure("p-values", "C", (), ()))

    figures = named_figures([Found(), Found()])  # type: ignore[list-item]
    assert list(figures) == ["curves", "curves-2", "p-values", "curves-3", "curves-4", "p-values-2"]
    with pytest.raises(UserError, match="did you mean 'curves'"):
        choose(figures, "curvs")
    with pytest.raises(UserError, match="no figure"):
        choose({}, "curves")


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verax.results.plot.find_spec", lambda _: None)
    with pytest.raises(UserError, match=r"pip install 'verax\[figures\]'"):
        require_matplotlib()
