"""French: two genders, adjectives on either side of the noun, denial around the verb, elision and contraction."""

from __future__ import annotations

from verax.data.world.facts import Fact
from verax.data.world.languages.lexicon_fr import (
    ACTIVITIES,
    COMPARISONS,
    DEEDS,
    KINDS,
    PARTICIPLES,
    PLACES,
    POSITIONS,
    QUALITIES,
)
from verax.data.world.languages.plan import Clause, Noun, Saying
from verax.data.world.languages.wording import OPEN_PLACES, SubjectFirst, Word, Words, contracted, merged

_THE, _A = {"m": "le", "f": "la"}, {"m": "un", "f": "une"}
_VOWELS = frozenset("aeiouàâéèêîôœ")
_ELIDED = frozenset(("le", "la", "de", "ne", "que", "se"))
_CONTRACTIONS = {("de", "le"): "du", ("à", "le"): "au"}
_OPENINGS = {
    "": "",
    "see": "nous:we voyons:see que:that",
    "true": "il:it est:is vrai:true que:that",
    "scene": "dans:in cette:this scène:scene ,:",
    "now": "en:now ce:now moment:now ,:",
}
_JOINTS = {
    "and": ",:comma et:and",
    "while": ",:comma tandis:while que:while",
    "stop": ".:stop",
    "but": ",:comma mais:but",
}


class French(SubjectFirst):
    """ "Le petit chien brun ne dort pas à côté du lit."."""

    lang = "fr"
    silent = frozenset(("de", "à", "en", "la", "que"))
    openings = _OPENINGS
    joints = _JOINTS
    together = "et:and"

    def noun(self, noun: Noun, case: str = "subject") -> Words:
        """Article, adjectives that precede, the noun, and the others from the innermost on."""
        gender, said = self.called(noun, KINDS).split()
        before: Words = ()
        behind: Words = ()
        for fact in noun.qualities:
            way = self.pick(QUALITIES[fact.concept])
            if way.startswith("<"):
                before += self._adjective(way, gender, fact)
            else:
                behind = self._adjective(way, gender, fact) + behind
        article = self.of((_THE if noun.definite else _A)[gender], noun.slot, "article")
        return article + before + self.kind(said, noun) + behind

    def quality(self, subject: Noun, saying: Saying, number: int) -> Words:
        """With "est"."""
        way = self.pick(QUALITIES[saying.fact.concept])
        return self._is(saying, number) + self._adjective(way, self._gender(subject), saying.fact)

    def activity(self, subject: Noun, saying: Saying, number: int) -> Words:
        """A verb, its "se" before it and its complements behind it."""
        words = self.pick(ACTIVITIES[saying.fact.concept]).split()
        clitic = words.pop(0) if words[0] == "se" else ""
        said = self._verb(words[0], saying, number, clitic) + self.fact(" ".join(words[1:]), saying.fact)
        return said + (() if saying.place is None else self._where(saying.place))

    def place(self, subject: Noun, saying: Saying, number: int) -> Words:
        """With "est"."""
        return self._is(saying, number) + self._where(saying.fact)

    def deed(self, subject: Noun, saying: Saying, number: int) -> Words:
        """A verb and its object."""
        return self._verb(self.pick(DEEDS[saying.fact.concept]), saying, number) + self.object(saying)

    def passive(self, subject: Noun, saying: Saying, number: int) -> Words:
        """With a participle that agrees with the subject."""
        ending = "e" if self._gender(subject) == "f" else ""
        done = self.fact(PARTICIPLES[saying.fact.concept] + ending, saying.fact)
        by = self.fact("par", saying.fact, "by", carries=False)
        return self.copula("est", number) + done + by + self.object(saying)

    def position(self, subject: Noun, saying: Saying, number: int) -> Words:
        """With "est"."""
        words = self.fact(self.pick(POSITIONS[saying.fact.concept]), saying.fact)
        return self._is(saying, number) + words + self.object(saying)

    def comparison(self, subject: Noun, saying: Saying, number: int) -> Words:
        """With "plus" and an adjective that agrees with the subject."""
        way = self.pick(COMPARISONS[saying.fact.concept])
        more = self.fact("plus", saying.fact) + self._adjective(way, self._gender(subject), saying.fact)
        than = self.fact("que", saying.fact, "than", carries=False)
        return self._is(saying, number) + more + than + self.object(saying)

    def there(self, clause: Clause) -> Words:
        """With "il y a"."""
        words = self.copula("il y", 0, "there") + self.copula("a", 0) + self.noun(clause.subject)
        return words + self._where(clause.sayings[0].fact)

    def smoothed(self, words: Words) -> Words:
        """ "le oiseau" becomes "l'oiseau", "ne est" "n'est"; then "de le" becomes "du"."""
        found: list[Word] = []
        for word in reversed(words):
            vowel = found and found[-1].text[0] in _VOWELS
            if vowel and word.text in _ELIDED:
                found[-1] = merged(word, found[-1], f"{word.text[:-1]}'{found[-1].text}")
            else:
                found.append(word)
        return contracted(tuple(reversed(found)), _CONTRACTIONS)

    def _gender(self, noun: Noun) -> str:
        return self.called(noun, KINDS).split()[0]

    def _adjective(self, way: str, gender: str, fact: Fact) -> Words:
        forms = way.removeprefix("<").split()
        return self.fact(forms[min(gender == "f", len(forms) - 1)], fact)

    def _is(self, saying: Saying, number: int) -> Words:
        return self._around(self.copula("est", number), saying)

    def _verb(self, text: str, saying: Saying, number: int, clitic: str = "") -> Words:
        return self._around(self.fact(clitic, saying.fact) + self.verb(text, saying.fact, number), saying)

    def _around(self, verb: Words, saying: Saying) -> Words:
        return self.denial("ne", saying.fact) + verb + self.denial("pas", saying.fact)

    def _where(self, fact: Fact) -> Words:
        said = self.pick(PLACES[fact.concept])
        if fact.concept in OPEN_PLACES:
            return self.fact(said, fact)
        preposition, gender, noun = said.split()
        before = self.fact(preposition, fact, "preposition", carries=False)
        return before + self.fact(_THE[gender], fact, "article", carries=False) + self.fact(noun, fact)
