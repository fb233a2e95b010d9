"""How an input is put into words for a text generator: prompts, from files that a user can replace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Literal, get_args

import regex

from verax.models.generator import Prompt
from verax.registry import unknown
from verax.store.keys import hash_bytes
from verax.types import Instance, UserError

Stage = Literal["answer", "explain", "explain_label", "answer_explanation"]
"""What a generator is asked: for the class; for an explanation; for one of a given class; for the class, given one."""
Style = Literal["trained", "instructed"]
"""For models that were fine-tuned on these very prompts, and for those that follow instructions."""

_SYSTEM = "system"
_SECTIONS = (_SYSTEM, *get_args(Stage))
_HEADING = regex.compile(r"^\[(\w+)\][ \t]*$", regex.MULTILINE)
_PLACE = regex.compile(r"\{(\w+)\}")
_PLACES = ("parts", "choices", "labels", "label", "chosen", "explanation")
_ENTAILMENT = ("entailment", "neutral", "contradiction")


@dataclass(frozen=True)
class Wording:
    """The prompts of a task.

    A file holds a section for each stage, under a heading such as `[explain]`, and may hold a `[system]` text. In them
    stand `{1}`, `{2}`, ... for the parts of the input, `{parts}` for all of them, `{labels}` for the names of the
    classes, `{choices}` for the parts behind the first with the class that each stands for, `{label}` for a class,
    `{chosen}` for the part that it stands for, and `{explanation}`.

    Args:
        text: the content of the file; it decides answers, so its hash is part of every key.
        source: where it came from, for messages.
    """

    text: str
    source: str

    def __post_init__(self) -> None:
        for name, section in self.sections.items():
            for place in _PLACE.findall(section):
                if not place.isdecimal() and place not in _PLACES:
                    raise UserError(f"prompts: {self.source}: [{name}]: {unknown('placeholder', place, _PLACES)}")

    @property
    def hash(self) -> str:
        """Tells these prompts from all others."""
        return hash_bytes(self.text.encode("utf-8", "surrogatepass"))

    @cached_property
    def sections(self) -> Mapping[str, str]:
        """What stands under each heading."""
        before, *pieces = _HEADING.split(self.text)
        if before.strip() or not pieces:
            raise UserError(
                f"prompts: {self.source}: it must begin with a heading such as [answer], got {before.strip()[:40]!r}"
            )
        found: dict[str, str] = {}
        for name, body in zip(pieces[::2], pieces[1::2], strict=True):
            if name not in _SECTIONS:
                raise UserError(f"prompts: {self.source}: {unknown('heading', name, _SECTIONS)}")
            if name in found:
                raise UserError(f"prompts: {self.source}: the heading [{name}] is there twice")
            found[name] = body.strip("\n")
        return found

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
        """What a generator reads at a stage.

        Args:
            stage: what it is asked.
            instance: the input.
            labels: the names of the classes.
            label: the class that is to be explained.
            explanation: what is to be taken into account.
            plain: the text is to be continued as it stands.
        """
        values = {
            "parts": "\n".join(part.raw for part in instance.parts),
            "labels": ", ".join(labels),
            "label": label,
            "explanation": explanation,
            "choices": _choices(instance, labels),
            "chosen": None if label is None else _chosen(instance, labels, label),
            **{str(number): part.raw for number, part in enumerate(instance.parts, 1)},
        }
        system = None if plain or _SYSTEM not in self.sections else self._filled(_SYSTEM, values)
        return Prompt(self._filled(stage, values), system, plain)

    def check(self, stages: Sequence[Stage]) -> None:
        """Refuse prompts that lack a stage."""
        for stage in stages:
            if stage not in self.sections:
                raise UserError(f"prompts: {self.source}: the section [{stage}] is missing")

    def _filled(self, section: str, values: Mapping[str, str | None]) -> str:
        """The section with everything put in, in one go: what is put in is not looked through again."""
        self.check([] if section == _SYSTEM else [section])  # type: ignore[list-item]

        def put(match: regex.Match[str]) -> str:
            value = values.get(match[1])
            if value is None:
                raise UserError(f"prompts: {self.source}: [{section}] has {match[0]}, and there is none at this stage")
            return value

        filled: str = _PLACE.sub(put, self.sections[section])
        return filled


def read_wording(path: Path) -> Wording:
    """The prompts of a file."""
    try:
        return Wording(path.read_text("utf-8-sig"), str(path))
    except FileNotFoundError:
        near = unknown("file of prompts", path.name, [one.name for one in path.parent.glob("*.txt")])
        raise UserError(f"prompts: {near} (in {path.parent})") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"prompts: {path} can't be read: {error}") from None


def shipped_wording(style: Style, labels: Sequence[str], parts: int) -> Wording:
    """The prompts that come with verax for inputs of so many parts and these classes."""
    task = _task(labels, parts)
    if task is None:
        raise UserError(
            f"prompts: none are shipped for {parts} parts and the classes {', '.join(labels) or '(none)'}; write some "
            "into a file and name it: model: {prompts: FILE}"
        )
    name = f"{style}-{task}.txt"
    return Wording((resources.files("verax.models") / "prompts" / name).read_text("utf-8"), name)


def whole(labels: Sequence[str], parts: int) -> tuple[str, ...]:
    """The classes of a task of which few inputs may show only some."""
    return _ENTAILMENT if parts == 2 and labels and set(labels) < set(_ENTAILMENT) else tuple(labels)


def _task(labels: Sequence[str], parts: int) -> str | None:
    if parts == 2 and {label.casefold() for label in labels} == set(_ENTAILMENT):
        return "nli"
    if parts == 2 and tuple(labels) == ("first", "second"):
        return "commonsense"
    if len(labels) > 1 and parts == len(labels) + 1:
        return "questions"
    return "text" if len(labels) > 1 and parts == 1 else None


def _choices(instance: Instance, labels: Sequence[str]) -> str | None:
    """A line for each choice of a question, with the class that it stands for; None where parts are no choices."""
    if len(instance.parts) != len(labels) + 1:
        return None
    return "\n".join(f"{label}: {part.raw}" for label, part in zip(labels, instance.parts[1:], strict=True))


def _chosen(instance: Instance, labels: Sequence[str], label: str) -> str | None:
    """The part that a class stands for, where each stands for one."""
    offset = len(instance.parts) - len(labels)
    return instance.parts[offset + labels.index(label)].raw if offset in (0, 1) and label in labels else None
