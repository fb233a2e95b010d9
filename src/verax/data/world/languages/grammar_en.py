"""English: an article, adjectives and a noun, and "is" in every predicate."""

from __future__ import annotations

from verax.data.world.facts import Fact
from verax.data.world.languages.grammar import Grammar, Word, Words
from verax.data.world.languages.plan import NounPhrase, Predicate
from verax.data.world.lexicon_en import FUNCTION_WORDS


class English(Grammar):
    """ "The small dog is not sleeping in the kitchen."."""

    lang = "en"
    function_words = FUNCTION_WORDS

    def noun_phrase(self, noun: NounPhrase, case: str = "subject") -> Words:
        """Article, adjectives, noun."""
        words = self.function("the" if noun.definite else "a", noun.slot, "article")
        for fact in noun.qualities:
            words += self.value(fact)
        return words + self.noun(self.noun_entry(noun), noun)

    def be(self, predicate: Predicate, complement: Words) -> Words:
        """ "is not", complement."""
        return self.copula("is") + self.negation("not", predicate.fact) + complement

    def adjective(self, fact: Fact, subject: NounPhrase) -> Words:
        """Without agreement."""
        return self.value(fact)

    def location(self, fact: Fact, entry: str) -> Words:
        """Preposition, article and noun, as in the entry."""
        return self.in_place(fact, *entry.split())

    def existential(self, subject: NounPhrase, place: Fact) -> Words:
        """With "there is"."""
        return self.copula("there", "there") + self.copula("is") + self.noun_phrase(subject) + self.where(place)

    def activity(self, subject: NounPhrase, predicate: Predicate) -> Words:
        """A present participle."""
        where = self.where(predicate.place)  # chosen before the participle: see `clause`
        return self.be(predicate, self.value(predicate.fact) + where)

    def action(self, subject: NounPhrase, predicate: Predicate) -> Words:
        """A present participle and an object."""
        return self.position(subject, predicate)

    def passive(self, subject: NounPhrase, predicate: Predicate) -> Words:
        """With "being" and a past participle."""
        fact = predicate.fact
        words = self.role("being", fact, "passive") + self.fact(self.lexicon.participles[fact.concept], fact)
        return self.be(predicate, words + self.role("by", fact, "by") + self.object(predicate))

    def comparison(self, subject: NounPhrase, predicate: Predicate) -> Words:
        """A comparative and "than"."""
        comparative, than = self.choose(predicate.fact.concept).split()
        words = self.fact(comparative, predicate.fact) + self.role(than, predicate.fact, "than")
        return self.be(predicate, words + self.object(predicate))

    def join(self, *words: Word) -> Words:
        """ "a" becomes "an" before a vowel."""
        following = (*words[1:], words[-1])
        return tuple(
            word._replace(text="an") if word.text == "a" and after.text[0] in "aeiou" else word
            for word, after in zip(words, following, strict=True)
        )
