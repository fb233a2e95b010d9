"""What a method or metric is tried on when nobody says otherwise: a small model, and inputs plain and awkward."""

from __future__ import annotations

from collections.abc import Sequence

from verax.data.load import load_dataset
from verax.data.text import split_words
from verax.models.classifier import Classifier
from verax.models.load import load_model
from verax.models.subject import Subject
from verax.types import Instance, Undefined, UserError

CORPUS = "world/nli"
AWKWARD = {
    "one word a part": ("rain", "weather", "en"),
    "a repeated word": ("the dog and the dog", "dog dog", "en"),
    "emoji": ("a 🐕 is happy 👩‍👩‍👧!", "🙂", "en"),
    "right to left": ("הכלב רץ בגן", "הכלב בחוץ", "he"),
    "long": (
        "The old doctor with a small purple rucksack is in the cold park, while a gloomy teacher is not far away.",
        "A person is outdoors.",
        "en",
    ),
}


def default_model() -> Classifier:
    """The shipped model, in float64, so that what differs by rounding alone is far below every tolerance.

    It is loaded anew each time: the one before may have been changed by what was tried on it.
    """
    return load_model(CORPUS, dtype="float64")


def default_inputs() -> list[Instance]:
    """The two shortest of the first pairs of the built-in corpus, with what people marked, and the awkward ones."""
    corpus = sorted(load_dataset(CORPUS, limit=50).instances, key=lambda instance: len(instance.units))
    awkward = [
        Instance(name, (split_words(premise, lang), split_words(hypothesis, lang)), "neutral", lang)
        for name, (premise, hypothesis, lang) in AWKWARD.items()
    ]
    return [*corpus[:2], *awkward]


def readable(model: Classifier, inputs: Sequence[Instance]) -> list[Subject]:
    """The inputs that the model can read."""
    subjects = []
    for instance in inputs:
        try:
            subjects.append(Subject(instance, model).encoded())
        except Undefined:  # no method and no metric ever gets to see such an input
            continue
    if not subjects:
        raise UserError(f"inputs: the model {model.name!r} can read none of the {len(inputs)}")
    return subjects
