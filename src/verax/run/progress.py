"""Progress of a run on the console: rows, passes, time left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from verax.store.tables import Row
from verax.types import Cost


class ProgressBar:
    """Counts rows and their passes."""

    def __init__(self, progress: Progress, rows: int, done: int) -> None:
        self._progress = progress
        self._passes = 0
        self._task = progress.add_task("explaining and measuring", total=rows, completed=done, passes=0)

    def on_row(self, row: Row) -> None:
        """One more row is computed."""
        cost = getattr(row, "cost", Cost())
        self._passes += cost.forward + cost.backward
        self._progress.update(self._task, advance=1, passes=self._passes)


@contextmanager
def progress_bar(rows: int, done: int, console: Console) -> Iterator[ProgressBar]:
    """A progress bar over the rows of a run; where the console is no terminal, only its last state is printed."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("rows, {task.fields[passes]} passes"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        yield ProgressBar(progress, rows, done)


@contextmanager
def progress_counter(what: str, total: int, console: Console) -> Iterator[Callable[[], None]]:
    """A progress bar over `total` steps; the function that it yields advances it by one."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(what, total=total)
        yield lambda: progress.advance(task)
