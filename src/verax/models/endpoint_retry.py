"""How long to wait before a request is sent once more."""

from __future__ import annotations

import random
import re
from datetime import UTC, datetime
from email.message import Message
from email.utils import parsedate_to_datetime

LONGEST_BACKOFF = 30.0


def backoff(attempt: int, first: float) -> float:
    """Seconds to wait after the attempt of this number (from 0): doubled each time, the upper half of it by chance.

    Without chance, all who were turned away at the same time would come back at the same time.
    """
    longest = min(first * 2.0 ** min(attempt, 30), LONGEST_BACKOFF)
    return random.uniform(longest / 2, longest)


def retry_after(headers: Message) -> float | None:
    """The seconds that a reply asks to wait, by number or by date; None if it asks for nothing.

    A date is compared with the one that the reply itself bears, so that it does not matter whose clock is wrong.
    """
    asked = (headers.get("Retry-After") or "").strip()
    if re.fullmatch(r"[0-9]{1,12}(\.[0-9]{0,12})?", asked):
        seconds = float(asked)
    else:
        until = _date(asked)
        if until is None:
            return None
        seconds = (until - (_date(headers.get("Date") or "") or datetime.now(UTC))).total_seconds()
    return max(seconds, 0.0)


def _date(written: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(written)
    except (ValueError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
