"""Scenes made of facts, and what follows from one scene about another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from verax.data.world.knowledge import INVERSE, dimension_of, excludes, is_a

Verdict = Literal["follows", "excluded", "open"]


class Fact(NamedTuple):
    """A thing of a scene is (or, with `holds` false, is not) so; a relation also names the `other` thing."""

    thing: int
    concept: str
    holds: bool = True
    other: int | None = None


@dataclass(frozen=True, slots=True)
class Scene:
    """Some things, each by its kind, and facts about them. A premise is a scene, and so is a hypothesis."""

    kinds: tuple[str, ...]
    facts: tuple[Fact, ...]

    def kind_fact(self, thing: int) -> Fact:
        """That a thing is of its kind, as a fact, so that the words for it can be found like those of any other."""
        return Fact(thing, self.kinds[thing])

    @property
    def claim(self) -> str:
        """What the scene claims, in whichever order: two that read the same are the same."""
        return repr((self.kinds, sorted(tuple(fact)[:3] for fact in self.facts)))


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a premise says about a hypothesis, and by which facts.

    Args:
        label: `entailment`, `neutral` or `contradiction`.
        met: pairs of a fact of the premise and the fact of the hypothesis that it meets; kinds are among them.
        premise: the facts of the premise without which the label can't be known.
        hypothesis: the same for the hypothesis.
    """

    label: str
    met: tuple[tuple[Fact, Fact], ...]
    premise: tuple[Fact, ...]
    hypothesis: tuple[Fact, ...]


def decide(known: str, holds: bool, asked: str, asked_holds: bool) -> Verdict:
    """What one known value of a thing says about another value of the same thing."""
    if holds and is_a(known, asked):
        truth = True
    elif excludes(known, asked) if holds else is_a(asked, known):
        truth = False
    else:
        return "open"
    return "follows" if truth == asked_holds else "excluded"


def towards(fact: Fact, first: int, second: int | None) -> str | None:
    """The concept by which a fact speaks of `first` (towards `second`), turned round if need be; None if it can't."""
    if (fact.thing, fact.other) == (first, second):
        return fact.concept
    if second is not None and (fact.thing, fact.other) == (second, first):
        return INVERSE.get(fact.concept)
    return None


def referent(premise: Scene, kind: str) -> int | None:
    """The thing of the premise that "the <kind>" must be; None if no thing is sure to be of that kind."""
    sure = [thing for thing, known in enumerate(premise.kinds) if is_a(known, kind)]
    if len(sure) > 1:
        raise ValueError(f"two things of {premise.kinds} could be the {kind}")
    return sure[0] if sure else None


def judge(premise: Scene, hypothesis: Scene) -> Judgement:
    """Whether the hypothesis follows from the premise, is excluded by it, or neither; and by which facts.

    The hypothesis speaks of the same scene: "the dog" is the premise's dog. One excluded fact makes a contradiction;
    all facts must follow for an entailment. Where the premise has but "an animal", "the dog" stays open.
    """
    referents = tuple(referent(premise, kind) for kind in hypothesis.kinds)
    for asked, found in enumerate(referents):
        if found is None:
            wide = next(thing for thing, kind in enumerate(premise.kinds) if is_a(hypothesis.kinds[asked], kind))
            pair = (premise.kind_fact(wide), hypothesis.kind_fact(asked))
            return Judgement("neutral", (pair,), (pair[0],), (pair[1],))
    told = [_weigh(premise, fact, referents) for fact in hypothesis.facts]
    for verdict, label in (("excluded", "contradiction"), ("open", "neutral"), ("follows", "entailment")):
        deciding = [n for n, (found, _) in enumerate(told) if found == verdict]
        if deciding:
            chosen = deciding if verdict == "follows" else deciding[:1]
            decided = [(hypothesis.facts[n], told[n][1]) for n in chosen]
            return _judgement(label, premise, hypothesis, referents, decided)
    raise ValueError("a hypothesis without facts")


def judged_as(label: str, premise: Scene, hypothesis: Scene) -> Judgement:
    """The judgement of scenes that were drawn for a label; that it is another one is a fault of the drawing."""
    judgement = judge(premise, hypothesis)
    if judgement.label != label:
        raise AssertionError(f"{premise} was drawn to make {label} of {hypothesis}")
    return judgement


def _weigh(premise: Scene, asked: Fact, referents: tuple[int | None, ...]) -> tuple[Verdict, Fact | None]:
    """What the premise says about one fact, and the fact by which it says so; if open, the one that comes nearest."""
    first = referents[asked.thing]
    second = None if asked.other is None else referents[asked.other]
    near: Fact | None = None
    for fact in premise.facts:
        if first not in (fact.thing, fact.other) or dimension_of(fact.concept) != dimension_of(asked.concept):
            continue
        concept = towards(fact, first, second) if first is not None else None
        verdict = decide(concept, fact.holds, asked.concept, asked.holds) if concept is not None else "open"
        if verdict != "open":
            return verdict, fact
        near = fact
    return "open", near


def _judgement(
    label: str,
    premise: Scene,
    hypothesis: Scene,
    referents: tuple[int | None, ...],
    decided: list[tuple[Fact, Fact | None]],
) -> Judgement:
    met: dict[tuple[Fact, Fact], None] = {}
    needed: dict[Fact, None] = {}
    for asked, known in decided:
        for thing in (asked.thing, asked.other):
            found = None if thing is None else referents[thing]
            if thing is not None and found is not None:
                met[premise.kind_fact(found), hypothesis.kind_fact(thing)] = None
        if known is not None:
            met[known, asked] = None
            needed |= {premise.kind_fact(t): None for t in (known.thing, known.other) if t is not None}
    needed = {known: None for known, _ in met} | needed
    asked_facts = dict.fromkeys(asked for _, asked in met) | dict.fromkeys(asked for asked, _ in decided)
    return Judgement(label, tuple(met), tuple(needed), tuple(asked_facts))
