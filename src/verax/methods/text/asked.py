"""The questions that all set-ups ask: which class, and why."""

from __future__ import annotations

from typing import cast

import numpy as np
from scipy.special import softmax

from verax.engine.questions import Choose, Generate, Likelihood, QuestionGenerator
from verax.engine.text_protocols import Answer
from verax.models.generator import Choice, ChoicePass, Chooser, GeneratePass, LikelihoodPass, Prompt
from verax.models.self_explainer import SelfExplainer
from verax.models.subject import Subject
from verax.models.wording import Stage
from verax.types import FloatArray, Generated, Note, Undefined

MAX_NEW_TOKENS = 64
"""The longest explanation: those that people wrote are half as long."""


def most_likely(x: Subject, prompt: Prompt) -> QuestionGenerator[Answer]:
    """The class whose name is the likeliest continuation; of a model that tells no likelihoods, the one it chooses."""
    by, labels = x.model.predictor, x.model.labels
    if by.gives_likelihoods:
        scores: FloatArray = yield Likelihood(x, by, LikelihoodPass(prompt, labels))
        return Answer(labels[int(np.argmax(scores))], tuple(softmax(scores).tolist()), "likelihood")
    choice: Choice = yield Choose(x, cast("Chooser", by), ChoicePass(prompt, labels))
    return Answer(choice.label, choice.probabilities, choice.label_source)


def reason(x: Subject, prompt: Prompt) -> QuestionGenerator[tuple[str, dict[str, Note]]]:
    """An explanation by greedy decoding, on one line, and what is worth knowing about it."""
    written: Generated = yield Generate(x, x.model.explainer, GeneratePass(prompt, MAX_NEW_TOKENS))
    # a trained model ends its line itself, unless it has learned little: what follows is no explanation any more
    told = written.text.strip().partition("\n")[0] if x.model.plain else written.text
    text = " ".join(told.split())
    if not text:
        raise Undefined("empty_answer", "the explanation has no word")
    return text, {"cut_off": True} if written.finish == "length" and told == written.text else {}


def prompt_for(x: Subject, stage: Stage, *, label: str | None = None, explanation: str | None = None) -> Prompt:
    """What the model reads at a stage."""
    by: SelfExplainer = x.model
    return by.wording.prompt(stage, x.instance, by.labels, label=label, explanation=explanation, plain=by.plain)
