"""Which sentence is against common sense: two sentences of the little world that differ in one thing.

Where one of two words makes the wrong sentence, either could have: they are drawn before it is chosen which. So no
word alone tells which sentence is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from random import Random
from typing import get_args

from verax.data.world.commonsense_en import Form, Mark, Riddle, in_words
from verax.data.world.explain_commonsense_en import explained
from verax.data.world.knowledge import AFFORDS, LIVING, excludes, group_of, is_a, narrower, relations, values
from verax.data.world.phrase import Sentence
from verax.data.world.rewording_en import (
    all_named,
    barring,
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
from verax.types import Dataset, Human, Instance

LABELS = ("first", "second")
_GROUPS = tuple(AFFORDS)
_FORMS: tuple[Form, ...] = get_args(Form)
_WEIGHTS = (3, 4, 1, 2)
_SAME_GROUP_SHARE = 0.7
_SAME_DIMENSION_SHARE = 0.5
_ONLY_ALIVE = tuple(
    value for root in ("eat", "drink", "talk", "sing", "sleep", "walk", "angry", "ill") for value in narrower(root)
)
# vehicles run, toys sing and instruments talk, in a way
_LIFELESS = ("furniture", "garment", "fruit", "tool", "container", "flower")


@registered(
    "world/commonsense",
    "Which of two sentences is against common sense? With gold words, span pairs and explanations.",
)
def load(split: str = "test", limit: int | None = None, seed: int = 0) -> Dataset:
    """Pairs of sentences, which of them is against common sense, the words that clash, and sentences that say why.

    Args:
        split: `train`, `validation` or `test`. What the sentences of a split share is shared by none of another.
        limit: how many instances, from the first on; all of the split by default.
        seed: another seed draws other instances of the same split.
    """
    return draw_dataset("commonsense", LABELS, compose, split, limit, seed)


def compose(rng: Random, split: str, label: str, name: str) -> Instance:
    """One pair of a split whose wrong sentence has the place that is asked for."""
    riddle = drawn_for(split, draw_riddle, attrgetter("key"), rng)
    right, wrong = in_words(riddle, rng)
    place = LABELS.index(label)
    parts = (wrong.text, right.text) if place == 0 else (right.text, wrong.text)
    human = _gold(riddle, wrong, place)
    return Instance(name, parts, label, human=human)


def _gold(riddle: Riddle, wrong: Sentence[Mark], place: int) -> Human:
    """The words of the wrong sentence that clash; there is nothing to be said of the right one."""
    words: list[tuple[int, ...]] = [(), ()]
    words[place] = wrong.carriers(("known", "claimed"))
    pairs = tuple(tuple(sorted((a, b))) for a in wrong.spans("known", place) for b in wrong.spans("claimed", place))
    return Human(words=tuple(words), span_pairs=pairs, explanations=explained(riddle))


def draw_riddle(rng: Random) -> Riddle:
    """A pair of any form."""
    form = rng.choices(_FORMS, _WEIGHTS)[0]
    return _DRAWN[form](rng)


def _draw_kinds(rng: Random) -> Riddle:
    """A poodle is a dog, and no horse."""
    pools = kind_pools()
    pool = rng.choice(pools[1:]) if rng.random() < _SAME_GROUP_SHARE else pools[0]
    right, wrong = (named(rng, kind) for kind in rng.sample(pool, 2))
    known = rng.choice(reworded(right, group_of(right.concept)))
    group = group_of(known.concept)
    dimension = rng.choice([d for d in AFFORDS[group] if d != "activity"])
    return Riddle("kind", known.concept, known, right, wrong, aside=named(rng, rng.choice(values(group, dimension))))


def _draw_values(rng: Random) -> Riddle:
    """What is scarlet is red and not blue; who sleeps may be old, but does not run."""
    subject = draw_kind(rng)
    group = group_of(subject)
    together = rng.random() < _SAME_DIMENSION_SHARE
    draw = draw_exclusive if together else draw_apart
    right, wrong = (named(rng, value) for value in draw(rng, group, 2))
    known = rng.choice(reworded(right, group) if together else barring(wrong, group))
    return Riddle("value", subject, known, right, wrong)


def _draw_alive(rng: Random) -> Riddle:
    """Somebody near a table may sleep; the table does not."""
    subject, other = draw_kind(rng, LIVING), draw_kind(rng, _LIFELESS)
    group = group_of(subject)
    alive = [value for d in AFFORDS[group] for value in values(group, d) if value in _ONLY_ALIVE]
    relation = named(rng, rng.choice(relations(group, group_of(other))))
    return Riddle("alive", subject, named(rng, rng.choice(alive)), relation, relation, other=other)


def _draw_relations(rng: Random) -> Riddle:
    """What is above a box is not below it, but may be bigger."""
    while True:
        subject = draw_kind(rng)
        other = unlike(rng, subject, _GROUPS)
        possible = relations(group_of(subject), group_of(other))
        pool = [relation for relation in possible if any(excludes(relation, r) for r in possible)]
        if not excludes(subject, other) or len(pool) < 2:
            continue
        right, wrong = rng.sample(pool, 2)
        if excludes(right, wrong) or is_a(right, wrong) or is_a(wrong, right):
            continue
        known = rng.choice(all_named(r for r in possible if excludes(r, wrong)))
        return Riddle("relation", subject, known, named(rng, right), named(rng, wrong), other=other)


_DRAWN: dict[Form, Callable[[Random], Riddle]] = {
    "kind": _draw_kinds,
    "value": _draw_values,
    "alive": _draw_alive,
    "relation": _draw_relations,
}
