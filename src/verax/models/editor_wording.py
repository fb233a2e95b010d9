"""Prompts of a trained editor: an input with a mark where words are to be written, and the class to reach."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import regex

from verax.data.text import needs_space
from verax.models.generator import Prompt
from verax.models.wording import task_of
from verax.types import Instance, Text, UserError

FACTS = "editor.json"
MARK = "___"
_KNOWN_MARK = "<extra_id_0>"
_PLACE = regex.compile(r"\{(label|\d+)\}")


@dataclass(frozen=True, slots=True)
class EditorFacts:
    """The prompt and the classes that an editor was trained on.

    Args:
        prompt: with `{label}` and `{1}`, `{2}`, ... for the parts of the input.
        mark: holds the place of the words to write.
    """

    prompt: str
    mark: str
    labels: tuple[str, ...]


def editor_facts(labels: Sequence[str], parts: int, tokenizer: Any) -> EditorFacts:
    """Facts of a new editor, for inputs with this number of parts.

    The mark is one that the base model knows from its training, if it has one: the first sentinel of a T5, or the mask
    token.
    """
    if task_of(labels, parts) == "nli":
        names = ["premise", "hypothesis"]
    else:
        names = ["text"] if parts == 1 else [f"part {number}" for number in range(1, parts + 1)]
    inputs = " ".join(f"{name}: {{{number}}}" for number, name in enumerate(names, 1))
    known = _KNOWN_MARK in tokenizer.get_vocab()
    mark = _KNOWN_MARK if known else tokenizer.mask_token or MARK
    return EditorFacts(f"edit label: {{label}} {inputs} words:", mark, tuple(labels))


def editor_prompt(
    facts: EditorFacts, instance: Instance, part: int, position: int, label: str, *, words: int = 0
) -> Prompt:
    """The prompt of an editor for one part of the input.

    Args:
        position: number of the word before which the mark goes; the number of words of the part for its end.
        words: number of words from `position` on that the mark replaces: those to be written in training, 0 to insert.
    """
    texts = [text.raw for text in instance.parts]
    texts[part] = _marked(instance.parts[part], position, words, facts.mark)
    values = {"label": label, **{str(number): text for number, text in enumerate(texts, 1)}}
    filled: str = _PLACE.sub(lambda match: values[match[1]], facts.prompt)
    return Prompt(filled, plain=True)


def _marked(text: Text, position: int, words: int, mark: str) -> str:
    """The text with the mark in it, separated by spaces."""
    if not 0 <= position <= position + words <= len(text.words):
        raise ValueError(f"a text of {len(text.words)} words has no {words} words at {position}")
    ends = [end for _, end in text.offsets]
    inside = position < len(text.words)
    start = text.offsets[position][0] if inside else (ends or [0])[-1]
    after = text.raw[ends[position + words - 1] if words else start :]
    before = text.raw[:start]
    if words:
        return f"{before}{mark}{after}"
    return f"{before}{' ' * needs_space(before)}{mark}{' ' * inside}{after}"


def read_editor_facts(folder: Path) -> EditorFacts:
    """The facts of an editor that `verax train editor` made."""
    try:
        facts = json.loads((folder / FACTS).read_text("utf-8"))
        return EditorFacts(str(facts["prompt"]), str(facts["mark"]), tuple(map(str, facts["labels"])))
    except FileNotFoundError:
        raise UserError(f"editor: {folder} holds no {FACTS}; make one with: verax train editor --out DIR") from None
    except KeyError as error:
        raise UserError(f"editor: {folder / FACTS} has no {error}") from None
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise UserError(f"editor: {folder / FACTS} can't be read: {error}") from None
