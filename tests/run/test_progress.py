"""Progress of a run: speed, time left, live workers, and lines in a log."""

from __future__ import annotations

import io
from collections.abc import Iterator

from rich.console import Console

from verax.run.progress import Meter, progress_bar
from verax.types import Cost, Score

ROW = Score("1", "lime", "complexity", 0.5, cost=Cost(forward=6, backward=4))


class Clock:
    """Stands still until it is moved."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def counted(meter: Meter, clock: Clock, rows: int, seconds: float) -> None:
    for _ in range(rows):
        clock.now += seconds
        meter.count(ROW)


def test_speed_and_time_left_are_those_of_late() -> None:
    clock = Clock()
    meter = Meter(1000, 100, clock=clock)
    assert str(meter) == "0 passes/s"
    counted(meter, clock, 10, 2.0)
    assert str(meter) == "5 passes/s, 0:29:40 left"
    counted(meter, clock, 100, 1.0)
    assert str(meter) == "10 passes/s, 0:13:10 left"  # 790 rows at one a second; the slow start is forgotten


def test_rows_of_an_earlier_run_are_no_part_of_the_speed() -> None:
    clock = Clock()
    meter = Meter(1000, 990, clock=clock)
    counted(meter, clock, 10, 1.0)
    assert str(meter) == "10 passes/s"


def test_live_workers_are_those_of_now() -> None:
    alive = iter([2, 1])
    meter = Meter(10, 0, lambda: next(alive), Clock())
    assert str(meter).endswith(", 2 workers")
    assert str(meter).endswith(", 1 worker")


def logged(seconds: float, rows: int) -> Iterator[str]:
    out, clock = io.StringIO(), Clock()
    with progress_bar(rows, 0, Console(file=out, width=100), lambda: 4, clock) as on_row:
        for _ in range(rows):
            clock.now += seconds
            on_row(ROW)
    return (line.strip() for line in out.getvalue().splitlines())


def test_a_log_has_a_line_a_minute_and_the_end() -> None:
    *lines, end = logged(seconds=7.0, rows=40)
    assert lines == [
        "9 of 40 rows, 1 passes/s, 0:03:37 left, 4 workers",
        "18 of 40 rows, 1 passes/s, 0:02:34 left, 4 workers",
        "27 of 40 rows, 1 passes/s, 0:01:31 left, 4 workers",
        "36 of 40 rows, 1 passes/s, 0:00:28 left, 4 workers",
    ]
    assert "40/40 rows, 1 passes/s, 4 workers" in end


def test_a_short_run_logs_its_end_only() -> None:
    assert len(list(logged(seconds=1.0, rows=40))) == 1


def test_a_terminal_shows_the_bar_and_no_lines() -> None:
    out, clock = io.StringIO(), Clock()
    with progress_bar(3, 0, Console(file=out, force_terminal=True, width=100), None, clock) as on_row:
        for _ in range(3):
            clock.now += 100.0
            on_row(ROW)
    assert " of 3 rows" not in out.getvalue()
    assert "3/3" in out.getvalue()
