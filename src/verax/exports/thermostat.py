"""Explanations in the format of Thermostat: JSONL with a score for each token id of the model's tokenizer."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

from verax.data.imports.tokens import TokenSpans, open_tokenizer, tokenize
from verax.data.text import words_over
from verax.exports.word_scores import Scored, word_scores
from verax.models.targets import class_of
from verax.results.run import Run
from verax.types import UserError

SMALLEST = math.log(5e-324)
"""Log-probability that stands for a probability of 0, which JSON has no logarithm of."""


def thermostat_lines(run: Run, method: str, *, tokenizer: Any = None) -> Iterator[dict[str, Any]]:
    """One object per input.

    Tokens of a word share its score equally, so that their sum is the score of the word; special tokens have 0. The
    run stores probabilities: `predictions` are their logarithms, which are logits up to a constant.

    Args:
        tokenizer: a folder, a hub id or a fast tokenizer; that of the explained model by default.
    """
    given = run.manifest.model.name if tokenizer is None else tokenizer
    try:
        opened = open_tokenizer(given)
    except UserError as error:
        raise UserError(f"{error}; name one with --tokenizer") from None
    for scored in word_scores(run, method):
        prediction, labels = scored.prediction, scored.prediction.labels
        texts = [text.raw for text in scored.instance.parts]
        ids, tokens = tokenize(opened, texts, truncation=True)
        gold = class_of(scored.instance.label, labels)
        yield {
            "idx": scored.number,
            "id": scored.instance.id,
            "input_ids": ids,
            "attributions": _token_scores(scored, tokens),
            "label": -1 if gold is None else gold,
            "predictions": [math.log(p) if p > 0 else SMALLEST for p in prediction.probabilities],
        }


def _token_scores(scored: Scored, tokens: TokenSpans) -> list[float]:
    """The share of each token in the score of the word that it belongs to; shape [tokens]."""
    words = [None if token is None else _word_of(scored, *token) for token in tokens]
    sizes = Counter(words)
    return [0.0 if word is None else scored.scores[word[0]][word[1]] / sizes[word] for word in words]


def _word_of(scored: Scored, part: int, start: int, end: int) -> tuple[int, int] | None:
    """Part and position of the word that a token overlaps most, None for one outside all words."""
    offsets = scored.instance.parts[part].offsets
    over = words_over(scored.instance.parts[part], start, end)
    overlaps = {word: min(end, offsets[word][1]) - max(start, offsets[word][0]) for word in over}
    best = max(overlaps, key=overlaps.__getitem__, default=None)
    return None if best is None or overlaps[best] <= 0 else (part, best)
