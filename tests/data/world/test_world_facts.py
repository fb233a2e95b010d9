"""The fact-checking task: labels that really follow, gold that is the reason, and no short cut through the claim."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from data.world import reader
from data.world.bag_of_words import accuracy
from verax.data.world import fact_checking, nli
from verax.data.world.knowledge import dimension_of, excludes, group_of, wider
from verax.types import Dataset, Instance, Span

LABEL_OF = {"entailment": "supports", "contradiction": "refutes", "neutral": "not_enough"}
GRAMMAR = """
a an and be cannot claim denies does every evidence is may not of opposite or say says speaks that the what whether
which
"""
SPLITS = ("train", "validation", "test")


@pytest.fixture(scope="module")
def train() -> Dataset:
    return fact_checking.load("train", 3600)


@pytest.fixture(scope="module")
def test_split() -> Dataset:
    return fact_checking.load("test")


@pytest.mark.parametrize(("parts", "highest"), [((0,), 0.42), ((1,), 0.45), ((0, 1), 0.45)])
def test_no_bag_of_words_and_word_pairs_tells_the_label(
    train: Dataset, test_split: Dataset, parts: tuple[int, ...], highest: float
) -> None:
    assert accuracy(train, test_split, parts) < highest


def test_a_reader_who_tries_all_possible_worlds_finds_every_label(train: Dataset) -> None:
    for instance in train.instances[:1500]:
        claim, evidence = (part.raw for part in instance.parts)
        assert LABEL_OF[reader.judged(evidence, claim)] == instance.label, (claim, evidence)


def _clauses(instance: Instance) -> list[Span]:
    """The clauses of the evidence without the words that join them."""
    words = instance.parts[1].words
    ends = [n for n, word in enumerate(words) if word in {",", "."}]
    starts = [0, *(end + (2 if words[end] == "," else 1) for end in ends[:-1])]
    return [Span(1, start, end) for start, end in zip(starts, ends, strict=True)]


def _judged_by(instance: Instance, clauses: list[Span]) -> str:
    """The label by these clauses of the evidence alone; nothing at all of the thing asked about is not enough."""
    words = instance.parts[1].words
    told = ". ".join(" ".join(words[span.start : span.end]) for span in clauses)
    claim = instance.parts[0].raw
    (asked,) = reader.read(claim)[0]
    named = reader.read(f"{told}.")[0] if told else []
    if not any(asked in wider(kind) for kind in named):
        return "not_enough"
    return LABEL_OF[reader.judged(f"{told}.", claim)]


def _gold(instance: Instance, part: int) -> set[int]:
    assert instance.human is not None
    assert instance.human.words is not None
    return set(instance.human.words[part])


def test_the_clauses_with_gold_words_alone_give_the_label_and_each_of_them_is_needed(train: Dataset) -> None:
    needed: Counter[int] = Counter()
    for instance in train.instances[:900]:
        clauses = _clauses(instance)
        golden = [span for span in clauses if _gold(instance, 1) & set(range(span.start, span.end))]
        assert _judged_by(instance, golden) == instance.label
        if instance.label == "not_enough":
            continue
        needed[len(golden)] += 1
        for left_out in golden:
            rest = [span for span in clauses if span != left_out]
            assert _judged_by(instance, rest) == "not_enough", (instance.parts[1].raw, left_out)
    assert set(needed) == {1, 2}
    assert needed[2] > 10


def test_gold_words_name_the_thing_and_what_decides(train: Dataset) -> None:
    nouns = {word for said in reader.KINDS for word in said.split()}
    for instance in train.instances:
        for part, text in enumerate(instance.parts):
            gold = {text.words[word].lower() for word in _gold(instance, part)}
            assert gold & nouns
            assert gold - nouns or instance.label == "not_enough"


def _meaning(words: str, kind: str) -> str:
    """The concept that words of a span stand for."""
    bare = words.lower().removeprefix("not ")
    return reader.KINDS.get(bare) or reader.values_of(kind)[bare]


def test_gold_span_pairs_join_the_claim_with_the_evidence_kind_with_kind_and_value_with_value(train: Dataset) -> None:
    for instance in train.instances:
        assert instance.human is not None
        assert instance.human.span_pairs
        kinds, _ = reader.read(instance.parts[0].raw)
        for pair in instance.human.span_pairs:
            assert tuple(span.part for span in pair) == (0, 1)
            assert all(_gold(instance, span.part) & set(range(span.start, span.end)) for span in pair)
            texts = (" ".join(instance.parts[span.part].words[span.start : span.end]) for span in pair)
            asked, known = (_meaning(words, kinds[0]) for words in texts)
            if asked in reader.KINDS.values():
                assert group_of(asked) == group_of(known)
            else:
                assert dimension_of(asked) == dimension_of(known)


def test_every_gold_word_of_the_evidence_lies_in_a_gold_span_pair(train: Dataset) -> None:
    for instance in train.instances:
        assert instance.human is not None
        spans = [pair[1] for pair in instance.human.span_pairs or ()]
        assert _gold(instance, 1) <= {word for span in spans for word in range(span.start, span.end)}


def test_evidence_has_three_to_five_sentences_and_twenty_to_forty_five_words(train: Dataset) -> None:
    lengths = []
    for instance in train.instances:
        assert 3 <= instance.parts[1].words.count(".") <= 5
        lengths.append(sum(word.isalpha() for word in instance.parts[1].words))
    assert min(lengths) >= 20
    assert max(lengths) <= 45


def test_evidence_speaks_of_other_things_often_in_the_same_dimension_and_by_the_same_word(train: Dataset) -> None:
    seen: Counter[tuple[str | None, str]] = Counter()
    for instance in train.instances[:1500]:
        (asked,), claimed = reader.read(instance.parts[0].raw)
        kinds, told = reader.read(instance.parts[1].raw)
        others = {kind for kind in kinds if group_of(kind) != group_of(asked) or excludes(kind, asked)}
        assert 2 <= len(others) <= 3
        dimensions = {dimension_of(fact.concept) for fact in claimed}
        about = [f for f in told if f.kinds[0] in others and dimension_of(f.concept) in dimensions]
        seen[instance.label, "dimension"] += bool(about)
        seen[instance.label, "word"] += bool({f.concept for f in about} & {f.concept for f in claimed})
    for label in fact_checking.LABELS:
        assert seen[label, "dimension"] > 250
        assert seen[label, "word"] > 80


def test_what_is_claimed_in_one_split_is_claimed_in_no_other_in_no_words_of_either_task() -> None:
    def claims(data: Dataset, part: int) -> set[frozenset[object]]:
        return {frozenset(reader.read(i.parts[part].raw)[1]) for i in data.instances}

    drawn = {
        split: claims(fact_checking.load(split, 700), 0)
        | claims(fact_checking.load(split, 300, seed=1), 0)
        | claims(nli.load(split, 500), 1)
        for split in SPLITS
    }
    for split in SPLITS:
        assert not any(drawn[split] & drawn[other] for other in SPLITS if other != split)


def test_the_explanation_speaks_of_claim_and_evidence_in_their_words(train: Dataset) -> None:
    grammar = set(GRAMMAR.split())
    seen: Counter[str] = Counter()
    for instance in train.instances:
        assert instance.human is not None
        (why,) = instance.human.explanations
        said = {word.lower() for part in instance.parts for word in part.words}
        assert set(re.findall(r"\w+", why.lower())) <= said | grammar, why
        seen.update(role for role in ("evidence", "claim") if f"the {role} " in why.lower())
    assert min(seen.values()) > 100


def test_the_evidence_is_what_may_be_masked(test_split: Dataset) -> None:
    assert (test_split.name, test_split.maskable, test_split.labels) == ("world/facts", (1,), fact_checking.LABELS)


def test_the_first_instance_is_the_same_on_every_machine(test_split: Dataset) -> None:
    assert [part.raw for part in test_split.instances[0].parts] == [
        "We can see that the carpenter is old.",
        "A terrier is drinking. The terrier is old. A scarf is new. A lily is not dripping and is not in the bookshop. "
        "A carpenter is dry.",
    ]
