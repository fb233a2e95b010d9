"""Games as models: a text of words w0 to w(n-1) whose target takes any value one likes for each coalition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from verax.api import explain
from verax.models.classifier import Classifier
from verax.models.load import load_model
from verax.types import Target


def words(n: int) -> str:
    return " ".join(f"w{i}" for i in range(n))


def game_model(values: np.ndarray) -> Classifier:
    """A callable whose class "win" has the log-probability `values[k]` on the coalition whose bits are those of k.

    Args:
        values: below 0, shape [2^n].
    """
    assert (values < 0).all()

    def answer(texts: Sequence[tuple[str, ...]]) -> np.ndarray:
        numbers = [sum(1 << int(word[1:]) for word in text[0].split()) for text in texts]
        chance = np.exp(values[numbers])
        return np.stack([chance, 1 - chance], axis=1)

    return load_model(answer, labels=["win", "lose"], version="1")


def play(values: np.ndarray, method: str, **parameters: object) -> np.ndarray:
    """The scores that a method gives the words of a game, shape [n]."""
    n = len(values).bit_length() - 1
    given = {method: {"target": Target("win"), "removal": "delete", **parameters}}
    return np.array(explain(game_model(values), words(n), method=given).highlight.scores)


def random_game(n: int, seed: int) -> np.ndarray:
    """Values between -3 and -1 with interactions of every order."""
    rng = np.random.default_rng(seed)
    bits = ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(float)
    hidden = np.tanh(bits @ rng.normal(size=(n, 8)) + rng.normal(size=8))
    values = hidden @ rng.normal(size=8) + 0.2 * rng.normal(size=2**n)
    return -2 + values / np.abs(values).max()
