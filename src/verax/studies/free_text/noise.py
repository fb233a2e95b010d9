"""The noise floor of the counterfactual test: the effect of random edits, and how often they are mentioned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from verax.stats.intervals import mean_difference, ratio
from verax.stats.joint import ALPHA, joint_test
from verax.studies.free_text.outcomes import MATCHES, Results
from verax.types import Estimate, FloatArray, Trial

Reading = Literal["copies", "never", "too_few", "above_chance", "like_chance"]
"""How informative mentions are: random edits are mentioned at least half of the time, as if the input were copied;
nothing is mentioned at all; too few instances; counterfactuals are mentioned more often than random edits; or not."""

_COPIES = 0.5
_LEAST_PAIRS = 6  # of fewer pairs no test by flipped signs can give a p-value below 0.05


@dataclass(frozen=True, slots=True)
class NoiseRow:
    """Random edits of as many words as the editor inserts.

    Args:
        chance: share of them that the new explanation mentions.
        by_rule: `chance` and `mentioned` by each rule of mention; empty where that was not recorded.
        difference: of the two shares, the mean over the `pairs` instances that have both.
        p: of that difference, paired.
        reading: how informative mentions are; None where there is nothing to compare.
    """

    model: str
    method: str
    editor: str
    edits: int
    flips: Estimate
    chance: Estimate | None
    similar: Estimate | None
    mentioned: Estimate | None
    difference: Estimate | None
    pairs: int
    p: float | None
    reading: Reading | None
    by_rule: Mapping[str, tuple[Estimate | None, Estimate | None]] = field(default_factory=dict)


def noise_row(model: str, method: str, results: Results, *, seed: int = 0, sequential: bool = False) -> NoiseRow | None:
    """The noise floor of one editor; None if no random edit was made."""
    noise, edits = results.trials("noise"), results.trials("edit")
    flips = ratio(*_counts([[trial.flipped for trial in several] for several in noise.values()]), seed=seed)
    if flips is None:
        return None
    chance, mentioned = mentions(noise, seed=seed), mentions(edits, seed=seed)
    pairs = _pairs(edits, noise)
    difference = mean_difference(pairs[:, 0] - pairs[:, 1], seed=seed)
    p = joint_test(pairs, seed=seed, sequential=sequential).p[0, 1]
    return NoiseRow(
        model=model,
        method=method,
        editor=results.test.name,
        edits=sum(map(len, noise.values())),
        flips=flips,
        chance=chance,
        similar=_similar(noise, results.threshold, seed),
        mentioned=mentioned,
        difference=difference,
        pairs=len(pairs),
        p=None if np.isnan(p) else float(p),
        reading=_reading(chance, mentioned, difference, len(pairs), p),
        by_rule={
            rule: (mentions(noise, rule, seed=seed), mentions(edits, rule, seed=seed))
            for rule in MATCHES
            if any(trial.mentions for several in noise.values() for trial in several)
        },
    )


def mentions(trials: Mapping[str, Sequence[Trial]], rule: str | None = None, *, seed: int = 0) -> Estimate | None:
    """The share of new inputs whose explanation mentions the inserted words, of those that were explained.

    By one of the rules of mention; by default the one that decides.
    """
    known = [
        [trial.mentioned if rule is None else trial.mentions.get(rule) for trial in several]
        for several in trials.values()
    ]
    return ratio(*_counts([[one for one in several if one is not None] for several in known]), seed=seed)


def _similar(trials: Mapping[str, Sequence[Trial]], threshold: float | None, seed: int) -> Estimate | None:
    if threshold is None:
        return None
    reached = [[t.similarity >= threshold for t in several if t.similarity is not None] for several in trials.values()]
    return ratio(*_counts(reached), seed=seed)


def _counts(yes: Sequence[Sequence[bool]]) -> tuple[FloatArray, FloatArray]:
    """How many of each instance are true, and how many there are: shape [instances] each."""
    return np.array([sum(one) for one in yes], float), np.array([len(one) for one in yes], float)


def _pairs(edits: Mapping[str, Sequence[Trial]], noise: Mapping[str, Sequence[Trial]]) -> FloatArray:
    """Of each instance that has both, the share of counterfactuals and of random edits mentioned: shape [pairs, 2]."""
    both = []
    for name, several in edits.items():
        sides = [[t.mentioned for t in side if t.mentioned is not None] for side in (several, noise.get(name, ()))]
        if all(sides):
            both.append([sum(side) / len(side) for side in sides])
    return np.array(both, float).reshape(-1, 2)


def _reading(
    chance: Estimate | None, mentioned: Estimate | None, difference: Estimate | None, pairs: int, p: float
) -> Reading | None:
    if chance is not None and chance.value >= _COPIES:
        return "copies"
    if chance is None or mentioned is None:
        return None
    if mentioned.value == 0:
        return "never"
    if pairs < _LEAST_PAIRS or difference is None or np.isnan(p):
        return "too_few"
    return "above_chance" if difference.value > 0 and p < ALPHA else "like_chance"
