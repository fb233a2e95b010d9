"""Fact checking: does evidence of several sentences support a claim, refute it, or neither?"""

from __future__ import annotations

from operator import attrgetter
from random import Random

from verax.data.world.facts import Fact, Scene, judge_as
from verax.data.world.gold import SceneText, explain_label, gold_annotations
from verax.data.world.grammar_en import write_evidence, write_statement
from verax.data.world.inference import (
    draw_answers,
    draw_attributes,
    draw_distractor,
    draw_irrelevant,
    draw_referents,
    draw_value,
    shuffle_things,
)
from verax.data.world.knowledge import AFFORDS, dimension_of, group_of, is_a, values
from verax.data.world.splits import DrawnTask, draw_for_split
from verax.types import Instance

LABELS = ("supports", "refutes", "not_enough")
SENTENCES = range(3, 6)
WORDS = range(20, 46)
_INFERENCE = dict(zip(LABELS, ("entailment", "contradiction", "neutral"), strict=True))
_DISTRACTORS = (2, 3, 3)
_SAME_DIMENSION_SHARE = 0.6
_SAME_VALUE_SHARE = 0.5


def compose(rng: Random, split: str, label: str, name: str) -> Instance:
    """One instance with the given label."""
    claim = draw_for_split(split, draw_attributes, attrgetter("claim"), rng)
    statement = write_statement(claim, rng)
    while True:  # the claim is kept: if it were drawn again, the length of the evidence could reveal the label
        evidence = draw_evidence(rng, claim, _INFERENCE[label])
        report = write_evidence(evidence, rng)
        sentences = sum(token.text == "." for token in report.tokens)
        words = sum(token.text.isalpha() for token in report.tokens)
        if sentences in SENTENCES and words in WORDS:
            break
    judgement = judge_as(_INFERENCE[label], evidence, claim)
    deciding = [fact for fact in judgement.premise if fact in evidence.facts]
    # Mentions of a thing are gold in the sentences with the deciding fact; without such a fact, everywhere.
    tagged = report.tagged_only_near(deciding) if deciding else report
    why = explain_label(SceneText("evidence", evidence, tagged), SceneText("claim", claim, statement), judgement)
    human = gold_annotations(tagged, statement, judgement, (1, 0), (why,))
    return Instance(name, (statement.text, report.text), label, human=human)


def draw_evidence(rng: Random, claim: Scene, label: str) -> Scene:
    """A scene of three or four things, one of them that of the claim.

    The others often have a value in a dimension of the claim, and then often the very value of the claim.

    Args:
        label: label of the claim as a hypothesis: `entailment`, `neutral` or `contradiction`.
    """
    kinds, verdicts = draw_referents(rng, claim, label)
    n_referents = len(kinds)
    for _ in range(rng.choice(_DISTRACTORS)):
        kinds.append(draw_distractor(rng, (*claim.kinds, *kinds)))
    facts = draw_answers(rng, kinds, claim, verdicts)
    asked = frozenset(dimension_of(fact.concept) for fact in claim.facts)
    count = int(not facts or rng.random() < 0.7)
    facts += draw_irrelevant(rng, kinds, 0, count, asked, in_relation=False)
    for thing in range(n_referents, len(kinds)):
        similar = _similar_fact(rng, kinds, thing, claim) if rng.random() < _SAME_DIMENSION_SHARE else []
        count = (not similar) + (rng.random() < 0.6)
        facts += [*similar, *draw_irrelevant(rng, kinds, thing, count, asked, in_relation=False)]
    return shuffle_things(rng, Scene(tuple(kinds), tuple(facts)))


def _similar_fact(rng: Random, kinds: list[str], thing: int, claim: Scene) -> list[Fact]:
    """A fact about a distractor in a dimension of the claim, if it has one."""
    group = group_of(kinds[thing])
    possible = [fact for fact in claim.facts if dimension_of(fact.concept) in AFFORDS[group]]
    if not possible:
        return []
    asked = rng.choice(possible)
    dimension = dimension_of(asked.concept)
    same = [value for value in values(group, dimension) if is_a(value, asked.concept)]
    value = rng.choice(same) if same and rng.random() < _SAME_VALUE_SHARE else draw_value(rng, group, dimension)
    return [Fact(thing, value, rng.random() >= 0.1)]


load = DrawnTask(
    "world/facts",
    "Claims and evidence of several sentences, with gold words, span pairs and explanations.",
    LABELS,
    compose,
    maskable=(1,),
)
