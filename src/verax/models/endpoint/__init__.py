"""Models at an HTTP endpoint that speaks the chat completions of the OpenAI API."""

from verax.models.endpoint.endpoint import CachedEndpoint, Endpoint
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
from verax.models.endpoint.key import Permissions

__all__ = [
    "REASONS",
    "CachedEndpoint",
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
    "Permissions",
    "RetryableError",
]
