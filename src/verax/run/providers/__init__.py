"""Providers: what a metric needs beyond its one explanation.

A metric names its providers in `needs`, and is called with what each provides as a keyword argument of that name. The
providers of verax are the modules of this package: the module `budget` holds the provider `budget`. A metric of another
package brings its own in `providers: ClassVar[Mapping[str, type[Provider]]]`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from rich.console import Console

from verax.engine.engine import Engine
from verax.engine.protocols import Method, Metric, needs
from verax.models.subject import Subject
from verax.run.context import RunContext
from verax.run.parameters import Configured
from verax.run.placement import Placement
from verax.store.keys import JSON
from verax.store.tables import Row
from verax.types import Highlight, Nle, Passes, UserError

if TYPE_CHECKING:
    from verax.run.plan import Outline, Plan, PlannedExplanation, PlannedInstance, PlannedScore
    from verax.run.prepare import Recipe


class Part(NamedTuple):
    """Contribution of a provider to one planned score.

    Args:
        keys: keys that are hashed into the score's own.
        rows: keys of rows that the provider needs before it can provide.
    """

    keys: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()


class Request(NamedTuple):
    """One explanation to measure: its plan, its row, its input, and the rows named by `Part.rows`, by key."""

    explanation: PlannedExplanation
    score: PlannedScore
    row: Highlight | Nle
    x: Subject
    rows: Mapping[str, Row]

    @property
    def metric(self) -> Configured[Metric]:
        """The metric that will measure it."""
        return self.score.metric


@dataclass(frozen=True)
class Stage:
    """The stage after all explanations are stored, for deferred providers.

    Args:
        present: keys of the rows that are stored.
        read: planned instances, each with its stored rows among those that a function names.
        folder: of the run.
        placement: where the run is computed.
        recipe: of the run, for workers that prepare it again.
    """

    plan: Plan
    present: AbstractSet[str]
    read: Callable[[Callable[[PlannedInstance], Iterable[str]]], Iterator[tuple[PlannedInstance, Mapping[str, Row]]]]
    folder: Path
    console: Console
    placement: Placement
    recipe: Recipe


class Provider:
    """Supplies all metrics of a run that need it.

    Constructed when a run is prepared: it may load and check, and raise UserError, but it computes nothing.

    Args:
        run: the run.
        metrics: the metrics that need it, and requests for its products.
        others: the providers in `needs`, by name.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    """Names of providers that it needs itself."""
    deferred: ClassVar[bool] = False
    """Whether it waits until all explanations are stored; then `after` is called, and `provide` afterwards."""
    selective: ClassVar[bool] = False
    """Whether `part` leaves out instances; metrics that need it are the last scores of an explanation."""
    request: ClassVar[type | None] = None
    """Dataclass of parameters with which a spec requests its products; metrics that need it have them too."""
    owns_seed: ClassVar[bool] = False
    """Whether the seed of a metric affects the provider only."""

    def __init__(self, run: RunContext, metrics: Sequence[Configured[Any]], others: Mapping[str, Provider]) -> None:
        self.run, self.metrics, self.others = run, tuple(metrics), others

    def key(self, metric: Configured[Metric]) -> JSON:
        """The part of the score's key that all instances share; None if there is none."""
        return None

    @property
    def learns(self) -> bool:
        """Whether scores of one input depend on the other inputs of the run."""
        return False

    def survey(self, plan: Plan) -> None:
        """Read the outlines of a plan, for keys that depend on more than one instance."""

    def part(self, metric: Configured[Metric], outline: Outline, label: str) -> Part | None:
        """Contribution to the score of one explanation; None if the metric does not measure the instance."""
        return Part()

    def passes(self, metric: Configured[Metric], method: Method | None, n: int) -> Iterable[Passes]:
        """Further passes of the metric on an input of n units, caused by what is provided."""
        return ()

    def preparation(self) -> Iterable[tuple[int, Passes]]:
        """Passes that `prepare` takes at most: words of an input, and passes about it."""
        return ()

    def prepare(self, engine: Engine, console: Console) -> None:
        """Prepare before the first instance; called only if rows are missing."""

    def provide(self, request: Request) -> Any:
        """The argument of the metric for one explanation; raises Undefined if there is none."""
        raise NotImplementedError

    def products(self) -> Iterable[str]:
        """Keys of rows that `after` stores."""
        return ()

    def after(self, stage: Stage) -> Iterable[tuple[str, Row]]:
        """Compute what `provide` needs; yields the products that are not stored yet, with their keys."""
        return ()

    def announcement(self) -> str | None:
        """A line about the work ahead, printed before the run starts."""
        return None

    def card(self) -> Mapping[str, Any]:
        """Entries of the run card."""
        return {}

    @classmethod
    def example(cls, metric: Any, subjects: Sequence[Subject]) -> Callable[[Subject, Highlight], Any]:
        """For `check_metric`: a function from an explanation to an example of what is provided."""
        raise UserError(f"{cls.__name__} has no example of what it provides: define {cls.__name__}.example")


def find_provider(name: str) -> type[Provider] | None:
    """The built-in provider of a name, if there is one."""
    module = f"{__name__}.{name}"
    if not name.isidentifier() or find_spec(module) is None:
        return None
    classes = [value for value in vars(importlib.import_module(module)).values() if isinstance(value, type)]
    return next(one for one in classes if issubclass(one, Provider) and one.__module__ == module)


def provider_class(component: Any, name: str) -> type[Provider]:
    """The provider of a name: the component's own, or else the built-in one."""
    own: Mapping[str, type[Provider]] = getattr(component, "providers", {})
    provider = own.get(name) or find_provider(name)
    if provider is None:
        raise UserError(
            f"{type(component).__name__} needs {name!r}, and there is no such provider; a metric brings its own in "
            "`providers`"
        )
    return provider


def needed_by(component: Any) -> dict[str, type[Provider]]:
    """The providers of a metric by name, in an order in which each comes after those that it needs."""
    ordered: dict[str, type[Provider]] = {}

    def add(name: str) -> None:
        if name not in ordered:
            cls = provider_class(component, name)
            for inner in sorted(cls.needs):
                add(inner)
            ordered[name] = cls

    for name in sorted(needs(component)):
        add(name)
    return ordered


class Providers:
    """The providers of a run: one of each class, which serves all metrics that need it."""

    def __init__(self, run: RunContext) -> None:
        users: dict[type[Provider], list[Configured[Any]]] = {}
        classes: dict[str, dict[str, type[Provider]]] = {}
        for metric in run.metrics:
            classes[metric.label] = needed_by(metric.component)
            for cls in classes[metric.label].values():
                users.setdefault(cls, []).append(metric)
        for product in run.products:
            users.setdefault(provider_class(product.component, product.name), []).append(product)
        self._all: dict[type[Provider], Provider] = {}
        for cls, metrics in users.items():
            others = {name: self._all[provider_class(metrics[0].component, name)] for name in cls.needs}
            self._all[cls] = cls(run, metrics, others)
        self._of = {label: {name: self._all[cls] for name, cls in named.items()} for label, named in classes.items()}

    def __iter__(self) -> Iterator[Provider]:
        return iter(self._all.values())

    def arguments(self, request: Request, *, deferred: bool) -> dict[str, Any]:
        """Arguments of a metric by name, from its deferred providers or from the others."""
        named = self.of(request.metric).items()
        wanted = needs(request.metric.component)
        return {name: one.provide(request) for name, one in named if name in wanted and one.deferred is deferred}

    def of(self, metric: Configured[Any]) -> Mapping[str, Provider]:
        """The providers of a metric by name, in the order of `needed_by`."""
        return self._of[metric.label]
