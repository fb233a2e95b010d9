"""Chat completions of any OpenAI-compatible HTTP endpoint, as a text generator."""

from __future__ import annotations

import json
import math
import random
import ssl
from collections.abc import Mapping, Sequence
from threading import Lock
from time import monotonic
from types import MappingProxyType

from verax.models.endpoint_address import parse_address
from verax.models.endpoint_answer import CutOff
from verax.models.endpoint_choice import READING, ask_for_label, read_choice
from verax.models.endpoint_crew import Crew
from verax.models.endpoint_key import DEFAULT_VARIABLE, Key
from verax.models.endpoint_retry import backoff
from verax.models.endpoint_status import Trouble, judge
from verax.models.endpoint_wire import Failed, Wire
from verax.models.generator import Choice, ChoicePass, Each, GeneratePass, LikelihoodPass, TextRequest
from verax.store.keys import JSON, canonical_json
from verax.types import FloatArray, Generated, Undefined, UserError

FAILURES_IN_A_ROW = 10
"""Prompts without a readable answer, one after the other, after which the endpoint is held to be broken."""
_OURS = ("model", "messages", "stream", "n")
_READ = frozenset({"refused", "empty_answer"})  # no text, but the endpoint works


class RequestsSpent(UserError):
    """`max_requests` is reached: what is answered is kept, the rest is not asked."""


class Endpoint:
    """A model behind an address. Text and prompts go there and nowhere else; redirects are refused.

    Args:
        url: base URL, such as https://api.example.com/v1; requests go to its /chat/completions.
        model: its name there.
        key_env: the environment variable that holds the key; the default one may be unset, then no key is sent.
        concurrency: requests that are under way at the same time, at most.
        max_requests: requests that are sent over the life of this object, repeated ones included; None: no limit.
        request_timeout: seconds for one request.
        total_timeout: seconds for one answer, with all waiting and repeating.
        retries: how often a request is repeated after 429, 5xx, a lost connection or a time-out.
        first_wait: seconds before the first repetition, doubled each time; what the endpoint asks for goes first.
        logprobs: where a label is asked for, have so many likeliest first tokens told with the answer; 0: none.
        extra: further fields of every request, or other values for those that verax sends; None takes one out.
    """

    gives_likelihoods = False

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key_env: str = DEFAULT_VARIABLE,
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
        self._address, self._key = parse_address(url), Key(key_env)
        self._tls = ssl.create_default_context() if self._address.secure else None
        self._concurrency, self._max_requests = concurrency, max_requests
        self._request_timeout, self._total_timeout = request_timeout, total_timeout
        self._retries, self._first_wait, self._extra = retries, first_wait, dict(extra)
        self.logprobs = logprobs
        self._lock = Lock()  # of the three below
        self._requests = self._failures = 0
        self._not_before = 0.0
        self.name = model
        self.decides_texts = {
            "protocol": "chat completions, 1",
            "model": model,
            "extra": self._written(self._extra),
        }
        asked_for = {"logprobs": str(logprobs)} if logprobs else {}
        self.fingerprint = {**self.decides_texts, "reading": READING, **asked_for}
        self.about = {"architecture": "endpoint", "device": "remote", "host": self._address.netloc}

    def __repr__(self) -> str:
        return f"Endpoint({self.name!r} at {self._address.netloc})"

    @property
    def requests(self) -> int:
        """How many requests were sent so far: what was paid for, at most."""
        return self._requests

    def body_of(self, asked: GeneratePass) -> dict[str, JSON]:
        """All that the endpoint is sent for a pass, but for the key: with the fingerprint, the key of its answer."""
        system = [] if asked.prompt.system is None else [{"role": "system", "content": asked.prompt.system}]
        body: dict[str, JSON] = {
            "model": self.name,
            "messages": [*system, {"role": "user", "content": asked.prompt.user}],
            "max_tokens": asked.max_new_tokens,
            "temperature": asked.temperature,
            "seed": asked.seed,
            "stream": False,
        }
        if asked.stop:
            body["stop"] = list(asked.stop)
        if asked.tops:
            body |= {"logprobs": True, "top_logprobs": asked.tops}
        return {name: value for name, value in {**body, **self._extra}.items() if value is not None}

    def generate(
        self, passes: Sequence[GeneratePass], each: Each[Generated] | None = None
    ) -> list[Generated | Undefined]:
        """A text for each pass, in their order; `each` is handed every one as it comes."""
        answers: dict[int, Generated | Undefined] = {}

        def hand_over(number: int, answer: Generated | Undefined) -> None:
            answers[number] = answer
            if each is not None:
                each(number, answer)

        def ask(number: int, wire: Wire, crew: Crew[Generated]) -> Generated:
            return self._ask(passes[number], wire, crew)

        Crew(self._wires(len(passes)), ask).work(len(passes), hand_over)
        return [answers[number] for number in range(len(passes))]

    def length(self, request: TextRequest) -> int:
        """Nothing is known of its tokens here: any number of passes is a batch."""
        return 1

    def choose(self, passes: Sequence[ChoicePass], each: Each[Choice] | None = None) -> list[Choice | Undefined]:
        """A label for each pass: the endpoint is asked for one in words, and what it answers is read."""
        choices: dict[int, Choice | Undefined] = {}

        def read(number: int, answer: Generated | Undefined) -> None:
            choices[number] = _choice(answer, passes[number].labels)
            if each is not None:
                each(number, choices[number])

        self.generate([ask_for_label(one, self.logprobs) for one in passes], read)
        return [choices[number] for number in range(len(passes))]

    def likelihoods(self, passes: Sequence[LikelihoodPass]) -> list[FloatArray | Undefined]:
        """Chat completions tell nothing of continuations that are not their own."""
        raise UserError(f"the model {self.name!r} is an endpoint: it gives no likelihoods of given continuations")

    def _written(self, extra: Mapping[str, JSON]) -> str:
        """The extra fields as one text; a UserError if they can't be sent, or must not be kept."""
        if taken := [name for name in _OURS if name in extra]:
            raise UserError(f"extra: {taken[0]!r} is verax's to set")
        try:
            written = canonical_json(extra).decode("utf-8", "replace")
        except (TypeError, ValueError) as error:
            raise UserError(f"extra: it can't be written as JSON: {error}") from None
        if self._key.hide(written) != written:
            raise UserError(f"extra: it holds the key of {self._key.variable}, which would be stored with it")
        return written

    def _wires(self, questions: int) -> list[Wire]:
        headers = {
            "Host": self._address.netloc,
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": "verax",
            **self._key.headers(),
        }
        return [Wire(self._address, self._tls, headers) for _ in range(min(self._concurrency, questions))]

    def _ask(self, asked: GeneratePass, wire: Wire, crew: Crew[Generated]) -> Generated:
        """The text for one pass, with as much patience as was asked for."""
        body = json.dumps(self.body_of(asked)).encode()
        until = monotonic() + self._total_timeout
        trouble, resume, tries = Trouble("timeout", "no request was sent"), 0.0, 0
        while tries <= self._retries and self._waited(crew, resume, until):
            outcome = self._attempt(wire, body, min(until - monotonic(), self._request_timeout))
            if isinstance(outcome, Generated):
                return outcome
            trouble, resume, tries = outcome, monotonic() + self._pause_after(outcome, tries), tries + 1
        if not tries and self._not_before >= until:
            trouble = Trouble("too_many_requests", "the endpoint asked for a longer wait than total_timeout")
        if trouble.reason == "unreachable":
            raise UserError(f"url: {self._address.netloc} can't be reached: {trouble.detail}")
        raise self._counted(Undefined(trouble.reason, f"{trouble.detail} (attempts: {tries})"))

    def _attempt(self, wire: Wire, body: bytes, seconds: float) -> Generated | Trouble:
        try:
            outcome = judge(wire.post(body, seconds, self._spend), self._key)
        except Failed as failed:
            return Trouble(failed.reason, failed.detail)
        except Undefined as undefined:
            raise self._counted(undefined) from None
        if isinstance(outcome, Generated):
            with self._lock:
                self._failures = 0
        return outcome

    def _waited(self, crew: Crew[Generated], resume: float, until: float) -> bool:
        """Wait until `resume`, and until the endpoint wants requests again; False if that is too late."""
        while (moment := max(resume, self._not_before)) > monotonic():
            if moment >= until:
                return False
            crew.pause(moment - monotonic())
        crew.pause(0)
        return monotonic() < until

    def _pause_after(self, trouble: Trouble, tries: int) -> float:
        """Seconds until the next attempt. A wait that the endpoint asks for is for all threads."""
        if not trouble.wait:
            return backoff(tries, self._first_wait)
        with self._lock:
            self._not_before = max(self._not_before, monotonic() + trouble.wait)
        return trouble.wait + random.uniform(0, self._first_wait)  # not all in the same moment

    def _spend(self) -> None:
        """Count a request that is about to be sent."""
        with self._lock:
            if self._max_requests is not None and self._requests >= self._max_requests:
                raise RequestsSpent(
                    f"max_requests: all {self._max_requests} requests of this process are spent; answers that came are "
                    "kept, and the same command goes on from there"
                )
            self._requests += 1

    def _counted(self, undefined: Undefined) -> Undefined:
        """The same, counted: an endpoint that answers nothing is not asked for ever."""
        with self._lock:
            works = undefined.reason in _READ and not isinstance(undefined, CutOff)
            self._failures = 0 if works else self._failures + 1
            if self._failures >= FAILURES_IN_A_ROW:
                raise UserError(
                    f"the endpoint gave no answer to {self._failures} prompts in a row; the last: {undefined}"
                )
        return undefined


def _choice(answer: Generated | Undefined, labels: Sequence[str]) -> Choice | Undefined:
    if isinstance(answer, Undefined):
        return answer
    try:
        return read_choice(answer, labels)
    except Undefined as undefined:
        return undefined


def _at_least(least: float, **fields: float) -> None:
    for name, value in fields.items():
        if not least <= value < math.inf:
            raise UserError(f"{name}: got {value}; it must be a number of at least {least:g}")
