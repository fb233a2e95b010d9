"""Progress on the console: bars in a terminal, a line now and then in a log."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from verax.results.render.numbers import count, plural
from verax.store.tables import Row
from verax.types import Cost

EVERY = 60.0
"""Seconds between lines where the output is no terminal."""
RECENT = 30.0
"""Seconds that the speed is measured over."""


class Meter:
    """Rows and passes so far, and their speed.

    Args:
        rows: of the run.
        done: rows that were stored before.
        workers: number of live workers, if there are any.
        clock: seconds.
    """

    def __init__(
        self,
        rows: int,
        done: int,
        workers: Callable[[], int] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.rows, self.done, self.passes = rows, done, 0
        self._workers, self._clock = workers, clock
        self._seen: deque[tuple[float, int, int]] = deque([(clock(), done, 0)])

    def count(self, row: Row) -> None:
        """Count a row and its passes."""
        cost = getattr(row, "cost", Cost())
        self.done, self.passes = self.done + 1, self.passes + cost.forward + cost.backward
        now = self._clock()
        if now - self._seen[-1][0] >= 1:
            self._seen.append((now, self.done, self.passes))
            while len(self._seen) > 2 and now - self._seen[1][0] >= RECENT:
                self._seen.popleft()

    def _speed(self) -> tuple[float, float]:
        """Rows and passes per second, lately."""
        before, rows, passes = self._seen[0]
        seconds = max(self._clock() - before, 1e-9)
        return (self.done - rows) / seconds, (self.passes - passes) / seconds

    def __str__(self) -> str:
        """Passes per second, time left and live workers."""
        rows, passes = self._speed()
        parts = [f"{passes:,.0f} passes/s"]
        if rows and self.done < self.rows:
            parts.append(f"{timedelta(seconds=round((self.rows - self.done) / rows))} left")
        if self._workers is not None:
            parts.append(plural(self._workers(), "worker"))
        return ", ".join(parts)


class _MeterColumn(ProgressColumn):
    """Shows a meter as of now, also while no row is finished."""

    def __init__(self, meter: Meter) -> None:
        super().__init__()
        self._meter = meter

    def render(self, task: Task) -> Text:
        """The line of the meter."""
        return Text(f"rows, {self._meter}")


@contextmanager
def progress_bar(
    rows: int,
    done: int,
    console: Console,
    workers: Callable[[], int] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Callable[[Row], None]]:
    """A bar over the rows of a run; the function that it yields counts a row and its passes.

    Args:
        rows, done, workers, clock: as for `Meter`.
        console: if it is no terminal, a line is printed when a row is finished, at most one a minute, and at the end.
    """
    meter = Meter(rows, done, workers, clock)
    columns = (BarColumn(16), MofNCompleteColumn(), _MeterColumn(meter))
    printed = clock()
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=rows, completed=done)

        def on_row(row: Row) -> None:
            nonlocal printed
            meter.count(row)
            progress.advance(task)
            if not console.is_terminal and clock() - printed >= EVERY:
                printed = clock()
                console.print(Text(f"{count(meter.done)} of {count(rows)} rows, {meter}"), soft_wrap=True)

        yield on_row


@contextmanager
def progress_counter(what: str, total: int, console: Console) -> Iterator[Callable[[], None]]:
    """A bar over `total` steps; the function that it yields advances it by one."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(what, total=total)
        yield lambda: progress.advance(task)
