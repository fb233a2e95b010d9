"""Why an endpoint gave no answer: one error for each reason that a row of a run can have."""

from __future__ import annotations

from typing import ClassVar

from verax.types import Undefined, UserError


class EndpointError(Undefined):
    """One request has no answer. `code` is the reason that is stored in place of the answer."""

    code: ClassVar[str]

    def __init__(self, detail: str) -> None:
        super().__init__(self.code, detail)


class RetryableError(EndpointError):
    """An attempt failed, and another one may succeed; `retry_after` is the wait in seconds that the server asks for."""

    def __init__(self, detail: str, retry_after: float | None = None) -> None:
        super().__init__(detail)
        self.retry_after = retry_after


class EndpointUnreachable(RetryableError):
    """No connection to the server; ends the run if it lasts, so no row has this reason."""

    code = "unreachable"


class EndpointTimeout(RetryableError):
    """The answer did not arrive in time."""

    code = "timeout"


class EndpointConnectionLost(RetryableError):
    """The connection broke, or what arrived is not HTTP."""

    code = "connection_lost"


class EndpointTooManyRequests(RetryableError):
    """HTTP 429."""

    code = "too_many_requests"


class EndpointServerError(RetryableError):
    """HTTP 5xx, 408 or 425."""

    code = "server_error"


class EndpointBadRequest(EndpointError):
    """The server rejects this prompt: HTTP 400, 403, 413, 422 and other 4xx."""

    code = "bad_request"


class EndpointBadAnswer(EndpointError):
    """The response is not a chat completion, or is too long."""

    code = "bad_answer"


class EndpointEmptyAnswer(EndpointError):
    """The answer has no text."""

    code = "empty_answer"


class EndpointCutOff(EndpointEmptyAnswer):
    """The answer was cut off before its first word, which may happen to every answer of a reasoning model."""


class EndpointRefused(EndpointError):
    """The model refused to answer, or a content filter removed the answer."""

    code = "refused"


class EndpointUnparsedAnswer(EndpointError):
    """The answer does not name exactly one of the labels."""

    code = "unparsed_answer"


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
