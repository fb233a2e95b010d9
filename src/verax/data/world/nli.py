"""Inference pairs from the little world: a premise, a hypothesis, and whether it follows."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from random import Random

from verax.data.world.explain_en import Telling
from verax.data.world.explain_nli_en import rephrased
from verax.data.world.facts import judged_as
from verax.data.world.gold import gold
from verax.data.world.grammar_en import described, stated
from verax.data.world.inference import draw_hypothesis, draw_premise
from verax.data.world.splits import draw_dataset, drawn_for
from verax.registry import registered
from verax.types import Dataset, Instance

LABELS = ("entailment", "neutral", "contradiction")
SHORTEST, LONGEST = 5, 25


@registered(
    "world/nli",
    "Inference pairs from a small knowledge base, with gold words, span pairs and explanations.",
)
def load(split: str = "test", limit: int | None = None, seed: int = 0) -> Dataset:
    """Inference pairs with their label, the words and span pairs that decide it, and sentences that say why.

    Args:
        split: `train`, `validation` or `test`. What a hypothesis claims in one split is claimed in no other.
        limit: how many instances, from the first on; all of the split by default.
        seed: another seed draws other instances of the same split.
    """
    return draw_dataset("nli", LABELS, compose, split, limit, seed, maskable=(0,))


def compose(rng: Random, split: str, label: str, name: str) -> Instance:
    """One instance of a split with the label that is asked for."""
    while True:
        hypothesis = drawn_for(split, draw_hypothesis, attrgetter("claim"), rng)
        premise = draw_premise(rng, hypothesis, label)
        judgement = judged_as(label, premise, hypothesis)
        above, below = described(premise, rng), stated(hypothesis, rng)
        if all(SHORTEST < len(part.tokens) <= LONGEST for part in (above, below)):
            told = Telling("premise", premise, above), Telling("hypothesis", hypothesis, below)
            human = gold(*told, judgement, (0, 1))
            why = (*human.explanations, *rephrased(*told, judgement))
            return Instance(name, (above.text, below.text), label, human=replace(human, explanations=why))
