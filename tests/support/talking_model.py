"""A small model with all capabilities: a classifier that also explains itself in free text, by a rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.rigged import NLI, Rigged
from verax.models.classifier import Classifier
from verax.models.load import load_model
from verax.models.wording import shipped_wording


class TalkingModel:
    """A classifier whose free text comes from a generator.

    Args:
        classifier: answers questions about words.
        generator: answers prompts.
    """

    setup = None
    plain = False
    max_new_tokens = 64

    def __init__(self, classifier: Classifier, generator: Rigged) -> None:
        self._classifier = classifier
        self.name = "talking"
        self.labels = classifier.labels
        self.fingerprint = {**classifier.fingerprint, "generator": "a rule"}
        self.about = {**classifier.about, "speech": "a rule"}
        self.capabilities = frozenset(classifier.capabilities) | {"text", "likelihood"}
        self.explainer = self.predictor = generator
        self.wording = shipped_wording("instructed", classifier.labels, 2)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._classifier, name)


def talking_model(checkpoint: Path, generator: Rigged) -> TalkingModel:
    """A tiny checkpoint and a rule, as one model of the classes of inference."""
    return TalkingModel(load_model(checkpoint, dtype="float64", labels=NLI), generator)
