"""Scores across languages: words are aligned once all explanations are there, and translations are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console

from verax.engine.engine import Outcome
from verax.metrics.crosslingual.crosslingual_faithfulness import Translated
from verax.run.execute import Explained, as_score
from verax.run.plan import Plan, PlannedScore
from verax.run.progress import counting
from verax.run.translations import OpenAligner, PlannedAlignment
from verax.store.store import Store
from verax.types import Alignment, Cost, Highlight, Instance, Measured, Skip, Undefined


@dataclass
class Translating:
    """The alignments of a run, and the scores that come of them.

    Args:
        aligners: who aligns, by the label of the metric that needs it.
        console: for how far it is.
    """

    plan: Plan
    store: Store
    aligners: Mapping[str, OpenAligner]
    console: Console
    _todo: dict[str, list[tuple[Instance, PlannedScore]]] = field(default_factory=dict)

    def run(self) -> None:
        """Align what is not aligned yet, and add the scores that are not there yet."""
        for planned in self.plan.instances:
            for explanation in planned.explanations:
                for score in explanation.scores:
                    if score.metric.label in self.aligners and score.key not in self.store.keys:
                        self._todo.setdefault(explanation.key, []).append((planned.instance, score))
        self._align()
        if self._todo:
            self._score()

    def _align(self) -> None:
        """Add the alignments of one aligner after the other; each is kept as soon as it is there."""
        by_aligner: dict[str, list[PlannedAlignment]] = {}
        for planned in self.plan.alignments:
            by_aligner.setdefault(planned.aligner, []).append(planned)
        opened = {aligner.key: aligner for aligner in self.aligners.values()}
        for key, planned_by in by_aligner.items():
            missing = [planned for planned in planned_by if planned.key not in self.store.keys]
            if missing:  # who learns from all of them has to see them all again
                self._align_by(opened[key], planned_by if opened[key].learns else missing)

    def _align_by(self, aligner: OpenAligner, todo: Sequence[PlannedAlignment]) -> None:
        # translations of one input come together, whatever the order of the data: what is aligned is kept at once
        todo = sorted(todo, key=lambda planned: planned.reference.id)
        with counting(f"aligning words by {aligner.label}", len(todo), self.console) as advance:
            for planned, links in zip(todo, aligner.align(todo), strict=True):
                who = (planned.instance.id, planned.reference.id, aligner.label)
                advance()
                if planned.key in self.store.keys:
                    continue
                if isinstance(links, Undefined):
                    self.store.append(planned.key, Alignment(*who, (), links.reason, links.detail))
                else:
                    self.store.append(planned.key, Alignment(*who, links))

    def _score(self) -> None:
        """Add the scores. Explanations of the reference language are held, those of others are read one by one."""
        planned = [score for scores in self._todo.values() for _, score in scores]
        held = {key for score in planned for key in (score.reference, score.alignment)}
        kinds = (Highlight, Skip, Alignment)
        found = {key: row for key, row in self.store.rows(held) if isinstance(row, kinds)}
        instances = {planned.instance.id: planned.instance for planned in self.plan.instances}
        for key, row in self.store.rows(self._todo):
            if isinstance(row, (Highlight, Skip)):
                for instance, score in self._todo[key]:
                    outcome = _outcome(instance, row, score, found, instances)
                    self.store.append(score.key, as_score(instance.id, row.method, score.metric.label, outcome))


def _outcome(
    instance: Instance,
    row: Explained,
    score: PlannedScore,
    found: Mapping[str, Explained | Alignment],
    instances: Mapping[str, Instance],
) -> Outcome[Measured]:
    """The value of one score, or why there is none."""
    metric: Any = score.metric.what
    try:
        if not score.reference:
            raise Undefined("no_reference", f"it has no translation into {metric.reference_lang!r}")
        if isinstance(row, Skip):
            raise Undefined(row.reason, row.detail)
        reference: Any = found[score.reference]
        alignment: Any = found[score.alignment]
        if isinstance(reference, Skip):
            raise Undefined(reference.reason, f"{reference.instance_id}: {reference.detail}")
        if alignment.reason is not None:
            raise Undefined(alignment.reason, alignment.detail)
        translated = Translated(instances[reference.instance_id], reference, alignment.links)
        return Outcome(metric.measured(instance, row, translated), None, Cost())
    except Undefined as why:
        return Outcome(None, why, Cost())
