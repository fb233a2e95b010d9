"""The steps of building highlights, each on its own: normalise, binarise, project, mark, sample."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verax.data.load import load_dataset
from verax.data.text import from_words, split_words
from verax.jobs.highlights.annotations import check_sample, mark, marked_words, sample, write_annotations
from verax.jobs.highlights.choose import normalised_scores
from verax.jobs.highlights.dataset import Highlighted, part_names, reading_options, write_jsonl
from verax.jobs.highlights.explain import find_parallel
from verax.jobs.highlights.project import by_part, project
from verax.jobs.highlights.spec import HighlightsSpec, parse_highlights_spec
from verax.types import Dataset, Highlight, Human, Instance, Target, Text, UserError


def words_of(count: int, lang: str = "en") -> Text:
    return from_words([f"w{number}" for number in range(count)], lang)


def explained(instance: Instance, scores: list[float]) -> Highlight:
    return Highlight(instance.id, "m", "token", Target(), instance.units[: len(scores)], tuple(scores))


def test_scores_of_both_parts_are_normalised_together_and_cut_at_the_threshold() -> None:
    pair = Instance("a", (words_of(2), words_of(1)))
    scores = normalised_scores(pair, explained(pair, [3.0, 0.0, -4.0]))
    assert scores is not None
    np.testing.assert_allclose(scores, [0.6, 0.0, -0.8], atol=1e-15)
    for threshold, words in ((0.6, ((0,), ())), (0.0, ((0, 1), ())), (-0.8, ((0, 1), (0,)))):
        assert by_part(pair, set(np.flatnonzero(scores >= threshold))) == words


def test_scores_of_zero_stay_zero_and_huge_ones_do_not_overflow() -> None:
    one = Instance("a", (words_of(2),))
    zero, huge, tiny = (
        normalised_scores(one, explained(one, list(two))) for two in ((0, 0), (3e200, 4e200), (3e-200, 4e-200))
    )
    assert zero is not None
    assert huge is not None
    assert tiny is not None
    assert zero.tolist() == [0.0, 0.0]
    np.testing.assert_allclose([huge, tiny], [[0.6, 0.8]] * 2)


def test_an_explanation_that_lacks_a_word_gives_no_scores() -> None:
    one = Instance("a", (words_of(3),))
    assert normalised_scores(one, explained(one, [1.0, 2.0])) is None


def test_projection_by_hand_many_to_many_and_unlinked() -> None:
    # premise, words 0 to 3 in both: 0 -> {0, 1}, {1, 2} -> 2, 3 has no link; hypothesis: 4 -> 5, 5 -> {4, 6}
    links = ((0, 0), (0, 1), (1, 2), (2, 2), (4, 5), (5, 4), (5, 6))
    translation = Instance("t", (words_of(4), words_of(3)))
    assert by_part(translation, project({0, 3, 4}, links)) == ((0, 1), (1,))
    assert by_part(translation, project({2, 5}, links)) == ((2,), (0, 2))
    assert by_part(translation, project({3}, links)) == ((), ())


anything = st.text(st.one_of(st.sampled_from('*\\ \t\n\r"a¶漢'), st.characters(exclude_categories=["Cs"])), max_size=30)


@settings(max_examples=150, deadline=None)
@given(anything, st.data())
def test_marks_come_back_and_literal_asterisks_survive(raw: str, data: st.DataObject) -> None:
    text = split_words(raw)
    words = data.draw(st.sets(st.integers(0, len(text.words) - 1)) if text.words else st.just(set()))
    marked = mark(text, words)
    assert not set("\t\n\r") & set(marked)
    assert marked_words(text, marked) == tuple(sorted(words))


def test_marks_as_people_set_them() -> None:
    text = split_words("A red, red boat * 5")
    assert mark(text, {1, 3}) == r"A *red*, *red* boat \* 5"
    assert marked_words(text, r"A *red, red* boat \* 5") == (1, 2, 3)  # a phrase: every word that it touches
    assert marked_words(text, r"A red, red boa*t \* *5") == (4, 5)  # half a word is the word
    assert marked_words(text, r"A red, red bo**at \* 5") == ()


@pytest.mark.parametrize(
    ("marked", "said"),
    [
        (r"A *red boat \* 5", "no partner"),
        (r"A red boat * 5", "changed at character 12: expected '* 5', got ' 5'"),
        (r"A rad boat \* 5", "changed at character 4: expected 'ed boat * 5', got 'ad boat * 5'"),
        (r"A red boat \*", r"expected ' 5', got 'the end'"),
    ],
)
def test_marks_that_can_not_be_read_say_why(marked: str, said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("*", r"\*")):
        marked_words(split_words("A red boat * 5"), marked)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(anything, anything), min_size=1, max_size=4), st.data())
def test_a_table_for_people_comes_back_from_its_file(pairs: list[tuple[str, str]], data: st.DataObject) -> None:
    rows = []
    for number, pair in enumerate(pairs):
        parts = tuple(split_words(raw) for raw in pair)
        words = [data.draw(st.sets(st.integers(0, len(p.words) - 1)) if p.words else st.just(set())) for p in parts]
        marked = tuple(tuple(sorted(one)) for one in words)
        rows.append(Highlighted(Instance(str(number), parts), "yes", None, marked))
    with tempfile.TemporaryDirectory() as folder:
        write_annotations(Path(folder), {"en": rows}, ("a", "b"))
        written = {one.instance.id: (one.instance.parts, one.words) for one in rows}
        checked = check_sample(Path(folder) / "en.tsv", "en", written, ("a", "b"))
    assert (checked.rows, checked.edited) == (len(rows), 0)
    assert checked.overlap == ((1.0, 1.0, 1.0) if any(any(one.words) for one in rows) else (None, None, None))


def row(name: str, lang: str, guess: str, *, correct: bool | None = True) -> Highlighted:
    return Highlighted(Instance(f"{lang}/{name}", (words_of(1, lang),), guess, lang, name), guess, correct, ((),))


def test_the_sample_is_stratified_right_predictions_only_and_shared_by_languages() -> None:
    numbers = range(40)
    rows = [row(str(n), lang, "yes" if n % 2 else "no", correct=n % 5 > 0) for lang in ("en", "de") for n in numbers]
    chosen = sample(rows, 3, 0)
    for found in chosen.values():
        assert [one.prediction for one in found].count("yes") == [one.prediction for one in found].count("no") == 3
        assert all(one.correct for one in found)
        assert found == [one for one in rows if one in found]  # in the order of the rows
    ids = [{one.instance.parallel_id for one in found} for found in chosen.values()]
    assert ids[0] == ids[1]
    assert sample(rows, 3, 0) == chosen != sample(rows, 3, 1)
    assert sample(rows, 0, 0) == {}


def test_inputs_without_a_known_class_are_sampled_by_their_prediction() -> None:
    rows = [row(str(n), "en", "yes", correct=None) for n in range(4)]
    assert len(sample(rows, 3, 0)["en"]) == 3


def instance(name: str, lang: str, parallel: str | None, parts: int = 1) -> Instance:
    return Instance(name, tuple(words_of(2, lang) for _ in range(parts)), "yes", lang, parallel)


def test_translations_without_a_reference_are_left_out_and_counted() -> None:
    data = Dataset("d", (instance("a", "en", "1"), instance("b", "de", "1"), instance("c", "fr", "2")), ("yes",))
    found = find_parallel(data, "en")
    assert [one.id for one in found.instances] == ["a", "b"]
    assert found.references["b"].id == "a"
    assert found.left_out == {"fr": {"no_reference": 1}}
    assert found.languages == ("en", "de", "fr")


@pytest.mark.parametrize(
    ("instances", "said"),
    [
        ([instance("a", "en", None), instance("b", "de", None)], "no input of d has a parallel id"),
        ([instance("a", "de", "1"), instance("b", "fr", "1")], "unknown language 'en'; valid: de, fr"),
        ([instance("a", "en", "1"), instance("b", "de", "2")], "shares its parallel id with one in 'en'"),
        (
            [instance("a", "en", "1"), instance("b", "en", "1"), instance("c", "de", "1")],
            "'1' occurs more than once in 'en'",
        ),
        ([instance("a", "en", "1"), instance("b", "de", "1", 2)], "inputs have 1 to 2 parts"),
        ([instance("a", "en", "1"), instance("b", "../de", "1")], "the language '../de' can't be a file name"),
    ],
)
def test_data_that_is_not_parallel_is_refused(instances: list[Instance], said: str) -> None:
    with pytest.raises(UserError, match=said):
        find_parallel(Dataset("d", tuple(instances), ("yes",)), "en")


@pytest.mark.parametrize(
    ("parts", "columns", "names"),
    [
        (2, '{"parts": ["claim", "evidence"]}', ("claim", "evidence")),
        (2, '{"parts": ["id", "evidence"]}', ("text_a", "text_b")),  # a name that a row needs for something else
        (2, '{"parts": ["a", "a_words"]}', ("text_a", "text_b")),
        (1, "{}", ("text",)),
        (3, "{}", ("part_1", "part_2", "part_3")),
    ],
)
def test_parts_are_called_as_in_the_data(parts: int, columns: str, names: tuple[str, ...]) -> None:
    assert part_names(Dataset("d", (instance("a", "en", "1", parts),), (), {"columns": columns})) == names


def read_again(parts: list[Text], words: tuple[tuple[int, ...], ...], folder: Path) -> Instance:
    rows = [Highlighted(Instance("a", tuple(parts), "yes", "en", "1"), "yes", True, words)]
    names = [f"part_{number}" for number in range(len(parts))]
    write_jsonl(folder / "rows.jsonl", rows, names)
    return load_dataset(folder / "rows.jsonl", **reading_options(rows, names)).instances[0]


def test_a_row_is_read_again_with_its_words(tmp_path: Path) -> None:
    one = read_again([split_words("A red boat, isn't it?")], ((1, 3),), tmp_path)
    assert one.human == Human(words=((1, 3),))
    two = read_again([split_words("A red boat."), split_words("")], ((), ()), tmp_path)
    assert two.human == Human(words=((), ()))
    assert two.parallel_id == "1"


def test_words_that_others_split_come_back_by_their_place(tmp_path: Path) -> None:
    one = read_again([from_words(["in", "New York", "too"])], ((1,),), tmp_path)
    assert one.parts[0].words == ("in", "New", "York", "too")
    assert one.human == Human(words=((1, 2),))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"threshold": 0.2}, "tuning: name a set with human highlights"),
        ({"method": "saliency"}, "tuning: name a set with human highlights"),
        ({"tuning": "t", "treshold": 0.2}, "did you mean 'threshold'"),
        ({"tuning": {"name": "t", "granularity": "token"}}, "tuning: highlights are words of all parts"),
        ({"tuning": "t", "threshold": float("nan")}, "threshold"),
        ({"tuning": {"name": "t", "splitt": "x"}}, "did you mean 'tuning.split'"),
    ],
)
def test_mistakes_in_the_spec(content: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        parse_highlights_spec({"model": "m", "data": "d", **content})


def test_the_page_names_every_field_of_the_spec_with_its_default() -> None:
    page = (Path(__file__).parents[2] / "docs" / "highlights.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| ([^|]*) \|", page, flags=re.M))
    assert list(rows) == list(HighlightsSpec.model_fields)
    for name, field in HighlightsSpec.model_fields.items():
        if isinstance(field.default, str | int):
            assert rows[name] == str(field.default), name
    assert rows["methods"] == str(len(HighlightsSpec.model_fields["methods"].default))
