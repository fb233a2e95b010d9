"""From explanations of the reference language and word alignments to highlights in every language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

import numpy as np
from rich.console import Console

from verax.jobs.highlights.choose import ChosenMethod, explanations, normalised_scores, skip_reasons
from verax.jobs.highlights.dataset import Highlighted, WordIndices
from verax.jobs.highlights.explain import ParallelInputs
from verax.metrics.agreement import average_precision
from verax.models.classifier import Classifier
from verax.models.subject import Subject
from verax.models.targets import class_of
from verax.results.run import Run
from verax.run.progress import progress_counter
from verax.stats.intervals import mean_interval
from verax.types import Estimate, Human, Instance, Links, Undefined, UserError

UNSCORED = "unscored_words"


def project(highlighted: Set[int], links: Links) -> set[int]:
    """The words of a translation that are linked to a highlighted word of the reference."""
    return {translation for reference, translation in links if reference in highlighted}


def by_part(instance: Instance, words: Set[int]) -> WordIndices:
    """Words that are counted over all parts, as sorted words of each part."""
    ends = accumulate((len(part.words) for part in instance.parts), initial=0)
    return tuple(tuple(sorted(word - start for word in words if start <= word < end)) for start, end in pairwise(ends))


def highlighted_rows(
    parallel: ParallelInputs, choice: ChosenMethod, run: Run, labels: Sequence[str]
) -> tuple[list[Highlighted], dict[str, Counter[str]]]:
    """The rows of the dataset in the order of the data, and the number of other inputs by language and reason.

    Args:
        run: explains all inputs by the method, and aligns translations with their references.
    """
    alignments = {row.instance_id: row for row in run.alignments()}
    if not any(row.links for row in alignments.values()):
        why = next((f" ({row.reason}: {row.detail})" for row in alignments.values() if row.reason), "")
        aligner = next((row.aligner for row in alignments.values()), "it")
        raise UserError(f"aligner: {aligner} links no word of any of the {len(parallel.references)} translations{why}")
    left_out = {lang: Counter(parallel.left_out.get(lang)) for lang in parallel.languages}
    predicted = {row.instance_id: row.label for row in run.predictions()}
    unread = {row.instance_id: row.reason for row in run.skips()}
    reference = _reference_words(parallel, choice, run)
    rows = []
    for instance in parallel.instances:
        words = reference[parallel.references.get(instance.id, instance).id]
        alignment = alignments.get(instance.id)  # None for an input of the reference language
        if not isinstance(words, str) and alignment is not None:
            words = alignment.reason or project(words, alignment.links)
        if instance.id not in predicted:
            left_out[instance.lang][unread[instance.id]] += 1
        elif isinstance(words, str):
            left_out[instance.lang][words] += 1
        else:
            gold, guess = class_of(instance.label, labels), predicted[instance.id]
            correct = None if gold is None else gold == class_of(guess, labels)
            rows.append(Highlighted(instance, guess, correct, by_part(instance, words)))
    return rows, left_out


def _reference_words(parallel: ParallelInputs, choice: ChosenMethod, run: Run) -> dict[str, set[int] | str]:
    """The highlighted words of each input of the reference language by its id, or the reason why it has none."""
    explained, skipped = explanations(run, choice.method.label), skip_reasons(run, choice.method.label)
    words: dict[str, set[int] | str] = {}
    for instance in parallel.instances:
        if instance.lang != parallel.reference:
            continue
        if instance.id not in explained:
            words[instance.id] = skipped[instance.id]
            continue
        scores = normalised_scores(instance, explained[instance.id])
        words[instance.id] = UNSCORED if scores is None else set(np.flatnonzero(scores >= choice.threshold).tolist())
    return words


@dataclass(frozen=True)
class Language:
    """One language of the dataset.

    Args:
        plausibility: mean average precision of the method's own scores against the highlights; None without a value.
    """

    lang: str
    rows: int
    left_out: Mapping[str, int]
    words: int
    highlighted: int
    plausibility: Estimate | None
    n: int
    skipped: Mapping[str, int]


def validate(
    languages: Sequence[str],
    rows: Sequence[Highlighted],
    left_out: Mapping[str, Mapping[str, int]],
    run: Run,
    label: str,
    model: Classifier,
    console: Console,
) -> tuple[Language, ...]:
    """How well the method's own explanations in each language agree with the projected highlights.

    Args:
        left_out: number of inputs that are not among the rows, by language and reason.
    """
    explained, skipped = explanations(run, label), skip_reasons(run, label)

    def measured(row: Highlighted) -> float | str:
        """Average precision, or the reason why there is none."""
        instance = row.instance
        if instance.id not in explained:
            return skipped[instance.id]
        try:
            x = Subject(replace(instance, human=Human(words=row.words)), model)
            return average_precision(x, explained[instance.id])
        except Undefined as undefined:
            return undefined.reason

    outcome_of: dict[str, float | str] = {}
    with progress_counter("validating", len(rows), console) as advance:
        for row in rows:
            outcome_of[row.instance.id] = measured(row)
            advance()
    result = []
    for lang in languages:
        of_lang = [row for row in rows if row.instance.lang == lang]
        outcomes = [outcome_of[row.instance.id] for row in of_lang]
        values = [outcome for outcome in outcomes if isinstance(outcome, float)]
        result.append(
            Language(
                lang=lang,
                rows=len(of_lang),
                left_out=dict(left_out.get(lang, {})),
                words=sum(len(row.instance.units) for row in of_lang),
                highlighted=sum(len(words) for row in of_lang for words in row.words),
                plausibility=mean_interval(values) if values else None,
                n=len(values),
                skipped=dict(Counter(outcome for outcome in outcomes if isinstance(outcome, str))),
            )
        )
    return tuple(result)
