"""Tables of the leaderboard: an overview of methods by metrics, and one ranking for each metric."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from verax.results.render.numbers import listed, number, plural
from verax.results.table import Cell, Column, Row, Table, table_row
from verax.studies.leaderboard.analysis import Board, Contrast, Leaderboard, RunBoards, Standing
from verax.studies.marks import BEST, LIKE_RANDOM

_RANKING = (
    Column("method", "Method", "text"),
    Column("group", "Group", "text"),
    Column("mean", "Mean", plot=True),
    Column("p_holm", "p against random", "p_value"),
    Column("n", "n", "count"),
    Column("skipped", "Skipped", "count"),
    Column("metric"),
    Column("random"),
    Column("p"),
    Column("higher_is_better"),
)


def tables(result: Leaderboard) -> list[Table]:
    """Overview and rankings of one run; of several, each metric with a column for each run."""
    if len(result.runs) > 1:
        return [_side_by_side(result, metric) for metric in result.metrics]
    (only,) = result.runs
    return [_overview(result, only), *(ranking(only, board) for board in only.boards.values())]


def direction(board: Board) -> str:
    """Which way a metric is read."""
    if board.metric.higher_is_better is None:
        return "direction not recorded, read as higher is better"
    return "↑ higher is better" if board.metric.ascending else "↓ lower is better"


def _overview(result: Leaderboard, made: RunBoards) -> Table:
    columns = (
        Column("method", "Method", "text"),
        *(
            Column(metric, f"{metric} {'↑' if board.metric.ascending else '↓'}")
            for metric, board in made.boards.items()
        ),
    )
    places = {metric: {one.method: one for one in board.standings} for metric, board in made.boards.items()}
    baselines = {one.baseline for board in made.boards.values() for one in board.standings}
    rows = []
    for method in result.methods:
        cells = [_cell(board, places[metric].get(method.name)) for metric, board in made.boards.items()]
        name = Cell(method.name, shown=made.run.manifest.display(method.name))
        rows.append(Row((name, *cells), baseline=method.name in baselines))
    return Table(
        "overview",
        "Mean of each metric over the instances, by method",
        columns,
        tuple(rows),
        caption="In brackets: 95 % interval of the mean.",
    )


def _cell(board: Board, standing: Standing | None) -> Cell:
    if standing is None:
        return Cell(reason="no scores")
    best = any(one.method == standing.method for one in board.best)
    marks = (*((BEST,) if best else ()), *((LIKE_RANDOM,) if standing.like_random else ()))
    return Cell(standing.compared.mean, marks=marks)


def ranking(made: RunBoards, board: Board) -> Table:
    """The methods under one metric, best first."""
    order = {one.method: place for place, one in enumerate(board.standings)}
    rows = []
    for standing in board.standings:
        compared = standing.compared
        mean = _cell(board, standing)
        missing = Cell(standing.skipped, details=tuple(f"{why}: {n}" for why, n in standing.reasons.items()))
        rows.append(
            table_row(
                Cell(standing.method, shown=made.run.manifest.display(standing.method)),
                compared.group,
                mean,
                compared.p_holm,
                compared.n,
                missing,
                board.metric.label,
                compared.baseline_mean,
                compared.p,
                board.metric.ascending,
                baseline=standing.is_baseline,
                compared_with=order.get(standing.baseline),
            )
        )
    absent = [method for method in made.run.methods if method not in order and method not in made.run.text_methods]
    facts = [f"{name} = {_value(value)}" for name, value in board.metric.parameters.items()]
    facts += [board.metric.reference] if board.metric.reference else []
    caption = " · ".join([*([f"Without any score: {', '.join(absent)}"] if absent else []), *facts])
    return Table(
        board.metric.label, f"{board.metric.label} ({direction(board)})", _RANKING, tuple(rows), caption,
        verdict=verdict(board, made.run.manifest.display),
    )  # fmt: skip


def _value(value: object) -> str:
    """A parameter in words; one with parameters of its own as name(parameter=value), without those that are None."""
    if not isinstance(value, dict):
        return str(value)
    first = next(iter(value.items()), ("", None))
    if len(value) == 1 and isinstance(first[1], dict):
        return f"{first[0]}{_value(first[1])}"
    inner = [f"{key}={_value(one)}" for key, one in value.items() if one is not None]
    return f"({', '.join(inner)})" if inner else ""


def verdict(board: Board, display: Callable[[str], str] = str) -> str:
    """What a ranking says, in one or two sentences."""
    best = board.best
    if not best:
        return "No method has a value under this metric."
    names = [display(one.method) for one in best]
    mean = best[0].compared.mean
    words = f"{names[0]} has the best value, {number(mean.value if mean else None)}"
    if len(best) > 1:
        verb = "is" if len(best) == 2 else "are"
        words += f"; {listed(names[1:])} {verb} not significantly different."
    else:
        words += ", significantly different from all others." if len(board.standings) > 1 else "."
    weak = [display(one.method) for one in board.standings if one.like_random]
    return f"{words} Not significantly different from random: {listed(weak)}." if weak else words


def _side_by_side(result: Leaderboard, metric: str) -> Table:
    runs = [run for run in result.runs if metric in run.boards]
    columns = (Column("method", "Method", "text"), *(Column(f"run_{i}", run.name) for i, run in enumerate(result.runs)))
    rows = []
    for method in result.methods:
        cells = []
        for run, label in zip(result.runs, method.labels, strict=True):
            board = run.boards.get(metric)
            standing = None if board is None else next((s for s in board.standings if s.method == label), None)
            cells.append(Cell(reason="not in this run") if board is None or label is None else _cell(board, standing))
        rows.append(Row((Cell(method.name), *cells), baseline=method.entry.random))
    board = runs[0].boards[metric]
    return Table(
        metric,
        f"{metric} ({direction(board)})",
        columns,
        tuple(rows),
        caption="A column for each run: "
        + "; ".join(f"{run.name}: {run.run.folder}" for run in result.runs)
        + ". In brackets: 95 % interval of the mean over the instances of the run.",
    )


def comparison(contrasts: Sequence[Contrast], names: tuple[str, str]) -> Table:
    """Two runs compared instance by instance."""
    columns = (
        Column("method", "Method", "text"),
        Column("mean_a", "A"),
        Column("mean_b", "B"),
        Column("difference", "B - A"),
        Column("p_holm", "p (Holm)", "p_value"),
        Column("n", "n", "count"),
        Column("change", "B is", "text"),
        Column("metric"),
        Column("p"),
        Column("higher_is_better"),
    )
    rows = []
    for one in contrasts:
        first, second, n, p, p_holm = one.means
        gap = None if first is None or second is None else second - first
        arrow = "↑" if one.metric.ascending else "↓"
        section = f"{one.metric.label} {arrow}"
        cells = (one.method.name, first, second, gap, p_holm, n, one.change, one.metric.label, p, one.metric.ascending)
        rows.append(table_row(*cells, section=section))
    return Table(
        "comparison",
        "Two runs compared",
        columns,
        tuple(rows),
        caption=f"A: {names[0]}; B: {names[1]}. p: paired test over the instances of both runs, "
        "Holm-corrected over all rows.",
    )


def findings(result: Leaderboard) -> list[str]:
    """What to know before reading the tables."""
    if len(result.runs) > 1:
        absent = [method.name for method in result.methods if None in method.labels]
        return [f"Not in every run: {listed(absent)}."] if absent else []
    return []


def reading(result: Leaderboard) -> list[str]:
    """What is compared with what."""
    run = result.runs[0].run
    everything = plural(len(run.instances), "instance")
    shared = set(run.parallel.values())
    translated = 0 < len(shared) < len(run.instances)
    together = "; translations of one input count once, by their mean, and n counts inputs" if translated else ""
    return [
        f"Each value is the mean over those of the {everything} that have one{together}; n is their number, and every "
        "instance without a value is counted as skipped.",
        "The interval covers the mean with 95 % confidence (BCa bootstrap over instances). In the drawing, the dot is "
        "the mean and the bar its interval; the grey line is the random explanation, the grey ribbon its interval.",
        "p: paired test of each method against the random explanation of the same kind, on the same instances, "
        "corrected over the methods of the metric by Holm's rule.",
        "Methods that share a letter are not significantly different under that metric.",
    ]
