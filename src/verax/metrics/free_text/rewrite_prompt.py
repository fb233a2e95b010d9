"""The prompt that asks a model to rewrite an input from an explanation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from verax.models.generator import Prompt
from verax.models.wording import PromptFile, choices
from verax.types import Instance

_REWRITE = "rewrite"
_QUESTIONS = "rewrite-questions.txt"
_ANY_TASK = "rewrite.txt"


class RewritePrompt(PromptFile):
    """A file with a section [rewrite] and an optional section [system].

    Placeholders: `{explanation}`, `{choices}` for the parts after the first with the class that each stands for
    (questions only), `{labels}` for all classes, and `{count}` for the number of parts.
    """

    headings: ClassVar[tuple[str, ...]] = (_REWRITE,)
    places: ClassVar[tuple[str, ...]] = ("explanation", "choices", "labels", "count")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check([_REWRITE])

    def prompt(self, instance: Instance, labels: Sequence[str], explanation: str) -> Prompt:
        """The prompt, which contains nothing of the input but the choices of a question."""
        values = {
            "explanation": explanation,
            "choices": choices(instance, labels),
            "labels": ", ".join(labels),
            "count": str(len(instance.parts)),
        }
        return self.filled(_REWRITE, values)


def is_question(instance: Instance, labels: Sequence[str]) -> bool:
    """Whether the parts after the first are choices, one for each class."""
    return len(instance.parts) == len(labels) + 1


def shipped_prompt(question: bool) -> RewritePrompt:
    """The shipped prompt, for questions with choices or for other inputs."""
    return RewritePrompt.shipped(_QUESTIONS if question else _ANY_TASK)


def shipped_prompts() -> tuple[RewritePrompt, ...]:
    """All shipped prompts."""
    return shipped_prompt(True), shipped_prompt(False)
