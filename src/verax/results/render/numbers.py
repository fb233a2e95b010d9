"""How numbers are written for people."""

from __future__ import annotations

MISSING = "–"


def number(value: float | None) -> str:
    """Three decimals; powers of ten where those would hide the value."""
    if value is None:
        return MISSING
    if value != 0 and not 0.0005 <= abs(value) < 1e6:
        return f"{value:.2e}"
    return f"{value:.3f}"


def signed(value: float) -> str:
    """A score of a word in full: with its sign, to six significant digits."""
    return f"{value:+.6g}" if value else "0"


def interval(low: float | None, high: float | None) -> str:
    """Both ends in brackets."""
    return MISSING if low is None or high is None else f"[{number(low)}, {number(high)}]"


def p_value(p: float | None) -> str:
    """Three decimals, and no claim beyond them."""
    if p is None:
        return MISSING
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def count(value: int) -> str:
    """A whole number with its thousands apart."""
    return f"{value:,}"


def plural(value: int, noun: str) -> str:
    """`1 instance`, `1,000 instances`."""
    return f"{count(value)} {noun}" if value == 1 else f"{count(value)} {noun}s"


def percent(value: float) -> str:
    """In percent with one decimal and no sign of its own."""
    return f"{round(100 * value, 1) + 0.0:.1f}"
