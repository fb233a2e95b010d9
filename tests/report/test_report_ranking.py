"""Who is best, who can't be told from the best, and the axis on which they are drawn."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from verax.report.plot import axis_of, interval_svg
from verax.report.ranking import best_group, by_metric, like_random, verdict

from verax.results.render.numbers import count, interval, number, p_value, plural, signed
from verax.types import Summary


def row(method, mean, group="a", *, p=0.01, higher=True, low=None, high=None):
    return Summary(method, "m", mean, low, high, 5, 0, None, p, p, higher, group)


@pytest.mark.parametrize(("higher", "order"), [(True, ["c", "b", "a", "none"]), (False, ["a", "b", "c", "none"])])
def test_best_first_in_the_direction_of_the_metric(higher, order):
    rows = [
        row("none", None, higher=higher),
        *(row(m, v, higher=higher) for m, v in (("b", 2.0), ("a", 1.0), ("c", 3.0))),
    ]
    assert [r.method for r in by_metric(rows)["m"]] == order


def test_the_best_group_is_who_shares_a_letter_with_the_best():
    rows = [row("x", 3.0, "ab"), row("y", 2.0, "b"), row("z", 1.5, "c"), row("w", 1.0, "a")]
    assert best_group(rows) == ["x", "y", "w"]
    assert best_group([row("x", None)]) == []


def test_words_for_a_table():
    rows = [row("x", 3.0, "a"), row("y", 2.0, "ab"), row("z", 1.5, "b", p=0.2), row("random", 1.0, "b", p=None)]
    assert (
        verdict(rows, "random")
        == "x has the best value, 3.000; y can't be told apart from it. Not told apart from random: z."
    )
    assert (
        verdict([row("x", 3.0, "a"), row("y", 2.0, "b")], "random")
        == "x has the best value, 3.000, apart from all others."
    )
    assert verdict([row("x", None)], "random") == "No method has a value under this metric."
    assert "m0, m1, m2, m3, m4, m5 and 3 more" in verdict(
        [row("b", 9.0), *(row(f"m{i}", 1.0) for i in range(9))], "random"
    )


def test_random_is_not_compared_with_itself():
    assert not like_random(row("random", 1.0, p=None))
    assert like_random(row("x", 1.0, p=0.05))
    assert not like_random(row("x", 1.0, p=0.049))


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=6))
def test_an_axis_holds_its_values_and_a_few_round_ticks(values):
    axis = axis_of([row("x", value) for value in values])
    for value in values:
        assert 6 - 1e-6 <= float(axis.at(value)[:-1]) <= 94 + 1e-6
    assert 1 <= len(axis.ticks) <= 6


def test_no_axis_without_values_or_beyond_numbers():
    assert axis_of([row("x", None)]) is None
    assert axis_of([row("x", 1.7e308), row("y", -1.7e308)]) is None


def test_the_drawing_of_a_row():
    baseline = row("random", 0.0, low=0.0, high=1.0)
    mine = row("x", 5.0, low=4.0, high=10.0)
    svg = interval_svg(mine, axis_of([baseline, mine]), baseline)
    assert '<circle cx="50.00%"' in svg
    assert '<line x1="41.20%" x2="94.00%" y1="50%"' in svg
    assert '<rect x="6.00%" y="0" width="8.80%"' in svg
    assert 'aria-label="5.000 [4.000, 10.000]"' in svg


def test_numbers_for_people():
    assert [number(v) for v in (0.0, 0.1234, -0.5, 0.0004, 1234567.0, None)] == [
        "0.000",
        "0.123",
        "-0.500",
        "4.00e-04",
        "1.23e+06",
        "–",
    ]
    assert [p_value(p) for p in (0.0009, 0.001, 1.0, None)] == ["< 0.001", "0.001", "1.000", "–"]
    assert (interval(0.1, 0.2), interval(None, None)) == ("[0.100, 0.200]", "–")
    assert (signed(0.1234567), signed(-2.0), signed(0.0)) == ("+0.123457", "-2", "0")
    assert (count(1234), plural(1, "file"), plural(0, "file")) == ("1,234", "1 file", "0 files")
