"""Two languages of a data set side by side."""

from __future__ import annotations

import pytest

from verax.align.parallel import Parallel, parallel_instances, text_pairs
from verax.data.text import split_words
from verax.types import Dataset, GivenAlignment, Instance, UserError


def instance(name: str, lang: str, parallel: str | None, *parts: str) -> Instance:
    return Instance(name, tuple(split_words(raw, lang) for raw in parts or ("a b",)), lang=lang, parallel_id=parallel)


ROWS = (
    instance("1-en", "en", "1", "the boat", "a lake"),
    instance("2-de", "de", "2", "der Wind"),
    instance("1-de", "de", "1", "das Boot", "ein See"),
    instance("2-en", "en", "2", "the wind"),
    instance("3-en", "en", "3"),
    instance("1-fr", "fr", "1", "le bateau", "un lac"),
)


def dataset(*rows: Instance) -> Dataset:
    return Dataset("mine", rows, ())


def test_each_translation_finds_its_reference() -> None:
    data = dataset(*ROWS)
    assert parallel_instances(data, "en", "de") == [Parallel(ROWS[3], ROWS[1]), Parallel(ROWS[0], ROWS[2])]
    assert parallel_instances(data, "de", "fr") == [Parallel(ROWS[2], ROWS[5])]


def test_parts_are_paired_with_the_links_of_the_right_language() -> None:
    to_en = GivenAlignment("en", (((0, 0), (1, 1)), ((1, 1),)), ((), ((0, 0),)))
    to_fr = GivenAlignment("fr", (((0, 1),), ()))
    aligned = {"1-de": (to_fr, to_en)}
    first, second = text_pairs(Parallel(ROWS[0], ROWS[2]), aligned)
    assert (first.reference.raw, first.translation.raw) == ("the boat", "das Boot")
    assert (first.sure, first.possible) == (((0, 0), (1, 1)), ())
    assert (second.sure, second.possible) == (((1, 1),), ((0, 0),))
    assert [pair.sure for pair in text_pairs(Parallel(ROWS[5], ROWS[2]), aligned)] == [((0, 1),), ()]
    assert [pair.sure for pair in text_pairs(Parallel(ROWS[3], ROWS[1]), aligned)] == [None]


@pytest.mark.parametrize(
    ("rows", "langs", "said"),
    [
        (ROWS, ("en", "es"), "lang: mine: unknown language 'es'; valid: de, en, fr"),
        (ROWS, ("eng", "de"), "reference: mine: unknown language 'eng'; did you mean 'en'?"),
        (ROWS, ("en", "en"), "lang: en is the reference language; give another one"),
        (ROWS, ("fr", "de"), "mine: 1 of 2 inputs in de have no input in fr with the same parallel_id; the first is"),
        ((*ROWS, instance("x", "de", None)), ("en", "de"), "mine: 'x' has no parallel_id"),
        (
            (*ROWS, instance("x", "en", "2")),
            ("en", "de"),
            "mine: '2-en' and 'x' are both in en and have the same parallel_id '2'",
        ),
    ],
)
def test_data_that_does_not_fit(rows: tuple[Instance, ...], langs: tuple[str, str], said: str) -> None:
    with pytest.raises(UserError) as error:
        parallel_instances(dataset(*rows), *langs)
    assert str(error.value).startswith(said)


def test_translations_with_another_number_of_parts() -> None:
    with pytest.raises(UserError, match="'1-en' has 2 parts and its translation '2-de' 1"):
        text_pairs(Parallel(ROWS[0], ROWS[1]), {})
