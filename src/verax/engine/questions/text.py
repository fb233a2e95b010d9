"""Questions to text generators: a text, likelihoods of given texts, a label, several candidates."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from verax.engine.questions.base import Needed, Pass, Pending, Question
from verax.models.generator import (
    CandidateGenerator,
    CandidatesPass,
    ChoicePass,
    Chooser,
    GeneratePass,
    LikelihoodPass,
    TextGenerator,
    TextRequest,
)
from verax.models.subject import Subject
from verax.types import Undefined, UserError

GENERATING = 4
"""Tokens in a batch of a text generator, relative to a classifier: each step of generating computes one token of each
text. Likelihoods read all of their tokens at once and could do with fewer, but a generator has one budget for all."""


class TextQuestion(Question):
    """A question to a text generator; its answer is kept with the subject, by generator and request."""

    __slots__ = ()
    budget: ClassVar[str] = "text"
    budget_scale: ClassVar[int] = GENERATING
    even: ClassVar[bool] = False
    generator: TextGenerator
    request: TextRequest

    @property
    def model(self) -> Any:
        """The generator that is asked."""
        return self.generator

    @property
    def count(self) -> int:
        """Number of passes that it is charged as."""
        return 1

    def bucket(self, request: Any, length: int) -> Hashable:
        """Prompts share a batch if they are decoded in the same way."""
        return self.together(request)

    def needed(self) -> Needed:
        """One pass, unless the answer is known or pending."""
        answers, request = self._answers(), self.request
        if request in answers:
            return Needed((), self.count)
        try:
            length = self.generator.length(request)
        except UserError:
            raise
        except Exception as error:  # noqa: BLE001 - a text that cannot be read is the answer to its own question alone
            answers[request] = error
            return Needed((), self.count)
        answers[request] = pending = Pending()

        def keep(answer: Any) -> None:
            if isinstance(answer, np.ndarray) and not np.isfinite(answer).all():
                answer = Undefined("nonfinite", "the model's likelihoods are not finite numbers")
            answers[request] = answer
            pending.is_answered = True

        return Needed([Pass(self, request, length, keep, self.count)], self.count)

    def answer(self) -> Any:
        """The answer from the memo."""
        return self._answers()[self.request]

    def pending(self) -> Sequence[Pending]:
        """Its answer, if it has not arrived."""
        answer = self._answers().get(self.request)
        return (answer,) if isinstance(answer, Pending) else ()

    def _answers(self) -> dict[Hashable, Any]:
        return self.x.memo.setdefault((type(self), id(self.generator)), {})


@dataclass(frozen=True, eq=False, slots=True)
class Generate(TextQuestion):
    """A text that a generator writes.

    Args:
        x: the input that it is about; the answer is kept with it.
        generator: writes the text.
        request: the prompt, and how to decode.

    The answer is a `Generated`.
    """

    x: Subject
    generator: TextGenerator
    request: GeneratePass

    answered_by: ClassVar[str] = "generate"
    concurrent: ClassVar[bool] = True

    def together(self, request: GeneratePass) -> Hashable:
        """Everything but the prompt."""
        return request[1:]


@dataclass(frozen=True, eq=False, slots=True)
class Likelihood(TextQuestion):
    """Log-likelihoods of given continuations of a prompt.

    Args:
        x, generator: as for `Generate`.
        request: the prompt and the continuations.

    The answer is an array, shape [continuations].
    """

    x: Subject
    generator: TextGenerator
    request: LikelihoodPass

    answered_by: ClassVar[str] = "likelihoods"

    @property
    def count(self) -> int:
        """One pass for each continuation."""
        return len(self.request.continuations)


@dataclass(frozen=True, eq=False, slots=True)
class Choose(TextQuestion):
    """One label of several, from a generator that gives no likelihoods.

    Args:
        x: as for `Generate`.
        generator: chooses the label.
        request: the prompt and the labels.

    The answer is a `Choice`.
    """

    x: Subject
    generator: Chooser
    request: ChoicePass

    answered_by: ClassVar[str] = "choose"
    concurrent: ClassVar[bool] = True


@dataclass(frozen=True, eq=False, slots=True)
class Candidates(TextQuestion):
    """The most likely continuations of a prompt, different from each other.

    Args:
        x: as for `Generate`.
        generator: writes the texts.
        request: the prompt, and the number of texts.

    The answer is a list of `Generated`, the most likely first.
    """

    x: Subject
    generator: CandidateGenerator
    request: CandidatesPass

    answered_by: ClassVar[str] = "candidates"

    def together(self, request: CandidatesPass) -> Hashable:
        """Everything but the prompt."""
        return request[1:]
