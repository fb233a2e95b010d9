"""What the sections of a report show of a run: rows are read for the instances that the page holds, and no others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from verax.results.manifest import Manifest
from verax.results.run import Run
from verax.types import Alignment, Highlight, Instance, Nle, Prediction, Score, Skip


@dataclass(frozen=True)
class Content:
    """A run as sections of a report use it.

    Args:
        run: the run.
        limit: number of instances that the page shows at most.
    """

    run: Run
    limit: int

    @property
    def manifest(self) -> Manifest:
        """What was run."""
        return self.run.manifest

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """Labels of the methods that give scores."""
        return tuple(label for label in self.run.methods if label not in self.text_methods)

    @property
    def text_methods(self) -> tuple[str, ...]:
        """Labels of the methods that explain in free text."""
        return self.run.text_methods

    @property
    def total(self) -> int:
        """Number of instances of the run."""
        return len(self.run.instances)

    @cached_property
    def shown(self) -> Sequence[Instance]:
        """The first instances of the run, as many as the page shows."""
        return self.inputs(self.run.instances.ids[: self.limit])

    def inputs(self, ids: Sequence[str]) -> list[Instance]:
        """Instances by their ids, in that order."""
        found = {instance.id: instance for instance in self.run.inputs(ids)}
        return [found[one] for one in ids if one in found]

    @cached_property
    def _ids(self) -> list[str]:
        return [instance.id for instance in self.shown]

    @cached_property
    def predictions(self) -> Mapping[str, Prediction]:
        """Predictions for the instances shown."""
        return {row.instance_id: row for row in self.run.predictions(self._ids)}

    @cached_property
    def highlights(self) -> Mapping[tuple[str, str], Highlight]:
        """Explanations of the instances shown, by instance and method."""
        return {(row.instance_id, row.method): row for row in self.run.highlights(self._ids)}

    @cached_property
    def texts(self) -> Mapping[tuple[str, str], Nle]:
        """Free-text explanations of the instances shown, by instance and method."""
        return {(row.instance_id, row.method): row for row in self.run.texts(self._ids)}

    @cached_property
    def skips(self) -> Mapping[str, Sequence[Skip]]:
        """Missing explanations of the instances shown, by instance."""
        found: dict[str, list[Skip]] = defaultdict(list)
        for row in self.run.skips(self._ids):
            found[row.instance_id].append(row)
        return found

    @cached_property
    def scores(self) -> Mapping[str, Sequence[Score]]:
        """Scores of the instances shown, by instance."""
        found: dict[str, list[Score]] = defaultdict(list)
        for row in self.run.score_rows(self._ids):
            found[row.instance_id].append(row)
        return found

    def of(self, instances: Sequence[Instance]) -> View:
        """Explanations, predictions and alignments of other instances than those shown."""
        return View(self, tuple(instance.id for instance in instances))


@dataclass(frozen=True)
class View:
    """Rows of some instances of a run."""

    content: Content
    ids: tuple[str, ...]

    @cached_property
    def highlights(self) -> Mapping[tuple[str, str], Highlight]:
        """Explanations by instance and method."""
        return {(row.instance_id, row.method): row for row in self.content.run.highlights(self.ids)}

    @cached_property
    def predictions(self) -> Mapping[str, Prediction]:
        """Predictions by instance."""
        return {row.instance_id: row for row in self.content.run.predictions(self.ids)}

    @cached_property
    def scores(self) -> Mapping[str, Sequence[Score]]:
        """Scores by instance."""
        found: dict[str, list[Score]] = defaultdict(list)
        for row in self.content.run.score_rows(self.ids):
            found[row.instance_id].append(row)
        return found

    @cached_property
    def alignments(self) -> Sequence[Alignment]:
        """Word alignments of these instances."""
        return self.content.run.alignments(self.ids)
