"""What follows from a leaderboard for someone who has to choose a method: the marks of its tables in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from verax.registry import entries
from verax.results.render.numbers import listed, p_phrase, plural
from verax.results.run import Run
from verax.studies.leaderboard.analysis import Board, Leaderboard, RunBoards, Standing, analyse
from verax.studies.leaderboard.tables import ranking_verdict, verdict_table
from verax.studies.marks import too_few

_UNDECIDED = " Not every comparison with random is decided: more inputs may decide it."


class Conclusion(NamedTuple):
    """The conclusion of a run.

    Args:
        methods: labels of those that are recommended: better than random, and unbeaten, under every metric of
            faithfulness.
        use: which method to use, or why none can be named.
        certainty: from which test and how many inputs this follows.
        others: what metrics of other properties say, such as agreement with people; a line each.
        fails: methods that are not better than random somewhere, and other reasons to be careful; a line each.
    """

    methods: tuple[str, ...]
    use: str
    certainty: str
    others: tuple[str, ...]
    fails: tuple[str, ...]


def conclusion_of(run: Run) -> Conclusion | None:
    """The conclusion of a run; None for one that ranks no methods."""
    board = analyse([run])
    return None if board is None else conclusion(board)


def conclusion(result: Leaderboard) -> Conclusion:
    """The conclusion of one run: methods are chosen by metrics of faithfulness, or by all metrics if it has none."""
    (made,) = result.runs
    of_truth = [board for board in made.boards.values() if _property(board) == "faithfulness"]
    boards = of_truth or list(made.boards.values())
    others = [board for board in made.boards.values() if board not in boards]
    display = made.run.manifest.display
    better = [method for method in _judged(made) if all(_under(board, method, "better") for board in boards)]
    chosen = tuple(method for method in better if all(_under(board, method, "best") for board in boards))
    return Conclusion(
        chosen,
        _use(made, boards, better, chosen),
        _certainty(made, boards, chosen or tuple(better)),
        tuple(f"{board.metric.label}: {ranking_verdict(board, display)}" for board in others),
        tuple(_fails(result, made)),
    )


def _property(board: Board) -> str:
    """What a metric measures; empty if it is not registered here."""
    entry = entries("metrics").get(board.metric.name)
    return "" if entry is None else entry.kind


def _judged(made: RunBoards) -> list[str]:
    """The methods that are compared with random explanations."""
    compared = [one for board in made.boards.values() for one in board.standings if not one.random]
    return [one for one in dict.fromkeys(s.method for s in compared) if not made.run.manifest.method(one).baseline]


def _standing(board: Board, method: str) -> Standing | None:
    return next((one for one in board.standings if one.method == method), None)


def _under(board: Board, method: str, mark: str) -> bool:
    """Whether a method has a mark under a metric: `better` than random, or `best`."""
    standing = _standing(board, method)
    return standing is not None and bool(getattr(standing, mark))


def _use(made: RunBoards, boards: list[Board], better: list[str], chosen: tuple[str, ...]) -> str:
    display, metrics = made.run.manifest.display, listed([board.metric.label for board in boards])
    if not any(board.inputs for board in boards):
        return f"No method: no input has a value under {metrics}; the reasons are among the missing values."
    every = "" if len(boards) == 1 else "both " if len(boards) == 2 else "all of "
    if all(board.too_few is not None for board in boards):
        return f"No method yet. {too_few(boards[0].too_few)}"
    if chosen:
        either = {1: "", 2: " under either"}.get(len(boards), " under any")
        words = f"better than random under {every}{metrics}; no other method is significantly better{either}"
        *first, last = map(display, chosen)
        return f"{', '.join(first)}{' or ' if first else ''}{last}: {words}."
    if not better:
        return f"None: no method is significantly better than random under {every}{metrics}."
    best = [
        f"{listed([display(one.method) for one in board.best])} under {board.metric.label}"
        for board in boards
        if board.best
    ]
    unbeaten = f" May be best: {'; '.join(best)}." if best else ""
    names = listed(list(map(display, better)))
    return f"One that fits your purpose. Better than random under {every}{metrics}: {names}.{unbeaten}"


def _certainty(made: RunBoards, boards: list[Board], methods: tuple[str, ...]) -> str:
    """The largest p-value against random of some methods, the kind of test, and the number of inputs."""
    manifest = made.run.manifest
    found = [_standing(board, method) for board in boards for method in methods]
    values = [one.p for one in found if one is not None and one.p is not None]
    test = "sequential test" if manifest.sequential else "joint test"
    inputs = max((board.inputs for board in boards), default=0)
    if not inputs:
        return "nothing was measured."
    after = f"{test} of {plural(inputs, 'input')}"
    open_questions = "" if manifest.until_decided is None or manifest.until_decided.settled else _UNDECIDED
    if not values:
        return f"nothing is significant in a {after}.{open_questions}"
    return f"{p_phrase(max(values))} against random, {after}, adjusted for all pairs of methods.{open_questions}"


def _fails(result: Leaderboard, made: RunBoards) -> Iterator[str]:
    """What the verdict on each method warns of."""
    table, display = verdict_table(result), made.run.manifest.display
    if table is None:
        return
    if table.verdict and any(board.too_few is None for board in made.boards.values()):
        yield table.verdict
    for row in table.records():
        if row["not_better"]:
            yield f"{display(str(row['method']))} is not better than random on {row['not_better']}"
        if row["caution"]:
            yield f"{display(str(row['method']))}: {row['caution']}"
