"""Common sense: which of two sentences that differ in one thing cannot be true?

Either of two words could have made the wrong sentence: they are drawn before it is chosen which one does. So no word
alone reveals the wrong sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from random import Random
from typing import Literal, get_args

from verax.data.world import read_toml
from verax.data.world.knowledge import (
    AFFORDS,
    LIVING,
    dimension_of,
    excludes,
    group_of,
    is_a,
    narrower,
    relations,
    values,
)
from verax.data.world.lexicon_en import FUNCTION_WORDS, article, synonyms, to_sentence, with_article
from verax.data.world.paraphrases_en import (
    Term,
    contradictions,
    draw_exclusive,
    draw_independent,
    draw_kind,
    draw_term,
    draw_unlike,
    kind_pools,
    paraphrases,
    terms_of,
)
from verax.data.world.phrase import Phrase, TaggedText, as_text, plain, tagged
from verax.data.world.splits import DrawnTask, draw_for_split
from verax.types import Human, Instance

ContrastForm = Literal["kind", "value", "alive", "relation"]
ContrastTag = Literal["known", "claimed"]

LABELS = ("first", "second")
_WEIGHTS = (3, 4, 1, 2)  # of the forms
_SAME_GROUP_SHARE = 0.7
_SAME_DIMENSION_SHARE = 0.5
_ONLY_ALIVE = tuple(
    value for root in ("eat", "drink", "talk", "sing", "sleep", "walk", "angry", "ill") for value in narrower(root)
)
# without vehicles, toys and instruments, which run, sing and talk in a way
_LIFELESS = ("furniture", "garment", "fruit", "tool", "container", "flower")


@dataclass(frozen=True, slots=True)
class SentenceContrast:
    """The content of two sentences that differ in one thing.

    Args:
        known: what both say about it; of form `alive`, the right one about the subject, the wrong one about `other`.
        right: what the right sentence adds; of form `alive`, the relation in both.
        wrong: what the wrong sentence adds; excluded by `known`.
        aside: unrelated information, for a sentence about kinds.
    """

    form: ContrastForm
    kind: str
    known: Term
    right: Term
    wrong: Term
    aside: Term | None = None
    other: str | None = None

    @property
    def key(self) -> str:
        """Key of what both sentences say, independent of words."""
        aside = None if self.aside is None else self.aside.concept
        return repr((self.form, self.kind, self.known.concept, aside, self.other))

    @property
    def noun(self) -> str:
        """The noun for the subject."""
        return self.known.words if self.form == "kind" else synonyms(self.kind)[0]

    @property
    def object(self) -> str:
        """A space, "the" and the second thing; empty without one."""
        return "" if self.other is None else f" the {synonyms(self.other)[0]}"


def compose(rng: Random, split: str, label: str, name: str) -> Instance:
    """One pair whose wrong sentence has the given place; only its words are gold."""
    contrast = draw_for_split(split, draw_contrast, attrgetter("key"), rng)
    right, wrong = write_sentences(contrast, rng)
    place = LABELS.index(label)
    words: list[tuple[int, ...]] = [(), ()]
    words[place] = wrong.content_words(("known", "claimed"))
    pairs = tuple(tuple(sorted((a, b))) for a in wrong.spans("known", place) for b in wrong.spans("claimed", place))
    parts = (wrong.text, right.text) if place == 0 else (right.text, wrong.text)
    return Instance(name, parts, label, human=Human(tuple(words), pairs, explain_contrast(contrast)))


def draw_contrast(rng: Random) -> SentenceContrast:
    """The content of two sentences of any form."""
    form: ContrastForm = rng.choices(get_args(ContrastForm), _WEIGHTS)[0]
    return _DRAW[form](rng)


def _draw_kinds(rng: Random) -> SentenceContrast:
    """A poodle is a dog, not a horse."""
    pools = kind_pools()
    pool = rng.choice(pools[1:]) if rng.random() < _SAME_GROUP_SHARE else pools[0]
    right, wrong = (draw_term(rng, kind) for kind in rng.sample(pool, 2))
    known = rng.choice(paraphrases(right, group_of(right.concept)))
    group = group_of(known.concept)
    dimension = rng.choice([d for d in AFFORDS[group] if d != "activity"])
    aside = draw_term(rng, rng.choice(values(group, dimension)))
    return SentenceContrast("kind", known.concept, known, right, wrong, aside=aside)


def _draw_values(rng: Random) -> SentenceContrast:
    """What is scarlet is red and not blue; a sleeping boy may be old, but is not running."""
    kind = draw_kind(rng)
    group = group_of(kind)
    exclusive = rng.random() < _SAME_DIMENSION_SHARE
    draw = draw_exclusive if exclusive else draw_independent
    right, wrong = (draw_term(rng, value) for value in draw(rng, group, 2))
    known = rng.choice(paraphrases(right, group) if exclusive else contradictions(wrong, group))
    return SentenceContrast("value", kind, known, right, wrong)


def _draw_alive(rng: Random) -> SentenceContrast:
    """A boy near a table may sleep; the table does not."""
    kind, other = draw_kind(rng, LIVING), draw_kind(rng, _LIFELESS)
    group = group_of(kind)
    alive = [value for d in AFFORDS[group] for value in values(group, d) if value in _ONLY_ALIVE]
    relation = draw_term(rng, rng.choice(relations(group, group_of(other))))
    return SentenceContrast("alive", kind, draw_term(rng, rng.choice(alive)), relation, relation, other=other)


def _draw_relations(rng: Random) -> SentenceContrast:
    """What is above a box is not below it, but may be bigger."""
    while True:
        kind = draw_kind(rng)
        other = draw_unlike(rng, kind, tuple(AFFORDS))
        possible = relations(group_of(kind), group_of(other))
        pool = [relation for relation in possible if any(excludes(relation, r) for r in possible)]
        if not excludes(kind, other) or len(pool) < 2:
            continue
        right, wrong = rng.sample(pool, 2)
        if excludes(right, wrong) or is_a(right, wrong) or is_a(wrong, right):
            continue
        known = rng.choice(terms_of(r for r in possible if excludes(r, wrong)))
        return SentenceContrast("relation", kind, known, draw_term(rng, right), draw_term(rng, wrong), other=other)


_DRAW: Mapping[ContrastForm, Callable[[Random], SentenceContrast]] = {
    "kind": _draw_kinds,
    "value": _draw_values,
    "alive": _draw_alive,
    "relation": _draw_relations,
}


def write_sentences(contrast: SentenceContrast, rng: Random) -> tuple[TaggedText[ContrastTag], TaggedText[ContrastTag]]:
    """The right and the wrong sentence."""
    right, wrong = _WRITE[contrast.form](contrast, rng)
    return as_text(right + plain(".")), as_text(wrong + plain("."))


def _write_kinds(contrast: SentenceContrast, rng: Random) -> tuple[Phrase[ContrastTag], ...]:
    """ "The wet poodle is a dog." """
    if contrast.aside is None:
        raise ValueError("a sentence about kinds needs unrelated information")
    aside = plain(contrast.aside.words)
    subject = plain("the") + _qualified(_known(contrast), aside, contrast.aside.concept, contrast.kind, rng)
    return tuple(
        subject + plain(f"is {article(kind.words)}") + _claimed(kind.words) for kind in (contrast.right, contrast.wrong)
    )


def _write_values(contrast: SentenceContrast, rng: Random) -> tuple[Phrase[ContrastTag], ...]:
    """ "The sleeping boy is running.", or "The boy is sleeping and running." """
    if rng.random() < 0.3:
        start = plain(f"the {contrast.noun} is") + _known(contrast) + plain("and")
    else:
        subject = _qualified(plain(contrast.noun), _known(contrast), contrast.known.concept, contrast.kind, rng)
        start = plain("the") + subject + plain("is")
    return tuple(start + _claimed(value.words) for value in (contrast.right, contrast.wrong))


def _write_alive(contrast: SentenceContrast, rng: Random) -> tuple[Phrase[ContrastTag], ...]:
    """ "The sleeping boy is near the table.", and "The boy is near the sleeping table." """
    if contrast.other is None:
        raise ValueError("a sentence about a living being needs a lifeless thing")
    living, thing = plain(contrast.noun), _claimed(synonyms(contrast.other)[0])
    clause = rng.random() < 0.5
    nouns = (
        (_described(living, _known(contrast), clause, contrast.kind), thing),
        (living, _described(thing, _known(contrast), clause, contrast.other)),
    )
    return tuple(plain("the") + a + plain(f"is {contrast.right.words} the") + b for a, b in nouns)


def _write_relations(contrast: SentenceContrast, rng: Random) -> tuple[Phrase[ContrastTag], ...]:
    """ "The hat that is above the box is below the box." """
    known = _known(contrast) + plain(contrast.object)
    if rng.random() < 0.5:
        start = plain(f"the {contrast.noun} is") + known + plain("and")
    else:
        start = plain(f"the {contrast.noun} {_relative(contrast.kind)} is") + known + plain("is")
    return tuple(
        start + _claimed(relation.words) + plain(contrast.object) for relation in (contrast.right, contrast.wrong)
    )


_WRITE: Mapping[ContrastForm, Callable[[SentenceContrast, Random], tuple[Phrase[ContrastTag], ...]]] = {
    "kind": _write_kinds,
    "value": _write_values,
    "alive": _write_alive,
    "relation": _write_relations,
}


def _known(contrast: SentenceContrast) -> Phrase[ContrastTag]:
    return tagged(contrast.known.words, "known", FUNCTION_WORDS)


def _claimed(words: str) -> Phrase[ContrastTag]:
    return tagged(words, "claimed", FUNCTION_WORDS)


def _qualified(
    noun: Phrase[ContrastTag], value: Phrase[ContrastTag], concept: str, kind: str, rng: Random
) -> Phrase[ContrastTag]:
    """A noun with a value: a place follows it, others precede it or form a relative clause."""
    if dimension_of(concept) == "place":
        return noun + value
    return _described(noun, value, rng.random() < 0.4, kind)


def _described(noun: Phrase[ContrastTag], value: Phrase[ContrastTag], clause: bool, kind: str) -> Phrase[ContrastTag]:
    return noun + plain(f"{_relative(kind)} is") + value if clause else value + noun


def _relative(kind: str) -> str:
    return "who" if group_of(kind) == "person" else "that"


_EXPLANATIONS: Mapping[ContrastForm, list[str]] = read_toml("explanations_en.toml")["contrasts"]


def explain_contrast(contrast: SentenceContrast) -> tuple[str, ...]:
    """Three explanations that refute the wrong sentence."""
    terms = {"known": contrast.known.words, "right": contrast.right.words, "wrong": contrast.wrong.words}
    fields = {
        **terms,
        **{f"a_{name}": with_article(words) for name, words in terms.items()},
        "noun": contrast.noun,
        "object": contrast.object,
        "a_thing": "" if contrast.other is None else with_article(synonyms(contrast.other)[0]),
    }
    return tuple(to_sentence(template.format(**fields)) for template in _EXPLANATIONS[contrast.form])


load = DrawnTask(
    "world/commonsense",
    "Which of two sentences is against common sense? With gold words, span pairs and explanations.",
    LABELS,
    compose,
)
