"""Explanations as predictions of rationales in the format of the ERASER benchmark: JSONL, an object for each input."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from verax.data.text import split_at_spaces, words_over
from verax.exports.word_scores import Scored, word_scores
from verax.results.run import Run
from verax.types import Instance, Text

TOP = 0.2
"""Share of the tokens that a hard rationale contains."""
_PAIR = ("premise", "hypothesis")


def eraser_lines(run: Run, method: str, *, top: float = TOP) -> Iterator[dict[str, Any]]:
    """One object per input: rationales, predicted class, and probabilities.

    Tokens are separated by white space, as in ERASER. The score of a token is the sum over its words.

    Args:
        top: share of the tokens of an input, at least one, that its hard rationales consist of.
    """
    for scored in word_scores(run, method):
        prediction = scored.prediction
        yield {
            "annotation_id": scored.instance.id,
            "rationales": _rationales(scored, top),
            "classification": prediction.label,
            "classification_scores": dict(zip(prediction.labels, prediction.probabilities, strict=False)),
        }


def _rationales(scored: Scored, top: float) -> list[dict[str, Any]]:
    parts = [_token_scores(text, scores) for text, scores in zip(scored.instance.parts, scored.scores, strict=True)]
    ranked = sorted((-score, part, token) for part, scores in enumerate(parts) for token, score in enumerate(scores))
    chosen = {(part, token) for _, part, token in ranked[: math.ceil(top * len(ranked))]}
    return [
        {
            "docid": name,
            "hard_rationale_predictions": _spans([token for token in range(len(scores)) if (part, token) in chosen]),
            "soft_rationale_predictions": scores,
        }
        for part, (name, scores) in enumerate(zip(_document_names(scored.instance), parts, strict=True))
    ]


def _document_names(instance: Instance) -> list[str]:
    """Names of the parts as documents; those of a pair end as in e-SNLI."""
    if len(instance.parts) == 1:
        return [instance.id]
    ends = _PAIR if len(instance.parts) == len(_PAIR) else map(str, range(len(instance.parts)))
    return [f"{instance.id}_{end}" for end in ends]


def _token_scores(text: Text, scores: Sequence[float]) -> list[float]:
    """The sum of the scores of the words that begin in each token; shape [tokens]."""
    return [
        math.fsum(scores[word] for word in words_over(text, start, end) if text.offsets[word][0] >= start)
        for start, end in split_at_spaces(text.raw).offsets
    ]


def _spans(tokens: Sequence[int]) -> list[dict[str, int]]:
    """Runs of neighbouring tokens, half-open."""
    runs = [[token for _, token in run] for _, run in groupby(enumerate(tokens), lambda item: item[1] - item[0])]
    return [{"start_token": run[0], "end_token": run[-1] + 1} for run in runs]
