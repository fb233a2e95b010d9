"""An endpoint whose answers are stored as they arrive: a request is paid for once, whatever happens to the run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Self

from verax.models.endpoint.choice import read_answer, text_request
from verax.models.endpoint.endpoint import Endpoint, ask_all
from verax.models.endpoint.session import EndpointSession
from verax.models.generator import (
    Choice,
    ChoicePass,
    ConcurrentRequest,
    Deliver,
    GeneratePass,
    LikelihoodPass,
    TextRequest,
)
from verax.store.keys import key_of
from verax.store.store import Store
from verax.types import FloatArray, Generated, Undefined


class CachedEndpoint:
    """A text generator that looks into the store before it asks an endpoint. Only texts are stored, never errors.

    `open_with` gives it the store; before that nothing is known and nothing is stored.
    """

    gives_likelihoods = False

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._store: Store | None = None
        self._known: dict[str, Generated] = {}
        self.name, self.fingerprint, self.about = endpoint.name, endpoint.fingerprint, endpoint.about
        self.concurrency = endpoint.concurrency

    def open_with(self, store: Store) -> None:
        """Read the answers that the store has, and store new ones there."""
        self._store = store
        self._known = {key: row for key, row in store.rows() if isinstance(row, Generated)}

    @property
    def requests(self) -> int:
        """Number of requests sent by this process."""
        return self.endpoint.requests

    def session(self) -> CachedSession:
        """Send requests whose answers are not known yet; to be used as a context manager."""
        return CachedSession(self)

    def generate(self, passes: Sequence[GeneratePass]) -> list[Generated | Undefined]:
        """A text for each pass: the stored one, or a new one, which is stored before it is used."""
        return ask_all(self, passes, None)

    def choose(self, passes: Sequence[ChoicePass]) -> list[Choice | Undefined]:
        """A label for each pass; an answer that names none is not stored."""
        return ask_all(self, passes, None)

    def likelihoods(self, passes: Sequence[LikelihoodPass]) -> list[FloatArray | Undefined]:
        """Not available, as for every endpoint."""
        return self.endpoint.likelihoods(passes)

    def length(self, request: TextRequest) -> int:
        """Tokens that a pass takes up in a batch; there are no batches at an endpoint."""
        return self.endpoint.length(request)

    def find(self, request: ConcurrentRequest) -> tuple[str, Generated | None]:
        """The key of the answer to a request, and the answer if it is known.

        A stored answer that can't be read any more, because labels are parsed differently now, is asked for again
        under another key.
        """
        body = self.endpoint.body_of(text_request(request, self.endpoint.logprobs))
        key = key_of(row="answer", model=self.endpoint.decides_texts, body=body)
        while (known := self._known.get(key)) is not None and isinstance(read_answer(request, known), Undefined):
            key = key_of(again=key)
        return key, known

    def keep(self, key: str, answer: Generated) -> None:
        """Store an answer."""
        self._known[key] = answer
        if self._store is not None and key not in self._store.keys:
            self._store.append(key, answer)


class CachedSession:
    """A session of an endpoint whose answers are stored before they are delivered; equal requests are sent once."""

    def __init__(self, cached: CachedEndpoint) -> None:
        self._cached = cached
        self._session: EndpointSession = cached.endpoint.session()
        self._waiting: dict[str, list[tuple[ConcurrentRequest, Deliver]]] = {}

    def __enter__(self) -> Self:
        self._session.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._session.__exit__(*error)

    @property
    def outstanding(self) -> int:
        """Number of requests whose answers were not delivered yet."""
        return self._session.outstanding

    def submit(self, request: ConcurrentRequest, deliver: Deliver) -> None:
        """Deliver the stored answer at once, or send the request, unless an equal one is under way."""
        key, known = self._cached.find(request)
        if known is not None:
            deliver(read_answer(request, known))
            return
        waiting = self._waiting.setdefault(key, [])
        waiting.append((request, deliver))
        if len(waiting) == 1:
            self._session.submit(text_request(request, self._cached.endpoint.logprobs), partial(self._receive, key))

    def collect(self, timeout: float | None = None) -> None:
        """As `EndpointSession.collect`."""
        self._session.collect(timeout)

    def _receive(self, key: str, answer: Generated | Undefined) -> None:
        for request, deliver in self._waiting.pop(key):
            result = read_answer(request, answer)
            if isinstance(answer, Generated) and not isinstance(result, Undefined):
                self._cached.keep(key, answer)
            deliver(result)
