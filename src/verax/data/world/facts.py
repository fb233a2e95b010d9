"""Scenes made of facts, and whether one scene entails another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from verax.data.world.knowledge import INVERSE, dimension_of, excludes, is_a

FactVerdict = Literal["follows", "excluded", "open"]


class Fact(NamedTuple):
    """A thing has a value (or does not, if `holds` is false); a relation also has the `other` thing."""

    thing: int
    concept: str
    holds: bool = True
    other: int | None = None


@dataclass(frozen=True, slots=True)
class Scene:
    """Things by kind, and facts about them: the content of a premise or a hypothesis."""

    kinds: tuple[str, ...]
    facts: tuple[Fact, ...]

    def kind_fact(self, thing: int) -> Fact:
        """The kind of a thing as a fact, so that its words can be tagged like those of any other fact."""
        return Fact(thing, self.kinds[thing])

    @property
    def claim(self) -> str:
        """Key of the content, independent of the order of the facts."""
        return repr((self.kinds, sorted(tuple(fact)[:3] for fact in self.facts)))


@dataclass(frozen=True, slots=True)
class Judgement:
    """The relation of a premise to a hypothesis, and the facts that decide it.

    Args:
        label: `entailment`, `neutral` or `contradiction`.
        matches: pairs of a fact of the premise and the fact of the hypothesis that it bears on, including kinds.
    """

    label: str
    matches: tuple[tuple[Fact, Fact], ...]
    premise: tuple[Fact, ...]
    hypothesis: tuple[Fact, ...]


def decide(known: str, holds: bool, asked: str, asked_holds: bool) -> FactVerdict:
    """Whether a value of a thing follows from a known value of the same thing."""
    if holds and is_a(known, asked):
        truth = True
    elif excludes(known, asked) if holds else is_a(asked, known):
        truth = False
    else:
        return "open"
    return "follows" if truth == asked_holds else "excluded"


def _concept_from(fact: Fact, first: int, second: int | None) -> str | None:
    """The concept of a fact as seen from `first` (to `second`), inverted if needed; None if there is no inverse."""
    if (fact.thing, fact.other) == (first, second):
        return fact.concept
    if second is not None and (fact.thing, fact.other) == (second, first):
        return INVERSE.get(fact.concept)
    return None


def referent(premise: Scene, kind: str) -> int | None:
    """The thing of the premise that "the <kind>" refers to; None if no thing is certainly of that kind."""
    certain = [thing for thing, known in enumerate(premise.kinds) if is_a(known, kind)]
    if len(certain) > 1:
        raise ValueError(f"two things of {premise.kinds} could be the {kind}")
    return certain[0] if certain else None


def judge(premise: Scene, hypothesis: Scene) -> Judgement:
    """Whether the hypothesis follows from the premise, is excluded by it, or neither; and the deciding facts.

    The hypothesis is about the same scene: "the dog" is the dog of the premise. One excluded fact makes a
    contradiction; all facts must follow for an entailment. If the premise only has "an animal", "the dog" is open.
    """
    referents = tuple(referent(premise, kind) for kind in hypothesis.kinds)
    for asked, found in enumerate(referents):
        if found is None:
            wide = next(thing for thing, kind in enumerate(premise.kinds) if is_a(hypothesis.kinds[asked], kind))
            pair = (premise.kind_fact(wide), hypothesis.kind_fact(asked))
            return Judgement("neutral", (pair,), (pair[0],), (pair[1],))
    verdicts = [_judge_fact(premise, fact, referents) for fact in hypothesis.facts]
    for verdict, label in (("excluded", "contradiction"), ("open", "neutral"), ("follows", "entailment")):
        deciding = [n for n, (found, _) in enumerate(verdicts) if found == verdict]
        if deciding:
            chosen = deciding if verdict == "follows" else deciding[:1]
            decided = [(hypothesis.facts[n], verdicts[n][1]) for n in chosen]
            return _judgement(label, premise, hypothesis, referents, decided)
    raise ValueError("a hypothesis without facts")


def judge_as(label: str, premise: Scene, hypothesis: Scene) -> Judgement:
    """The judgement of scenes that were drawn for a label; another label is a bug in the drawing."""
    judgement = judge(premise, hypothesis)
    if judgement.label != label:
        raise AssertionError(f"{premise} was drawn to make {label} of {hypothesis}")
    return judgement


def _judge_fact(premise: Scene, asked: Fact, referents: tuple[int | None, ...]) -> tuple[FactVerdict, Fact | None]:
    """The verdict on one fact, and the deciding fact of the premise; if open, the closest one."""
    first = referents[asked.thing]
    second = None if asked.other is None else referents[asked.other]
    closest: Fact | None = None
    for fact in premise.facts:
        if first not in (fact.thing, fact.other) or dimension_of(fact.concept) != dimension_of(asked.concept):
            continue
        concept = _concept_from(fact, first, second) if first is not None else None
        verdict = decide(concept, fact.holds, asked.concept, asked.holds) if concept is not None else "open"
        if verdict != "open":
            return verdict, fact
        closest = fact
    return "open", closest


def _judgement(
    label: str,
    premise: Scene,
    hypothesis: Scene,
    referents: tuple[int | None, ...],
    decided: list[tuple[Fact, Fact | None]],
) -> Judgement:
    # Dictionaries are used as ordered sets.
    matches: dict[tuple[Fact, Fact], None] = {}
    needed: dict[Fact, None] = {}
    for asked, known in decided:
        for thing in (asked.thing, asked.other):
            found = None if thing is None else referents[thing]
            if thing is not None and found is not None:
                matches[premise.kind_fact(found), hypothesis.kind_fact(thing)] = None
        if known is not None:
            matches[known, asked] = None
            needed |= {premise.kind_fact(thing): None for thing in (known.thing, known.other) if thing is not None}
    needed = {known: None for known, _ in matches} | needed
    asked_facts = dict.fromkeys(asked for _, asked in matches) | dict.fromkeys(asked for asked, _ in decided)
    return Judgement(label, tuple(matches), tuple(needed), tuple(asked_facts))
