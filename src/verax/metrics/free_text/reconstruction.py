"""The reconstruction test: do the reasons of an explanation lead to the same prediction?

A reconstruction builds a new input from an explanation: by rules where the task has some, otherwise by a model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

import regex

from verax.data.text import split_words
from verax.engine.protocols import AnsweringMethod, RunFacts, as_generator
from verax.engine.questions import Generate, QuestionGenerator
from verax.metrics.free_text import nli
from verax.metrics.free_text.linguistics import PIPELINE
from verax.metrics.free_text.second_model import folder_of, hashes_of, second_generator
from verax.models.generator import GeneratePass, Prompt, TextGenerator
from verax.models.self_explainer import is_trained
from verax.models.subject import Subject
from verax.models.wording import PromptFile, choices, task_of
from verax.store.keys import hash_bytes, hash_files
from verax.types import (
    CUT_OFF,
    Generated,
    Instance,
    Kind,
    Measured,
    MeasuredProperty,
    Nle,
    NoPasses,
    Text,
    Trial,
    TrialLog,
    Undefined,
    UserError,
)

UNREADABLE = frozenset(
    {"empty", "no_reconstruction", "no_statement", "no_subject", "no_template", "no_verb", "not_a_pair"}
)
"""Reasons why no input can be made from an explanation; any other means that it was not tried or not answered."""
MODEL_WRITTEN_VERSION = 1
"""Raised whenever another input is read from the same answer: part of its provenance."""
_REWRITE = "rewrite"
_LONGEST_QUOTE = 120
_MARK = regex.compile(r"^(?:[-*\u2022]|\d+[.)])\s+")
_LABELLED = regex.compile(r"^\(?(\w+)[:.)]\s+(?=\S)")


class Reconstructed(NamedTuple):
    """A new input that contains only the reasons, and facts about how it was made."""

    instance: Instance
    notes: Mapping[str, str]


@runtime_checkable
class Reconstruction(Protocol):
    """Builds an input from an explanation (Atanasova et al. 2023, Equation 2). Its fields are its parameters."""

    @property
    def provenance(self) -> Mapping[str, str]:
        """Everything that determines the new input besides the parameters."""

    def reconstruct(
        self, x: Subject, explanation: str, predicted: str
    ) -> Reconstructed | QuestionGenerator[Reconstructed]:
        """The input made from the explanation: at once, or as a generator of questions if a model is needed.

        Raises Undefined with one of the reasons `UNREADABLE` if no input can be made.
        """


@dataclass(frozen=True)
class NliByTemplates:
    """Premise and hypothesis, found by a template in the explanation."""

    pipeline: str = PIPELINE

    namespace: ClassVar[str] = "reconstructions"
    name: ClassVar[str] = "nli_templates"
    summary: ClassVar[str] = "Premise and hypothesis extracted from the explanation by templates."
    reference: ClassVar[str] = "Atanasova et al. 2023, Section 2.2; Camburu et al. 2020"

    @property
    def provenance(self) -> Mapping[str, str]:
        """The templates and the pipeline."""
        return {"reconstruction": "nli", **nli.templates_provenance(self.pipeline)}

    def reconstruct(self, x: Subject, explanation: str, predicted: str) -> Reconstructed:
        """The pair that the explanation states, whatever the predicted class."""
        instance = x.instance
        if len(instance.parts) != 2:
            raise Undefined("not_a_pair", f"{len(instance.parts)} parts; premise and hypothesis are needed")
        reading = nli.read_nli(explanation, [part.raw for part in instance.parts], self.pipeline)
        halves = zip((reading.premise, reading.hypothesis), instance.parts, strict=True)
        made = with_parts(instance, tuple(split_words(_dressed(half, like), like.lang) for half, like in halves))
        return Reconstructed(made, {"template": reading.template, "speaks_for": reading.label})


@dataclass(frozen=True)
class ComveByReplacement:
    """The sentence that the model considers right is replaced by the explanation of why the other one is wrong.

    Args:
        labels: the classes for a first and for a second sentence against common sense.
    """

    labels: tuple[str, str] = ("first", "second")

    namespace: ClassVar[str] = "reconstructions"
    name: ClassVar[str] = "comve_replacement"
    summary: ClassVar[str] = "Replaces the sentence that the model accepts by the explanation."
    reference: ClassVar[str] = "Atanasova et al. 2023, Section 2.2"

    def __post_init__(self) -> None:
        if len(set(self.labels)) != 2:
            raise UserError(f"comve: labels must be two different classes, got {list(self.labels)}")

    @property
    def provenance(self) -> Mapping[str, str]:
        """The version of the rule."""
        return {"reconstruction": "comve 1"}

    def reconstruct(self, x: Subject, explanation: str, predicted: str) -> Reconstructed:
        """The sentence predicted to be against common sense, and the explanation in place of the other."""
        instance = x.instance
        if len(instance.parts) != 2:
            raise Undefined("not_a_pair", f"{len(instance.parts)} parts; two sentences are needed")
        if predicted not in self.labels:
            raise UserError(f"comve: labels must hold the predicted class {predicted!r}, got {list(self.labels)}")
        kept = self.labels.index(predicted)
        text = split_words(explanation.strip(), instance.lang)
        if not text.words:
            raise Undefined("empty", "the explanation has no word")
        parts = (instance.parts[0], text) if kept == 0 else (text, instance.parts[1])
        return Reconstructed(with_parts(instance, parts), {"replaced": self.labels[1 - kept]})


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
        texts = [_shipped(True), _shipped(False)] if self.prompts is None else [_given(self.prompts)]
        whole = hash_bytes(*(prompt.hash.encode() for prompt in texts))
        named = {} if self.model is None else _identity(self.model)
        return {"reconstruction": f"model-written {MODEL_WRITTEN_VERSION}", "prompts": whole, **named}

    def reconstruct(self, x: Subject, explanation: str, predicted: str) -> QuestionGenerator[Reconstructed]:
        """The input that the model writes, without knowing the predicted class."""
        writer = self._writer(x)
        question = len(x.instance.parts) == len(x.model.labels) + 1  # the parts after the first are its choices
        wording = _shipped(question) if self.prompts is None else _given(self.prompts)
        prompt = wording.prompt(x.instance, x.model.labels, explanation)
        tokens = x.model.max_new_tokens * len(x.instance.parts)
        written: Generated = yield Generate(x, writer, GeneratePass(prompt, tokens))
        if written.finish == "length":
            raise Undefined("no_reconstruction", f"the answer was cut off: {written.text[:_LONGEST_QUOTE]!r}")
        lines = _read(written.text, x, question)
        parts = zip(lines, x.instance.parts, strict=True)
        made = with_parts(x.instance, tuple(split_words(line, like.lang) for line, like in parts))
        return Reconstructed(made, {"written_by": self.model or writer.name})

    def _writer(self, x: Subject) -> TextGenerator:
        """The generator that is asked; a model that knows only the prompts of its training cannot be."""
        if self.model is not None:
            return second_generator(x, self.model)
        if getattr(x.model, "plain", True):
            problem = "was trained on prompts of its own" if hasattr(x.model, "plain") else "writes no text"
            raise Undefined(
                "unfit",
                f"it needs a model that follows instructions, and {x.model.name!r} {problem}; `model` names another "
                "one",
            )
        explainer: TextGenerator = x.model.explainer
        return explainer


@dataclass(frozen=True)
class ReconstructionTest(NoPasses):
    """1 if an input made from the explanation alone gets the prediction of the original one, 0 otherwise.

    A test of consistency, not a proof of faithfulness. There is no value if no input can be made from the explanation.

    Args:
        by: makes the input; chosen by the task by default, see `fitting`.
    """

    by: Reconstruction | None = None

    name: ClassVar[str] = "reconstruction_test"
    display: ClassVar[str] = "Reconstruction test"
    summary: ClassVar[str] = "Whether the reasons alone lead to the same prediction; a consistency test."
    cost: ClassVar[str] = "1 answer"
    measures: ClassVar[MeasuredProperty] = "consistency"
    kinds: ClassVar[frozenset[Kind]] = frozenset({"text"})
    version: ClassVar[int] = 2
    reference: ClassVar[str] = "Atanasova et al. 2023, Section 2.2"
    higher_is_better: ClassVar[bool] = True
    ranked: ClassVar[bool] = False
    range: ClassVar[tuple[float | None, float | None]] = (0.0, 1.0)
    needs: ClassVar[frozenset[str]] = frozenset({"setup"})

    @property
    def provenance(self) -> Mapping[str, str]:
        """Provenance of the reconstruction; empty until one is chosen."""
        return {} if self.by is None else self.by.provenance

    def fitted(self, run: RunFacts) -> ReconstructionTest:
        """The test with the reconstruction for the task of the run, if none is named."""
        if self.by is not None or not run.data.instances:
            return self
        return replace(self, by=fitting(run.model.labels, len(run.data.instances[0].parts)))

    def max_inputs(self, parts: int, labels: int) -> int:
        """The reconstructed input, and the question to a model that writes it."""
        return 2

    def __call__(self, x: Subject, nle: Nle, *, setup: AnsweringMethod) -> QuestionGenerator[Measured]:
        """1 if the model predicts the same class for the reconstructed input, else 0."""
        if CUT_OFF in nle.notes:
            raise Undefined(CUT_OFF, "the explanation reached the maximum length")
        by = fitting(x.model.labels, len(x.instance.parts)) if self.by is None else self.by
        try:
            made: Reconstructed = yield from as_generator(by.reconstruct, x, nle.text, nle.label)
        except Undefined as problem:
            if problem.reason not in UNREADABLE:
                raise
            detail = str(problem).removeprefix("no_reconstruction: ")
            return Measured(None, reason="no_reconstruction", detail=detail, trial_log=TrialLog(0, ()))
        answer = yield from setup.answer(x.edited(made.instance))
        if CUT_OFF in answer.notes:
            raise Undefined(CUT_OFF, "the explanation of the reconstructed input reached the maximum length")
        flipped = answer.label != nle.label
        parts = tuple(part.raw for part in made.instance.parts)
        trial = Trial(
            "reconstruction",
            parts,
            answer.label,
            flipped,
            answer.label_source,
            explanation=answer.text,
            notes=made.notes,
        )
        return Measured(float(not flipped), trial_log=TrialLog(1, (trial,), decisive=0))


def fitting(labels: Sequence[str], parts: int) -> Reconstruction:
    """The reconstruction for inputs with this number of parts and these classes: by rules if the task has some."""
    task = task_of(labels, parts)
    if task == "nli":
        return NliByTemplates()
    if task == "commonsense":
        first, second = labels
        return ComveByReplacement((first, second))
    return ModelWritten()


def with_parts(instance: Instance, parts: tuple[Text, ...]) -> Instance:
    """A new input with these parts, without the label and annotations of the old one."""
    return replace(instance, id=f"{instance.id}+reconstructed", parts=parts, label=None, parallel_id=None, human=None)


def _dressed(half: str, like: Text) -> str:
    """A half with the capital and the full stop of the part that it replaces."""
    raw = like.raw.strip()
    if raw[:1].isupper():
        half = half[:1].upper() + half[1:]
    if raw.endswith("."):
        half += " ." if raw.endswith(" .") else "."
    return half


def _identity(name: str) -> dict[str, str]:
    """Hashes of a named model; one that cannot be asked is rejected."""
    folder = folder_of(name)
    if is_trained(folder):
        raise UserError(
            f"model_written: model: {name!r} knows only the prompts of its training; it follows no instructions"
        )
    return {**hashes_of(name), "generation": hash_files(folder.glob("generation_config.json"))}


def _shipped(question: bool) -> RewritePrompt:
    """The shipped prompt, for questions with choices or for other inputs."""
    return RewritePrompt.shipped("rewrite-questions.txt" if question else "rewrite.txt")


def _given(path: str) -> RewritePrompt:
    return RewritePrompt.read(Path(path).expanduser())


def _read(text: str, x: Subject, question: bool) -> list[str]:
    """Parts of the input in an answer, one a line; Undefined for another number of lines, or mixed-up choices."""
    lines = [_MARK.sub("", line.strip()) for line in text.splitlines() if line.strip()]
    if len(lines) != len(x.instance.parts):
        counts = f"{len(lines)} lines, expected {len(x.instance.parts)}"
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
        raise Undefined("no_reconstruction", f"the choice of {label} is labelled {named}: {line[:_LONGEST_QUOTE]!r}")
    return line[head.end() :]
