"""SpanEx: who gave which relation, what the annotation tool made, and the join with e-SNLI by public ids."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import average_precision_score

from support.published import marked, paired, refusal, write_jsonl
from verax.api import evaluate
from verax.data.load import load_dataset
from verax.metrics.agreement import Agreement
from verax.models.black_box import BlackBox
from verax.models.subject import Subject
from verax.types import Highlight, Relation, Span, Target

PREMISE, HYPOTHESIS = "A tired brown dog sleeps outside.", "The dog is running outside"


def relation(first: str, second: str, labels: list[str], annotators: list[int], level: str = "low") -> dict[str, Any]:
    start, other = PREMISE.index(first), HYPOTHESIS.index(second)
    return {
        "labels": labels,
        "annotators": annotators,
        "level": level,
        "start_premise": start,
        "end_premise": start + len(first),
        "start_hypothesis": other,
        "end_hypothesis": other + len(second),
    }


ROW: dict[str, Any] = {
    "id": "7",
    "label": "contradiction",
    "premise": PREMISE,
    "hypothesis": HYPOTHESIS,
    "original_id": "7.jpg#0r1c",
    "relations": [
        relation("sleeps", "running", ["Antonym", "Antonym"], [0, 2]),
        relation("dog", "dog", ["Synonym-SYSTEM", "Synonym"], [1, 2]),
        relation("outside", "outside", ["Synonym-SYSTEM"], [0]),
        relation("tired brown dog", "The dog", ["Hypernym-P2H"], [2], "high"),
    ],
}
SLEEPS, DOG, TIRED = (
    (Span(0, 4, 5), Span(1, 3, 4)),
    (Span(0, 3, 4), Span(1, 1, 2)),
    (Span(0, 1, 4), Span(1, 0, 2)),
)


def write_esnli(path: Path, **cells: str) -> Path:
    row = {
        "pairID": "7.jpg#0r1c",
        "gold_label": "contradiction",
        "Sentence1": PREMISE,
        "Sentence2": HYPOTHESIS,
        "Explanation_1": "A dog that sleeps is not running.",
        "Sentence1_marked_1": "A tired brown dog *sleeps* outside.",
        "Sentence2_marked_1": "The dog is *running* outside",
        **cells,
    }
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, row)
        writer.writeheader()
        writer.writerow(row)
    return path


def test_relations_keep_level_label_and_annotator_without_those_of_the_tool(tmp_path: Path) -> None:
    (instance,) = load_dataset(write_jsonl(tmp_path / "snli.jsonl", ROW)).instances
    assert instance.human is not None
    assert instance.human.relations == (
        Relation(SLEEPS, "Antonym", "low", "0"),
        Relation(SLEEPS, "Antonym", "low", "2"),
        Relation(DOG, "Synonym", "low", "2"),
        Relation(TIRED, "Hypernym-P2H", "high", "2"),
    )
    assert paired(instance) == [("sleeps", "running"), ("dog", "dog"), ("tired brown dog", "The dog")]
    assert marked(instance) == [["tired", "brown", "dog", "sleeps"], ["The", "dog", "running"]]
    by = instance.human.by_annotator()
    assert {name: human.span_pairs for name, human in by.items()} == {"0": (SLEEPS,), "2": (SLEEPS, DOG, TIRED)}


def test_labels_and_annotators_belong_together(tmp_path: Path) -> None:
    broken = ROW | {"relations": [relation("dog", "dog", ["Synonym"], [0, 1])]}
    assert "field 'relations[0]': 1 labels for 2 annotators" in refusal(write_jsonl(tmp_path / "a.jsonl", broken))


@pytest.mark.parametrize("place", ["spanex/esnli_test.csv", "esnli/esnli_dev.csv"])
def test_e_snli_is_joined_by_public_id(tmp_path: Path, place: str) -> None:
    (tmp_path / "spanex").mkdir()
    write_esnli(tmp_path / place)
    path = write_jsonl(tmp_path / "spanex" / "snli.jsonl", ROW, ROW | {"id": "8", "original_id": "8.jpg#0r1c"})
    dataset = load_dataset(path)
    first, second = dataset.instances
    assert marked(first) == [["sleeps"], ["running"]]
    assert first.human is not None
    assert first.human.explanations == ("A dog that sleeps is not running.",)
    assert paired(first) == paired(second)
    assert marked(second) == [["tired", "brown", "dog", "sleeps"], ["The", "dog", "running"]], "not in e-SNLI"
    assert Path(place).name in dataset.provenance["path"]


def test_agreement_with_each_annotator(tmp_path: Path) -> None:
    """Pairs and words against the gold of each, by scikit-learn; the value is their mean."""
    (instance,) = load_dataset(write_jsonl(tmp_path / "snli.jsonl", ROW)).instances
    model = BlackBox(lambda texts: [[0.5, 0.5]] * len(texts), labels=("yes", "no"), name="even", version="1")
    x = Subject(instance, model)
    words = [span for (span,) in x.units]
    scores = tuple(((7 * i) % 11) / 11 for i in range(len(words)))
    made = Highlight(instance.id, "m", "token", Target(), tuple((word,) for word in words), scores)
    gold = {
        "0": {(0, 4), (1, 3)},
        "2": {(0, 4), (1, 3), (0, 3), (1, 1), (0, 1), (0, 2), (1, 0)},
    }
    expected = [
        average_precision_score([(word.part, word.start) in one for word in words], scores) for one in gold.values()
    ]
    measured = Agreement(gold="each")(x, made)
    assert measured.series["annotators"] == pytest.approx(tuple(expected))
    assert measured.value == pytest.approx(sum(expected) / 2)
    union = Agreement()(x, made)
    assert union.value == pytest.approx(expected[1]), "the second annotator gave all that the first one gave"


def test_relations_are_stored_with_a_run_and_are_part_of_the_key(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "snli.jsonl", ROW)
    metrics: list[Any] = ["agreement", {"agreement": {"gold": "each"}}]
    run = evaluate("world/nli", str(path), ["saliency"], metrics, out=tmp_path / "run", progress=False)
    (instance,) = load_dataset(path).instances
    assert run.inputs([instance.id]) == [instance]
    labels = {score.metric: score.value for score in run.score_rows() if score.method == "saliency"}
    assert set(labels) == {"agreement", "agreement(gold=each)"}
