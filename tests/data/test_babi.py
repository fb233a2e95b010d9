"""bAbI in its original text files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from verax.data.babi import read_babi
from verax.data.load import load_dataset
from verax.types import UserError

STORY = (
    "1 Ann went to the shed.\n"
    "2 Bob went to the barn.\n"
    "3 Where is Ann? \tshed\t1\n"
    "4 Ann took the rope.\n"
    "5 Ann ran to the yard.\n"
    "6 Where is the rope? \tyard\t4 5\n"
)


def story(answer: str, questions: int = 1) -> str:
    """A statement and so many questions that rest on it."""
    asked = [f"{number + 2} Where is Eve? \t{answer}\t1\n" for number in range(questions)]
    return f"1 Eve is in the {answer}.\n{''.join(asked)}"


@pytest.fixture
def babi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files of a task: ten questions in train, in stories of 3, 4, 2 and 1; three in test."""
    monkeypatch.setenv("VERAX_DATA", str(tmp_path))
    train = story("shed", 3) + story("barn", 4) + story("yard", 2) + story("attic", 1)
    (tmp_path / "qa1_train.txt").write_text(train, "utf-8")
    (tmp_path / "qa1_test.txt").write_text(story("yard", 1) + STORY, "utf-8")
    return tmp_path


def refusal(name: str | Path, **options: Any) -> str:
    with pytest.raises(UserError) as caught:
        load_dataset(name, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_question_comes_with_its_story_so_far_and_the_words_it_rests_on(tmp_path: Path) -> None:
    path = tmp_path / "qa2_train.txt"
    path.write_text(STORY, "utf-8")
    dataset = load_dataset(path)
    first, second = dataset.instances
    assert [part.raw for part in first.parts] == ["Ann went to the shed. Bob went to the barn.", "Where is Ann?"]
    assert [part.raw for part in second.parts] == [
        "Ann went to the shed. Bob went to the barn. Ann took the rope. Ann ran to the yard.",
        "Where is the rope?",
    ]
    assert first.human is not None
    assert second.human is not None
    assert first.human.words == ((0, 1, 2, 3, 4, 5), ())
    assert second.human.words is not None
    gold = [second.parts[0].words[number] for number in second.human.words[0]]
    assert gold == ["Ann", "took", "the", "rope", ".", "Ann", "ran", "to", "the", "yard", "."]
    assert second.human.words[1] == ()
    assert (first.label, second.label, dataset.labels) == ("shed", "yard", ("shed", "yard"))
    assert (first.id, second.id) == ("qa2_train/00000", "qa2_train/00001")
    assert (dataset.maskable, dataset.metric) == ((0,), "micro_f1")


def test_the_train_file_is_cut_by_whole_stories_and_knows_the_answers(babi: Path) -> None:
    train, validation, test = (load_dataset("babi-1", split=split) for split in ("train", "validation", "test"))
    # 0.8 of ten is eight, but the third story, questions 7 and 8, would then be in both
    assert [x.id for x in train.instances] == [f"babi-1/train/{number:05d}" for number in range(7)]
    assert [x.id for x in validation.instances] == [f"babi-1/validation/{number:05d}" for number in range(7, 10)]
    assert [x.id for x in test.instances] == [f"babi-1/test/{number:05d}" for number in range(3)]
    for dataset in (train, validation, test):
        assert (dataset.name, dataset.labels) == ("babi-1", ("attic", "barn", "shed", "yard"))
        assert (dataset.maskable, dataset.metric) == ((0,), "micro_f1")
        assert dataset.provenance["citation"].startswith("Weston et al. 2016")
    assert load_dataset("babi-1").instances == test.instances
    assert load_dataset("babi-1", split="train", limit=2).instances == train.instances[:2]
    assert load_dataset("babi-1", split="train", limit=2).labels == train.labels
    assert load_dataset("babi-1", split="train", seed=9) == train


@pytest.mark.parametrize("below", ["", "babi", "en-10k", "tasks_1-20_v1-2/en-10k", "babi/tasks_1-20_v1-2/en-10k"])
def test_the_original_names_and_folders_are_found(below: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERAX_DATA", str(tmp_path))
    (tmp_path / below).mkdir(parents=True, exist_ok=True)
    for task, title in ((2, "two-supporting-facts"), (12, "conjunction"), (3, "three-supporting-facts")):
        for split in ("train", "test"):
            path = tmp_path / below / f"qa{task}_{title}_{split}.txt"
            path.write_text(story(f"room{task}", 5), "utf-8")
    assert load_dataset("babi-2").labels == ("room2",)
    assert load_dataset("babi-3").labels == ("room3",)
    assert refusal("babi-1").startswith("babi-1: files not found; put qa1_single-supporting-fact_train.txt and ")


def test_a_folder_of_one_task_has_three_splits(babi: Path) -> None:
    assert [len(load_dataset(babi, split=split)) for split in ("train", "validation", "test")] == [7, 3, 3]
    assert load_dataset(babi).labels == ("attic", "barn", "shed", "yard")
    assert refusal(babi, split="dev") == "babi-1: unknown split 'dev'; valid: test, train, validation"
    (babi / "qa2_test.txt").write_text(STORY, "utf-8")
    assert refusal(babi) == f"{babi}: contains the bAbI tasks 1, 2; give one of its files"
    (babi / "qa1_train.txt").unlink()
    message = f"babi-1: the split test needs a train file next to {babi / 'qa1_test.txt'}"
    assert refusal("babi-1") == message


def test_a_file_takes_labels_but_no_columns_and_is_one_split(babi: Path) -> None:
    path = babi / "qa1_test.txt"
    dataset = load_dataset(path, labels=["yard", "shed", "barn"], split="dev", limit=1)
    assert (len(dataset), dataset.labels, dataset.provenance["split"]) == (1, ("yard", "shed", "barn"), "dev")
    assert dataset.provenance["path"] == str(path)
    assert len(dataset.provenance["sha256"]) == 64
    assert refusal(path, columns={"id": "x"}).startswith(
        f"columns: not supported here, since {path} is in the format of bAbI"
    )
    assert refusal(path, labels=["yard"]) == f"{path}:5: field 'answer': unknown label 'shed'; valid: yard"
    assert refusal(path, limit=0) == "limit: expected at least 1, got 0"


def test_an_answer_that_train_does_not_know_is_refused(babi: Path) -> None:
    (babi / "qa1_test.txt").write_text(story("cellar"), "utf-8")
    message = f"{babi / 'qa1_test.txt'}:2: field 'answer': unknown label 'cellar'; valid: attic, barn, shed, yard"
    assert refusal("babi-1") == message


def test_where_the_files_must_be_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = "qa3_three-supporting-facts_train.txt and qa3_three-supporting-facts_test.txt (of tasks_1-20_v1-2/en-10k)"
    monkeypatch.delenv("VERAX_DATA", raising=False)
    unset = f"babi-3: put {files} into a folder and set the environment variable VERAX_DATA to it; it is not set"
    assert refusal("babi-3") == unset
    monkeypatch.setenv("VERAX_DATA", str(tmp_path))
    assert refusal("babi-3") == f"babi-3: files not found; put {files} into {tmp_path}; searched {tmp_path}"
    assert refusal("qa1_trian.txt") == "no such file: qa1_trian.txt"


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (b"", 1, "expected a question in bAbI format before the end of the file"),
        (b"1 Ann is here.\n\n", 3, "expected a question in bAbI format before the end of the file"),
        (
            b"1 Ann is here.\nWhere is Ann?\n",
            2,
            "expected a bAbI line (a number, a space, a sentence), got 'Where is Ann?'",
        ),
        (b"1 Ann is here.\n2\n", 2, "expected a bAbI line (a number, a space, a sentence), got '2'"),
        (b"2 Ann is here.\n", 1, "expected the line number 1, got 2"),
        (b"1 Ann is here.\n3 Bob too.\n", 2, "expected the line number 2 or 1, got 3"),
        (b"1 Ann is here.\n2 Where is Ann?\n", 2, "a question needs its answer after a tab, got 'Where is Ann?'"),
        (
            b"1 Ann is here.\n2 Where is Ann?\there\n",
            2,
            "expected a tab-separated question, answer and supporting lines, got ['Where is Ann?', 'here']",
        ),
        (
            b"1 Ann is here.\n2 Where is Ann?\t\t1\n",
            2,
            "expected a tab-separated question, answer and supporting lines, got ['Where is Ann?', '', '1']",
        ),
        (b"1 A.\n2 B?\tc\t1 7\n", 2, "the supporting line '7' is not a previous statement of the story"),
        (b"1 A.\n2 B?\tc\t1\n3 D?\te\t2\n", 3, "the supporting line '2' is not a previous statement of the story"),
        (b"1 A.\n2 B?\tc\tone\n", 2, "the supporting line 'one' is not a previous statement of the story"),
        (
            b"1 A.\n2 B?\tc\t1\n1 D.\n2 E.\n3 F?\tg\t4\n",
            5,
            "the supporting line '4' is not a previous statement of the story",
        ),
        (b"1 A.\n2 Caf\xe9.\n", 2, "not UTF-8: byte 0xe9 at column 6"),
    ],
)
def test_a_malformed_line_is_named(content: bytes, line: int, message: str, tmp_path: Path) -> None:
    path = tmp_path / "qa1_train.txt"
    path.write_bytes(content)
    assert refusal(path) == f"{path}:{line}: {message}"


def test_windows_line_ends_a_mark_and_blank_lines_change_nothing(tmp_path: Path) -> None:
    plain, other = tmp_path / "a.txt", tmp_path / "b.txt"
    plain.write_text(STORY, "utf-8")
    other.write_bytes(b"\xef\xbb\xbf" + STORY.replace("\n", "\r\n").replace("4 Ann", "\r\n4 Ann").encode())
    assert [row.cells for row in read_babi(plain)] == [row.cells for row in read_babi(other)]


WORDS = st.lists(st.sampled_from(["Ann", "went", "to", "the", "shed", "日本", "don't", "3.14"]), min_size=1, max_size=5)
STATEMENTS = WORDS.map(lambda words: " ".join(words) + ".")


@st.composite
def stories(draw: st.DrawFn) -> list[list[tuple[str, ...] | str]]:
    """Stories as lists of statements and of questions: text, answer, and the statements it rests on by their place."""
    told = []
    for _ in range(draw(st.integers(1, 4))):
        lines: list[tuple[str, ...] | str] = [draw(STATEMENTS)]
        for _ in range(draw(st.integers(0, 6))):
            said = [number for number, line in enumerate(lines, start=1) if isinstance(line, str)]
            support = draw(st.lists(st.sampled_from(said), min_size=1, max_size=3))
            asked = (draw(STATEMENTS)[:-1] + "?", draw(st.sampled_from("abc")), " ".join(map(str, support)))
            lines.append(draw(st.sampled_from([draw(STATEMENTS), asked])))
        told.append(lines)
    return [*told, ["A.", ("B?", "a", "1")]]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(stories())
def test_whatever_is_written_is_read_back(tmp_path: Path, told: list[list[tuple[str, ...] | str]]) -> None:
    path = tmp_path / "written.txt"
    expected = []
    content = ""
    for lines in told:
        for number, line in enumerate(lines, start=1):
            content += f"{number} {line if isinstance(line, str) else chr(9).join(line)}\n"
            if isinstance(line, str):
                continue
            said = [text for text in lines[: number - 1] if isinstance(text, str)]
            support = [lines[int(named) - 1] for named in line[2].split()]
            expected.append((" ".join(said), line[0], line[1], support))
    path.write_text(content, "utf-8")
    found = []
    for row in read_babi(path):
        paragraph = row.cells["paragraph"]
        spans, none = row.cells["gold"]
        assert none == []
        found.append(
            (paragraph, row.cells["question"], row.cells["answer"], [paragraph[start:end] for start, end in spans])
        )
    assert found == expected
    instances = load_dataset(path).instances
    assert len(instances) == len(expected)
    for instance, (_, _, label, support) in zip(instances, expected, strict=True):
        assert instance.label == label
        assert instance.human is not None
        assert instance.human.words is not None
        (gold, question) = instance.human.words
        assert question == ()
        marked = "".join(instance.parts[0].words[number] for number in gold)
        assert all(str(text).replace(" ", "") in marked for text in support)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60) | st.text("12 ?\t.ab\n\r\u00a0\u200b", max_size=60).map(str.encode))
def test_anything_else_is_read_or_refused_on_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "anything.txt"
    path.write_bytes(content)
    try:
        message = f"{path}: {len(load_dataset(path))} questions"
    except UserError as error:
        message = str(error)
    assert message.startswith(f"{path}:")
    assert len(message.splitlines()) == 1
