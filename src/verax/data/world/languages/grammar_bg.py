"""Bulgarian: three genders, and an article that is the end of the first adjective or of the noun."""

from __future__ import annotations

from verax.data.world.facts import Fact
from verax.data.world.languages.lexicon_bg import (
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
from verax.data.world.languages.wording import OPEN_PLACES, SubjectFirst, Table, Words

_GENDERS = "mfn"
_A = ("един", "една", "едно")
_ENDINGS = ("", "а", "о", "и")
_ARTICLES = {"m": ("ът", "а"), "ms": ("ят", "я"), "ma": ("та", "та"), "f": ("та", "та"), "n": ("то", "то")}
"""Of a subject, and of any other noun."""
_OPENINGS = {
    "": "",
    "see": "виждаме:we+see ,: че:that",
    "true": "вярно:true е:is ,: че:that",
    "scene": "в:in тази:this сцена:scene",
    "now": "точно:now сега:now",
}
_JOINTS = {"and": "и:and", "while": ",:comma докато:while", "stop": ".:stop", "but": ",:comma но:but"}


class Bulgarian(SubjectFirst):
    """ "Малкото куче не спи в кухнята."."""

    lang = "bg"
    silent = frozenset(("до", "от", "на", "се", "си"))
    openings = _OPENINGS
    joints = _JOINTS
    together = "и:and"

    def noun(self, noun: Noun, case: str = "subject") -> Words:
        """Adjectives and noun; the first of them is definite, or all follow "един"."""
        code, indefinite, *definite = self.called(noun, KINDS).split()
        column = _GENDERS.index(code[0])
        oblique = case != "subject"
        words = () if noun.definite else self.of(_A[column], noun.slot, "article")
        for number, fact in enumerate(noun.qualities):
            forms = _forms(self.pick(QUALITIES[fact.concept]))
            said = _definite(forms, column, oblique) if noun.definite and not number else forms[column]
            words += self._with_article(self.fact(said, fact), noun) if said != forms[column] else self.fact(said, fact)
        if noun.qualities or not noun.definite:
            return words + self.kind(indefinite, noun)
        said = definite[min(oblique, len(definite) - 1)] if definite else indefinite + _ARTICLES[code][oblique]
        return self._with_article(self.kind(said, noun), noun)

    def quality(self, subject: Noun, saying: Saying, number: int) -> Words:
        """With "е"."""
        return self._is(saying, number) + self._adjective(QUALITIES, subject, saying.fact)

    def activity(self, subject: Noun, saying: Saying, number: int) -> Words:
        """A verb, with what belongs to it."""
        words = self._verb(self.pick(ACTIVITIES[saying.fact.concept]), saying, number)
        return words + (() if saying.place is None else self._where(saying.place))

    def place(self, subject: Noun, saying: Saying, number: int) -> Words:
        """With "е"."""
        return self._is(saying, number) + self._where(saying.fact)

    def deed(self, subject: Noun, saying: Saying, number: int) -> Words:
        """A verb and its object."""
        return self._verb(self.pick(DEEDS[saying.fact.concept]), saying, number) + self.object(saying)

    def passive(self, subject: Noun, saying: Saying, number: int) -> Words:
        """With a participle that agrees with the subject."""
        done = PARTICIPLES[saying.fact.concept] + _ENDINGS[self._column(subject)]
        by = self.fact("от", saying.fact, "by", carries=False)
        return self._is(saying, number) + self.fact(done, saying.fact) + by + self.object(saying)

    def position(self, subject: Noun, saying: Saying, number: int) -> Words:
        """With "е"."""
        words = self.fact(self.pick(POSITIONS[saying.fact.concept]), saying.fact)
        return self._is(saying, number) + words + self.object(saying)

    def comparison(self, subject: Noun, saying: Saying, number: int) -> Words:
        """With "по-" before an adjective that agrees with the subject."""
        more = self._adjective(COMPARISONS, subject, saying.fact, "по-")
        than = self.fact("от", saying.fact, "than", carries=False)
        return self._is(saying, number) + more + than + self.object(saying)

    def there(self, clause: Clause) -> Words:
        """With "има"."""
        words = self.copula("има", 0, "there", "copula") + self.noun(clause.subject, "object")
        return words + self._where(clause.sayings[0].fact)

    def _column(self, noun: Noun) -> int:
        return _GENDERS.index(self.called(noun, KINDS)[0])

    def _adjective(self, ways: Table, subject: Noun, fact: Fact, before: str = "") -> Words:
        return self.fact(before + _forms(self.pick(ways[fact.concept]))[self._column(subject)], fact)

    def _is(self, saying: Saying, number: int) -> Words:
        return self.denial("не", saying.fact) + self.copula("е", number)

    def _verb(self, text: str, saying: Saying, number: int) -> Words:
        return self.denial("не", saying.fact) + self.verb(text, saying.fact, number)

    def _where(self, fact: Fact) -> Words:
        said = self.pick(PLACES[fact.concept])
        if fact.concept in OPEN_PLACES:
            return self.fact(said, fact)
        preposition, noun = said.split()
        before = self.fact(preposition, fact, "preposition", carries=False)
        words = self.fact(noun, fact)
        return (*before, words[0].saying_also((self.number, fact, "article")), *words[1:])

    def _with_article(self, words: Words, noun: Noun) -> Words:
        """Words of which the first also says the article of a noun."""
        return (words[0].saying_also((self.number, noun.slot, "article")), *words[1:])


def _forms(way: str) -> tuple[str, ...]:
    """Masculine, feminine, neuter and plural of an adjective of the lexicon."""
    forms = way.split()
    return tuple(forms) if len(forms) == len(_ENDINGS) else (forms[0], *(forms[-1] + end for end in _ENDINGS[1:]))


def _definite(forms: tuple[str, ...], column: int, oblique: bool) -> str:
    if column:
        return forms[column] + ("та", "то")[column - 1]
    return forms[-1] + ("я" if oblique else "ят")
