"""Providers: whatever a metric needs beyond its one explanation.

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
from verax.store.keys import JSON
from verax.store.tables import Row
from verax.types import Highlight, Nle, Passes, UserError

if TYPE_CHECKING:
    from verax.run.plan import Outline, Plan, PlannedExplanation, PlannedInstance, PlannedScore


class Part(NamedTuple):
    """What a provider contributes to one planned score.

    Args:
        keys: keys that are hashed into the score's own.
        rows: keys of rows that must be there before the provider can provide.
    """

    keys: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()


class Request(NamedTuple):
    """One explanation that is about to be measured.

    Args:
        explanation, score: as planned.
        row: the explanation.
        x: the input that it explains.
        rows: by key, the rows that `Part.rows` named.
    """

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
    """What deferred providers work with once every explanation is stored.

    Args:
        present: keys of the rows that are stored.
        read: planned instances, each with its stored rows among those that a function names.
        folder: of the run.
    """

    plan: Plan
    present: AbstractSet[str]
    read: Callable[[Callable[[PlannedInstance], Iterable[str]]], Iterator[tuple[PlannedInstance, Mapping[str, Row]]]]
    folder: Path
    console: Console


class Provider:
    """Supplies all metrics of a run that need it; a subclass overrides what it has to say.

    Made when a run is prepared: it may load and check, and raise UserError, but it computes nothing.

    Args:
        run: the run.
        metrics: the metrics that need it, and requests for its products.
        others: the providers that it needs itself, by name.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    """Names of providers that it needs itself."""
    deferred: ClassVar[bool] = False
    """Whether it has to wait until every explanation is stored; then `after` is called, and `provide` afterwards."""
    selective: ClassVar[bool] = False
    """Whether `part` leaves instances out; metrics that need it come last among the scores of an explanation."""
    request: ClassVar[type | None] = None
    """Dataclass of the parameters by which a spec can ask for its products; metrics that need it have them too."""
    owns_seed: ClassVar[bool] = False
    """Whether the seed of a metric decides what is provided, and not what the metric makes of it."""

    def __init__(self, run: RunContext, metrics: Sequence[Configured[Any]], others: Mapping[str, Provider]) -> None:
        self.run, self.metrics, self.others = run, tuple(metrics), others

    def key(self, metric: Configured[Metric]) -> JSON:
        """Everything that determines what is provided to a metric, alike for all instances; None if nothing does."""
        return None

    def survey(self, plan: Plan) -> None:
        """Look through the outlines of a plan, if keys depend on more than one instance."""

    def part(self, metric: Configured[Metric], outline: Outline, label: str) -> Part | None:
        """What it contributes to the score of one explanation; None if the metric does not measure the instance."""
        return Part()

    def passes(self, metric: Configured[Metric], method: Method | None, n: int) -> Iterable[Passes]:
        """Passes that the metric asks for on top of its own, on an input of n units, because of what is provided."""
        return ()

    def prepare(self, engine: Engine, console: Console) -> None:
        """Compute what is needed before the first instance; called only if rows are missing."""

    def provide(self, request: Request) -> Any:
        """What the metric is handed for one explanation; raises Undefined with the reason if there is nothing."""
        raise NotImplementedError

    def products(self) -> Iterable[str]:
        """Keys of rows that `after` stores."""
        return ()

    def after(self, stage: Stage) -> Iterable[tuple[str, Row]]:
        """The products that are not stored yet, with their keys; whatever else `provide` needs is computed too."""
        return ()

    def announcement(self) -> str | None:
        """What it is going to compute, for a person who starts the run."""
        return None

    def card(self) -> Mapping[str, Any]:
        """Entries of the run card."""
        return {}

    @classmethod
    def example(cls, metric: Any, subjects: Sequence[Subject]) -> Callable[[Subject, Highlight], Any]:
        """What a metric is handed when `check_metric` tries it on some inputs: a function of one explanation."""
        raise UserError(f"{cls.__name__} has no example of what it provides: define {cls.__name__}.example")


def find_provider(name: str) -> type[Provider] | None:
    """The provider of verax with a name, if there is one."""
    module = f"{__name__}.{name}"
    if not name.isidentifier() or find_spec(module) is None:
        return None
    classes = [value for value in vars(importlib.import_module(module)).values() if isinstance(value, type)]
    return next(one for one in classes if issubclass(one, Provider) and one.__module__ == module)


def provider_class(component: Any, name: str) -> type[Provider]:
    """The provider that a metric, or a provider that it needs, means by a name."""
    own: Mapping[str, type[Provider]] = getattr(component, "providers", {})
    found = own.get(name) or find_provider(name)
    if found is None:
        raise UserError(
            f"{type(component).__name__} needs {name!r}, and there is no such provider; a metric brings its own in "
            "`providers`"
        )
    return found


def needed_by(component: Any) -> dict[str, type[Provider]]:
    """The providers of a metric by name, those that others need first."""
    found: dict[str, type[Provider]] = {}

    def add(name: str) -> None:
        if name not in found:
            cls = provider_class(component, name)
            for inner in sorted(cls.needs):
                add(inner)
            found[name] = cls

    for name in sorted(needs(component)):
        add(name)
    return found


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

    def of(self, metric: Configured[Any]) -> Mapping[str, Provider]:
        """The providers of a metric by name, those that others need first."""
        return self._of[metric.label]
