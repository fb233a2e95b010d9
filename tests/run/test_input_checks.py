"""Invalid input stops a run before anything is loaded or computed, and the message names the fix."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.cli import CallVerax
from verax.api import evaluate, explain
from verax.data.load import load_dataset
from verax.data.text import split_words
from verax.models.classifier import Classifier
from verax.models.load import load_model
from verax.run import prepare
from verax.types import Dataset, Instance, UserError

SENTIMENT = ("negative", "positive")


def data_of(*labels: str | None) -> Dataset:
    texts = [(split_words("a red boat"), split_words("a boat")) for _ in labels]
    instances = tuple(
        Instance(str(i), parts, label) for i, (parts, label) in enumerate(zip(texts, labels, strict=True))
    )
    return Dataset("mine", instances, tuple(sorted({label for label in labels if label})))


def rejected(model: Classifier, data: Dataset, folder: Path, **more: Any) -> str:
    with pytest.raises(UserError) as error:
        evaluate(model, data, ["leave_one_out"], ["complexity"], out=folder / "run", progress=False, **more)
    assert not (folder / "run").exists(), "nothing is written"
    return str(error.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"methods": ["leave_one_outt"]}, "did you mean 'leave_one_out'"),
        ({"metrics": ["complexiti"]}, "did you mean 'complexity'"),
        ({"methods": [{"leave_one_out": {"removel": "mask"}}]}, "did you mean 'removal'"),
        ({"metrics": [{"comprehensiveness": {"bins": "many"}}]}, "comprehensiveness: bins"),
    ],
)
def test_names_and_parameters_are_checked_before_anything_is_loaded(
    verax: CallVerax, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], message: str
) -> None:
    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("loaded before the names were checked")

    for name in ("open_model", "open_data"):
        monkeypatch.setattr(prepare, name, never)
    spec = {"model": "world/nli", "data": "world/nli", "methods": ["random"], "metrics": ["complexity"], **changes}
    (tmp_path / "spec.yaml").write_text(json.dumps(spec))
    answer = verax("run", "spec.yaml", "--out", "run")
    assert answer.code == 2
    assert message in answer.err


def test_the_method_of_one_explanation_is_checked_before_the_model_is_loaded(verax: CallVerax) -> None:
    answer = verax("explain", "a boat", "--model", "no/such/model/anywhere", "--method", "leave_one_outt")
    assert answer.code == 2
    assert "did you mean 'leave_one_out'" in answer.err
    answer = verax("explain", "a boat", "--model", "no/such/model/anywhere", "--method", "lime", "--set", "sample=3")
    assert "did you mean 'samples'" in answer.err


def test_labels_of_another_task_stop_the_run(classifier: Callable[..., Classifier], tmp_path: Path) -> None:
    """Sentiment data on a model of three other classes: other labels, and another number of them."""
    message = rejected(classifier("bert"), data_of(*SENTIMENT), tmp_path)
    assert "negative, positive" in message
    assert "yes, maybe, no" in message
    assert "data.columns.label" in message


def test_labels_of_a_checkpoint_without_names_stop_the_run(checkpoint: Callable[[str], Path], tmp_path: Path) -> None:
    model = load_model(checkpoint("bert"), labels=["LABEL_0", "LABEL_1", "LABEL_2"])
    message = rejected(model, data_of("yes", "maybe", "no"), tmp_path)
    assert "model.labels" in message
    run = evaluate(
        model, data_of("0", "2"), ["leave_one_out"], ["complexity"], out=tmp_path / "numbers", progress=False
    )
    assert len(run.instances) == 2, "numbers name the classes of such a checkpoint"


def test_labels_in_other_words_name_the_option(classifier: Callable[..., Classifier], tmp_path: Path) -> None:
    message = rejected(classifier("bert"), data_of("ja", "vielleicht", "nein"), tmp_path)
    assert "in the model's order: model.labels" in message


def test_one_class_in_common_is_not_the_same_task(classifier: Callable[..., Classifier], tmp_path: Path) -> None:
    message = rejected(classifier("bert"), data_of("negative", "maybe", "positive"), tmp_path)
    assert message.startswith("data: most of the labels of mine are none of the classes")


def test_known_labels_of_half_the_inputs_are_enough_and_none_at_all_is_fine(
    classifier: Callable[..., Classifier], tmp_path: Path
) -> None:
    for name, data in {"some": data_of("yes", "perhaps"), "none": data_of(None, None)}.items():
        run = evaluate(classifier("bert"), data, ["leave_one_out"], ["complexity"], out=tmp_path / name, progress=False)
        assert len(run.instances) == 2


def test_two_instances_with_one_id_stop_the_run(classifier: Callable[..., Classifier], tmp_path: Path) -> None:
    data = data_of("yes", "no")
    same = replace(data, instances=tuple(replace(instance, id="x") for instance in data.instances))
    assert "'x'" in rejected(classifier("bert"), same, tmp_path)


def rows(path: Path, *ids: Any) -> Path:
    path.write_text("".join(json.dumps({"id": name, "text": f"boat {i}"}) + "\n" for i, name in enumerate(ids)))
    return path


def test_a_column_of_ids_is_used_by_itself(tmp_path: Path) -> None:
    path = rows(tmp_path / "data.jsonl", "b7", "a3")
    assert [instance.id for instance in load_dataset(str(path)).instances] == ["b7", "a3"]
    numbered = load_dataset(str(path), columns={"id": ""})
    assert [instance.id for instance in numbered.instances] == ["1", "2"]


def test_ids_that_are_not_unique_are_rejected_with_both_rows(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"data\.jsonl:2.*'x' is already the id of line 1.*columns\.id"):
        load_dataset(str(rows(tmp_path / "data.jsonl", "x", "x")))


def test_a_function_must_return_probabilities(tmp_path: Path) -> None:
    def raw(texts: list[tuple[str, ...]]) -> Any:
        return np.array([[2.0, -1.0]] * len(texts))

    with pytest.raises(UserError, match=r'\[2, -1\].*outputs="logits"'):
        explain(load_model(raw, labels=["a", "b"]), "a boat", method={"leave_one_out": {"removal": "delete"}})
    incomplete = load_model(lambda texts: [[0.5, 0.4]] * len(texts), labels=["a", "b"])
    with pytest.raises(UserError, match="sum to 1"):
        explain(incomplete, "a boat", method={"leave_one_out": {"removal": "delete"}})
    with pytest.raises(UserError, match='outputs="logits"'):
        evaluate(
            load_model(raw, labels=["a", "b"]), data_of(None), [{"leave_one_out": {"removal": "delete"}}],
            ["complexity"], out=tmp_path / "run", progress=False,
        )  # fmt: skip
    assert not (tmp_path / "run").exists(), "it is asked once before the run begins"


def test_a_function_that_raises_is_recorded_with_the_input(tmp_path: Path) -> None:
    def picky(texts: list[tuple[str, ...]]) -> Any:
        if any(first != "a red boat" for first, _ in texts):
            raise ValueError("nothing but red boats")
        return [[0.5, 0.5]] * len(texts)

    method = {"leave_one_out": {"removal": "delete"}}
    model = load_model(picky, labels=["a", "b"])
    run = evaluate(model, data_of(None), [method], ["complexity"], out=tmp_path / "run", progress=False)
    assert [label.partition("(")[0] for label in run.methods] == ["random", "leave_one_out"], "not the prediction"
    assert {skip.reason for skip in run.skips()} == {"failed"}


def raising(texts: list[tuple[str, ...]]) -> Any:
    return [[text.lower()] for text in texts]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            raising,
            r"AttributeError: 'tuple' object .* \(test_input_checks.py:\d+\) for each of 3 inputs.*tuple of its",
        ),
        (lambda texts: ["yes"] * len(texts), "must return numbers, a row of 2 for each text, and returned"),
        (lambda texts: [[float("nan")] * 2] * len(texts), "returned NaN for each of 3 inputs"),
    ],
)
def test_a_function_that_fails_for_all_inputs_is_rejected(
    tmp_path: Path, function: Callable[..., Any], message: str
) -> None:
    assert re.search(message, rejected(load_model(function, labels=["a", "b"]), data_of(*[None] * 5), tmp_path))


def test_logits_of_a_function_are_taken_as_they_are() -> None:
    def raw(texts: list[tuple[str, ...]]) -> Any:
        return [[2.0, -1.0] if "boat" in parts[0] else [0.5, 0.0] for parts in texts]

    model = load_model(raw, labels=["a", "b"], outputs="logits")
    made = explain(model, "a boat", method={"leave_one_out": {"removal": "delete"}})
    assert made.highlight.scores == pytest.approx((0.0, 1.5))
    assert made.prediction.probabilities[0] == pytest.approx(1 / (1 + np.exp(-3.0)))
    same = load_model(raw, labels=["a", "b"])
    assert model.fingerprint != same.fingerprint


def test_rounded_probabilities_pass() -> None:
    model = load_model(lambda texts: [[0.3334, 0.3333, 0.3332]] * len(texts), labels=["a", "b", "c"])
    explain(model, "a boat", method={"leave_one_out": {"removal": "delete"}})
