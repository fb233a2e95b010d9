"""Cutting rows into batches: each row once, never beyond the budget, equal lengths together."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from verax.engine.batches import SHORTEST, cut_batches

rows = st.lists(st.tuples(st.integers(1, 60), st.sampled_from("ab")), max_size=80)


@given(rows, st.integers(1, 400))
def test_every_row_once_within_budget(rows: list[tuple[int, str]], budget: int) -> None:
    lengths, buckets = [length for length, _ in rows], [bucket for _, bucket in rows]
    batches = cut_batches(lengths, buckets, budget)
    assert sorted(i for batch in batches for i in batch) == list(range(len(rows)))
    for batch in batches:
        longest = max(lengths[i] for i in batch)
        assert len(batch) == 1 or longest * len(batch) <= budget
        assert len({buckets[i] for i in batch}) == 1
        assert min(lengths[i] for i in batch) >= SHORTEST * longest


def test_equal_lengths_stay_together() -> None:
    assert cut_batches([10, 9, 10, 9, 10, 9, 10, 9], [0] * 8, 40) == [[0, 2, 4, 6], [1, 3, 5, 7]]
    assert cut_batches([10, 9, 9, 9], [0] * 4, 400) == [[0, 1, 2, 3]], "one long row is not worth a batch of its own"


def test_a_run_of_equal_rows_leaves_no_small_batch() -> None:
    assert [len(batch) for batch in cut_batches([10] * 9, [0] * 9, 40)] == [3, 3, 3]
    assert [len(batch) for batch in cut_batches([10] * 9, [0] * 9, 40, even=False)] == [4, 4, 1]
    assert [len(batch) for batch in cut_batches([10] * 5 + [9] * 4, [0] * 9, 40)] == [3, 2, 4]
