"""Gold of two texts that tell scenes: the words and span pairs that decide, and a sentence that says why."""

from __future__ import annotations

from verax.data.world.explain_en import Telling, explained
from verax.data.world.facts import Judgement
from verax.types import Human, Unit


def gold(premise: Telling, hypothesis: Telling, judgement: Judgement, parts: tuple[int, int]) -> Human:
    """What decides between two texts.

    Args:
        parts: which part of the instance the premise is, and which the hypothesis; a span pair names the lower first.
    """
    pairs: list[Unit] = []
    for known, asked in judgement.met:
        above, below = premise.told.spans(known, parts[0]), hypothesis.told.spans(asked, parts[1])
        pairs += [tuple(sorted((a, b))) for a in above for b in below]
    told = {
        parts[0]: premise.told.carriers(judgement.premise),
        parts[1]: hypothesis.told.carriers(judgement.hypothesis),
    }
    why = explained(premise, hypothesis, judgement)
    return Human(words=(told[0], told[1]), span_pairs=tuple(pairs), explanations=(why,))
