"""English questions with choices, word by word tied to what decides the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Literal, NamedTuple

from verax.data.world.knowledge import dimension_of
from verax.data.world.lexicon_en import SILENT, words_of
from verax.data.world.phrase import Phrase, Sentence, marked, plain, sentence
from verax.data.world.rewording_en import Named, article, with_article

Form = Literal["kind", "member", "value", "sure", "excluded"]
Mark = Literal["given", "asked"]


class Deed(NamedTuple):
    """A verb as it is, and as it is in the past."""

    now: str
    past: str


DEEDS = (Deed("find", "found"), Deed("draw", "drew"), Deed("photograph", "photographed"), Deed("describe", "described"))
_ASKED_VALUE: Mapping[str, tuple[str, ...]] = {
    "colour": ("which colour is the {}", "what colour does the {} have"),
    "activity": ("what is the {} doing",),
    "place": ("where is the {}", "where can the {} be found"),
}


@dataclass(frozen=True, slots=True)
class Question:
    """What is told and asked, before it is put into words.

    Args:
        who: the kind of the one that is asked about.
        given: what is told of it, by which `right` is known.
        right: the choice that fits.
        wrong: those that do not.
        other: the kind of somebody or something else that `beside` is told of; None: it is not told of another one.
        beside: what would speak for the first wrong choice, or in a question of what is sure or excluded for the
            opposite of it.
        deed: what the people of a question of kinds do.
    """

    form: Form
    who: str
    given: Named
    right: Named
    wrong: tuple[Named, Named]
    other: str | None
    beside: Named
    deed: Deed = DEEDS[0]

    @property
    def key(self) -> str:
        """What is told and asked, in whichever words and order."""
        told = [self.given.concept, self.beside.concept]
        if self.certain:  # both are told of the same one, and either may come first
            return repr((self.form, self.who, sorted(told)))
        return repr((self.form, self.who, self.other, told[: 1 + (self.other is not None)]))

    @property
    def certain(self) -> bool:
        """Whether it asks for what is sure or excluded."""
        return self.form in ("sure", "excluded")

    @property
    def of_kinds(self) -> bool:
        """Whether the choices are kinds, "a dog", and not what a thing may be, "wet"."""
        return self.form in ("kind", "member")

    @property
    def subject(self) -> str:
        """The one that is asked about, as a noun."""
        return words_of(self.who)[0]


def choice_in_words(question: Question, choice: Named) -> str:
    """A choice as it is offered."""
    return with_article(choice.words) if question.of_kinds else choice.words


def asked_in_words(question: Question, rng: Random) -> Sentence[Mark]:
    """What is told, in random order, and then the question."""
    told = _certain(question, rng) if question.certain else _of_two(question, rng)
    return sentence(told + plain(".") + _asked(question, rng) + plain("?"))


def _of_two(question: Question, rng: Random) -> Phrase[Mark]:
    """A clause about the one that is asked about, and often one about another."""
    own: Phrase[Mark] = plain(article(question.subject)) + _noun(question) + _said(question, question.given, True)
    if question.other is None:
        return own
    other: Phrase[Mark] = plain(with_article(words_of(question.other)[0])) + _said(question, question.beside, False)
    first, second = rng.sample((own, other), 2)
    return first + plain(rng.choice((", and", ", while"))) + second


def _said(question: Question, what: Named, decides: bool) -> Phrase[Mark]:
    """What is told of one of the two, as a predicate."""
    if not question.of_kinds:
        return plain("is") + _value(what, decides)
    verb = question.deed.past if question.form == "kind" else f"wants to {question.deed.now}"
    return plain(f"{verb} {article(what.words)}") + _value(what, decides)


def _certain(question: Question, rng: Random) -> Phrase[Mark]:
    """Two values of the one that is asked about."""
    values = [_value(question.given, True), _value(question.beside, False)]
    first, second = rng.sample(values, 2)
    return plain(with_article(question.subject)) + plain("is") + first + plain("and") + second


def _asked(question: Question, rng: Random) -> Phrase[Mark]:
    if question.form == "sure":
        return plain("what") + _decides("must") + plain(f"the {question.subject} be")
    if question.form == "excluded":
        return plain(f"what can the {question.subject}") + _decides("not") + plain("be")
    if question.form == "value":
        asked = rng.choice(_ASKED_VALUE[dimension_of(question.right.concept)])
        before, _, after = asked.partition("{}")
        return plain(before) + _noun(question) + plain(after)
    did = "did" if question.form == "kind" else "can"
    return plain(f"what {did} the") + _noun(question) + plain(question.deed.now)


def _noun(question: Question) -> Phrase[Mark]:
    """Who is asked about, which counts where another one is told of too."""
    return plain(question.subject) if question.other is None else _decides(question.subject)


def _decides(words: str) -> Phrase[Mark]:
    return marked(words, "asked", SILENT)


def _value(what: Named, decides: bool) -> Phrase[Mark]:
    return marked(what.words, "given", SILENT) if decides else plain(what.words)
