"""Tables of the evaluation across languages, and what they say."""

from __future__ import annotations

from collections.abc import Sequence

from verax.results.render.numbers import count, listed, number, p_value, plural
from verax.results.table import Cell, Column, Mark, Table, Value, table_row
from verax.stats.correlation import Correlation, Spread
from verax.studies.crosslingual.analysis import TOP, CrossLingual
from verax.studies.crosslingual.conditions import PredictionSplit
from verax.studies.crosslingual.grids import Grid, GridCell
from verax.studies.crosslingual.rows import ROLES, Explainer, MeasureName
from verax.studies.marks import marks_of, too_few

TITLES: dict[MeasureName, str] = {
    "faithfulness": "Cross-lingual faithfulness",
    "comprehensiveness": "Comprehensiveness",
    "sufficiency": "Sufficiency",
    "plausibility": "Plausibility",
}
_MEASURED: dict[MeasureName, str] = {
    "comprehensiveness": "Decrease of the predicted class when the top words are removed",
    "sufficiency": "Decrease of the predicted class when only the top words are kept",
    "plausibility": "Average precision of words, ranked by score, against human highlights",
}
BEST = Mark(
    "best", "◆", "may be the best of its output: no method that explains the same output is significantly better"
)
ABOVE_FORM = Mark("above_form", "✓", "significantly better than the best content-free scores")
OTHER_LINKS = (
    "The same scores compared over other links between the words. Over random links the correlation should be near 0: "
    "what is left of it is not due to translation."
)
_FACTS = ("measure", "metric", "aligner", "language", "higher_is_better", "over", "runs")
"""Columns for programs that say what the values of a table are."""
_DEVIATION = "Standard deviations are those of a sample (divided by n - 1)."


def tables(result: CrossLingual) -> list[Table]:
    """Over all languages, by aligner, by language, languages and accuracy, other measures, their comparison."""
    found = _of_grid(result, result.overall[0])
    for grid in result.partial:
        found += _of_grid(result, grid)
    found += [_by_aligner(result)] if len(result.overall) > 1 else []
    for grid in result.by_language:
        found += _of_grid(result, grid)
    found += [_by_prediction(result, result.split)] if result.split is not None else []
    found.append(_languages(result))
    for grid in result.others:
        found += _of_grid(result, grid)
    found += [_map_by_language(result)] if result.map_by_language else []
    return [*found, *([_spreads(result)] if result.others else []), _correlations(result)]


def output_name(output: str) -> str:
    """The header of a column."""
    return output[:1].upper() + output[1:]


def method_name(method: Explainer) -> str:
    """A method with what it explains."""
    return f"{method.row}, {method.output}" if method.output else method.row


def direction(grid: Grid) -> str:
    """Which way a measure is read."""
    return "↑ higher is better" if grid.measure.higher_is_better else "↓ lower is better"


def _title(grid: Grid) -> str:
    name = TITLES[grid.measure.name]
    if grid.measure.controlling:
        name = f"{name} given {listed(grid.measure.controlling)}"
    return name if grid.language is None else f"{name}: {grid.language}"


def _name(grid: Grid) -> str:
    name = "_".join((grid.measure.name, *(("given", *grid.measure.controlling) if grid.measure.controlling else ())))
    return name if grid.language is None else f"{name}_{grid.language}"


def _of_grid(result: CrossLingual, grid: Grid) -> list[Table]:
    """Methods by outputs, and of several runs the same by architecture."""
    return [_by_output(result, grid), *([_by_architecture(result, grid)] if result.architectures else [])]


def _by_output(result: CrossLingual, grid: Grid) -> Table:
    columns = [
        Column("method", "Method", "text"),
        *(Column(f"value_{output}", output_name(output)) for output in result.outputs),
        Column("n", "n", "count"),
        Column("skipped", "Skipped", "count"),
    ]
    for output in result.outputs:
        columns += [Column(f"method_{output}"), Column(f"n_{output}"), Column(f"skipped_{output}")]
    columns += [Column(name) for name in _FACTS]
    rows = []
    for row in result.rows(grid):
        known = [cell for cell in row.cells if cell is not None]
        cells: list[Cell | Value] = [row.name, *map(_cell, row.cells)]
        cells += [_range([cell.n for cell in known]), _range([cell.skipped for cell in known])]
        for output, cell in zip(result.outputs, row.cells, strict=True):
            label = _label(result, row.name, output) if cell is not None else None
            cells += [label, *((None, None) if cell is None else (cell.n, cell.skipped))]
        rows.append(table_row(*cells, *_facts(result, grid), baseline=row.role != "method"))
    return Table(
        _name(grid),
        f"{_title(grid)} ({direction(grid)})",
        tuple(columns),
        tuple(rows),
        caption=measured(result, grid),
        notes=(intervals(result),),
        verdict=above_form(result, grid)
        if grid.measure.name == "faithfulness" and not grid.measure.controlling
        else "",
    )


def _cell(cell: GridCell | None) -> Cell:
    if cell is None:
        return Cell()
    marks = (
        *marks_of(best=cell.best, like_random=cell.like_random, worse=cell.worse, best_mark=BEST),
        *((ABOVE_FORM,) if cell.above_form else ()),
    )
    if cell.value is None:
        return Cell(reason=cell.reason or "", marks=marks)
    details = (f"n = {count(cell.n)}, {count(cell.skipped)} skipped",) if cell.skipped else ()
    return Cell(cell.value, marks=marks, difference=cell.difference, details=details)


def _range(numbers: Sequence[int]) -> Value:
    """A number, or the least and the largest where outputs differ."""
    low, high = min(numbers), max(numbers)
    return low if low == high else f"{count(low)} to {count(high)}"


def _label(result: CrossLingual, row: str, output: str) -> str:
    """The label of the method in a row and a column."""
    return next(one.label for one in result.methods if one.row == row and one.output in {None, output})


def _facts(result: CrossLingual, grid: Grid) -> tuple[Value, ...]:
    measure = grid.measure
    language = grid.language if measure.name == "faithfulness" else result.reference
    return (
        *(measure.name, measure.metric, measure.aligner, language, measure.higher_is_better),
        *(result.over, result.runs),
    )


def _by_architecture(result: CrossLingual, grid: Grid) -> Table:
    """Methods by outputs for each architecture: mean and standard deviation over its runs."""
    columns = [Column("method", "Method", "text")]
    for one in result.architectures:
        for output in result.outputs:
            columns += _spread_columns(f"{one.name}_{output}", f"{one.name} ({one.runs}) {output_name(output)}")
    rows = []
    for row in result.rows(grid):
        cells: list[Cell | Value] = [row.name]
        for place in range(len(result.architectures)):
            for cell in row.cells:
                cells += _spread_cells(None if cell is None else cell.by_architecture[place])
        rows.append(table_row(*cells, *_facts(result, grid), baseline=row.role != "method"))
    return Table(
        f"{_name(grid)}_by_architecture",
        f"{_title(grid)}, by architecture ({direction(grid)})",
        (*columns, *(Column(name) for name in _FACTS)),
        tuple(rows),
        caption="Mean ± standard deviation over the runs of each architecture (their number in brackets).",
        notes=(_DEVIATION,),
    )


def _spread_columns(name: str, title: str = "") -> list[Column]:
    """Columns for a spread: one for people, if it has a title, and three for programs."""
    shown = [Column(f"shown_{name}", title)] if title else []
    return [*shown, *(Column(f"{field}_{name}") for field in ("mean", "sd", "runs"))]


def _spread_cells(spread: Spread | None) -> list[Cell | Value]:
    """A spread for people, `0.642 ± 0.012`, and for programs."""
    if spread is None:
        return [None] * 4
    deviation = "" if spread.sd is None else f" ± {number(spread.sd)}"
    return [f"{number(spread.mean)}{deviation}", *spread]


def _by_aligner(result: CrossLingual) -> Table:
    """The same methods with each aligner; columns for programs hold what tables of the first aligner show."""
    shown, hidden = [Column("method", "Method", "text")], []
    for grid in result.overall:
        for output in result.outputs:
            name = f"{grid.measure.metric}_{output}"
            shown.append(Column(name, f"{grid.measure.aligner}: {output_name(output)}"))
            hidden += [Column(f"n_{name}"), Column(f"skipped_{name}")]
            for one in result.architectures:
                hidden += _spread_columns(f"{one.name}_{name}")
    by_row = [{row.name: row for row in result.rows(grid)} for grid in result.overall]
    rows = []
    for name in dict.fromkeys(name for of_aligner in by_row for name in of_aligner):
        present = [of_aligner.get(name) for of_aligner in by_row]
        cells = [cell for row in present for cell in (row.cells if row else [None] * len(result.outputs))]
        further: list[Cell | Value] = []
        for cell in cells:
            further += (None, None) if cell is None else (cell.n, cell.skipped)
            for place in range(len(result.architectures)):
                further += _spread_cells(None if cell is None else cell.by_architecture[place])[1:]
        rows.append(
            table_row(name, *map(_cell, cells), *further, baseline=any(row and row.role != "method" for row in present))
        )
    return Table(
        "faithfulness_by_aligner",
        f"Cross-lingual faithfulness by aligner ({direction(result.overall[0])})",
        (*shown, *hidden),
        tuple(rows),
        caption=OTHER_LINKS,
        notes=(intervals(result),),
    )


def _by_prediction(result: CrossLingual, split: PredictionSplit) -> Table:
    """The same methods where both languages have the same prediction, and where they have not."""
    columns = [Column("method", "Method", "text")]
    for output in result.outputs:
        for name in ("same", "different"):
            columns += [Column(f"{name}_{output}", f"{output_name(output)}: {name}"), Column(f"n_{name}_{output}")]
    rows = []
    by_row = [{row.name: row for row in result.rows(grid)} for grid in (split.same, split.different)]
    none: tuple[GridCell | None, ...] = (None,) * len(result.outputs)
    for name, row in {**by_row[1], **by_row[0]}.items():
        cells: list[Cell | Value] = [name]
        for both in zip(*(found[name].cells if name in found else none for found in by_row), strict=True):
            for cell in both:
                cells += [_cell(cell), None if cell is None else cell.n]
        rows.append(table_row(*cells, baseline=row.role != "method"))
    alike, unlike = (plural(pairs, "pair") for pairs in split.pairs)
    return Table(
        "faithfulness_by_prediction",
        f"Cross-lingual faithfulness by predictions ({direction(split.same)})",
        tuple(columns),
        tuple(rows),
        caption=f"Same: the model predicts the same class in both languages ({alike} of translations); different: it "
        f"does not ({unlike}). A mean over inputs, all languages pooled. Where predictions differ, explanations need "
        "not agree to be faithful.",
        notes=(intervals(result),),
    )


def _languages(result: CrossLingual) -> Table:
    """Faithfulness averaged over methods, and accuracy, of each language."""
    columns = [
        Column("language", "Language", "text"),
        Column("faithfulness", "Faithfulness"),
        Column("accuracy", "Accuracy"),
        Column("n", "n", "count"),
        Column("reference"),
    ]
    for one in result.architectures:
        columns += _spread_columns(f"accuracy_{one.name}", f"Accuracy, {one.name} ({one.runs})")
        columns += _spread_columns(f"faithfulness_{one.name}", f"Faithfulness, {one.name} ({one.runs})")
    rows = []
    for language in result.languages:
        reference = language.lang == result.reference
        faithfulness = Cell(reason="reference") if reference else Cell(language.faithfulness)
        cells: list[Cell | Value] = [language.lang, faithfulness, Cell(language.accuracy), language.n, reference]
        faithfulness_of = language.faithfulness_by_architecture or (None,) * len(language.by_architecture)
        for accurate, faithful in zip(language.by_architecture, faithfulness_of, strict=True):
            cells += [*_spread_cells(accurate), *_spread_cells(faithful)]
        rows.append(table_row(*cells))
    return Table(
        "languages",
        "Faithfulness and accuracy by language",
        tuple(columns),
        tuple(rows),
        caption="Faithfulness averaged over all methods, outputs and aggregations that have a value in every language, "
        "without baselines and controls.",
        notes=(intervals(result), *((_DEVIATION,) if result.architectures else ())),
        verdict=f"{_correlation_sentence(result.correlation)}{_common(result)}",
    )


def _common(result: CrossLingual) -> str:
    """The languages that all models know well; nothing where there are too few to choose from."""
    if len(result.languages) <= TOP:
        return ""
    whose = "every architecture" if result.architectures else "the model"
    named = listed(result.common) if result.common else "none"
    return f" Among the {TOP} most accurate languages of {whose}, besides {result.reference}: {named}."


def _map_by_language(result: CrossLingual) -> Table:
    """Plausibility of each method in each language."""
    grids = result.map_by_language
    shown = [method for method in result.methods if any(method.label in grid.cells for grid in grids)]
    rows = [
        table_row(method_name(one), *(_cell(grid.cells.get(one.label)) for grid in grids), baseline=not one.is_method)
        for one in sorted(shown, key=lambda one: ROLES.index(one.role))
    ]
    return Table(
        "plausibility_by_language",
        f"Plausibility by language ({direction(grids[0])})",
        (Column("method", "Method", "text"), *(Column(str(grid.language), str(grid.language)) for grid in grids)),
        tuple(rows),
        caption="Mean average precision of words, ranked by score, against the highlights of each language.",
        notes=(intervals(result),),
    )


def _correlation_sentence(known: Correlation) -> str:
    if known.value is None or known.p is None:
        return f"No correlation of faithfulness and accuracy: {known.reason}."
    p = p_value(known.p)
    return (
        f"Correlation of faithfulness and accuracy over {plural(known.n, 'language')}: {known.value:+.3f} "
        f"(p {p if p.startswith('<') else f'= {p}'})."
    )


def _spreads(result: CrossLingual) -> Table:
    """How much each measure varies over the methods."""
    grids = {grid.measure.name: grid for grid in (result.overall[0], *result.others)}
    rows = [
        table_row(f"{TITLES[name]} {direction(grids[name])[0]}", one.mean, one.sd, one.n, name)
        for name, one in result.spreads.items()
    ]
    return Table(
        "spread",
        "Spread over methods",
        (
            Column("title", "Measure", "text"),
            Column("mean", "Mean"),
            Column("sd", "Standard deviation"),
            Column("n", "Methods", "count"),
            Column("measure"),
        ),
        tuple(rows),
        caption="Mean and standard deviation of each measure over the methods, without baselines and controls. A "
        "measure that varies little compared with its intervals distinguishes methods badly; scales differ.",
        notes=(_DEVIATION,),
    )


def _correlations(result: CrossLingual) -> Table:
    """Faithfulness and accuracy over languages, and the rankings of methods by two measures."""
    compared = [("Faithfulness, accuracy", "Pearson's r over languages", result.correlation)]
    compared += [
        (f"{TITLES[one.first]}, {TITLES[one.second].lower()}", "Kendall's tau over methods", one.tau)
        for one in result.agreements
    ]
    rows = [
        table_row(names, coefficient, Cell(known.value, reason=known.reason or ""), known.p, known.n)
        for names, coefficient, known in compared
    ]
    return Table(
        "correlations",
        "Correlations between measures",
        (
            Column("measures", "Measures", "text"),
            Column("coefficient", "Coefficient", "text"),
            Column("value", "Value"),
            Column("p", "p", "p_value"),
            Column("n", "n", "count"),
        ),
        tuple(rows),
        caption="Kendall's tau compares two rankings of the methods, the better first in both: 1 for the same ranking, "
        "0 for unrelated ones, -1 for reversed ones. n: number of languages or methods.",
    )


def measured(result: CrossLingual, grid: Grid) -> str:
    """What the numbers of a grid are."""
    name = grid.measure.name
    if name == "faithfulness":
        others = ", ".join(str(one.language) for one in result.by_language)
        overall = f"each other language ({others}): mean over instances, then unweighted mean over languages"
        where = overall if grid.language is None else f"{grid.language}: mean over instances"
        what = (
            f"Spearman correlation between the scores of words in {result.reference} and those of the words aligned "
            f"with them in {where}"
        )
    else:
        what = f"{_MEASURED[name]}; instances in {result.reference}"
    aligned = f" Aligner: {grid.measure.aligner}." if grid.measure.aligner else ""
    if grid.measure.controlling:
        aligned += f" Partial correlation: {listed(grid.measure.controlling)} of the words held constant."
    return f"{what}.{aligned}"


def above_form(result: CrossLingual, grid: Grid) -> str:
    """Which methods are faithful across languages: those that beat the best scores by the form of words alone."""
    if grid.test.too_few is not None:
        return ""  # nothing could have been significant
    if grid.form is None:
        return "Not compared with content-free scores: no method can be called faithful across languages."
    value, row = grid.cells[grid.form].value, next(one.row for one in result.methods if one.label == grid.form)
    best = f"the best content-free scores, {row}" + ("" if value is None else f" ({number(value.value)})")
    named = [(one, grid.cells.get(one.label)) for one in result.methods if one.is_method]
    above = [method_name(one) for one, cell in named if cell is not None and cell.above_form]
    where = "across languages" if grid.language is None else f"in {grid.language}"
    if not above:
        return f"No method is faithful {where}: none is significantly better than {best}."
    return f"Faithful {where}, since significantly better than {best}: {'; '.join(above)}."


def intervals(result: CrossLingual) -> str:
    """What the intervals are over."""
    over = "inputs, each drawn with all its translations"
    if result.over == "runs":
        over = f"{plural(result.runs, 'run')} of different models"
    return f"In brackets: 95 % intervals over {over} (BCa bootstrap). Δ: difference from random."


def findings(result: CrossLingual) -> list[str]:
    """The most faithful methods, how many are like random, and what is left out."""
    overall = result.overall[0]
    cells, test = overall.cells, overall.test
    best = [method_name(one) for one in result.methods if (cell := cells.get(one.label)) is not None and cell.best]
    sentences = list(filter(None, [above_form(result, overall)]))
    if best:
        sentence = f"May be best of their output: {'; '.join(best)}."
    else:
        few = too_few(test.too_few)
        beaten = any(cell.better for cell in cells.values())
        nothing = "a baseline beats each of them" if beaten else "none is significantly better than random"
        sentence = few or f"No method may be best: {nothing}."
    methods = [cells[one.label] for one in result.methods if one.is_method and one.label in cells]
    compared = [cell for cell in methods if cell.difference is not None]
    if compared and test.too_few is None:
        alike = sum(cell.like_random for cell in compared)
        sentence += f" {alike} of {plural(len(compared), 'explanation')} not significantly different from random."
    sentences.append(sentence)
    controlled = [cell.above_randomised for cell in methods if cell.above_randomised is not None]
    if controlled:
        sentences.append(
            f"{controlled.count(False)} of {plural(len(controlled), 'explanation')} not significantly better than the "
            "same method applied to randomised weights."
        )
    return [*sentences, *([f"Not in every run, left out: {listed(result.left_out)}."] if result.left_out else [])]


def reading(result: CrossLingual) -> list[str]:
    """How to read the tables, and what they do not show."""
    return [
        f"The model reads the same input in {result.reference} and in another language. If an explanation is faithful "
        "to the model, words that translate each other should get similar scores.",
        "The scores of all words that are aligned with a word are summed; a word without a link gets 0. Both lists of "
        "scores are ranked and correlated, all parts of an input together. 1: the same order; 0: unrelated.",
        "A low value has several causes: an unfaithful method, a model that treats the languages differently, or wrong "
        "alignments. Compare methods within a language, and look at the accuracy of the model in it.",
        "A high value is agreement between languages, not proof: scores by the form of words alone (number of "
        "sub-words or characters, position, part, not being punctuation) agree too. They are the rows content_free, "
        "and only a method that beats the best of them (✓) is called faithful across languages.",
        *result.notes,
    ]
