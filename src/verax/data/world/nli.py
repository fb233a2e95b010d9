"""Inference pairs from the little world: a premise, a hypothesis, and whether it follows."""

from __future__ import annotations

from random import Random

from verax.data.world.explain_en import Telling, explained
from verax.data.world.facts import Fact, Judgement, Scene, judge
from verax.data.world.grammar_en import described, stated
from verax.data.world.inference import draw_hypothesis, draw_premise
from verax.data.world.phrase import Sentence
from verax.data.world.splits import check_split, drawn_for, draws
from verax.types import Dataset, Human, Instance, Unit

LABELS = ("entailment", "neutral", "contradiction")
SHORTEST, LONGEST = 5, 25


def load(split: str = "test", limit: int | None = None, seed: int = 0) -> Dataset:
    """Inference pairs with their label, the words and span pairs that decide it, and a sentence that says why.

    Args:
        split: `train`, `validation` or `test`. What a hypothesis claims in one split is claimed in no other.
        limit: how many instances, from the first on; all of the split by default.
        seed: another seed draws other instances of the same split.
    """
    wanted = check_split(split, limit)
    seen: set[tuple[str, ...]] = set()
    instances: list[Instance] = []
    labels: list[str] = []
    for rng in draws("nli", split, seed):
        if len(instances) == wanted:
            break
        labels = labels or rng.sample(LABELS, len(LABELS))
        instance = compose(rng, split, labels[-1], f"world/nli/{split}/{len(instances):05d}")
        texts = tuple(part.raw for part in instance.parts)
        if texts not in seen:
            seen.add(texts)
            instances.append(instance)
            labels.pop()
    provenance = {"source": "verax, built in", "split": split, "seed": str(seed), "licence": "Apache-2.0"}
    return Dataset("world/nli", tuple(instances), LABELS, provenance, maskable=(0,), metric="accuracy")


def compose(rng: Random, split: str, label: str, name: str) -> Instance:
    """One instance of a split with the label that is asked for."""
    while True:
        hypothesis = drawn_for(split, draw_hypothesis, _claim, rng)
        premise = draw_premise(rng, hypothesis, label)
        judgement = judge(premise, hypothesis)
        if judgement.label != label:
            raise AssertionError(f"{premise} was drawn to make {label} of {hypothesis}")
        above, below = described(premise, rng), stated(hypothesis, rng)
        if all(SHORTEST < len(part.tokens) <= LONGEST for part in (above, below)):
            why = explained(Telling(premise, above), Telling(hypothesis, below), judgement)
            return Instance(name, (above.text, below.text), label, human=_human(above, below, judgement, why))


def _claim(hypothesis: Scene) -> str:
    """What a hypothesis claims, in whichever order: two that read the same are the same."""
    return repr((hypothesis.kinds, sorted(tuple(fact)[:3] for fact in hypothesis.facts)))


def _human(above: Sentence[Fact], below: Sentence[Fact], judgement: Judgement, why: str) -> Human:
    pairs: list[Unit] = []
    for known, asked in judgement.met:
        pairs += [(a, b) for a in above.spans(known, 0) for b in below.spans(asked, 1)]
    words = (above.carriers(judgement.premise), below.carriers(judgement.hypothesis))
    return Human(words=words, span_pairs=tuple(pairs), explanations=(why,))
