"""Templates of explanations: phrases with gaps, and the two statements made from the fillers of the gaps."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import NamedTuple

SLOTS = ("X", "Y", "Z")
AGREEING = ("be", "do")
"""Verbs of a premise or hypothesis that are inserted in agreement with their subject."""
_SIGN = re.compile(r"[\[\]()|]|[^\[\]()|\s]+")
_SUBJECTS = frozenset({"he", "i", "it", "she", "that", "there", "these", "they", "this", "those", "we", "you"})
_FINITE = frozenset({"is", "are", "was", "were"})


class NormalisedSentence(NamedTuple):
    """A normalised sentence: its words with a single space on both sides, as written and in lower case."""

    text: str
    lower: str
    words: frozenset[str]

    @classmethod
    def of(cls, words: str) -> NormalisedSentence:
        """From words separated by single spaces."""
        lower = words.lower()
        # A few letters are longer in lower case; then capitals are dropped, since gaps are found by position.
        text = words if len(lower) == len(words) else lower
        return cls(f" {text} ", f" {lower} ", frozenset(lower.split()))


Filled = Mapping[str, str]
"""The filler of each gap."""


@dataclass(frozen=True, slots=True)
class Phrasing:
    """One way to say a template.

    Args:
        literals: the words before the first gap, between gaps and after the last, with a space on both sides; a single
            space if there are none, at the beginning or the end.
        gaps: their names, in the order of the sentence.
    """

    literals: tuple[str, ...]
    gaps: tuple[str, ...]
    words: frozenset[str]

    @classmethod
    def of(cls, signs: Sequence[str]) -> Phrasing:
        """From words and gaps; gaps must not be adjacent."""
        literals = [" "]
        for sign in signs:
            if sign in SLOTS:
                literals.append(" ")
            else:
                literals[-1] += f"{sign} "
        if " " in literals[1:-1]:
            raise ValueError(f"two gaps of a template are adjacent: {' '.join(signs)!r}")
        words = frozenset(sign for sign in signs if sign not in SLOTS)
        return cls(tuple(literals), tuple(sign for sign in signs if sign in SLOTS), words)

    def fill(self, sentence: NormalisedSentence) -> Filled | None:
        """Fillers of the gaps, each as short as possible from the left; None if the sentence does not match."""
        if not self.words <= sentence.words:
            return None
        first, *between, last = self.literals
        if not (sentence.lower.startswith(first) and sentence.lower.endswith(last)):
            return None
        start, filled = len(first), []
        for literal in between:
            place = sentence.lower.find(literal, start)
            if place < 0:
                return None
            filled.append(sentence.text[start:place])
            start = place + len(literal)
        filled.append(sentence.text[start : len(sentence.text) - len(last)])
        trimmed = [_trimmed(gap) for gap in filled]
        return dict(zip(self.gaps, trimmed, strict=True)) if all(trimmed) else None


@dataclass(frozen=True)
class Template:
    """A phrase with gaps, the label it supports, and how to make premise and hypothesis from the fillers.

    Args:
        phrase: words, and gaps X, Y and Z; `(a|b)` are alternatives, `[a]` is optional.
        premise, hypothesis: words and gaps. `X be Y` stands for `X is Y` or `X are Y`, `X do Y` for `X runs` or
            `X run`, whichever agrees with X.
        nouns: whether both gaps must be things, without a verb.
    """

    phrase: str
    label: str
    premise: str = "X"
    hypothesis: str = "Y"
    nouns: bool = False

    @cached_property
    def phrasings(self) -> tuple[Phrasing, ...]:
        """All phrasings, those with the most words first."""
        ways = sorted(dict.fromkeys(_expand(self.phrase)), key=lambda signs: -len(signs))
        return tuple(map(Phrasing.of, ways))

    @cached_property
    def predicates(self) -> frozenset[str]:
        """Gaps that are filled by a predicate, not by a statement."""
        halves = self.premise.split(), self.hypothesis.split()
        return frozenset(half[-1] for half in halves if len(half) > 1)

    def match(self, sentence: NormalisedSentence) -> Filled | None:
        """Fillers of the gaps by the first phrasing that matches; None if none does."""
        for phrasing in self.phrasings:
            filled = phrasing.fill(sentence)
            if filled and not any(_is_clause(filled[gap]) for gap in self.predicates):
                return filled
        return None


def _is_clause(words: str) -> bool:
    """Whether words are a clause of their own: `he is asleep` is no predicate of a dog."""
    first, *others = words.lower().split()
    return bool(others) and (first in _SUBJECTS or not _FINITE.isdisjoint(others))


def _trimmed(gap: str) -> str:
    """A filler without surrounding spaces and signs, and with normal commas."""
    return gap.strip(" ,:;-'").replace(" ,", ",")


def _expand(phrase: str) -> list[tuple[str, ...]]:
    """All phrasings of a phrase with alternatives and options."""
    signs = _SIGN.findall(phrase)
    ways, end = _alternatives(signs, 0)
    if end != len(signs):
        raise ValueError(f"a bracket is not closed, or not opened, in the template {phrase!r}")
    return ways


def _alternatives(signs: Sequence[str], at: int) -> tuple[list[tuple[str, ...]], int]:
    """All phrasings from a sign to the bracket that closes it, and its position."""
    ways: list[tuple[str, ...]] = []
    current: list[tuple[str, ...]] = [()]
    while at < len(signs) and signs[at] not in {")", "]"}:
        if signs[at] == "|":
            ways, current = ways + current, [()]
        elif signs[at] in {"(", "["}:
            optional = [()] if signs[at] == "[" else []
            inner, at = _alternatives(signs, at + 1)
            current = [(*before, *after) for before, after in product(current, [*inner, *optional])]
        else:
            current = [(*before, signs[at]) for before in current]
        at += 1
    return ways + current, at
