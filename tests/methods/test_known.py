"""Explanations of known truth rank what is annotated as their name says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from verax.data.load import load_dataset
from verax.data.rules import ADJECTIVES, NOUNS, VERBS, rule_of
from verax.methods.known import KnownPairs, KnownReasons, KnownSpans
from verax.metrics.ranking import word_scores
from verax.models.classifier import Classifier
from verax.models.load import load_model
from verax.models.subject import Subject
from verax.types import Attribution, Highlight, Instance, Target, Undefined

KINDS = (KnownReasons, KnownPairs, KnownSpans)
INPUTS = load_dataset("rules/mixed", limit=40).instances


@pytest.fixture(scope="module")
def model() -> Classifier:
    return load_model("rules/mixed")


def has_pairs(instance: Instance) -> bool:
    return instance.human is not None and instance.human.span_pairs is not None


def explained(method: Any, x: Subject) -> Attribution:
    with pytest.raises(StopIteration) as ended:
        next(method(x))
    made: Attribution = ended.value.value
    return made


def scores(method: Any, x: Subject) -> np.ndarray:
    """The score of each word."""
    made = explained(method, x)
    highlight = Highlight(x.instance.id, "", method.kind, Target(), made.units, tuple(made.scores.tolist()))
    return word_scores(x, highlight)


@pytest.mark.parametrize("kind", KINDS)
def test_truth_falls_from_true_to_inverted(kind: Any, model: Classifier) -> None:
    for instance in INPUTS:
        if kind is not KnownReasons and not has_pairs(instance):
            continue
        x = Subject(instance, model)
        gold = np.array([word in instance.annotated for word in x.words])
        true, partial, plausible, inverted = (
            average_precision_score(gold, scores(kind(truth), x))
            for truth in ("true", "partial", "plausible", "inverted")
        )
        assert true == 1.0
        assert true > partial >= plausible >= inverted
        assert partial > inverted
        assert scores(kind("inverted"), x)[gold].max() < scores(kind("inverted"), x)[~gold].min()


@pytest.mark.parametrize("kind", KINDS)
def test_random_differs_from_the_true_one_in_its_reasons_alone(kind: Any, model: Classifier) -> None:
    ranks = []
    for instance in INPUTS:
        if kind is not KnownReasons and not has_pairs(instance):
            continue
        x = Subject(instance, model)
        true, drawn = (explained(kind(truth), x).scores for truth in ("true", "random"))
        assert (true != drawn).sum() == (true == 1.0).sum()
        ranks += [float((drawn > score).mean()) for score in drawn[true == 1.0]]
    # uniform: the mean of n ranks has a standard error below 0.3 / sqrt(n)
    assert abs(np.mean(ranks) - 0.5) < 4 * 0.3 / np.sqrt(len(ranks))


def test_wrong_words_are_content_words_without_a_role(model: Classifier) -> None:
    for instance in INPUTS:
        x = Subject(instance, model)
        made = explained(KnownReasons("plausible"), x)
        wrong = [unit[0] for unit, score in zip(made.units, made.scores, strict=True) if score == 1.0]
        words = {instance.parts[span.part].words[span.start] for span in wrong}
        assert len(wrong) == len(instance.annotated)
        assert words <= {*ADJECTIVES, *NOUNS, *VERBS}


def test_a_partly_correct_one_keeps_half_of_the_reasons(model: Classifier) -> None:
    kept = {}
    for instance in INPUTS:
        made = explained(KnownReasons("partial"), Subject(instance, model))
        top = {unit[0] for unit, score in zip(made.units, made.scores, strict=True) if score >= 0.9}
        right = {(span.part, span.start) for span in top} & instance.annotated
        kept[rule_of(instance)] = (len(top) - len(right), len(right))
    assert kept == {"word": (1, 1), "conjunction": (1, 1), "negation": (1, 1), "span_pair": (2, 2)}


def test_spans_are_as_long_as_the_annotated_ones(model: Classifier) -> None:
    instance = next(one for one in INPUTS if rule_of(one) == "span_pair")
    made = explained(KnownSpans(), Subject(instance, model))
    assert instance.human is not None
    assert instance.human.span_pairs is not None
    assert made.units[int(made.scores.argmax())] == instance.human.span_pairs[0]
    assert {span.end - span.start for unit in made.units for span in unit} <= {1, 2}
    covered = {(span.part, word) for unit in made.units for span in unit for word in range(span.start, span.end)}
    assert covered == set(Subject(instance, model).words)


def test_without_an_annotation_there_is_none(model: Classifier) -> None:
    plain = replace(INPUTS[0], human=None)
    one_part = Instance("x", INPUTS[0].parts[:1], human=INPUTS[0].human)
    for kind, instance, reason in (
        (KnownReasons, plain, "no_gold"),
        (KnownPairs, plain, "no_gold"),
        (KnownSpans, one_part, "needs_two_parts"),
    ):
        with pytest.raises(Undefined) as undefined:
            next(kind()(Subject(instance, model)))
        assert undefined.value.reason == reason
