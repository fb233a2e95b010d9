"""What a metric is handed beside the explanation when it is checked, if it says that it needs more."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import cycle
from typing import Any, cast

import numpy as np

from verax.engine.protocols import as_generator
from verax.methods.token.random import Random
from verax.metrics.budget import Budget
from verax.metrics.crosslingual.crosslingual_faithfulness import Translated
from verax.metrics.simulatability.simulatability import Answers
from verax.models.classifier import Classifier, Encoder, Row
from verax.models.encoding import Encoding
from verax.models.removal import CODES
from verax.models.subject import Subject
from verax.stats.masf import InDistributionTest
from verax.types import Highlight

_ENOUGH = 40
"""Inputs that a reference is learned from: those there are, each with other words masked, as often as it takes."""


def handing(what: Any, model: Classifier, encodings: Sequence[Encoding]) -> Any:
    """The metric with what it needs: a method that explains again at random, a reference learned from the inputs, ...

    A budget of up to three words, agents of which one of two is right with the explanation and none without, and the
    input itself for its translation.
    """
    needed = frozenset(getattr(what, "needs", ()))
    handed: dict[str, Any] = {}
    if "explain" in needed:
        handed["explain"] = partial(as_generator, Random())
    if "reference" in needed:
        rng = np.random.default_rng(0)
        often = [x for _, x in zip(range(_ENOUGH), cycle(encodings), strict=False)]
        rows = [Row(x, ((rng.random(len(x.units)) < rng.random()) * CODES["mask"]).astype(np.int8)) for x in often]
        encoder = cast("Encoder", model)
        seen = np.stack([encoder.hidden([row])[0] for row in rows])
        handed["reference"] = InDistributionTest.fit(
            seen, getattr(what, "variant", "conformal"), seed=getattr(what, "seed", 0)
        )
    if "budget" in needed:
        handed["budget"] = Budget((1, 2, 3), 2)
    if "agents" in needed:
        handed["agents"] = {encoding.instance.id: Answers(0, (0, 1), (1, 1)) for encoding in encodings}
    if "translation" in needed:
        return partial(_with_itself, what)
    return partial(what, **handed) if handed else what


def _with_itself(what: Any, x: Subject, highlight: Highlight) -> Any:
    """A metric of translations where an input is its own: each word is linked with itself."""
    instance = x.instance
    links = tuple((i, i) for i in range(len(instance.units)))
    return what(x, highlight, translation=Translated(instance, highlight, links))
