"""Language-independent text plans: clauses, predicates and noun phrases, shared by all translations of a text."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Literal, get_args

from verax.data.world.facts import Fact, Scene
from verax.data.world.knowledge import COMPARISONS, dimension_of, is_a

PredicateKind = Literal["quality", "activity", "place", "action", "position", "comparison"]
Connective = Literal["and", "while", "stop", "but"]
Opening = Literal["", "see", "true", "scene", "now"]

OPENINGS: tuple[Opening, ...] = ("", "", "", "see", "true", "scene", "now")
PASSIVES = frozenset(("chase", "push", "pull", "watch", "hold", "carry"))
"""Actions that every language can express in the passive."""

_ACTIONS = ("follow", "push", "pull", "look_at", "hold")
_ADJECTIVE_ORDER = {"size": 0, "age": 2, "newness": 3, "colour": 4}
_STATEMENT_ORDER = {"activity": 1, "place": 2}


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """One mention of a thing.

    Args:
        slot: `subject` or `object`; with the clause index it identifies the mention.
        qualities: facts expressed by attributive adjectives, from the outermost to the innermost in English.
    """

    slot: str
    kind: Fact
    definite: bool
    qualities: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class Predicate:
    """One predicate of a clause.

    Args:
        object: second argument of a relation.
        passive: whether the subject is the patient; `object` is then the agent.
    """

    kind: PredicateKind
    fact: Fact
    place: Fact | None = None
    object: NounPhrase | None = None
    passive: bool = False


@dataclass(frozen=True, slots=True)
class ClausePlan:
    """A subject and its predicates; an existential clause ("there is ...") has one predicate, a place."""

    subject: NounPhrase
    predicates: tuple[Predicate, ...]
    existential: bool = False


@dataclass(frozen=True, slots=True)
class TextPlan:
    """Clauses, the connectives between them, and the opening of the text."""

    clauses: tuple[ClausePlan, ...]
    connectives: tuple[Connective, ...] = ()
    opening: Opening = ""


def plan_description(scene: Scene, rng: Random) -> TextPlan:
    """Plan a description of a scene, with one clause per thing in order."""
    definite = rng.random() < 0.5
    others = {fact.other for fact in scene.facts if fact.other is not None}
    things = [thing for thing in range(len(scene.kinds)) if thing not in others]
    clauses = tuple(_clause(scene, thing, definite, rng) for thing in things)
    return TextPlan(clauses, tuple(rng.sample(get_args(Connective), len(clauses) - 1)))


def plan_statement(scene: Scene, rng: Random) -> TextPlan:
    """Plan a statement about the first thing of a scene; negated facts come last."""
    predicates: list[Predicate] = []
    for fact in statement_order(scene):
        kind = predicate_kind(fact)
        if predicates and fact.holds and predicates[-1].kind == "activity" and kind == "place":
            predicates[-1] = Predicate("activity", predicates[-1].fact, place=fact)
        else:
            other = None if fact.other is None else NounPhrase("object", scene.kind_fact(fact.other), True)
            predicates.append(Predicate(kind, fact, object=other))
    clause = ClausePlan(NounPhrase("subject", scene.kind_fact(0), True), tuple(predicates))
    return TextPlan((clause,), opening=rng.choice(OPENINGS))


def predicate_kind(fact: Fact) -> PredicateKind:
    """The kind of predicate that expresses a fact."""
    dimension = dimension_of(fact.concept)
    if dimension == "activity":
        return "activity"
    if dimension == "place":
        return "place"
    if dimension != "relation":
        return "quality"
    if fact.concept in COMPARISONS:
        return "comparison"
    return "action" if any(is_a(fact.concept, action) for action in _ACTIONS) else "position"


def qualities_of(scene: Scene, thing: int) -> list[Fact]:
    """Facts about a thing that adjectives express, in English adjective order."""
    qualities = [
        fact for fact in scene.facts if fact.thing == thing and fact.holds and predicate_kind(fact) == "quality"
    ]
    return sorted(qualities, key=lambda fact: _ADJECTIVE_ORDER.get(dimension_of(fact.concept), 1))


def statement_order(scene: Scene) -> list[Fact]:
    """Facts in the order of a statement: "not wet and in the garden" could be read as a negation of both."""
    return sorted(scene.facts, key=lambda fact: (not fact.holds, _STATEMENT_ORDER.get(dimension_of(fact.concept), 0)))


def _clause(scene: Scene, thing: int, definite: bool, rng: Random) -> ClausePlan:
    relation = next((fact for fact in scene.facts if fact.thing == thing and fact.other is not None), None)
    if relation is None or relation.other is None:
        return _attributive_clause(scene, thing, definite, rng)
    passive = relation.holds and relation.concept in PASSIVES and rng.random() < 0.3
    first, second = (relation.other, thing) if passive else (thing, relation.other)
    subject, other = (
        NounPhrase(slot, scene.kind_fact(mentioned), definite, tuple(qualities_of(scene, mentioned)))
        for slot, mentioned in (("subject", first), ("object", second))
    )
    return ClausePlan(subject, (Predicate(predicate_kind(relation), relation, object=other, passive=passive),))


def _attributive_clause(scene: Scene, thing: int, definite: bool, rng: Random) -> ClausePlan:
    """A clause about one thing; each quality is an attribute of the noun or a predicate."""
    qualities = qualities_of(scene, thing)
    rest = [fact for fact in scene.facts if fact.thing == thing and fact not in qualities]
    attributes = [fact for fact in qualities if rest and rng.random() < 0.6]
    if not rest and len(qualities) > 1:
        attributes = qualities[1:]
    places = [fact for fact in rest if fact.holds and predicate_kind(fact) == "place"]
    activities = [fact for fact in rest if fact.holds and predicate_kind(fact) == "activity"]
    others = [fact for fact in qualities if fact not in attributes] + [fact for fact in rest if not fact.holds]
    existential = bool(places) and not (activities or others) and rng.random() < 0.3
    subject = NounPhrase("subject", scene.kind_fact(thing), definite and not existential, tuple(attributes))
    if activities and places:
        predicates = [Predicate("activity", activities[0], place=places[0])]
    else:
        predicates = [Predicate(predicate_kind(fact), fact) for fact in (*activities, *places)]
    predicates += [Predicate(predicate_kind(fact), fact) for fact in others]
    return ClausePlan(subject, tuple(predicates), existential)
