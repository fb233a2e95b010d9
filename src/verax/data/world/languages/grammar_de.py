"""German: three genders and cases, and a verb that stands second, first or last."""

from __future__ import annotations

from typing import NamedTuple

from verax.data.world.facts import Fact
from verax.data.world.languages.lexicon_de import (
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
from verax.data.world.languages.wording import OPEN_PLACES, Grammar, Words, contracted, merged

_GENDERS = "mfn"
_THE = {"subject": ("der", "die", "das"), "accusative": ("den", "die", "das"), "dative": ("dem", "der", "dem")}
_A = {"subject": ("ein", "eine", "ein"), "accusative": ("einen", "eine", "ein"), "dative": ("einem", "einer", "einem")}
_WEAK = {"subject": ("e", "e", "e"), "accusative": ("en", "e", "e"), "dative": ("en", "en", "en")}
_MIXED = {"subject": ("er", "e", "es"), "accusative": ("en", "e", "es"), "dative": ("en", "en", "en")}
_CONTRACTIONS = {("in", "dem"): "im", ("an", "dem"): "am", ("von", "dem"): "vom", ("bei", "dem"): "beim"}
_VERB_LAST = frozenset(("while", "see", "true"))
_VERB_FIRST = frozenset(("scene", "now"))
_OPENINGS = {
    "": "",
    "see": "wir:we sehen:see ,: dass:that",
    "true": "es:it ist:is wahr:true ,: dass:that",
    "scene": "in:in dieser:this Szene:scene",
    "now": "gerade:now",
}
_JOINTS = {"and": "und:and", "while": ",:comma während:while", "stop": ".:stop", "but": ",:comma aber:but"}


class _Predicate(NamedTuple):
    """The finite verb, what follows it, and a particle that is written together with a verb behind it."""

    verb: Words
    rest: Words = ()
    particle: Words = ()

    def second(self) -> Words:
        return self.verb + self.rest + self.particle

    def last(self) -> Words:
        if not self.particle:
            return self.rest + self.verb
        whole = self.particle[0].text + self.verb[0].text
        return (*self.rest, merged(self.particle[0], self.verb[0], whole))


class German(Grammar):
    """The verb is second, but last behind "dass" and "während" and first of what follows an adverbial."""

    lang = "de"
    silent = frozenset(("in", "der", "von", "bei", "sich", "als"))
    openings = _OPENINGS
    joints = _JOINTS
    together = "und:and"

    def clause(self, clause: Clause, after: str) -> Words:
        """The verb of every predicate where the joint or opening wants it."""
        subject = self.noun(clause.subject)
        last = after in _VERB_LAST
        if clause.there:
            where, verb = self._where(clause.sayings[0].fact), self.copula("ist", 0)
            return where + subject + verb if last else where + verb + subject
        predicates = [self._predicate(saying, number) for number, saying in enumerate(clause.sayings)]
        parts = [predicate.last() if last else predicate.second() for predicate in predicates]
        if after in _VERB_FIRST:
            parts[0] = predicates[0].verb + subject + predicates[0].rest + predicates[0].particle
            subject = ()
        return subject + self.joined(parts)

    def noun(self, noun: Noun, case: str = "subject") -> Words:
        """Article, adjectives and noun in a case; adjectives are weak behind "der" and mixed behind "ein"."""
        gender, _, said = self.called(noun, KINDS).partition(" ")
        column = _GENDERS.index(gender)
        words = self.of((_THE if noun.definite else _A)[case][column], noun.slot, "article")
        ending = (_WEAK if noun.definite else _MIXED)[case][column]
        for fact in noun.qualities:
            plain, _, stem = self.pick(QUALITIES[fact.concept]).partition("~")
            words += self.fact((stem or plain) + ending, fact)
        nominative, _, oblique = said.partition("~")
        return words + self.kind(oblique if oblique and case != "subject" else nominative, noun)

    def _predicate(self, saying: Saying, number: int) -> _Predicate:
        forms = {
            "quality": self._quality,
            "activity": self._activity,
            "place": self._place,
            "deed": self._passive if saying.passive else self._deed,
            "position": self._position,
            "comparison": self._comparison,
        }
        return forms[saying.form](saying, number)

    def _quality(self, saying: Saying, number: int) -> _Predicate:
        plain = self.pick(QUALITIES[saying.fact.concept]).partition("~")[0]
        return _Predicate(self.copula("ist", number), self._not(saying) + self.fact(plain, saying.fact))

    def _activity(self, saying: Saying, number: int) -> _Predicate:
        fact = saying.fact
        verb, more, particle, no = (*self.pick(ACTIVITIES[fact.concept]).split("|"), "", "", "")[:4]
        where = () if saying.place is None else self._where(saying.place)
        following = self.fact(more, fact)
        denied = self.denial(no or "nicht", fact)
        rest = following + denied + where if more == "sich" else where + denied + following
        return _Predicate(self.verb(verb, fact, number), rest, self.fact(particle, fact))

    def _place(self, saying: Saying, number: int) -> _Predicate:
        return _Predicate(self.copula("ist", number), self._not(saying) + self._where(saying.fact))

    def _deed(self, saying: Saying, number: int) -> _Predicate:
        case, _, said = self.pick(DEEDS[saying.fact.concept]).partition(" ")
        verb, _, particle = said.partition("|")
        rest = self.object(saying, case) + self._not(saying)
        return _Predicate(self.verb(verb, saying.fact, number), rest, self.fact(particle, saying.fact))

    def _passive(self, saying: Saying, number: int) -> _Predicate:
        by = self.fact("von", saying.fact, "by", carries=False) + self.object(saying, "dative")
        done = self.fact(PARTICIPLES[saying.fact.concept], saying.fact)
        becomes = self.copula("wird", number)[0]
        return _Predicate((becomes.saying_also((self.number, saying.fact, "passive")),), by + done)

    def _position(self, saying: Saying, number: int) -> _Predicate:
        before, _, behind = self.pick(POSITIONS[saying.fact.concept]).partition("|")
        rest = self._not(saying) + self.fact(before, saying.fact) + self.object(saying, "dative")
        return _Predicate(self.copula("ist", number), rest + self.fact(behind, saying.fact))

    def _comparison(self, saying: Saying, number: int) -> _Predicate:
        more = self.fact(self.pick(COMPARISONS[saying.fact.concept]), saying.fact)
        than = self.fact("als", saying.fact, "than", carries=False) + self.object(saying, "subject")
        return _Predicate(self.copula("ist", number), self._not(saying) + more + than)

    def _not(self, saying: Saying) -> Words:
        return self.denial("nicht", saying.fact)

    def _where(self, fact: Fact) -> Words:
        said = self.pick(PLACES[fact.concept])
        if fact.concept in OPEN_PLACES:
            return self.fact(said, fact)
        preposition, gender, noun = said.split()
        article = _THE["dative"][_GENDERS.index(gender)]
        before = self.fact(preposition, fact, "preposition", carries=False)
        return before + self.fact(article, fact, "article", carries=False) + self.fact(noun, fact)

    def smoothed(self, words: Words) -> Words:
        """ "in dem" becomes "im"."""
        return contracted(words, _CONTRACTIONS)
