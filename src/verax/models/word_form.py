"""The form of words: what can be said about them without reading what they mean."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from verax.models.subject import Subject
from verax.types import FloatArray

FormFeature = Literal["subwords", "characters", "position", "part", "not_punctuation"]
FORM_FEATURES: tuple[FormFeature, ...] = get_args(FormFeature)


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
