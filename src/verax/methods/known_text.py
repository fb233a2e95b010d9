"""Free text of known truth: a classifier answers, and the text names the words that decide, or wrong ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.special import softmax

from verax.data.rules import reasons_of
from verax.engine.protocols import Answer
from verax.engine.questions import Outputs, QuestionGenerator
from verax.methods.answering import Answering
from verax.methods.known import Truth, known_scores
from verax.models.classifier import Capability
from verax.models.subject import Subject
from verax.models.wording import Stage
from verax.types import FloatArray, Passes


@dataclass(frozen=True)
class KnownText(Answering):
    """The class that a classifier predicts, and a text that names as many words as there are reasons.

    The reasons are the annotated words. Those of a new input, as tests of free text ask about, are known only for the
    models `rules/...`.

    Args:
        truth: how true it is: the first words of `known_reasons` of that truth are named.
        seed: as for `known_reasons`.
    """

    truth: Truth = "true"
    seed: int = 0

    name: ClassVar[str] = "known_text"
    display: ClassVar[str] = "Known text"
    summary: ClassVar[str] = "A text that names the words that are known to decide, or wrong ones."
    cost: ClassVar[str] = "1 forward"
    requires: ClassVar[frozenset[Capability]] = frozenset({"outputs"})
    stages: ClassVar[tuple[Stage, ...]] = ()
    trained: ClassVar[bool] = False
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "control"

    def passes(self, n: int) -> Passes:
        """The prediction."""
        return Passes(1, 0)

    def answer(self, x: Subject) -> QuestionGenerator[Answer]:
        """The predicted class."""
        logits: FloatArray = yield Outputs(x, np.empty((0, x.n_units), bool), and_full=True)
        probabilities = softmax(logits[-1])
        return Answer(x.model.labels[int(np.argmax(probabilities))], tuple(probabilities.tolist()), "likelihood")

    def explain(self, x: Subject, answer: Answer) -> QuestionGenerator[Answer]:
        """The answer with the words that are ranked first."""
        yield from ()
        reasons = x.instance.annotated
        if x.instance.human is None and "rules" in getattr(x.model, "about", {}):
            reasons = reasons_of(x.instance)
        gold = np.array([word in reasons for word in x.words])
        scores = known_scores(x, x.units, gold, gold, self.truth, self.seed)
        # a partly correct one also names the wrong words that come before its reasons
        count = max(int(gold.sum()), int((scores > 0.5).sum()))
        chosen = sorted(np.argsort(-scores, kind="stable")[:count].tolist())
        words = [x.instance.parts[part].words[place] for part, place in (x.words[i] for i in chosen)]
        return replace(answer, text=f"Because of {', '.join(words)}.")
