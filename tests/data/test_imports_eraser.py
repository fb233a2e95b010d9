"""Predictions in the format of the ERASER benchmark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from verax import import_explanations
from verax.data.explanations import load_explanations
from verax.data.text import split_words
from verax.types import Dataset, Highlight, Instance, UserError

DATASET = Dataset(
    "d",
    (
        Instance("one", (split_words("Not a good film."),)),
        Instance("two", (split_words("A dog sleeps"), split_words("It rests")), "yes"),
    ),
    ("no", "yes"),
)
SOFT, HARD = "soft_rationale_predictions", "hard_rationale_predictions"


def read(tmp_path: Path, *rows: Any, **options: Any) -> list[Highlight]:
    path = tmp_path / "predictions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (found,) = import_explanations("eraser", path, DATASET, **options).values()
    return found


def one(**rationale: Any) -> dict[str, Any]:
    return {"annotation_id": "one", "rationales": [{"docid": "one", **rationale}], "classification": "no"}


def test_soft_scores_and_hard_spans(tmp_path: Path) -> None:
    spans = [{"start_token": 0, "end_token": 1}, {"start_token": 2, "end_token": 4}]
    # "film." is one token of the benchmark and two words: it goes to the longer one
    (soft,) = read(tmp_path, one(**{SOFT: [0.5, -1, 2, 4], HARD: spans}), out=tmp_path / "o.jsonl", method="lei")
    assert soft.scores == (0.5, -1, 2, 4, 0)
    assert load_explanations(tmp_path / "o.jsonl", DATASET) == {"lei": [soft]}
    (hard,) = read(tmp_path, one(**{HARD: spans}))
    assert hard.scores == (1, 0, 1, 1, 0)


def test_documents_are_parts(tmp_path: Path) -> None:
    premise = {"docid": "two_premise", SOFT: [1, 2, 3]}
    hypothesis = {"docid": "two_hypothesis", SOFT: [4, 5]}
    for order in ([premise, hypothesis], [hypothesis, premise]):
        (found,) = read(tmp_path, {"annotation_id": "two", "rationales": order})
        assert found.scores == (1, 2, 3, 4, 5)
    (found,) = read(tmp_path, {"annotation_id": "two", "rationales": [{"docid": "d", SOFT: [4, 5]}]})
    assert found.scores == (0, 0, 0, 4, 5)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"annotation_id": "ones"}, "field 'annotation_id': unknown id 'ones'; did you mean 'one'?"),
        ({"rationales": []}, "field 'annotation_id': expected text, got an empty value"),
        ({"annotation_id": "one", "evidences": []}, "field 'rationales': expected a list of rationales"),
        ({"annotation_id": "one", "rationales": [1]}, "field 'rationales': expected an object, got the number 1"),
        (
            {"annotation_id": "one", "rationales": []},
            "field 'rationales': 0 rationales cannot be matched to the 1 parts of 'one'",
        ),
        (
            {"annotation_id": "two", "rationales": [{HARD: []}]},
            "field 'rationales': 1 rationales cannot be matched to the 2 parts of 'two'",
        ),
        (one(), f"field 'rationales': expected {SOFT} or {HARD}"),
        (one(**{SOFT: [1, 2]}), f"field '{SOFT}': 2 scores for a document of 4 tokens"),
        (one(**{SOFT: [1, 2, 3, "x"]}), f"field '{SOFT}': score 3: expected a number, got the text 'x'"),
        (one(**{SOFT: [1, float("nan"), 3, 4]}), "field 'scores': part 0: score 1 is not a finite number: nan"),
        (one(**{HARD: [{"start_token": 2, "end_token": 9}]}), f"field '{HARD}': [2, 9] is outside the 4 tokens"),
        (one(**{HARD: [{"start_token": 2}]}), f"field '{HARD}': expected end_token, got null"),
        (one(**{HARD: [2]}), f"field '{HARD}': expected an object, got the number 2"),
    ],
)
def test_a_mistake_is_named_by_line_and_field(tmp_path: Path, row: Any, message: str) -> None:
    good = {"annotation_id": "two", "rationales": [{SOFT: [1, 2, 3]}, {SOFT: [1, 2]}]}
    rows = [row] if row.get("annotation_id") == "two" else [good, row]
    with pytest.raises(UserError) as caught:
        read(tmp_path, *rows)
    assert str(caught.value).startswith(f"{tmp_path}/predictions.jsonl:{len(rows)}: {message}")


def test_twice_the_same_and_no_file(tmp_path: Path) -> None:
    row = one(**{SOFT: [1, 2, 3, 4]})
    with pytest.raises(UserError, match="'one' already has an explanation by 'eraser' on line 1"):
        read(tmp_path, row, row)
    with pytest.raises(UserError, match="no such file"):
        import_explanations("eraser", tmp_path / "nowhere.jsonl", DATASET)
