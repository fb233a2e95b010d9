"""Three-choice questions about the little world: which choice fits what the question tells?

The three choices are drawn before one of them is made the right one, each of them could be it, and their order is
drawn apart. So neither the choices alone nor the question alone can tell the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from random import Random
from typing import get_args

from verax.data.text import split_words
from verax.data.world.explain_questions_en import explained
from verax.data.world.knowledge import AFFORDS, CHILDREN, dimension_of, excludes, group_of, narrower, values, wider
from verax.data.world.questions_en import DEEDS, Form, Question, asked_in_words, choice_in_words
from verax.data.world.rewording_en import (
    Named,
    barring,
    carrying,
    draw_apart,
    draw_exclusive,
    draw_kind,
    kind_pools,
    named,
    reworded,
    unlike,
)
from verax.data.world.splits import draw_dataset, drawn_for
from verax.registry import registered
from verax.types import Dataset, Human, Instance, Span

LABELS = ("A", "B", "C")
_GROUPS = tuple(AFFORDS)
_FORMS: tuple[Form, ...] = get_args(Form)
_OTHER_SHARE = 0.7
_SAME_GROUP_SHARE = 0.7
_MEMBER_GROUPS = tuple(
    group for group in _GROUPS if group != "person" and sum(kind in CHILDREN for kind in CHILDREN[group]) >= len(LABELS)
)


@registered(
    "world/questions",
    "Questions with three choices, with gold words, span pairs and explanations in several phrasings.",
)
def load(split: str = "test", limit: int | None = None, seed: int = 0) -> Dataset:
    """Questions with three choices, the letter of the right one, the words that decide, and sentences that say why.

    Args:
        split: `train`, `validation` or `test`. What is asked in one split is asked in no other.
        limit: how many instances, from the first on; all of the split by default.
        seed: another seed draws other instances of the same split.
    """
    return draw_dataset("questions", LABELS, compose, split, limit, seed, maskable=(0,))


def compose(rng: Random, split: str, label: str, name: str) -> Instance:
    """One question of a split whose right choice has the letter that is asked for."""
    question = drawn_for(split, draw_question, attrgetter("key"), rng)
    told = asked_in_words(question, rng)
    place = LABELS.index(label)
    choices = [*question.wrong]
    rng.shuffle(choices)
    choices.insert(place, question.right)
    texts = [split_words(choice_in_words(question, choice)) for choice in choices]
    words = texts[place].words
    start = len(words) - len(question.right.words.split())
    deciding = carrying(question.right.words)
    gold: list[tuple[int, ...]] = [told.carriers(("given", "asked")), (), (), ()]
    gold[1 + place] = tuple(number for number, word in enumerate(words) if word in deciding)
    choice = Span(1 + place, start, len(words))
    pairs = tuple((span, choice) for span in told.spans("given", 0))
    human = Human(words=tuple(gold), span_pairs=pairs, explanations=explained(question))
    return Instance(name, (told.text, *texts), label, human=human)


def draw_question(rng: Random) -> Question:
    """A question of any form."""
    form = rng.choice(_FORMS)
    return _DRAWN[form](rng, form)


def _draw_kind_question(rng: Random, form: Form) -> Question:
    """Somebody has a poodle: it is a dog."""
    pools = kind_pools()
    pool = rng.choice(pools[1:]) if rng.random() < _SAME_GROUP_SHARE else pools[0]
    right, *wrong = (named(rng, kind) for kind in rng.sample(pool, len(LABELS)))
    given = rng.choice(reworded(right, group_of(right.concept)))
    beside = rng.choice(reworded(wrong[0], group_of(wrong[0].concept)))
    return _about_people(rng, form, given, right, wrong, beside)


def _draw_member_question(rng: Random, form: Form) -> Question:
    """Somebody wants a dog: a poodle will do."""
    if rng.random() < _SAME_GROUP_SHARE:
        above = rng.sample([k for k in CHILDREN[rng.choice(_MEMBER_GROUPS)] if k in CHILDREN], len(LABELS))
    else:
        above = rng.sample([group for group in _GROUPS if group != "person"], len(LABELS))
    right, *wrong = (named(rng, rng.choice(narrower(kind)[1:])) for kind in above)
    given, beside = (
        named(rng, rng.choice([w for w in wider(own.concept)[1:] if excludes(w, other.concept)]))
        for own, other in ((right, wrong[0]), (wrong[0], right))
    )
    return _about_people(rng, form, given, right, wrong, beside)


def _about_people(rng: Random, form: Form, given: Named, right: Named, wrong: list[Named], beside: Named) -> Question:
    who = draw_kind(rng, ("person",))
    other = unlike(rng, who, ("person",)) if rng.random() < _OTHER_SHARE else None
    return Question(form, who, given, right, (wrong[0], wrong[1]), other, beside, rng.choice(DEEDS))


def _draw_value_question(rng: Random, form: Form) -> Question:
    """A hat is scarlet: it is red."""
    who = draw_kind(rng)
    group = group_of(who)
    right, *wrong = (named(rng, value) for value in draw_exclusive(rng, group, len(LABELS)))
    given = rng.choice(reworded(right, group))
    beside = rng.choice(reworded(wrong[0], group))
    fits = [g for g in _GROUPS if beside.concept in values(g, dimension_of(beside.concept))]
    other = unlike(rng, who, fits) if rng.random() < _OTHER_SHARE else None
    return Question(form, who, given, right, (wrong[0], wrong[1]), other, beside)


def _draw_certainty_question(rng: Random, form: Form) -> Question:
    """A poodle is napping and filthy: it is resting, and it is not clean. What is asked for decides."""
    who = draw_kind(rng)
    group = group_of(who)
    right, *wrong = (named(rng, value) for value in draw_apart(rng, group, len(LABELS)))
    towards, against = (reworded, barring) if form == "sure" else (barring, reworded)
    given, beside = rng.choice(towards(right, group)), rng.choice(against(wrong[0], group))
    return Question(form, who, given, right, (wrong[0], wrong[1]), None, beside)


_DRAWN: dict[Form, Callable[[Random, Form], Question]] = {
    "kind": _draw_kind_question,
    "member": _draw_member_question,
    "value": _draw_value_question,
    "sure": _draw_certainty_question,
    "excluded": _draw_certainty_question,
}
