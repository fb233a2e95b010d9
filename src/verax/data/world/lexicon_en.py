"""English words for the concepts of the world. A concept that is not listed is called by its own name."""

from __future__ import annotations

from collections.abc import Mapping

from verax.data.world.knowledge import dimension_of

_SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "furniture": ("piece of furniture",),
    "instrument": ("musical instrument",),
    "rabbit": ("rabbit", "bunny"),
    "sofa": ("sofa", "couch"),
    "spade": ("spade", "shovel"),
    "big": ("big", "large"),
    "huge": ("huge", "enormous"),
    "small": ("small", "little"),
    "worn": ("old",),
    "expensive": ("expensive", "costly"),
    "rich": ("rich", "wealthy"),
    "ill": ("ill", "sick"),
    "angry": ("angry", "cross"),
    "calm": ("calm", "peaceful"),
    "sprint": ("sprinting",),
    "walk": ("walking",),
    "look_at": ("looking at",),
    "talk": ("talking", "speaking"),
    "outdoors": ("outdoors", "in the open air"),
    "indoors": ("indoors", "under a roof"),
    "forest": ("in the forest", "in the woods"),
    "field": ("in the field", "in the meadow"),
    "beach": ("on the beach", "at the beach"),
    "street": ("on the street", "on the road"),
    "alley": ("in the alley",),
    "avenue": ("on the avenue",),
    "market": ("at the market",),
    "theatre": ("at the theatre",),
    "museum": ("in the museum",),
    "far": ("far from", "far away from"),
    "near": ("near", "close to"),
    "next_to": ("next to", "beside"),
    "before": ("in front of",),
    "below": ("below", "underneath"),
    "above": ("above", "over"),
    **{word: (f"{word} than",) for word in ("bigger", "smaller", "older", "younger")},
}

_PRESENT_PARTICIPLES: Mapping[str, str] = {
    "move": "moving",
    "run": "running",
    "jog": "jogging",
    "swim": "swimming",
    "climb": "climbing",
    "dance": "dancing",
    "nap": "napping",
    "doze": "dozing",
    "nibble": "nibbling",
    "sip": "sipping",
    "chat": "chatting",
    "yodel": "yodelling",
    "write": "writing",
    "chase": "chasing",
}

_PAST_PARTICIPLES: Mapping[str, str] = {
    **{verb: f"{verb}ed" for verb in ("follow", "push", "pull", "watch")},
    "chase": "chased",
    "hold": "held",
    "carry": "carried",
}

SILENT = frozenset(("in", "on", "at", "to", "of", "the", "a", "than", "piece", "being", "from", "away"))
"""Words of a phrase that carry none of its meaning on their own."""

PLACE_DEFAULT = "in the {}"


def words_of(concept: str) -> tuple[str, ...]:
    """The ways to say a concept after "is" (or, for a kind, after "a"); each may be several words."""
    if concept in _SYNONYMS:
        return _SYNONYMS[concept]
    dimension = dimension_of(concept)
    if dimension == "activity" or concept in _PAST_PARTICIPLES:
        return (_PRESENT_PARTICIPLES.get(concept, f"{concept}ing"),)
    return (PLACE_DEFAULT.format(concept),) if dimension == "place" else (concept,)


def passive_of(relation: str) -> str | None:
    """A deed as told of the one it is done to: "being chased by"; None where English has no natural way."""
    participle = _PAST_PARTICIPLES.get(relation)
    return None if participle is None else f"being {participle} by"
