"""Prompts for text generators, from files that a user can replace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import ClassVar, Literal, Self, get_args

import regex

from verax.data.table import check_regular
from verax.models.generator import Prompt
from verax.registry import unknown
from verax.store.keys import hash_bytes
from verax.types import Instance, UserError

Stage = Literal["answer", "explain", "explain_label", "answer_explanation"]
"""A prompt asks for the class; an explanation; an explanation of a given class; the class given an explanation."""
Style = Literal["trained", "instructed"]
"""For models that were fine-tuned on these prompts, and for those that follow instructions."""

TaskName = Literal["nli", "commonsense", "questions", "text"]
"""Tasks that verax has prompts and rules for."""

_SYSTEM = "system"
_HEADING = regex.compile(r"^\[(\w+)\][ \t]*$", regex.MULTILINE)
_PLACE = regex.compile(r"\{(\w+)\}")
_ENTAILMENT = ("entailment", "neutral", "contradiction")
_COMMONSENSE = ("first", "second")


@dataclass(frozen=True)
class PromptFile:
    """A file of prompts: sections under headings such as `[explain]`, with placeholders such as `{label}` in them.

    Args:
        text: the content of the file; its hash is part of every key.
    """

    text: str
    source: str

    headings: ClassVar[tuple[str, ...]] = ()
    """Sections that a file of this kind may have, besides `[system]`."""
    places: ClassVar[tuple[str, ...]] = ()
    """Placeholders that may be used in them."""
    numbered: ClassVar[bool] = False
    """Whether `{1}`, `{2}`, ... may be used too."""

    def __post_init__(self) -> None:
        for name, section in self.sections.items():
            for place in _PLACE.findall(section):
                if place not in self.places and not (self.numbered and place.isdecimal()):
                    raise self._error(f"[{name}]: {unknown('placeholder', place, self.places)}")

    @classmethod
    def read(cls, path: Path) -> Self:
        """The prompts of a user's file."""
        check_regular(path)
        try:
            return cls(path.read_text("utf-8-sig"), str(path))
        except FileNotFoundError:
            near = unknown("file of prompts", path.name, [file.name for file in path.parent.glob("*.txt")])
            raise UserError(f"prompts: {near} (in {path.parent})") from None
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"prompts: {path} can't be read: {error}") from None

    @classmethod
    def shipped(cls, name: str) -> Self:
        """The prompts of a file that comes with verax."""
        return cls((resources.files("verax.models") / "prompts" / name).read_text("utf-8"), name)

    @property
    def hash(self) -> str:
        """Hash of the prompts."""
        return hash_bytes(self.text.encode("utf-8", "surrogatepass"))

    @cached_property
    def sections(self) -> Mapping[str, str]:
        """Text under each heading."""
        before, *pieces = _HEADING.split(self.text)
        if before.strip() or not pieces:
            example = self.headings[0]
            raise self._error(f"it must begin with a heading such as [{example}], got {before.strip()[:40]!r}")
        allowed = (_SYSTEM, *self.headings)
        sections: dict[str, str] = {}
        for name, body in zip(pieces[::2], pieces[1::2], strict=True):
            if name not in allowed:
                raise self._error(unknown("heading", name, allowed))
            if name in sections:
                raise self._error(f"the heading [{name}] occurs twice")
            sections[name] = body.strip("\n")
        return sections

    def check(self, sections: Sequence[str]) -> None:
        """Reject prompts that lack a section."""
        for section in sections:
            if section not in self.sections:
                raise self._error(f"the section [{section}] is missing")

    def filled(self, section: str, values: Mapping[str, str | None], *, plain: bool = False) -> Prompt:
        """A section and the system text with their placeholders filled; a plain prompt has no system text."""
        self.check([section])
        system = None if plain or _SYSTEM not in self.sections else self._fill(_SYSTEM, values)
        return Prompt(self._fill(section, values), system, plain)

    def _fill(self, section: str, values: Mapping[str, str | None]) -> str:
        """The section with its placeholders filled, in one pass: values are not searched for placeholders."""

        def value_of(match: regex.Match[str]) -> str:
            value = values.get(match[1])
            if value is None:
                raise self._error(f"[{section}] has {match[0]}, and there is none at this stage")
            return value

        filled: str = _PLACE.sub(value_of, self.sections[section])
        return filled

    def _error(self, message: str) -> UserError:
        return UserError(f"prompts: {self.source}: {message}")


class Wording(PromptFile):
    """The prompts of a task, a section for each stage.

    Placeholders: `{1}`, `{2}`, ... for the parts of the input, `{parts}` for all of them, `{labels}` for the names of
    the classes, `{choices}` for the parts after the first with the class that each stands for, `{label}` for a class,
    `{chosen}` for the part that it stands for, and `{explanation}`.
    """

    headings: ClassVar[tuple[str, ...]] = get_args(Stage)
    places: ClassVar[tuple[str, ...]] = ("parts", "choices", "labels", "label", "chosen", "explanation")
    numbered: ClassVar[bool] = True

    def prompt(
        self,
        stage: Stage,
        instance: Instance,
        labels: Sequence[str],
        *,
        label: str | None = None,
        explanation: str | None = None,
        plain: bool = False,
    ) -> Prompt:
        """The prompt of a stage: `label` is the class to explain, `explanation` the one to take into account."""
        values = {
            "parts": "\n".join(part.raw for part in instance.parts),
            "labels": ", ".join(labels),
            "label": label,
            "explanation": explanation,
            "choices": choices(instance, labels),
            "chosen": None if label is None else _chosen(instance, labels, label),
            **{str(number): part.raw for number, part in enumerate(instance.parts, 1)},
        }
        return self.filled(stage, values, plain=plain)


def shipped_wording(style: Style, labels: Sequence[str], parts: int) -> Wording:
    """The prompts shipped for inputs with this number of parts and these classes."""
    task = task_of(labels, parts)
    if task is None:
        raise UserError(
            f"prompts: none are shipped for {parts} parts and the classes {', '.join(labels) or '(none)'}; write some "
            "into a file and name it: model: {prompts: FILE}"
        )
    return Wording.shipped(f"{style}-{task}.txt")


def all_classes(labels: Sequence[str], parts: int) -> tuple[str, ...]:
    """All classes of a task, given those found in the inputs, which may be only some of them."""
    return _ENTAILMENT if parts == 2 and labels and set(labels) < set(_ENTAILMENT) else tuple(labels)


def task_of(labels: Sequence[str], parts: int) -> TaskName | None:
    """The task of inputs with this number of parts and these classes, ignoring case; None if it is unknown.

    The classes of inference may come in any order. Those of commonsense validation name the sentences in order.
    """
    names = tuple(label.casefold() for label in labels)
    if parts == 2 and len(names) == len(_ENTAILMENT) and set(names) == set(_ENTAILMENT):
        return "nli"
    if parts == 2 and names == _COMMONSENSE:
        return "commonsense"
    if len(labels) > 1 and parts == len(labels) + 1:
        return "questions"
    return "text" if len(labels) > 1 and parts == 1 else None


def choices(instance: Instance, labels: Sequence[str]) -> str | None:
    """A line for each choice of a question, with the class that it stands for; None if the parts are not choices."""
    if len(instance.parts) != len(labels) + 1:
        return None
    return "\n".join(f"{label}: {part.raw}" for label, part in zip(labels, instance.parts[1:], strict=True))


def _chosen(instance: Instance, labels: Sequence[str], label: str) -> str | None:
    """The part that a class stands for, if each stands for one."""
    offset = len(instance.parts) - len(labels)
    return instance.parts[offset + labels.index(label)].raw if offset in (0, 1) and label in labels else None
