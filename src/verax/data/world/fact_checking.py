"""Claims about the little world, and evidence of several sentences that supports or refutes them or is not enough."""

from __future__ import annotations

from operator import attrgetter
from random import Random

from verax.data.world.evidence import draw_evidence
from verax.data.world.explain_en import Telling
from verax.data.world.facts import judged_as
from verax.data.world.gold import gold
from verax.data.world.grammar_en import reported, stated
from verax.data.world.inference import draw_attributes
from verax.data.world.splits import draw_dataset, drawn_for
from verax.registry import registered
from verax.types import Dataset, Instance

LABELS = ("supports", "refutes", "not_enough")
SENTENCES = range(3, 6)
WORDS = range(20, 46)
_INFERENCE = dict(zip(LABELS, ("entailment", "contradiction", "neutral"), strict=True))


@registered(
    "world/facts",
    "Claims and evidence of several sentences, with gold words, span pairs and explanations.",
)
def load(split: str = "test", limit: int | None = None, seed: int = 0) -> Dataset:
    """Claims with their evidence, its label, the words and span pairs that decide it, and a sentence that says why.

    Args:
        split: `train`, `validation` or `test`. What is claimed in one split is claimed in no other.
        limit: how many instances, from the first on; all of the split by default.
        seed: another seed draws other instances of the same split.
    """
    return draw_dataset("facts", LABELS, compose, split, limit, seed, maskable=(1,))


def compose(rng: Random, split: str, label: str, name: str) -> Instance:
    """One instance of a split with the label that is asked for."""
    claim = drawn_for(split, draw_attributes, attrgetter("claim"), rng)
    below = stated(claim, rng)
    while True:  # the claim stays: were it drawn anew with the evidence, how long that is could tell the label
        evidence = draw_evidence(rng, claim, _INFERENCE[label])
        above = reported(evidence, rng)
        stops = sum(token.text == "." for token in above.tokens)
        words = sum(token.text.isalpha() for token in above.tokens)
        if stops in SENTENCES and words in WORDS:
            break
    judgement = judged_as(_INFERENCE[label], evidence, claim)
    decisive = [fact for fact in judgement.premise if fact in evidence.facts]
    # A thing counts where the deciding fact is told of it; where nothing is near an answer, wherever it is named.
    told = above.in_sentences_of(decisive) if decisive else above
    human = gold(Telling("evidence", evidence, told), Telling("claim", claim, below), judgement, (1, 0))
    return Instance(name, (below.text, above.text), label, human=human)
