"""Chinese: written without spaces, measure words, places before the verb, and no agreement at all."""

from __future__ import annotations

from verax.data.world.facts import Fact
from verax.data.world.languages.lexicon_zh import (
    ACTIVITIES,
    COMPARISONS,
    DEEDS,
    KINDS,
    PLACES,
    POSITIONS,
    QUALITIES,
)
from verax.data.world.languages.plan import Clause, Noun, Saying
from verax.data.world.languages.wording import OPEN_PLACES, SubjectFirst, Words

_ABSOLUTE = "="
_OPENINGS = {
    "": "",
    "see": "我们:we 可以:see 看到:see ，:",
    "true": "的确:true ，:",
    "scene": "在:in 这个:this 场景:scene 里:in ，:",
    "now": "现在:now ，:",
}
_JOINTS = {"and": "，:comma 并且:and", "while": "，:comma 而:while", "stop": "。:stop", "but": "，:comma 但是:but"}


class Chinese(SubjectFirst):
    """ "那只小的狗没在睡觉。"."""

    lang = "zh"
    apart = ""
    stop = "。"
    openings = _OPENINGS
    joints = _JOINTS
    together = "，: 而且:and"

    def noun(self, noun: Noun, case: str = "subject") -> Words:
        """ "that" or "one" with a measure word, each adjective with 的, and the noun."""
        measure, said = self.called(noun, KINDS).split()
        words = self.of(f"{'那' if noun.definite else '一'} {measure}", noun.slot, "article")
        for fact in noun.qualities:
            way = self.pick(QUALITIES[fact.concept]).removeprefix(_ABSOLUTE)
            words += self.fact(way, fact) + self.fact("的", fact, "的", carries=False)
        return words + self.kind(said, noun)

    def quality(self, subject: Noun, saying: Saying, number: int) -> Words:
        """A matter of degree with 很, else 是 ... 的."""
        way = self.pick(QUALITIES[saying.fact.concept])
        denied = self.denial("不", saying.fact)
        if way.startswith(_ABSOLUTE):
            behind = self.fact("的", saying.fact, "的", carries=False)
            return denied + self.copula("是", number) + self.fact(way.removeprefix(_ABSOLUTE), saying.fact) + behind
        return (denied or self.copula("很", number)) + self.fact(way, saying.fact)

    def activity(self, subject: Noun, saying: Saying, number: int) -> Words:
        """The place, if any, comes before the verb."""
        words = self.fact(self.pick(ACTIVITIES[saying.fact.concept]), saying.fact)
        if saying.place is None:
            return self._going_on(saying, number) + words
        return self._at("正在", saying.place, number) + self._where(saying.place) + words

    def place(self, subject: Noun, saying: Saying, number: int) -> Words:
        """With 在."""
        denied = self.denial("不", saying.fact)
        return denied + self._at("在", saying.fact, number) + self._where(saying.fact)

    def deed(self, subject: Noun, saying: Saying, number: int) -> Words:
        """A verb and its object."""
        words = self.fact(self.pick(DEEDS[saying.fact.concept]), saying.fact)
        return self._going_on(saying, number) + words + self.object(saying)

    def passive(self, subject: Noun, saying: Saying, number: int) -> Words:
        """With 被 and the doer before the verb."""
        by = self.fact("被", saying.fact, "by", "passive", carries=False) + self.object(saying)
        words = self.fact(self.pick(DEEDS[saying.fact.concept]), saying.fact)
        return self._going_on(saying, number) + by + words

    def position(self, subject: Noun, saying: Saying, number: int) -> Words:
        """The word of position follows the noun; far is said as being distant from."""
        denied = self.denial("不", saying.fact)
        if saying.fact.concept == "far":
            how = (denied or self.copula("很", number)) + self.fact("远", saying.fact)
            return self.fact("离", saying.fact, carries=False) + self.object(saying) + how
        where = self.fact(self.pick(POSITIONS[saying.fact.concept]), saying.fact)
        return denied + self.copula("在", number) + self.object(saying) + where

    def comparison(self, subject: Noun, saying: Saying, number: int) -> Words:
        """With 比, and the adjective at the end."""
        than = self.denial("不", saying.fact) + self.fact("比", saying.fact, "than", carries=False)
        return than + self.object(saying) + self.fact(self.pick(COMPARISONS[saying.fact.concept]), saying.fact)

    def there(self, clause: Clause) -> Words:
        """The place comes first."""
        where = self._where(clause.sayings[0].fact)
        return where + self.copula("有", 0, "there", "copula") + self.noun(clause.subject)

    def _going_on(self, saying: Saying, number: int) -> Words:
        denied = self.denial("没", saying.fact)
        return denied + self.copula("在" if denied else "正在", number)

    def _at(self, text: str, fact: Fact, number: int) -> Words:
        """在, which is the verb and the preposition at once."""
        copula = (self.number, f"predicate {number}", "copula")
        before = self.fact(text, fact, "preposition", carries=False)
        return tuple(word.saying_also(copula) for word in before)

    def _where(self, fact: Fact) -> Words:
        said = self.pick(PLACES[fact.concept])
        if fact.concept in OPEN_PLACES:
            return self.fact(said, fact)
        place, position = said.split()
        return self.fact(place, fact) + self.fact(position, fact, "preposition", carries=False)
