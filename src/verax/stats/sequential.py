"""A sequential test of paired differences: its p-values are valid at whichever number of inputs one stops.

If two methods are equally good, the sign of a difference is a fair coin, whatever its size. So one can bet on signs,
input by input, without any advantage: capital that starts at 1 exceeds 1 / p at any time with probability p at most
(Ville, 1939). The inverse of the largest capital so far is therefore a p-value at every number of inputs, chosen in
advance or not. A bet of tanh(x) on a difference that is x large multiplies the capital by 1 + tanh(x) or 1 - tanh(x).
"""

from __future__ import annotations

import math

import numpy as np

from verax.types import FloatArray, IntArray

SEQUENTIAL = "betting on the signs of paired differences, Holm over all pairs"
"""The name of the test in run cards."""
EFFECTS = tuple(2.0**i for i in range(2, -6, -1))
"""Sizes of effect, in root mean squares of a difference, that capital is divided among: from 4 down to 1/32."""
_BLOCK = 200_000
"""Differences whose capital is computed at a time: about 50 MB."""


def sequential_p(differences: FloatArray) -> FloatArray:
    """Adjusted p-values of paired differences at every stopping time, in the order in which they were looked at.

    Bets on either sign are separate, so that the direction of a significant difference is covered too. p is 1 where
    the mean over all inputs points the other way.

    Args:
        differences: shape [inputs, tests], 0 where there is none.

    Returns:
        Shape [tests]; adjusted for all tests and both directions (Holm, 1979).
    """
    n, tests = differences.shape
    size = max(1, _BLOCK // max(1, n))
    blocks = [log_capital(differences[:, start : start + size]) for start in range(0, tests, size)]
    if not blocks or not n:
        return np.ones(tests)
    largest = np.concatenate([block.max(axis=1) for block in blocks], axis=1)  # [2, tests]
    side = np.where(largest[0] >= largest[1], 1.0, -1.0)
    log_p = np.minimum(0.0, math.log(2) - largest.max(axis=0))
    log_p[np.sign(differences.sum(axis=0)) != side] = 0.0
    return _holm(log_p)


def log_capital(differences: FloatArray) -> FloatArray:
    """Logarithm of the capital after each input, of bets on positive and on negative differences.

    Differences are scaled by their root mean square so far: sizes may be used before signs are known. Equal shares of
    the capital bet as is best for each of `EFFECTS`.

    Args:
        differences: shape [inputs, tests], 0 where there is none; these bet nothing.

    Returns:
        Shape [2, inputs, tests].
    """
    seen = np.cumsum(differences != 0.0, axis=0)
    scale = np.sqrt(np.cumsum(differences**2, axis=0) / np.maximum(seen, 1))
    scaled = differences / np.where(scale > 0.0, scale, 1.0)
    effects = np.array(EFFECTS)[:, None, None]
    bets = effects * scaled
    # log(1 + tanh(x)) = log(2) - log(1 + exp(-2x)), written so that nothing overflows; log(1 - tanh(x)) is less by 2x
    gains = np.cumsum(math.log(2) - np.maximum(-2.0 * bets, 0.0) - np.log1p(np.exp(-2.0 * np.abs(bets))), axis=1)
    capital = np.stack([gains, gains - 2.0 * effects * np.cumsum(scaled, axis=0)])  # [2, effects, inputs, tests]
    top = capital.max(axis=1)
    return np.asarray(top + np.log(np.exp(capital - top[:, None]).mean(axis=1)))


def _holm(log_p: FloatArray) -> FloatArray:
    """Holm's adjusted p-values from logarithms of p-values, shape [tests]."""
    order: IntArray = np.argsort(log_p, kind="stable")
    raised = log_p[order] + np.log(np.arange(len(log_p), 0, -1))
    adjusted = np.empty(len(log_p))
    adjusted[order] = np.exp(np.minimum(0.0, np.maximum.accumulate(raised)))
    return adjusted
