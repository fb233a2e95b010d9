"""Numbers as people read them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from verax.results.render.numbers import (
    bracketed,
    count,
    estimate,
    listed,
    number,
    p_value,
    percent,
    plural,
    signed,
)
from verax.stats.joint import ALPHA
from verax.types import Estimate


def test_numbers() -> None:
    assert [number(value) for value in (0.0, 0.1234, -0.5, 0.0004, 1234567.0, None)] == [
        "0.000",
        "0.123",
        "-0.500",
        "4.00e-04",
        "1.23e+06",
        "–",
    ]
    assert [p_value(p) for p in (0.0009, 0.001, 1.0, None)] == ["< 0.001", "0.001", "1.000", "–"]


@given(st.integers(1, 10_000).map(lambda k: k / 10_000) | st.integers(1, 8192).map(lambda k: k / 8192))
def test_a_written_p_value_is_on_the_side_of_the_level_on_which_it_is(p: float) -> None:
    written = p_value(p)
    shown = 0.0 if written == "< 0.001" else float(written)
    assert (shown < ALPHA, shown == ALPHA) == (p < ALPHA, p == ALPHA)


def test_p_values_next_to_the_level_have_more_decimals() -> None:
    values = (0.0494, 0.0495, 0.04999, 0.05, 0.050001, 0.0504, 0.0506)
    assert [p_value(p) for p in values] == ["0.049", "0.0495", "0.04999", "0.050", "0.050001", "0.0504", "0.051"]


def test_values_without_an_interval_are_constant_or_too_few() -> None:
    assert estimate(Estimate(0.5, n=6)) == "0.500 constant"
    assert estimate(Estimate(0.5, n=5)) == estimate(Estimate(0.5)) == "0.500"
    assert [percent(value) for value in (0.1234, -0.0001, 1.0, None)] == ["12.3", "0.0", "100.0", "–"]
    assert (signed(0.1234567), signed(-2.0), signed(0.0)) == ("+0.123457", "-2", "0")
    assert (count(1234), plural(1, "file"), plural(0, "file"), plural(1000, "file")) == (
        "1,234",
        "1 file",
        "0 files",
        "1,000 files",
    )


def test_intervals() -> None:
    assert estimate(Estimate(0.642, 0.5, 0.767)) == "0.642 [0.500, 0.767]"
    assert estimate(Estimate(0.642, 0.5, 0.767), percent) == "64.2 [50.0, 76.7]"
    assert (estimate(Estimate(1.0)), bracketed(Estimate(1.0))) == ("1.000", "")


def test_lists() -> None:
    assert [listed([]), listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])] == [
        "",
        "a",
        "a and b",
        "a, b and c",
    ]
    assert listed(list("abcdefgh")) == "a, b, c, d, e, f and 2 more"
