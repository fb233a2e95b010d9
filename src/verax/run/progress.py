"""Progress bars on the console; where it is no terminal, only the last state is printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from verax.store.tables import Row
from verax.types import Cost


@contextmanager
def progress_bar(rows: int, done: int, console: Console) -> Iterator[Callable[[Row], None]]:
    """A bar over the rows of a run; the function that it yields counts a row and its passes."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("rows, {task.fields[passes]} passes"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("explaining and measuring", total=rows, completed=done, passes=0)
        passes = 0

        def on_row(row: Row) -> None:
            nonlocal passes
            cost = getattr(row, "cost", Cost())
            passes += cost.forward + cost.backward
            progress.update(task, advance=1, passes=passes)

        yield on_row


@contextmanager
def progress_counter(what: str, total: int, console: Console) -> Iterator[Callable[[], None]]:
    """A bar over `total` steps; the function that it yields advances it by one."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(what, total=total)
        yield lambda: progress.advance(task)
