"""Numbers as text for people."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from verax.stats.joint import ALPHA
from verax.types import Estimate
from verax.types.numbers import FEWEST

MISSING = "–"
NOISE = 1e-8
"""Smaller numbers are what is left of sums that cancel: all metrics are of the order of 1."""


def number(value: float | None) -> str:
    """Three decimals; scientific notation for values that these would hide, and 0 for rounding noise."""
    if value is None:
        return MISSING
    if abs(value) < NOISE:
        return "0.000"
    if value != 0 and not 0.0005 <= abs(value) < 1e6:
        return f"{value:.2e}"
    return f"{value:.3f}"


def signed(value: float) -> str:
    """The score of a word with its sign, to six significant digits."""
    return f"{value:+.6g}" if value else "0"


def p_value(p: float | None) -> str:
    """Three decimals; smaller values as `< 0.001`, and next to the level as many as show on which side of it p is."""
    if p is None:
        return MISSING
    written = "< 0.001" if p < 0.001 else f"{p:.3f}"
    decimals = 3
    while float(written.strip("< ")) == ALPHA != p:
        decimals += 1
        written = f"{p:.{decimals}f}"
    return written


def p_phrase(p: float | None) -> str:
    """A p-value in a sentence: `p < 0.001`, `p = 0.020`."""
    written = p_value(p)
    return f"p {written if written.startswith('<') else f'= {written}'}"


def count(value: int) -> str:
    """A whole number with thousands separators."""
    return f"{value:,}"


def plural(value: int, noun: str) -> str:
    """`1 instance`, `1,000 instances`."""
    return f"{count(value)} {noun}" if value == 1 else f"{count(value)} {noun}s"


def percent(value: float | None) -> str:
    """In percent with one decimal, without the percent sign."""
    if value is None:
        return MISSING
    return f"{round(100 * value, 1) + 0.0:.1f}"


def estimate(value: Estimate, write: Callable[[float | None], str] = number) -> str:
    """A value with its interval in brackets, where it has one: `0.642 [0.500, 0.767]`."""
    ends = bracketed(value, write)
    return f"{write(value.value)} {ends}" if ends else write(value.value)


def bracketed(value: Estimate, write: Callable[[float | None], str] = number) -> str:
    """The interval of an estimate in brackets; `constant` where all its values are equal, empty if they are too few."""
    if value.interval is None:
        return "constant" if value.n is not None and value.n >= FEWEST else ""
    return f"[{write(value.interval[0])}, {write(value.interval[1])}]"


def listed(names: Sequence[str], limit: int = 6) -> str:
    """`a, b and c`; of many the first few and the number of the others."""
    if len(names) > limit:
        return f"{', '.join(names[:limit])} and {len(names) - limit} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else list(names))


def duration(seconds: float) -> str:
    """A rough duration in words."""
    if seconds < 1:
        return "less than a second"
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= 2 * size:
            return f"about {seconds / size:.0f} {unit}s"
    return f"about {plural(round(seconds), 'second')}"
