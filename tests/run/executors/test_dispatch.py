"""Whatever order workers compute and die in, every row arrives once, and only what kills workers alone is given up."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from types import SimpleNamespace

from hypothesis import given, settings
from hypothesis import strategies as st

from verax.data.text import split_words
from verax.run.execute import Work
from verax.run.executors.dispatch import LARGEST, WINDOW, Dispatcher
from verax.run.plan import PlannedExplanation, PlannedInstance, PlannedScore
from verax.run.rows import TEMPORARY
from verax.store.tables import Row
from verax.types import Highlight, Instance, Prediction, Score, Skip, Target


def work(number: int, words: int = 1) -> Work:
    """The work on an input: a prediction, an explanation, and a score of it."""
    name = f"i{number}"
    instance = Instance(name, (split_words("word " * words),))
    metric = SimpleNamespace(label="metric")
    score = PlannedScore(metric, f"{name} score", (), False)  # type: ignore[arg-type]
    explanation = PlannedExplanation("method", "token", f"{name} explanation", None, None, (score,))
    planned = PlannedInstance(instance, name, f"{name} prediction", (explanation,))
    return Work(planned, {f"{name} prediction", f"{name} explanation", f"{name} score"}, {}, {})


def row_of(key: str) -> Row:
    name, kind = key.split()
    if kind == "prediction":
        return Prediction(name, "a", ("a", "b"), (1.0, 0.0))
    return (
        Highlight(name, "method", "token", Target(), (), ())
        if kind == "explanation"
        else Score(name, "method", "m", 1.0)
    )


def size(one: Work) -> float:
    return float(len(one.planned.instance.parts[0].words))


def simulate(deadly: set[str], draws: st.DataObject, n: int, workers: int) -> Counter[str]:
    """Let workers begin, compute and die in a drawn order; returns how often each row came, and as what."""
    dispatcher = Dispatcher(iter([work(number, draws.draw(st.integers(1, 9))) for number in range(n)]), size, workers)
    queues: list[list[tuple[Work, ...]]] = [[] for _ in range(workers)]
    began = [0] * workers
    rows: Counter[str] = Counter()
    for _ in range(200 * n + 100):
        if dispatcher.is_finished:
            return rows
        for worker in range(workers):
            while (shard := dispatcher.next_shard(worker)) is not None:
                queues[worker].append(shard)
        worker = draws.draw(st.sampled_from([number for number in range(workers) if queues[number]]))
        if began[worker] < len(queues[worker]):
            began[worker] += 1
            dispatcher.begun(worker)
            continue
        shard = queues[worker][0]
        kills = any(one.planned.instance.id in deadly for one in shard)
        todo = sorted(key for one in shard for key in one.todo)
        if kills or draws.draw(st.booleans() if rows.total() < n else st.just(value=False)):
            for key in todo[: draws.draw(st.integers(0, len(todo) - 1))] if not kills else []:
                dispatcher.received(worker, key, row_of(key))
                rows[key] += 1
            failed = dispatcher.died(worker, "was killed by SIGSEGV")
            assert all(isinstance(row, (Skip, Score)) and row.detail.startswith(TEMPORARY) for _, row in failed)
            rows.update(key for key, _ in failed)
            rows.update(f"failed {row.instance_id}" for _, row in failed)  # type: ignore[union-attr]
            queues[worker], began[worker] = [], 0
            continue
        for key in todo:
            dispatcher.received(worker, key, row_of(key))
            rows[key] += 1
        queues[worker].pop(0)
        began[worker] -= 1
    raise AssertionError("the work is never finished")


@settings(deadline=None, max_examples=60)
@given(st.data(), st.integers(1, 40), st.integers(1, 4))
def test_every_row_arrives_once_and_inputs_that_kill_are_given_up(draws: st.DataObject, n: int, workers: int) -> None:
    deadly = draws.draw(st.sets(st.integers(0, n - 1).map("i{}".format), max_size=3))
    rows = simulate(deadly, draws, n, workers)
    expected = {f"i{number} {kind}" for number in range(n) for kind in ("prediction", "explanation", "score")}
    assert {key: count for key, count in rows.items() if not key.startswith("failed")} == dict.fromkeys(expected, 1)
    given_up = {key.removeprefix("failed ") for key in rows if key.startswith("failed")}
    assert deadly <= given_up


def test_an_input_is_given_up_only_after_it_killed_a_worker_that_computed_nothing_else() -> None:
    dispatcher = Dispatcher(iter([work(0), work(1)]), size, 1)
    for _ in range(2):
        assert dispatcher.next_shard(0) is not None
        dispatcher.begun(0)
    assert dispatcher.died(0, "was killed by SIGKILL") == []
    for number in (0, 1):
        alone = dispatcher.next_shard(0)
        assert alone is not None
        assert [one.planned.instance.id for one in alone] == [f"i{number}"]
        assert dispatcher.next_shard(0) is None  # nothing else meanwhile
        dispatcher.begun(0)
        failed = dict(dispatcher.died(0, "was killed by SIGILL"))
        assert set(failed) == set(work(number).todo)
        assert {row.detail for row in failed.values()} == {  # type: ignore[union-attr]
            f"{TEMPORARY}WorkerDied: two workers died of this input, the last one was killed by SIGILL"
        }
    assert dispatcher.is_finished


def test_a_dead_worker_is_asked_for_the_missing_rows_only_with_those_that_they_need() -> None:
    dispatcher = Dispatcher(iter([work(0)]), size, 1)
    dispatcher.next_shard(0)
    dispatcher.begun(0)
    for key in ("i0 prediction", "i0 explanation"):
        dispatcher.received(0, key, row_of(key))
    dispatcher.died(0, "was killed by SIGKILL")
    (rest,) = dispatcher.next_shard(0) or ()
    assert set(rest.todo) == {"i0 score"}
    assert rest.rows["i0 explanation"] == row_of("i0 explanation")


def test_costly_inputs_come_first_shards_shrink_and_few_are_planned_ahead() -> None:
    taken = []

    def works() -> object:
        for number in range(1000):
            taken.append(number)
            yield work(number, words=1 + number % 50)

    dispatcher = Dispatcher(works(), size, 2)  # type: ignore[arg-type]
    first = dispatcher.next_shard(0) or ()
    assert [size(one) for one in first] == sorted(map(size, first), reverse=True)
    assert size(first[0]) == 50
    assert len(taken) <= 2 * WINDOW + len(first)
    costs, sizes = [], []
    shards = [(0, first)]
    while not dispatcher.is_finished:
        for worker in (0, 1):
            while (shard := dispatcher.next_shard(worker)) is not None:
                shards.append((worker, shard))
        worker, shard = shards.pop(0)
        costs.append(max(map(size, shard)))
        sizes.append(len(shard))
        dispatcher.begun(worker)
        for one in shard:
            for key in one.todo:
                dispatcher.received(worker, key, row_of(key))
    assert max(sizes) == LARGEST
    assert sum(sizes) == 1000
    assert sizes[-2:] == [1, 1]
    tail = costs[-20:]
    assert all(before >= after for before, after in pairwise(tail))  # no long input is left for the end
