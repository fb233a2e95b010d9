"""English for plans, with the words of the English lexicon."""

from __future__ import annotations

from verax.data.world.facts import Fact
from verax.data.world.languages.plan import Clause, Noun, Saying
from verax.data.world.languages.wording import OPEN_PLACES, SubjectFirst, Words
from verax.data.world.lexicon_en import SILENT, passive_of, words_of

_OPENINGS = {
    "": "",
    "see": "we:we can:see see:see that:that",
    "true": "it:it is:is true:true that:that",
    "scene": "in:in this:this scene:scene",
    "now": "right:now now:now",
}
_JOINTS = {"and": ",:comma and:and", "while": ",:comma while:while", "stop": ".:stop", "but": ",:comma but:but"}


class English(SubjectFirst):
    """An article before its noun, adjectives between them, and "is" in every predicate."""

    lang = "en"
    silent = SILENT
    openings = _OPENINGS
    joints = _JOINTS
    together = "and:and"

    def noun(self, noun: Noun, case: str = "subject") -> Words:
        """Article, adjectives, noun."""
        words = self.of("the" if noun.definite else "a", noun.slot, "article")
        for fact in noun.qualities:
            words += self._said(fact)
        return words + self.kind(self.pick(words_of(noun.kind.concept)), noun)

    def quality(self, subject: Noun, saying: Saying, number: int) -> Words:
        """With "is"."""
        return self._is(saying, number) + self._said(saying.fact)

    def activity(self, subject: Noun, saying: Saying, number: int) -> Words:
        """With a present participle."""
        where = () if saying.place is None else self._where(saying.place)
        return self._is(saying, number) + self._said(saying.fact) + where

    def place(self, subject: Noun, saying: Saying, number: int) -> Words:
        """With "is"."""
        return self._is(saying, number) + self._where(saying.fact)

    def deed(self, subject: Noun, saying: Saying, number: int) -> Words:
        """With a present participle and an object."""
        return self._is(saying, number) + self._said(saying.fact) + self.object(saying)

    def passive(self, subject: Noun, saying: Saying, number: int) -> Words:
        """With "being" and a past participle."""
        being, done, by = (passive_of(saying.fact.concept) or "").split()
        fact = saying.fact
        words = self.fact(being, fact, "passive", carries=False) + self.fact(done, fact)
        return self._is(saying, number) + words + self.fact(by, fact, "by", carries=False) + self.object(saying)

    def position(self, subject: Noun, saying: Saying, number: int) -> Words:
        """With "is" and a preposition."""
        return self.deed(subject, saying, number)

    def comparison(self, subject: Noun, saying: Saying, number: int) -> Words:
        """With a comparative and "than"."""
        more, than = words_of(saying.fact.concept)[0].split()
        words = self.fact(more, saying.fact) + self.fact(than, saying.fact, "than", carries=False)
        return self._is(saying, number) + words + self.object(saying)

    def there(self, clause: Clause) -> Words:
        """With "there is"."""
        words = self.copula("there", 0, "there") + self.copula("is", 0) + self.noun(clause.subject)
        return words + self._where(clause.sayings[0].fact)

    def smoothed(self, words: Words) -> Words:
        """ "a" becomes "an" before a vowel."""
        following = (*words[1:], words[-1])
        return tuple(
            word._replace(text="an") if word.text == "a" and after.text[0] in "aeiou" else word
            for word, after in zip(words, following, strict=True)
        )

    def _is(self, saying: Saying, number: int) -> Words:
        return self.copula("is", number) + self.denial("not", saying.fact)

    def _said(self, fact: Fact) -> Words:
        return self.fact(self.pick(words_of(fact.concept)), fact)

    def _where(self, fact: Fact) -> Words:
        words = self.pick(words_of(fact.concept))
        if fact.concept in OPEN_PLACES:
            return self.fact(words, fact)
        preposition, article, noun = words.split()
        before = self.fact(preposition, fact, "preposition", carries=False)
        return before + self.fact(article, fact, "article", carries=False) + self.fact(noun, fact)
