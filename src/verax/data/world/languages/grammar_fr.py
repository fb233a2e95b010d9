"""French: two genders, adjectives on either side of the noun, negation around the verb, elision and contractions."""

from __future__ import annotations

from verax.data.world.facts import Fact
from verax.data.world.languages.grammar import Grammar, Word, Words, contract, merge_words
from verax.data.world.languages.plan import NounPhrase, Predicate

_THE, _A = {"m": "le", "f": "la"}, {"m": "un", "f": "une"}
_VOWELS = frozenset("aeiouàâéèêîôœ")
_ELIDED = frozenset(("le", "la", "de", "ne", "que", "se"))
_CONTRACTIONS = {("de", "le"): "du", ("à", "le"): "au"}
_PRECEDES = "<"


class French(Grammar):
    """ "Le petit chien brun ne dort pas à côté du lit."."""

    lang = "fr"
    function_words = frozenset(("de", "à", "en", "la", "que"))

    def noun_phrase(self, noun: NounPhrase, case: str = "subject") -> Words:
        """Article, preceding adjectives, noun, and the other adjectives from the innermost on."""
        gender, entry = self.noun_entry(noun).split()
        before: Words = ()
        after: Words = ()
        for fact in noun.qualities:
            adjective = self.choose(fact.concept)
            if adjective.startswith(_PRECEDES):
                before += self._inflected(adjective, gender, fact)
            else:
                after = self._inflected(adjective, gender, fact) + after
        article = self.function((_THE if noun.definite else _A)[gender], noun.slot, "article")
        return article + before + self.noun(entry, noun) + after

    def be(self, predicate: Predicate, complement: Words) -> Words:
        """ "n'est pas", complement."""
        return self._negated(self.copula("est"), predicate) + complement

    def adjective(self, fact: Fact, subject: NounPhrase) -> Words:
        """In the gender of the subject."""
        return self._inflected(self.choose(fact.concept), self._gender(subject), fact)

    def location(self, fact: Fact, entry: str) -> Words:
        """Preposition, article and noun."""
        preposition, gender, noun = entry.split()
        return self.in_place(fact, preposition, _THE[gender], noun)

    def existential(self, subject: NounPhrase, place: Fact) -> Words:
        """With "il y a"."""
        return self.copula("il y", "there") + self.copula("a") + self.noun_phrase(subject) + self.where(place)

    def activity(self, subject: NounPhrase, predicate: Predicate) -> Words:
        """A verb after its "se", with its complements, and the place."""
        words = self.choose(predicate.fact.concept).split()
        clitic = words.pop(0) if words[0] == "se" else ""
        verb = self.fact(clitic, predicate.fact) + self.verb(self.fact(words[0], predicate.fact))
        complements = self.fact(" ".join(words[1:]), predicate.fact)
        return self._negated(verb, predicate) + complements + self.where(predicate.place)

    def action(self, subject: NounPhrase, predicate: Predicate) -> Words:
        """A verb and its object."""
        return self._negated(self.verb(self.value(predicate.fact)), predicate) + self.object(predicate)

    def passive(self, subject: NounPhrase, predicate: Predicate) -> Words:
        """A participle that agrees with the subject."""
        fact = predicate.fact
        ending = "e" if self._gender(subject) == "f" else ""
        participle = self.fact(self.lexicon.participles[fact.concept] + ending, fact)
        return self.be(predicate, participle + self.role("par", fact, "by") + self.object(predicate))

    def comparison(self, subject: NounPhrase, predicate: Predicate) -> Words:
        """With "plus" and an adjective that agrees with the subject."""
        fact = predicate.fact
        words = self.fact("plus", fact) + self.adjective(fact, subject)
        return self.be(predicate, words + self.role("que", fact, "than") + self.object(predicate))

    def join(self, *words: Word) -> Words:
        """ "le oiseau" becomes "l'oiseau", "ne est" "n'est"; then "de le" becomes "du"."""
        elided: list[Word] = []
        for word in reversed(words):
            if word.text in _ELIDED and elided and elided[-1].text[0] in _VOWELS:
                elided[-1] = merge_words(word, elided[-1], f"{word.text[:-1]}'{elided[-1].text}")
            else:
                elided.append(word)
        return contract(tuple(reversed(elided)), _CONTRACTIONS)

    def _gender(self, noun: NounPhrase) -> str:
        return self.noun_entry(noun)[0]

    def _inflected(self, entry: str, gender: str, fact: Fact) -> Words:
        forms = entry.removeprefix(_PRECEDES).split()
        return self.fact(forms[min(gender == "f", len(forms) - 1)], fact)

    def _negated(self, verb: Words, predicate: Predicate) -> Words:
        return self.negation("ne", predicate.fact) + verb + self.negation("pas", predicate.fact)
