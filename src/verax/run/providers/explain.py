"""The method itself, for metrics that explain again what is left of an input."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from verax.engine.protocols import Explain, Method, Metric, as_generator
from verax.methods.token.random import Random
from verax.models.subject import Subject
from verax.run.parameters import Configured
from verax.run.plan import passes_of
from verax.run.providers import Provider, Request
from verax.types import Highlight, Passes


class ExplainProvider(Provider):
    """The method of an explanation; None if it was made elsewhere, or if its method is recursive."""

    def passes(self, metric: Configured[Metric], method: Method | None, n: int) -> Iterator[Passes]:
        """Passes of each explanation of what is left."""
        if method is not None and not _is_recursive(method):
            again: list[int] = metric.component.explained_again(n)  # type: ignore[attr-defined]
            yield from (passes_of(method, left, self.run.model) for left in again)

    def provide(self, request: Request) -> Explain | None:
        """The method, as a function of what is left."""
        method = request.explanation.method
        if method is None or _is_recursive(method.component):
            return None
        return _explaining(method.component)

    @classmethod
    def example(cls, metric: Any, subjects: Sequence[Subject]) -> Callable[[Subject, Highlight], Explain]:
        """Random scores."""
        return lambda x, highlight: _explaining(Random())


def _explaining(method: Method) -> Explain:
    return lambda x: as_generator(method, x)


def _is_recursive(method: Method) -> bool:
    """Whether the order of a method already accounts for what was removed before."""
    return bool(getattr(method, "recursive", False))
