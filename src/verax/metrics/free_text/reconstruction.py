"""What builds a new input from the reasons that an explanation gives: one way for each task."""

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
"""Reasons why no input can be made of an explanation; any other tells that it was not tried or not answered."""


@dataclass(frozen=True, slots=True)
class Reconstructed:
    """A new input that holds nothing but the reasons, and facts about how it was made.

    Args:
        instance: the new input, without label and annotations.
        notes: for the card of this instance: the template, the label that it speaks for.
    """

    instance: Instance
    notes: Mapping[str, str]


@runtime_checkable
class Reconstruction(Protocol):
    """Builds an input from an explanation (Atanasova et al. 2023, Equation 2). Its fields are its parameters."""

    @property
    def provenance(self) -> Mapping[str, str]:
        """What decides the new input beside the parameters."""

    def reconstruct(
        self, x: Subject, explanation: str, predicted: str
    ) -> Reconstructed | QuestionGenerator[Reconstructed]:
        """The input that the explanation's reasons make: at once, or as a generator of questions if a model is needed.

        Where they make none, Undefined says why, by one of the reasons `UNREADABLE`.

        Args:
            x: the explained input.
            explanation: of the class that the model predicts for it.
            predicted: that class.
        """


@dataclass(frozen=True)
class NliByTemplates:
    """Premise and hypothesis as a template finds them in the explanation.

    Each half gets the capital and the full stop that the part has which it stands in for.

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
        """The pair that the explanation speaks of; which class is predicted does not matter."""
        instance = x.instance
        if len(instance.parts) != 2:
            raise Undefined("not_a_pair", f"{len(instance.parts)} parts; premise and hypothesis are needed")
        reading: NliReading = NliReader(self.pipeline).read(explanation)
        halves = zip((reading.premise, reading.hypothesis), instance.parts, strict=True)
        made = made_of(instance, tuple(split_words(_dressed(half, like), like.lang) for half, like in halves))
        return Reconstructed(made, {"template": reading.template, "speaks_for": reading.label})


@dataclass(frozen=True)
class ComveByReplacement:
    """The sentence that the model finds right is replaced by the explanation of why the other one is wrong.

    Args:
        labels: the class that says the first sentence is against common sense, and that for the second.
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
        """Nothing beside the parameters."""
        return {"reconstruction": "comve 1"}

    def reconstruct(self, x: Subject, explanation: str, predicted: str) -> Reconstructed:
        """The sentence that is predicted to be against common sense, beside the explanation in the other's place."""
        instance = x.instance
        if len(instance.parts) != 2:
            raise Undefined("not_a_pair", f"{len(instance.parts)} parts; two sentences are needed")
        if predicted not in self.labels:
            raise UserError(f"comve: labels must hold the predicted class {predicted!r}, got {list(self.labels)}")
        kept = self.labels.index(predicted)
        said = split_words(explanation.strip(), instance.lang)
        if not said.words:
            raise Undefined("empty", "the explanation has no word")
        parts = (instance.parts[0], said) if kept == 0 else (said, instance.parts[1])
        return Reconstructed(made_of(instance, parts), {"replaced": self.labels[1 - kept]})


def made_of(instance: Instance, parts: tuple[Text, ...]) -> Instance:
    """A new input of these parts; what was known of the old one is not known of it."""
    return replace(instance, id=f"{instance.id}+reconstructed", parts=parts, label=None, parallel_id=None, human=None)


def _dressed(half: str, like: Text) -> str:
    raw = like.raw.strip()
    if raw[:1].isupper():
        half = half[:1].upper() + half[1:]
    if raw.endswith("."):
        half += " ." if raw.endswith(" .") else "."
    return half
