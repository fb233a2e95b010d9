"""Whether an explanation mentions something similar to the inserted words, by hidden states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from verax.align.embedding import default_layer
from verax.data.text import split_words
from verax.engine.questions import QuestionGenerator, TokenStates
from verax.metrics.free_text.insertion import Insertion
from verax.models.classifier import Encoder
from verax.models.subject import Subject
from verax.types import FloatArray, Instance, Text, Undefined, UserError

VERSION = 1
"""Raised whenever similarities change: part of their provenance."""


class Explained(NamedTuple):
    """An insertion, the edited input (`insertion.apply`), and an explanation of that input."""

    insertion: Insertion
    edited: Instance
    explanation: str


@dataclass(frozen=True)
class SemanticMatch:
    """Cosine of mean hidden states of the inserted words and of each run of at most as many words of the explanation.

    Inserted words are read in their part of the input, the explanation on its own. Hidden states of most encoders have
    high cosines whatever the words mean, so a threshold is only meaningful next to the share of random edits above it.

    Args:
        encoder: a folder, a hub id or a shipped model.
        layer: layer of the hidden states, 0 for the embeddings; two thirds of the layers by default.
        threshold: the least cosine that counts as similar.
    """

    encoder: str
    layer: int | None = None
    threshold: float = 0.8

    def __post_init__(self) -> None:
        if self.layer is not None and self.layer < 0:
            raise UserError(f"semantic match: layer must be 0 (the embeddings) or more, got {self.layer}")
        if not -1 <= self.threshold <= 1:
            raise UserError(f"semantic match: threshold must be a cosine, from -1 to 1, got {self.threshold:g}")

    @property
    def provenance(self) -> Mapping[str, str]:
        """Everything that determines a similarity besides the parameters and the encoder."""
        return {"mention": f"cosine {VERSION}"}

    def similarity(self, model: Encoder, pair: Explained) -> QuestionGenerator[float]:
        """The cosine of the most similar words, by the loaded encoder; raises Undefined if there is none."""
        layer = default_layer(model.layers) if self.layer is None else self.layer
        if layer > model.layers:
            raise UserError(
                f"semantic match: layer must be at most {model.layers}, the layers of the encoder, got {layer}"
            )
        edited, explanation = pair.edited.parts[pair.insertion.part], split_words(pair.explanation)
        if not explanation.words:
            raise Undefined("empty", "the explanation has no word")
        inserted = yield from _word_sums(model, edited, layer)
        mentioned = yield from _word_sums(model, explanation, layer)
        _, start, end = pair.insertion.span
        spans = _spans(len(explanation.words), len(pair.insertion.words))
        cosines = _cosines(_mean(inserted, start, end), np.stack([_mean(mentioned, *span) for span in spans]))
        return float(cosines.max())


def _spans(words: int, longest: int) -> list[tuple[int, int]]:
    """Every run of 1 to `longest` words, shorter ones first."""
    lengths = range(1, min(longest, words) + 1)
    return [(start, start + length) for length in lengths for start in range(words - length + 1)]


def _word_sums(model: Encoder, text: Text, layer: int) -> QuestionGenerator[FloatArray]:
    """For each word the sum of its sub-words' hidden states, and their number: [words, dimensions + 1]."""
    x = Subject(Instance(text.raw, (text,), lang=text.lang), model).encoded()
    states: FloatArray = yield TokenStates(x, layer)
    if not np.isfinite(states).all():
        raise Undefined("nonfinite", f"a hidden state after layer {layer} is not a finite number")
    own = x.encoding.token_unit >= 0
    sums = np.zeros((len(text.words), states.shape[1] + 1))
    np.add.at(sums, x.encoding.token_unit[own], np.pad(states[own], ((0, 0), (0, 1)), constant_values=1))
    return sums


def _mean(sums: FloatArray, start: int, end: int) -> FloatArray:
    """Mean over all sub-words of words `start` to `end`, shape [dimensions]; zero if the model reads none."""
    total = sums[start:end].sum(0)
    return np.asarray(total[:-1] / max(total[-1], 1.0))


def _cosines(vector: FloatArray, others: FloatArray) -> FloatArray:
    """Cosines: [dimensions], [spans, dimensions] -> [spans]; 0 for a zero vector."""
    lengths = np.linalg.norm(vector) * np.linalg.norm(others, axis=1)
    return np.asarray(others @ vector / np.where(lengths > 0, lengths, 1.0))
