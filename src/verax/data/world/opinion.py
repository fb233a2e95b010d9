"""Opinions about things of the little world: does the speaker think well of the thing or not?

The label is the speaker's own opinion of the thing as a whole. A negation ("not", "never", "far from") turns a word of
praise into blame and a word of blame into praise. What "although" or "despite" brings in only concedes a point; after
"but" or "yet" comes the clause that decides. What others think counts as far as the speaker agrees.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from verax.data.world.knowledge import PARTS, group_of, narrower, values
from verax.data.world.lexicon_en import words_of
from verax.data.world.opinion_en import (
    ALL_FORMS,
    HOLDERS,
    VERBS,
    Form,
    Mark,
    View,
    clause,
    complement,
    draw_view,
    linked,
)
from verax.data.world.phrase import Phrase, Sentence, marked, plain, sentence
from verax.data.world.splits import draw_dataset, drawn_for
from verax.registry import registered
from verax.types import Dataset, Human, Instance

LABELS = ("negative", "positive")
SHORTEST, LONGEST = 5, 25
_MARKS: tuple[Mark, ...] = ("verdict", "turned", "contrast", "holder", "agreed")
_FORMS: dict[str, tuple[Form, ...]] = {"echoed": ("adjective", "noun"), "heard": ("verb",)}
_THINGS = tuple(kind for group in PARTS for kind in narrower(group)[1:])


@dataclass(frozen=True, slots=True)
class Opinion:
    """The thing, the view that decides, and the way it is told."""

    thing: str
    view: View
    telling: str


@registered(
    "world/opinion",
    "Opinions about things, with negation and contrast, gold words and explanations.",
)
def load(split: str = "test", limit: int | None = None, seed: int = 0) -> Dataset:
    """Opinions with their label, the words that decide it, and a sentence that says why.

    Args:
        split: `train`, `validation` or `test`. The deciding view of a thing in one split is held in no other.
        limit: how many instances, from the first on; all of the split by default.
        seed: another seed draws other instances of the same split.
    """
    return draw_dataset("opinion", LABELS, compose, split, limit, seed)


def compose(rng: Random, split: str, label: str, name: str) -> Instance:
    """One instance of a split with the label that is asked for."""
    positive = label == "positive"
    while True:
        opinion = drawn_for(split, lambda rng: _draw(rng, positive), _key, rng)
        told = sentence(TELLINGS[opinion.telling](rng, opinion) + plain("."))
        if SHORTEST < len(told.tokens) <= LONGEST:
            human = Human(words=(told.carriers(_MARKS),), explanations=(_explained(opinion, told, label),))
            return Instance(name, (told.text,), label, human=human)


def _draw(rng: Random, positive: bool) -> Opinion:
    telling = rng.choice(tuple(TELLINGS))
    return Opinion(rng.choice(_THINGS), draw_view(rng, positive, _FORMS.get(telling, ALL_FORMS)), telling)


def _key(opinion: Opinion) -> str:
    return f"{opinion.thing} {opinion.view.word} {opinion.view.turned}"


def _outright(rng: Random, opinion: Opinion) -> Phrase[Mark]:
    """The deciding clause with a plain description beside it."""
    fact = rng.choice((_colour, _place))(rng, opinion.thing)
    described: Phrase[Mark] = plain(f"the {opinion.thing} is {fact}") + plain(rng.choice((".", ", and")))
    return described + clause(rng, opinion.view, rng.choice(("it", f"the {opinion.thing}")), decides=True)


def _colour(rng: Random, thing: str) -> str:
    return rng.choice(words_of(rng.choice(values(group_of(thing), "colour"))))


def _place(rng: Random, thing: str) -> str:
    return rng.choice(words_of(rng.choice(values(group_of(thing), "place"))))


def _conceding(rng: Random, opinion: Opinion) -> Phrase[Mark]:
    """The deciding clause, and beside it a point that is conceded."""
    main = clause(rng, opinion.view, f"the {opinion.thing}", decides=True)
    conceded = linked(rng.choice(("although", "though", "even though"))) + _minor(rng, opinion)
    return conceded + plain(",") + main if rng.random() < 0.5 else main + plain(",") + conceded


def _despite(rng: Random, opinion: Opinion) -> Phrase[Mark]:
    """The same with a point that is conceded in a few words."""
    main = clause(rng, opinion.view, f"the {opinion.thing}", decides=True)
    flaw = draw_view(rng, not opinion.view.positive, ("adjective",), turnable=False)
    words = linked(rng.choice(("despite", "in spite of"))) + plain(f"the {flaw.word} {_part(rng, opinion.thing)}")
    return words + plain(",") + main if rng.random() < 0.5 else main + words


def _outweighing(rng: Random, opinion: Opinion) -> Phrase[Mark]:
    """A lesser point first, then the deciding clause."""
    turn: Phrase[Mark] = plain(",") + linked(rng.choice(("but", "yet")))
    return _minor(rng, opinion) + turn + clause(rng, opinion.view, f"the {opinion.thing}", decides=True)


def _minor(rng: Random, opinion: Opinion) -> Phrase[Mark]:
    view = draw_view(rng, not opinion.view.positive)
    return clause(rng, view, f"the {_part(rng, opinion.thing)}", decides=False)


def _part(rng: Random, thing: str) -> str:
    return rng.choice(PARTS[group_of(thing)])


def _heard(rng: Random, opinion: Opinion) -> Phrase[Mark]:
    """The speaker's view beside somebody else's, which may be the same or not."""
    praise = rng.random() < 0.5
    theirs = f"{rng.choice(HOLDERS)} {rng.choice(VERBS[praise])}"
    joint: Phrase[Mark] = plain(
        rng.choice((", and", ".") if praise == opinion.view.positive else (", but", ".", ", while"))
    )
    if rng.random() < 0.5:
        own = clause(rng, opinion.view, f"the {opinion.thing}", decides=True, holder="holder")
        return own + joint + plain(f"{theirs} it")
    own = clause(rng, opinion.view, "it", decides=True, holder="holder")
    return plain(f"{theirs} the {opinion.thing}") + joint + own


def _echoed(rng: Random, opinion: Opinion) -> Phrase[Mark]:
    """Somebody else's words, and whether the speaker agrees."""
    view = opinion.view
    said: Phrase[Mark] = plain(f"{rng.choice(HOLDERS)} call the {opinion.thing}")
    said += complement(rng, View(view.form, view.word, view.praises, turned=False), decides=True)
    mark: Mark = "turned" if view.turned else "agreed"
    answer = rng.choice(("do not agree", "disagree") if view.turned else ("agree", "do agree"))
    joint = rng.choice((", but", ".") if view.turned else (", and", "."))
    return said + plain(joint) + plain("I") + marked(answer, mark, frozenset(("do",)))


TELLINGS: dict[str, Callable[[Random, Opinion], Phrase[Mark]]] = {
    "outright": _outright,
    "conceding": _conceding,
    "despite": _despite,
    "outweighing": _outweighing,
    "heard": _heard,
    "echoed": _echoed,
}


def _explained(opinion: Opinion, told: Sentence[Mark], label: str) -> str:
    """Why the opinion has its label, in one English sentence."""
    contrast, turned = (
        " ".join(token.text for token in told.tokens if token.mark == mark) for mark in ("contrast", "turned")
    )
    rule = {
        "conceding": f'what "{contrast}" brings in only concedes a point, ',
        "despite": f'what "{contrast}" brings in only concedes a point, ',
        "outweighing": f'what comes after "{contrast}" decides, ',
        "heard": "only what the speaker thinks counts, ",
    }.get(opinion.telling, "")
    reason = f'{rule}"{opinion.view.word}" is {"praise" if opinion.view.praises else "blame"}'
    reason += f', and "{turned}" turns it round' if turned else ""
    return f"{reason[0].upper()}{reason[1:]}, so the opinion of the {opinion.thing} is {label}."
