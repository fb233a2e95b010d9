"""The grammars: sentences written by hand, agreement, and which word translates which."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from verax.data.world.facts import Fact
from verax.data.world.knowledge import AFFORDS, DIMENSIONS, RELATIONS, narrower
from verax.data.world.languages.grammar import parse_entries, read_lexicon
from verax.data.world.languages.plan import PASSIVES, ClausePlan, NounPhrase, Predicate, TextPlan, predicate_kind
from verax.data.world.languages.realisation import LANGUAGES, Realisation, links_between, realise

TRANSLATIONS = tuple(lang for lang in LANGUAGES if lang != "en")


class FirstSynonym(Random):
    """A source that always takes the first of several synonyms."""

    def choice(self, seq: Any) -> Any:
        return seq[0]


def first(plan: TextPlan, lang: str) -> Realisation:
    return realise(plan, lang, FirstSynonym(0))


def the(kind: str, *qualities: str, slot: str = "subject", definite: bool = True) -> NounPhrase:
    thing = 0 if slot == "subject" else 1
    return NounPhrase(slot, Fact(thing, kind), definite, tuple(Fact(thing, quality) for quality in qualities))


def a(kind: str, *qualities: str, slot: str = "subject") -> NounPhrase:
    return the(kind, *qualities, slot=slot, definite=False)


def related(relation: str, other: NounPhrase, holds: bool = True, passive: bool = False) -> Predicate:
    fact = Fact(0, relation, holds, 1)
    return Predicate(predicate_kind(fact), fact, object=other, passive=passive)


def so(value: str, holds: bool = True, place: str | None = None) -> Predicate:
    fact = Fact(0, value, holds)
    return Predicate(predicate_kind(fact), fact, None if place is None else Fact(0, place))


DENIED_PLACE = TextPlan((ClausePlan(the("dog", "small"), (so("kitchen", holds=False),)),))
PASSIVE = TextPlan((ClausePlan(the("cat"), (related("chase", the("boy", slot="object"), passive=True),)),))
SEEN = TextPlan(
    (ClausePlan(the("girl"), (related("look_at", the("bird", slot="object"), holds=False),)),), opening="see"
)
CONTRACTED = TextPlan((ClausePlan(the("eagle"), (related("next_to", the("bus", slot="object")),)),), opening="now")
THERE = TextPlan(
    (
        ClausePlan(a("flower", "big", "white"), (so("forest"),), existential=True),
        ClausePlan(a("tailor"), (so("rest"),)),
    ),
    ("while",),
)
TWO = TextPlan((ClausePlan(the("axe", "old"), (so("wet"), so("red", holds=False))),), opening="true")
DOING = TextPlan((ClausePlan(a("monkey", "black"), (so("rest", place="garden"),)),))
COMPARED = TextPlan((ClausePlan(the("pear"), (related("bigger", a("car", "blue", slot="object")),)),), opening="scene")
CASES = TextPlan(
    (
        ClausePlan(a("bear", "tiny"), (related("follow", the("teacher", "rich", slot="object")),)),
        ClausePlan(a("girl"), (related("push", the("chair", "heavy", slot="object")),)),
    ),
    ("but",),
)
NO_NAP = TextPlan((ClausePlan(the("child"), (so("nap", holds=False),)),))

SENTENCES = {
    "denied place": (
        DENIED_PLACE,
        {
            "en": "The small dog is not in the kitchen.",
            "de": "Der kleine Hund ist nicht in der Küche.",
            "es": "El perro pequeño no está en la cocina.",
            "fr": "Le petit chien n'est pas dans la cuisine.",
            "bg": "Малкото куче не е в кухнята.",
            "zh": "那只小的狗不在厨房里。",
        },
    ),
    "passive": (
        PASSIVE,
        {
            "en": "The cat is being chased by the boy.",
            "de": "Die Katze wird vom Jungen verfolgt.",
            "es": "El gato está siendo perseguido por el muchacho.",
            "fr": "Le chat est poursuivi par le garçon.",
            "bg": "Котката е преследвана от момчето.",
            "zh": "那只猫正在被那个男孩追赶。",
        },
    ),
    "seen": (
        SEEN,
        {
            "en": "We can see that the girl is not looking at the bird.",
            "de": "Wir sehen, dass das Mädchen den Vogel nicht ansieht.",
            "es": "Podemos ver que la muchacha no está mirando al pájaro.",
            "fr": "Nous voyons que la fille ne regarde pas l'oiseau.",
            "bg": "Виждаме, че момичето не гледа птицата.",
            "zh": "我们可以看到，那个女孩没在看着那只鸟。",
        },
    ),
    "contracted": (
        CONTRACTED,
        {
            "en": "Right now the eagle is next to the bus.",
            "de": "Gerade ist der Adler neben dem Bus.",
            "es": "Ahora mismo el águila está al lado del autobús.",
            "fr": "En ce moment, l'aigle est à côté du bus.",
            "bg": "Точно сега орелът е до автобуса.",
            "zh": "现在，那只老鹰在那辆巴士旁边。",
        },
    ),
    "there": (
        THERE,
        {
            "en": "There is a big white flower in the forest, while a tailor is resting.",
            "de": "Im Wald ist eine große weiße Blume, während ein Schneider sich ausruht.",
            "es": "Hay una flor blanca grande en el bosque, mientras que un sastre está descansando.",
            "fr": "Il y a une grande fleur blanche dans la forêt, tandis qu'un tailleur se repose.",
            "bg": "Има едно голямо бяло цвете в гората, докато един шивач си почива.",
            "zh": "森林里有一朵大的白色的花，而一位裁缝正在休息。",
        },
    ),
    "two predicates": (
        TWO,
        {
            "en": "It is true that the old axe is wet and is not red.",
            "de": "Es ist wahr, dass die alte Axt nass ist und nicht rot ist.",
            "es": "Es cierto que el hacha vieja está mojada y no es roja.",
            "fr": "Il est vrai que la hache âgée est mouillée et n'est pas rouge.",
            "bg": "Вярно е, че старата брадва е мокра и не е червена.",
            "zh": "的确，那把老的斧头很湿，而且不是红色的。",
        },
    ),
    "doing": (
        DOING,
        {
            "en": "A black monkey is resting in the garden.",
            "de": "Ein schwarzer Affe ruht sich im Garten aus.",
            "es": "Un mono negro está descansando en el jardín.",
            "fr": "Un singe noir se repose dans le jardin.",
            "bg": "Една черна маймуна си почива в градината.",
            "zh": "一只黑色的猴子正在花园里休息。",
        },
    ),
    "compared": (
        COMPARED,
        {
            "en": "In this scene the pear is bigger than a blue car.",
            "de": "In dieser Szene ist die Birne größer als ein blaues Auto.",
            "es": "En esta escena la pera es más grande que un coche azul.",
            "fr": "Dans cette scène, la poire est plus grande qu'une voiture bleue.",
            "bg": "В тази сцена крушата е по-голяма от една синя кола.",
            "zh": "在这个场景里，那个梨比一辆蓝色的汽车大。",
        },
    ),
    "cases": (
        CASES,
        {
            "en": "A tiny bear is following the rich teacher, but a girl is pushing the heavy chair.",
            "de": "Ein winziger Bär folgt dem reichen Lehrer, aber ein Mädchen schiebt den schweren Stuhl.",
            "es": "Un oso diminuto está siguiendo al maestro rico, pero una muchacha está empujando la silla pesada.",
            "fr": "Un ours minuscule suit le professeur riche, mais une fille pousse la chaise lourde.",
            "bg": "Една мъничка мечка следва богатия учител, но едно момиче бута тежкия стол.",
            "zh": "一头微小的熊正在跟随那位富有的老师，但是一个女孩正在推那把重的椅子。",
        },
    ),
    "no nap": (
        NO_NAP,
        {
            "en": "The child is not napping.",
            "de": "Das Kind hält keinen Mittagsschlaf.",
            "es": "El niño no está echando la siesta.",
            "fr": "L'enfant ne fait pas la sieste.",
            "bg": "Детето не подремва.",
            "zh": "那个孩子没在午睡。",
        },
    ),
}


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("name", SENTENCES)
def test_sentences_are_those_that_were_written_by_hand(name: str, lang: str) -> None:
    plan, expected = SENTENCES[name]
    assert first(plan, lang).tagged.text.raw == expected[lang]


@pytest.mark.parametrize(
    ("plan", "lang", "expected"),
    [
        # The small dog is not in the kitchen . | Малкото куче не е в кухнята .
        (DENIED_PLACE, "bg", "0-0 1-0 2-1 3-3 4-2 5-4 6-5 7-5 8-6"),
        # | Le petit chien n'est pas dans la cuisine .
        (DENIED_PLACE, "fr", "0-0 1-1 2-2 3-3 4-3 4-4 5-5 6-6 7-7 8-8"),
        # | 那 只 小 的 狗 不 在 厨房 里 。
        (DENIED_PLACE, "zh", "0-0 0-1 1-2 2-4 3-6 4-5 5-6 5-8 7-7 8-9"),
        # We can see that the girl is not looking at the bird .
        # | Wir sehen , dass das Mädchen den Vogel nicht ansieht .
        (SEEN, "de", "0-0 1-1 2-1 3-3 4-4 5-5 6-9 7-8 8-9 9-9 10-6 11-7 12-10"),
        # The cat is being chased by the boy . | Die Katze wird vom Jungen verfolgt .
        (PASSIVE, "de", "0-0 1-1 2-2 3-2 4-5 5-3 6-3 7-4 8-6"),
        # Right now the eagle is next to the bus . | Ahora mismo el águila está al lado del autobús .
        (CONTRACTED, "es", "0-0 0-1 1-0 1-1 2-2 3-3 4-4 5-5 5-6 5-7 6-5 6-6 6-7 7-7 8-8 9-9"),
    ],
)
def test_words_are_linked_as_by_hand(plan: TextPlan, lang: str, expected: str) -> None:
    links = links_between(first(plan, "en").anchors, first(plan, lang).anchors)
    assert " ".join(f"{a}-{b}" for a, b in links) == expected


@pytest.mark.parametrize("lang", TRANSLATIONS)
def test_every_concept_has_words_and_no_two_have_the_same(lang: str) -> None:
    lexicon = read_lexicon(lang)
    kinds = {kind for group in AFFORDS for kind in narrower(group)}
    values = {value for roots in DIMENSIONS.values() for root in roots for value in narrower(root)}
    relations = {relation for root in RELATIONS for relation in narrower(root)} - ({"far"} if lang == "zh" else set())
    assert set(lexicon.entries) == kinds | values | relations
    sections = dict.fromkeys(kinds, "kinds") | {c: predicate_kind(Fact(0, c)) for c in values | relations}
    entries = Counter((sections[concept], entry) for concept in sections for entry in lexicon.entries[concept])
    assert set(entries.values()) == {1}, entries.most_common(3)
    if lang != "zh":
        assert set(lexicon.participles) == PASSIVES


def test_entries_are_divided_by_semicolons_and_synonyms_by_slashes() -> None:
    parsed = parse_entries("dog: m Hund; spade: m Spaten / f Schaufel;\n\naxe: f Axt")
    assert parsed == {"dog": ("m Hund",), "spade": ("m Spaten", "f Schaufel"), "axe": ("f Axt",)}


@pytest.mark.parametrize(
    ("kind", "lang", "expected"),
    [
        ("spade", "de", {"Ein weißer Spaten ist klein.", "Eine weiße Schaufel ist klein."}),
        ("bicycle", "fr", {"Un vélo blanc est petit.", "Une bicyclette blanche est petite."}),
        ("bicycle", "bg", {"Едно бяло колело е малко.", "Един бял велосипед е малък."}),
    ],
)
def test_what_agrees_with_a_noun_agrees_with_the_name_that_was_chosen(kind: str, lang: str, expected: set[str]) -> None:
    plan = TextPlan((ClausePlan(a(kind, "white"), (so("small"),)),))
    assert {realise(plan, lang, Random(seed)).tagged.text.raw for seed in range(20)} == expected
