"""Chinese: written without spaces, with measure words, places before the verb, and no agreement."""

from __future__ import annotations

from verax.data.world.facts import Fact
from verax.data.world.languages.grammar import Grammar, Words
from verax.data.world.languages.plan import NounPhrase, Predicate

_NOT_GRADABLE = "="


class Chinese(Grammar):
    """ "那只小的狗没在睡觉。"."""

    lang = "zh"
    separator = ""
    stop = "。"

    def noun_phrase(self, noun: NounPhrase, case: str = "subject") -> Words:
        """ "that" or "one" with a measure word, each adjective with 的, and the noun."""
        measure, entry = self.noun_entry(noun).split()
        words = self.function(f"{'那' if noun.definite else '一'} {measure}", noun.slot, "article")
        for fact in noun.qualities:
            words += self.adjective(fact, noun) + self._de(fact)
        return words + self.noun(entry, noun)

    def be(self, predicate: Predicate, complement: Words) -> Words:
        """ "不在", complement."""
        return self.negation("不", predicate.fact) + self.copula("在") + complement

    def adjective(self, fact: Fact, subject: NounPhrase) -> Words:
        """Without agreement."""
        return self.fact(self.choose(fact.concept).removeprefix(_NOT_GRADABLE), fact)

    def location(self, fact: Fact, entry: str) -> Words:
        """A noun and a word of position; the preposition is added by the predicate."""
        place, position = entry.split()
        return self.fact(place, fact) + self.role(position, fact, "preposition")

    def existential(self, subject: NounPhrase, place: Fact) -> Words:
        """The place comes first."""
        return self.where(place) + self.copula("有", "there", "copula") + self.noun_phrase(subject)

    def quality(self, subject: NounPhrase, predicate: Predicate) -> Words:
        """A gradable adjective with 很, otherwise 是 ... 的."""
        fact = predicate.fact
        entry = self.choose(fact.concept)
        negation = self.negation("不", fact)
        if entry.startswith(_NOT_GRADABLE):
            return negation + self.copula("是") + self.fact(entry.removeprefix(_NOT_GRADABLE), fact) + self._de(fact)
        return (negation or self.copula("很")) + self.fact(entry, fact)

    def activity(self, subject: NounPhrase, predicate: Predicate) -> Words:
        """The place, if any, comes before the verb."""
        words = self.value(predicate.fact)
        if predicate.place is None:
            return self._progressive(predicate) + words
        return self._at("正在", predicate.place) + self.where(predicate.place) + words

    def place(self, subject: NounPhrase, predicate: Predicate) -> Words:
        """With 在."""
        fact = predicate.fact
        return self.negation("不", fact) + self._at("在", fact) + self.where(fact)

    def action(self, subject: NounPhrase, predicate: Predicate) -> Words:
        """A verb and its object."""
        return self._progressive(predicate) + self.value(predicate.fact) + self.object(predicate)

    def passive(self, subject: NounPhrase, predicate: Predicate) -> Words:
        """With 被 and the agent before the verb."""
        by = self.role("被", predicate.fact, "by", "passive")
        return self._progressive(predicate) + by + self.object(predicate) + self.value(predicate.fact)

    def position(self, subject: NounPhrase, predicate: Predicate) -> Words:
        """The word of position follows the noun; "far" is expressed as "distant from"."""
        fact = predicate.fact
        if fact.concept == "far":
            far = (self.negation("不", fact) or self.copula("很")) + self.fact("远", fact)
            return self.role("离", fact) + self.object(predicate) + far
        position = self.value(fact)
        return self.be(predicate, self.object(predicate) + position)

    def comparison(self, subject: NounPhrase, predicate: Predicate) -> Words:
        """With 比, and the adjective at the end."""
        fact = predicate.fact
        than = self.negation("不", fact) + self.role("比", fact, "than")
        return than + self.object(predicate) + self.value(fact)

    def _de(self, fact: Fact) -> Words:
        return self.role("的", fact, "的")

    def _progressive(self, predicate: Predicate) -> Words:
        negation = self.negation("没", predicate.fact)
        return negation + self.copula("在" if negation else "正在")

    def _at(self, text: str, fact: Fact) -> Words:
        """在, which is both verb and preposition."""
        return self.verb(self.role(text, fact, "preposition"))
