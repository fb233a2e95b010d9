"""The words of the inputs of a run, as often as they occur, for tests that draw random words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from verax.engine.protocols import Metric
from verax.run.context import RunContext
from verax.run.parameters import Configured
from verax.run.providers import Provider, Request
from verax.store.keys import hash_bytes

WORDS_FROM = 500
"""Words are those of this many inputs, however few of them are explained: a larger limit changes no score."""


class VocabularyProvider(Provider):
    """The words of the first inputs of the data, before it was limited."""

    def __init__(self, run: RunContext, metrics: Sequence[Configured[Any]], others: Mapping[str, Provider]) -> None:
        super().__init__(run, metrics, others)
        instances = run.wide_data.instances[:WORDS_FROM]
        self._words = tuple(word for instance in instances for part in instance.parts for word in part.words)
        self._key = hash_bytes("\n".join(self._words).encode("utf-8", "surrogatepass"))

    def key(self, metric: Configured[Metric]) -> str:
        """Hash of the words."""
        return self._key

    def provide(self, request: Request) -> Sequence[str]:
        """All words."""
        return self._words
