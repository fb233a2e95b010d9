"""The worker of an executor: it prepares the same run as the driver, and computes what it is sent."""

from __future__ import annotations

import copyreg
import os
import platform
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from queue import Empty, SimpleQueue
from types import MappingProxyType
from typing import NamedTuple

from rich.console import Console

from verax.engine.reproducible import reproducible
from verax.run.execute import Execution, Shard, Work, engine_of
from verax.run.plan import Plan
from verax.run.prepare import Recipe
from verax.store.keys import key_of
from verax.store.tables import Row
from verax.types import UserError


def _frozen(mapping: dict[str, object]) -> MappingProxyType[str, object]:
    return MappingProxyType(mapping)


copyreg.pickle(MappingProxyType, lambda mapping: (_frozen, (dict(mapping),)))  # parts of rows are such mappings

PACKAGES = ("verax", "torch", "transformers", "tokenizers", "numpy")
"""Packages of which all workers need the driver's version: rows depend on them."""


class Order(NamedTuple):
    """The missing rows of one input, as a worker is told: it makes the plan of the input itself."""

    instance: str
    todo: AbstractSet[str]
    rows: Mapping[str, Row]


class Ready(NamedTuple):
    """A worker has prepared the run."""


class Begun(NamedTuple):
    """A worker has begun its next shard."""


class Computed(NamedTuple):
    """A row."""

    key: str
    row: Row


class Aborted(NamedTuple):
    """A worker cannot go on, and no other one could: invalid input, or an unexpected error with its traceback."""

    message: str
    is_user_error: bool


class Died(NamedTuple):
    """A worker ended unexpectedly: how, and its last words, if there are any."""

    reason: str
    last_words: str = ""


Message = Ready | Begun | Computed | Aborted
Incoming = SimpleQueue["tuple[Order, ...] | None"]


@dataclass(frozen=True)
class Assignment:
    """What a worker is started with.

    Args:
        recipe: of the run.
        again: keys of stored rows that are computed again.
        expected: hashes of the driver's model and data.
        versions: of the packages in the driver's process.
        paths: of modules, in addition to those that are installed.
        folder: the driver's current one, which relative paths start from.
    """

    recipe: Recipe
    again: frozenset[str]
    expected: Mapping[str, str]
    versions: Mapping[str, str]
    paths: tuple[str, ...]
    folder: str

    @classmethod
    def of(cls, recipe: Recipe, plan: Plan, again: frozenset[str]) -> Assignment:
        """The assignment of every worker of a run."""
        return cls(recipe, again, _hashes(plan), installed_versions(), tuple(sys.path), str(Path.cwd()))

    def plan(self) -> Plan:
        """Prepare the run and plan it; raises UserError if it is not the driver's."""
        for name, there in self.versions.items():
            here = installed_versions()[name]
            if here != there:
                raise UserError(f"it has {name} {here} and the driver {there}: install the same version everywhere")
        enter(self.folder, self.paths)
        prepared = self.recipe.prepare()
        plan = prepared.plan_again(self.again)
        for name, found in _hashes(plan).items():
            if found != self.expected[name]:
                raise UserError(f"its {name} differs from the driver's: give all of them the same files")
        return plan


def enter(folder: str, paths: Sequence[str]) -> None:
    """Go to the driver's current folder, for relative paths, unless this node has none; and import from its paths."""
    sys.path += [path for path in paths if path not in sys.path]
    if Path(folder).is_dir():
        os.chdir(folder)


def installed_versions() -> dict[str, str]:
    """Versions of Python and of the packages that rows depend on."""
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}


def _hashes(plan: Plan) -> dict[str, str]:
    inputs = [plan.instance_key(instance) for instance in plan.run.data.instances]
    return {"model": key_of(**plan.run.model.fingerprint), "data": key_of(inputs=inputs)}


def orders(shard: Shard) -> tuple[Order, ...]:
    """A shard as it is sent to a worker."""
    return tuple(Order(one.planned.instance.id, frozenset(one.todo), dict(one.rows)) for one in shard)


def serve(assignment: Assignment, emit: Callable[[Message], None], incoming: Incoming) -> None:
    """Compute everything that arrives until None does.

    Args:
        emit: called with each message to the driver; may block while the driver is busy.
        incoming: shards, in the order in which they are computed.
    """
    try:
        plan = assignment.plan()
        with reproducible(plan.run.model):
            engine = engine_of(plan)
            for provider in plan.providers:
                provider.prepare(engine, Console(quiet=True))
            execution = Execution(plan, engine)
            emit(Ready())
            stream = _Stream(plan, incoming, lambda: emit(Begun()))
            while stream.wait():
                for key, row in execution.rows(stream.works()):
                    emit(Computed(key, row))
    except UserError as error:
        emit(Aborted(str(error), is_user_error=True))
    except Exception:  # noqa: BLE001 - the driver raises it
        emit(Aborted(traceback.format_exc(), is_user_error=False))


class _Stream:
    """Work as it arrives. What is there already is pooled; the engine never waits for more while it has some."""

    def __init__(self, plan: Plan, incoming: Incoming, on_begun: Callable[[], None]) -> None:
        self._plan, self._incoming, self._on_begun = plan, incoming, on_begun
        self._instances = {instance.id: instance for instance in plan.run.data.instances}
        self._next: tuple[Order, ...] | None = None

    def wait(self) -> bool:
        """Wait for the next shard; False if there will be none."""
        self._next = self._incoming.get()
        return self._next is not None

    def works(self) -> Iterator[Work]:
        """The shard that was waited for and all that have arrived by the time it is begun."""
        while self._next is not None:
            self._on_begun()
            yield from map(self._work, self._next)
            try:
                self._next = self._incoming.get_nowait()
            except Empty:
                return
            if self._next is None:
                self._incoming.put(None)  # for `wait`

    def _work(self, order: Order) -> Work:
        planned = self._plan.planned(self._instances[order.instance])
        unknown = order.todo - set(planned.row_keys())
        if unknown:
            raise UserError(f"its plan of input {order.instance!r} differs from the driver's")
        return Work(planned, order.todo, order.rows, {})
