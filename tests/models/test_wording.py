"""Prompt files: sections, placeholders that are filled in one go, and what is said of mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verax.data.text import split_words
from verax.models.generator import Prompt
from verax.models.wording import Stage, Style, Wording, all_classes, shipped_wording, task_of
from verax.types import Instance, UserError

NLI = ("entailment", "neutral", "contradiction")
STAGES: tuple[Stage, ...] = get_args(Stage)
TASKS = {
    "nli": (NLI, 2),
    "commonsense": (("first", "second"), 2),
    "questions": (("A", "B", "C"), 4),
    "text": (("no", "yes"), 1),
}
FILE = """[system]
You are terse about {labels}.
[answer]
{1} / {2}
Which?
[explain_label]
{1} / {2}
is {label} since
"""


def instance(*parts: str) -> Instance:
    return Instance("i", tuple(map(split_words, parts)))


def wording(text: str) -> Wording:
    return Wording(text, "mine.txt")


def test_sections_are_what_stands_under_each_heading() -> None:
    assert dict(wording(FILE).sections) == {
        "system": "You are terse about {labels}.",
        "answer": "{1} / {2}\nWhich?",
        "explain_label": "{1} / {2}\nis {label} since",
    }
    assert dict(wording("\n\n[answer]  \n\n{1}\n\nso?\n\n[explain]\n{1}").sections) == {
        "answer": "{1}\n\nso?",
        "explain": "{1}",
    }, "blank lines around a section are not part of it, those inside are"


def test_a_prompt_is_a_section_with_everything_put_in() -> None:
    x = instance("A boat.", "A lake.")
    assert wording(FILE).prompt("answer", x, NLI) == Prompt(
        "A boat. / A lake.\nWhich?", "You are terse about entailment, neutral, contradiction."
    )
    assert wording(FILE).prompt("explain_label", x, NLI, label="neutral", plain=True) == Prompt(
        "A boat. / A lake.\nis neutral since", None, plain=True
    ), "a text to be continued has no system text"


def test_choices_and_the_chosen_one() -> None:
    made = wording("[explain_label]\n{1}\n{choices}\n{label} is {chosen}\n[answer]\n{parts}")
    question = instance("What swims?", "a stone", "a fish", "a cup")
    asked = made.prompt("explain_label", question, ("A", "B", "C"), label="B").user
    assert asked == "What swims?\nA: a stone\nB: a fish\nC: a cup\nB is a fish"
    assert made.prompt("answer", question, ("A", "B", "C")).user == "What swims?\na stone\na fish\na cup"
    pair = wording("[explain_label]\n{label}: {chosen}")
    assert pair.prompt("explain_label", instance("x", "y"), ("first", "second"), label="second").user == "second: y"


@given(
    st.sampled_from(
        ["{label}", "{explanation}", "[answer]", "\n[answer]\n", "{1}", "{2}", "{{7*7}}", "{0.x}", r"\1", "%s", "{"]
    ),
    st.text(max_size=5),
)
def test_what_is_put_in_is_not_looked_through_again(hostile: str, around: str) -> None:
    text = f"{around}{hostile}{around}"
    x = Instance("i", (split_words(text), split_words("B")))
    made = wording("[answer_explanation]\n<{1}|{2}|{explanation}|{label}>")
    asked = made.prompt("answer_explanation", x, NLI, label=text, explanation=text).user
    assert asked == f"<{text}|B|{text}|{text}>"


def test_braces_that_are_no_placeholder_stay() -> None:
    made = wording('[answer]\n{1} {} { 1 } {"a": 1} {{')
    assert made.prompt("answer", instance("x"), NLI).user == 'x {} { 1 } {"a": 1} {{'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[answer]\n{premise}", "mine.txt: [answer]: unknown placeholder 'premise'"),
        ("[answer]\n{lable}", "did you mean 'label'"),
        ("[anwser]\n{1}", "unknown heading 'anwser'; did you mean 'answer'"),
        ("[answer]\n{1}\n[answer]\n{2}", "the heading [answer] occurs twice"),
        ("Which?\n[answer]\n{1}", "it must begin with a heading such as [answer], got 'Which?'"),
        ("", "it must begin with a heading"),
        ("{1}", "it must begin with a heading such as [answer], got '{1}'"),
    ],
)
def test_mistakes_in_a_file_are_named(text: str, said: str) -> None:
    with pytest.raises(UserError) as error:
        wording(text)
    assert str(error.value).startswith("prompts: mine.txt")
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_what_there_is_none_of_is_named() -> None:
    x = instance("A boat.")
    with pytest.raises(UserError, match=r"\[explain_label\] has \{2\}, and there is none"):
        wording(FILE).prompt("explain_label", x, NLI, label="neutral")
    with pytest.raises(UserError, match=r"\[answer\] has \{label\}, and there is none at this stage"):
        wording("[answer]\n{label}").prompt("answer", x, NLI)
    with pytest.raises(UserError, match=r"\[answer\] has \{choices\}"):
        wording("[answer]\n{choices}").prompt("answer", x, NLI)
    with pytest.raises(UserError, match=r"the section \[explain\] is missing"):
        wording(FILE).prompt("explain", x, NLI)
    with pytest.raises(UserError, match=r"mine.txt: the section \[explain\] is missing"):
        wording(FILE).check(["answer", "explain"])
    wording(FILE).check(["answer", "explain_label"])


def test_the_hash_changes_with_the_file_and_with_nothing_else() -> None:
    assert wording(FILE).hash == Wording(FILE, "elsewhere.txt").hash
    assert wording(FILE).hash != wording(FILE.replace("Which?", "Which one?")).hash


def test_a_file_is_read_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text(FILE + "é\n", "utf-8")
    made = Wording.read(tmp_path / "mine.txt")
    assert made.text == FILE + "é\n"
    assert made.source == str(tmp_path / "mine.txt")
    (tmp_path / "marked.txt").write_bytes(b"\xef\xbb\xbf" + FILE.replace("\n", "\r\n").encode())
    assert Wording.read(tmp_path / "marked.txt").text == FILE, "as editors of another system write it"


def test_files_that_can_t_be_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text(FILE)
    with pytest.raises(UserError, match=r"unknown file of prompts 'mina.txt'; did you mean 'mine.txt'"):
        Wording.read(tmp_path / "mina.txt")
    with pytest.raises(UserError, match="cannot be read"):
        Wording.read(tmp_path)
    (tmp_path / "latin.txt").write_bytes(b"[answer]\n\xe9")
    with pytest.raises(UserError, match=r"latin\.txt can't be read"):
        Wording.read(tmp_path / "latin.txt")


@pytest.mark.parametrize("style", get_args(Style))
@pytest.mark.parametrize("task", TASKS)
def test_shipped_prompts_can_be_filled_at_every_stage(style: Style, task: str) -> None:
    labels, parts = TASKS[task]
    made, x = shipped_wording(style, labels, parts), instance(*(f"part{number}" for number in range(parts)))
    assert task in made.source
    made.check(STAGES)
    plain = style == "trained"
    asked = {
        stage: made.prompt(stage, x, labels, label=labels[1], explanation="since so", plain=plain) for stage in STAGES
    }
    for stage, prompt in asked.items():
        assert all(f"part{number}" in prompt.user for number in range(parts)), stage
        assert ("since so" in prompt.user) == (stage == "answer_explanation")
        assert (prompt.system is None) == plain
    assert len({prompt.user for prompt in asked.values()}) == len(STAGES)
    assert labels[1] in asked["explain_label"].user
    if style == "instructed":
        assert ", ".join(labels) in asked["answer"].user
    else:
        assert made.prompt("explain_label", x, labels, label=labels[0]) != asked["explain_label"]


def test_an_explanation_that_reasons_is_asked_for_without_a_label() -> None:
    for style in get_args(Style):
        for labels, parts in TASKS.values():
            assert "{label}" not in shipped_wording(style, labels, parts).sections["explain"]


def test_a_task_without_shipped_prompts_says_what_to_do() -> None:
    with pytest.raises(UserError, match=r"none are shipped for 2 parts and the classes a, b; write some into a file"):
        shipped_wording("instructed", ("a", "b"), 2)
    with pytest.raises(UserError, match=r"1 parts and the classes \(none\)"):
        shipped_wording("trained", (), 1)


@pytest.mark.parametrize(
    ("labels", "parts", "task"),
    [
        (("Entailment", "Neutral", "Contradiction"), 2, "nli"),
        (("CONTRADICTION", "entailment", "neutral"), 2, "nli"),
        (NLI, 1, "text"),
        (("First", "second"), 2, "commonsense"),
        (("second", "first"), 2, None),
        (("A", "B"), 3, "questions"),
        (("entailment", "Entailment", "neutral", "contradiction"), 2, None),
        (("only",), 1, None),
    ],
)
def test_a_task_is_known_by_its_classes_and_parts(labels: tuple[str, ...], parts: int, task: str | None) -> None:
    assert task_of(labels, parts) == task
    if task is not None:
        assert task in shipped_wording("instructed", labels, parts).source


def test_few_inputs_show_few_classes() -> None:
    assert all_classes(("neutral",), 2) == NLI
    assert all_classes(("contradiction", "entailment"), 2) == NLI
    assert all_classes(("contradiction", "neutral", "entailment"), 2) == ("contradiction", "neutral", "entailment")
    assert all_classes(("neutral",), 1) == ("neutral",)
    assert all_classes((), 2) == ()
