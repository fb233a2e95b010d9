"""From explanations of the reference language and word alignments to highlights in every language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from verax.models.labels import class_of
from verax.results.run import Run
from verax.run.highlights.aligning import Aligned
from verax.run.highlights.choosing import Choice
from verax.run.highlights.parallel import Parallel
from verax.run.highlights.rows import Highlighted
from verax.run.highlights.scoring import UNSCORED, Words, binarised, normalised
from verax.types import Links, Undefined


def project(highlighted: Words, links: Sequence[Links]) -> Words:
    """For each part the words of the translation that a link joins to a highlighted one, sorted.

    Args:
        highlighted: words of the reference, for each part.
        links: (word of the reference, word of the translation), for each part.
    """
    return tuple(
        tuple(sorted({there for here, there in pairs if here in words}))
        for words, pairs in zip(highlighted, links, strict=True)
    )


def highlighted_rows(
    parallel: Parallel, choice: Choice, run: Run, aligned: Mapping[str, Aligned], labels: Sequence[str]
) -> tuple[list[Highlighted], dict[str, Counter[str]]]:
    """The rows of the dataset in the order of the data, and by language why how many inputs have none.

    Args:
        run: explains all inputs by the method.
        aligned: by the id of the translation.
        labels: the classes of the model.
    """
    left_out = {lang: Counter(parallel.left_out.get(lang)) for lang in parallel.languages}
    predicted = {row.instance_id: row.label for row in run.stored.predictions}
    unread = {row.instance_id: row.reason for row in run.stored.skips}
    reference = reference_words(parallel, choice, run)
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


def reference_words(parallel: Parallel, choice: Choice, run: Run) -> dict[str, Words | str]:
    """The highlighted words of each input of the reference language, or the reason why there are none, by id."""
    explained = {row.instance_id: row for row in run.highlights if row.method == choice.method.label}
    skipped = {row.instance_id: row.reason for row in run.stored.skips if row.method == choice.method.label}
    found: dict[str, Words | str] = {}
    for instance in parallel.instances:
        if instance.lang != parallel.reference:
            continue
        if instance.id not in explained:
            found[instance.id] = skipped[instance.id]
            continue
        scores = normalised(instance, explained[instance.id])
        found[instance.id] = UNSCORED if scores is None else binarised(instance, scores, choice.threshold)
    return found


def _projected(words: Words | str, links: Aligned | None) -> Words | str:
    """The words of a translation, or of the reference itself, which has no links."""
    if isinstance(words, str) or links is None:
        return words
    return links.reason if isinstance(links, Undefined) else project(words, links)
