"""The word scores of one method of a run, with the input and the prediction of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeVar

from verax.registry import unknown
from verax.report.content import Content
from verax.results.run import Run
from verax.types import Highlight, Instance, Prediction, UserError

AT_ONCE = 2000
"""Instances whose rows are in memory at the same time."""


class Scored(NamedTuple):
    """An explained input; `number` is its place in the run, `scores` has one list for each part."""

    number: int
    instance: Instance
    prediction: Prediction
    scores: list[list[float]]


def contents(run: Run) -> Iterator[Content]:
    """The rows of a run, some instances at a time."""
    ids = run.instances.ids
    for start in range(0, len(ids), AT_ONCE):
        yield Content(run, ids[start : start + AT_ONCE])


def scoring_method(run: Run, given: str | None) -> str:
    """The label of the method to export: the given one, or the only one that scores words and is no baseline."""
    manifest = run.manifest
    scoring = [
        label for label in run.methods if manifest.method(label).kind == "token" and label not in run.text_methods
    ]
    if given is not None:
        label = manifest.find_method(given, run.methods)
        if label is None:
            raise UserError(f"--method: {unknown('method', given, run.methods)}")
        if label not in scoring:
            raise UserError(f"--method: {label} does not score words, and this format holds scores of words")
        return label
    own = [label for label in scoring if not manifest.method(label).baseline]
    if len(own) != 1:
        which = f"several methods score words: {', '.join(own)}" if own else "no method scores words"
        raise UserError(f"{run.folder}: {which}; name one with --method" if own else f"{run.folder}: {which}")
    return own[0]


def word_scores(run: Run, method: str) -> Iterator[Scored]:
    """The explanations by a method, in the order of the run, without inputs that it did not explain."""
    number = 0
    for content in contents(run):
        for instance in content.instances:
            highlight = content.highlights.get((instance.id, method))
            if highlight is not None:
                yield Scored(
                    number, instance, content.predictions[instance.id], scores_by_part(highlight, instance, missing=0.0)
                )
            number += 1


M = TypeVar("M", float, float | None)


def scores_by_part(highlight: Highlight, instance: Instance, *, missing: M) -> list[list[float | M]]:
    """The score of each word of each part; `missing` for words that were not explained."""
    scores: list[list[float | M]] = [[missing] * len(part.words) for part in instance.parts]
    for (span,), score in zip(highlight.units, highlight.scores, strict=True):
        scores[span.part][span.start] = score
    return scores
