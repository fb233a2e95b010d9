"""Cards of tests to text and back: they are read whole or not at all, so one column holds them."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from verax.store.escape import escape, unescape
from verax.types import Span, Trial, TrialLog


def write_card(card: TrialLog) -> str:
    """A card as one line of JSON; a number in it that is not finite is refused."""
    plain = dataclasses.asdict(card)
    for trial in plain["trials"]:
        trial["how"] = trial.pop("label_source")
    return escape(json.dumps(plain, ensure_ascii=False, allow_nan=False))


def read_card(text: str) -> TrialLog:
    """The card that `write_card` was given."""
    found: dict[str, Any] = json.loads(unescape(text))
    unanswered = found["unanswered"]
    if isinstance(unanswered, int):  # an earlier version did not keep why
        unanswered = {"unknown": unanswered} if unanswered else {}
    return TrialLog(**{**found, "trials": tuple(map(_trial, found["trials"])), "unanswered": unanswered})


def _trial(found: dict[str, Any]) -> Trial:
    inserted = found["inserted"]
    place = None if inserted is None else Span(*inserted)
    found = {**found, "label_source": found["how"], "parts": tuple(found["parts"]), "inserted": place}
    del found["how"]
    return Trial(**found)
