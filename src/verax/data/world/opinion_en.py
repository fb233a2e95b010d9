"""English clauses of praise and blame, word by word tied to what they do for the opinion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Literal

from verax.data.world.phrase import Phrase, Token, marked, plain

Mark = Literal["verdict", "turned", "contrast", "holder", "agreed"]
Form = Literal["adjective", "noun", "verb"]
Words = Mapping[bool, tuple[str, ...]]

ADJECTIVES: Words = {
    True: (
        *("wonderful", "excellent", "superb", "delightful", "lovely", "brilliant", "charming", "splendid", "good"),
        *("reliable", "pleasant", "beautiful", "elegant", "impressive", "useful", "perfect", "comfortable", "solid"),
        *("graceful", "handsome", "clever", "practical", "magnificent", "marvellous", "neat", "tasteful", "fantastic"),
    ),
    False: (
        *("awful", "dreadful", "terrible", "horrible", "ugly", "useless", "clumsy", "shabby", "bad"),
        *("disappointing", "unpleasant", "flimsy", "boring", "dull", "annoying", "weak", "worthless", "faulty"),
        *("hideous", "pathetic", "silly", "impractical", "mediocre", "tasteless", "crude", "miserable", "appalling"),
    ),
}
NOUNS: Words = {
    True: (
        *("joy", "delight", "pleasure", "success", "treasure", "bargain", "triumph"),
        *("marvel", "blessing", "gem", "hit"),
    ),
    False: (
        *("disaster", "disappointment", "failure", "nuisance", "mess", "mistake", "nightmare"),
        *("blunder", "burden", "flop", "waste"),
    ),
}
VERBS: Words = {
    True: ("love", "like", "enjoy", "admire", "adore", "recommend", "trust", "cherish", "value"),
    False: ("hate", "dislike", "despise", "loathe", "resent", "detest", "distrust", "regret", "curse"),
}
_STRONGER = ("very", "really", "truly", "rather", "quite")
_ADJECTIVE_TURNERS = (
    *("not", "never", "hardly", "not very", "never really", "far from being", "anything but", "by no means"),
    *("not at all", "in no way", "not in the least"),
)
_NOUN_TURNERS = ("not", "never", "hardly", "by no means", "anything but", "in no way")
_VERB_TURNERS = ("do not", "could never", "would not", "do not really")
_SILENT = frozenset(("do", "could", "would", "by", "very", "really", "being", "at", "in", "the"))
HOLDERS = ("my neighbours", "my sisters", "my parents", "some friends", "the critics", "most customers")


_WORDS: dict[Form, Words] = {"adjective": ADJECTIVES, "noun": NOUNS, "verb": VERBS}
ALL_FORMS: tuple[Form, ...] = ("adjective", "noun", "verb")


@dataclass(frozen=True, slots=True)
class View:
    """How one clause speaks of its subject: the evaluating word, whether it praises, whether it is turned round."""

    form: Form
    word: str
    praises: bool
    turned: bool

    @property
    def positive(self) -> bool:
        """What the clause amounts to."""
        return self.praises != self.turned


def draw_view(rng: Random, positive: bool, forms: tuple[Form, ...] = ALL_FORMS, turnable: bool = True) -> View:
    """A view that amounts to praise or blame, one time in two by way of a negation if it may."""
    turned = turnable and rng.random() < 0.5
    form = rng.choice(forms)
    words = _WORDS[form][positive != turned]
    return View(form, rng.choice(words), positive != turned, turned)


def clause(rng: Random, view: View, subject: str, decides: bool, holder: Mark | None = None) -> Phrase[Mark]:
    """The view as a clause about its subject; its words are marked only if it decides the opinion."""
    if view.form != "verb":
        return plain(subject) + plain("is") + complement(rng, view, decides)
    speaker: Phrase[Mark] = (Token("I", holder, holder is not None),)
    stronger: Phrase[Mark] = plain("really") if not view.turned and rng.random() < 0.3 else ()
    turner = _turner(rng, view, _VERB_TURNERS, decides)
    return speaker + turner + stronger + _word(view.word, "verdict" if decides else None) + plain(subject)


def complement(rng: Random, view: View, decides: bool) -> Phrase[Mark]:
    """What stands after "is" (or, not turned round, after "calls it"): "not very reliable", "a real joy"."""
    verdict = _word(view.word, "verdict" if decides else None)
    if view.form == "adjective":
        stronger: Phrase[Mark] = plain(rng.choice(_STRONGER)) if not view.turned and rng.random() < 0.5 else ()
        return _turner(rng, view, _ADJECTIVE_TURNERS, decides) + stronger + verdict
    real: Phrase[Mark] = plain("real") if rng.random() < 0.3 else ()
    return _turner(rng, view, _NOUN_TURNERS, decides) + _article(real + verdict)


def _turner(rng: Random, view: View, turners: tuple[str, ...], decides: bool) -> Phrase[Mark]:
    return _word(rng.choice(turners), "turned" if decides else None) if view.turned else ()


def _article(words: Phrase[Mark]) -> Phrase[Mark]:
    return plain("an" if words[0].text[0] in "aeiou" else "a") + words


def _word(words: str, mark: Mark | None) -> Phrase[Mark]:
    return plain(words) if mark is None else marked(words, mark, _SILENT)


def linked(words: str) -> Phrase[Mark]:
    """A word of contrast, without which nobody can tell which clause decides."""
    return marked(words, "contrast", frozenset())
