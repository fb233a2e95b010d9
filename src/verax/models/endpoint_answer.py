"""What an endpoint's answer says: a text, or the reason why there is none."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

from verax.types import Finish, Generated, Undefined

_HALF_A_PAIR = re.compile("[\ud800-\udfff]")
_THOUGHTS = re.compile(r"\A(?:\s*<think>.*?(?:</think>|\Z)|(?:(?!<think>).)*?</think>)", re.DOTALL)
"""What some servers leave before the answer of a model that thinks aloud; of some the first mark is in the prompt."""
_LONGEST_QUOTE = 200
_LEAST, _MOST = -1e6, 1e-3
"""Between these a number is a log-probability: rounding may take that of 1 above 0, and some write -9999 for none."""
_FINISH: dict[Any, Finish] = {"stop": "stop", "length": "length", None: "unknown"}


class CutOff(Undefined):
    """An answer that was cut off before its first word: every other one of the model may fare the same."""

    def __init__(self) -> None:
        super().__init__(
            "empty_answer",
            "finish_reason is length, before the first word; a model that thinks unseen needs extra: {max_tokens: ...}",
        )


def read_answer(body: bytes, hide: Callable[[str], str]) -> Generated:
    """The text in the body of a chat completion; raises Undefined for whatever is no text.

    Args:
        body: as it came.
        hide: takes the key out of what is kept.
    """
    whole = _json(body)
    choice = _only_choice(whole, hide)
    message, finish = choice.get("message"), choice.get("finish_reason")
    if not isinstance(message, dict):
        raise Undefined("bad_answer", "the answer has no message")
    if finish == "content_filter":
        raise Undefined("refused", "finish_reason is content_filter")
    if message.get("refusal"):
        raise Undefined("refused", quote(message["refusal"], hide))
    content = message.get("content")
    if not isinstance(content, str | None):
        raise Undefined("bad_answer", f"the message's content is {type(content).__name__}, not text")
    content, thoughts = _THOUGHTS.subn("", content or "")
    if not content.strip():
        if finish == "length":
            raise CutOff
        raise Undefined("empty_answer", f"finish_reason is {quote(finish, hide)}")
    if not isinstance(finish, str | None) or finish not in _FINISH:
        raise Undefined("bad_answer", f"finish_reason is {quote(finish, hide)}, not stop or length")
    first = () if thoughts else _tops(choice.get("logprobs"))  # those of thoughts say nothing
    tops = tuple((_fit(token, hide), value) for token, value in first)
    return Generated(_fit(content, hide), _FINISH[finish], _tokens(whole), tops)


def _fit(text: str, hide: Callable[[str], str]) -> str:
    """A text that can be kept: without the key, and writable as UTF-8."""
    return hide(_HALF_A_PAIR.sub("\ufffd", text))


def _tops(told: Any) -> Iterator[tuple[str, float]]:
    """Tokens and log-probabilities of the first place of an answer; what is not as it should be is not there."""
    places = told.get("content") if isinstance(told, dict) else None
    first = places[0] if isinstance(places, list) and places else None
    tops = first.get("top_logprobs") if isinstance(first, dict) else None
    for top in (one for one in (tops if isinstance(tops, list) else ()) if isinstance(one, dict)):
        token, value = top.get("token"), top.get("logprob", math.nan)
        if isinstance(token, str) and type(value) in (int, float) and _LEAST <= value <= _MOST:
            yield token, min(float(value), 0.0)


def quote(said: Any, hide: Callable[[str], str]) -> str:
    """What an endpoint said, fit for one line of a message: no key, no control characters, not long."""
    text = hide(said if isinstance(said, str) else json.dumps(said))
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}..."


def complaint(body: bytes, hide: Callable[[str], str]) -> str:
    """What the body of a failed request says was wrong, as servers put it; empty if nothing can be read."""
    try:
        said = _json(body)
    except Undefined:
        return ""
    for name in ("error", "message", "detail"):
        if isinstance(said, dict) and name in said:
            said = said[name]
    return quote(said, hide)


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):  # not JSON, not UTF-8, a number without end, brackets without end
        raise Undefined("bad_answer", f"{len(body)} bytes that are no JSON") from None


def _only_choice(whole: Any, hide: Callable[[str], str]) -> dict[str, Any]:
    if isinstance(whole, dict) and whole.get("error"):
        raise Undefined("bad_answer", quote(whole["error"], hide))
    choices = whole.get("choices") if isinstance(whole, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise Undefined("bad_answer", "the answer has no choices")
    return choices[0]


def _tokens(whole: dict[str, Any]) -> int | None:
    usage = whole.get("usage")
    count = usage.get("completion_tokens") if isinstance(usage, dict) else None
    return count if isinstance(count, int) and not isinstance(count, bool) and count >= 0 else None
