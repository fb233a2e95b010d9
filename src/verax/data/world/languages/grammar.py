"""What the grammars of all languages share: words with alignment anchors, lexicon access, and default clauses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cache
from random import Random
from typing import NamedTuple

from verax.data.world import read_toml
from verax.data.world.facts import Fact
from verax.data.world.languages.plan import ClausePlan, NounPhrase, Predicate, TextPlan

Anchor = tuple[int, Fact | str, str]
"""What a word expresses: clause index, the fact or noun phrase, and the role in it."""

ADVERBIAL_PLACES = frozenset(("indoors", "outdoors"))
"""Places expressed by an adverb, or by a phrase that is not translated word by word."""

_SECTIONS = ("kinds", "qualities", "activities", "places", "actions", "positions", "comparatives")


class Word(NamedTuple):
    """A word of any language.

    Args:
        anchors: what it expresses: "du" in French both a preposition and an article. Words that share an anchor are
            aligned across languages.
        fact: the fact it expresses; None for a grammatical word.
    """

    text: str
    anchors: tuple[Anchor, ...] = ()
    fact: Fact | None = None
    is_content: bool = False

    def with_anchor(self, anchor: Anchor) -> Word:
        """A copy with one more anchor."""
        return self._replace(anchors=(*self.anchors, anchor))


Words = tuple[Word, ...]


class Lexicon(NamedTuple):
    """The words of a language, from its TOML file.

    Args:
        entries: synonyms by concept; the file describes the grammatical codes in them.
        participles: past participles by action.
        openings: grammatical words by opening; `word:role` each.
        connectives: grammatical words by connective.
        coordination: grammatical words between two predicates.
    """

    entries: Mapping[str, tuple[str, ...]]
    participles: Mapping[str, str]
    openings: Mapping[str, str]
    connectives: Mapping[str, str]
    coordination: str


@cache
def read_lexicon(lang: str) -> Lexicon:
    """Read the lexicon of a language."""
    content = read_toml(f"languages/lexicon_{lang}.toml")
    entries = parse_entries(";".join(content[section] for section in _SECTIONS))
    participles = {action: forms[0] for action, forms in parse_entries(content.get("participles", "")).items()}
    return Lexicon(entries, participles, content["openings"], content["connectives"], content["coordination"])


def parse_entries(text: str) -> dict[str, tuple[str, ...]]:
    """Synonyms by concept, from `concept: synonym / synonym; ...`."""
    entries = (entry.partition(":") for entry in text.split(";") if entry.strip())
    return {concept.strip(): tuple(word.strip() for word in words.split("/")) for concept, _, words in entries}


def merge_words(first: Word, second: Word, text: str) -> Word:
    """One word in place of two."""
    leading = first if first.fact is not None else second
    anchors = tuple(dict.fromkeys(first.anchors + second.anchors))
    return Word(text, anchors, leading.fact, first.is_content or second.is_content)


def contract(words: Words, contractions: Mapping[tuple[str, str], str]) -> Words:
    """Apply contractions such as "de" + "el" -> "del"."""
    contracted: list[Word] = []
    for word in words:
        short = contractions.get((contracted[-1].text, word.text)) if contracted else None
        if short is None:
            contracted.append(word)
        else:
            contracted[-1] = merge_words(contracted[-1], word, short)
    return tuple(contracted)


class Grammar(ABC):
    """Surface realisation in one language.

    An instance realises one text: it holds the random source for the choice between synonyms, and the current clause
    and predicate. By default a clause is its subject, followed by its predicates.
    """

    lang: str
    separator = " "
    stop = "."
    function_words: frozenset[str] = frozenset()
    """Words of a lexicon entry of several words that are not content words."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.lexicon = read_lexicon(self.lang)
        self.clause_index = 0
        self.predicate_index = 0
        self._nouns: dict[tuple[int, str], str] = {}

    def realise(self, plan: TextPlan) -> Words:
        """The words of a text."""
        words = self.grammatical(self.lexicon.openings[plan.opening], "opening") if plan.opening else ()
        for index, clause in enumerate(plan.clauses):
            self.clause_index, self.predicate_index = index, 0
            connective = plan.connectives[index - 1] if index else None
            if connective is not None:
                words += self.grammatical(self.lexicon.connectives[connective], "connective")
            words += self.clause(clause, connective or plan.opening)
        return self.join(*words, Word(self.stop, ((len(plan.clauses), "connective", "stop"),)))

    def clause(self, clause: ClausePlan, after: str) -> Words:
        """A clause; `after` is the connective or opening before it, which may determine the word order."""
        if clause.existential:
            return self.existential(clause.subject, clause.predicates[0].fact)
        predicates = self.predicates(clause)  # realised first: a fixed order of random choices keeps the corpus stable
        return self.noun_phrase(clause.subject) + predicates

    def predicates(self, clause: ClausePlan) -> Words:
        """The predicates of a clause, coordinated."""
        words: Words = ()
        for index, predicate in enumerate(clause.predicates):
            self.predicate_index = index
            words += self.grammatical(self.lexicon.coordination, f"coordination {index - 1}") if index else ()
            realise = {
                "quality": self.quality,
                "activity": self.activity,
                "place": self.place,
                "action": self.passive if predicate.passive else self.action,
                "position": self.position,
                "comparison": self.comparison,
            }[predicate.kind]
            words += realise(clause.subject, predicate)
        return words

    def join(self, *words: Word) -> Words:
        """Apply changes between adjacent words, such as contractions."""
        return words

    @abstractmethod
    def noun_phrase(self, noun: NounPhrase, case: str = "subject") -> Words:
        """A noun with its article and adjectives."""

    @abstractmethod
    def be(self, predicate: Predicate, complement: Words) -> Words:
        """ "is" and its complement, negated if the fact does not hold."""

    @abstractmethod
    def adjective(self, fact: Fact, subject: NounPhrase) -> Words:
        """A predicative adjective."""

    @abstractmethod
    def location(self, fact: Fact, entry: str) -> Words:
        """ "in the kitchen", from the lexicon entry of the place."""

    @abstractmethod
    def existential(self, subject: NounPhrase, place: Fact) -> Words:
        """ "there is a dog in the kitchen"."""

    def quality(self, subject: NounPhrase, predicate: Predicate) -> Words:
        """ "is big", "is not big"."""
        return self.be(predicate, self.adjective(predicate.fact, subject))

    @abstractmethod
    def activity(self, subject: NounPhrase, predicate: Predicate) -> Words:
        """ "is sleeping", "is sleeping in the kitchen", "is not sleeping"."""

    def place(self, subject: NounPhrase, predicate: Predicate) -> Words:
        """ "is in the kitchen", "is not in the kitchen"."""
        return self.be(predicate, self.where(predicate.fact))

    @abstractmethod
    def action(self, subject: NounPhrase, predicate: Predicate) -> Words:
        """ "is chasing the cat", "is not chasing the cat"."""

    @abstractmethod
    def passive(self, subject: NounPhrase, predicate: Predicate) -> Words:
        """ "is being chased by the dog"; never negated."""

    def position(self, subject: NounPhrase, predicate: Predicate) -> Words:
        """ "is near the table", "is not near the table"."""
        return self.be(predicate, self.value(predicate.fact) + self.object(predicate))

    @abstractmethod
    def comparison(self, subject: NounPhrase, predicate: Predicate) -> Words:
        """ "is bigger than the cat", "is not bigger than the cat"."""

    def choose(self, concept: str) -> str:
        """One of the lexicon entries of a concept."""
        entries = self.lexicon.entries[concept]
        return entries[0] if len(entries) == 1 else self.rng.choice(entries)

    def noun_entry(self, noun: NounPhrase) -> str:
        """The lexicon entry of a noun, chosen once per mention, so that other words can agree with it."""
        mention = self.clause_index, noun.slot
        if mention not in self._nouns:
            self._nouns[mention] = self.choose(noun.kind.concept)
        return self._nouns[mention]

    def grammatical(self, text: str, about: str) -> Words:
        """Words with roles, from `wir:we sehen:see`; several roles are joined by a plus sign."""
        pairs = (word.rpartition(":") for word in text.split())
        return tuple(
            Word(word, tuple((self.clause_index, about, role) for role in roles.split("+") if role))
            for word, _, roles in pairs
        )

    def function(self, text: str, about: Fact | str, *roles: str) -> Words:
        """Grammatical words of a noun phrase or predicate."""
        return tuple(Word(word, tuple((self.clause_index, about, role) for role in roles)) for word in text.split())

    def copula(self, text: str, *roles: str) -> Words:
        """The finite verb of the current predicate, if it is a grammatical word."""
        return self.function(text, f"predicate {self.predicate_index}", *(roles or ("copula",)))

    def fact(self, text: str, fact: Fact) -> Words:
        """Words that express a fact."""
        return self._words(text, ((self.clause_index, fact, "value"),), fact, True)

    def role(self, text: str, fact: Fact, *roles: str) -> Words:
        """Function words of a fact in some roles; default: of its value."""
        return self._words(text, tuple((self.clause_index, fact, role) for role in roles or ("value",)), fact, False)

    def value(self, fact: Fact) -> Words:
        """A fact in the words of one of its lexicon entries."""
        return self.fact(self.choose(fact.concept), fact)

    def noun(self, text: str, noun: NounPhrase) -> Words:
        """The noun of a noun phrase."""
        return self._words(text, ((self.clause_index, noun.slot, "kind"),), noun.kind, True)

    def _words(self, text: str, anchors: tuple[Anchor, ...], fact: Fact, is_content: bool) -> Words:
        words = text.replace("_", " ").split()
        return tuple(
            Word(word, anchors, fact, is_content and (len(words) == 1 or word not in self.function_words))
            for word in words
        )

    def verb(self, words: Words) -> Words:
        """Finite verbs, which also translate the "is" of an English participle."""
        copula = (self.clause_index, f"predicate {self.predicate_index}", "copula")
        return tuple(word.with_anchor(copula) for word in words)

    def object(self, predicate: Predicate, case: str = "object") -> Words:
        """The second argument of a relation."""
        if predicate.object is None:
            raise ValueError("a relation needs two arguments")
        return self.noun_phrase(predicate.object, case)

    def negation(self, text: str, fact: Fact) -> Words:
        """Negation words; empty if the fact holds."""
        if fact.holds:
            return ()
        return tuple(Word(word, ((self.clause_index, fact, "not"),), fact, True) for word in text.split())

    def where(self, place: Fact | None) -> Words:
        """A place as an adverbial; empty without a place."""
        if place is None:
            return ()
        entry = self.choose(place.concept)
        return self.fact(entry, place) if place.concept in ADVERBIAL_PLACES else self.location(place, entry)

    def in_place(self, fact: Fact, preposition: str, article: str, noun: str) -> Words:
        """A prepositional phrase for a place."""
        before = self.role(preposition, fact, "preposition")
        return before + self.role(article, fact, "article") + self.fact(noun, fact)
