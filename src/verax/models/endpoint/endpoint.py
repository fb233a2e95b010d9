"""Chat completions of any OpenAI-compatible HTTP endpoint, as a text generator."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

from verax.models.endpoint.choice import READING, read_answer, text_request
from verax.models.endpoint.client import Client
from verax.models.endpoint.key import DEFAULT_VARIABLE, Credentials
from verax.models.endpoint.session import EndpointSession, Job
from verax.models.generator import (
    Choice,
    ChoicePass,
    ConcurrentGenerator,
    ConcurrentRequest,
    Deliver,
    Each,
    GeneratePass,
    LikelihoodPass,
    TextRequest,
)
from verax.store.keys import JSON, canonical_json
from verax.types import FloatArray, Generated, Undefined, UserError

_SET_BY_VERAX = ("model", "messages", "stream", "n")


class Endpoint:
    """A model at an HTTP endpoint. Prompts are sent to its URL, through the environment's proxy if there is one.

    Args:
        url: base URL, such as https://api.example.com/v1; requests go to its /chat/completions.
        model: name of the model at the endpoint.
        key_env: environment variable that holds the key; the default one may be unset, then no key is sent.
        headers: further headers of every request; `$NAME` in a value is the environment variable NAME.
        concurrency: requests under way at the same time, at most.
        max_requests: requests sent over the life of this object, repeated ones included; None: no limit.
        request_timeout: seconds for one request.
        total_timeout: seconds for one answer, with all waiting and repeating.
        retries: how often a request is repeated after 429, 5xx, a lost connection or a time-out.
        first_wait: seconds before the first repetition, doubled each time, unless the endpoint asks for another wait.
        logprobs: number of most likely first tokens to request with an answer that names a label; 0: none.
        extra: further fields of every request, or other values for those that verax sends; None removes one.
    """

    gives_likelihoods = False

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key_env: str = DEFAULT_VARIABLE,
        headers: Mapping[str, str] = MappingProxyType({}),
        concurrency: int = 4,
        max_requests: int | None = None,
        request_timeout: float = 60.0,
        total_timeout: float = 600.0,
        retries: int = 5,
        first_wait: float = 1.0,
        logprobs: int = 0,
        extra: Mapping[str, JSON] = MappingProxyType({}),
    ) -> None:
        if not model:
            raise UserError("model: the name of a model at the endpoint is needed, got ''")
        _at_least(1, concurrency=concurrency, max_requests=1 if max_requests is None else max_requests)
        _at_least(0, retries=retries, first_wait=first_wait, logprobs=logprobs)
        _at_least(0.001, request_timeout=request_timeout, total_timeout=total_timeout)
        self.name, self.concurrency, self.logprobs, self._extra = model, concurrency, logprobs, dict(extra)
        self._credentials = Credentials(key_env, headers)
        self._client = Client(
            url,
            self._credentials,
            concurrency=concurrency,
            max_requests=max_requests,
            request_timeout=request_timeout,
            total_timeout=total_timeout,
            retries=retries,
            first_wait=first_wait,
        )
        self.decides_texts = {"protocol": "chat completions, 1", "model": model, "extra": self._extra_as_text()}
        first_tokens = {"logprobs": str(logprobs)} if logprobs else {}
        self.fingerprint = {**self.decides_texts, "reading": READING, **first_tokens}
        self.about = {"architecture": "endpoint", "device": "remote", "host": self._client.host}

    def __repr__(self) -> str:
        return f"Endpoint({self.name!r} at {self._client.host})"

    @property
    def requests(self) -> int:
        """Number of requests sent so far: what was paid for, at most."""
        return self._client.requests

    def body_of(self, request: GeneratePass) -> dict[str, JSON]:
        """Everything that is sent for a request, but for headers; with `decides_texts` it is the key of the answer."""
        system = [] if request.prompt.system is None else [{"role": "system", "content": request.prompt.system}]
        body: dict[str, JSON] = {
            "model": self.name,
            "messages": [*system, {"role": "user", "content": request.prompt.user}],
            "max_tokens": request.max_new_tokens,
            "temperature": request.temperature,
            "seed": request.seed,
            "stream": False,
        }
        if request.stop:
            body["stop"] = list(request.stop)
        if request.tops:
            body |= {"logprobs": True, "top_logprobs": request.tops}
        return {name: value for name, value in {**body, **self._extra}.items() if value is not None}

    def session(self) -> EndpointSession:
        """Send requests whose answers come in any order; to be used as a context manager."""
        return EndpointSession(self._client, self._job, self.concurrency)

    def generate(
        self, passes: Sequence[GeneratePass], each: Each[Generated] | None = None
    ) -> list[Generated | Undefined]:
        """A text for each pass, in their order; `each` is called with every one as it arrives."""
        return ask_all(self, passes, each)

    def choose(self, passes: Sequence[ChoicePass], each: Each[Choice] | None = None) -> list[Choice | Undefined]:
        """A label for each pass: the endpoint is asked to name one, and its answer is parsed."""
        return ask_all(self, passes, each)

    def likelihoods(self, passes: Sequence[LikelihoodPass]) -> list[FloatArray | Undefined]:
        """Not available: chat completions give no likelihoods of given continuations."""
        raise UserError(f"the model {self.name!r} is an endpoint: it gives no likelihoods of given continuations")

    def length(self, request: TextRequest) -> int:
        """Tokens that a pass takes up in a batch; there are no batches at an endpoint."""
        return 1

    def _job(self, request: ConcurrentRequest, deliver: Deliver) -> Job:
        body = json.dumps(self.body_of(text_request(request, self.logprobs))).encode()
        return Job(body, lambda answer: deliver(read_answer(request, answer)))

    def _extra_as_text(self) -> str:
        """The extra fields as JSON; a UserError if they can't be sent, or must not be stored."""
        if reserved := [name for name in _SET_BY_VERAX if name in self._extra]:
            raise UserError(f"extra: {reserved[0]!r} is set by verax")
        try:
            text = canonical_json(self._extra).decode("utf-8", "replace")
        except (TypeError, ValueError) as error:
            raise UserError(f"extra: it can't be written as JSON: {error}") from None
        if self._credentials.hide(text) != text:
            raise UserError(
                f"extra: it contains the key of {self._credentials.variable} or a secret of headers, which would be "
                "stored with it"
            )
        return text


def ask_all(
    generator: ConcurrentGenerator, requests: Sequence[ConcurrentRequest], each: Callable[[int, Any], None] | None
) -> list[Any]:
    """The answer to each request, in their order; `each` is called with every one as it arrives."""
    answers: dict[int, Any] = {}

    def deliver(number: int, answer: Any) -> None:
        answers[number] = answer
        if each is not None:
            each(number, answer)

    with generator.session() as session:
        for number, request in enumerate(requests):
            session.submit(request, partial(deliver, number))
        while session.outstanding:
            session.collect()
    return [answers[number] for number in range(len(requests))]


def _at_least(least: float, **fields: float) -> None:
    for name, value in fields.items():
        if not least <= value < math.inf:
            raise UserError(f"{name}: got {value}; it must be a number of at least {least:g}")
