"""A study: one way of analysing runs, with the preset that produces them and the tables and figures it gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Study(Generic[R]):
    """A protocol of evaluation.

    Args:
        name: as in `verax show --study NAME`.
        title: heading of its section in the report.
        summary: one sentence for `verax list studies`.
        analyse: the result of one run, or of several that belong together; None for runs that the study does not
            apply to. Runs that do not belong together are refused with a UserError that names the difference.
        tables, figures: what people read of a result.
        findings: sentences that follow from a result, most important first.
        reading: how to read tables and figures, a sentence or two each.
        presets: specs that produce runs for it.
        reference: the publication.
        order: position among the sections of a report.
    """

    name: str
    title: str
    summary: str
    analyse: Callable[[Sequence[Run]], R | None]
    tables: Callable[[R], Sequence[Table]]
    figures: Callable[[R], Sequence[Figure]] = _nothing
    findings: Callable[[R], Sequence[str]] = _nothing
    reading: Callable[[R], Sequence[str]] = _nothing
    presets: tuple[Preset, ...] = ()
    reference: str = ""
    order: int = 100

    def apply(self, runs: Sequence[Run]) -> Findings | None:
        """Everything that people read of some runs; None where the study does not apply."""
        result = self.analyse(runs)
        return None if result is None else self.findings_of(result)

    def findings_of(self, result: R) -> Findings:
        """What people read of a result."""
        return Findings(
            self,
            tuple(self.tables(result)),
            tuple(self.figures(result)),
            tuple(self.findings(result)),
            tuple(self.reading(result)),
        )


@dataclass(frozen=True)
class Findings:
    """What a study shows of some runs."""

    study: Study[Any]
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...]
    sentences: tuple[str, ...]
    reading: tuple[str, ...]


def studies() -> list[Study[Any]]:
    """All registered studies, in the order of the report."""
    found: list[Study[Any]] = [resolve("studies", name) for name in entries("studies")]
    return sorted(found, key=lambda study: (study.order, study.name))
