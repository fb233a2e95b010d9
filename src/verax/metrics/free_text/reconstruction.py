"""Reconstructions: a new input from the reasons of an explanation, one way for each task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, runtime_checkable

from verax.data.text import split_words
from verax.engine.questions import QuestionGenerator
from verax.metrics.free_text.linguistics import PIPELINE
from verax.metrics.free_text.nli_reader import NliReader, NliReading
from verax.models.subject import Subject
from verax.types import Instance, Text, Undefined, UserError

UNREADABLE = frozenset({"empty", "no_reconstruction", "no_subject", "no_template", "no_verb", "not_a_pair"})
"""Reasons why no input can be made from an explanation; any other means that it was not tried or not answered."""


@dataclass(frozen=True, slots=True)
class Reconstructed:
    """A new input that contains only the reasons, and facts about how it was made.

    Args:
        instance: the new input, without label and annotations.
        notes: the template, the label that it supports, ...
    """

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

        Args:
            x: the explained input.
            explanation: of the class that the model predicts for it.
            predicted: that class.
        """


@dataclass(frozen=True)
class NliByTemplates:
    """Premise and hypothesis, found by a template in the explanation.

    Each half gets the capital and the full stop of the part that it replaces.

    Args:
        pipeline: name of the spaCy pipeline.
    """

    pipeline: str = PIPELINE

    namespace: ClassVar[str] = "reconstructions"
    name: ClassVar[str] = "nli_templates"
    summary: ClassVar[str] = "Premise and hypothesis extracted from the explanation by templates."
    reference: ClassVar[str] = "Atanasova et al. 2023, Section 2.2; Camburu et al. 2020"

    @property
    def provenance(self) -> Mapping[str, str]:
        """The templates and the pipeline."""
        return {"reconstruction": "nli", **NliReader(self.pipeline).provenance}

    def reconstruct(self, x: Subject, explanation: str, predicted: str) -> Reconstructed:
        """The pair that the explanation states, whatever the predicted class."""
        instance = x.instance
        if len(instance.parts) != 2:
            raise Undefined("not_a_pair", f"{len(instance.parts)} parts; premise and hypothesis are needed")
        reading: NliReading = NliReader(self.pipeline).read(explanation)
        halves = zip((reading.premise, reading.hypothesis), instance.parts, strict=True)
        made = made_of(instance, tuple(split_words(_dressed(half, like), like.lang) for half, like in halves))
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
        return Reconstructed(made_of(instance, parts), {"replaced": self.labels[1 - kept]})


def made_of(instance: Instance, parts: tuple[Text, ...]) -> Instance:
    """A new input with these parts, without the label and annotations of the old one."""
    return replace(instance, id=f"{instance.id}+reconstructed", parts=parts, label=None, parallel_id=None, human=None)


def _dressed(half: str, like: Text) -> str:
    raw = like.raw.strip()
    if raw[:1].isupper():
        half = half[:1].upper() + half[1:]
    if raw.endswith("."):
        half += " ." if raw.endswith(" .") else "."
    return half
