"""The inference task in six languages: translations that say the same, exact offsets, gold alignments, no short cut."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from hashlib import sha256
from itertools import combinations

import pytest

from data.world.bag_of_words import accuracy
from verax.data.load import load_dataset
from verax.data.text import split_words
from verax.data.world import xnli
from verax.data.world.languages.realisation import LANGUAGES, GoldAlignments
from verax.data.world.splits import SIZES, draw_balanced
from verax.types import Dataset, Instance, UserError

PER_LANGUAGE = pytest.mark.parametrize("lang", LANGUAGES)


@pytest.fixture(scope="module")
def train() -> Dataset:
    return xnli.load("train", 800)


@pytest.fixture(scope="module")
def test_split() -> Dataset:
    return xnli.load("test", 300)


def of(data: Dataset, lang: str) -> Dataset:
    return replace(data, instances=tuple(i for i in data.instances if i.lang == lang))


def groups(data: Dataset) -> dict[str | None, list[Instance]]:
    found: dict[str | None, list[Instance]] = {}
    for instance in data.instances:
        found.setdefault(instance.parallel_id, []).append(instance)
    return found


def test_translations_stand_together_english_first(test_split: Dataset) -> None:
    for number, instance in enumerate(test_split.instances):
        lang = LANGUAGES[number % len(LANGUAGES)]
        name = f"world/xnli/test/{number // len(LANGUAGES):05d}"
        assert (instance.id, instance.parallel_id, instance.lang) == (f"{name}/{lang}", name, lang)
        assert {part.lang for part in instance.parts} == {lang}


def test_a_limit_takes_whole_inputs_from_the_first_on(test_split: Dataset) -> None:
    for limit in (0, 1, 2, 11):
        assert xnli.load("test", limit).instances == test_split.instances[: limit * 6]
    two = xnli.load("test", 2, langs=("fr", "en"))
    assert [i.lang for i in two.instances] == ["en", "fr", "en", "fr"]
    assert two.instances == tuple(i for i in test_split.instances[:12] if i.lang in ("en", "fr"))
    assert load_dataset("world/xnli", limit=1).instances == test_split.instances[:6]


def test_the_same_seed_gives_the_same_and_another_seed_gives_others() -> None:
    first, again, other = xnli.load("test", 10), xnli.load("test", 10), xnli.load("test", 10, seed=1)
    assert first == again
    assert {i.parts for i in first.instances}.isdisjoint({i.parts for i in other.instances})


@PER_LANGUAGE
def test_texts_are_written_as_their_language_is(lang: str, train: Dataset) -> None:
    for instance in of(train, lang).instances:
        for part in instance.parts:
            assert part.raw[0].isupper() or lang == "zh"
            assert part.raw.endswith("。" if lang == "zh" else ".")
            if lang == "zh":
                assert "".join(part.words) == part.raw
                assert max(len(word) for word in part.words) <= 5
            else:
                assert split_words(part.raw, lang) == part
            assert 3 <= len(part.words) <= 40


def test_translations_tell_the_same_facts() -> None:
    pairs = draw_balanced("xnli", xnli.LABELS, xnli.compose, lambda pair: pair.plans, "train", 200, 5)
    for pair in pairs:
        for part in (0, 1):
            texts = [pair.realise(lang, lang)[part].tagged for lang in LANGUAGES]
            facts = {frozenset(token.tag for token in text.tokens if token.tag is not None) for text in texts}
            kinds = frozenset(pair.scenes[part].kind_fact(t) for t in range(len(pair.scenes[part].kinds)))
            assert facts == {kinds | frozenset(pair.scenes[part].facts)}


def test_translations_share_label_and_decide_by_the_same_pairs(train: Dataset) -> None:
    for instances in groups(train).values():
        assert len({i.label for i in instances}) == 1
        for instance in instances:
            human = instance.human
            assert human is not None
            assert human.words is not None
            assert human.span_pairs is not None
            assert all(human.words)
            assert len(human.explanations) == (instance.lang == "en")
            for first, second in human.span_pairs:
                assert (first.part, second.part) == (0, 1)
                assert all(0 <= s.start < s.end <= len(instance.parts[s.part].words) for s in (first, second))


def test_each_gold_word_is_linked_to_gold_words_in_every_language(test_split: Dataset) -> None:
    for instances in groups(test_split).values():
        by_lang = {i.lang: i for i in instances}
        for instance in instances:
            for given in test_split.aligned[instance.id]:
                reference = by_lang[given.lang]
                for part, links in enumerate(given.sure):
                    assert instance.human is not None
                    assert reference.human is not None
                    own = (instance.human.words or ())[part]
                    theirs = (reference.human.words or ())[part]
                    for word in own:
                        assert any(b == word and a in theirs for a, b in links), (instance, given.lang, word)


def test_alignments_are_the_same_from_either_side_and_within_the_texts(test_split: Dataset) -> None:
    by_id = {i.id: i for i in test_split.instances}
    for name in test_split.aligned:
        assert {given.lang for given in test_split.aligned[name]} == set(LANGUAGES) - {by_id[name].lang}
        for given in test_split.aligned[name]:
            other = f"{by_id[name].parallel_id}/{given.lang}"
            back = next(g for g in test_split.aligned[other] if g.lang == by_id[name].lang)
            for part, links in enumerate(given.sure):
                assert set(links) == {(b, a) for a, b in back.sure[part]}
                assert len(set(links)) == len(links)
                assert all(a < len(by_id[other].parts[part].words) for a, _ in links)
                assert all(b < len(by_id[name].parts[part].words) for _, b in links)


def test_alignments_are_many_to_many(test_split: Dataset) -> None:
    """In every language some words translate several English ones, and some English words are several there."""
    for lang in LANGUAGES[1:]:
        seen: Counter[str] = Counter()
        for instance in of(test_split, lang).instances:
            given = next(g for g in test_split.aligned[instance.id] if g.lang == "en")
            for links in given.sure:
                seen["several English"] += max(Counter(b for _, b in links).values()) > 1
                seen["several here"] += max(Counter(a for a, _ in links).values()) > 1
        assert min(seen["several English"], seen["several here"]) > 20, (lang, seen)


def test_an_alignment_of_an_unknown_instance_is_a_missing_key(test_split: Dataset) -> None:
    assert isinstance(test_split.aligned, GoldAlignments)
    assert len(test_split.aligned) == len(test_split)
    assert "world/xnli/test/99999/en" not in test_split.aligned


def test_labels_are_balanced(test_split: Dataset) -> None:
    assert set(Counter((i.lang, i.label) for i in test_split.instances).values()) == {100}


@PER_LANGUAGE
def test_the_hypothesis_alone_tells_next_to_nothing(lang: str, train: Dataset, test_split: Dataset) -> None:
    assert accuracy(of(train, lang), of(test_split, lang), (1,), r"\S+") < 0.43


def test_splits_share_no_hypothesis_in_any_language() -> None:
    claims: dict[str, set[tuple[str, str]]] = {}
    for split in SIZES:
        drawn = [xnli.load(split, 100, seed) for seed in (0, 1)]
        drawn.append(xnli.mixed(split, 150))
        claims[split] = {(i.parts[1].lang, i.parts[1].raw) for data in drawn for i in data.instances}
    for first, second in combinations(claims, 2):
        assert not claims[first] & claims[second]


def test_mixed_pairs_differ_in_language_between_their_parts() -> None:
    data = xnli.mixed("train", 300)
    seen = Counter(tuple(part.lang for part in i.parts) for i in data.instances)
    assert len(data) == 300
    assert len(seen) == 30
    assert all(a != b for a, b in seen)
    first = data.instances[0]
    assert (first.lang, first.id.rpartition("/")[2]) == (first.parts[0].lang, "-".join(p.lang for p in first.parts))
    assert load_dataset("world/xnli-mixed", split="train", limit=5).instances == data.instances[:5]
    few = xnli.mixed("train", 30, langs=("de", "zh"))
    assert {part.lang for i in few.instances for part in i.parts} == {"de", "zh"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"langs": ("en", "ed")}, "unknown language 'ed'"),
        ({"langs": ()}, "langs: got none"),
        ({"split": "tset"}, "unknown split 'tset'; did you mean 'test'"),
        ({"limit": -1}, "limit: got -1"),
    ],
)
def test_a_wrong_argument_is_told_in_one_line(arguments: dict[str, object], message: str) -> None:
    for load in (xnli.load, xnli.mixed):
        with pytest.raises(UserError, match=message):
            load(**arguments)
    with pytest.raises(UserError, match="langs: got 'en' alone, mixed pairs need two"):
        xnli.mixed("train", 5, langs=("en",))


def test_instances_stay_what_they_are() -> None:
    digest = sha256()
    for split in SIZES:
        data = xnli.load(split, 10, seed=3)
        for i in data.instances:
            assert i.human is not None
            links = [given.sure for given in data.aligned[i.id]]
            digest.update(repr((i.id, [part.words for part in i.parts], i.label, i.human.words, links)).encode())
    assert digest.hexdigest()[:16] == "073a5e1fd9da5449"
