"""Bulgarian: three genders, and a definite article that is a suffix of the first adjective or the noun."""

from __future__ import annotations

from verax.data.world.facts import Fact
from verax.data.world.languages.grammar import Grammar, Words
from verax.data.world.languages.plan import NounPhrase, Predicate

_GENDERS = "mfn"
_A = ("един", "една", "едно")
_ENDINGS = ("", "а", "о", "и")
_ARTICLES = {"m": ("ът", "а"), "ms": ("ят", "я"), "ma": ("та", "та"), "f": ("та", "та"), "n": ("то", "то")}
"""Suffix of a subject, and of any other noun."""


class Bulgarian(Grammar):
    """ "Малкото куче не спи в кухнята."."""

    lang = "bg"
    function_words = frozenset(("до", "от", "на", "се", "си"))

    def noun_phrase(self, noun: NounPhrase, case: str = "subject") -> Words:
        """Adjectives and noun; the first of them is definite, or all follow "един"."""
        code, indefinite, *definite = self.noun_entry(noun).split()
        gender = _GENDERS.index(code[0])
        oblique = case != "subject"
        words = () if noun.definite else self.function(_A[gender], noun.slot, "article")
        for index, fact in enumerate(noun.qualities):
            forms = _forms(self.choose(fact.concept))
            form = _definite_form(forms, gender, oblique) if noun.definite and not index else forms[gender]
            adjective = self.fact(form, fact)
            words += self._definite(adjective, noun.slot) if form != forms[gender] else adjective
        if noun.qualities or not noun.definite:
            return words + self.noun(indefinite, noun)
        form = definite[min(oblique, len(definite) - 1)] if definite else indefinite + _ARTICLES[code][oblique]
        return self._definite(self.noun(form, noun), noun.slot)

    def be(self, predicate: Predicate, complement: Words) -> Words:
        """ "не е", complement."""
        return self.negation("не", predicate.fact) + self.copula("е") + complement

    def adjective(self, fact: Fact, subject: NounPhrase, prefix: str = "") -> Words:
        """In the gender of the subject."""
        return self.fact(prefix + _forms(self.choose(fact.concept))[self._gender(subject)], fact)

    def location(self, fact: Fact, entry: str) -> Words:
        """Preposition and definite noun."""
        preposition, noun = entry.split()
        return self.role(preposition, fact, "preposition") + self._definite(self.fact(noun, fact), fact)

    def existential(self, subject: NounPhrase, place: Fact) -> Words:
        """With "има"."""
        return self.copula("има", "there", "copula") + self.noun_phrase(subject, "object") + self.where(place)

    def activity(self, subject: NounPhrase, predicate: Predicate) -> Words:
        """A verb with its complements, and the place."""
        return self._verb(predicate) + self.where(predicate.place)

    def action(self, subject: NounPhrase, predicate: Predicate) -> Words:
        """A verb and its object."""
        return self._verb(predicate) + self.object(predicate)

    def passive(self, subject: NounPhrase, predicate: Predicate) -> Words:
        """A participle that agrees with the subject."""
        fact = predicate.fact
        participle = self.fact(self.lexicon.participles[fact.concept] + _ENDINGS[self._gender(subject)], fact)
        return self.be(predicate, participle + self.role("от", fact, "by") + self.object(predicate))

    def comparison(self, subject: NounPhrase, predicate: Predicate) -> Words:
        """With "по-" and an adjective that agrees with the subject."""
        than = self.role("от", predicate.fact, "than")
        return self.be(predicate, self.adjective(predicate.fact, subject, "по-") + than + self.object(predicate))

    def _gender(self, noun: NounPhrase) -> int:
        return _GENDERS.index(self.noun_entry(noun)[0])

    def _verb(self, predicate: Predicate) -> Words:
        verb = self.verb(self.value(predicate.fact))
        return self.negation("не", predicate.fact) + verb

    def _definite(self, words: Words, about: Fact | str) -> Words:
        """Words of which the first includes the definite article."""
        return (words[0].with_anchor((self.clause_index, about, "article")), *words[1:])


def _forms(entry: str) -> tuple[str, ...]:
    """Masculine, feminine, neuter and plural of an adjective."""
    forms = entry.split()
    return tuple(forms) if len(forms) == len(_ENDINGS) else (forms[0], *(forms[-1] + end for end in _ENDINGS[1:]))


def _definite_form(forms: tuple[str, ...], gender: int, oblique: bool) -> str:
    if gender:
        return forms[gender] + ("та", "то")[gender - 1]
    return forms[-1] + ("я" if oblique else "ят")
