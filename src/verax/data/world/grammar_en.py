"""English realisation of scenes: descriptions (premises), statements (hypotheses, claims) and reports (evidence)."""

from __future__ import annotations

from random import Random

from verax.data.world.facts import Fact, Scene
from verax.data.world.knowledge import dimension_of
from verax.data.world.languages.plan import qualities_of, statement_order
from verax.data.world.lexicon_en import FUNCTION_WORDS, passive_of, synonyms
from verax.data.world.phrase import Phrase, TaggedText, TaggedToken, as_text, plain, tagged

_CONNECTIVES = (", and", ", while", ".", ", but")
_OPENINGS = ("", "", "", "we can see that", "it is true that", "in this scene", "right now")
_SHORT = 5  # a statement with fewer words always has an opening
_JOINED_SHARE = 0.35
_ONE_SENTENCE_SHARE = 0.6


def write_description(scene: Scene, rng: Random) -> TaggedText[Fact]:
    """A description of a scene, with one clause per thing in order."""
    determiner = rng.choice(("the", "a"))
    others = {fact.other for fact in scene.facts if fact.other is not None}
    clauses = [_clause(scene, thing, determiner, rng) for thing in range(len(scene.kinds)) if thing not in others]
    words: Phrase[Fact] = clauses[0]
    for clause, connective in zip(clauses[1:], rng.sample(_CONNECTIVES, len(clauses) - 1), strict=True):
        words += plain(connective) + clause
    return as_text(_with_articles(words + plain(".")))


def write_evidence(scene: Scene, rng: Random) -> TaggedText[Fact]:
    """A report of several sentences; the facts about a thing may be in two separate ones."""
    determiner = rng.choice(("the", "a"))
    clauses = [(thing, facts) for thing in range(len(scene.kinds)) for facts in _portions(scene, thing, rng)]
    rng.shuffle(clauses)
    words: Phrase[Fact] = ()
    mentioned: list[int] = []
    connective = "."
    for thing, facts in clauses:
        if mentioned:  # a sentence has at most two clauses, about two things
            joined = connective == "." and thing != mentioned[-1] and rng.random() < _JOINED_SHARE
            connective = rng.choice(_CONNECTIVES) if joined else "."
            words += plain(connective)
        again = thing in mentioned
        words += _clause(Scene(scene.kinds, facts), thing, "the" if again else determiner, rng, again)
        mentioned.append(thing)
    return as_text(_with_articles(words + plain(".")))


def _portions(scene: Scene, thing: int, rng: Random) -> list[tuple[Fact, ...]]:
    """The facts about a thing, for one sentence or divided between two."""
    facts = tuple(fact for fact in scene.facts if fact.thing == thing)
    if len(facts) == 1 or rng.random() < _ONE_SENTENCE_SHARE:
        return [facts]
    cut = rng.randrange(1, len(facts))
    return [facts[:cut], facts[cut:]]


def write_statement(scene: Scene, rng: Random) -> TaggedText[Fact]:
    """A statement about the first thing of a scene: "the dog is big and not in the garden"."""
    body = plain("the") + _kind(scene, 0, rng) + plain("is")
    facts = statement_order(scene)
    for number, fact in enumerate(facts):
        located = number and fact.holds and dimension_of(facts[number - 1].concept) == "activity"
        body += plain("and") if number and not located else ()
        body += _relation(scene, fact, "the", rng) if fact.other is not None else _predicate(fact, rng)
    opening = rng.choice(_OPENINGS[3:] if len(body) < _SHORT else _OPENINGS)
    return as_text(plain(opening) + body + plain("."))


def _clause(scene: Scene, thing: int, determiner: str, rng: Random, again: bool = False) -> Phrase[Fact]:
    """The facts about a thing as a clause; `again` if the text has mentioned it before."""
    facts = [fact for fact in scene.facts if fact.thing == thing]
    relation = next((fact for fact in facts if fact.other is not None), None)
    if relation is None or relation.other is None:
        return _attributive_clause(scene, thing, facts, determiner, rng, again)
    passive = passive_of(relation.concept) if relation.holds and rng.random() < 0.3 else None
    if passive is None:
        subject = _noun_phrase(scene, thing, determiner, qualities_of(scene, thing), rng)
        return subject + plain("is") + _relation(scene, relation, determiner, rng)
    patient = _noun_phrase(scene, relation.other, determiner, qualities_of(scene, relation.other), rng)
    verb = plain("is") + tagged(passive, relation, FUNCTION_WORDS)
    return patient + verb + _noun_phrase(scene, thing, determiner, qualities_of(scene, thing), rng)


def _attributive_clause(
    scene: Scene, thing: int, facts: list[Fact], determiner: str, rng: Random, again: bool
) -> Phrase[Fact]:
    """A clause about one thing; each fact is an attribute of the noun, a predicate or an adverbial of place."""
    qualities = qualities_of(scene, thing)
    rest = [fact for fact in facts if fact not in qualities]
    attributes = [fact for fact in qualities if rest and rng.random() < 0.6]
    if not rest and len(qualities) > 1:
        attributes = qualities[1:]
    places = [fact for fact in rest if fact.holds and dimension_of(fact.concept) == "place"]
    activities = [fact for fact in rest if fact.holds and dimension_of(fact.concept) == "activity"]
    others = [fact for fact in qualities if fact not in attributes] + [fact for fact in rest if not fact.holds]
    subject = _noun_phrase(scene, thing, determiner, attributes, rng)
    if places and not again and not others and rng.random() < 0.3:
        subject = _noun_phrase(scene, thing, "a", attributes, rng)
        return plain("there is") + subject + _values(activities, rng) + _values(places, rng)
    if places and others and not activities:
        subject += _values(places, rng)
        places = []
    parts = [_values(activities, rng) + _values(places, rng)] if activities or places else []
    parts += [_predicate(fact, rng) for fact in others]
    words = subject + plain("is") + parts[0]
    for part in parts[1:]:
        words += plain("and is") + part
    return words


def _noun_phrase(scene: Scene, thing: int, determiner: str, attributes: list[Fact], rng: Random) -> Phrase[Fact]:
    return plain(determiner) + _values(attributes, rng) + _kind(scene, thing, rng)


def _kind(scene: Scene, thing: int, rng: Random) -> Phrase[Fact]:
    return _values([scene.kind_fact(thing)], rng)


def _relation(scene: Scene, fact: Fact, determiner: str, rng: Random) -> Phrase[Fact]:
    if fact.other is None:
        raise ValueError("a relation needs two things")
    # The qualities of the object are chosen before the words of the relation.
    qualities = _values(qualities_of(scene, fact.other), rng)
    return _predicate(fact, rng) + plain(determiner) + qualities + _kind(scene, fact.other, rng)


def _predicate(fact: Fact, rng: Random) -> Phrase[Fact]:
    negation: Phrase[Fact] = () if fact.holds else (TaggedToken("not", fact, True),)
    return negation + _values([fact], rng)


def _values(facts: list[Fact], rng: Random) -> Phrase[Fact]:
    return tuple(token for fact in facts for token in tagged(rng.choice(synonyms(fact.concept)), fact, FUNCTION_WORDS))


def _with_articles(words: Phrase[Fact]) -> Phrase[Fact]:
    """ "a" becomes "an" before a vowel letter; in this lexicon every initial vowel letter is a vowel sound."""
    following = (*words[1:], TaggedToken(" "))
    return tuple(
        token._replace(text="an") if token.text == "a" and after.text[0] in "aeiou" else token
        for token, after in zip(words, following, strict=True)
    )
