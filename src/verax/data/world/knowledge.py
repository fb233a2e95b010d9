"""What is true in the little world: concepts, what is a kind of what, what excludes what. No language in it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import combinations

CHILDREN: Mapping[str, tuple[str, ...]] = {
    # kinds of living beings and things
    "person": ("musician", "athlete", "doctor", "child", "artisan", "farmer", "teacher"),
    "musician": ("violinist", "drummer", "pianist"),
    "athlete": ("cyclist", "boxer", "goalkeeper"),
    "doctor": ("surgeon", "dentist"),
    "child": ("boy", "girl", "toddler"),
    "artisan": ("carpenter", "potter", "tailor"),
    "animal": ("dog", "cat", "bird", "horse", "bear", "monkey", "rabbit", "sheep"),
    "dog": ("poodle", "terrier", "spaniel"),
    "bird": ("sparrow", "parrot", "owl", "eagle"),
    "horse": ("pony", "stallion"),
    "sheep": ("lamb", "ram"),
    "vehicle": ("car", "truck", "bus", "bicycle", "boat"),
    "car": ("taxi", "limousine"),
    "bicycle": ("tandem",),
    "boat": ("canoe", "ferry", "yacht"),
    "furniture": ("chair", "table", "bed", "sofa", "cupboard"),
    "chair": ("armchair", "stool"),
    "table": ("desk",),
    "garment": ("hat", "coat", "shoe", "scarf", "shirt"),
    "hat": ("beret", "bonnet"),
    "coat": ("raincoat", "parka"),
    "shoe": ("boot", "sandal", "slipper"),
    "shirt": ("blouse",),
    "fruit": ("apple", "pear", "lemon", "plum", "berry"),
    "berry": ("strawberry", "raspberry"),
    "instrument": ("violin", "drum", "flute", "guitar", "trumpet"),
    "tool": ("hammer", "saw", "spade", "axe", "rake"),
    "hammer": ("mallet",),
    "axe": ("hatchet",),
    "container": ("cup", "bowl", "bottle", "box", "basket", "bag"),
    "cup": ("mug", "goblet"),
    "bottle": ("flask",),
    "box": ("crate",),
    "bag": ("suitcase", "rucksack"),
    "toy": ("doll", "ball", "kite", "puzzle"),
    "flower": ("rose", "tulip", "daisy", "lily"),
    # qualities
    "red": ("scarlet", "crimson"),
    "blue": ("azure", "navy"),
    "green": ("emerald", "olive"),
    "white": ("ivory", "snowy"),
    "brown": ("chestnut", "tan"),
    "purple": ("mauve",),
    "big": ("huge", "gigantic"),
    "small": ("tiny", "miniature"),
    "clean": ("spotless",),
    "dirty": ("muddy", "filthy"),
    "wet": ("soaked", "dripping"),
    "happy": ("cheerful", "delighted"),
    "sad": ("gloomy", "miserable"),
    "angry": ("furious",),
    "poor": ("penniless",),
    "strong": ("mighty",),
    "weak": ("feeble",),
    # activities
    "move": ("run", "walk", "swim", "climb", "crawl", "dance"),
    "run": ("sprint", "jog"),
    "walk": ("stroll", "march"),
    "dance": ("waltz",),
    "rest": ("sleep",),
    "sleep": ("nap", "doze"),
    "eat": ("munch", "nibble"),
    "drink": ("sip",),
    "talk": ("whisper", "shout", "chat"),
    "sing": ("yodel",),
    # places
    "indoors": ("house", "school", "shop", "museum", "theatre", "library", "barn"),
    "house": ("kitchen", "bedroom", "bathroom", "cellar", "attic"),
    "school": ("classroom",),
    "shop": ("bakery", "bookshop"),
    "outdoors": ("park", "garden", "forest", "beach", "field", "street", "market", "desert"),
    "street": ("alley", "avenue"),
    # relations between two
    "follow": ("chase",),
    "look_at": ("watch",),
    "hold": ("carry",),
    "near": ("next_to",),
}
"""is-a: each concept and the narrower ones right below it."""

DIMENSIONS: Mapping[str, tuple[str, ...]] = {
    "colour": ("red", "blue", "green", "yellow", "black", "white", "brown", "grey", "pink", "purple"),
    "size": ("big", "small"),
    "age": ("young", "old"),
    "newness": ("new", "worn"),
    "cleanness": ("clean", "dirty"),
    "wetness": ("wet", "dry"),
    "weight": ("heavy", "light"),
    "price": ("cheap", "expensive"),
    "filling": ("full", "empty"),
    "mood": ("happy", "sad"),
    "temper": ("calm", "angry"),
    "wealth": ("rich", "poor"),
    "height": ("tall", "short"),
    "strength": ("strong", "weak"),
    "health": ("healthy", "ill"),
    "tameness": ("tame", "wild"),
    "activity": ("move", "rest", "eat", "drink", "talk", "sing", "cook", "paint", "write"),
    "place": ("indoors", "outdoors"),
}
"""Each dimension and its widest values."""

_QUALITIES = ("size", "cleanness", "wetness", "weight")
_THING = {dimension: DIMENSIONS[dimension] for dimension in ("colour", *_QUALITIES, "newness", "price", "place")}
AFFORDS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "person": {
        d: DIMENSIONS[d]
        for d in ("age", "mood", "temper", "wealth", "height", "strength", "health", "wetness", "activity", "place")
    },
    "animal": {d: DIMENSIONS[d] for d in ("age", "temper", "strength", "health", "tameness", *_QUALITIES[:3], "place")}
    | {"colour": ("black", "white", "brown", "grey"), "activity": ("move", "rest", "eat", "drink")},
    "vehicle": _THING | {"place": ("outdoors",)},
    "furniture": _THING,
    "garment": _THING,
    "fruit": {d: _THING[d] for d in ("colour", "size", "wetness", "price", "place")},
    "instrument": _THING,
    "tool": _THING,
    "container": _THING | {"filling": DIMENSIONS["filling"]},
    "toy": _THING,
    "flower": {d: _THING[d] for d in ("colour", "size", "wetness", "price", "place")},
}
"""Which values make sense for which group of kinds."""

_NOT_FOR: Mapping[str, frozenset[str]] = {"animal": frozenset({"dance", "waltz", "march", "jog", "munch"})}

_EXCLUSIVE_BELOW = (
    *("animal", "dog", "bird", "horse", "sheep", "vehicle", "car", "boat", "furniture", "chair", "garment", "hat"),
    *("coat", "shoe", "fruit", "berry", "instrument", "tool", "container", "cup", "bag", "toy", "flower"),
    *("indoors", "outdoors", "house", "shop"),
)
_EXCLUSIVE_SETS: tuple[tuple[str, ...], ...] = (
    *(roots for dimension, roots in DIMENSIONS.items() if dimension != "activity"),
    tuple(AFFORDS),
    ("run", "walk", "swim", "climb", "crawl", "dance", "sleep"),
    ("sleep", "eat", "sing", "drink"),
    ("sleep", "talk", "sing", "drink"),
    ("sleep", "cook", "paint", "write"),
    ("move", "rest"),
    ("push", "pull"),
    ("near", "far"),
    ("above", "below"),
    ("before", "behind"),
    ("bigger", "smaller"),
    ("older", "younger"),
)

LIVING = ("person", "animal")
THINGS = tuple(group for group in AFFORDS if group not in LIVING)
_MOVABLE = ("vehicle", "furniture", "container", "toy", "animal")
_HANDY = ("garment", "fruit", "instrument", "tool", "container", "toy", "flower")
RELATIONS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "follow": (LIVING, (*LIVING, "vehicle")),
    "push": (LIVING, _MOVABLE),
    "pull": (LIVING, _MOVABLE),
    "look_at": (LIVING, tuple(AFFORDS)),
    "hold": (("person",), _HANDY),
    "near": (tuple(AFFORDS), tuple(AFFORDS)),
    "far": (tuple(AFFORDS), tuple(AFFORDS)),
    **dict.fromkeys(("above", "below"), (_HANDY, _HANDY)),
    **dict.fromkeys(("before", "behind"), (tuple(AFFORDS), tuple(AFFORDS))),
    **dict.fromkeys(("bigger", "smaller"), (("animal", *THINGS), ("animal", *THINGS))),
    **dict.fromkeys(("older", "younger"), (LIVING, LIVING)),
}
"""The widest relations, with the groups that may stand first and second in them."""

_INVERSES = (
    *(("above", "below"), ("before", "behind"), ("bigger", "smaller"), ("older", "younger")),
    *(("near", "near"), ("next_to", "next_to"), ("far", "far")),
)
INVERSE: Mapping[str, str] = {a: b for pair in _INVERSES for a, b in (pair, pair[::-1])}
"""`a` above `b` is `b` below `a`; what is missing here says nothing about the other direction."""

PARTS: Mapping[str, tuple[str, ...]] = {
    "vehicle": ("engine", "seat", "door", "paint", "steering"),
    "furniture": ("frame", "cover", "surface", "design"),
    "garment": ("collar", "lining", "button", "seam", "fabric"),
    "instrument": ("sound", "case", "finish"),
    "tool": ("handle", "grip", "edge"),
    "container": ("lid", "handle", "rim"),
    "toy": ("packaging", "shape", "surface"),
    "fruit": ("skin", "taste", "smell", "juice"),
    "flower": ("stem", "scent", "petal"),
}
"""What the things of a group have: parts that can be praised or blamed on their own."""

COMPARISONS = frozenset(("bigger", "smaller", "older", "younger"))
"""Relations that say nothing about any other relation but their own inverse."""

ONE_WAY = frozenset(("push", "pull", "look_at", "watch"))
"""Relations that leave it open whether they also hold the other way round."""

_PARENT = {child: parent for parent, children in CHILDREN.items() for child in children}
_EXCLUSIVE = frozenset(
    frozenset(pair)
    for group in (*_EXCLUSIVE_SETS, *(CHILDREN[parent] for parent in _EXCLUSIVE_BELOW))
    for pair in combinations(group, 2)
)


@cache
def wider(concept: str) -> tuple[str, ...]:
    """The concept and all that it is a kind of, narrowest first."""
    parent = _PARENT.get(concept)
    return (concept,) if parent is None else (concept, *wider(parent))


@cache
def narrower(concept: str) -> tuple[str, ...]:
    """The concept and all its kinds, widest first."""
    return (concept, *(below for child in CHILDREN.get(concept, ()) for below in narrower(child)))


def is_a(narrow: str, wide: str) -> bool:
    """Whether everything that is `narrow` is `wide`."""
    return wide in wider(narrow)


@cache
def excludes(a: str, b: str) -> bool:
    """Whether nothing can be both at once."""
    return any(frozenset((x, y)) in _EXCLUSIVE for x in wider(a) for y in wider(b))


def group_of(kind: str) -> str:
    """The widest kind above a kind: what it affords is written there."""
    return wider(kind)[-1]


@cache
def values(group: str, dimension: str) -> tuple[str, ...]:
    """All values of a dimension that make sense for a group, wide and narrow."""
    barred = _NOT_FOR.get(group, frozenset())
    return tuple(v for root in AFFORDS[group].get(dimension, ()) for v in narrower(root) if v not in barred)


@cache
def dimension_of(value: str) -> str:
    """The dimension that a value belongs to; for relations, the one word `relation`."""
    root = wider(value)[-1]
    return next((dimension for dimension, roots in DIMENSIONS.items() if root in roots), "relation")


@cache
def relations(first: str, second: str) -> tuple[str, ...]:
    """All relations, wide and narrow, in which a member of one group may stand to one of another."""
    return tuple(r for root, (a, b) in RELATIONS.items() if first in a and second in b for r in narrower(root))
