"""What a person sees while a run is going: rows done, passes done, time left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from verax.types import Cost


class ProgressBar:
    """Counts rows and passes, and shows them."""

    def __init__(self, progress: Progress, rows: int, done: int) -> None:
        self._progress = progress
        self._passes = Cost()
        self._task = progress.add_task("explaining and measuring", total=rows, completed=done, passes=0)

    def on_row(self) -> None:
        """One more row is done."""
        self._progress.advance(self._task)

    def on_batch(self, cost: Cost) -> None:
        """One more batch is done."""
        self._passes = self._passes + cost
        self._progress.update(self._task, passes=self._passes.forward + self._passes.backward)


@contextmanager
def progress_bar(rows: int, done: int, console: Console) -> Iterator[ProgressBar]:
    """A progress bar on the console; nothing but the bar's last state remains where it is no terminal."""
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
    """A progress bar over `total` things of one kind; call what is handed out after each."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(what, total=total)
        yield lambda: progress.advance(task)
