"""Tables of the leaderboard: a verdict on each method, methods by metrics, and one ranking for each metric."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from verax.results.matching import MatchedMethod, match_methods
from verax.results.render.numbers import listed, number, p_phrase, plural
from verax.results.run import Run
from verax.results.table import Cell, Column, Table, TableRow, table_row
from verax.stats.correlation import spread
from verax.stats.joint import TooFew
from verax.studies.leaderboard.analysis import Board, Contrast, Leaderboard, RunBoards, Standing
from verax.studies.marks import marks_of, test_notes, too_few
from verax.types import Estimate

_VERDICT = (
    Column("method", "Method", "text"),
    Column("verdict", "Verdict", "text"),
    Column("better", "Better on", "text"),
    Column("not_better", "Not better on", "text"),
    Column("beaten_by", "Beaten by", "text"),
    Column("caution", "Careful:", "text"),
)

_DIFFERENT_INPUTS = (
    "Values are missing: two methods are tested on the inputs that both have, and means are over those of each method."
)

_AS_IF_FIXED = ", as if their number had been fixed"


def tables(result: Leaderboard) -> list[Table]:
    """Overview and rankings of one run; of several, each metric with a column for each run."""
    if len(result.runs) > 1:
        return [_side_by_side(result, metric) for metric in result.metrics]
    (only,) = result.runs
    return [_overview(result, only), *(ranking(only, board) for board in only.boards.values())]


def verdict_table(result: Leaderboard) -> Table | None:
    """One line for each method: better than random or not, where, how certain, what beats it, what to be careful of."""
    several = len(result.runs) > 1
    rows = []
    for made in result.runs:
        display = made.run.manifest.display
        for method in [one for one in made.run.methods if one not in made.run.text_methods]:
            standings = {
                board.metric.label: (board, standing)
                for board in made.boards.values()
                for standing in board.standings
                if standing.method == method
            }
            if made.run.manifest.method(method).baseline or any(one.random for _, one in standings.values()):
                continue
            name = Cell(method, shown=display(method))
            warnings = [*_not_above_form(standings, display), *_warnings(made.run, method)]
            judged = _judged(standings, display, warnings)
            rows.append(table_row(name, *judged, section=made.name if several else ""))
    if not rows:
        return None
    notes = test_notes(made.run for made in result.runs)
    return Table("verdict", "Verdict", _VERDICT, tuple(rows), verdict=_too_few(result), notes=notes)


def _too_few(result: Leaderboard) -> str:
    """Where there are too few inputs to mark anything: everywhere, or under some metrics, which are named."""
    boards = [
        (f"{metric}, {made.name}" if len(result.runs) > 1 else metric, board.too_few)
        for made in result.runs
        for metric, board in made.boards.items()
    ]
    metrics: dict[TooFew, list[str]] = {}
    for metric, few in boards:
        if few is not None:
            metrics.setdefault(few, []).append(metric)
    if len(metrics) == 1 and all(few is not None for _, few in boards):
        return too_few(next(iter(metrics)))
    return " ".join(f"{'; '.join(names)}: {too_few(few)}" for few, names in metrics.items())


def _not_above_form(standings: dict[str, tuple[Board, Standing]], display: Callable[[str], str]) -> list[str]:
    """The metrics under which scores by the form of words are not beaten."""
    return [
        f"not faithful across languages: not significantly better than {display(one.unbeaten)} ({metric})"
        for metric, (board, one) in standings.items()
        if one.unbeaten is not None and board.too_few is None
    ]


def _warnings(run: Run, method: str) -> list[str]:
    """Warnings of the run that concern a method, without its name."""
    names = {method, run.manifest.method(method).name}
    split = [warning.partition(": ") for warning in run.manifest.warnings]
    return [words for name, _, words in split if name in names and words]


def _judged(
    standings: dict[str, tuple[Board, Standing]], display: Callable[[str], str], warnings: Sequence[str]
) -> tuple[str, str, str, str, str]:
    """The verdict on a method, and what it follows from."""
    decided = {metric: one for metric, (_, one) in standings.items() if one.better or one.worse or one.like_random}
    better = [f"{metric} ({p_phrase(one.p)})" for metric, one in decided.items() if one.better]
    rest = [
        f"{metric} ({'worse, ' if one.worse else ''}{p_phrase(one.p)})"
        for metric, one in decided.items()
        if not one.better
    ]
    beaten = [
        f"{listed([display(other) for other in one.beaten_by], 3)} ({metric})"
        for metric, (_, one) in standings.items()
        if one.beaten_by
    ]
    cautions = [*_cautions(standings, any_decided=bool(decided)), *warnings]
    compared = sum(bool(one.n) and one.baseline_mean is not None for _, one in standings.values())
    phrase = _phrase(decided, compared) if decided else _undecided(standings)
    return phrase, ", ".join(better), ", ".join(rest), ", ".join(beaten), ", ".join(cautions)


def _phrase(decided: dict[str, Standing], compared: int) -> str:
    """The verdict in a few words; `compared` counts the metrics with a random explanation, decided or not."""
    better, worse = (sum(getattr(one, name) for one in decided.values()) for name in ("better", "worse"))
    if compared in {better, worse}:
        return "better than random" if better else "worse than random"
    undecided = f", undecided on {compared - len(decided)}" if len(decided) < compared else ""
    if better:
        return f"better than random on {better} of {compared}" + (f", worse on {worse}" if worse else "") + undecided
    if worse:
        return f"worse than random on {worse} of {compared}{undecided}"
    return "not better than random" + (f" on {len(decided)} of {compared}{undecided}" if undecided else "")


def _undecided(standings: dict[str, tuple[Board, Standing]]) -> str:
    """Why a method is neither better than random nor worse nor like it."""
    known = [one for _, one in standings.values() if one.n]
    if any(one.baseline_mean is not None for one in known):
        return "too few inputs to tell"
    if known:
        return "no random explanation to compare with"
    return "not applicable" if all(_not_applicable(one) for _, one in standings.values()) else "no value"


def _not_applicable(standing: Standing) -> bool:
    """Whether a metric is not defined for any of a method's explanations, which is no reason to be careful."""
    return bool(standing.reasons) and standing.not_applicable == sum(standing.reasons.values())


def _cautions(standings: dict[str, tuple[Board, Standing]], *, any_decided: bool) -> list[str]:
    """What limits the conclusions: missing values, errors, too few inputs under some metrics."""
    found = []
    failed = max((standing.failed for _, standing in standings.values()), default=0)
    if failed:
        found.append(f"failed on {plural(failed, 'instance')}")
    lacking = {metric: one for metric, (_, one) in standings.items() if not one.n and not _not_applicable(one)}
    if lacking:
        reasons = dict.fromkeys(reason for standing in lacking.values() for reason in standing.reasons)
        found.append(f"no value under {listed(list(lacking))}" + (f" ({', '.join(reasons)})" if reasons else ""))
    few = []
    for metric, (board, standing) in standings.items():
        decided = standing.better or standing.worse or standing.like_random
        if standing.n and 2 * standing.n < board.inputs:
            found.append(f"{metric} has only {standing.n} of {board.inputs} inputs")
        elif standing.n and any_decided and not decided and standing.baseline_mean is not None:
            few.append(metric)
    if few:
        found.append(f"{listed(few)} {'has' if len(few) == 1 else 'have'} too few inputs to tell")
    return found


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
        cells = [_cell(places[metric].get(method.name), _absent(made.run)) for metric in made.boards]
        name = Cell(method.name, shown=made.run.manifest.display(method.name))
        rows.append(TableRow((name, *cells), baseline=method.name in baselines or method.entry.baseline))
    return Table(
        "overview",
        "Mean of each metric over the instances, by method",
        columns,
        tuple(rows),
        caption=_brackets(rows, sequential=made.run.manifest.sequential),
    )


def _brackets(rows: Sequence[TableRow], *, sequential: bool) -> str:
    """What stands in brackets, if anything does."""
    values = [cell.value for row in rows for cell in row.cells if isinstance(cell.value, Estimate)]
    if any(value.interval is not None for value in values):
        return f"In brackets: 95 % interval of the mean over instances{_AS_IF_FIXED if sequential else ''}."
    return "There are no intervals: too few instances, or all values are equal." if values else ""


def _absent(run: Run) -> str:
    """Why a method has no row under a metric."""
    return "not computed" if run.tables.missing else "not applicable"


def _cell(standing: Standing | None, absent: str = "not applicable") -> Cell:
    if standing is None:
        return Cell(reason=absent)
    marks = marks_of(best=standing.best, like_random=standing.like_random, worse=standing.worse)
    return Cell(standing.mean, reason=_missing(standing) if standing.mean is None else "", marks=marks)


def _missing(standing: Standing) -> str:
    """Why a method has no value at all."""
    if standing.failed:
        return "failed"
    return "skipped" if standing.skipped else "not applicable"


def ranking(made: RunBoards, board: Board) -> Table:
    """The methods under one metric, best first."""
    order = {one.method: place for place, one in enumerate(board.standings)}
    rows = []
    for standing in board.standings:
        reasons = tuple(f"{why}: {n}" for why, n in standing.reasons.items())
        rows.append(
            table_row(
                Cell(standing.method, shown=made.run.manifest.display(standing.method)),
                standing.group,
                _cell(standing),
                standing.p,
                standing.n,
                Cell(standing.skipped, details=reasons),
                standing.failed,
                standing.not_applicable,
                board.metric.label,
                standing.baseline_mean,
                board.metric.ascending,
                baseline=standing.is_baseline,
                compared_with=order.get(standing.baseline),
                hollow=standing.baseline in order and not (standing.is_baseline or standing.better or standing.worse),
            )
        )
    absent = [method for method in made.run.methods if method not in order and method not in made.run.text_methods]
    facts = [f"{name} = {_value(value)}" for name, value in board.metric.parameters.items()]
    facts += [board.metric.reference] if board.metric.reference else []
    missing = f"Without any score ({_absent(made.run)}): {', '.join(map(made.run.manifest.display, absent))}"
    stopped = "p and marks: sequential test of a run until decided"
    sequential = made.run.manifest.sequential
    caption = " · ".join([*([stopped] if sequential else []), *([missing] if absent else []), *facts])
    return Table(
        board.metric.label,
        f"{board.metric.label} ({direction(board)})",
        _ranking_columns(board, sequential=sequential),
        tuple(rows),
        caption,
        verdict=ranking_verdict(board, made.run.manifest.display),
    )


def _ranking_columns(board: Board, *, sequential: bool) -> tuple[Column, ...]:
    """The columns; counts that are all 0 are for programs only."""
    failed = any(standing.failed for standing in board.standings)
    inapplicable = any(standing.not_applicable for standing in board.standings)
    return (
        Column("method", "Method", "text"),
        Column("group", "Group" if board.any_difference else "", "text"),
        Column("mean", "Mean", plot=True, marked=True),
        Column("p", f"{'sequential ' if sequential else ''}p against random", "p_value"),
        Column("n", "n", "count"),
        Column("skipped", "Skipped", "count"),
        Column("failed", "Failed" if failed else "", "count"),
        Column("not_applicable", "Not applicable" if inapplicable else "", "count"),
        Column("metric"),
        Column("random"),
        Column("higher_is_better"),
    )


def _value(value: object) -> str:
    """A parameter in words; one with parameters of its own as name(parameter=value), without those that are None."""
    if not isinstance(value, dict):
        return str(value)
    first = next(iter(value.items()), ("", None))
    if len(value) == 1 and isinstance(first[1], dict):
        return f"{first[0]}{_value(first[1])}"
    inner = [f"{key}={_value(one)}" for key, one in value.items() if one is not None]
    return f"({', '.join(inner)})" if inner else ""


def ranking_verdict(board: Board, display: Callable[[str], str] = str) -> str:
    """What a ranking says, in a few sentences."""
    known = [standing for standing in board.standings if standing.mean is not None]
    if not known:
        return "No method has a value under this metric."
    if board.too_few is not None:
        return too_few(board.too_few)
    weak = [display(standing.method) for standing in known if standing.like_random]
    worse = [display(standing.method) for standing in known if standing.worse]
    words = [_best_sentence(board, known, display)]
    words += [f"Not significantly different from random: {listed(weak)}."] if weak else []
    words += [f"Significantly worse than random: {listed(worse)}."] if worse else []
    words += [_DIFFERENT_INPUTS] if len({standing.n for standing in known}) > 1 else []
    return " ".join(words)


def _best_sentence(board: Board, known: Sequence[Standing], display: Callable[[str], str]) -> str:
    if len(known) == 1:
        mean = known[0].mean
        return f"{display(known[0].method)} has {number(mean.value if mean else None)}; there is nothing to compare."
    if not board.any_difference:
        return f"No two of {len(known)} methods are significantly different."
    compared = [standing for standing in known if standing.p is not None and not standing.random]
    beaten_none = [display(standing.method) for standing in board.best]
    if compared and not any(standing.better for standing in compared):
        nor = f", and none beats {listed(beaten_none)}" if beaten_none else ""
        return f"No method is significantly better than random{nor}."
    if not beaten_none:
        return "No method can be called best: only random explanations, or methods with few values, are unbeaten."
    alike = [display(standing.method) for standing in board.best if standing.like_random]
    best = [name for name in beaten_none if name not in alike]
    words = f"{listed(best)} may be best: no method is significantly better." if best else ""
    either = f"No method beats {listed(alike)}{' either' if best else ''}, which may be no better than random."
    return " ".join(filter(None, (words, either if alike else "")))


def _side_by_side(result: Leaderboard, metric: str) -> Table:
    runs = [run for run in result.runs if metric in run.boards]
    columns = [Column("method", "Method", "text"), *(Column(f"run_{i}", run.name) for i, run in enumerate(result.runs))]
    # values of different inputs have no mean of their own
    averaged = len({run.run.manifest.data.hash or run.run.folder for run in result.runs}) == 1
    columns += [Column("over_runs", "Mean ± deviation over runs"), Column("mean"), Column("sd")] if averaged else []
    rows = []
    for method in result.methods:
        cells: list[Cell] = []
        means: list[float] = []
        for run, label in zip(result.runs, method.labels, strict=True):
            board = run.boards.get(metric)
            standing = None if board is None else next((s for s in board.standings if s.method == label), None)
            means += [standing.mean.value] if standing is not None and standing.mean is not None else []
            cells.append(
                Cell(reason="not in this run") if board is None or label is None else _cell(standing, _absent(run.run))
            )
        if averaged:
            over = spread(means) if len(means) == len(result.runs) else None
            shown = None if over is None or over.sd is None else f"{number(over.mean)} ± {number(over.sd)}"
            cells += [Cell(shown), Cell(None if over is None else over.mean), Cell(None if over is None else over.sd)]
        name = Cell(method.name, shown=_display(method, [run.run for run in result.runs]))
        rows.append(TableRow((name, *cells), baseline=method.entry.baseline))
    board = runs[0].boards[metric]
    return Table(
        metric,
        f"{metric} ({direction(board)})",
        tuple(columns),
        tuple(rows),
        caption="A column for each run: "
        + "; ".join(f"{run.name}: {run.run.folder}" for run in result.runs)
        + f". {_brackets(rows, sequential=result.sequential)}",
    )


def _display(method: MatchedMethod, runs: Sequence[Run]) -> str:
    """The display name of a method where all runs have the same, or else its name with what differs."""
    labels = zip(runs, method.labels, strict=True)
    names = {run.manifest.display(label) for run, label in labels if label is not None}
    return names.pop() if len({label for label in method.labels if label is not None}) == len(names) == 1 else ""


def comparison(contrasts: Sequence[Contrast], runs: tuple[Run, Run]) -> Table:
    """Two runs compared instance by instance."""
    columns = (
        Column("metric", "Metric", "text"),
        Column("method", "Method", "text"),
        Column("mean_a", "A"),
        Column("mean_b", "B"),
        Column("difference", "B - A"),
        Column("p", "p", "p_value"),
        Column("n", "n", "count"),
        Column("change", "B is", "text"),
        Column("higher_is_better"),
    )
    test, correction = "joint sign-flip test", "step-down max-T"
    if any(run.manifest.sequential for run in runs):
        test, correction = "sequential test, because results decided when a run stopped,", "Holm"
    rows = []
    for one in contrasts:
        metric = f"{one.metric.label} {'↑' if one.metric.ascending else '↓'}"
        names = (Cell(one.metric.label, shown=metric), Cell(one.method.name, shown=_display(one.method, runs)))
        cells = (one.first, one.second, one.difference, one.p, one.n, one.change, one.metric.ascending)
        rows.append(table_row(*names, *cells, section=metric))
    return Table(
        "comparison",
        "Two runs compared",
        columns,
        tuple(rows),
        caption=f"A: {runs[0].folder}; B: {runs[1].folder}. p: {test} over the instances of both runs, adjusted for "
        f"all rows ({correction}).",
    )


def unshared(first: Run, second: Run) -> list[str]:
    """What a comparison of two runs leaves out: methods and metrics that only one of them has."""
    methods = [one.name for one in match_methods([first, second]) if None in one.labels]
    metrics = [
        name for name in (*first.metrics, *second.metrics) if (name in first.metrics) != (name in second.metrics)
    ]
    kinds = {"Methods": methods, "Metrics": metrics}
    return [f"{kind} that only one of the runs has: {', '.join(names)}." for kind, names in kinds.items() if names]


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
        f"Each value is the mean over those of the {everything} that have one{together}; n is their number.",
        "The interval covers the mean with 95 % confidence (BCa bootstrap over instances; none below 6, nor where all "
        "values are equal). In the drawing, the dot is the mean (hollow: not significantly different from random), the "
        "bar its interval; the grey line is the random explanation, the grey ribbon its interval.",
        *test_notes(made.run for made in result.runs),
        "p against random: each method compared with the random explanation of the same kind. Methods that share a "
        "letter are not significantly different. Skipped: no value for a reason that the run card counts; failed: an "
        "unexpected error; not applicable: the metric is not defined for that input or kind of explanation.",
    ]
