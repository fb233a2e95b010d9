from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verax.data.explanations import load_explanations
from verax.data.load import load_dataset
from verax.data.pieces import Mismatch, locate
from verax.data.text import split_words
from verax.types import Dataset, Highlight, Instance, Target, UserError

DATASET = Dataset(
    "pairs",
    (
        Instance("a", (split_words("Dogs aren't running."), split_words("They rest")), "yes"),
        Instance("b", (split_words("Café 👩🏽‍💻  naïve"), split_words(""))),
    ),
    ("no", "yes"),
)
OURS = {"id": "a", "method": "mine", "scores": [[1, 2.5, -3, 0], [4, 5]]}


def load(tmp_path: Path, *rows: object) -> dict[str, list[Highlight]]:
    path = tmp_path / "outside.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return load_explanations(path, DATASET)


def scores(tmp_path: Path, identity: str, *parts: dict[str, Any]) -> tuple[float, ...]:
    return load(tmp_path, {"id": identity, "method": "m", "parts": parts})["m"][0].scores


def test_scores_for_our_own_words_are_kept(tmp_path: Path) -> None:
    found = load(tmp_path, OURS, OURS | {"method": "other", "target": "yes"})
    expected = Highlight(
        "a", "mine", "token", Target("prediction"), DATASET.instances[0].units, (1.0, 2.5, -3.0, 0.0, 4.0, 5.0)
    )
    assert found["mine"] == [expected]
    assert [highlight.target for highlight in found["other"]] == [Target("yes")]
    assert list(found) == ["mine", "other"]


REST = {"words": ["They", "rest"], "scores": [0, 0]}


@pytest.mark.parametrize(
    "words",
    [
        ["Dogs", "are", "##n", "'", "##t", "run", "##ning", "."],
        ["dogs", "are", "##n", "'", "##t", "run", "##ning", "."],
        ["▁Dogs", "▁are", "n", "'", "t", "▁run", "ning", "."],
        ["Dogs", "Ġare", "n", "'", "t", "Ġrun", "ning", "."],
        ["Dogs ", " are", "n", "'", "t", " run", "ning", "."],
    ],
)
def test_the_scores_of_a_words_pieces_are_summed(tmp_path: Path, words: list[str]) -> None:
    part = {"words": words, "scores": [1, 2, 4, 8, 16, 32, 64, 128]}
    assert scores(tmp_path, "a", part, REST) == (1, 30, 96, 128, 0, 0)


def test_a_piece_goes_to_the_word_that_it_overlaps_most(tmp_path: Path) -> None:
    part = {"words": ["Dogs aren't", "running."], "scores": [1, 2]}
    assert scores(tmp_path, "a", part, REST) == (0, 1, 2, 0, 0, 0)


def test_a_bare_marker_goes_with_the_piece_that_follows(tmp_path: Path) -> None:
    part = {"words": ["▁", "Dogs", "▁", "aren't", "▁running", ".", "▁"], "scores": [1, 2, 4, 8, 16, 32, 64]}
    assert scores(tmp_path, "a", part, REST) == (3, 12, 16, 96, 0, 0)


def test_bytes_of_a_byte_level_tokenizer_are_read(tmp_path: Path) -> None:
    # é is two bytes, here in two pieces; the emoji with its skin tone and joiner is fifteen, in two.
    words = ["C", "af", "Ã", "©", "ĠðŁĳ©ðŁı½âĢ", "įðŁĴ»", "Ġ", "ĠnaÃ¯ve"]
    part = {"words": words, "scores": [1, 2, 4, 8, 16, 32, 64, 128]}
    assert scores(tmp_path, "b", part, {"scores": []}) == (15, 48, 192)


def test_accents_may_be_stripped(tmp_path: Path) -> None:
    part = {"words": ["cafe", "👩🏽‍💻", "nai", "##ve"], "scores": [1, 2, 3, 4]}
    assert scores(tmp_path, "b", part, {"scores": []}) == (1, 2, 7)


def test_offsets_are_laid_on_our_words_and_empty_ones_are_special_tokens(tmp_path: Path) -> None:
    part = {"offsets": [[0, 0], [0, 4], [4, 9], [9, 11], [12, 19], [20, 20]], "scores": [99, 1, 2, 4, 8, 99]}
    assert scores(tmp_path, "a", part, REST) == (1, 6, 8, 0, 0, 0)


def test_markers_that_stand_in_the_text_itself_are_text() -> None:
    assert locate(["##5", "▁", "Ġ"], split_words("##5 ▁Ġ")) == [(0, 3), (4, 5), (5, 6)]


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), st.data(), st.booleans())
def test_pieces_cut_anywhere_are_found_where_they_were_cut(raw: str, data: st.DataObject, only_words: bool) -> None:
    text = split_words(raw)
    in_word = {place for start, end in text.offsets for place in range(start, end)}
    cuts = sorted(data.draw(st.sets(st.integers(0, len(raw)), max_size=6)) | {0, len(raw)})
    cut_places = [list(range(start, end)) for start, end in itertools.pairwise(cuts)]
    kept_places = [[place for place in places if place in in_word or not only_words] for places in cut_places]
    found = locate(["".join(raw[place] for place in places) for places in kept_places], text)
    for places, span in zip(kept_places, found, strict=True):
        if inside := [place for place in places if place in in_word]:
            assert span == (inside[0], inside[-1] + 1)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"id": "c"}, "field 'id': unknown id 'c'; the first of 2 ids is 'a'"),
        ({"id": "aa"}, "field 'id': unknown id 'aa'; did you mean 'a'?"),
        ({"id": None}, "field 'id': expected text, got an empty value"),
        ({"method": ""}, "field 'method': expected text, got an empty value"),
        ({"method": ["m"]}, "field 'method': expected text or an integer, got a list of 1"),
        ({"id": "a", "method": "mine"}, "field 'id': 'a' already has an explanation by 'mine' on line 1"),
        ({"target": "predicton"}, "field 'target': unknown target 'predicton'; did you mean 'prediction'?"),
        ({"taget": "gold"}, "unknown field 'taget'; did you mean 'target'?"),
        (
            {"parts": []},
            "field 'scores': expected exactly one of scores (one per word), parts (with words or offsets) and pairs",
        ),
        ({"scores": [[1, 2, 3, 4]]}, "field 'scores': expected one entry for each of the 2 parts of 'a', got 1"),
        ({"scores": 3}, "field 'scores': expected a list with an entry for each part, got the number 3"),
        ({"scores": [[1, 2, 3], [4, 5]]}, "field 'scores': part 0: 3 scores for 4 words"),
        ({"scores": [[1, 2, 3, 4], 5]}, "field 'scores': expected a list of numbers in part 1, got the number 5"),
        ({"scores": [[1, 2, 3, 4], [5, None]]}, "field 'scores': part 1: score 1: expected a number, got null"),
        ({"scores": [[1, 2, 3, 4], [5, True]]}, "field 'scores': part 1: score 1: expected a number, got true"),
        ({"scores": [[1, 2, 3, float("nan")], [4, 5]]}, "field 'scores': part 0: score 3 is not a finite number: nan"),
        (
            {"scores": [[-float("inf"), 2, 3, 4], [4, 5]]},
            "field 'scores': part 0: score 0 is not a finite number: -inf",
        ),
    ],
)
def test_a_mistake_is_named_by_line_and_field(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        load(tmp_path, OURS, OURS | {"method": "second"} | row)
    assert str(caught.value) == f"{tmp_path}/outside.jsonl:2: {message}"


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ([1], "field 'parts': part 0: expected an object, got a list of 1"),
        ({"word": [], "scores": []}, "unknown field 'word'; did you mean 'words'?"),
        ({"words": [], "offsets": [], "scores": []}, "field 'parts': part 0: give words or offsets, not both"),
        ({"words": ["Dogs"]}, "field 'scores': expected a list of numbers in part 0, got null"),
        ({"words": "Dogs", "scores": []}, "field 'words': expected a list of words in part 0, got the text 'Dogs'"),
        ({"words": [1], "scores": [1]}, "field 'words': expected a list of texts in part 0, got the number 1"),
        (
            {"words": ["Dogs", "aren't", "running."], "scores": [1]},
            "field 'scores': part 0: 1 scores for 3 words",
        ),
        (
            {"words": ["Dogs", "are", "running"], "scores": [1, 2, 3]},
            "field 'words': part 0: word 2 ('running') does not match \"n't running.\" at character 8 of the text",
        ),
        (
            {"words": ["Dogs", "aren't"], "scores": [1, 2]},
            "field 'words': part 0: the end of the words does not match 'running.' at character 12 of the text",
        ),
        (
            {"words": ["Dogs", "aren't", "running", ".", " [SEP]"], "scores": [1, 2, 3, 4, 5]},
            "field 'words': part 0: word 4 (' [SEP]') comes after the end of the text",
        ),
        (
            {"words": ["dogs", "are", "##n", "'", "##s"], "scores": [1] * 5},
            "field 'words': part 0: word 4 ('##s') does not match 't running.' at character 10 of the text",
        ),
        (
            {"offsets": [[0, 99]], "scores": [1]},
            "field 'offsets': [0, 99] is outside the 20 characters of the text",
        ),
        ({"offsets": [[4, 5]], "scores": [1]}, "field 'offsets': part 0: [4, 5] covers no word of the text"),
        (
            {"offsets": [[0, 2], [2, 4]], "scores": [1.7e308, 1.7e308]},
            "field 'scores': part 0: the scores of the pieces of a word overflow when summed",
        ),
    ],
)
def test_words_and_offsets_that_do_not_fit_are_refused(tmp_path: Path, part: object, message: str) -> None:
    with pytest.raises(UserError) as caught:
        load(tmp_path, {"id": "a", "method": "m", "parts": [part, REST]})
    assert str(caught.value) == f"{tmp_path}/outside.jsonl:1: {message}"


def test_a_whole_number_beyond_every_float_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="part 0: score 0 is not a finite number"):
        load(tmp_path, OURS | {"scores": [[10**400, 2, 3, 4], [5, 6]]})


def test_an_empty_or_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"outside.jsonl: contains no explanation of the 2 instances"):
        load(tmp_path)
    with pytest.raises(UserError, match="no such file"):
        load_explanations(tmp_path / "nowhere.jsonl", DATASET)


def test_what_lies_beyond_the_limit_of_the_data_is_passed_over(tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text('{"text": "one"}\n{"text": "two"}\n')
    outside = tmp_path / "outside.jsonl"
    outside.write_text("".join(json.dumps({"id": i, "method": "m", "scores": [[i]]}) + "\n" for i in (2, 1)))
    found = load_explanations(outside, load_dataset(data, limit=1))
    assert [highlight.instance_id for highlight in found["m"]] == ["1"]
    assert [highlight.instance_id for highlight in load_explanations(outside, load_dataset(data))["m"]] == ["2", "1"]


def test_the_mismatch_that_got_furthest_is_told() -> None:
    with pytest.raises(Mismatch) as caught:
        locate(["▁one", "▁two", "▁four"], split_words("one two three"))
    assert caught.value.reached == 8
