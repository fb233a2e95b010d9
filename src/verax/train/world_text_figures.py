"""How good the text generators of the built-in corpus are: what they answer, and what they write word for word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from verax.models.generator import GeneratePass, LikelihoodPass, Prompt, TextGenerator
from verax.models.self_explainer import SelfExplainer
from verax.models.wording import Stage
from verax.train.text_pairs import Pair
from verax.types import Dataset, Undefined

_BATCH = 50


def explaining(by: SelfExplainer, data: Dataset) -> dict[str, float]:
    """Accuracy, and the share of explanations that are among those of the input, word for word.

    Args:
        by: an MT-Ra or ST-Re model.
        data: inputs with their classes and explanations.
    """
    if by.setup == "st_re":
        explanations = _written(by.explainer, _prompts(by, "explain", data))
        given = [{"explanation": text} for text in explanations]
        labels = _answered(by, _prompts(by, "answer_explanation", data, given))
    else:
        labels = _answered(by, _prompts(by, "answer", data))
        named = [{"label": label} for label in labels]
        explanations = _written(by.explainer, _prompts(by, "explain_label", data, named))
    right = [label == instance.label for label, instance in zip(labels, data.instances, strict=True)]
    known = [
        instance.human is not None and text in instance.human.explanations
        for text, instance in zip(explanations, data.instances, strict=True)
    ]
    return {
        "accuracy": float(np.mean(right)),
        "explanations that are word for word as given": float(np.mean(known)),
    }


def editing(by: TextGenerator, pairs: Sequence[Pair]) -> dict[str, float]:
    """The share of masks in whose place an editor writes the very words that stood there, given the class."""
    written = _written(by, [Prompt(pair.source, plain=True) for pair in pairs])
    same = [text == pair.target for text, pair in zip(written, pairs, strict=True)]
    return {"masks that are filled word for word": float(np.mean(same))}


def _prompts(
    by: SelfExplainer, stage: Stage, data: Dataset, given: Sequence[Mapping[str, str]] | None = None
) -> list[Prompt]:
    return [
        by.wording.prompt(stage, instance, by.labels, plain=by.plain, **known)
        for instance, known in zip(data.instances, given or [{}] * len(data), strict=True)
    ]


def _answered(by: SelfExplainer, prompts: Sequence[Prompt]) -> list[str]:
    """The likeliest class after each prompt."""
    found: list[str] = []
    for start in range(0, len(prompts), _BATCH):
        scores = by.predictor.likelihoods([LikelihoodPass(one, by.labels) for one in prompts[start:][:_BATCH]])
        found += ["" if isinstance(one, Undefined) else by.labels[int(np.argmax(one))] for one in scores]
    return found


def _written(by: TextGenerator, prompts: Sequence[Prompt]) -> list[str]:
    """What is written after each prompt; a full stop for what can't be had."""
    found: list[str] = []
    for start in range(0, len(prompts), _BATCH):
        answers = by.generate([GeneratePass(one) for one in prompts[start:][:_BATCH]])
        found += ["." if isinstance(one, Undefined) else one.text for one in answers]
    return found
