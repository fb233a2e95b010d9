"""Questions to text generators: a text, likelihoods of given texts, a label, several candidates."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from verax.engine.questions.base import Needed, Pass, Pending, Question, finite_answer
from verax.models.generator import CandidatesPass, GeneratePass, LikelihoodPass, TextGenerator, TextRequest
from verax.models.subject import Subject
from verax.types import UserError

GENERATING = 4
"""Tokens in a batch of a text generator, relative to a classifier: each step of generating computes one token of each
text. Likelihoods read all of their tokens at once and could do with fewer, but a generator has one budget for all."""


@dataclass(frozen=True, eq=False, slots=True)
class TextQuestion(Question):
    """A question to a text generator; its answer is kept with the subject, by generator and request.

    Args:
        x: the input that it is about.
        generator: the model that is asked.
        request: the prompt, and how to answer it.
    """

    x: Subject
    generator: TextGenerator
    request: TextRequest

    budget: ClassVar[str] = "text"
    budget_scale: ClassVar[int] = GENERATING
    even: ClassVar[bool] = False

    @property
    def model(self) -> Any:
        """The generator that is asked."""
        return self.generator

    def bucket(self, request: TextRequest, length: int) -> Hashable:
        """Prompts share a batch if they are decoded in the same way."""
        return request[1:] if isinstance(request, GeneratePass | CandidatesPass) else None

    def needed(self) -> Needed:
        """One pass, or one for each continuation, unless the answer is known or pending."""
        answers, request = self._answers(), self.request
        count = len(request.continuations) if isinstance(request, LikelihoodPass) else 1
        if request in answers:
            return Needed((), count)
        try:
            length = self.generator.length(request)
        except UserError:
            raise
        except Exception as error:  # noqa: BLE001 - a text that cannot be read is the answer to its own question alone
            answers[request] = error
            return Needed((), count)
        answers[request] = pending = Pending()

        def keep(answer: Any) -> None:
            answers[request] = finite_answer("likelihoods", answer)
            pending.is_answered = True

        return Needed([Pass(self, request, length, keep, count)], count)

    def answer(self) -> Any:
        """The answer from the memo."""
        return self._answers()[self.request]

    def pending(self) -> Sequence[Pending]:
        """Its answer, if it has not arrived."""
        answer = self._answers().get(self.request)
        return (answer,) if isinstance(answer, Pending) else ()

    def _answers(self) -> dict[Hashable, Any]:
        return self.x.memo.setdefault((type(self), id(self.generator)), {})


class Generate(TextQuestion):
    """A text for a `GeneratePass`; the answer is a `Generated`."""

    __slots__ = ()
    answered_by: ClassVar[str] = "generate"
    concurrent: ClassVar[bool] = True


class Likelihood(TextQuestion):
    """Log-likelihoods of the continuations of a `LikelihoodPass`; the answer is an array, shape [continuations]."""

    __slots__ = ()
    answered_by: ClassVar[str] = "likelihoods"


class Choose(TextQuestion):
    """A label for a `ChoicePass`, from a generator without likelihoods; the answer is a `ChosenLabel`."""

    __slots__ = ()
    answered_by: ClassVar[str] = "choose"
    concurrent: ClassVar[bool] = True


class Candidates(TextQuestion):
    """Different texts for a `CandidatesPass`; the answer is a list of `Generated`, the most likely first."""

    __slots__ = ()
    answered_by: ClassVar[str] = "candidates"
