"""Natural language inference: does a hypothesis follow from a premise?"""

from __future__ import annotations

from operator import attrgetter
from random import Random

from verax.data.world.facts import judge_as
from verax.data.world.gold import SceneText, explain_label, gold_annotations, rephrase
from verax.data.world.grammar_en import write_description, write_statement
from verax.data.world.inference import draw_hypothesis, draw_premise
from verax.data.world.splits import DrawnTask, draw_for_split
from verax.types import Instance

LABELS = ("entailment", "neutral", "contradiction")
LENGTHS = range(6, 26)


def compose(rng: Random, split: str, label: str, name: str) -> Instance:
    """One instance with the given label."""
    while True:
        hypothesis = draw_for_split(split, draw_hypothesis, attrgetter("claim"), rng)
        premise = draw_premise(rng, hypothesis, label)
        judgement = judge_as(label, premise, hypothesis)
        parts = write_description(premise, rng), write_statement(hypothesis, rng)
        if all(len(part.tokens) in LENGTHS for part in parts):
            texts = SceneText("premise", premise, parts[0]), SceneText("hypothesis", hypothesis, parts[1])
            explanations = (explain_label(*texts, judgement), *rephrase(*texts, judgement))
            human = gold_annotations(*parts, judgement, (0, 1), explanations)
            return Instance(name, tuple(part.text for part in parts), label, human=human)


load = DrawnTask(
    "world/nli",
    "Inference pairs from a small knowledge base, with gold words, span pairs and explanations.",
    LABELS,
    compose,
    maskable=(0,),
)
