"""What the status of a reply means: an answer, trouble that may pass, an answer that can not be had, a mistake."""

from __future__ import annotations

from typing import NamedTuple

from verax.models.endpoint_answer import complaint, quote, read_answer
from verax.models.endpoint_key import Key
from verax.models.endpoint_retry import retry_after
from verax.models.endpoint_wire import Reply
from verax.types import Generated, Undefined, UserError

_PASSING = frozenset({408, 425, 429})
_OF_EVERY_REQUEST = frozenset({401, 402, 404, 405, 407, 410})


class Trouble(NamedTuple):
    """Why an attempt failed that may be repeated, and the seconds that the endpoint asks to wait, if it does."""

    reason: str
    detail: str
    wait: float | None = None


def judge(reply: Reply, key: Key) -> Generated | Trouble:
    """The text of a reply, or trouble that may pass.

    Raises Undefined where this prompt gets no answer, UserError where no prompt would.
    """
    if reply.status == 200:
        encoding = reply.headers.get("Content-Encoding", "identity")
        if encoding != "identity":
            raise Undefined("bad_answer", f"it is encoded as {quote(encoding, key.hide)}, which was not asked for")
        return read_answer(reply.body, key.hide)
    said = complaint(reply.body, key.hide)
    detail = f"HTTP {reply.status}" + (f": {said}" if said else "")
    if 300 <= reply.status < 400:
        to = quote(reply.headers.get("Location", "nowhere"), key.hide)
        raise UserError(f"url: the endpoint redirects (HTTP {reply.status}) to {to}; redirects are not followed")
    if reply.status == 401:
        state = "was not accepted" if key else "is not set"
        raise UserError(f"key_env: the endpoint wants a key, and that of {key.variable} {state} ({detail})")
    if reply.status in _OF_EVERY_REQUEST:
        raise UserError(f"url, model: the endpoint has nothing for this address and model ({detail})")
    if reply.status in _PASSING or reply.status >= 500:
        reason = "too_many_requests" if reply.status == 429 else "server_error"
        return Trouble(reason, detail, retry_after(reply.headers))
    raise Undefined("bad_request", detail)
