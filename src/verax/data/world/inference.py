"""Random hypotheses, and premises that entail them, contradict them or neither; no language is involved.

A hypothesis is drawn independently of the label, so it cannot reveal it.
"""

from __future__ import annotations

from random import Random

from verax.data.world.facts import Fact, FactVerdict, Scene, decide
from verax.data.world.knowledge import (
    AFFORDS,
    COMPARISONS,
    INVERSE,
    ONE_WAY,
    dimension_of,
    excludes,
    group_of,
    is_a,
    narrower,
    relations,
    values,
    wider,
)

VERDICTS: dict[str, FactVerdict] = {"entailment": "follows", "neutral": "open", "contradiction": "excluded"}
_RELATION_SHARE = 0.15
_DISTRACTOR_SHARE = 0.65
_GROUP_WEIGHTS = {"person": 4, "animal": 4}


def draw_hypothesis(rng: Random) -> Scene:
    """A statement about one thing (one or two facts), or about a relation of two things."""
    return _draw_relation(rng) if rng.random() < _RELATION_SHARE else draw_attributes(rng)


def _draw_kind(rng: Random, groups: tuple[str, ...]) -> str:
    group = rng.choices(groups, [_GROUP_WEIGHTS.get(group, 1) for group in groups])[0]
    return group if rng.random() < 0.12 else rng.choice(narrower(group)[1:])


def draw_attributes(rng: Random) -> Scene:
    """A statement about one thing: one or two facts in different dimensions."""
    kind = _draw_kind(rng, tuple(AFFORDS))
    count = 2 if rng.random() < 0.2 else 1
    dimensions = _draw_dimensions(rng, group_of(kind), count)
    denied = 0.2 if count == 1 else 0.1
    facts = (Fact(0, draw_value(rng, group_of(kind), dimension), rng.random() >= denied) for dimension in dimensions)
    return Scene((kind,), tuple(facts))


def _draw_dimensions(rng: Random, group: str, count: int, barred: frozenset[str] = frozenset()) -> list[str]:
    """Distinct dimensions; activity, place and colour are drawn more often than other qualities."""
    left = {d: 2.0 if d in ("activity", "place", "colour") else 1.0 for d in AFFORDS[group] if d not in barred}
    chosen: list[str] = []
    for _ in range(min(count, len(left))):
        chosen.append(rng.choices(list(left), list(left.values()))[0])
        del left[chosen[-1]]
    return chosen


def draw_value(rng: Random, group: str, dimension: str) -> str:
    """A value of a dimension that makes sense for a group."""
    return rng.choice(values(group, dimension))


def _draw_relation(rng: Random) -> Scene:
    while True:
        first = _draw_kind(rng, tuple(AFFORDS))
        second = _draw_kind(rng, tuple(AFFORDS))
        possible = relations(group_of(first), group_of(second))
        if possible and excludes(first, second):
            return Scene((first, second), (Fact(0, rng.choice(possible), rng.random() >= 0.2, 1),))


def draw_premise(rng: Random, hypothesis: Scene, label: str) -> Scene:
    """A scene with the things of the hypothesis and usually one distractor, in random order."""
    kinds, verdicts = draw_referents(rng, hypothesis, label)
    if rng.random() < _DISTRACTOR_SHARE:
        kinds.append(draw_distractor(rng, (*hypothesis.kinds, *kinds)))
    facts = draw_answers(rng, kinds, hypothesis, verdicts)
    facts += _draw_details(rng, kinds, hypothesis, facts)
    return shuffle_things(rng, Scene(tuple(kinds), tuple(facts)))


def draw_referents(rng: Random, hypothesis: Scene, label: str) -> tuple[list[str], list[FactVerdict]]:
    """Kinds for the things of the hypothesis that fit the label, and the verdict to produce for each of its facts."""
    kinds = [_draw_narrow(rng, kind) for kind in hypothesis.kinds]
    widened = label == "neutral" and rng.random() < 0.25 and _widen(rng, hypothesis, kinds)
    verdicts: list[FactVerdict] = ["follows"] * len(hypothesis.facts)
    if not widened:
        verdicts[rng.randrange(len(verdicts))] = VERDICTS[label]
    elif rng.random() < 0.5:
        verdicts[0] = rng.choice(tuple(VERDICTS.values()))
    return kinds, verdicts


def draw_answers(rng: Random, kinds: list[str], hypothesis: Scene, verdicts: list[FactVerdict]) -> list[Fact]:
    """Facts of the premise that produce the verdict on each fact of the hypothesis."""
    facts: list[Fact] = []
    for fact, verdict in zip(hypothesis.facts, verdicts, strict=True):
        draw = _draw_known if fact.other is None else _draw_known_relation
        facts += draw(rng, kinds, fact, verdict)
    return facts


def _draw_narrow(rng: Random, kind: str) -> str:
    return kind if rng.random() < 0.4 else rng.choice(narrower(kind))


def _widen(rng: Random, hypothesis: Scene, kinds: list[str]) -> bool:
    """Replace one kind by a wider one that excludes the other things; whether there is one."""
    thing = rng.randrange(len(kinds))
    others = [kind for number, kind in enumerate(hypothesis.kinds) if number != thing]
    possible = [w for w in wider(hypothesis.kinds[thing])[1:] if all(excludes(w, other) for other in others)]
    if possible:
        kinds[thing] = rng.choice(possible)
    return bool(possible)


def draw_distractor(rng: Random, kinds: tuple[str, ...]) -> str:
    """A kind that excludes all the given kinds."""
    while True:
        kind = _draw_kind(rng, tuple(AFFORDS))
        if all(excludes(kind, other) for other in kinds):
            return kind


def _draw_known(rng: Random, kinds: list[str], asked: Fact, verdict: FactVerdict) -> list[Fact]:
    """At most one fact in the dimension of the asked fact, which produces the verdict."""
    if verdict == "open" and rng.random() < 0.5:
        return []
    group = group_of(kinds[asked.thing])
    possible = [
        Fact(asked.thing, value, holds)
        for value in values(group, dimension_of(asked.concept))
        for holds in (True, False)
        if decide(value, holds, asked.concept, asked.holds) == verdict
        and (is_a(value, asked.concept) or is_a(asked.concept, value) or verdict != "open")
    ]
    return [_pick(rng, possible, asked)] if possible else []


def _pick(rng: Random, possible: list[Fact], asked: Fact) -> Fact:
    """One fact: mostly an affirmed one, and with probability 0.4 the asked value itself if possible."""
    affirmed = [fact for fact in possible if fact.holds]
    denied = [fact for fact in possible if not fact.holds]
    chosen = denied if denied and (not affirmed or rng.random() < 0.2) else affirmed
    same = [fact for fact in chosen if fact.concept == asked.concept]
    return same[0] if same and rng.random() < 0.4 else rng.choice(chosen)


def _draw_known_relation(rng: Random, kinds: list[str], asked: Fact, verdict: FactVerdict) -> list[Fact]:
    first, second = asked.thing, asked.other
    if second is None:
        raise ValueError("a relation needs two things")
    if verdict == "open" and rng.random() < 0.3:
        for third in range(2, len(kinds)):
            if asked.concept in relations(group_of(kinds[first]), group_of(kinds[third])):
                return [Fact(first, asked.concept, True, third)]
    possible: list[Fact] = []
    for a, b in ((first, second), (second, first)):
        for relation in relations(group_of(kinds[a]), group_of(kinds[b])):
            concept = relation if a == first else INVERSE.get(relation)
            if concept is None:
                fits = verdict == "open" and asked.holds and relation in ONE_WAY and is_a(relation, asked.concept)
                possible += [Fact(a, relation, True, b)] if fits else []
                continue
            for holds in (True, False):
                if decide(concept, holds, asked.concept, asked.holds) == verdict and (
                    verdict != "open" or _leaves_open(concept, asked.concept)
                ):
                    possible.append(Fact(a, relation, holds, b))
    return [_pick(rng, possible, asked)] if possible else []


def _leaves_open(known: str, asked: str) -> bool:
    """Whether a relation leaves another one open that it is related to, or both are independent comparisons."""
    related = is_a(known, asked) or is_a(asked, known)
    return related or (known in COMPARISONS and asked in COMPARISONS and not excludes(known, asked))


def _draw_details(rng: Random, kinds: list[str], hypothesis: Scene, facts: list[Fact]) -> list[Fact]:
    """Irrelevant facts: about the things of the hypothesis in other dimensions, about distractors in any."""
    asked = frozenset(dimension_of(fact.concept) for fact in hypothesis.facts)
    added: list[Fact] = []
    related = {t for fact in facts for t in (fact.thing, fact.other) if fact.other is not None}
    for thing in range(len(hypothesis.kinds)):
        unmentioned = thing not in related and all(fact.thing != thing for fact in facts)
        count = (len(kinds) == 1) + (unmentioned or rng.random() < (0.1 if related else 0.25))
        added += draw_irrelevant(rng, kinds, thing, count, asked, thing in related)
    for distractor in {*range(len(hypothesis.kinds), len(kinds))} - related:
        group = group_of(kinds[distractor])
        same = [d for d in sorted(asked) if d in AFFORDS[group] and rng.random() < 0.4]
        added += [Fact(distractor, draw_value(rng, group, d), rng.random() >= 0.1) for d in same[:1]]
        if not same or rng.random() < 0.1:
            added += draw_irrelevant(rng, kinds, distractor, 1, asked, in_relation=False)
    return added


def draw_irrelevant(
    rng: Random, kinds: list[str], thing: int, count: int, asked: frozenset[str], in_relation: bool
) -> list[Fact]:
    """Facts about a thing in distinct dimensions other than the asked ones."""
    group = group_of(kinds[thing])
    barred = asked | {"activity", "place"} if in_relation else asked
    holds = in_relation or rng.random() >= 0.1
    return [Fact(thing, draw_value(rng, group, d), holds) for d in _draw_dimensions(rng, group, count, barred)]


def shuffle_things(rng: Random, scene: Scene) -> Scene:
    """The scene with its things in random order."""
    order = list(range(len(scene.kinds)))
    rng.shuffle(order)
    place = {old: new for new, old in enumerate(order)}
    facts = tuple(
        fact._replace(thing=place[fact.thing], other=None if fact.other is None else place[fact.other])
        for fact in scene.facts
    )
    return Scene(tuple(scene.kinds[old] for old in order), facts)
