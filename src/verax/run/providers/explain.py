"""The method of an explanation, for metrics that explain the rest of an input again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from verax.engine.protocols import Explain, Method, Metric, RandomDraws, as_generator
from verax.methods.baselines import RandomScores
from verax.models.subject import Subject
from verax.run.parameters import Configured
from verax.run.plan import passes_of
from verax.run.providers import Provider, Request
from verax.types import Highlight, Passes


class ExplainProvider(Provider):
    """The method of an explanation; None if it was made elsewhere, or if its method is recursive."""

    def passes(self, metric: Configured[Metric], method: Method | None, n: int) -> Iterator[Passes]:
        """Passes of each further explanation, and of each further random masking."""
        if method is not None and _is_random(method):
            yield Passes((getattr(metric.component, "maskings", 1) - 1) * metric.component.passes(n).forward, 0)
        elif method is not None and not _is_recursive(method):
            again: list[int] = metric.component.explained_again(n)  # type: ignore[attr-defined]
            yield from (passes_of(method, left, self.run.model) for left in again)

    def provide(self, request: Request) -> Explain | RandomDraws | None:
        """The method as a function of an input, or the seed of a random one."""
        method = request.explanation.method
        if method is not None and _is_random(method.component):
            return RandomDraws(method.component.seed)  # type: ignore[attr-defined]
        if method is None or _is_recursive(method.component):
            return None
        return _explaining(method.component)

    @classmethod
    def example(cls, metric: Any, subjects: Sequence[Subject]) -> Callable[[Subject, Highlight], Explain]:
        """Random scores."""
        return lambda x, highlight: _explaining(RandomScores())


def _explaining(method: Method) -> Explain:
    return lambda x: as_generator(method, x)


def _is_random(method: Method) -> bool:
    return isinstance(method, RandomScores)


def _is_recursive(method: Method) -> bool:
    """Whether the order of a method already accounts for words removed before."""
    return bool(getattr(method, "recursive", False))
