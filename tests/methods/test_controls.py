"""Scores by the form of words, and methods applied to randomised weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import verax
from verax.data.text import from_words
from verax.engine.ask import ask_all
from verax.engine.protocols import Method
from verax.methods.baselines import ContentFree
from verax.methods.gradients import Saliency
from verax.methods.randomised import Randomised
from verax.models.classifier import Classifier
from verax.models.hf_classifier import HFClassifier
from verax.models.load import load_model
from verax.models.subject import Subject
from verax.models.words import FormFeature
from verax.types import Attribution, FloatArray, Instance, UserError

PAIR = Instance("1", (from_words(["unbelievable", ",", "he", "sleeps"]), from_words(["a", "dog", "!"])), "yes")


def scores(method: Method, x: Subject) -> FloatArray:
    found: dict[str, Attribution] = {}
    ask_all([("it", method(x))], found.__setitem__)
    return found["it"].scores


@pytest.mark.parametrize(
    ("feature", "expected"),
    [
        ("characters", [12, 1, 2, 6, 1, 3, 1]),
        ("position", [1, 2, 3, 4, 1, 2, 3]),
        ("part", [0, 0, 0, 0, 1, 1, 1]),
        ("not_punctuation", [1, 0, 1, 1, 1, 1, 0]),
    ],
)
def test_scores_by_the_form_of_words(
    feature: FormFeature, expected: list[float], classifier: Callable[..., Classifier]
) -> None:
    np.testing.assert_array_equal(scores(ContentFree(feature), Subject(PAIR, classifier("bert"))), expected)


def test_sub_words_are_those_of_the_tokenizer(checkpoint: Callable[[str], Path]) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(checkpoint("bert"))
    words = [word for part in PAIR.parts for word in part.words]
    expected = [len(tokenizer.tokenize(word)) for word in words]
    assert len(set(expected)) > 1
    np.testing.assert_array_equal(scores(ContentFree(), Subject(PAIR, load_model(checkpoint("bert")))), expected)


def test_randomised_weights_are_new_seeded_and_leave_the_model_as_it_is(classifier: Callable[..., Classifier]) -> None:
    model = classifier("bert")
    assert isinstance(model, HFClassifier)
    before = {name: weight.clone() for name, weight in model._model.state_dict().items()}
    state = torch.random.get_rng_state()
    x = Subject(PAIR, model)
    plain, first, again, other = (
        scores(method, x)
        for method in (Saliency(), Randomised(Saliency(), 1), Randomised(Saliency(), 1), Randomised(Saliency(), 2))
    )
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, plain)
    assert not np.allclose(first, other)
    np.testing.assert_array_equal(first, scores(Saliency(), Subject(PAIR, model.randomised(1))))
    assert torch.equal(torch.random.get_rng_state(), state)
    assert all(torch.equal(weight, before[name]) for name, weight in model._model.state_dict().items())
    new = model.randomised(1)._model.state_dict()
    words = "bert.embeddings.word_embeddings.weight"
    assert new[words].dtype == before[words].dtype
    assert not torch.allclose(new[words], before[words])


@pytest.mark.parametrize("controls", ["randomised", ["randomised"]])
def test_a_spec_asks_for_the_control_of_each_method(
    controls: Any, classifier: Callable[..., Classifier], tmp_path: Path
) -> None:
    data = verax.Dataset("one", (PAIR,), ("yes", "maybe", "no"))
    run = verax.evaluate(
        classifier("bert"), data, ["occlusion"], ["comprehensiveness"], out=tmp_path, controls=controls, seed=3
    )
    assert run.methods == ("random", "occlusion", "randomised(over=occlusion)")
    entry = run.manifest.method("randomised(over=occlusion)")
    assert (entry.parameters["seed"], entry.baseline, entry.target) == (3, True, "prediction")


def test_what_has_no_weights_cannot_be_randomised(tmp_path: Path) -> None:
    model = load_model(lambda texts: [[0.5, 0.5]] * len(texts), labels=["yes", "no"])
    data = verax.Dataset("one", (PAIR,), ("yes", "no"))
    with pytest.raises(UserError, match="has no weights that could be randomised"):
        verax.evaluate(
            model,
            data,
            [{"leave_one_out": {"removal": "delete"}}],
            ["complexity"],
            out=tmp_path,
            controls=["randomised"],
        )
    with pytest.raises(UserError, match="needs a method that scores words"):
        Randomised(Randomised())
