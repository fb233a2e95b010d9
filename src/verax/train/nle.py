"""What the generators of a self-explaining set-up are taught: pairs of texts from inputs that people explained."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from verax.models.self_explainer import TrainedMethodName
from verax.models.wording import Stage, Wording
from verax.train.text_pairs import Pair
from verax.types import Dataset, Instance, UserError

Explanations = Literal["first", "all"]
"""Which of the explanations that people gave of an input are learned."""


class Teaching(NamedTuple):
    """Which models a set-up has, by folder, and which stages each of them learns."""

    explainer: str
    predictor: str
    stages: Mapping[str, tuple[Stage, ...]]


_TOGETHER, _EXPLAINER, _PREDICTOR = ".", "explainer", "predictor"
TEACHINGS: Mapping[TrainedMethodName, Teaching] = {
    "mt_re": Teaching(_TOGETHER, _TOGETHER, {_TOGETHER: ("answer", "explain")}),
    "mt_ra": Teaching(_TOGETHER, _TOGETHER, {_TOGETHER: ("answer", "explain_label")}),
    "st_re": Teaching(_EXPLAINER, _PREDICTOR, {_EXPLAINER: ("explain",), _PREDICTOR: ("answer_explanation",)}),
    "st_ra": Teaching(_EXPLAINER, _PREDICTOR, {_EXPLAINER: ("explain_label",), _PREDICTOR: ("answer_explanation",)}),
}


def nle_pairs(
    stages: Sequence[Stage],
    dataset: Dataset,
    labels: Sequence[str],
    wording: Wording,
    explanations: Explanations = "first",
) -> list[Pair]:
    """What a model reads and writes at its stages, for each input: with its gold class and people's explanations.

    Args:
        stages: what the model is asked.
        labels: the classes in the order of the model; `dataset` may have them in another.
        explanations: the first of each input, or each one for a pair of its own.
    """
    return [
        pair
        for instance in dataset.instances
        for stage in stages
        for pair in _pairs(stage, instance, labels, wording, explanations)
    ]


def _pairs(
    stage: Stage, instance: Instance, labels: Sequence[str], wording: Wording, explanations: Explanations
) -> Iterator[Pair]:
    def source(**given: str) -> str:
        return wording.prompt(stage, instance, labels, plain=True, **given).user

    gold, texts = instance.label or "", given_explanations(instance)
    if stage == "answer":
        yield Pair(source(), gold)
        return
    for text in texts[:1] if explanations == "first" else texts:
        if stage == "answer_explanation":
            yield Pair(source(explanation=text), gold)
        else:
            yield Pair(source(**({} if stage == "explain" else {"label": gold})), text)


def given_explanations(instance: Instance) -> tuple[str, ...]:
    """What people wrote about an input, in one line each."""
    texts = () if instance.human is None else instance.human.explanations
    return tuple(" ".join(text.split()) for text in texts if text.strip())


def check_labels(dataset: Dataset, labels: Sequence[str]) -> None:
    """Refuse data in which an input has no class of those known."""
    for instance in dataset.instances:
        if instance.label not in labels:
            what = "has no label" if instance.label is None else f"has the label {instance.label!r}"
            known = ", ".join(labels)
            raise UserError(f"{dataset.name}: instance {instance.id!r} {what}; training needs one of {known}")


def check_explanations(dataset: Dataset) -> None:
    """Refuse data that nobody explained."""
    if not any(given_explanations(instance) for instance in dataset.instances):
        raise UserError(
            f"{dataset.name} has no explanations; training needs texts that say why, in a column `explanations` or in "
            "one that the spec names: data: {columns: {explanations: COLUMN}}"
        )
