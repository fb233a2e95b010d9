"""What is told in which clauses, before any language is chosen: the translations of a text share one plan."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Literal

from verax.data.world.facts import Fact, Scene
from verax.data.world.knowledge import COMPARISONS, dimension_of, is_a

Form = Literal["quality", "activity", "place", "deed", "position", "comparison"]
Joint = Literal["and", "while", "stop", "but"]
Opening = Literal["", "see", "true", "scene", "now"]

JOINTS: tuple[Joint, ...] = ("and", "while", "stop", "but")
OPENINGS: tuple[Opening, ...] = ("", "", "", "see", "true", "scene", "now")
PASSIVES = frozenset(("chase", "push", "pull", "watch", "hold", "carry"))
"""Deeds that all languages can tell of the one to whom they are done."""

_DEEDS = ("follow", "push", "pull", "look_at", "hold")
_ADJECTIVE_ORDER = {dimension: number for number, dimension in enumerate(("size", "other", "age", "newness", "colour"))}
_LAST = {"activity": 1, "place": 2}


@dataclass(frozen=True, slots=True)
class Noun:
    """A thing as it is named at one place of a text.

    Args:
        slot: `subject` or `object`; with the number of the clause it tells this mention from others.
        qualities: facts that adjectives beside the noun say, from the outermost to the innermost of English.
    """

    slot: str
    kind: Fact
    definite: bool
    qualities: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class Saying:
    """One predicate of a clause.

    Args:
        place: where an activity goes on, if it is said in the same breath.
        other: the second thing of a relation.
        passive: a deed is told of the one it is done to; `other` is then who does it.
    """

    form: Form
    fact: Fact
    place: Fact | None = None
    other: Noun | None = None
    passive: bool = False


@dataclass(frozen=True, slots=True)
class Clause:
    """A subject and its predicates; `there` if the clause says that there is such a thing at a place."""

    subject: Noun
    sayings: tuple[Saying, ...]
    there: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """Clauses, what opens the text, and what stands between each clause and the one before it."""

    clauses: tuple[Clause, ...]
    joints: tuple[Joint, ...] = ()
    opening: Opening = ""


def described(scene: Scene, rng: Random) -> Plan:
    """A scene as somebody would describe it: one clause a thing, in the order of the things."""
    definite = rng.random() < 0.5
    others = {fact.other for fact in scene.facts if fact.other is not None}
    things = [thing for thing in range(len(scene.kinds)) if thing not in others]
    clauses = tuple(_clause(scene, thing, definite, rng) for thing in things)
    return Plan(clauses, tuple(rng.sample(JOINTS, len(clauses) - 1)))


def stated(scene: Scene, rng: Random) -> Plan:
    """A scene as a plain statement about its first thing; what is denied comes last."""
    facts = sorted(scene.facts, key=lambda fact: (not fact.holds, _LAST.get(dimension_of(fact.concept), 0)))
    sayings: list[Saying] = []
    for fact in facts:
        doing = sayings and fact.holds and sayings[-1].form == "activity" and form_of(fact) == "place"
        if doing:
            sayings[-1] = Saying("activity", sayings[-1].fact, place=fact)
        else:
            other = None if fact.other is None else Noun("object", scene.kind_fact(fact.other), True)
            sayings.append(Saying(form_of(fact), fact, other=other))
    clause = Clause(Noun("subject", scene.kind_fact(0), True), tuple(sayings))
    return Plan((clause,), opening=rng.choice(OPENINGS))


def form_of(fact: Fact) -> Form:
    """By which kind of predicate a fact is said."""
    dimension = dimension_of(fact.concept)
    if dimension == "activity":
        return "activity"
    if dimension == "place":
        return "place"
    if dimension != "relation":
        return "quality"
    if fact.concept in COMPARISONS:
        return "comparison"
    return "deed" if any(is_a(fact.concept, deed) for deed in _DEEDS) else "position"


def _clause(scene: Scene, thing: int, definite: bool, rng: Random) -> Clause:
    relation = next((fact for fact in scene.facts if fact.thing == thing and fact.other is not None), None)
    if relation is None or relation.other is None:
        return _attributes(scene, thing, definite, rng)
    passive = relation.holds and relation.concept in PASSIVES and rng.random() < 0.3
    first, second = (relation.other, thing) if passive else (thing, relation.other)
    subject = _named(scene, first, "subject", definite, _qualities(scene, first))
    other = _named(scene, second, "object", definite, _qualities(scene, second))
    return Clause(subject, (Saying(form_of(relation), relation, other=other, passive=passive),))


def _attributes(scene: Scene, thing: int, definite: bool, rng: Random) -> Clause:
    """A clause about one thing alone; each quality stands beside the noun or in the predicate."""
    facts = [fact for fact in scene.facts if fact.thing == thing]
    qualities = _qualities(scene, thing)
    rest = [fact for fact in facts if fact not in qualities]
    beside = [fact for fact in qualities if rest and rng.random() < 0.6]
    if not rest and len(qualities) > 1:
        beside = qualities[1:]
    places = [fact for fact in rest if fact.holds and form_of(fact) == "place"]
    activities = [fact for fact in rest if fact.holds and form_of(fact) == "activity"]
    denials = [fact for fact in rest if not fact.holds]
    predicates = [fact for fact in qualities if fact not in beside]
    there = bool(places) and not (activities or predicates or denials) and rng.random() < 0.3
    subject = _named(scene, thing, "subject", definite and not there, beside)
    if activities and places:
        sayings = [Saying("activity", activities[0], place=places[0])]
    else:
        sayings = [Saying(form_of(fact), fact) for fact in (*activities, *places)]
    sayings += [Saying(form_of(fact), fact) for fact in (*predicates, *denials)]
    return Clause(subject, tuple(sayings), there)


def _named(scene: Scene, thing: int, slot: str, definite: bool, qualities: list[Fact]) -> Noun:
    return Noun(slot, scene.kind_fact(thing), definite, tuple(qualities))


def _qualities(scene: Scene, thing: int) -> list[Fact]:
    """The facts of a thing that an adjective can say, in the order in which English puts them."""
    found = [fact for fact in scene.facts if fact.thing == thing and fact.holds and form_of(fact) == "quality"]
    return sorted(found, key=lambda fact: _ADJECTIVE_ORDER.get(dimension_of(fact.concept), 1))
