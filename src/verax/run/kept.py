"""An endpoint whose answers are kept as they come: what is paid for is asked once, whatever happens to the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from verax.models.endpoint import Endpoint
from verax.models.endpoint_choice import ask_for_label, read_choice
from verax.models.generator import Choice, ChoicePass, GeneratePass, LikelihoodPass, TextRequest
from verax.store.keys import key_of
from verax.store.store import Store
from verax.types import FloatArray, Generated, Undefined


class Kept:
    """A text generator that looks into the store before it asks. Only texts are kept, never what stands in their way.

    `open_with` hands the store over; before that nothing is known and nothing is kept.
    """

    gives_likelihoods = False

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._store: Store | None = None
        self._known: dict[str, Generated] = {}
        self.name, self.fingerprint, self.about = endpoint.name, endpoint.fingerprint, endpoint.about

    def open_with(self, store: Store) -> None:
        """Read what was answered before, and keep from now on what comes."""
        self._store = store
        self._known = {key: row for key, row in store.rows() if isinstance(row, Generated)}

    @property
    def requests(self) -> int:
        """How many requests were sent by this process."""
        return self._endpoint.requests

    def length(self, request: TextRequest) -> int:
        """As many passes as there are can be request at once."""
        return self._endpoint.length(request)

    def generate(self, passes: Sequence[GeneratePass]) -> list[Generated | Undefined]:
        """A text for each pass: the one that is kept, or else a new one, which is kept before anybody sees it."""
        return self._found(passes, lambda *_: None)

    def choose(self, passes: Sequence[ChoicePass]) -> list[Choice | Undefined]:
        """A label for each pass; an answer that names none is not kept."""
        labels = [one.labels for one in passes]
        asked = [ask_for_label(one, self._endpoint.logprobs) for one in passes]
        found = self._found(asked, lambda number, answer: read_choice(answer, labels[number]))
        return [
            one if isinstance(one, Undefined) else read_choice(one, labels[number]) for number, one in enumerate(found)
        ]

    def _found(
        self, passes: Sequence[GeneratePass], check: Callable[[int, Generated], object]
    ) -> list[Generated | Undefined]:
        """What is kept or answered; an answer that `check` finds undefined is one that can't be had."""
        texts = self._endpoint.decides_texts
        keys = [
            self._place(key_of(row="answer", model=texts, body=self._endpoint.body_of(one)), partial(check, number))
            for number, one in enumerate(passes)
        ]
        new = {key: number for number, key in enumerate(keys) if key not in self._known}
        asked, missing = list(new), dict[str, Undefined]()

        def keep(place: int, answer: Generated | Undefined) -> None:
            key = asked[place]
            try:
                if isinstance(answer, Undefined):
                    raise answer
                check(new[key], answer)
            except Undefined as undefined:
                missing[key] = undefined
                return
            self._known[key] = answer
            if self._store is not None and key not in self._store.keys:
                self._store.append(key, answer)

        if new:
            self._endpoint.generate([passes[number] for number in new.values()], keep)
        return [self._known.get(key) or missing[key] for key in keys]

    def _place(self, key: str, check: Callable[[Generated], object]) -> str:
        """Where an answer that can be read is kept, or is to be: what an earlier version could read may be none now."""
        while (known := self._known.get(key)) is not None:
            try:
                check(known)
            except Undefined:
                key = key_of(again=key)
            else:
                break
        return key

    def likelihoods(self, passes: Sequence[LikelihoodPass]) -> list[FloatArray | Undefined]:
        """Refused, as by every endpoint."""
        return self._endpoint.likelihoods(passes)
