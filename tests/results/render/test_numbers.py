"""Numbers as people read them."""

from __future__ import annotations

from verax.results.render.numbers import (
    bracketed,
    change,
    count,
    estimate,
    interval,
    listed,
    number,
    p_value,
    percent,
    plural,
    signed,
)
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
    assert [percent(value) for value in (0.1234, -0.0001, 1.0, None)] == ["12.3", "0.0", "100.0", "–"]
    assert (signed(0.1234567), signed(-2.0), signed(0.0)) == ("+0.123457", "-2", "0")
    assert (change(0.25), change(-0.5)) == ("+0.250", "-0.500")
    assert (count(1234), plural(1, "file"), plural(0, "file"), plural(1000, "file")) == (
        "1,234",
        "1 file",
        "0 files",
        "1,000 files",
    )


def test_intervals() -> None:
    assert (interval(0.1, 0.2), interval(None, None)) == ("[0.100, 0.200]", "–")
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
