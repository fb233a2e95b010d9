"""What text generators learn: pairs of a prompt and the text to write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from verax.models.editor_wording import EditorFacts, editor_prompt
from verax.models.self_explainer import TrainedMethodName
from verax.models.wording import Stage, Wording
from verax.train.rows import label_error
from verax.types import Dataset, Instance, Span, UserError

Explanations = Literal["first", "all"]
"""Which human explanations of an input are learned."""

MAX_MASKED_WORDS = 3
"""Atanasova et al. 2023, Section 3."""


class TrainingPair(NamedTuple):
    """A prompt and the text that a generator learns to write after it."""

    source: str
    target: str


class Generators(NamedTuple):
    """The folders of the explainer and the predictor of a self-explaining model, and the stages that each learns."""

    explainer: str
    predictor: str
    stages: Mapping[str, tuple[Stage, ...]]


_BOTH, _EXPLAINER, _PREDICTOR = ".", "explainer", "predictor"
GENERATORS_OF: Mapping[TrainedMethodName, Generators] = {
    "mt_re": Generators(_BOTH, _BOTH, {_BOTH: ("answer", "explain")}),
    "mt_ra": Generators(_BOTH, _BOTH, {_BOTH: ("answer", "explain_label")}),
    "st_re": Generators(_EXPLAINER, _PREDICTOR, {_EXPLAINER: ("explain",), _PREDICTOR: ("answer_explanation",)}),
    "st_ra": Generators(_EXPLAINER, _PREDICTOR, {_EXPLAINER: ("explain_label",), _PREDICTOR: ("answer_explanation",)}),
}


def nle_pairs(
    stages: Sequence[Stage],
    dataset: Dataset,
    labels: Sequence[str],
    wording: Wording,
    explanations: Explanations = "first",
) -> list[TrainingPair]:
    """The prompts and texts of some stages for each input, with its gold class and its human explanations.

    Args:
        stages: the stages that the generator learns.
        explanations: learn the first explanation of each input, or a pair for each one.
    """
    return [
        pair
        for instance in dataset.instances
        for stage in stages
        for pair in _stage_pairs(stage, instance, labels, wording, explanations)
    ]


def _stage_pairs(
    stage: Stage, instance: Instance, labels: Sequence[str], wording: Wording, explanations: Explanations
) -> Iterator[TrainingPair]:
    def source(**given: str) -> str:
        return wording.prompt(stage, instance, labels, plain=True, **given).user

    gold, texts = instance.label or "", human_explanations(instance)
    if stage == "answer":
        yield TrainingPair(source(), gold)
        return
    for text in texts[:1] if explanations == "first" else texts:
        if stage == "answer_explanation":
            yield TrainingPair(source(explanation=text), gold)
        else:
            yield TrainingPair(source(**({} if stage == "explain" else {"label": gold})), text)


def human_explanations(instance: Instance) -> tuple[str, ...]:
    """The human explanations of an input, each on one line."""
    texts = () if instance.human is None else instance.human.explanations
    return tuple(" ".join(text.split()) for text in texts if text.strip())


def check_labels(dataset: Dataset, labels: Sequence[str]) -> None:
    """Reject data in which an input has none of these classes."""
    for instance in dataset.instances:
        if instance.label not in labels:
            raise label_error(dataset, instance, labels)


def check_explanations(dataset: Dataset) -> None:
    """Reject data without human explanations."""
    if not any(map(human_explanations, dataset.instances)):
        raise UserError(
            f"{dataset.name} has no explanations; training needs texts that say why, in a column `explanations` or in "
            "one that the spec names: data: {columns: {explanations: COLUMN}}"
        )


def editor_pairs(
    facts: EditorFacts, dataset: Dataset, classes: Mapping[str, str], *, masks: int = 1, seed: int = 0
) -> list[TrainingPair]:
    """A pair for each mask of each input: the input with masked words and its class, and the words.

    The masks of an input depend on its text and the seed only.

    Args:
        classes: the class of each input by its id; inputs without one are left out.
        masks: number of masks drawn for each input; duplicates count once.
    """
    pairs = []
    for instance in dataset.instances:
        if instance.id in classes:
            for part, start, end in _draw_masks(instance, masks, seed):
                prompt = editor_prompt(facts, instance, part, start, classes[instance.id], words=end - start)
                text = instance.parts[part]
                words = text.raw[text.offsets[start][0] : text.offsets[end - 1][1]]
                pairs.append(TrainingPair(prompt.user, " ".join(words.split())))
    return pairs


def _draw_masks(instance: Instance, masks: int, seed: int) -> Iterator[tuple[int, int, int]]:
    """Part, start and end of one to three words, drawn at random."""
    rng = np.random.default_rng([seed, *"\n".join(part.raw for part in instance.parts).encode()])
    spans = [_spans(instance, count) for count in range(1, MAX_MASKED_WORDS + 1)]
    drawn: dict[Span, None] = {}
    for _ in range(masks):
        wanted = int(rng.integers(1, MAX_MASKED_WORDS + 1))
        possible = next((longest for longest in reversed(spans[:wanted]) if longest), [])
        if possible:
            drawn[possible[int(rng.integers(len(possible)))]] = None
    return ((span.part, span.start, span.end) for span in drawn)


def _spans(instance: Instance, count: int) -> list[Span]:
    """All runs of `count` words, none of them punctuation only, in any part of the input."""
    return [
        Span(number, start, start + count)
        for number, text in enumerate(instance.parts)
        for start in range(len(text.words) - count + 1)
        if all(any(sign.isalnum() for sign in word) for word in text.words[start : start + count])
    ]
