"""A study: one way of analysing runs, with the preset that produces them and the tables and figures it gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from verax.registry import entries, resolve
from verax.results.figure import Figure
from verax.results.table import Table
from verax.types import Preset

if TYPE_CHECKING:
    from verax.results.run import Run

R = TypeVar("R")


def _nothing(_: Any) -> tuple[Any, ...]:
    return ()


def _no_verdict(_: Any) -> None:
    return None


def _never(_: Any) -> bool:
    return False


@dataclass(frozen=True)
class Study(Generic[R]):
    """A protocol of evaluation.

    Args:
        name: as in `verax show --study NAME`.
        title: heading of its section in the report.
        summary: one sentence for `verax list studies`.
        analyse: the result of one run, or of several that can be compared; None for runs that the study does not apply
            to. Runs that cannot be compared are rejected with a UserError that names the difference.
        findings: sentences that follow from a result, most important first.
        reading: how to read tables and figures, a sentence or two each.
        verdict: what follows for each method, a row each; shown before everything else.
        exports: long tables that are made only where `verax show --table NAME` asks for them.
        order: position among the sections of a report.
        claims: whether no other study is meant for some runs, such as those that measure metrics and not methods.
    """

    name: str
    title: str
    summary: str
    analyse: Callable[[Sequence[Run]], R | None]
    tables: Callable[[R], Sequence[Table]]
    figures: Callable[[R], Sequence[Figure]] = _nothing
    findings: Callable[[R], Sequence[str]] = _nothing
    reading: Callable[[R], Sequence[str]] = _nothing
    verdict: Callable[[R], Table | None] = _no_verdict
    exports: Mapping[str, Callable[[R], Table]] = field(default_factory=dict)
    presets: tuple[Preset, ...] = ()
    reference: str = ""
    order: int = 100
    claims: Callable[[Sequence[Run]], bool] = _never

    def apply(self, runs: Sequence[Run]) -> Findings | None:
        """The findings of some runs; None where the study does not apply."""
        result = self.analyse(runs)
        return None if result is None else self.findings_of(result)

    def findings_of(self, result: R) -> Findings:
        """Tables, figures and sentences of a result."""
        return Findings(
            self,
            tuple(self.tables(result)),
            tuple(self.figures(result)),
            tuple(self.findings(result)),
            tuple(self.reading(result)),
            self.verdict(result),
            {name: partial(make, result) for name, make in self.exports.items()},
        )


@dataclass(frozen=True)
class Findings:
    """Tables, figures and sentences of a study of some runs."""

    study: Study[Any]
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...]
    sentences: tuple[str, ...]
    reading: tuple[str, ...]
    verdict: Table | None = None
    exports: Mapping[str, Callable[[], Table]] = field(default_factory=dict)

    @property
    def all_tables(self) -> tuple[Table, ...]:
        """The verdict, if there is one, and the other tables."""
        return (*((self.verdict,) if self.verdict is not None else ()), *self.tables)


def studies(runs: Sequence[Run] = ()) -> list[Study[Any]]:
    """All registered studies that may apply to some runs, in the order of the report."""
    found: list[Study[Any]] = [resolve("studies", name) for name in entries("studies")]
    claiming = [study for study in found if runs and study.claims(runs)]
    return sorted(claiming or found, key=lambda study: (study.order, study.name))
