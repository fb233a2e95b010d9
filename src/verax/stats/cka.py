"""Linear CKA of two sets of representations, and how often it finds the translations of a batch of inputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from verax.types import Estimate, FloatArray, numbers

BATCH, CANDIDATES = 8, 10
"""Inputs of a batch, and random batches drawn for each matching one (Zaman and Belinkov 2022, Appendix C)."""
FEWEST = 3
"""Two points differ in one direction alone, so that CKA is 1 for any two of them: at least three are needed."""
_TIE = 1e-12


@dataclass(frozen=True, slots=True)
class Matched:
    """How often a batch of inputs is more like its own translations than like other inputs.

    Args:
        accuracy: share of batches, with its Wilson interval unless they are few.
        batches: how many there were.
        chance: what representations that know nothing of each other would reach.
    """

    accuracy: Estimate
    batches: int
    chance: float


def linear_cka(a: FloatArray, b: FloatArray) -> float:
    """Linear centred kernel alignment of two representations of the same inputs (Kornblith et al. 2019).

    From 0 to 1; 0 too where one side is the same for all inputs. Rotating or scaling a side as a whole changes nothing.

    Args:
        a, b: shapes [n, dimensions of a] and [n, dimensions of b], rows in the same order.
    """
    if a.ndim != 2 or b.ndim != 2 or len(a) != len(b):
        raise ValueError(f"two representations of the same inputs are needed, got shapes {a.shape} and {b.shape}")
    return float(_alike(_gram(a), _gram(b)))


def matched(
    source: FloatArray, target: FloatArray, *, batch: int = BATCH, candidates: int = CANDIDATES, seed: int = 0
) -> Matched:
    """How often linear CKA finds the matching batch among random ones of the same size (Appendix C, Figure 6).

    The pairs are shuffled and cut into batches, without what is left over. A source batch is compared with the matching
    target batch and with random ones, each of different rows of the whole target; it counts if the matching one is the
    most alike. A tie does not count.

    Args:
        source, target: shapes [pairs, dimensions]; row i of the one translates row i of the other.
        batch: pairs of a batch.
        candidates: how many random batches.
        seed: of the shuffle and of the random batches.
    """
    if len(source) != len(target):
        raise ValueError(f"representations are in pairs, got {len(source)} and {len(target)}")
    if batch < FEWEST or candidates < 1 or len(source) < 2 * batch:
        raise ValueError(f"{len(source)} pairs, batches of {batch}, {candidates} candidates: too few of something")
    rng = np.random.default_rng(seed)
    batches = len(source) // batch
    right = 0
    for rows in rng.permutation(len(source))[: batches * batch].reshape(batches, batch):
        others = [rng.choice(len(target), batch, replace=False) for _ in range(candidates)]
        alike = _alike(_gram(source[rows]), _gram(target[np.stack([rows, *others])]))
        right += bool(alike[0] > alike[1:].max() + _TIE)
    ends = stats.binomtest(right, batches).proportion_ci(method="wilson")
    interval = (float(ends.low), float(ends.high)) if batches >= numbers.FEWEST else None
    return Matched(Estimate.of(right / batches, interval, batches), batches, 1 / (candidates + 1))


def _gram(x: FloatArray) -> FloatArray:
    """Inner products of the rows, counted from their mean and scaled to a norm of 1: [..., n, d] -> [..., n, n].

    Of rows that do not differ beyond rounding it is zero. Small, where there are fewer rows than dimensions.
    """
    x = np.asarray(x, np.float64)
    size = np.abs(x).max(axis=(-2, -1), keepdims=True)
    x = x / np.where(size > 0, size, 1.0)  # so that no square overflows or vanishes
    centred = x - x.mean(axis=-2, keepdims=True)
    centred = np.where(np.abs(centred).max(axis=(-2, -1), keepdims=True) > 1e-14 * x.shape[-2], centred, 0.0)
    gram = centred @ np.swapaxes(centred, -2, -1)
    norm = np.sqrt((gram**2).sum(axis=(-2, -1), keepdims=True))
    return np.asarray(gram / np.where(norm > 0, norm, 1.0))


def _alike(a: FloatArray, b: FloatArray) -> FloatArray:
    """CKA of Gram matrices of norm 1: [..., n, n] -> [...]."""
    return np.asarray(np.clip((a * b).sum(axis=(-2, -1)), 0.0, 1.0))
