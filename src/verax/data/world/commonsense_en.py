"""English sentences that differ in one thing, of which one can't be true; each word is tied to what clashes."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Literal

from verax.data.world.knowledge import dimension_of, group_of
from verax.data.world.lexicon_en import SILENT, words_of
from verax.data.world.phrase import Phrase, Sentence, marked, plain, sentence
from verax.data.world.rewording_en import Named, article

Form = Literal["kind", "value", "alive", "relation"]
Mark = Literal["known", "claimed"]


@dataclass(frozen=True, slots=True)
class Riddle:
    """Two sentences before they are put into words: they say the same but for one thing.

    Args:
        subject: the kind that both sentences are about.
        known: what both say of it. Of `alive` it is what the right sentence says of the subject, the other of `other`.
        right: what the right sentence goes on to say; of `alive` the relation that both say.
        wrong: what the wrong one says instead, and what `known` excludes.
        aside: what has nothing to do with it, for a sentence of kinds.
        other: the kind of the second thing, if there is one.
    """

    form: Form
    subject: str
    known: Named
    right: Named
    wrong: Named
    aside: Named | None = None
    other: str | None = None

    @property
    def key(self) -> str:
        """What both sentences say, in whichever words."""
        aside = None if self.aside is None else self.aside.concept
        return repr((self.form, self.subject, self.known.concept, aside, self.other))

    @property
    def noun(self) -> str:
        """The word for the subject."""
        return self.known.words if self.form == "kind" else words_of(self.subject)[0]

    @property
    def second(self) -> str:
        """The other thing with its article, or nothing."""
        return "" if self.other is None else f" the {words_of(self.other)[0]}"


def in_words(riddle: Riddle, rng: Random) -> tuple[Sentence[Mark], Sentence[Mark]]:
    """The right sentence and the wrong one, in the same way."""
    first, second = _TOLD[riddle.form](riddle, rng)
    return sentence(first + plain(".")), sentence(second + plain("."))


def _kinds(riddle: Riddle, rng: Random) -> tuple[Phrase[Mark], ...]:
    """ "The wet poodle is a dog." """
    if riddle.aside is None:
        raise ValueError("a sentence of kinds needs something beside them")
    noun: Phrase[Mark] = marked(riddle.noun, "known", SILENT)
    subject: Phrase[Mark] = plain("the")
    subject += _qualified(noun, plain(riddle.aside.words), riddle.aside.concept, riddle.subject, rng)
    return tuple(
        subject + plain(f"is {article(kind.words)}") + marked(kind.words, "claimed", SILENT)
        for kind in (riddle.right, riddle.wrong)
    )


def _values(riddle: Riddle, rng: Random) -> tuple[Phrase[Mark], ...]:
    """ "The sleeping boy is running.", or "The boy is sleeping and running." """
    known: Phrase[Mark] = marked(riddle.known.words, "known", SILENT)
    start: Phrase[Mark]
    if rng.random() < 0.3:
        start = plain(f"the {riddle.noun} is") + known + plain("and")
    else:
        noun: Phrase[Mark] = plain(riddle.noun)
        start = plain("the") + _qualified(noun, known, riddle.known.concept, riddle.subject, rng) + plain("is")
    return tuple(start + marked(value.words, "claimed", SILENT) for value in (riddle.right, riddle.wrong))


def _alive(riddle: Riddle, rng: Random) -> tuple[Phrase[Mark], ...]:
    """ "The sleeping boy is near the table.", and "The boy is near the sleeping table." """
    if riddle.other is None:
        raise ValueError("a sentence of what lives needs something that does not")
    known: Phrase[Mark] = marked(riddle.known.words, "known", SILENT)
    living: Phrase[Mark] = plain(riddle.noun)
    thing: Phrase[Mark] = marked(words_of(riddle.other)[0], "claimed", SILENT)
    behind = rng.random() < 0.5
    nouns = (
        (_described(living, known, behind, riddle.subject), thing),
        (living, _described(thing, known, behind, riddle.other)),
    )
    return tuple(plain("the") + a + plain(f"is {riddle.right.words} the") + b for a, b in nouns)


def _relations(riddle: Riddle, rng: Random) -> tuple[Phrase[Mark], ...]:
    """ "The hat that is above the box is below the box." """
    known: Phrase[Mark] = marked(riddle.known.words, "known", SILENT)
    known += plain(riddle.second)
    start: Phrase[Mark]
    if rng.random() < 0.5:
        start = plain(f"the {riddle.noun} is") + known + plain("and")
    else:
        start = plain(f"the {riddle.noun} {_that(riddle.subject)} is") + known + plain("is")
    return tuple(
        start + marked(relation.words, "claimed", SILENT) + plain(riddle.second)
        for relation in (riddle.right, riddle.wrong)
    )


def _qualified(noun: Phrase[Mark], said: Phrase[Mark], concept: str, kind: str, rng: Random) -> Phrase[Mark]:
    """A noun with what is said of it, where English can put it."""
    if dimension_of(concept) == "place":
        return noun + said
    return _described(noun, said, rng.random() < 0.4, kind)


def _described(noun: Phrase[Mark], said: Phrase[Mark], behind: bool, kind: str) -> Phrase[Mark]:
    return noun + plain(f"{_that(kind)} is") + said if behind else said + noun


def _that(kind: str) -> str:
    return "who" if group_of(kind) == "person" else "that"


_TOLD = {"kind": _kinds, "value": _values, "alive": _alive, "relation": _relations}
