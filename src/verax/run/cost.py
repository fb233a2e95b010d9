"""The cost of what is left of a run: passes, time, memory and disk, from a few seconds of its own work."""

from __future__ import annotations

import resource
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from verax.run.endpoint import RequestCost, endpoint_of, request_cost
from verax.run.execute import KeyedRow
from verax.run.execute_run import to_retry
from verax.run.plan import Load, Remaining
from verax.run.prepare import Prepared
from verax.run.sample import Sample, take_sample
from verax.store.read import read_keys
from verax.store.shards import arrow_table, parquet
from verax.store.tables import TableName, encode
from verax.types import PREDICTION

SECONDS = 4.0
"""Seconds that a sample of a run is computed for."""
KEY = 65
"""Bytes of a row's key in the plan, and of the end of its line."""
BACKWARD = 2
"""Work of a backward pass in forward passes, where only one of the two was timed."""


CLOSING = 75_000_000
"""Bytes of main memory that the end of a run takes besides: sealing the store, tests, findings. Measured at 4,000 rows;
from 20,000 rows on it does not grow."""


class Expected(NamedTuple):
    """Passes that are expected to be computed, and their seconds; None if passes of some kind were not timed."""

    forward: float
    backward: float
    text: float
    seconds: float | None


class Memory(NamedTuple):
    """Bytes of main memory: of this process with the sample and the end of the run; and of the weights, if known."""

    peak: int
    model: int | None


@dataclass(frozen=True, slots=True)
class RunCost:
    """What is left of a run, and what it takes.

    Args:
        left: rows, and upper bounds on their passes.
        timed: seconds of the sample; 0 if nothing is computed, as for an endpoint.
        waited: share of them in which this process waited for a core that others used.
        expected: passes and time in this process; None if nothing is computed.
        workers: number of worker processes that `shared` is about.
        shared: seconds with these workers.
        memory: of this process; each worker is one more such process.
        disk: bytes of the rows; for an endpoint at most.
        requests: to an endpoint, at most.
        untimed: work that is not part of the time, a line each.
    """

    left: Remaining
    timed: float
    waited: float
    expected: Expected | None
    workers: int
    shared: float | None
    memory: Memory
    disk: int
    requests: RequestCost | None
    untimed: tuple[str, ...]


def estimate_cost(
    prepared: Prepared, folder: Path, *, workers: int = 1, seconds: float = SECONDS, retry_failed: bool = False
) -> RunCost:
    """Estimate what is left to do in a folder, which may hold some rows; nothing is stored, and no endpoint is asked.

    Inputs of every length, drawn by the seed, are explained and measured through the engine for some seconds. This
    gives the time of a pass (forward, backward, generated text) as a function of the length of its input, the share of
    the planned passes that are computed because no other row has asked for them, and the size of a row.

    Args:
        workers: worker processes of the run. Those on a CPU divide its cores, so the sample is computed once more with
            the threads of one of them; those on other devices have one each. Otherwise they are assumed not to slow
            each other down.
        seconds: duration of a sample.
        retry_failed: as for `execute_run`.
    """
    run = prepared.run
    plan, present = prepared.plan_again(to_retry(run.model, folder, retry_failed)), read_keys(folder)
    left = plan.remaining(present)
    is_remote, is_left = endpoint_of(run.model) is not None, left.done < left.rows
    sample = Sample() if is_remote or not is_left else take_sample(plan, present, seconds)
    expected = _expected(left, sample, len(run.model.labels)) if sample.seconds else None
    shared = None if expected is None else expected.seconds
    if shared is not None and workers > 1 and run.model.about["device"] in {"cpu", "unknown"}:
        with _threads_of_one(workers):
            shared = _expected(left, take_sample(plan, present, seconds), len(run.model.labels)).seconds
    requests = request_cost(run, left) if is_remote else None
    lines = [provider.announcement() for provider in plan.providers] if is_left else []
    rows = _disk(left, sample.rows)  # before memory is measured: writing needs some, too
    return RunCost(
        left,
        sample.seconds,
        sample.waited,
        expected,
        workers,
        None if shared is None else shared / workers,
        Memory(_peak() + CLOSING, _weights(run.model)),
        rows if requests is None else requests.disk + KEY * (left.rows - left.done),
        requests,
        tuple(line for line in lines if line is not None),
    )


def _expected(left: Remaining, sample: Sample, labels: int) -> Expected:
    """Passes and seconds of all missing rows that are not deferred."""
    totals = {"forward": (0.0, 0.0), "backward": (0.0, 0.0), "text": (0.0, 0.0)}

    def add(kind: str, passes: float, by_words: float) -> None:
        totals[kind] = totals[kind][0] + passes, totals[kind][1] + by_words

    for group, load in left.groups.items():
        if load.inputs:
            asked, wrote = sample.planned.get(group, Load()).inputs, sample.computed.get(group, Load()).forward
            # an answer compares all labels or writes one, and an explanation is one text more
            passes = load.inputs * (wrote / asked if asked else 1 + labels)
            add("text", passes, passes * load.words / load.rows)
            continue
        for kind in ("forward", "backward"):
            numbers = (kind, f"{kind}_words")
            add(kind, *(sample.share(group, number) * getattr(load, number) for number in numbers))
    seconds: float | None = sample.seconds_per_row * (left.rows - left.done - left.deferred)
    if any(passes for passes, _ in totals.values()):
        forward, backward = sample.pace("forward"), sample.pace("backward")
        paces = {
            "forward": forward or (backward and backward.times(1 / BACKWARD)),
            "backward": backward or (forward and forward.times(BACKWARD)),
            "text": sample.pace("text"),
        }
        known = [pace.seconds(*totals[kind]) for kind, pace in paces.items() if pace is not None]
        seconds = None if any(totals[kind][0] and pace is None for kind, pace in paces.items()) else sum(known)
    return Expected(totals["forward"][0], totals["backward"][0], totals["text"][0], seconds)


def _disk(left: Remaining, rows: list[KeyedRow]) -> int:
    """Bytes of the missing rows, new inputs included, as Parquet and in the plan, from those of some rows."""
    sampled: dict[TableName, list[dict[str, Any]]] = {}
    for position, (key, row) in enumerate(rows):
        table, plain = encode(key, position, row)
        sampled.setdefault(table, []).append(plain)
    missing: Counter[TableName] = Counter({"instances": left.new})
    for group, load in left.groups.items():
        explained: TableName = "texts" if load.inputs else "explanations"
        missing["scores" if group.metric else "predictions" if group.explainer == PREDICTION else explained] += (
            load.rows
        )
    total, spare = 0.0, list[float]()
    for table, members in sampled.items():
        half = len(members) // 2
        some, every = (len(parquet(arrow_table(table, part))) for part in (members[:half], members))
        spare.append((every - some) / (len(members) - half))  # a row more, without the header of a file
        if (rows_left := missing.pop(table, 0)) > 0:
            total += every + spare[-1] * (rows_left - len(members))
    return round(total + missing.total() * max(spare, default=0.0) + KEY * (left.new + left.rows - left.done))


@contextmanager
def _threads_of_one(workers: int) -> Iterator[None]:
    """Let torch use the threads of one of several workers, and then as many as before."""
    import torch  # noqa: PLC0415 - loaded with the model

    before = torch.get_num_threads()
    torch.set_num_threads(max(1, before // workers))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _peak() -> int:
    """Bytes of main memory that this process used at most."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak  # macOS counts bytes, others kilobytes


def _weights(model: Any) -> int | None:
    """Bytes of a model's weights; None if they are not in this process, or unknown."""
    import torch  # noqa: PLC0415 - loaded with the model

    parts = {id(part): part for part in (getattr(model, name, model) for name in ("explainer", "predictor"))}
    sizes = [
        int(part.about["parameters"]) * getattr(torch, part.fingerprint["dtype"]).itemsize
        for part in parts.values()
        if "parameters" in part.about and "dtype" in part.fingerprint
    ]
    return sum(sizes) or None
