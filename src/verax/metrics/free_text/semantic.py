"""Whether an explanation speaks of something like the inserted words: by hidden states, beside the match of words."""

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
"""Raised whenever a similarity comes to be another: it is part of what decides it."""


class Explained(NamedTuple):
    """An insertion, the input it was put into (`insertion.apply`), and an explanation of that input."""

    insertion: Insertion
    edited: Instance
    explanation: str


@dataclass(frozen=True)
class SemanticMatch:
    """Cosine of mean hidden states: of the inserted words, and of each run of at most as many words of the explanation.

    Inserted words are read in the part that they stand in, the explanation on its own. Hidden states of most encoders
    have high cosines whatever the words mean, so a threshold says little without the share that reaches it by chance.

    Args:
        encoder: a folder, a hub id or a shipped model.
        layer: whose hidden states, 0 are the embeddings; two thirds of the way up by default.
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
        """What decides a similarity beside the parameters and the weights of the encoder."""
        return {"mention": f"cosine {VERSION}"}

    def similarity(self, model: Encoder, pair: Explained) -> QuestionGenerator[float]:
        """The cosine of the most similar words, asked of the loaded encoder: the engine must hold it.

        Undefined says why there is none.
        """
        layer = default_layer(model.layers) if self.layer is None else self.layer
        if layer > model.layers:
            raise UserError(
                f"semantic match: layer must be at most {model.layers}, the layers of the encoder, got {layer}"
            )
        edited, explanation = pair.edited.parts[pair.insertion.part], split_words(pair.explanation)
        if not explanation.words:
            raise Undefined("empty", "the explanation has no word")
        there = yield from _word_sums(model, edited, layer)
        here = yield from _word_sums(model, explanation, layer)
        _, start, end = pair.insertion.span
        spans = _spans(len(explanation.words), len(pair.insertion.words))
        cosines = _cosines(_mean(there, start, end), np.stack([_mean(here, *span) for span in spans]))
        return float(cosines.max())


def _spans(words: int, longest: int) -> list[tuple[int, int]]:
    """Every run of 1 to `longest` words, shorter ones first."""
    lengths = range(1, min(longest, words) + 1)
    return [(start, start + length) for length in lengths for start in range(words - length + 1)]


def _word_sums(model: Encoder, text: Text, layer: int) -> QuestionGenerator[FloatArray]:
    """For each word the sum of its sub-words' hidden states and, last, how many they are: [words, dimensions + 1]."""
    x = Subject(Instance(text.raw, (text,), lang=text.lang), model).encoded()
    states: FloatArray = yield TokenStates(x, layer)
    if not np.isfinite(states).all():
        raise Undefined("nonfinite", f"a hidden state behind layer {layer} is not a finite number")
    own = x.encoding.token_unit >= 0
    sums = np.zeros((len(text.words), states.shape[1] + 1))
    np.add.at(sums, x.encoding.token_unit[own], np.pad(states[own], ((0, 0), (0, 1)), constant_values=1))
    return sums


def _mean(sums: FloatArray, start: int, end: int) -> FloatArray:
    """The mean over all sub-words of words `start` to `end`, shape [dimensions]; zero if the model sees none."""
    total = sums[start:end].sum(0)
    return np.asarray(total[:-1] / max(total[-1], 1.0))


def _cosines(one: FloatArray, others: FloatArray) -> FloatArray:
    """[dimensions], [spans, dimensions] -> [spans]; 0 where a vector is zero."""
    lengths = np.linalg.norm(one) * np.linalg.norm(others, axis=1)
    return np.asarray(others @ one / np.where(lengths > 0, lengths, 1.0))
