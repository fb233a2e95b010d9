"""Why an endpoint gave no answer: one error for each reason that a row of a run can have."""

from __future__ import annotations

from typing import ClassVar

from verax.types import Undefined, UserError


class EndpointError(Undefined):
    """One request has no answer. `code` is the reason that is stored in place of the answer."""

    code: ClassVar[str]

    def __init_subclass__(cls, *, code: str | None = None) -> None:
        if code is not None:
            cls.code = code

    def __init__(self, detail: str) -> None:
        super().__init__(self.code, detail)


class RetryableError(EndpointError):
    """An attempt failed, and another one may succeed; `retry_after` is the wait in seconds that the server asks for."""

    def __init__(self, detail: str, retry_after: float | None = None) -> None:
        super().__init__(detail)
        self.retry_after = retry_after


class EndpointUnreachable(RetryableError, code="unreachable"):
    """No connection to the server; ends the run if it lasts, so no row has this reason."""


class EndpointTimeout(RetryableError, code="timeout"):
    """The answer did not arrive in time."""


class EndpointConnectionLost(RetryableError, code="connection_lost"):
    """The connection broke, or what arrived is not HTTP."""


class EndpointTooManyRequests(RetryableError, code="too_many_requests"):
    """HTTP 429."""


class EndpointServerError(RetryableError, code="server_error"):
    """HTTP 5xx, 408 or 425."""


class EndpointBadRequest(EndpointError, code="bad_request"):
    """The server rejects this prompt: HTTP 400, 403, 413, 422 and other 4xx."""


class EndpointBadAnswer(EndpointError, code="bad_answer"):
    """The response is not a chat completion, or is too long."""


class EndpointEmptyAnswer(EndpointError, code="empty_answer"):
    """The answer has no text."""


class EndpointCutOff(EndpointEmptyAnswer):
    """The answer was cut off before its first word, which may happen to every answer of a reasoning model."""


class EndpointRefused(EndpointError, code="refused"):
    """The model refused to answer, or a content filter removed the answer."""


class EndpointUnparsedAnswer(EndpointError, code="unparsed_answer"):
    """The answer does not name exactly one of the labels."""


class MaxRequestsReached(UserError):
    """`max_requests` requests were sent: no more are sent, and the answers so far are kept."""


REASONS = frozenset(
    error.code
    for error in (
        EndpointTimeout,
        EndpointConnectionLost,
        EndpointTooManyRequests,
        EndpointServerError,
        EndpointBadRequest,
        EndpointBadAnswer,
        EndpointEmptyAnswer,
        EndpointRefused,
        EndpointUnparsedAnswer,
    )
)
"""Reasons that lie with the endpoint: the same request may be answered another time."""
