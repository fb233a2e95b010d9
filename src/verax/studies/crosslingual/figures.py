"""Figures of the evaluation across languages."""

from __future__ import annotations

from collections.abc import Sequence

from verax.results.figure import AnyMark, Dot, Figure, Panel, Point, Rule, Scale, Series, Shape
from verax.studies.crosslingual.analysis import CrossLingual
from verax.studies.crosslingual.grids import Grid
from verax.studies.crosslingual.rows import MeasureName
from verax.studies.crosslingual.tables import TITLES, output_name

_SHAPES: tuple[Shape, ...] = ("circle", "square", "triangle", "diamond")
_UNITS: dict[MeasureName, str] = {
    "faithfulness": "Spearman correlation",
    "comprehensiveness": "decrease without the top words",
    "sufficiency": "decrease with only the top words",
    "plausibility": "average precision",
}
_LEGEND = ("hollow: not significantly different from random", "bars: 95 % intervals; line: the random explanation")


def figures(result: CrossLingual) -> list[Figure]:
    """Methods by languages, the effect of output and aggregation, the effect of the aligner, and accuracy."""
    overall = result.overall[0]
    languages = (overall, *result.by_language)
    measures = (overall, *result.others)
    found = [
        Figure(
            "languages",
            "Methods by languages",
            _series(result),
            tuple(_panel(result, grid, grid.language or "all languages", languages) for grid in languages),
            legend=(*_LEGEND, "all panels have the same scale"),
        ),
        Figure(
            "effects",
            "Effect of output and aggregation",
            _series(result),
            tuple(_panel(result, grid, TITLES[grid.measure.name], [grid]) for grid in measures),
            legend=(*_LEGEND, "each panel has its own scale"),
        ),
    ]
    if len(result.overall) > 1:
        found.append(
            Figure(
                "aligners",
                "Effect of the aligner",
                _series(result),
                tuple(
                    _panel(result, grid, f"Aligner: {grid.measure.aligner}", result.overall) for grid in result.overall
                ),
                caption="The same scores compared over other links between the words. Over random links the "
                "correlation should be near 0: what is left of it is not due to translation.",
                legend=(*_LEGEND, "all panels have the same scale"),
            )
        )
    return [*found, *_accuracy(result)]


def _series(result: CrossLingual) -> tuple[Series, ...]:
    """The outputs, then the random explanation."""
    outputs = [
        Series(output_name(output), _SHAPES[place % len(_SHAPES)]) for place, output in enumerate(result.outputs)
    ]
    return (*outputs, Series("Random", "cross", baseline=True))


def _panel(result: CrossLingual, grid: Grid, title: str, sharing: Sequence[Grid]) -> Panel:
    """One grid, on the scale of all grids that share it; every panel has the rows of the first table."""
    marks: list[AnyMark] = []
    for row in result.rows(grid):
        for place, cell in enumerate(row.cells):
            if cell is not None and cell.value is not None and not row.random:
                marks.append(Dot(row.name, place, cell.value, hollow=cell.like_random))
    random = next((one for one in result.methods if one.random), None)
    cell = None if random is None else grid.cells.get(random.label)
    if random is not None and cell is not None and cell.value is not None:
        marks += [Rule("x", cell.value.value, "random"), Dot(random.row, len(result.outputs), cell.value)]
    values = [cell.value for one in sharing for cell in one.cells.values() if cell.value is not None]
    ends = [end for value in values for end in value if end is not None]
    ends += [0.0] if grid.measure.name == "faithfulness" else []  # unrelated scores
    scale = Scale(
        _UNITS[grid.measure.name],
        low=min(ends, default=None),
        high=max(ends, default=None),
        better="high" if grid.measure.higher_is_better else "low",
    )
    rows = tuple(row.name for row in result.rows(result.overall[0]))
    return Panel(title, scale, Scale(), tuple(marks), rows)


def _accuracy(result: CrossLingual) -> list[Figure]:
    """Faithfulness by accuracy, a point for each language; nothing where there are fewer than two."""
    points = [
        Point(0, one.accuracy, one.faithfulness, one.lang)
        for one in result.languages
        if one.accuracy is not None and one.faithfulness is not None
    ]
    if len(points) < 2:
        return []
    panel = Panel("Languages", Scale("accuracy"), Scale("faithfulness"), tuple(points))
    return [
        Figure(
            "accuracy",
            "Faithfulness by accuracy",
            (Series("a language"),),
            (panel,),
            caption="Faithfulness averaged over methods, and accuracy of the model, of each language.",
            legend=("bars: 95 % intervals",),
        )
    ]
