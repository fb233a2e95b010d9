"""Drawing evidence that supports a claim, refutes it or is not enough, among much else. No language in it."""

from __future__ import annotations

from random import Random

from verax.data.world.facts import Fact, Scene
from verax.data.world.inference import describe, draw_answers, draw_referents, draw_stranger, draw_value, shuffled
from verax.data.world.knowledge import AFFORDS, dimension_of, group_of, is_a, values

_STRANGERS = (2, 3, 3)
_ALIKE_SHARE = 0.6
_SAME_VALUE_SHARE = 0.5


def draw_evidence(rng: Random, claim: Scene, label: str) -> Scene:
    """A scene of three or four things, of which one is the claim's.

    The others are often described in the very dimension of the claim, and then often by the very value.

    Args:
        label: as for a premise: what the claim is to be, `entailment`, `neutral` or `contradiction`.
    """
    kinds, wanted = draw_referents(rng, claim, label)
    own = len(kinds)
    for _ in range(rng.choice(_STRANGERS)):
        kinds.append(draw_stranger(rng, (*claim.kinds, *kinds)))
    facts = draw_answers(rng, kinds, claim, wanted)
    asked = frozenset(dimension_of(fact.concept) for fact in claim.facts)
    more = int(not facts or rng.random() < 0.7)
    facts += describe(rng, kinds, 0, more, asked, in_relation=False)
    for stranger in range(own, len(kinds)):
        alike = _alike(rng, kinds, stranger, claim) if rng.random() < _ALIKE_SHARE else []
        more = (not alike) + (rng.random() < 0.6)
        facts += [*alike, *describe(rng, kinds, stranger, more, asked, in_relation=False)]
    return shuffled(rng, Scene(tuple(kinds), tuple(facts)))


def _alike(rng: Random, kinds: list[str], stranger: int, claim: Scene) -> list[Fact]:
    """A fact of a stranger in a dimension that the claim speaks of, if the stranger has it."""
    group = group_of(kinds[stranger])
    possible = [fact for fact in claim.facts if dimension_of(fact.concept) in AFFORDS[group]]
    if not possible:
        return []
    asked = rng.choice(possible)
    dimension = dimension_of(asked.concept)
    same = [value for value in values(group, dimension) if is_a(value, asked.concept)]
    value = rng.choice(same) if same and rng.random() < _SAME_VALUE_SHARE else draw_value(rng, group, dimension)
    return [Fact(stranger, value, rng.random() >= 0.1)]
