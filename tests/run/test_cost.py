"""The cost of a run before it starts: bounds that hold, estimates that are near, and nothing stored or sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console
from rich.filesize import decimal

from support import text_runs
from support.answering import answers_by_rule
from support.fault_server import FaultServer
from support.rigged import Rigged
from verax.cli.cost_table import cost_table
from verax.models import self_explainer
from verax.models.black_box import BlackBox
from verax.models.classifier import Classifier
from verax.results.render.numbers import duration
from verax.run.cost import estimate_cost
from verax.run.execute_run import execute_run
from verax.run.plan import Load, RowGroup
from verax.run.prepare import Prepared, prepare
from verax.run.sample import Sample, TimedBatch
from verax.run.spec import parse_spec
from verax.store.read import read_rows
from verax.types import Cost, Dataset, FloatArray, Passes

METHODS = ["leave_one_out", "saliency", {"integrated_gradients": {"steps": 4}}]
METRICS = ["comprehensiveness", "agreement", "complexity"]
QUIET = Console(quiet=True)
LONG = 600.0
"""Seconds that are never needed: every input is part of the sample."""


def small(model: Any, data: Dataset, methods: Sequence[Any] = METHODS, metrics: Sequence[Any] = METRICS) -> Prepared:
    spec = {"model": "given", "data": {"name": "given"}, "methods": list(methods), "metrics": list(metrics)}
    return prepare(parse_spec(spec), model, data)


def run(prepared: Prepared, folder: Path) -> None:
    execute_run(prepared, folder, command="verax run", console=QUIET)


def repeated(data: Dataset, times: int) -> Dataset:
    instances = [replace(one, id=f"{one.id} {number}") for number in range(times) for one in data.instances]
    return replace(data, instances=tuple(instances))


def computed(folder: Path) -> Passes:
    costs = [getattr(row, "cost", Cost()) for _, row in read_rows(folder)]
    return Passes(sum(cost.forward for cost in costs), sum(cost.backward for cost in costs))


def disk_of(folder: Path) -> int:
    return sum(path.stat().st_size for pattern in ("shards/*", "plan.txt") for path in folder.glob(pattern))


def function(seen: list[int]) -> BlackBox:
    def answer(texts: Sequence[tuple[str, ...]]) -> FloatArray:
        seen.append(torch.get_num_threads())
        share = np.array([0.1 + 0.8 * ("boat" in " ".join(parts)) for parts in texts])
        return np.stack([share, 1 - share], 1)

    return BlackBox(answer, labels=("yes", "no"), name="boats", version="1", mask_text="...")


def test_passes_are_bounds_and_estimates_are_near(
    classifier: Callable[..., Classifier], dataset: Dataset, tmp_path: Path
) -> None:
    prepared = small(classifier("bert"), repeated(dataset, 3))
    cost = estimate_cost(prepared, tmp_path / "run", seconds=LONG)
    assert not (tmp_path / "run").exists(), "nothing is stored"
    run(prepared, tmp_path / "run")
    passes = computed(tmp_path / "run")
    assert cost.expected is not None
    assert (round(cost.expected.forward), round(cost.expected.backward)) == passes
    assert cost.left.passes.forward > passes.forward
    assert cost.left.passes.backward >= passes.backward > 0
    assert cost.expected.seconds is not None
    assert cost.expected.seconds > 0
    assert cost.memory.model == 8 * int(classifier("bert").about["parameters"])
    assert cost.memory.peak > cost.memory.model
    assert cost.disk == pytest.approx(disk_of(tmp_path / "run"), rel=0.2)


def test_a_run_that_is_partly_done_costs_the_rest(
    classifier: Callable[..., Classifier], dataset: Dataset, tmp_path: Path
) -> None:
    half = replace(dataset, instances=dataset.instances[:3])
    run(small(classifier("bert"), half, metrics=METRICS[:2]), tmp_path / "run")
    before = computed(tmp_path / "run")
    prepared = small(classifier("bert"), dataset)
    left = estimate_cost(prepared, tmp_path / "run", seconds=LONG)
    whole = estimate_cost(prepared, tmp_path / "other", seconds=LONG)
    assert (left.left.rows, left.left.new) == (whole.left.rows, 2)
    assert 0 < left.disk < whole.disk
    assert left.left.done == 3 * (1 + 4 * 3)  # a prediction, four methods with random, two of three metrics
    run(prepared, tmp_path / "run")
    after = computed(tmp_path / "run")
    assert after.forward - before.forward <= left.left.passes.forward < whole.left.passes.forward
    assert after.backward - before.backward <= left.left.passes.backward < whole.left.passes.backward


def test_a_finished_run_costs_nothing_and_asks_nothing(dataset: Dataset, tmp_path: Path) -> None:
    seen: list[int] = []
    prepared = small(function(seen), dataset, ["leave_one_out"])
    run(prepared, tmp_path / "run")
    seen.clear()
    cost = estimate_cost(prepared, tmp_path / "run")
    assert (cost.expected, cost.shared, cost.disk, cost.left.passes, seen) == (None, None, 0, Passes(0, 0), [])


def test_a_function_is_timed_with_the_threads_of_a_worker(dataset: Dataset, tmp_path: Path) -> None:
    seen: list[int] = []
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    try:
        prepared = small(function(seen), dataset, ["leave_one_out"])
        cost = estimate_cost(prepared, tmp_path / "run", workers=2, seconds=LONG)
        assert torch.get_num_threads() == 4
    finally:
        torch.set_num_threads(before)
    assert set(seen) == {4, 2}
    assert seen == sorted(seen, reverse=True)
    run(prepared, tmp_path / "run")
    assert cost.expected is not None
    assert (round(cost.expected.forward), cost.expected.backward) == computed(tmp_path / "run")
    assert cost.shared is not None
    assert cost.memory.model is None
    shown = {row.cells[0].value: row.cells[1].value for row in cost_table(cost).rows}
    assert shown["time with 2 workers"] == duration(cost.shared)
    assert shown["memory with 2 workers"] == decimal(3 * cost.memory.peak)
    assert cost.expected.seconds is not None
    idle = f"which is busy; idle: {duration(cost.expected.seconds / 2)}"
    for waited, is_told in ((0.5, True), (0.1, False)):
        how = next(
            row.cells[2].value for row in cost_table(replace(cost, waited=waited)).rows if row.cells[0].value == "time"
        )
        assert (idle in str(how)) == ("busy" in str(how)) == is_told


def test_time_is_up_after_a_batch(classifier: Callable[..., Classifier], dataset: Dataset, tmp_path: Path) -> None:
    cost = estimate_cost(small(classifier("bert"), dataset), tmp_path / "run", seconds=1e-9)
    assert cost.expected is not None
    assert (cost.expected.forward, cost.expected.backward) == cost.left.passes, "what is not known is not left out"
    assert cost.expected.seconds is not None
    assert cost.expected.seconds > 0
    assert cost.disk > 0


def test_rows_without_passes_are_timed_by_their_number(dataset: Dataset, tmp_path: Path) -> None:
    seen: list[int] = []
    prepared = small(function(seen), dataset, ["random"], ["agreement", "complexity"])
    cost = estimate_cost(prepared, tmp_path / "run", seconds=LONG)
    assert cost.expected is not None
    assert cost.left.passes.backward == 0
    assert cost.expected.seconds is not None
    assert 0 < cost.expected.seconds < 60


def test_texts_of_a_local_model_are_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    generator: Rigged = text_runs.rule()
    monkeypatch.setattr(self_explainer, "load_generator", lambda *_, **__: generator)
    prepared = prepare(parse_spec(text_runs.content(tmp_path)))
    cost = estimate_cost(prepared, tmp_path / "run", seconds=LONG)
    run(prepared, tmp_path / "run")
    assert cost.expected is not None
    assert round(cost.expected.text) == computed(tmp_path / "run").forward > 0
    assert cost.requests is None
    assert cost.disk == pytest.approx(disk_of(tmp_path / "run"), rel=0.2)


def test_an_endpoint_is_sent_nothing(tmp_path: Path) -> None:
    with FaultServer(default=answers_by_rule()) as server:
        model = {"name": "m", "endpoint": {"url": server.url, "first_wait": 0.01}}
        prepared = prepare(parse_spec(text_runs.content(tmp_path, model=model)))
        cost = estimate_cost(prepared, tmp_path / "run", workers=2)
        assert server.asked == []
        run(prepared, tmp_path / "run")
        sent = [one.body for one in server.asked]
        finished = estimate_cost(prepared, tmp_path / "run")
    assert cost.expected is None
    assert cost.requests is not None
    assert cost.requests.requests >= len(sent) > 0
    assert cost.requests.answer_tokens == sum((64, 32)) * cost.requests.requests // 2
    real = sum(len(message["content"].encode()) for body in sent for message in body["messages"]) / len(sent)
    assert 4 * cost.requests.prompt_tokens / cost.requests.requests == pytest.approx(real, rel=0.3)
    assert cost.disk > disk_of(tmp_path / "run")
    assert finished.requests is not None
    assert (finished.requests, finished.disk) == ((0, 0, 0, 0), 0)


def test_the_pace_is_that_of_full_batches() -> None:
    first = [TimedBatch("forward", 1, 10, 5.0), TimedBatch("backward", 1, 10, 0.5)]
    later = [TimedBatch("forward", p, w, 0.01 * p + 0.002 * w) for p, w in ((10, 80), (4, 100), (20, 60))]
    sample = Sample(batches=[first, later])
    assert sample.pace("forward") == pytest.approx((0.01, 0.002))
    backward = sample.pace("backward")
    assert backward is not None
    assert backward.seconds(1, 10) == pytest.approx(0.5)
    assert sample.pace("text") is None


def test_the_share_of_passes_is_that_of_finished_rows() -> None:
    group, other = RowGroup("lime"), RowGroup("saliency")
    planned, done = Load(), Load()
    planned.add(10, Passes(8, 2))
    done.add(10, Passes(6, 2))
    sample = Sample(planned={group: planned}, computed={group: done})
    assert (sample.share(group, "forward"), sample.share(group, "backward"), sample.share(other, "forward")) == (
        0.75,
        1,
        1,
    )
