"""What a response means: a text, an error that may pass, an error of this prompt, or one of every request."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from verax.models.endpoint.errors import (
    EndpointBadAnswer,
    EndpointBadRequest,
    EndpointCutOff,
    EndpointEmptyAnswer,
    EndpointRefused,
    EndpointServerError,
    EndpointTooManyRequests,
)
from verax.models.endpoint.key import Credentials
from verax.types import Finish, Generated, UserError

_PASSING = frozenset({408, 425, 429})
_OF_EVERY_REQUEST = frozenset({401, 402, 404, 405, 407, 410})
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_THOUGHTS = re.compile(r"\A(?:\s*<think>.*?(?:</think>|\Z)|(?:(?!<think>).)*?</think>)", re.DOTALL)
"""Thoughts that some servers leave before the answer of a reasoning model; the opening tag may be in the prompt."""
_LONGEST_QUOTE = 200
_LOWEST, _HIGHEST = -1e6, 1e-3
"""Range of a log-probability: rounding may take that of 1 above 0, and some servers write -9999 for none."""
_MOST_TOKENS = 10**9
_FINISH: dict[Any, Finish] = {"stop": "stop", "length": "length", None: "unknown"}
_DECIMAL = re.compile(r"[0-9]{1,12}(\.[0-9]{0,12})?")

Hide = Callable[[str], str]
"""Replaces secrets in a text."""


class Response(NamedTuple):
    """Status, headers and body of a response; the names of the headers match in any case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def __repr__(self) -> str:
        return f"Response({self.status})"  # an endpoint may send back the key


def parse_response(response: Response, credentials: Credentials) -> Generated:
    """The text of a response.

    Raises RetryableError if another attempt may succeed, another EndpointError if this prompt gets no answer, and
    UserError if no prompt would.
    """
    status, headers, body = response
    if status == 200:
        encoding = headers.get("Content-Encoding", "identity")
        if encoding != "identity":
            raise EndpointBadAnswer(f"it is encoded as {quote(encoding, credentials.hide)}, which was not requested")
        return parse_completion(body, credentials.hide)
    message = error_message(body, credentials.hide)
    detail = f"HTTP {status}" + (f": {message}" if message else "")
    if status == 401:
        state = "was not accepted" if credentials.has_key else "is not set"
        raise UserError(f"key_env: the endpoint requires a key, and that of {credentials.variable} {state} ({detail})")
    if status in _OF_EVERY_REQUEST:
        raise UserError(f"url, model: the endpoint does not serve this address and model ({detail})")
    if status == 429:
        raise EndpointTooManyRequests(detail, retry_after(headers))
    if status in _PASSING or status >= 500:
        raise EndpointServerError(detail, retry_after(headers))
    raise EndpointBadRequest(detail)


def parse_completion(body: bytes, hide: Hide) -> Generated:
    """The text in the body of a chat completion; raises EndpointError if there is none."""
    completion = _json(body)
    choice = _first_choice(completion, hide)
    message, finish = choice.get("message"), choice.get("finish_reason")
    if not isinstance(message, dict):
        raise EndpointBadAnswer("the answer has no message")
    if finish == "content_filter":
        raise EndpointRefused("finish_reason is content_filter")
    if message.get("refusal"):
        raise EndpointRefused(quote(message["refusal"], hide))
    content = message.get("content")
    if not isinstance(content, str | None):
        raise EndpointBadAnswer(f"the message's content is {type(content).__name__}, not text")
    content, thoughts = _THOUGHTS.subn("", content or "")
    if not content.strip():
        if finish == "length":
            raise EndpointCutOff(
                "finish_reason is length, before the first word; a reasoning model needs extra: {max_tokens: ...}"
            )
        raise EndpointEmptyAnswer(f"finish_reason is {quote(finish, hide)}")
    if not isinstance(finish, str | None) or finish not in _FINISH:
        raise EndpointBadAnswer(f"finish_reason is {quote(finish, hide)}, not stop or length")
    first = () if thoughts else _first_tokens(choice.get("logprobs"))  # those of thoughts are not those of the answer
    tops = tuple((_storable(token, hide), value) for token, value in first)
    return Generated(_storable(content, hide), _FINISH[finish], _tokens(completion), tops)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The wait that a response asks for, in seconds; None if it asks for none.

    `retry-after-ms` is in milliseconds and goes first; `Retry-After` is in seconds or a date. A date is compared with
    that of the response itself, so that a wrong clock does no harm.
    """
    milliseconds = (headers.get("retry-after-ms") or "").strip()
    if _DECIMAL.fullmatch(milliseconds):
        return float(milliseconds) / 1000
    value = (headers.get("Retry-After") or "").strip()
    if _DECIMAL.fullmatch(value):
        return float(value)
    until = _date(value)
    if until is None:
        return None
    return max((until - (_date(headers.get("Date") or "") or datetime.now(UTC))).total_seconds(), 0.0)


def quote(value: Any, hide: Hide) -> str:
    """A value that an endpoint sent, for one line of a message: no secrets, no control characters, not long."""
    text = hide(value if isinstance(value, str) else json.dumps(value))
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}..."


def error_message(body: bytes, hide: Hide) -> str:
    """The error message in the body of a failed request, from the usual fields; empty if it can't be read."""
    try:
        message = _json(body)
    except EndpointBadAnswer:
        return ""
    for name in ("error", "message", "detail"):
        if isinstance(message, dict) and name in message:
            message = message[name]
    return quote(message, hide)


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def _storable(text: str, hide: Hide) -> str:
    """A text without secrets that can be written as UTF-8."""
    return hide(_LONE_SURROGATE.sub("\ufffd", text))


def _first_tokens(logprobs: Any) -> Iterator[tuple[str, float]]:
    """Most likely first tokens of an answer with their log-probabilities; malformed ones are left out."""
    positions = logprobs.get("content") if isinstance(logprobs, dict) else None
    first = positions[0] if isinstance(positions, list) and positions else None
    tops = first.get("top_logprobs") if isinstance(first, dict) else None
    for top in tops if isinstance(tops, list) else ():
        if not isinstance(top, dict):
            continue
        token, value = top.get("token"), top.get("logprob", math.nan)
        if isinstance(token, str) and type(value) in (int, float) and _LOWEST <= value <= _HIGHEST:
            yield token, min(float(value), 0.0)


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):  # not JSON, not UTF-8, a number without end, brackets without end
        raise EndpointBadAnswer(f"{len(body)} bytes that are not JSON") from None


def _first_choice(completion: Any, hide: Hide) -> dict[str, Any]:
    if isinstance(completion, dict) and completion.get("error"):
        raise EndpointBadAnswer(quote(completion["error"], hide))
    choices = completion.get("choices") if isinstance(completion, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise EndpointBadAnswer("the answer has no choices")
    return choices[0]


def _tokens(completion: dict[str, Any]) -> int | None:
    usage = completion.get("usage")
    count = usage.get("completion_tokens") if isinstance(usage, dict) else None
    return count if isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= _MOST_TOKENS else None
