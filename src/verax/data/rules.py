"""Inputs that a known rule decides: the words that matter are known, all others play no role.

Every input has two parts and one firing rule. Its deciding words are annotated, and those of different rules are
disjoint, so that inputs of all rules can be mixed. The models `rules/...` compute exactly these rules.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal, NamedTuple, get_args

from verax.data.text import split_words
from verax.data.world.splits import draw_balanced, draw_size, drawn_provenance
from verax.registry import registered
from verax.types import Dataset, Human, Instance, Span, Text

RuleName = Literal["word", "conjunction", "negation", "span_pair"]
RULES: tuple[RuleName, ...] = get_args(RuleName)
LABELS = ("negative", "neutral", "positive")
"""An input in which no rule fires is neutral; there is none in the data, but removing words makes some."""


class Feature(NamedTuple):
    """Whether one of some words occurs, in a certain part or in any."""

    words: tuple[str, ...]
    part: int | None = None


@dataclass(frozen=True)
class Clause:
    """A label, the features that must be there for it, and those that must not."""

    label: str
    present: tuple[Feature, ...]
    absent: tuple[Feature, ...] = ()


_NEGATION = Feature(("not", "never", "hardly", "rarely"), 0)
_GOOD, _BAD = Feature(("useful", "sturdy", "quick", "clean"), 1), Feature(("flimsy", "noisy", "slow", "dirty"), 1)

CLAUSES: dict[RuleName, tuple[Clause, ...]] = {
    "word": (
        Clause("positive", (Feature(("superb", "splendid", "wonderful", "marvellous")),)),
        Clause("negative", (Feature(("dreadful", "horrible", "miserable", "appalling")),)),
    ),
    "conjunction": (
        Clause(
            "positive",
            (Feature(("copper", "silver", "bronze", "iron"), 0), Feature(("lantern", "bell", "kettle", "anchor"), 1)),
        ),
        Clause(
            "negative",
            (Feature(("paper", "cotton", "woollen", "linen"), 0), Feature(("bridge", "roof", "engine", "ladder"), 1)),
        ),
    ),
    "negation": (
        Clause("negative", (_NEGATION, _GOOD)),
        Clause("positive", (_NEGATION, _BAD)),
        Clause("positive", (_GOOD,), (_NEGATION,)),
        Clause("negative", (_BAD,), (_NEGATION,)),
    ),
    "span_pair": (
        Clause(
            "positive",
            (
                *(Feature(("early", "direct"), 0), Feature(("train", "ferry"), 0)),
                *(Feature(("warm", "fresh"), 1), Feature(("bread", "soup"), 1)),
            ),
        ),
        Clause(
            "negative",
            (
                *(Feature(("late", "crowded"), 0), Feature(("tram", "coach"), 0)),
                *(Feature(("cold", "stale"), 1), Feature(("coffee", "toast"), 1)),
            ),
        ),
    ),
}
"""The clauses of each rule. In the data the words of a part are adjacent."""

ADJECTIVES = ("small", "round", "green", "tall", "narrow", "distant", "famous", "quiet", "striped", "ancient")
NOUNS = ("gardener", "window", "river", "market", "teacher", "village", "carpet", "captain", "forest", "painter")
VERBS = ("waits", "stands", "rests", "moves", "works", "remains")
PREPOSITIONS = ("by", "at", "in", "on")


def features(rules: Collection[RuleName]) -> tuple[Feature, ...]:
    """The different features of some rules, in order."""
    clauses = [clause for rule in rules for clause in CLAUSES[rule]]
    return tuple(dict.fromkeys(one for clause in clauses for one in (*clause.present, *clause.absent)))


def vocabulary() -> tuple[str, ...]:
    """All words of the data, in order."""
    deciding = [word for feature in features(RULES) for word in feature.words]
    return (*deciding, *ADJECTIVES, *NOUNS, *VERBS, *PREPOSITIONS, "the")


def fired(parts: Sequence[Collection[str]], rules: Collection[RuleName] = RULES) -> list[tuple[RuleName, Clause]]:
    """The clauses that fire for the words of each part."""

    def holds(feature: Feature) -> bool:
        places = range(len(parts)) if feature.part is None else (feature.part,)
        return any(not set(feature.words).isdisjoint(parts[place]) for place in places)

    return [
        (rule, clause)
        for rule in rules
        for clause in CLAUSES[rule]
        if all(map(holds, clause.present)) and not any(map(holds, clause.absent))
    ]


def rule_of(instance: Instance) -> RuleName | None:
    """The rule that decides an input of two parts, if exactly one does."""
    if len(instance.parts) != 2:
        return None
    found = {rule for rule, _ in fired([part.words for part in instance.parts])}
    return found.pop() if len(found) == 1 else None


def reasons_of(instance: Instance) -> frozenset[tuple[int, int]]:
    """Part and position of each word that makes a rule fire in an input of two parts, annotated or not."""
    present = [feature for _, clause in fired([part.words for part in instance.parts]) for feature in clause.present]
    return frozenset(
        (number, place)
        for number, part in enumerate(instance.parts)
        for place, word in enumerate(part.words)
        if any(word in feature.words and feature.part in {None, number} for feature in present)
    )


def _filler(rng: Random) -> list[str]:
    """A sentence of words that play no role."""

    def noun_phrase() -> Iterator[str]:
        yield "the"
        if rng.random() < 0.7:
            yield rng.choice(ADJECTIVES)
        yield rng.choice(NOUNS)

    return [*noun_phrase(), rng.choice(VERBS), rng.choice(PREPOSITIONS), *noun_phrase()]


def _compose(rng: Random, drawn: str, name: str) -> Instance:
    """One instance; `drawn` is a rule and a label."""
    rule, label = drawn.split("=")
    clauses = [one for one in CLAUSES[rule] if one.label == label]  # type: ignore[index]
    clause = clauses[0] if len(clauses) == 1 else rng.choice(clauses)
    phrases: list[list[str]] = [[], []]
    for feature in clause.present:
        phrases[rng.randrange(2) if feature.part is None else feature.part].append(rng.choice(feature.words))
    spans, parts = [], []
    for part, phrase in enumerate(phrases):
        words = _filler(rng)
        at = rng.randrange(len(words) + 1)
        words[at:at] = phrase
        spans.append(Span(part, at, at + len(phrase)))
        parts.append(_text(words))
    marked = tuple(tuple(range(span.start, span.end)) for span in spans)
    pairs = ((spans[0], spans[1]),) if all(phrases) else None
    return Instance(name.removeprefix("world/"), tuple(parts), label, human=Human(marked, pairs))


def _text(words: Sequence[str]) -> Text:
    return split_words(" ".join(words))


def _load(name: str, rules: tuple[RuleName, ...], split: str, limit: int | None, seed: int) -> Dataset:
    def compose(rng: Random, _: str, drawn: str, name: str) -> Instance:
        return _compose(rng, drawn, name)

    def texts(instance: Instance) -> tuple[str, ...]:
        return tuple(part.raw for part in instance.parts)

    drawn = tuple(f"{rule}={label}" for rule in rules for label in ("negative", "positive"))
    instances = draw_balanced(name, drawn, compose, texts, split, draw_size(split, limit), seed)
    return Dataset(name, tuple(instances), LABELS, drawn_provenance(split, seed))


def _loader(name: str, summary: str, rules: tuple[RuleName, ...]) -> Callable[..., Dataset]:
    def load(split: str = "test", limit: int | None = None, seed: int = 0) -> Dataset:
        return _load(name, rules, split, limit, seed)

    return registered(name, summary)(load)


word = _loader("rules/word", "Two sentences; one word decides.", ("word",))
conjunction = _loader("rules/conjunction", "Two sentences; a word in each decides, together.", ("conjunction",))
negation = _loader("rules/negation", "Two sentences; a word decides, and a negation flips it.", ("negation",))
span_pair = _loader("rules/span_pair", "Two sentences; a span in each decides, together.", ("span_pair",))
mixed = _loader("rules/mixed", "Two sentences that one of the four rules decides, in equal shares.", RULES)
