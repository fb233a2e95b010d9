"""e-XNLI in its published CSV: words between asterisks in a tokenized copy, the rows of each language in one order."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from verax.data.load import load_dataset
from verax.types import UserError

HEAD = ["language", "label", "premise", "hypothesis", "premise_highlighted", "hypothesis_highlighted"]
ROWS = [
    ["de", "neutral", "Er schläft nicht.", "Er ist müde.", "Er *schläft* nicht .", "Er ist *müde* ."],
    ["de", "entailment", "Ja, gut!", "Gut.", "*Ja* , gut !", "*Gut* ."],
    ["en", "neutral", "He doesn't sleep.", "He is tired.", "He *doesn* ' *t* sleep .", "He is *tired* ."],
    ["en", "entailment", "Yes, fine!", "Fine.", "*Yes* , fine !", "*Fine* ."],
    ["zh", "neutral", "他不睡觉。", "他很累。", "他 *不* 睡 觉 。", "他 很 *累* 。"],
    ["zh", "entailment", "是，好！", "好。", "*是* ， 好 ！", "*好* 。"],
]


def write(path: Path, rows: list[list[str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([HEAD, *rows])
    return path


def test_the_words_between_asterisks_are_gold_in_every_language(tmp_path: Path) -> None:
    data = load_dataset(write(tmp_path / "exnli_test.csv", ROWS), segment="clusters")
    assert [(one.id, one.lang, one.parallel_id, one.label) for one in data.instances[:3]] == [
        ("0/de", "de", "0", "neutral"),
        ("1/de", "de", "1", "entailment"),
        ("0/en", "en", "0", "neutral"),
    ]
    marked = {
        one.id: [[part.words[word] for word in words] for part, words in zip(one.parts, one.human.words, strict=True)]
        for one in data.instances
        if one.human is not None and one.human.words is not None
    }
    assert marked == {
        "0/de": [["schläft"], ["müde"]],
        "1/de": [["Ja"], ["Gut"]],
        "0/en": [["doesn't"], ["tired"]],
        "1/en": [["Yes"], ["Fine"]],
        "0/zh": [["不"], ["累"]],
        "1/zh": [["是"], ["好"]],
    }
    assert data.labels == ("entailment", "neutral", "contradiction")


def test_words_that_its_tokenizer_did_not_know_are_skipped(tmp_path: Path) -> None:
    long = ["en", "neutral", "We saw 蠋 there yesterday.", "Ok.", "We *saw* [UNK] there *yesterday* .", "*Ok* ."]
    lost = ["en", "neutral", "蠋蠋蠋蠋 a", "Ok.", "*[UNK]* a", "*Ok* ."]
    short = ["en", "neutral", "蠋 蠋 we go there", "Ok.", "[UNK] [UNK] we *go* there", "*Ok* ."]
    first, second, third = load_dataset(write(tmp_path / "a.csv", [long, lost, short])).instances
    assert third.human is not None
    assert third.human.words == ((3,), (0,)), "its letters are none of the sentence"
    assert first.human is not None
    assert first.human.words == ((1, 4), (0,))
    assert second.human is None, "its highlights cannot be found"


def test_a_copy_of_another_sentence_is_an_error(tmp_path: Path) -> None:
    wrong = ["en", "neutral", "We saw it.", "Ok.", "Nothing of *this* kind .", "Ok ."]
    with pytest.raises(UserError, match=r"premise_highlighted.*expected the sentence with asterisks"):
        load_dataset(write(tmp_path / "a.csv", [wrong]))
