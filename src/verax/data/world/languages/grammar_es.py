"""Spanish: two genders, adjectives behind the noun, two verbs for "is", and contraction."""

from __future__ import annotations

from verax.data.world.facts import Fact
from verax.data.world.knowledge import LIVING, group_of
from verax.data.world.languages.lexicon_es import (
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
from verax.data.world.languages.wording import OPEN_PLACES, SubjectFirst, Words, contracted

_THE, _A = {"m": "el", "fa": "el", "f": "la"}, {"m": "un", "fa": "un", "f": "una"}
_CONTRACTIONS = {("de", "el"): "del", ("a", "el"): "al"}
_STATE = "*"
_OPENINGS = {
    "": "",
    "see": "podemos:we+see ver:see que:that",
    "true": "es:it+is cierto:true que:that",
    "scene": "en:in esta:this escena:scene",
    "now": "ahora:now mismo:now",
}
_JOINTS = {
    "and": ",:comma y:and",
    "while": ",:comma mientras:while que:while",
    "stop": ".:stop",
    "but": ",:comma pero:but",
}


class Spanish(SubjectFirst):
    """ "El perro pequeño no está durmiendo al lado de la cama."."""

    lang = "es"
    silent = frozenset(("de", "a", "al", "en", "la", "un"))
    openings = _OPENINGS
    joints = _JOINTS
    together = "y:and"

    def noun(self, noun: Noun, case: str = "subject") -> Words:
        """Article, noun, and the adjectives from the innermost on."""
        gender, said = self.called(noun, KINDS).split()
        behind: Words = ()
        for fact in noun.qualities:
            behind = self._adjective(self.pick(QUALITIES[fact.concept]), gender, fact) + behind
        article = self.of((_THE if noun.definite else _A)[gender], noun.slot, "article")
        return article + self.kind(said, noun) + behind

    def quality(self, subject: Noun, saying: Saying, number: int) -> Words:
        """What lasts with "es", a state with "está"."""
        way = self.pick(QUALITIES[saying.fact.concept])
        verb = "está" if way.startswith(_STATE) else "es"
        return self._is(verb, saying, number) + self._adjective(way, self._gender(subject), saying.fact)

    def activity(self, subject: Noun, saying: Saying, number: int) -> Words:
        """With a gerund."""
        words = self.fact(self.pick(ACTIVITIES[saying.fact.concept]), saying.fact)
        return self._is("está", saying, number) + words + (() if saying.place is None else self._where(saying.place))

    def place(self, subject: Noun, saying: Saying, number: int) -> Words:
        """With "está"."""
        return self._is("está", saying, number) + self._where(saying.fact)

    def deed(self, subject: Noun, saying: Saying, number: int) -> Words:
        """With a gerund; an object that lives has "a" before it."""
        words = self.fact(self.pick(DEEDS[saying.fact.concept]), saying.fact)
        living = saying.other is not None and group_of(saying.other.kind.concept) in LIVING
        mark = self.of("a" if living else "", saying.fact, "object")
        return self._is("está", saying, number) + words + mark + self.object(saying)

    def passive(self, subject: Noun, saying: Saying, number: int) -> Words:
        """With a participle that agrees with the subject."""
        fact = saying.fact
        done = PARTICIPLES[fact.concept]
        done = f"{done[:-1]}a" if self._gender(subject) == "f" else done
        words = self.fact("siendo", fact, "passive", carries=False) + self.fact(done, fact)
        by = self.fact("por", fact, "by", carries=False)
        return self._is("está", saying, number) + words + by + self.object(saying)

    def position(self, subject: Noun, saying: Saying, number: int) -> Words:
        """With "está"."""
        words = self.fact(self.pick(POSITIONS[saying.fact.concept]), saying.fact)
        return self._is("está", saying, number) + words + self.object(saying)

    def comparison(self, subject: Noun, saying: Saying, number: int) -> Words:
        """With "más" and an adjective that agrees with the subject."""
        way = self.pick(COMPARISONS[saying.fact.concept])
        more = self.fact("más", saying.fact) + self._adjective(way, self._gender(subject), saying.fact)
        than = self.fact("que", saying.fact, "than", carries=False)
        return self._is("es", saying, number) + more + than + self.object(saying)

    def there(self, clause: Clause) -> Words:
        """With "hay"."""
        words = self.copula("hay", 0, "there", "copula") + self.noun(clause.subject)
        return words + self._where(clause.sayings[0].fact)

    def smoothed(self, words: Words) -> Words:
        """ "de el" becomes "del"."""
        return contracted(words, _CONTRACTIONS)

    def _gender(self, noun: Noun) -> str:
        return self.called(noun, KINDS)[0]

    def _adjective(self, way: str, gender: str, fact: Fact) -> Words:
        forms = way.removeprefix(_STATE).split()
        return self.fact(forms[min(gender[0] == "f", len(forms) - 1)], fact)

    def _is(self, verb: str, saying: Saying, number: int) -> Words:
        return self.denial("no", saying.fact) + self.copula(verb, number)

    def _where(self, fact: Fact) -> Words:
        said = self.pick(PLACES[fact.concept])
        if fact.concept in OPEN_PLACES:
            return self.fact(said, fact)
        gender, noun = said.split()
        before = self.fact("en", fact, "preposition", carries=False)
        return before + self.fact(_THE[gender], fact, "article", carries=False) + self.fact(noun, fact)
