"""Chat completions of any OpenAI-compatible HTTP endpoint, as a text generator whose answers can be stored."""

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
    ChoicePass,
    ChosenLabel,
    ConcurrentRequest,
    Deliver,
    Each,
    GeneratePass,
    LikelihoodPass,
    TextRequest,
)
from verax.store.keys import JSON, canonical_json, key_of
from verax.store.store import Store
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
        retries: repetitions of a request after 429, 5xx, a lost connection or a time-out.
        first_wait: seconds before the first repetition, doubled each time, unless the endpoint asks for another wait.
        logprobs: number of most likely first tokens to request with an answer that names a label; 0: none.
        extra: further fields of every request, or other values for those that verax sends; None removes one.
        allow_insecure: whether keys may be sent over plain HTTP to other machines, where anyone on the way reads them.
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
        allow_insecure: bool = False,
    ) -> None:
        if not model:
            raise UserError("model: the name of a model at the endpoint is needed, got ''")
        _at_least(1, concurrency=concurrency, max_requests=1 if max_requests is None else max_requests)
        _at_least(0, retries=retries, first_wait=first_wait, logprobs=logprobs)
        _at_least(0.001, request_timeout=request_timeout, total_timeout=total_timeout)
        self.name, self.concurrency, self.logprobs, self._extra = model, concurrency, logprobs, dict(extra)
        self._credentials = Credentials(key_env, headers)
        self.client = Client(
            url,
            self._credentials,
            concurrency=concurrency,
            max_requests=max_requests,
            request_timeout=request_timeout,
            total_timeout=total_timeout,
            retries=retries,
            first_wait=first_wait,
        )
        if self._credentials.has_secrets and self.client.is_insecure and not allow_insecure:
            raise UserError(
                f"url: a key would be sent to {self.client.host} over plain HTTP, readable by anyone on the way; use "
                "https, or agree with --allow-insecure (in Python: allow_insecure=True)"
            )
        self.text_fingerprint = {"protocol": "chat completions, 1", "model": model, "extra": self._extra_as_text()}
        first_tokens = {"logprobs": str(logprobs)} if logprobs else {}
        self.fingerprint = {**self.text_fingerprint, "reading": READING, **first_tokens}
        self.about = {"architecture": "endpoint", "device": "remote", "host": self.client.host}

    def __repr__(self) -> str:
        return f"Endpoint({self.name!r} at {self.client.host})"

    @property
    def requests(self) -> int:
        """Number of requests sent so far: what was paid for, at most."""
        return self.client.requests

    def body_of(self, request: GeneratePass) -> dict[str, JSON]:
        """The body of a request; with `text_fingerprint` it is the key of the answer."""
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
        return EndpointSession(self.client, self.job, self.concurrency)

    def generate(
        self, passes: Sequence[GeneratePass], each: Each[Generated] | None = None
    ) -> list[Generated | Undefined]:
        """A text for each pass, in their order; `each` is called with every one as it arrives."""
        return self._ask_all(passes, each)

    def choose(
        self, passes: Sequence[ChoicePass], each: Each[ChosenLabel] | None = None
    ) -> list[ChosenLabel | Undefined]:
        """A label for each pass: the endpoint is asked to name one, and its answer is parsed."""
        return self._ask_all(passes, each)

    def likelihoods(self, passes: Sequence[LikelihoodPass]) -> list[FloatArray | Undefined]:
        """Not available: chat completions give no likelihoods of given continuations."""
        raise UserError(f"the model {self.name!r} is an endpoint: it gives no likelihoods of given continuations")

    def length(self, request: TextRequest) -> int:
        """Tokens that a pass takes up in a batch; there are no batches at an endpoint."""
        return 1

    def _ask_all(self, requests: Sequence[ConcurrentRequest], each: Callable[[int, Any], None] | None) -> list[Any]:
        answers: dict[int, Any] = {}

        def deliver(number: int, answer: Any) -> None:
            answers[number] = answer
            if each is not None:
                each(number, answer)

        with self.session() as session:
            for number, request in enumerate(requests):
                session.submit(request, partial(deliver, number))
            while session.outstanding:
                session.collect()
        return [answers[number] for number in range(len(requests))]

    def job(self, request: ConcurrentRequest, deliver: Deliver) -> Job:
        """A request as it is sent; `deliver` takes its answer."""
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


class CachedEndpoint(Endpoint):
    """An endpoint that looks into a store before it sends a request. Only texts are stored, never errors.

    `use_store` gives it the store; before that nothing is known and nothing is stored.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        vars(self).update(vars(endpoint))  # the same client, so that requests are counted together
        self._store: Store | None = None
        self._known: dict[str, Generated] = {}

    def use_store(self, store: Store) -> None:
        """Read the answers that the store has, and store new ones there."""
        self._store = store
        self._known = {key: row for key, row in store.rows() if isinstance(row, Generated)}

    def session(self) -> CachedSession:
        """Send requests whose answers are not known yet; to be used as a context manager."""
        return CachedSession(self)

    def find(self, request: ConcurrentRequest) -> tuple[str, Generated | None]:
        """The key of the answer to a request, and the answer if it is known.

        A stored answer that can't be read any more, because labels are parsed differently now, is asked for again
        under another key. Every repetition has a key of its own.
        """
        body = self.body_of(text_request(request, self.logprobs))
        repeat = {"repeat": request.repeat} if request.repeat else {}
        key = key_of(row="answer", model=self.text_fingerprint, body=body, **repeat)
        while (known := self._known.get(key)) is not None and isinstance(read_answer(request, known), Undefined):
            key = key_of(again=key)
        return key, known

    def keep(self, key: str, answer: Generated) -> None:
        """Store an answer."""
        self._known[key] = answer
        if self._store is not None and key not in self._store.keys:
            self._store.append(key, answer)


class CachedSession(EndpointSession):
    """A session whose answers are stored before they are delivered; equal requests are sent once."""

    def __init__(self, cached: CachedEndpoint) -> None:
        super().__init__(cached.client, cached.job, cached.concurrency)
        self._cached = cached
        self._waiting: dict[str, list[tuple[ConcurrentRequest, Deliver]]] = {}

    def submit(self, request: ConcurrentRequest, deliver: Deliver) -> None:
        """Deliver the stored answer at once, or send the request, unless an equal one is under way."""
        key, known = self._cached.find(request)
        if known is not None:
            deliver(read_answer(request, known))
            return
        waiting = self._waiting.setdefault(key, [])
        waiting.append((request, deliver))
        if len(waiting) == 1:
            super().submit(text_request(request, self._cached.logprobs), partial(self._settle, key))

    def _settle(self, key: str, answer: Generated | Undefined) -> None:
        for request, deliver in self._waiting.pop(key):
            result = read_answer(request, answer)
            if isinstance(answer, Generated) and not isinstance(result, Undefined):
                self._cached.keep(key, answer)
            deliver(result)


def _at_least(least: float, **fields: float) -> None:
    for name, value in fields.items():
        if not least <= value < math.inf:
            raise UserError(f"{name}: got {value}; it must be a number of at least {least:g}")
