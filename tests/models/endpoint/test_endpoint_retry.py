"""How long to wait: what the endpoint asks for, or twice as long each time with chance in it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verax.models.endpoint.client import LONGEST_BACKOFF, backoff
from verax.models.endpoint.response import retry_after


def asked(value: str, date: str | None = None) -> float | None:
    return retry_after({"Retry-After": value, **({} if date is None else {"Date": date})})


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        ("7", 7.0),
        (" 7 ", 7.0),
        ("1.5", 1.5),
        ("119", 119.0),
        ("3600", 3600.0),
        ("99999999999999999999", None),
        ("-5", None),
        ("nan", None),
        ("inf", None),
        ("soon", None),
        ("", None),
        ("٣", None),
        ("Wed, 99 Oct 2015 07:28:00 GMT", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
    ],
)
def test_what_an_endpoint_asks_for_is_kept(value: str, seconds: float | None) -> None:
    assert asked(value) == seconds


def test_a_date_counts_from_the_endpoints_own_clock() -> None:
    assert asked("Wed, 21 Oct 2015 07:28:30 GMT", "Wed, 21 Oct 2015 07:28:00 GMT") == 30
    assert asked("Wed, 21 Oct 2015 08:28:30 +0100", "Wed, 21 Oct 2015 07:28:00 GMT") == 30
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    assert asked(soon) == pytest.approx(60, abs=5)
    assert asked(soon, "yesterday") == pytest.approx(60, abs=5)


def test_a_date_that_is_far_off_is_kept_too() -> None:
    assert asked("Wed, 21 Oct 2065 07:28:00 GMT", "Wed, 21 Oct 2015 07:28:00 GMT") == pytest.approx(1.58e9, rel=0.01)


def test_nothing_is_asked_for() -> None:
    assert retry_after({}) is None


@pytest.mark.parametrize(
    ("milliseconds", "seconds"),
    [("0", 0.0), ("250", 0.25), (" 1500.5 ", 1.5005), ("-1", 7.0), ("soon", 7.0), ("", 7.0), ("nan", 7.0)],
)
def test_milliseconds_go_before_seconds(milliseconds: str, seconds: float) -> None:
    assert retry_after({"retry-after-ms": milliseconds, "Retry-After": "7"}) == seconds


@given(st.text(), st.text(), st.text())
def test_nothing_that_is_sent_can_break_it(milliseconds: str, value: str, date: str) -> None:
    seconds = retry_after({"retry-after-ms": milliseconds, "Retry-After": value, "Date": date})
    assert seconds is None or 0 <= seconds < inf


def test_waits_double_up_to_a_limit_and_differ() -> None:
    for attempt, longest in [(0, 0.5), (1, 1.0), (3, 4.0), (9, LONGEST_BACKOFF), (10_000, LONGEST_BACKOFF)]:
        waits = [backoff(attempt, 0.5) for _ in range(200)]
        assert longest / 2 <= min(waits) < max(waits) <= longest
        assert max(waits) - min(waits) > longest / 4
    assert backoff(5, 0.0) == 0
