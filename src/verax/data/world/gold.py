"""Gold of two texts that tell scenes: the words and span pairs that decide, and a sentence that says why."""

from __future__ import annotations

from dataclasses import replace

from verax.data.world.explain_en import Telling, explained
from verax.data.world.facts import Fact, Judgement
from verax.data.world.phrase import Sentence
from verax.types import Human, Unit


def gold(premise: Telling, hypothesis: Telling, judgement: Judgement, parts: tuple[int, int]) -> Human:
    """What decides between two texts, and why in English.

    Args:
        parts: which part of the instance the premise is, and which the hypothesis; a span pair names the lower first.
    """
    why = explained(premise, hypothesis, judgement)
    return replace(decisive(premise.told, hypothesis.told, judgement, parts), explanations=(why,))


def decisive(
    premise: Sentence[Fact], hypothesis: Sentence[Fact], judgement: Judgement, parts: tuple[int, int]
) -> Human:
    """The words and span pairs that decide between two texts in whichever languages; `parts` as above."""
    pairs: list[Unit] = []
    for known, asked in judgement.met:
        above, below = premise.spans(known, parts[0]), hypothesis.spans(asked, parts[1])
        pairs += [tuple(sorted((a, b))) for a in above for b in below]
    told = {parts[0]: premise.carriers(judgement.premise), parts[1]: hypothesis.carriers(judgement.hypothesis)}
    return Human(words=(told[0], told[1]), span_pairs=tuple(pairs))
