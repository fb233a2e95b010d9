"""The inference task: labels that really follow, gold that is the reason, and no short cut through the hypothesis."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from data.world import reader
from data.world.bag_of_words import accuracy
from verax.data.world import nli
from verax.data.world.facts import Fact, Scene, decide, judge
from verax.data.world.knowledge import wider
from verax.types import Dataset, Instance


@pytest.fixture(scope="module")
def train() -> Dataset:
    return nli.load("train", 4500)


@pytest.fixture(scope="module")
def test_split() -> Dataset:
    return nli.load("test")


def test_the_hypothesis_alone_does_not_tell_the_label(train: Dataset, test_split: Dataset) -> None:
    assert accuracy(train, test_split, (1,)) < 0.45


def test_neither_the_premise_alone_nor_the_words_of_both_do(train: Dataset, test_split: Dataset) -> None:
    assert accuracy(train, test_split, (0,)) < 0.5
    assert accuracy(train, test_split, (0, 1)) < 0.5


def test_a_reader_who_tries_all_possible_worlds_finds_every_label(train: Dataset) -> None:
    for instance in train.instances[:1500]:
        premise, hypothesis = (part.raw for part in instance.parts)
        assert reader.judged(premise, hypothesis) == instance.label, (premise, hypothesis)


def _pairs(instance: Instance) -> list[tuple[str, str]]:
    assert instance.human is not None
    assert instance.human.span_pairs is not None
    above, below = instance.parts
    found = []
    for first, second in instance.human.span_pairs:
        assert (first.part, second.part) == (0, 1)
        assert 0 <= first.start < first.end <= len(above.words)
        assert 0 <= second.start < second.end <= len(below.words)
        found.append((" ".join(above.words[first.start : first.end]), " ".join(below.words[second.start : second.end])))
    return found


def test_gold_spans_lie_in_the_texts_and_hold_gold_words(train: Dataset) -> None:
    for instance in train.instances:
        assert _pairs(instance)
        assert instance.human is not None
        assert instance.human.words is not None
        for pair in instance.human.span_pairs or ():
            for span in pair:
                assert set(range(span.start, span.end)) & set(instance.human.words[span.part])


def test_without_its_gold_words_a_label_can_not_be_known(train: Dataset) -> None:
    """The gold words of each part name a kind; for entailments and contradictions also what is said of it."""
    for instance in train.instances[:600]:
        assert instance.human is not None
        assert instance.human.words is not None
        for part, words in zip(instance.parts, instance.human.words, strict=True):
            gold = {part.words[word].lower() for word in words}
            kinds, _ = reader.read(part.raw)
            assert any(gold & set(said.split()) for said, kind in reader.KINDS.items() if kind in kinds)
            if instance.label != "neutral":
                nouns = {word for said in reader.KINDS for word in said.split()}
                assert gold - nouns


def test_the_parts_meet_in_several_ways(train: Dataset) -> None:
    """Same words, other words, denials and relations all come up, under each label."""
    seen: Counter[tuple[str | None, str]] = Counter()
    for instance in train.instances:
        for above, below in _pairs(instance):
            seen[instance.label, "same" if above.lower() == below else "other"] += 1
            seen[instance.label, "denied"] += above.startswith("not ") or below.startswith("not ")
            seen[instance.label, "relation"] += below.endswith((" than", " of", " at"))
    for label in nli.LABELS:
        for way, least in (("same", 50), ("other", 50), ("denied", 50), ("relation", 15)):
            assert seen[label, way] > least, (label, way)


PHRASES = {
    "entailment": (
        r"That (?P<x>.+) implies that (?P<y>.+)\.",
        r"(?P<x>.+), which means that (?P<y>.+)\.",
        r"If (?P<x>.+), then (?P<y>.+)\.|That (?P<x2>.+) shows that (?P<y2>.+)\."
        r"|Saying that (?P<x3>.+) is the same as saying that (?P<y3>.+)\.",
    ),
    "neutral": (
        r"Just because (?P<x>.+) does not mean that (?P<y>.+)\.",
        r"That (?P<x>.+) does not imply that (?P<y>.+)\.",
        r"Even if (?P<x>.+), it is not certain that (?P<y>.+)\.",
    ),
    "contradiction": (
        r"It cannot be that (?P<x>.+) and that (?P<y>.+) at the same time\."
        r"|(?P<thing>.+) cannot be (?P<x2>.+) and (?P<y2>.+) at the same time\.",
        r"If (?P<x>.+), then it is not true that (?P<y>.+)\.",
        r"That (?P<x>.+) and that (?P<y>.+) cannot both be true\.",
    ),
}


def _halves(why: str, pattern: str) -> tuple[str, str]:
    """What an explanation says the premise says, and the hypothesis, each as a sentence of its own."""
    found = re.fullmatch(pattern, why)
    assert found, why
    groups = {name: text for name, text in found.groupdict().items() if text}
    thing = groups.pop("thing", None)
    x, y = (f"{thing} is {text}" if thing else text for text in groups.values())
    return f"{x[0].upper()}{x[1:]}.", f"{y[0].upper()}{y[1:]}."


def test_further_phrasings_hold_two_clauses_that_give_the_same_label(train: Dataset) -> None:
    """Whoever takes them apart has a pair of sentences, and its label is that of the whole."""
    for instance in train.instances[:1200]:
        assert instance.human is not None
        for why, pattern in zip(instance.human.explanations[1:], PHRASES[str(instance.label)], strict=True):
            premise, hypothesis = _halves(why, pattern)
            # could as well be said against what it denies
            assert not (instance.label == "entailment" and re.match(r"If .* then .* not ", why))
            if premise.startswith("There is"):  # the premise has no answer, or a wider kind
                assert instance.label == "neutral"
                kinds, _ = reader.read(instance.parts[0].raw)
                named = re.findall(r"an? ([\w ]+?)(?= and |\.)", premise)
                assert {reader.KINDS[noun] for noun in named} <= set(kinds)
                continue
            known = {wide for kind in reader.read(premise)[0] for wide in wider(kind)}
            if known >= set(reader.read(hypothesis)[0]):
                assert reader.judged(premise, hypothesis) == instance.label, why
            else:  # the premise tells the same of something else
                assert instance.label == "neutral", why


@pytest.mark.parametrize(
    ("known", "holds", "asked", "asked_holds", "verdict"),
    [
        ("scarlet", True, "red", True, "follows"),
        ("red", True, "scarlet", True, "open"),
        ("red", True, "blue", True, "excluded"),
        ("red", True, "blue", False, "follows"),
        ("scarlet", True, "red", False, "excluded"),
        ("red", False, "scarlet", True, "excluded"),
        ("red", False, "scarlet", False, "follows"),
        ("scarlet", False, "red", True, "open"),
        ("red", False, "blue", True, "open"),
        ("big", False, "small", True, "open"),
    ],
)
def test_what_one_value_says_of_another(known: str, holds: bool, asked: str, asked_holds: bool, verdict: str) -> None:
    assert decide(known, holds, asked, asked_holds) == verdict


def test_judgements_of_hand_made_scenes() -> None:
    premise = Scene(("poodle", "car", "boy"), (Fact(0, "sleep"), Fact(1, "red"), Fact(2, "bigger", True, 0)))

    def label(kinds: tuple[str, ...], *facts: Fact) -> str:
        return judge(premise, Scene(kinds, facts)).label

    assert label(("dog",), Fact(0, "rest")) == "entailment"
    assert label(("dog",), Fact(0, "run")) == "contradiction"
    assert label(("dog",), Fact(0, "red")) == "neutral"
    assert label(("dog",), Fact(0, "rest"), Fact(0, "nap")) == "neutral"
    assert label(("taxi",), Fact(0, "red")) == "neutral"
    assert label(("dog", "child"), Fact(0, "smaller", True, 1)) == "entailment"
    assert label(("dog", "child"), Fact(0, "bigger", True, 1)) == "contradiction"
    assert label(("dog", "child"), Fact(0, "older", True, 1)) == "neutral"


def test_a_judgement_names_the_facts_that_decide() -> None:
    premise = Scene(("poodle", "car"), (Fact(0, "sleep"), Fact(0, "brown"), Fact(1, "red")))
    hypothesis = Scene(("dog",), (Fact(0, "brown"), Fact(0, "run")))
    judgement = judge(premise, hypothesis)
    assert judgement.matches == ((Fact(0, "poodle"), Fact(0, "dog")), (Fact(0, "sleep"), Fact(0, "run")))
    assert set(judgement.premise) == {Fact(0, "poodle"), Fact(0, "sleep")}
    assert set(judgement.hypothesis) == {Fact(0, "dog"), Fact(0, "run")}


def test_the_first_instance_is_the_same_on_every_machine(test_split: Dataset) -> None:
    assert [part.raw for part in test_split.instances[0].parts] == [
        "A tandem is yellow, while a gloomy teacher is peaceful.",
        "The teacher is peaceful and sad.",
    ]
