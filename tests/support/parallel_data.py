"""Data in several languages whose word alignments are known."""

from __future__ import annotations

import numpy as np

from verax.data.text import from_words
from verax.types import Dataset, GivenAlignment, Instance

_WORDS = ("the", "small", "red", "boat", "sails", "far", "away", "from", "home", "today")


def parallel_data(n: int = 6, langs: tuple[str, ...] = ("en", "xx")) -> Dataset:
    """English, and the same word for word in other languages in which the words are in reverse order."""
    rng = np.random.default_rng(0)
    instances, aligned = [], {}
    for number in range(n):
        parts = [list(rng.choice(_WORDS, size)) for size in (6, 4)]
        for lang in langs:
            words = parts if lang == "en" else [[word[::-1].upper() for word in part[::-1]] for part in parts]
            id_ = f"{number}/{lang}"
            texts = tuple(from_words(part, lang) for part in words)
            instances.append(Instance(id_, texts, "yes", lang, str(number)))
            links = tuple(tuple((len(part) - 1 - i, i) for i in range(len(part)))[::-1] for part in parts)
            aligned[id_] = () if lang == "en" else (GivenAlignment("en", links),)
    return Dataset("parallel", tuple(instances), ("yes", "maybe", "no"), aligned=aligned)
