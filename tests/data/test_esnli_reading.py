"""e-SNLI in its published CSV: marked words and explanations of up to three annotators."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.published import marked, refusal
from verax.data.load import load_dataset

PER_ANNOTATOR = (
    "Explanation_{}",
    "Sentence1_marked_{}",
    "Sentence2_marked_{}",
    "Sentence1_Highlighted_{}",
    "Sentence2_Highlighted_{}",
)


def header(annotators: int) -> list[str]:
    own = [name.format(number) for number in range(1, annotators + 1) for name in PER_ANNOTATOR]
    return ["pairID", "gold_label", "Sentence1", "Sentence2", *own]


def write(path: Path, *rows: dict[str, str], annotators: int = 3, more: tuple[str, ...] = ()) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*header(annotators), *more], restval="")
        writer.writeheader()
        writer.writerows(rows)
    return path


def pair(first: str, second: str, *copies: tuple[str, str], **more: str) -> dict[str, str]:
    row = {"pairID": "1.jpg#0r1n", "gold_label": "neutral", "Sentence1": first, "Sentence2": second}
    for number, (one, two) in enumerate(copies, start=1):
        row |= {f"Sentence1_marked_{number}": one, f"Sentence2_marked_{number}": two}
        row |= {f"Sentence1_Highlighted_{number}": "{}", f"Sentence2_Highlighted_{number}": "{}"}
        row |= {f"Explanation_{number}": f"Reason {number}."}
    return row | more


def test_the_words_that_anybody_marked_are_gold_and_all_reasons_are_kept(tmp_path: Path) -> None:
    first, second = "A small dog runs, fast.", "The dog is happy."
    row = pair(
        first,
        second,
        ("A *small* dog runs, fast.", "The dog is *happy.*"),
        ("A small dog *runs,* fast.", "The dog is *happy.*"),
        (first, "The *dog* is happy."),
    )
    dataset = load_dataset(write(tmp_path / "esnli_dev.csv", row))
    (instance,) = dataset.instances
    assert [part.raw for part in instance.parts] == [first, second]
    assert marked(instance) == [["small", "runs"], ["dog", "happy"]]
    assert instance.human is not None
    assert instance.human.explanations == ("Reason 1.", "Reason 2.", "Reason 3.")
    assert instance.human.span_pairs is None
    assert (instance.id, instance.label) == ("1.jpg#0r1n", "neutral")
    assert dataset.labels == ("entailment", "neutral", "contradiction")
    assert (dataset.metric, dataset.maskable) == ("macro_f1", (0,))


@pytest.mark.parametrize(
    ("sentence", "copy", "gold"),
    [
        ("A dog runs", "A *dog* runs", ["dog"]),
        ("A dog runs", "*A* dog *runs*", ["A", "runs"]),  # what stands between two marked words is not marked
        ("A dog runs fast", "A *dog runs* fast", ["dog", "runs"]),
        ("A dog runs fast", "A *dog* *runs* fast", ["dog", "runs"]),
        ("A dog runs.", "A dog *runs.*", ["runs"]),
        ("A dog runs.", "A dog *runs*.", ["runs"]),
        ('He says "hi" now', 'He says *"hi"* now', ["hi"]),
        ('He says "hi" now', "He says *hi* now", ["hi"]),
        ("A   dog\truns ", " A *dog*  runs", ["dog"]),
        ("It isn't well-known", "It *isn't* *well-known*", ["isn't", "well-known"]),
        ("It costs 5 * 3 dollars", "It costs *5* * *3* dollars", ["5", "3"]),
        ("A *big* dog", "A **big** dog", ["big"]),
        ("A *big* dog", "A *big* dog", []),
        ("A dog & a cat", "A dog *&* a *cat*", ["cat"]),
        ("Ein Bär frißt süße Äpfel", "Ein *Bär* frißt *süße* Äpfel", ["Bär", "süße"]),
        ("Собака бежит 狗", "*Собака* бежит *狗*", ["Собака", "狗"]),
        ("The colour of a dog that is running", "The *color* of a *dog* that is running", ["colour", "dog"]),
        ("The color of a dog that is running", "The color of a *dog* that is runing fast", ["dog"]),
        ("A Dog runs", "a *dog* runs", ["Dog"]),
    ],
)
def test_what_stands_between_asterisks_is_found_in_the_sentence(
    sentence: str, copy: str, gold: list[str], tmp_path: Path
) -> None:
    path = write(tmp_path / "a.csv", pair(sentence, "x", (copy, "x")), annotators=1)
    assert marked(load_dataset(path).instances[0]) == [gold, []]


def test_a_train_file_has_one_annotator_and_columns_of_its_own(tmp_path: Path) -> None:
    row = pair("A dog", "A cat", ("A *dog*", "A *cat*"), WorkerId="W7")
    path = write(tmp_path / "esnli_train_1.csv", row, annotators=1, more=("WorkerId",))
    (instance,) = load_dataset(path, split="train").instances
    assert marked(instance) == [["dog"], ["cat"]]
    assert instance.human is not None
    assert instance.human.explanations == ("Reason 1.",)


def test_annotators_without_a_marked_sentence_are_passed_over(tmp_path: Path) -> None:
    nobody = pair("A dog", "A cat", Explanation_1="So.")
    nothing = pair("A dog", "A cat", ("A dog", "A cat"), pairID="2")
    second = pair("A dog", "A cat", ("", ""), ("A *dog*", "A cat"), pairID="3")
    empty = pair("A dog", "", ("A *dog*", ""), pairID="4")
    instances = load_dataset(write(tmp_path / "a.csv", nobody, nothing, second, empty)).instances
    assert instances[0].human is not None
    assert instances[0].human.words is None
    assert [marked(x) for x in instances[1:]] == [[[], []], [["dog"], []], [["dog"], []]]
    assert instances[3].parts[1].words == ()


def test_a_limit_reads_no_further(tmp_path: Path) -> None:
    good = pair("A dog", "A cat", ("A *dog*", "A cat"))
    path = write(tmp_path / "a.csv", good, good | {"pairID": "2", "Sentence1_marked_1": "A *dog"})
    assert len(load_dataset(path, limit=1)) == 1
    assert refusal(path) == f"{path}:3: field 'Sentence1_marked_1': unbalanced asterisk in 'A *dog'"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"Sentence2_marked_2": "Some *other* text"},
            "field 'Sentence2_marked_2': expected the sentence with asterisks around highlighted words, got "
            "'Some *other* text'",
        ),
        (
            {"Sentence2_marked_2": "A cat sleeps on the mat in the *xyz* sun"},
            "field 'Sentence2_marked_2': the text between asterisks is not in the sentence",
        ),
        ({"gold_label": "netural"}, "field 'gold_label': unknown label 'netural'; did you mean 'neutral'?"),
        ({"pairID": ""}, "field 'pairID': expected an id, got an empty value"),
        ({"pairID": "1.jpg#0r1n"}, "field 'pairID': '1.jpg#0r1n' is already the id of line 2"),
    ],
)
def test_what_is_wrong_is_named_by_line_and_column(change: dict[str, str], message: str, tmp_path: Path) -> None:
    sentences = ("A dog", "A cat sleeps on the mat in the sun")
    good = pair(*sentences, sentences, sentences)
    path = write(tmp_path / "a.csv", good, good | {"pairID": "2"} | change)
    assert refusal(path) == f"{path}:3: {message}"


def test_a_row_with_too_few_fields_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", pair("A dog", "A cat", ("A *dog*", "A cat")))
    path.write_text(path.read_text("utf-8") + "2,neutral\n", "utf-8")
    assert refusal(path) == f"{path}:3: expected 19 fields, got 2"


def test_with_columns_it_is_a_plain_table(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", pair("A dog", "A cat", ("A *dog", "A cat")))
    dataset = load_dataset(path, columns={"explanations": "Explanation_1"})
    assert dataset.instances[0].human is not None
    assert dataset.instances[0].human.words is None


WORD = st.sampled_from(["dog", "Runs", "isn't", "well-known", "3.14", "日本", "süß", '"hi"', "end.", "a,", "U.S."])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    words=st.lists(WORD, min_size=1, max_size=8),
    choices=st.lists(st.sets(st.integers(0, 7)), min_size=1, max_size=3),
    together=st.booleans(),
)
def test_marked_words_are_read_back(tmp_path: Path, words: list[str], choices: list[set[int]], together: bool) -> None:
    copies: list[tuple[str, str]] = []
    for chosen in choices:
        copy = " ".join(f"*{word}*" if number in chosen else word for number, word in enumerate(words))
        copies.append((copy.replace("* *", " ") if together else copy, "x"))
    path = write(tmp_path / "a.csv", pair(" ".join(words), "x", *copies))
    (instance,) = load_dataset(path).instances
    anybody: set[int] = set().union(*choices)
    letters = [
        letter for number in sorted(anybody) if number < len(words) for letter in re.findall(r"\w", words[number])
    ]
    gold: list[Any] = marked(instance)
    assert re.findall(r"\w", "".join(gold[0])) == letters
    assert gold[1] == []
