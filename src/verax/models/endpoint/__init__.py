"""Models at an HTTP endpoint that speaks the chat completions of the OpenAI API."""

from verax.models.endpoint.endpoint import Endpoint
from verax.models.endpoint.errors import (
    REASONS,
    EndpointBadAnswer,
    EndpointBadRequest,
    EndpointConnectionLost,
    EndpointCutOff,
    EndpointEmptyAnswer,
    EndpointError,
    EndpointRefused,
    EndpointServerError,
    EndpointTimeout,
    EndpointTooManyRequests,
    EndpointUnparsedAnswer,
    EndpointUnreachable,
    MaxRequestsReached,
    RetryableError,
)

__all__ = [
    "REASONS",
    "Endpoint",
    "EndpointBadAnswer",
    "EndpointBadRequest",
    "EndpointConnectionLost",
    "EndpointCutOff",
    "EndpointEmptyAnswer",
    "EndpointError",
    "EndpointRefused",
    "EndpointServerError",
    "EndpointTimeout",
    "EndpointTooManyRequests",
    "EndpointUnparsedAnswer",
    "EndpointUnreachable",
    "MaxRequestsReached",
    "RetryableError",
]
