"""Reconstruction by a model that is asked to state the reasons of an explanation as an input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import regex

from verax.data.text import split_words
from verax.engine.questions import Generate, QuestionGenerator
from verax.metrics.free_text.reconstruction import Reconstructed, made_of
from verax.metrics.free_text.rewrite_prompt import RewritePrompt, is_question, shipped_prompt, shipped_prompts
from verax.metrics.free_text.second_model import folder_of, generator_beside, hashes_of
from verax.metrics.free_text.stamps import Stamps, stamps_of
from verax.models.generator import GeneratePass, TextGenerator
from verax.models.self_explainer import is_trained
from verax.models.subject import Subject
from verax.store.keys import hash_bytes, hash_files
from verax.types import Generated, Undefined, UserError

VERSION = 1
"""Raised whenever another input is read from the same answer: part of its provenance."""
_TOKENS_FOR_A_PART = 64
_LONGEST_QUOTE = 120
_MARK = regex.compile(r"^(?:[-*\u2022]|\d+[.)])\s+")
_LABELLED = regex.compile(r"^\(?(\w+)[:.)]\s+(?=\S)")


@dataclass(frozen=True)
class ModelWritten:
    """The model that explains, or another one, rewrites the input from the explanation alone: a line for each part.

    For a question with choices it is also shown the choices: a class is the position of a choice, so their order must
    not change.

    Args:
        prompts: a file with a section [rewrite] that replaces the shipped prompts.
        model: folder or hub id of a model that follows instructions, asked in place of the one that explains.
    """

    prompts: str | None = None
    model: str | None = None

    namespace: ClassVar[str] = "reconstructions"
    name: ClassVar[str] = "model_written"
    summary: ClassVar[str] = "An instruction-tuned model rewrites the input from the explanation alone."
    reference: ClassVar[str] = "Atanasova et al. 2023, Limitations"

    @property
    def provenance(self) -> Mapping[str, str]:
        """The version, the prompts, and the named model, without loading it."""
        texts = shipped_prompts() if self.prompts is None else [_given(self.prompts)]
        whole = hash_bytes(*(prompt.hash.encode() for prompt in texts))
        named = {} if self.model is None else _identity(self.model)
        return {"reconstruction": f"model-written {VERSION}", "prompts": whole, **named}

    def reconstruct(self, x: Subject, explanation: str, predicted: str) -> QuestionGenerator[Reconstructed]:
        """The input that the model writes, without knowing the predicted class."""
        writer = self._writer(x)
        question = is_question(x.instance, x.model.labels)
        prompt = (shipped_prompt(question) if self.prompts is None else _given(self.prompts)).prompt(
            x.instance, x.model.labels, explanation
        )
        tokens = _TOKENS_FOR_A_PART * len(x.instance.parts)
        written: Generated = yield Generate(x, writer, GeneratePass(prompt, tokens))
        if written.finish == "length":
            raise Undefined("no_reconstruction", f"the answer was cut off: {written.text[:_LONGEST_QUOTE]!r}")
        lines = _read(written.text, x, question)
        parts = zip(lines, x.instance.parts, strict=True)
        made = made_of(x.instance, tuple(split_words(line, like.lang) for line, like in parts))
        return Reconstructed(made, {"written_by": self.model or writer.name})

    def _writer(self, x: Subject) -> TextGenerator:
        """The generator that is asked; a model that knows only the prompts of its training cannot be."""
        if self.model is not None:
            return generator_beside(x, self.model)
        if x.model.plain:
            raise Undefined(
                "unfit",
                f"it needs a model that follows instructions, and {x.model.name!r} was trained on prompts of its own; "
                "`model` names another one",
            )
        explainer: TextGenerator = x.model.explainer
        return explainer


def _identity(name: str) -> dict[str, str]:
    """Hashes of a named model; one that cannot be asked is rejected."""
    folder = folder_of(name)
    if is_trained(folder):
        raise UserError(
            f"model_written: model: {name!r} knows only the prompts of its training; it follows no instructions"
        )
    return {**hashes_of(name), "generation": hash_files(folder.glob("generation_config.json"))}


def _given(path: str) -> RewritePrompt:
    file = Path(path).expanduser()
    return _read_once(file, stamps_of([file]))


@lru_cache(maxsize=4)
def _read_once(file: Path, _: Stamps) -> RewritePrompt:
    return RewritePrompt.read(file)


def _read(text: str, x: Subject, question: bool) -> list[str]:
    """Parts of the input in an answer, one a line; Undefined for another number of lines, or mixed-up choices."""
    lines = [_MARK.sub("", line.strip()) for line in text.splitlines() if line.strip()]
    if len(lines) != len(x.instance.parts):
        counts = f"{len(lines)} lines in place of {len(x.instance.parts)}"
        raise Undefined("no_reconstruction", f"the answer has {counts}: {text.strip()[:_LONGEST_QUOTE]!r}")
    if question:
        pairs = zip(lines[1:], x.model.labels, strict=True)
        lines[1:] = [_choice(line, label, x.model.labels) for line, label in pairs]
    if not all(any(sign.isalnum() for sign in line) for line in lines):
        raise Undefined("no_reconstruction", f"a part has no word: {text.strip()[:_LONGEST_QUOTE]!r}")
    return lines


def _choice(line: str, label: str, labels: tuple[str, ...]) -> str:
    """A choice without its class label, which must be the right one."""
    head = _LABELLED.match(line)
    named = None if head is None else next((known for known in labels if known.casefold() == head[1].casefold()), None)
    if head is None or named is None:
        return line
    if named != label:
        raise Undefined("no_reconstruction", f"the choice {label} stands under {named}: {line[:_LONGEST_QUOTE]!r}")
    return line[head.end() :]
