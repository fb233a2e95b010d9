"""What evaluation across languages says in words and short cells, for the page, the terminal and tables alike."""

from __future__ import annotations

from collections.abc import Sequence

from verax.report.unified_words import BEST, WEAK, ends
from verax.results.render.numbers import MISSING, count, number, plural
from verax.stats.crosslingual import CrossLingual
from verax.stats.crosslingual_grids import Cell, Grid
from verax.stats.crosslingual_relations import Correlation, Spread
from verax.stats.crosslingual_rows import MeasureName

TITLES: dict[MeasureName, str] = {
    "faithfulness": "Cross-lingual faithfulness",
    "comprehensiveness": "Comprehensiveness",
    "sufficiency": "Sufficiency",
    "plausibility": "Plausibility",
}
UNITS: dict[MeasureName, str] = {
    "faithfulness": "Spearman correlation",
    "comprehensiveness": "drop without the top words",
    "sufficiency": "drop with the top words alone",
    "plausibility": "mean average precision",
}
SIGNS_SAID = (
    f"{BEST} best of its column, or can't be told apart from it; {WEAK} can't be told apart from the random "
    "explanation (95 % intervals of the differences hold 0)."
)
DEVIATION_SAID = "Standard deviations are those of a sample (divided by n - 1)."


def output_name(output: str) -> str:
    """The head of a column."""
    return output.capitalize()


def title(grid: Grid) -> str:
    """What a table is called."""
    name = TITLES[grid.measure.name]
    return name if grid.language is None else f"{name}: {grid.language}"


def direction(grid: Grid) -> str:
    """Which way a measure is to be read."""
    return "higher is better" if grid.measure.higher_is_better else "lower is better"


def arrow(grid: Grid) -> str:
    """The same as a sign."""
    return "↑" if grid.measure.higher_is_better else "↓"


def signs(cell: Cell) -> str:
    """Whether it is among the best, whether it is no better than random."""
    return f"{BEST if cell.best else ''}{WEAK if cell.like_random else ''}"


def shown(cell: Cell | None) -> str:
    """Signs, value and interval: `◆ 0.642 [0.500, 0.767]`."""
    if cell is None or cell.value is None:
        return MISSING
    return " ".join(filter(None, (signs(cell), number(cell.value.value), ends(cell.value))))


def bare(cell: Cell | None) -> str:
    """The value alone."""
    return MISSING if cell is None or cell.value is None else number(cell.value.value)


def deviating(spread: Spread | None) -> str:
    """Mean and standard deviation: `0.642 ± 0.012`."""
    if spread is None:
        return MISSING
    return number(spread.mean) if spread.sd is None else f"{number(spread.mean)} ± {number(spread.sd)}"


def counts(cells: Sequence[Cell | None]) -> tuple[str, str]:
    """How many instances have a value and how many have none; both ends where outputs differ in it."""
    known = [cell for cell in cells if cell is not None]
    return _extent([cell.n for cell in known]), _extent([cell.skipped for cell in known])


def _extent(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return count(low) if low == high else f"{count(low)} to {count(high)}"


def measured(found: CrossLingual, grid: Grid) -> str:
    """What the numbers of a table are, in sentences."""
    name = grid.measure.name
    if name == "faithfulness":
        others = ", ".join(str(one.language) for one in found.by_language)
        each = f"each other language ({others}): mean over instances, then over languages, each counted alike"
        what = (
            f"Spearman correlation between the scores of the words in {found.reference} and those of the words aligned "
            f"to them in {each if grid.language is None else f'{grid.language}: mean over instances'}"
        )
    else:
        kinds: dict[MeasureName, str] = {
            "comprehensiveness": "How much the predicted class loses when the top words are taken out",
            "sufficiency": "How much the predicted class loses when nothing but the top words is left",
            "plausibility": "Average precision of the words, ranked by score, against those that people marked",
        }
        what = f"{kinds[name]}; instances in {found.reference}"
    aligned = f" Words aligned by: {grid.measure.aligner}." if grid.measure.aligner else ""
    return f"{what}; {direction(grid)}.{aligned}"


def intervals_said(found: CrossLingual) -> str:
    """What the intervals are over."""
    if found.over == "runs":
        return f"In brackets: 95 % intervals over {plural(found.runs, 'run')}, one a model (BCa bootstrap)."
    return "In brackets: 95 % intervals over inputs, each drawn with all its translations (BCa bootstrap)."


def correlation_said(found: CrossLingual) -> str:
    """How accuracy and faithfulness go together, in a sentence."""
    known = found.correlation
    if known.value is None or known.p is None:
        return f"No correlation of faithfulness and accuracy: {known.reason}."
    return f"Correlation of faithfulness and accuracy over {plural(known.n, 'language')}: {correlation(known)}."


def correlation(known: Correlation) -> str:
    """Coefficient and p-value, or why there is none."""
    if known.value is None or known.p is None:
        return str(known.reason)
    return f"{known.value:+.3f} (p {'< 0.001' if known.p < 0.001 else f'= {known.p:.3f}'})"


def verdict(found: CrossLingual) -> str:
    """The most faithful methods and how random alignments do, in a few sentences."""
    grid = found.overall[0]
    best = [f"{one.row}, {one.output}" if one.output else one.row for one in found.methods if _is_best(grid, one.label)]
    known = [cell for cell in grid.cells.values() if cell.value is not None]
    alike = sum(cell.like_random for cell in known)
    compared = sum(cell.difference is not None for cell in known)
    said = f"Best of their output, or not told apart from it: {'; '.join(best)}." if best else "No method has a value."
    if compared:
        said += f" Of {plural(compared, 'explanation')} {alike} can't be told apart from the random one."
    return said


def _is_best(grid: Grid, label: str) -> bool:
    cell = grid.cells.get(label)
    return cell is not None and cell.best
