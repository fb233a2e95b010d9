"""Words of an input aligned with those of the same input in a reference language, and its explanation there."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from verax.align.embedding import Embedding
from verax.align.protocol import Aligner
from verax.engine.protocols import Metric
from verax.engine.reproducible import reproducible
from verax.metrics.crosslingual_faithfulness import AlignedReference, AlignParts
from verax.models.subject import Subject
from verax.run.context import RunContext
from verax.run.executors.tasks import Failed, run_tasks
from verax.run.parameters import Configured
from verax.run.plan import Outline, Plan
from verax.run.prepare import Recipe
from verax.run.progress import progress_counter
from verax.run.providers import Part, Provider, Request, Stage
from verax.run.translations import OpenAligner, PlannedAlignment, open_aligners, references
from verax.store.tables import Row
from verax.types import Alignment, Highlight, Instance, IntArray, Links, Undefined, UserError

PIECE = 500
"""Alignments that a worker computes in one task: it loads model and data for each."""


@dataclass(frozen=True)
class RequestedAlignment:
    """Which words are aligned with which, in a spec: `products: [{alignment: {reference_lang: en}}]`.

    Args:
        reference_lang: the language that others are aligned with.
        aligner: what aligns words.
        align_parts: `apart` aligns each part on its own, `joint` all parts as one text.
    """

    reference_lang: str = "en"
    aligner: Aligner = Embedding()  # noqa: RUF009 - frozen, so it can be shared
    align_parts: AlignParts = "apart"


class AlignmentProvider(Provider):
    """Alignments, stored as rows of the run; each is computed once for all metrics with the same aligner."""

    deferred: ClassVar[bool] = True
    selective: ClassVar[bool] = True
    request: ClassVar[type | None] = RequestedAlignment

    def __init__(self, run: RunContext, metrics: Sequence[Configured[Any]], others: Mapping[str, Provider]) -> None:
        super().__init__(run, metrics, others)
        self.aligners = open_aligners(metrics, run.model, run.data)
        self.unique = {aligner.key: aligner for aligner in self.aligners.values()}
        self._memo: dict[tuple[str, str], tuple[PlannedAlignment, Outline] | None] = {}
        self._links: tuple[str, IntArray] = ("", np.empty((0, 2), np.int32))

    @property
    def learns(self) -> bool:
        """Some aligners learn from all inputs of the run."""
        return any(aligner.learns for aligner in self.unique.values())

    def survey(self, plan: Plan) -> None:
        """Find the reference of each input, and hash all inputs for aligners that learn from them."""
        self._plan = plan
        self._memo.clear()
        instances = self.run.data.instances
        langs = {aligner.lang for aligner in self.unique.values()}
        self._references = {lang: references(instances, lang) for lang in langs}
        corpus = hashlib.sha256()
        if any(aligner.learns for aligner in self.unique.values()):
            for instance in instances:
                corpus.update(plan.instance_key(instance).encode())
        self._corpus = corpus.hexdigest()

    def part(self, metric: Configured[Metric], outline: Outline, label: str) -> Part | None:
        """The alignment, and the explanation of the reference by the same explainer; None for references themselves."""
        aligner = self.aligners[metric.label]
        if outline.instance.lang == aligner.lang:
            return None
        pair = self._pair(aligner, outline.instance)
        if pair is None:
            return Part()
        keys = (pair[1].explanations[label], pair[0].key)
        return Part(keys, keys)

    def _pair(self, aligner: OpenAligner, instance: Instance) -> tuple[PlannedAlignment, Outline] | None:
        """The alignment of an instance and the outline of its reference; None if it has no reference."""
        where = (aligner.key, instance.id)
        if where not in self._memo:
            if len(self._memo) > len(self.unique):  # the plan goes from instance to instance
                self._memo.clear()
            planned = self._planned(aligner, instance)
            self._memo[where] = None if planned is None else (planned, self._plan.outline(planned.reference))
        return self._memo[where]

    def _planned(self, aligner: OpenAligner, instance: Instance) -> PlannedAlignment | None:
        reference = self._references[aligner.lang].get(instance.id)
        if reference is None:
            return None
        keys = (self._plan.instance_key(reference), self._plan.instance_key(instance))
        return aligner.planned(instance, reference, keys, self._corpus)

    def alignments(self, aligner: OpenAligner) -> Iterator[PlannedAlignment]:
        """All alignments of an aligner."""
        for instance in self.run.data.instances:
            planned = self._planned(aligner, instance)
            if planned is not None:
                yield planned

    def products(self) -> Iterator[str]:
        """Every alignment."""
        for aligner in self.unique.values():
            yield from (planned.key for planned in self.alignments(aligner))

    def after(self, stage: Stage) -> Iterator[tuple[str, Row]]:
        """Align what is not aligned yet."""
        for aligner in self.unique.values():
            missing = [planned for planned in self.alignments(aligner) if planned.key not in stage.present]
            if missing:  # an aligner that learns from all inputs has to see all of them again
                yield from _align(aligner, list(self.alignments(aligner)) if aligner.learns else missing, stage)

    def provide(self, request: Request) -> AlignedReference:
        """The reference, its explanation, and the links to its words."""
        aligner = self.aligners[request.metric.label]
        pair = self._pair(aligner, request.x.instance)
        if pair is None:
            raise Undefined("no_reference", f"it has no translation into {aligner.lang!r}")
        planned, outline = pair
        highlight = request.rows[outline.explanations[request.explanation.label]]
        if not isinstance(highlight, Highlight):
            reason, detail = highlight.reason, highlight.detail  # type: ignore[union-attr]
            raise Undefined(str(reason), f"{outline.instance.id}: {detail}")
        alignment = request.rows[planned.key]
        assert isinstance(alignment, Alignment)  # noqa: S101 - `after` stored it
        if alignment.reason is not None:
            raise Undefined(alignment.reason, alignment.detail)
        if self._links[0] != planned.key:
            self._links = (planned.key, np.array(alignment.links, np.int32).reshape(-1, 2))
        return AlignedReference(outline.instance, highlight, self._links[1])

    def announcement(self) -> str:
        """The number of alignments."""
        labels = " and ".join(dict.fromkeys(aligner.label for aligner in self.aligners.values()))
        return f"then the words of translations are aligned by {labels}: {sum(1 for _ in self.products())} alignments"

    @classmethod
    def example(cls, metric: Any, subjects: Sequence[Subject]) -> Callable[[Subject, Highlight], AlignedReference]:
        """The input itself as its reference, each word linked with itself."""

        def aligned(x: Subject, highlight: Highlight) -> AlignedReference:
            numbers = np.arange(len(x.instance.units))
            return AlignedReference(x.instance, highlight, np.stack([numbers, numbers], 1))

        return aligned


def _align(aligner: OpenAligner, todo: Sequence[PlannedAlignment], stage: Stage) -> Iterator[tuple[str, Row]]:
    """Rows of alignments that are not stored yet, each as soon as it is there."""
    # translations of one input are aligned together, whatever the order of the data
    todo = sorted(todo, key=lambda planned: planned.reference.id)
    if stage.placement.executor != "inline" and aligner.encoder is not None and not aligner.learns:
        links = _align_in_workers(aligner, todo, stage)
    else:
        links = _align_here(aligner, todo, stage)
    for planned, found in links:
        if planned.key in stage.present:
            continue
        ids = (planned.instance.id, planned.reference.id, aligner.label)
        if isinstance(found, Undefined):
            yield planned.key, Alignment(*ids, (), found.reason, found.detail)
        else:
            yield planned.key, Alignment(*ids, found)


_Aligned = Iterator[tuple[PlannedAlignment, Links | Undefined]]


def _align_here(aligner: OpenAligner, todo: Sequence[PlannedAlignment], stage: Stage) -> _Aligned:
    with progress_counter(f"aligning words by {aligner.label}", len(todo), stage.console) as advance:
        for planned, links in zip(todo, aligner.align(todo), strict=True):
            advance()
            yield planned, links


def _align_in_workers(aligner: OpenAligner, todo: Sequence[PlannedAlignment], stage: Stage) -> _Aligned:
    """Align pieces of the data in workers, each of which prepares the run."""
    pieces = {f"from {i + 1}": todo[i : i + PIECE] for i in range(0, len(todo), PIECE)}
    tasks = {
        name: partial(_links_of, stage.recipe, aligner.key, [planned.instance.id for planned in piece])
        for name, piece in pieces.items()
    }
    what = f"aligning words by {aligner.label}"
    for name, result in run_tasks(tasks, stage.placement, what, stage.console):
        if isinstance(result, Failed):
            raise UserError(f"{what}: {name}: {result.problem}")
        yield from zip(pieces[name], result, strict=True)


def _links_of(recipe: Recipe, key: str, instances: Sequence[str], _: int) -> list[Links | Undefined]:
    """The links of some inputs by the aligner with a key."""
    prepared = recipe.prepare()
    (provider,) = (one for one in prepared.providers if isinstance(one, AlignmentProvider))
    aligner = provider.unique[key]
    planned = {one.instance.id: one for one in provider.alignments(aligner)}
    with reproducible(prepared.run.model):
        return list(aligner.align([planned[name] for name in instances]))
