"""German: three genders and cases, and a finite verb in second, first or last position."""

from __future__ import annotations

from random import Random

from verax.data.world.facts import Fact
from verax.data.world.languages.grammar import Grammar, Word, Words, contract, merge_words
from verax.data.world.languages.plan import ClausePlan, NounPhrase, Predicate

_GENDERS = "mfn"
_THE = {"subject": ("der", "die", "das"), "accusative": ("den", "die", "das"), "dative": ("dem", "der", "dem")}
_A = {"subject": ("ein", "eine", "ein"), "accusative": ("einen", "eine", "ein"), "dative": ("einem", "einer", "einem")}
_WEAK = {"subject": ("e", "e", "e"), "accusative": ("en", "e", "e"), "dative": ("en", "en", "en")}
_MIXED = {"subject": ("er", "e", "es"), "accusative": ("en", "e", "es"), "dative": ("en", "en", "en")}
_CONTRACTIONS = {("in", "dem"): "im", ("an", "dem"): "am", ("von", "dem"): "vom", ("bei", "dem"): "beim"}
_VERB_LAST = frozenset(("while", "see", "true"))
_VERB_FIRST = frozenset(("scene", "now"))


class German(Grammar):
    """ "Der kleine Hund schläft nicht in der Küche."."""

    lang = "de"
    function_words = frozenset(("in", "der", "von", "bei", "sich", "als"))

    def __init__(self, rng: Random) -> None:
        super().__init__(rng)
        self._verb_last = False
        self._inverted: Words = ()

    def clause(self, clause: ClausePlan, after: str) -> Words:
        """The verb is last after "dass" and "während", and precedes the subject after an adverbial."""
        self._verb_last = after in _VERB_LAST
        if clause.existential:
            return super().clause(clause, after)
        subject = self.noun_phrase(clause.subject)
        if after in _VERB_FIRST:
            self._inverted, subject = subject, ()
        return subject + self.predicates(clause)

    def noun_phrase(self, noun: NounPhrase, case: str = "subject") -> Words:
        """Article, adjectives and noun in a case; adjectives are weak after "der" and mixed after "ein"."""
        code, _, forms = self.noun_entry(noun).partition(" ")
        gender = _GENDERS.index(code)
        words = self.function((_THE if noun.definite else _A)[case][gender], noun.slot, "article")
        ending = (_WEAK if noun.definite else _MIXED)[case][gender]
        for fact in noun.qualities:
            plain, _, stem = self.choose(fact.concept).partition("~")
            words += self.fact((stem or plain) + ending, fact)
        nominative, _, oblique = forms.partition("~")
        return words + self.noun(oblique if oblique and case != "subject" else nominative, noun)

    def be(self, predicate: Predicate, complement: Words) -> Words:
        """ "ist nicht", complement."""
        return self._arrange(self.copula("ist"), self.negation("nicht", predicate.fact) + complement)

    def adjective(self, fact: Fact, subject: NounPhrase) -> Words:
        """The uninflected form."""
        return self.fact(self.choose(fact.concept).partition("~")[0], fact)

    def location(self, fact: Fact, entry: str) -> Words:
        """A preposition with the dative."""
        preposition, gender, noun = entry.split()
        return self.in_place(fact, preposition, _THE["dative"][_GENDERS.index(gender)], noun)

    def existential(self, subject: NounPhrase, place: Fact) -> Words:
        """The place comes first."""
        words, verb = self.noun_phrase(subject), self.copula("ist")
        return self.where(place) + (words + verb if self._verb_last else verb + words)

    def activity(self, subject: NounPhrase, predicate: Predicate) -> Words:
        """A verb with its complement and particle."""
        fact = predicate.fact
        verb, complement, particle, no = (*self.choose(fact.concept).split("|"), "", "", "")[:4]
        where, complements = self.where(predicate.place), self.fact(complement, fact)
        negation = self.negation(no or "nicht", fact)
        rest = complements + negation + where if complement == "sich" else where + negation + complements
        return self._arrange(self.verb(self.fact(verb, fact)), rest, self.fact(particle, fact))

    def action(self, subject: NounPhrase, predicate: Predicate) -> Words:
        """A verb with its object in a case, and its particle."""
        case, _, forms = self.choose(predicate.fact.concept).partition(" ")
        verb, _, particle = forms.partition("|")
        rest = self.object(predicate, case) + self.negation("nicht", predicate.fact)
        return self._arrange(self.verb(self.fact(verb, predicate.fact)), rest, self.fact(particle, predicate.fact))

    def passive(self, subject: NounPhrase, predicate: Predicate) -> Words:
        """With "wird" and a participle at the end."""
        fact = predicate.fact
        agent = self.role("von", fact, "by") + self.object(predicate, "dative")
        (verb,) = self.copula("wird")
        participle = self.fact(self.lexicon.participles[fact.concept], fact)
        return self._arrange((verb.with_anchor((self.clause_index, fact, "passive")),), agent + participle)

    def position(self, subject: NounPhrase, predicate: Predicate) -> Words:
        """A preposition with the dative, and a postposition."""
        fact = predicate.fact
        before, _, after = self.choose(fact.concept).partition("|")
        return self.be(predicate, self.fact(before, fact) + self.object(predicate, "dative") + self.fact(after, fact))

    def comparison(self, subject: NounPhrase, predicate: Predicate) -> Words:
        """A comparative and "als"."""
        than = self.role("als", predicate.fact, "than")
        return self.be(predicate, self.value(predicate.fact) + than + self.object(predicate, "subject"))

    def _arrange(self, verb: Words, rest: Words, particle: Words = ()) -> Words:
        """A finite verb, what follows it, and a separable particle in the word order of the clause."""
        if not self._verb_last:
            inverted, self._inverted = self._inverted, ()
            return verb + inverted + rest + particle
        if particle:
            verb = (merge_words(particle[0], verb[0], particle[0].text + verb[0].text),)
        return rest + verb

    def join(self, *words: Word) -> Words:
        """ "in dem" becomes "im"."""
        return contract(words, _CONTRACTIONS)
