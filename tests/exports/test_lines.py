"""ERASER and Thermostat: every field against the run, and ERASER read back by verax."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from support.cli import CallVerax
from support.runs import WORD_SCORES, make_run, method_entry, metric_entry, run_card, text_of, word_run
from support.unified import unified_word_run
from verax import import_explanations
from verax.data.imports.tokens import open_tokenizer
from verax.data.text import split_words
from verax.results.run import Run
from verax.types import Dataset, Highlight, Instance, Prediction, Target


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def as_dataset(run: Run) -> Dataset:
    return Dataset("pairs", tuple(run.inputs()), run.manifest.model.labels)


def test_rationales_are_read_back_as_they_were_written(verax: CallVerax, tmp_path: Path) -> None:
    run = word_run(tmp_path / "run")
    answer = verax("export", "run", "--format", "eraser", "--out", "rationales.jsonl")
    assert (answer.code, answer.err) == (0, "")
    assert "3 of 3 inputs, explained by loo" in answer.out
    read = import_explanations("eraser", tmp_path / "rationales.jsonl", as_dataset(run))["eraser"]
    written = [row for row in run.highlights() if row.method == "loo"]
    assert [(row.instance_id, row.units, row.scores) for row in read] == [
        (row.instance_id, row.units, row.scores) for row in written
    ]
    first = lines(tmp_path / "rationales.jsonl")[0]
    assert first == {
        "annotation_id": "id-0",
        "rationales": [
            # 0.2 of 7 tokens are 2: those with the scores 1.0 and 0.5
            {
                "docid": "id-0_premise",
                "hard_rationale_predictions": [{"start_token": 2, "end_token": 3}],
                "soft_rationale_predictions": list(WORD_SCORES[:4]),
            },
            {
                "docid": "id-0_hypothesis",
                "hard_rationale_predictions": [{"start_token": 1, "end_token": 2}],
                "soft_rationale_predictions": list(WORD_SCORES[4:]),
            },
        ],
        "classification": "no",
        "classification_scores": {"no": 0.3, "yes": 0.7},
    }


def prose_run(folder: Path, *, explained: tuple[int, ...] = (0, 1)) -> Run:
    """A run of prose with punctuation, of which some parts are explained; scores are 1, 2, 3, ..."""
    texts = ("The boat, unbelievably, is red.", "It is a lake!")
    instance = Instance("a", tuple(split_words(text) for text in texts), "contradiction")
    units = tuple(unit for unit in instance.units if unit[0].part in explained)
    labels = ("entailment", "neutral", "contradiction")
    return make_run(
        folder,
        card=run_card([method_entry("random"), method_entry("loo")], [metric_entry("comp")]),
        instances=[instance, Instance("b", (text_of("no explanation"), text_of("of this")), None)],
        predictions=[
            Prediction("a", "entailment", labels, (0.75, 0.25, 0.0)),
            Prediction("b", "neutral", labels, (0.1, 0.8, 0.1)),
        ],
        highlights=[
            Highlight("a", name, "token", Target(), units, tuple(float(i) for i in range(1, len(units) + 1)))
            for name in ("random", "loo")
        ],
    )


def test_a_token_has_the_sum_of_its_words_and_runs_of_tokens_are_spans(verax: CallVerax, tmp_path: Path) -> None:
    prose_run(tmp_path / "run", explained=(0,))
    assert verax("export", "run", "-f", "eraser", "-o", "out.jsonl", "--top", "0.4").code == 0
    (only,) = lines(tmp_path / "out.jsonl")
    premise, hypothesis = only["rationales"]
    # The | boat , | unbelievably , | is | red .
    assert premise["soft_rationale_predictions"] == [1, 2 + 3, 4 + 5, 6, 7 + 8]
    assert hypothesis["soft_rationale_predictions"] == [0, 0, 0, 0]
    assert premise["hard_rationale_predictions"] == [{"start_token": 1, "end_token": 5}]
    assert hypothesis["hard_rationale_predictions"] == []


def test_tokens_share_the_score_of_their_word(verax: CallVerax, tmp_path: Path) -> None:
    run = prose_run(tmp_path / "run")
    answer = verax("export", "run", "-f", "thermostat", "-o", "out.jsonl", "--tokenizer", "world/nli")
    assert (answer.code, "1 of 2 inputs" in answer.out) == (0, True), answer.err
    (only,) = lines(tmp_path / "out.jsonl")
    assert set(only) == {"idx", "id", "input_ids", "attributions", "label", "predictions"}
    (instance,) = run.inputs(["a"])
    encoded = open_tokenizer("world/nli")(*(part.raw for part in instance.parts))
    assert only["input_ids"] == encoded["input_ids"]
    assert (only["idx"], only["id"], only["label"]) == (0, "a", 2)
    assert [math.exp(value) for value in only["predictions"]] == pytest.approx([0.75, 0.25, 0.0])

    words, sums = encoded.word_ids(), Counter[tuple[int, int]]()
    parts = encoded.sequence_ids()
    for word, part, score in zip(words, parts, only["attributions"], strict=True):
        if word is None:
            assert score == 0
        else:
            sums[part, word] += score
    # the pre-tokenizer of this tokenizer splits punctuation off, as verax does
    assert [sums[key] for key in sorted(sums)] == pytest.approx([float(i) for i in range(1, len(sums) + 1)])
    pieces: dict[tuple[int, int], list[float]] = {}
    for word, part, score in zip(words, parts, only["attributions"], strict=True):
        pieces.setdefault((part, word), []).append(score)
    assert max(map(len, pieces.values())) > 1
    assert all(len(set(scores)) == 1 for scores in pieces.values())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-f", "eraser", "--method", "lo"), "unknown method 'lo'; did you mean 'loo'?"),
        (("-f", "eraser", "--top", "20"), "expected a share between 0 and 1, got 20"),
        (("-f", "thermostat"), "name one with --tokenizer"),
        (("-f", "thermostat", "--top", "0.5"), "it is an option of the format eraser"),
        (("-f", "eraser", "--tokenizer", "world/nli"), "it is an option of the format thermostat"),
    ],
)
def test_invalid_requests_write_nothing(
    verax: CallVerax, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    word_run(tmp_path / "run")
    answer = verax("export", "run", "-o", "out.jsonl", *arguments)
    assert (answer.code, message in answer.err) == (2, True), answer.err
    assert not (tmp_path / "out.jsonl").exists()


def test_only_word_scores_fit(verax: CallVerax, tmp_path: Path) -> None:
    run = unified_word_run(tmp_path / "run")
    (spans, *_) = [row.method for row in run.highlights() if row.kind == "span_interaction"]
    answer = verax("export", "run", "-f", "eraser", "-o", "out.jsonl", "--method", spans)
    assert (answer.code, "does not score words" in answer.err) == (2, True), answer.err
