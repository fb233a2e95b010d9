"""From explanations of the reference language and word alignments to highlights in every language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from rich.console import Console

from verax.jobs.highlights.choose import Choice, binarised, explanations, normalised
from verax.jobs.highlights.dataset import Highlighted, Words
from verax.jobs.highlights.explain import Parallel
from verax.metrics.agreement.plausibility import average_precision
from verax.models.classifier import Classifier
from verax.models.labels import class_of
from verax.models.subject import Subject
from verax.results.run import Run
from verax.run.progress import progress_counter
from verax.stats.inference import mean_interval
from verax.types import Estimate, Human, Instance, Links, Undefined, UserError

UNSCORED = "unscored_words"
Aligned = tuple[Links, ...] | Undefined
"""The links of each part, or why there are none."""


def aligned_parts(run: Run, parallel: Parallel) -> dict[str, Aligned]:
    """The links of each translation, by its id; refuse an aligner that links nothing at all."""
    instances = {instance.id: instance for instance in parallel.instances}
    alignments = run.alignments()
    aligned: dict[str, Aligned] = {}
    for row in alignments:
        if row.reason is not None:
            aligned[row.instance_id] = Undefined(row.reason, row.detail)
        else:
            reference = parallel.references[row.instance_id]
            aligned[row.instance_id] = by_part(row.links, reference, instances[row.instance_id])
    if not any(row.links for row in alignments):
        why = next((f" ({row.reason}: {row.detail})" for row in alignments if row.reason), "")
        aligner = alignments[0].aligner if alignments else "it"
        raise UserError(f"aligner: {aligner} links no word of any of the {len(parallel.references)} translations{why}")
    return aligned


def by_part(links: Links, reference: Instance, translation: Instance) -> tuple[Links, ...]:
    """Links that count words over all parts, as links of each part that count them within it.

    No link leaves its part, because parts are aligned separately.
    """
    first, second = (
        list(accumulate((len(part.words) for part in instance.parts), initial=0))
        for instance in (reference, translation)
    )
    return tuple(
        tuple((here - first[part], there - second[part]) for here, there in links if start <= here < end)
        for part, (start, end) in enumerate(pairwise(first))
    )


def project(highlighted: Words, links: Sequence[Links]) -> Words:
    """For each part the words of the translation that are linked to a highlighted one, sorted.

    Args:
        highlighted: words of the reference, for each part.
        links: (word of the reference, word of the translation), for each part.
    """
    return tuple(
        tuple(sorted({there for here, there in pairs if here in words}))
        for words, pairs in zip(highlighted, links, strict=True)
    )


def highlighted_rows(
    parallel: Parallel, choice: Choice, run: Run, labels: Sequence[str]
) -> tuple[list[Highlighted], dict[str, Counter[str]]]:
    """The rows of the dataset in the order of the data, and by language how many inputs have none for which reason.

    Args:
        run: explains all inputs by the method, and aligns translations with their references.
        labels: the classes of the model.
    """
    aligned = aligned_parts(run, parallel)
    left_out = {lang: Counter(parallel.left_out.get(lang)) for lang in parallel.languages}
    predicted = {row.instance_id: row.label for row in run.predictions()}
    unread = {row.instance_id: row.reason for row in run.skips()}
    reference = _reference_words(parallel, choice, run)
    rows = []
    for instance in parallel.instances:
        source = parallel.references.get(instance.id, instance)
        words = _projected(reference[source.id], aligned.get(instance.id))
        if instance.id not in predicted:
            left_out[instance.lang][unread[instance.id]] += 1
        elif isinstance(words, str):
            left_out[instance.lang][words] += 1
        else:
            gold, guess = class_of(instance.label, labels), predicted[instance.id]
            correct = None if gold is None else gold == class_of(guess, labels)
            rows.append(Highlighted(instance, guess, correct, words))
    return rows, left_out


def _reference_words(parallel: Parallel, choice: Choice, run: Run) -> dict[str, Words | str]:
    """The highlighted words of each input of the reference language, or the reason why there are none, by id."""
    label = choice.method.label
    explained, skipped = explanations(run, label), _skipped(run, label)
    words: dict[str, Words | str] = {}
    for instance in parallel.instances:
        if instance.lang != parallel.reference:
            continue
        if instance.id not in explained:
            words[instance.id] = skipped[instance.id]
            continue
        scores = normalised(instance, explained[instance.id])
        words[instance.id] = UNSCORED if scores is None else binarised(instance, scores, choice.threshold)
    return words


def _skipped(run: Run, label: str) -> dict[str, str]:
    return {row.instance_id: row.reason for row in run.skips() if row.method == label}


def _projected(words: Words | str, links: Aligned | None) -> Words | str:
    """The words of a translation, or of the reference itself, which has no links."""
    if isinstance(words, str) or links is None:
        return words
    return links.reason if isinstance(links, Undefined) else project(words, links)


@dataclass(frozen=True)
class Language:
    """One language of the dataset.

    Args:
        rows: number of inputs.
        left_out: how many other inputs are not in the dataset, by reason.
        words, highlighted: in all rows.
        plausibility: mean average precision of the method's own scores against the highlights; None without a value.
        n: rows with a value.
        skipped: rows without one, by reason.
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
    """Whether the method's own explanations in each language agree with the highlights that were projected there.

    Args:
        left_out: by language and reason, how many inputs are not among the rows.
        run: explains all inputs.
        label: of the method.
        console: for progress.
    """
    explained, skipped = explanations(run, label), _skipped(run, label)

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
