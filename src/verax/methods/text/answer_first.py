"""Methods that answer before they explain: MT-Re, MT-Ra, and instruction-following models asked in that order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from verax.engine.protocols import Answer
from verax.engine.questions import QuestionGenerator
from verax.methods.text.answering import Answering, most_likely, prompt_for, reason
from verax.models.subject import Subject
from verax.models.wording import Stage


@dataclass(frozen=True)
class MTRe(Answering):
    """One model, trained to answer and to explain; the explanation does not depend on the answer (reasoning)."""

    name: ClassVar[str] = "mt_re"
    display: ClassVar[str] = "MT-Re"
    summary: ClassVar[str] = "One model answers and explains; the explanation does not depend on the answer."
    cost: ClassVar[str] = "1 text, labels continuations"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Hase et al. 2020; Atanasova et al. 2023, Equation 3"
    stages: ClassVar[tuple[Stage, ...]] = ("answer", "explain")
    trained: ClassVar[bool] = True

    def answer(self, x: Subject) -> QuestionGenerator[Answer]:
        """The likeliest class."""
        return (yield from most_likely(x, prompt_for(x, "answer")))

    def explain(self, x: Subject, answer: Answer) -> QuestionGenerator[Answer]:
        """The explanation, independent of the class."""
        text, notes = yield from reason(x, prompt_for(x, "explain"))
        return replace(answer, text=text, notes=notes)


@dataclass(frozen=True)
class MTRa(Answering):
    """One model, trained to answer and to explain the class that it predicts (rationalising)."""

    name: ClassVar[str] = "mt_ra"
    display: ClassVar[str] = "MT-Ra"
    summary: ClassVar[str] = "One model answers, then explains the predicted class."
    cost: ClassVar[str] = "1 text, labels continuations"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Hase et al. 2020; Atanasova et al. 2023, Equation 3"
    stages: ClassVar[tuple[Stage, ...]] = ("answer", "explain_label")
    trained: ClassVar[bool] = True

    def answer(self, x: Subject) -> QuestionGenerator[Answer]:
        """The likeliest class."""
        return (yield from most_likely(x, prompt_for(x, "answer")))

    def explain(self, x: Subject, answer: Answer) -> QuestionGenerator[Answer]:
        """The explanation of the predicted class."""
        text, notes = yield from reason(x, prompt_for(x, "explain_label", label=answer.label))
        return replace(answer, text=text, notes=notes)


@dataclass(frozen=True)
class AnswerThenExplain(MTRa):
    """A model that follows instructions is asked for the class, then for the reason."""

    name: ClassVar[str] = "answer_then_explain"
    display: ClassVar[str] = "Answer, then explain"
    summary: ClassVar[str] = "An instruction-tuned model names the class, then explains it."
    cost: ClassVar[str] = "1 text, labels continuations or 1 text"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "as MT-Ra, by prompts"
    trained: ClassVar[bool] = False
