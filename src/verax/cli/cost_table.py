"""The cost of a run as a table."""

from __future__ import annotations

from rich.filesize import decimal

from verax.results.render.numbers import count, duration, plural
from verax.results.table import Column, Table, table_row
from verax.run.cost import Expected, RunCost

BUSY = 0.2
"""Share of waiting for a core from which on the machine counts as busy."""
COLUMNS = (
    Column("what", "What it takes", "text"),
    Column("estimate", "Estimate", "text"),
    Column("how", "How", "text"),
)


def cost_table(cost: RunCost) -> Table:
    """A line for each: passes or requests, time, memory, disk."""
    rows = [*_work(cost), *_time(cost), *_memory(cost), ("disk", decimal(cost.disk), _disk(cost))]
    notes = tuple(f"Not included in the time: {line}." for line in cost.untimed)
    return Table("cost", "What is left", COLUMNS, tuple(table_row(*row) for row in rows), notes=notes)


def _work(cost: RunCost) -> list[tuple[str, str, str]]:
    """Passes, texts, requests and tokens."""
    requests = cost.requests
    if requests is not None:
        return [
            ("requests", f"at most {count(requests.requests)}", "without repetitions; nothing was sent"),
            ("prompt tokens", f"at most {count(requests.prompt_tokens)}", "a token is 4 bytes of a prompt"),
            ("answer tokens", f"at most {count(requests.answer_tokens)}", "if every answer is the longest"),
        ]
    expected, most = cost.expected or Expected(0, 0, 0, 0), cost.left.passes
    rows = []
    for name, at_most, likely in (
        ("forward passes", most.forward, expected.forward),
        ("backward passes", most.backward, expected.backward),
    ):
        if at_most:
            rows.append((name, f"about {count(round(likely))}", f"at most {count(at_most)}; some are shared"))
    if expected.text:
        rows.append(("generated texts", f"about {count(round(expected.text))}", "labels that are compared included"))
    return rows


def _time(cost: RunCost) -> list[tuple[str, str, str]]:
    """Time in this process and with workers."""
    if cost.expected is None or cost.expected.seconds is None:
        unknown = "not timed: nothing was sent" if cost.requests else "nothing is left"
        return [("time", "–", unknown if cost.expected is None else "some passes are too slow to be timed")]
    timed = f"{cost.timed:.1f} s of it timed on this machine"
    if cost.waited > BUSY:
        timed += f", which is busy; idle: {duration((1 - cost.waited) * cost.expected.seconds)}"
    rows = [("time", duration(cost.expected.seconds), timed)]
    if cost.workers > 1 and cost.shared is not None:
        how = "on its share of cores or its own device"
        rows.append((f"time with {cost.workers} workers", duration(cost.shared), how))
    return rows


def _memory(cost: RunCost) -> list[tuple[str, str, str]]:
    """Memory of this process and of workers."""
    model = "" if cost.memory.model is None else f"; weights {decimal(cost.memory.model)}"
    rows = [("memory", decimal(cost.memory.peak), f"peak of the sample, and what closing the run takes{model}")]
    if cost.workers > 1:
        total = decimal((1 + cost.workers) * cost.memory.peak)
        rows.append((f"memory with {cost.workers} workers", total, "one more such process each"))
    return rows


def _disk(cost: RunCost) -> str:
    rows = cost.left.rows - cost.left.done
    if not rows:
        return "nothing is left"
    kind = " at most, with its answers" if cost.requests else " of the sample"
    return f"{plural(round(cost.disk / rows), 'byte')} a row{kind}"
