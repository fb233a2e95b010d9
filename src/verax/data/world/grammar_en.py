"""English for scenes: descriptions (premises), statements (hypotheses, claims) and reports (evidence).

Each word is tied to its fact.
"""

from __future__ import annotations

from random import Random

from verax.data.world.facts import Fact, Scene
from verax.data.world.knowledge import dimension_of
from verax.data.world.lexicon_en import SILENT, passive_of, words_of
from verax.data.world.phrase import Phrase, Sentence, Token, marked, plain, sentence

_ADJECTIVE_ORDER = {dimension: number for number, dimension in enumerate(("size", "other", "age", "newness", "colour"))}
_LAST = {"activity": 1, "place": 2}
_JOINTS = (", and", ", while", ".", ", but")
_OPENINGS = ("", "", "", "we can see that", "it is true that", "in this scene", "right now")
_LONGER_OPENINGS = _OPENINGS[3:]
_SHORT = 5
_JOINED_SHARE = 0.35
_TOGETHER_SHARE = 0.6


def described(scene: Scene, rng: Random) -> Sentence[Fact]:
    """A scene as somebody would describe it: one clause a thing, in the order of the things."""
    determiner = rng.choice(("the", "a"))
    others = {fact.other for fact in scene.facts if fact.other is not None}
    clauses = [_clause(scene, thing, determiner, rng) for thing in range(len(scene.kinds)) if thing not in others]
    words: Phrase[Fact] = clauses[0]
    for clause, joint in zip(clauses[1:], rng.sample(_JOINTS, len(clauses) - 1), strict=True):
        words += plain(joint) + clause
    return sentence(_with_articles(words + plain(".")))


def reported(scene: Scene, rng: Random) -> Sentence[Fact]:
    """A scene as a report of several sentences; what is told of a thing may stand in two that are apart."""
    determiner = rng.choice(("the", "a"))
    told = [(thing, facts) for thing in range(len(scene.kinds)) for facts in _portions(scene, thing, rng)]
    rng.shuffle(told)
    words: Phrase[Fact] = ()
    named: list[int] = []
    joint = "."
    for thing, facts in told:
        if named:  # a sentence has at most two clauses, about two things
            joined = joint == "." and thing != named[-1] and rng.random() < _JOINED_SHARE
            joint = rng.choice(_JOINTS) if joined else "."
            words += plain(joint)
        again = thing in named
        words += _clause(Scene(scene.kinds, facts), thing, "the" if again else determiner, rng, again)
        named.append(thing)
    return sentence(_with_articles(words + plain(".")))


def _portions(scene: Scene, thing: int, rng: Random) -> list[tuple[Fact, ...]]:
    """The facts of a thing, all for one sentence or divided between two."""
    facts = tuple(fact for fact in scene.facts if fact.thing == thing)
    if len(facts) == 1 or rng.random() < _TOGETHER_SHARE:
        return [facts]
    cut = rng.randrange(1, len(facts))
    return [facts[:cut], facts[cut:]]


def stated(scene: Scene, rng: Random) -> Sentence[Fact]:
    """A scene as a plain statement about its first thing: "the dog is big and not in the garden"."""
    body: Phrase[Fact] = plain("the") + _kind(scene, 0, rng) + plain("is")
    # What is denied comes last: "not wet and in the garden" could be read as denying both.
    facts = sorted(scene.facts, key=lambda fact: (not fact.holds, _LAST.get(dimension_of(fact.concept), 0)))
    for number, fact in enumerate(facts):
        doing = number and fact.holds and dimension_of(facts[number - 1].concept) == "activity"
        body += plain("and") if number and not doing else ()
        body += _relation(scene, fact, plain("the"), rng) if fact.other is not None else _predicate(fact, rng)
    opening = rng.choice(_LONGER_OPENINGS if len(body) < _SHORT else _OPENINGS)
    return sentence(plain(opening) + body + plain("."))


def _clause(scene: Scene, thing: int, determiner: str, rng: Random, again: bool = False) -> Phrase[Fact]:
    """What a scene says of a thing; `again` if the text has spoken of it before."""
    facts = [fact for fact in scene.facts if fact.thing == thing]
    relation = next((fact for fact in facts if fact.other is not None), None)
    if relation is not None:
        passive = passive_of(relation.concept) if relation.holds and rng.random() < 0.3 else None
        if passive is not None and relation.other is not None:
            return (
                _noun_phrase(scene, relation.other, determiner, _qualities(scene, relation.other), rng)
                + plain("is")
                + marked(passive, relation, SILENT)
                + _noun_phrase(scene, thing, determiner, _qualities(scene, thing), rng)
            )
        subject = _noun_phrase(scene, thing, determiner, _qualities(scene, thing), rng)
        return subject + plain("is") + _relation(scene, relation, plain(determiner), rng)
    return _attributes(scene, thing, facts, determiner, rng, again)


def _attributes(scene: Scene, thing: int, facts: list[Fact], determiner: str, rng: Random, again: bool) -> Phrase[Fact]:
    """A clause about one thing alone; each fact stands before the noun, in the predicate, or as the place."""
    qualities = _qualities(scene, thing)
    rest = [fact for fact in facts if fact not in qualities]
    before = [fact for fact in qualities if rest and rng.random() < 0.6]
    if not rest and len(qualities) > 1:
        before = qualities[1:]
    predicates = [fact for fact in qualities if fact not in before]
    places = [fact for fact in rest if fact.holds and dimension_of(fact.concept) == "place"]
    activities = [fact for fact in rest if fact.holds and dimension_of(fact.concept) == "activity"]
    denials = [fact for fact in rest if not fact.holds]
    subject = _noun_phrase(scene, thing, determiner, before, rng)
    if places and not again and not predicates and not denials and rng.random() < 0.3:
        subject = _noun_phrase(scene, thing, "a", before, rng)
        return plain("there is") + subject + _said(activities, rng) + _said(places, rng)
    if places and (predicates or denials) and not activities:
        subject += _said(places, rng)
        places = []
    parts = [_said(activities, rng) + _said(places, rng)] if activities or places else []
    parts += [_predicate(fact, rng) for fact in (*predicates, *denials)]
    words = subject + plain("is") + parts[0]
    for part in parts[1:]:
        words += plain("and is") + part
    return words


def _qualities(scene: Scene, thing: int) -> list[Fact]:
    """The facts of a thing that an adjective can say, in the order in which English puts them."""
    found = [
        fact
        for fact in scene.facts
        if fact.thing == thing
        and fact.holds
        and fact.other is None
        and dimension_of(fact.concept) not in ("activity", "place")
    ]
    return sorted(found, key=lambda fact: _ADJECTIVE_ORDER.get(dimension_of(fact.concept), 1))


def _noun_phrase(scene: Scene, thing: int, determiner: str, before: list[Fact], rng: Random) -> Phrase[Fact]:
    return plain(determiner) + tuple(t for fact in before for t in _said([fact], rng)) + _kind(scene, thing, rng)


def _kind(scene: Scene, thing: int, rng: Random) -> Phrase[Fact]:
    fact = scene.kind_fact(thing)
    return marked(rng.choice(words_of(fact.concept)), fact, SILENT)


def _relation(scene: Scene, fact: Fact, determiner: Phrase[Fact], rng: Random) -> Phrase[Fact]:
    if fact.other is None:
        raise ValueError("a relation needs two things")
    other = determiner + tuple(t for q in _qualities(scene, fact.other) for t in _said([q], rng))
    return _predicate(fact, rng) + other + _kind(scene, fact.other, rng)


def _predicate(fact: Fact, rng: Random) -> Phrase[Fact]:
    denial: Phrase[Fact] = () if fact.holds else (Token("not", fact, True),)
    return denial + _said([fact], rng)


def _said(facts: list[Fact], rng: Random) -> Phrase[Fact]:
    return tuple(t for fact in facts for t in marked(rng.choice(words_of(fact.concept)), fact, SILENT))


def _with_articles(words: Phrase[Fact]) -> Phrase[Fact]:
    """ "a" becomes "an" before a vowel; no word of the world begins with a vowel letter that is not spoken as one."""
    following = (*words[1:], Token(" "))
    return tuple(
        token._replace(text="an") if token.text == "a" and after.text[0] in "aeiou" else token
        for token, after in zip(words, following, strict=True)
    )
