"""How methods are named on the page, and when a prediction is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.markup import parse
from support.runs import make_run, method_entry, run_card, text_of
from verax.report.content import Content
from verax.report.elements import is_wrong, method_label
from verax.types import Instance


def test_methods_have_short_names_and_baselines_a_flag(tmp_path: Path) -> None:
    methods = [
        method_entry("random(seed=3)", "random", parameters={"seed": 3}),
        method_entry("saliency(aggregate=l2)", "saliency", parameters={"aggregate": "l2"}),
        method_entry("<b>", "<b>"),
    ]
    content = Content(make_run(tmp_path, card=run_card(methods, [])), [])
    labels = [parse(method_label(content, entry["label"])) for entry in methods]
    names = [label.only("span", "label") for label in labels]
    assert [name["title"] for name in names] == [entry["label"] for entry in methods], "the full label is a title"
    assert [name.text for name in names] == [content.manifest.display(entry["label"]) for entry in methods]
    assert [[flag.text for flag in label.all("span", "flag")] for label in labels] == [["baseline"], [], []]


@pytest.mark.parametrize(
    ("gold", "predicted", "wrong"),
    [("yes", "no", True), ("yes", "yes", False), ("Yes", "YES", False), ("maybe", "no", False), (None, "no", False)],
)
def test_a_class_that_the_model_does_not_have_cannot_be_missed(gold: str | None, predicted: str, wrong: bool) -> None:
    assert is_wrong(Instance("i", (text_of("a"),), gold), predicted, ("no", "YES")) is wrong
