"""Spanish: two genders, adjectives after the noun, two verbs for "is", and contractions."""

from __future__ import annotations

from verax.data.world.facts import Fact
from verax.data.world.knowledge import LIVING, group_of
from verax.data.world.languages.grammar import Grammar, Word, Words, contract
from verax.data.world.languages.plan import NounPhrase, Predicate

_THE, _A = {"m": "el", "fa": "el", "f": "la"}, {"m": "un", "fa": "un", "f": "una"}
_CONTRACTIONS = {("de", "el"): "del", ("a", "el"): "al"}
_STATE = "*"


class Spanish(Grammar):
    """ "El perro pequeño no está durmiendo al lado de la cama."."""

    lang = "es"
    function_words = frozenset(("de", "a", "al", "en", "la", "un"))

    def noun_phrase(self, noun: NounPhrase, case: str = "subject") -> Words:
        """Article, noun, and the adjectives from the innermost on."""
        gender, entry = self.noun_entry(noun).split()
        adjectives: Words = ()
        for fact in noun.qualities:
            adjectives = self._inflected(self.choose(fact.concept), gender, fact) + adjectives
        article = self.function((_THE if noun.definite else _A)[gender], noun.slot, "article")
        return article + self.noun(entry, noun) + adjectives

    def be(self, predicate: Predicate, complement: Words, verb: str = "está") -> Words:
        """ "no está", complement."""
        return self.negation("no", predicate.fact) + self.copula(verb) + complement

    def adjective(self, fact: Fact, subject: NounPhrase) -> Words:
        """In the gender of the subject."""
        return self._inflected(self.choose(fact.concept), self._gender(subject), fact)

    def location(self, fact: Fact, entry: str) -> Words:
        """With "en"."""
        gender, noun = entry.split()
        return self.in_place(fact, "en", _THE[gender], noun)

    def existential(self, subject: NounPhrase, place: Fact) -> Words:
        """With "hay"."""
        return self.copula("hay", "there", "copula") + self.noun_phrase(subject) + self.where(place)

    def quality(self, subject: NounPhrase, predicate: Predicate) -> Words:
        """A state with "está", otherwise "es"."""
        entry = self.choose(predicate.fact.concept)
        adjective = self._inflected(entry, self._gender(subject), predicate.fact)
        return self.be(predicate, adjective, "está" if entry.startswith(_STATE) else "es")

    def activity(self, subject: NounPhrase, predicate: Predicate) -> Words:
        """A gerund."""
        return self.be(predicate, self.value(predicate.fact) + self.where(predicate.place))

    def action(self, subject: NounPhrase, predicate: Predicate) -> Words:
        """A gerund; a living object follows "a"."""
        gerund = self.value(predicate.fact)
        living = predicate.object is not None and group_of(predicate.object.kind.concept) in LIVING
        return self.be(
            predicate, gerund + self.function("a" if living else "", predicate.fact, "object") + self.object(predicate)
        )

    def passive(self, subject: NounPhrase, predicate: Predicate) -> Words:
        """A participle that agrees with the subject."""
        fact = predicate.fact
        participle = self.lexicon.participles[fact.concept]
        participle = f"{participle[:-1]}a" if self._gender(subject) == "f" else participle
        words = self.role("siendo", fact, "passive") + self.fact(participle, fact)
        return self.be(predicate, words + self.role("por", fact, "by") + self.object(predicate))

    def comparison(self, subject: NounPhrase, predicate: Predicate) -> Words:
        """With "más" and an adjective that agrees with the subject."""
        fact = predicate.fact
        words = self.fact("más", fact) + self.adjective(fact, subject)
        return self.be(predicate, words + self.role("que", fact, "than") + self.object(predicate), "es")

    def join(self, *words: Word) -> Words:
        """ "de el" becomes "del"."""
        return contract(words, _CONTRACTIONS)

    def _gender(self, noun: NounPhrase) -> str:
        return self.noun_entry(noun)[0]

    def _inflected(self, entry: str, gender: str, fact: Fact) -> Words:
        forms = entry.removeprefix(_STATE).split()
        return self.fact(forms[min(gender[0] == "f", len(forms) - 1)], fact)
