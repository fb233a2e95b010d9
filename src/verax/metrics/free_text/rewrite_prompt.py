"""The prompt that asks a model to write an input again from an explanation alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path

import regex

from verax.models.generator import Prompt
from verax.registry import unknown
from verax.store.keys import hash_bytes
from verax.types import Instance, UserError

_HEADING = regex.compile(r"^\[(\w+)\][ \t]*$", regex.MULTILINE)
_SECTIONS = ("system", "rewrite")
_PLACE = regex.compile(r"\{(\w+)\}")
_PLACES = ("explanation", "choices", "labels", "count")
_QUESTIONS = "rewrite-questions.txt"
_ANY_TASK = "rewrite.txt"


@dataclass(frozen=True)
class RewritePrompt:
    """A file with a section [rewrite] and, if wanted, one [system].

    In them stand `{explanation}`, `{choices}` for the parts behind the first with the class that each stands for (of
    questions only), `{labels}` for all classes, and `{count}` for the number of parts.

    Args:
        text: the content of the file.
        source: where it came from, for messages.
    """

    text: str
    source: str

    def __post_init__(self) -> None:
        for name, body in self._sections.items():
            for place in _PLACE.findall(body):
                if place not in _PLACES:
                    raise UserError(f"prompts: {self.source}: [{name}]: {unknown('placeholder', place, _PLACES)}")

    @property
    def hash(self) -> str:
        """Tells this prompt from all others."""
        return hash_bytes(self.text.encode("utf-8", "surrogatepass"))

    @cached_property
    def _sections(self) -> dict[str, str]:
        before, *pieces = _HEADING.split(self.text)
        found = {name: body.strip("\n") for name, body in zip(pieces[::2], pieces[1::2], strict=True)}
        if before.strip() or "rewrite" not in found or not set(found) <= set(_SECTIONS):
            raise UserError(f"prompts: {self.source}: it must have a section [rewrite] and may have one [system]")
        return found

    def prompt(self, instance: Instance, labels: Sequence[str], explanation: str) -> Prompt:
        """What the model reads; nothing of the input itself but the choices of a question."""
        choices = zip(labels, instance.parts[1:], strict=True) if is_question(instance, labels) else None
        values = {
            "explanation": explanation,
            "choices": None if choices is None else "\n".join(f"{label}: {part.raw}" for label, part in choices),
            "labels": ", ".join(labels),
            "count": str(len(instance.parts)),
        }
        system = self._filled("system", values) if "system" in self._sections else None
        return Prompt(self._filled("rewrite", values), system)

    def _filled(self, section: str, values: dict[str, str | None]) -> str:
        """The section with everything put in, in one go: what is put in is not looked through again."""

        def put(match: regex.Match[str]) -> str:
            value = values[match[1]]
            if value is None:
                raise UserError(f"prompts: {self.source}: [{section}] has {match[0]}, and the input has no choices")
            return value

        filled: str = _PLACE.sub(put, self._sections[section])
        return filled


def is_question(instance: Instance, labels: Sequence[str]) -> bool:
    """Whether the parts behind the first are choices, one for each class."""
    return len(instance.parts) == len(labels) + 1


def read_prompt(path: Path) -> RewritePrompt:
    """The prompt of a user's file."""
    try:
        return RewritePrompt(path.read_text("utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"prompts: {path} can't be read: {error}") from None


def shipped_prompt(question: bool) -> RewritePrompt:
    """The prompt that comes with verax, for questions with choices or for anything else."""
    name = _QUESTIONS if question else _ANY_TASK
    return RewritePrompt((resources.files("verax.models") / "prompts" / name).read_text("utf-8"), name)


def shipped_prompts() -> Iterator[RewritePrompt]:
    """All that come with verax."""
    yield shipped_prompt(True)
    yield shipped_prompt(False)
