"""Figures of the evaluation across languages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from verax.results.figure import AnyMark, Dot, Figure, Panel, Point, Rule, Scale, Series, Shape
from verax.studies.crosslingual.analysis import CrossLingual
from verax.studies.crosslingual.conditions import LinkQuality
from verax.studies.crosslingual.grids import Grid
from verax.studies.crosslingual.rows import ROLES, MeasureName
from verax.studies.crosslingual.tables import OTHER_LINKS, TITLES, output_name

_SHAPES: tuple[Shape, ...] = ("circle", "square", "triangle", "diamond")
_UNITS: dict[MeasureName, str] = {
    "faithfulness": "Spearman correlation",
    "comprehensiveness": "decrease without the top words",
    "sufficiency": "decrease with only the top words",
    "plausibility": "average precision",
}


def figures(result: CrossLingual) -> list[Figure]:
    """Methods by languages, the effect of output and aggregation, the effect of the aligner, and accuracy."""
    overall = result.overall[0]
    languages = [(grid.language or "all languages", grid) for grid in (overall, *result.by_language)]
    measures = [(TITLES[grid.measure.name], grid) for grid in (overall, *result.others)]
    aligners = [(f"Aligner: {grid.measure.aligner}", grid) for grid in result.overall]
    found = [
        _dots(result, "languages", "Methods by languages", languages),
        _dots(result, "effects", "Effect of output and aggregation", measures, one_scale=False),
    ]
    if len(aligners) > 1:
        found.append(_dots(result, "aligners", "Effect of the aligner", aligners, caption=OTHER_LINKS))
    return [*found, *_accuracy(result), *([_quality(result.quality)] if result.quality is not None else [])]


def _dots(
    result: CrossLingual,
    name: str,
    title: str,
    grids: Sequence[tuple[str, Grid]],
    *,
    one_scale: bool = True,
    caption: str = "",
) -> Figure:
    """A panel for each grid, with the same rows in all."""
    present = {row.name for _, grid in grids for row in result.rows(grid)}
    ordered = sorted(result.methods, key=lambda method: ROLES.index(method.role))
    rows = tuple(dict.fromkeys(method.row for method in ordered if method.row in present))
    everything = [grid for _, grid in grids]
    panels = [
        Panel(heading, _scale(everything if one_scale else [grid]), Scale(), tuple(_marks(result, grid)), rows)
        for heading, grid in grids
    ]
    scales = "all panels have the same scale" if one_scale else "each panel has its own scale"
    lines = "lines: random and the best content-free scores"
    legend = ("hollow: not significantly different from random", f"bars: 95 % intervals; {lines}; {scales}")
    return Figure(name, title, _series(result), tuple(panels), caption, legend)


def _series(result: CrossLingual) -> tuple[Series, ...]:
    """The outputs, then baselines."""
    outputs = [
        Series(output_name(output), _SHAPES[place % len(_SHAPES)]) for place, output in enumerate(result.outputs)
    ]
    return (*outputs, Series("Baseline", "cross", baseline=True))


def _marks(result: CrossLingual, grid: Grid) -> Iterator[AnyMark]:
    """A dot for each method and output, one for each baseline; lines at the random and the best content-free scores."""
    form = None if grid.form is None else grid.cells[grid.form].value
    if form is not None:
        yield Rule("x", form.value, "content-free")
    ruled = False
    for row in result.rows(grid):
        single = row.role in {"random", "content_free"}  # they do not depend on the output
        for place, cell in enumerate(row.cells[:1] if single else row.cells):
            if cell is None or cell.value is None:
                continue
            if row.role == "random" and not ruled:
                yield Rule("x", cell.value.value, "random")
                ruled = True
            hollow = cell.difference is not None and not (cell.better or cell.worse)
            yield Dot(row.name, len(result.outputs) if single else place, cell.value, hollow=hollow)


def _scale(grids: Sequence[Grid]) -> Scale:
    """The axis of grids of one measure; 0, which unrelated scores give, is on the axis of correlations."""
    measure = grids[0].measure
    cells = [cell for grid in grids for cell in grid.cells.values()]
    ends = [end for cell in cells if cell.value is not None for end in cell.value if end is not None]
    if ends and measure.name == "faithfulness":
        ends.append(0.0)
    low, high = min(ends, default=None), max(ends, default=None)
    return Scale(_UNITS[measure.name], low=low, high=high, better="high" if measure.higher_is_better else "low")


def _quality(known: LinkQuality) -> Figure:
    """Faithfulness by the quality of links: languages, and quarters of the pairs."""
    groups = (("Languages", known.languages), ("Quarters of the pairs", known.quarters))
    panels = [
        Panel(
            title,
            Scale(known.measured),
            Scale("faithfulness"),
            tuple(Point(0, one.quality, one.faithfulness, one.name) for one in points),
        )
        for title, points in groups
        if points
    ]
    found = known.correlation
    over = "" if found.value is None else f" Pearson's r over {found.n} pairs of translations: {found.value:+.3f}."
    caption = f"Faithfulness averaged over methods, by the quality of links: {known.measured}.{over}"
    legend = ("bars: 95 % intervals over inputs",)
    return Figure(
        "link_quality", "Faithfulness by the quality of links", (Series("mean"),), tuple(panels), caption, legend
    )


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
