"""SHAP values that shap itself computes, handed over or kept without pickle, against sums by hand."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from verax import import_explanations
from verax.data.explanations import load_explanations
from verax.data.text import split_words
from verax.types import Dataset, Instance, Target, UserError

LABELS = ("yes", "maybe", "no")
TEXTS = ("The small red boat sails.", "Nobody is watching Café,  the boat")
DATASET = Dataset(
    "reviews", (Instance("r1", (split_words(TEXTS[0]),), "no"), Instance("r2", (split_words(TEXTS[1]),))), LABELS
)
TOLERANCE = 1e-12


@pytest.fixture(scope="module")
def explained(checkpoint: Callable[[str], Path]) -> Callable[..., tuple[Any, Any]]:
    """An explanation of texts, and the probabilities of the model."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    with warnings.catch_warnings():
        # shap sets the colours of its plots in a way that matplotlib is about to drop
        warnings.filterwarnings("ignore", category=PendingDeprecationWarning, message="The set_")
        import shap
    tokenizer = AutoTokenizer.from_pretrained(checkpoint("bert"))
    model = AutoModelForSequenceClassification.from_pretrained(checkpoint("bert")).eval()

    def predict(texts: Any) -> Any:
        encoded = tokenizer([str(text) for text in texts], return_tensors="pt", padding=True)
        with torch.no_grad():
            return model(**encoded).logits.softmax(-1).double().numpy()

    def explain(*texts: str, masker: Any = None, names: Any = LABELS) -> tuple[Any, Any]:
        masker = shap.maskers.Text(masker or tokenizer)
        explainer = shap.Explainer(predict, masker, output_names=None if names is None else list(names))
        return explainer(list(texts), silent=True), predict(texts)

    return explain


def by_hand(explanation: Any, row: int, number: int) -> list[float]:
    """Tokens are cut out of the text, each begins where the one before it ends and lies in one word."""
    text = DATASET.instances[row].parts[0]
    totals = [0.0] * len(text.words)
    at = 0
    for token, values in zip(explanation.data[row], explanation.values[row], strict=True):
        for word, (start, end) in enumerate(text.offsets):
            if start <= at < end and token:
                totals[word] += values[number]
        at += len(token)
    return totals


def keep(path: Path, explanation: Any, **more: Any) -> Path:
    """The recipe of the documentation."""
    np.savez(
        path,
        values=np.concatenate(list(explanation.values)),
        data=np.concatenate(explanation.data).astype(str),
        lengths=[len(tokens) for tokens in explanation.data],
        base_values=explanation.base_values,
        output_names=explanation.output_names,
        **more,
    )
    return path


def test_the_predicted_class_is_taken_and_summed_by_word(tmp_path: Path, explained: Any) -> None:
    explanation, probabilities = explained(*TEXTS)
    out = tmp_path / "shap.jsonl"
    found = import_explanations("shap", explanation, DATASET, out=out)
    for row, highlight in enumerate(found["shap"]):
        expected = by_hand(explanation, row, int(probabilities[row].argmax()))
        assert np.ptp(expected) > 1e-3
        np.testing.assert_allclose(highlight.scores, expected, rtol=0, atol=TOLERANCE)
        assert highlight.target == Target("prediction")
    assert load_explanations(out, DATASET) == found
    assert import_explanations("shap", keep(tmp_path / "shap.npz", explanation), DATASET) == found
    file = keep(tmp_path / "ids.npz", explanation, ids=["r1", "r2"])
    assert import_explanations("shap", file, DATASET) == found


@pytest.mark.parametrize(("target", "number"), [("yes", 0), ("maybe", 1), ("no", 2), ("1", 1)])
def test_a_class_by_name_or_number(explained: Any, target: str, number: int) -> None:
    explanation, _ = explained(*TEXTS)
    for highlight in import_explanations("shap", explanation, DATASET, target=target)["shap"]:
        row = ["r1", "r2"].index(highlight.instance_id)
        np.testing.assert_allclose(highlight.scores, by_hand(explanation, row, number), rtol=0, atol=TOLERANCE)
        assert highlight.target == Target(LABELS[number])


def test_outputs_in_another_order_are_found_by_their_names(explained: Any) -> None:
    explanation, _ = explained(TEXTS[0], names=("no", "yes", "maybe"))
    (gold,) = import_explanations("shap", explanation, DATASET, target="gold")["shap"]
    np.testing.assert_allclose(gold.scores, by_hand(explanation, 0, 0), rtol=0, atol=TOLERANCE)
    (first,) = import_explanations("shap", explanation, DATASET, target="0")["shap"]
    assert (first.scores, first.target) == (gold.scores, Target("no"))


def test_one_row_and_one_class_that_were_sliced_out(explained: Any) -> None:
    explanation, _ = explained(*TEXTS)
    whole = import_explanations("shap", explanation, DATASET, target="maybe")["shap"]
    assert import_explanations("shap", explanation[:, :, "maybe"], DATASET)["shap"] == whole
    assert import_explanations("shap", explanation[1], DATASET, target="maybe")["shap"] == whole[1:]
    with pytest.raises(UserError, match="the values are those of class 'maybe', not of 'no'"):
        import_explanations("shap", explanation[:, :, "maybe"], DATASET, target="no")


def test_a_tokenizer_that_drops_the_end_and_a_separator_between_parts(explained: Any) -> None:
    dropped, _ = explained(TEXTS[0], masker=r"\W+")
    (highlight,) = import_explanations("shap", dropped, DATASET, ids=["r1"], target="yes")["shap"]
    expected = [*dropped.values[0][:, 0], 0.0]
    np.testing.assert_allclose(highlight.scores, expected, rtol=0, atol=TOLERANCE)
    pairs = Dataset("pairs", (Instance("p", (split_words("red boat"), split_words("the boat"))),), LABELS)
    joined, _ = explained("red boat [SEP] the boat", masker=r"\s+")
    (highlight,) = import_explanations("shap", joined, pairs, ids=["p"], target="yes")["shap"]
    assert list(joined.data[0]) == ["red ", "boat ", "[SEP] ", "the ", "boat"]
    np.testing.assert_allclose(highlight.scores, joined.values[0][[0, 1, 3, 4], 0], rtol=0, atol=TOLERANCE)


class Fake:
    """The public fields of an explanation, to be spoilt one by one."""

    def __init__(self, **changed: Any) -> None:
        self.values: Any = np.ones((1, 2, 3))
        self.data: Any = (np.array(["The small red ", "boat sails."], dtype=object),)
        self.base_values: Any = np.zeros((1, 3))
        self.output_names: Any = list(LABELS)
        self.__dict__.update(changed)


@pytest.mark.parametrize(
    ("changed", "options", "message"),
    [
        ({"base_values": None}, {}, "3 classes and no base values to find the predicted one"),
        ({}, {"target": "mayb"}, "field 'target': unknown class 'mayb'; did you mean 'maybe'?"),
        ({}, {"target": "7"}, "unknown class '7'"),
        (
            {"output_names": ["a", "b", "c"]},
            {"target": "yes"},
            "cannot tell which of ['a', 'b', 'c'] is 'yes'; give its",
        ),
        ({"values": np.ones((1, 3, 3))}, {}, "values of shape [3, 3] for 2 tokens"),
        ({"values": np.full((1, 2, 3), np.nan)}, {}, "not a finite number at [0, 0]: nan"),
        ({"data": None}, {}, "the explanation has no data"),
        ({"data": (["other", "text"],)}, {}, "row 1: no input of the data has the text 'othertext'; give ids"),
        (
            {"data": (["other", "text"],)},
            {"ids": ["r1"]},
            "field 'data': word 0 ('other') does not match 'The small red boat",
        ),
        ({}, {"ids": ["r9"]}, "unknown id 'r9'; did you mean 'r"),
        ({}, {"ids": ["r1", "r2"]}, "2 ids for 1 explanations"),
        ({}, {"tokenizer": "x"}, "tokenizer: not supported for shap, got 'x'"),
    ],
)
def test_a_mistake_is_one_clear_line(changed: dict[str, Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        import_explanations("shap", Fake(**changed), DATASET, **options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_will_not_do(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"shap values are read from an .npz file"):
        import_explanations("shap", tmp_path / "shap.pkl", DATASET)
    with pytest.raises(UserError, match=r"expected a shap.Explanation .* got dict"):
        import_explanations("shap", {"r1": 1}, DATASET)
    file = tmp_path / "shap.npz"
    np.savez(file, values=np.ones(2), data=["a", "b"])
    with pytest.raises(UserError, match="'lengths' is missing"):
        import_explanations("shap", file, DATASET)
    np.savez(file, values=np.ones(2), data=["a", "b"], lengths=[3])
    with pytest.raises(UserError, match="2 values and 2 tokens for lengths that add up to 3"):
        import_explanations("shap", file, DATASET)
    np.savez(file, values=np.array([np.ones(2), None], dtype=object), data=["a", "b"], lengths=[2])
    with pytest.raises(UserError, match="never unpickled"):
        import_explanations("shap", file, DATASET)


def test_two_inputs_with_the_same_text_need_ids() -> None:
    twice = Dataset("twice", (DATASET.instances[0], Instance("again", DATASET.instances[0].parts)), LABELS)
    with pytest.raises(UserError, match="2 inputs of the data have the text 'The small"):
        import_explanations("shap", Fake(), twice)
    (highlight,) = import_explanations("shap", Fake(), twice, ids=["again"])["shap"]
    assert highlight.instance_id == "again"
