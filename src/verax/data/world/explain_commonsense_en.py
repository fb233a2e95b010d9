"""Sentences that say why another sentence can't be true, in several phrasings."""

from __future__ import annotations

from verax.data.world.commonsense_en import Riddle
from verax.data.world.lexicon_en import words_of
from verax.data.world.rewording_en import with_article


def explained(riddle: Riddle) -> tuple[str, ...]:
    """Three sentences that refute the wrong one."""
    reasons = {"kind": _of_kinds, "value": _of_values, "alive": _of_alive, "relation": _of_values}[riddle.form](riddle)
    return tuple(f"{reason[0].upper()}{reason[1:]}." for reason in reasons)


def _of_kinds(riddle: Riddle) -> tuple[str, ...]:
    known, right, wrong = riddle.known.words, riddle.right.words, riddle.wrong.words
    return (
        f"{with_article(known)} is {with_article(right)}, not {with_article(wrong)}",
        f"{with_article(known)} cannot be {with_article(wrong)}",
        f"every {known} is {with_article(right)}, and no {right} is {with_article(wrong)}",
    )


def _of_values(riddle: Riddle) -> tuple[str, ...]:
    """Of values, and of relations to the other thing."""
    known, wrong = f"{riddle.known.words}{riddle.second}", f"{riddle.wrong.words}{riddle.second}"
    return (
        f"what is {known} cannot be {wrong}",
        f"the {riddle.noun} cannot be {known} and {wrong} at the same time",
        f"if the {riddle.noun} is {known}, then the {riddle.noun} is not {wrong}",
    )


def _of_alive(riddle: Riddle) -> tuple[str, ...]:
    thing, known = words_of(riddle.other or "")[0], riddle.known.words
    return (
        f"{with_article(thing)} cannot be {known}",
        f"only people and animals can be {known}, and {with_article(thing)} is neither of them",
        f"if something is {known}, then it is not {with_article(thing)}",
    )
