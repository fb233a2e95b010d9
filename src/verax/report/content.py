"""Rows of a run that a report shows, read for the instances of the page and no others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from verax.results.manifest import Manifest
from verax.results.run import Run
from verax.types import Highlight, Instance, Nle, Prediction, Score, Skip

R = TypeVar("R", Skip, Score)


@dataclass(frozen=True)
class Content:
    """Some instances of a run with their rows; each table is read when a section asks for it."""

    run: Run
    ids: Sequence[str]

    @property
    def manifest(self) -> Manifest:
        """The run card."""
        return self.run.manifest

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """Labels of the methods that give scores."""
        return tuple(label for label in self.run.methods if label not in self.run.text_methods)

    @cached_property
    def instances(self) -> list[Instance]:
        """The instances, in the order of their ids."""
        found = {instance.id: instance for instance in self.run.inputs(self.ids)}
        return [found[name] for name in self.ids if name in found]

    @cached_property
    def predictions(self) -> Mapping[str, Prediction]:
        """Predictions by instance."""
        return {row.instance_id: row for row in self.run.predictions(self.ids)}

    @cached_property
    def highlights(self) -> Mapping[tuple[str, str], Highlight]:
        """Explanations by scores, by instance and method."""
        return {(row.instance_id, row.method): row for row in self.run.highlights(self.ids)}

    @cached_property
    def texts(self) -> Mapping[tuple[str, str], Nle]:
        """Free-text explanations by instance and method."""
        return {(row.instance_id, row.method): row for row in self.run.texts(self.ids)}

    @cached_property
    def skips(self) -> Mapping[str, Sequence[Skip]]:
        """Missing explanations by instance."""
        return _by_instance(self.run.skips(self.ids))

    @cached_property
    def scores(self) -> Mapping[str, Sequence[Score]]:
        """Scores by instance."""
        return _by_instance(self.run.score_rows(self.ids))


def _by_instance(rows: Iterable[R]) -> dict[str, list[R]]:
    groups: dict[str, list[R]] = defaultdict(list)
    for row in rows:
        groups[row.instance_id].append(row)
    return groups
