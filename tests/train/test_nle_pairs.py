"""What self-explaining models are taught, by set-up."""

from __future__ import annotations

from typing import get_args

import pytest

from verax.data.text import split_words
from verax.models.self_explainer import TrainedMethodName
from verax.models.wording import Wording, shipped_wording
from verax.train.text_pairs import (
    GENERATORS_OF,
    check_explanations,
    check_labels,
    human_explanations,
    nle_pairs,
)
from verax.types import Dataset, Human, Instance, UserError

LABELS = ("far", "near")
WORDING = Wording(
    "[answer]\na {1}\n[explain]\ne {1}\n[explain_label]\nel {1} {label}\n[answer_explanation]\nae {1} {explanation}\n",
    "x",
)


def _instance(name: str, label: str | None, *why: str) -> Instance:
    return Instance(name, (split_words(f"boat {name}"),), label, human=Human(explanations=why))


DATA = Dataset("boats", (_instance("1", "far", "it is red ", "", "no\n sail"), _instance("2", "near")), LABELS)
ANSWERS = [("a boat 1", "far"), ("a boat 2", "near")]


@pytest.mark.parametrize(
    ("setup", "expected"),
    [
        (
            "mt_re",
            {
                ".": [
                    ("a boat 1", "far"),
                    ("e boat 1", "it is red"),
                    ("a boat 2", "near"),
                ]
            },
        ),
        (
            "mt_ra",
            {
                ".": [
                    ("a boat 1", "far"),
                    ("el boat 1 far", "it is red"),
                    ("a boat 2", "near"),
                ]
            },
        ),
        (
            "st_re",
            {
                "explainer": [("e boat 1", "it is red")],
                "predictor": [("ae boat 1 it is red", "far")],
            },
        ),
        (
            "st_ra",
            {
                "explainer": [("el boat 1 far", "it is red")],
                "predictor": [("ae boat 1 it is red", "far")],
            },
        ),
    ],
)
def test_each_model_learns_the_stages_of_its_set_up(
    setup: TrainedMethodName, expected: dict[str, list[tuple[str, str]]]
) -> None:
    teaching = GENERATORS_OF[setup]
    found = {name: nle_pairs(stages, DATA, LABELS, WORDING) for name, stages in teaching.stages.items()}
    assert found == expected
    assert {teaching.explainer, teaching.predictor} == set(expected)


def test_all_explanations_give_a_pair_each() -> None:
    found = nle_pairs(("explain", "answer_explanation"), DATA, LABELS, WORDING, "all")
    assert found == [
        ("e boat 1", "it is red"),
        ("e boat 1", "no sail"),
        ("ae boat 1 it is red", "far"),
        ("ae boat 1 no sail", "far"),
    ]
    assert human_explanations(DATA.instances[0]) == ("it is red", "no sail")


def test_the_shipped_prompts_have_all_stages_of_all_set_ups() -> None:
    nli = ("entailment", "neutral", "contradiction")
    for labels, parts in ((nli, 2), (("first", "second"), 2), (("A", "B", "C"), 4), (LABELS, 1)):
        wording = shipped_wording("trained", labels, parts)
        for setup in get_args(TrainedMethodName):
            for stages in GENERATORS_OF[setup].stages.values():
                wording.check(stages)


def test_data_that_lack_what_is_taught_are_refused() -> None:
    check_labels(DATA, LABELS)
    check_explanations(DATA)
    with pytest.raises(UserError, match="boats: instance '3' has no label; training needs one of far, near"):
        check_labels(Dataset("boats", (_instance("3", None, "why"),), LABELS), LABELS)
    with pytest.raises(UserError, match="boats: instance '3' has the label 'far'; training needs one of yes, no"):
        check_labels(Dataset("boats", (_instance("3", "far"),), LABELS), ("yes", "no"))
    with pytest.raises(UserError, match="boats has no explanations; training needs texts that say why"):
        check_explanations(Dataset("boats", (_instance("3", "far", " "),), LABELS))
