"""Words and sub-words: which word each sub-word belongs to, and what can be said of words without their meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from verax.models.subject import Subject
from verax.types import FloatArray, Human, Instance, IntArray, Span, Text, Undefined

FormFeature = Literal["subwords", "characters", "position", "part", "not_punctuation"]
FORM_FEATURES: tuple[FormFeature, ...] = get_args(FormFeature)


def check_words(instance: Instance) -> None:
    """Raise Undefined if a part of the instance has no words."""
    for number, part in enumerate(instance.parts, 1):
        if not part.words:
            raise Undefined("empty", f"part {number} has no words")


def words_of_tokens(text: Text, offsets: Sequence[tuple[int, int]]) -> IntArray:
    """The word that each token of one part belongs to, shape [tokens]; `offsets` are their spans in `text.raw`.

    A token belongs to the word that it overlaps most (the first one if equal). A token that overlaps none (a space
    marker, a character outside words) belongs to the next word, or to the last one, so that removing a word leaves no
    orphan.
    """
    starts = np.array([start for start, _ in text.offsets])
    ends = np.array([end for _, end in text.offsets])
    spans = np.array(offsets, np.int64).reshape(-1, 2)
    first = np.searchsorted(ends, spans[:, 0], side="right")
    last = np.searchsorted(starts, spans[:, 1], side="left")
    belongs = np.minimum(first, len(starts) - 1)
    for i in np.flatnonzero(last - first > 1):  # a token over several words is rare
        words = slice(first[i], last[i])
        overlaps = np.minimum(ends[words], spans[i, 1]) - np.maximum(starts[words], spans[i, 0])
        belongs[i] = first[i] + int(np.argmax(overlaps))
    return belongs


def split_by_tokens(instance: Instance, offsets: Sequence[Sequence[tuple[int, int]]]) -> Instance:
    """The instance with every sub-word (by its span in its part) as a word; gold annotations follow the characters."""
    parts: list[Text] = []
    origins: list[IntArray] = []
    for text, spans in zip(instance.parts, offsets, strict=True):
        cuts: list[tuple[int, int]] = []
        for start, end in spans:
            # byte-level tokenizers give every byte of a character the same span: they are one unit
            trimmed_start = start + len(text.raw[start:end]) - len(text.raw[start:end].lstrip())
            if end > trimmed_start and (not cuts or trimmed_start >= cuts[-1][1]):
                cuts.append((trimmed_start, end))
        parts.append(Text(text.raw, tuple(text.raw[s:e] for s, e in cuts), tuple(cuts), text.lang))
        origins.append(words_of_tokens(text, cuts) if text.words else np.empty(0, np.int64))
    return replace(instance, parts=tuple(parts), human=_follow(instance.human, origins))


def _follow(human: Human | None, origins: Sequence[IntArray]) -> Human | None:
    if human is None:
        return None
    words = human.words and tuple(
        tuple(np.flatnonzero(np.isin(origin, gold)).tolist()) for origin, gold in zip(origins, human.words, strict=True)
    )
    pairs = human.span_pairs and tuple(
        tuple(
            Span(
                span.part,
                int(np.searchsorted(origins[span.part], span.start, side="left")),
                int(np.searchsorted(origins[span.part], span.end, side="left")),
            )
            for span in pair
        )
        for pair in human.span_pairs
    )
    return replace(human, words=words, span_pairs=pairs)


def word_form(x: Subject, feature: FormFeature) -> FloatArray:
    """One number for each unit of an input: shape [n_units].

    Args:
        feature: `subwords` of the model's tokenizer, `characters`, `position` in the part (from 1), the `part` (from
            0), or `not_punctuation` (1 if a word has a letter or a digit, else 0).
    """
    if feature == "subwords":
        own = x.encoding.token_unit[x.encoding.token_unit >= 0]
        return np.bincount(own, minlength=x.encoding.n_units)[x.alive].astype(np.float64)
    if feature == "position":
        return np.array([word + 1.0 for _, word in x.words])
    if feature == "part":
        return np.array([float(part) for part, _ in x.words])
    words = [x.instance.parts[part].words[word] for part, word in x.words]
    if feature == "characters":
        return np.array([float(len(word)) for word in words])
    return np.array([float(any(map(str.isalnum, word))) for word in words])
