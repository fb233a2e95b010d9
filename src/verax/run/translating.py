"""Scores across languages: words are aligned once all explanations are there, and translations are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console

from verax.engine.engine import Outcome
from verax.metrics.crosslingual.crosslingual_faithfulness import scores_of_words
from verax.metrics.ranking import needs_tokens
from verax.run.execute import Explained, as_score
from verax.run.plan import Plan, PlannedScore
from verax.run.progress import progress_counter
from verax.run.translations import OpenAligner, PlannedAlignment
from verax.store.store import Store
from verax.types import Alignment, Cost, FloatArray, Highlight, Instance, IntArray, Measured, Skip, Undefined

MOST_HELD = 2**24
"""How many scores of words are held while a run goes on; explanations beyond that are read again when it is their turn.

In a table of a paper each has some thirty words, so that these are half a million explanations, in 200 MB."""


class _WordScores(NamedTuple):
    """What is held of an explanation: the score of each word, shape [words], or why there is none."""

    instance_id: str
    method: str
    scores: FloatArray | Undefined


@dataclass
class Translating:
    """The alignments of a run, and the scores that come of them.

    Reading explanations back takes longer than comparing them: they are held, as far as there is room, from when they
    are made (`keep`).

    Args:
        aligners: who aligns, by the label of the metric that needs it.
        console: for how far it is.
    """

    plan: Plan
    store: Store
    aligners: Mapping[str, OpenAligner]
    console: Console
    _todo: dict[str, list[PlannedScore]] = field(init=False, default_factory=dict)
    _references: set[str] = field(init=False)
    _instances: dict[str, Instance] = field(init=False)
    _held: dict[str, _WordScores] = field(init=False, default_factory=dict)
    _links: dict[str, IntArray | Undefined] = field(init=False, default_factory=dict)
    _room: int = field(init=False)

    def __post_init__(self) -> None:
        self._room = MOST_HELD
        for planned in self.plan.instances if self.aligners else ():
            for explanation in planned.explanations:
                for score in explanation.scores:
                    if score.metric.label in self.aligners and score.key not in self.store.keys:
                        self._todo.setdefault(explanation.key, []).append(score)
        self._references = {score.reference for scores in self._todo.values() for score in scores if score.reference}
        self._instances = {planned.instance.id: planned.instance for planned in self.plan.instances}

    def keep(self, key: str, row: Explained) -> None:
        """Hold what will be compared of an explanation that was just made, if there is room for it."""
        if key in self._references or (key in self._todo and self._room > 0):
            self._hold(key, row)

    def run(self) -> None:
        """Align what is not aligned yet, and add the scores that are not there yet."""
        self._align()
        if self._todo:
            self._score()

    def _hold(self, key: str, row: Explained) -> None:
        self._held[key] = held = self._of_words(row)
        self._room -= 0 if isinstance(held.scores, Undefined) else len(held.scores)

    def _of_words(self, row: Explained) -> _WordScores:
        scores: FloatArray | Undefined
        if isinstance(row, Skip):
            scores = Undefined(row.reason, row.detail)
        else:
            try:
                needs_tokens(row)
                scores = scores_of_words(self._instances[row.instance_id], row)
            except Undefined as why:
                scores = why.with_traceback(None)
        return _WordScores(row.instance_id, row.method, scores)

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
        with progress_counter(f"aligning words by {aligner.label}", len(todo), self.console) as advance:
            for planned, links in zip(todo, aligner.align(todo), strict=True):
                who = (planned.instance.id, planned.reference.id, aligner.label)
                advance()
                if planned.key in self.store.keys:
                    continue
                if isinstance(links, Undefined):
                    row = Alignment(*who, (), links.reason, links.detail)
                else:
                    row = Alignment(*who, links)
                self.store.append(planned.key, row)
                self._links[planned.key] = _links(row)

    def _score(self) -> None:
        """Add the scores. Explanations of the reference language are all held; of others, what is not is read now."""
        aligned = {score.alignment for scores in self._todo.values() for score in scores if score.alignment}
        missing = (self._references - self._held.keys()) | (aligned - self._links.keys())
        for key, row in self.store.rows(missing) if missing else ():
            if isinstance(row, Alignment):
                self._links[key] = _links(row)
            elif isinstance(row, (Highlight, Skip)):
                self._hold(key, row)
        unread = self._todo.keys() - self._held.keys()
        for key in self._todo:
            if key not in unread:
                self._add_scores(key, self._held[key])
        for key, row in self.store.rows(unread) if unread else ():
            if isinstance(row, (Highlight, Skip)):
                self._add_scores(key, self._of_words(row))

    def _add_scores(self, key: str, own: _WordScores) -> None:
        for score in self._todo[key]:
            outcome = self._outcome(own, score)
            self.store.append(score.key, as_score(own.instance_id, own.method, score.metric.label, outcome))

    def _outcome(self, own: _WordScores, score: PlannedScore) -> Outcome[Measured]:
        """The value of one score, or why there is none."""
        metric: Any = score.metric.component
        if not score.reference:
            return _none(Undefined("no_reference", f"it has no translation into {metric.reference_lang!r}"))
        if isinstance(own.scores, Undefined):
            return _none(own.scores)
        reference, links = self._held[score.reference], self._links[score.alignment]
        if isinstance(reference.scores, Undefined):
            why = reference.scores
            return _none(Undefined(why.reason, f"{reference.instance_id}: {why.detail}"))
        if isinstance(links, Undefined):
            return _none(links)
        try:
            return Outcome(metric.compared(own.scores, reference.scores, links), None, Cost())
        except Undefined as undefined:
            return _none(undefined)


def _none(why: Undefined) -> Outcome[Measured]:
    return Outcome(None, why, Cost())


def _links(row: Alignment) -> IntArray | Undefined:
    """Links as an array, shape [links, 2], or why there are none."""
    if row.reason is not None:
        return Undefined(row.reason, row.detail)
    return np.array(row.links, np.int32).reshape(-1, 2)
