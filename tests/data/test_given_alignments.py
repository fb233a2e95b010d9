"""Word alignments that come with the data: in columns, or in files of Pharaoh's format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.published import refusal, write_jsonl
from verax.data.load import load_dataset
from verax.types import GivenAlignment, UserError

ROWS: list[dict[str, Any]] = [
    {"parallel_id": "1", "lang": "en", "premise": "the red dog", "hypothesis": "it sleeps"},
    {"parallel_id": "2", "lang": "en", "premise": "a cat", "hypothesis": "yes"},
    {"parallel_id": "2", "lang": "fr", "premise": "un chat", "hypothesis": "mais oui", "p": "0-0 1-1", "h": ""},
    {
        "parallel_id": "1",
        "lang": "fr",
        "premise": "le chien rouge",
        "hypothesis": "il dort",
        "p": "1-2 0-0 2p1",
        "h": "1-1",
    },
]
COLUMNS = {"parallel_id": "parallel_id", "lang": "lang", "alignment": ["p", "h"]}
ALIGNED = {
    "2/fr": (GivenAlignment("en", (((0, 0), (1, 1)), ())),),
    "1/fr": (GivenAlignment("en", (((0, 0), (1, 2)), ((1, 1),)), (((2, 1),), ())),),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(**changes: Any) -> None:
    write_jsonl(Path("a.jsonl"), *ROWS[:3], {**ROWS[3], **changes})


def write_links(*lines: str, name: str = "p") -> str:
    Path(f"{name}.txt").write_text("".join(line + "\n" for line in lines), "utf-8")
    return f"{name}.txt"


def test_alignments_are_read_from_columns() -> None:
    write()
    assert load_dataset("a.jsonl", columns=COLUMNS).aligned == ALIGNED


def test_alignments_are_read_from_files_a_line_for_each_row_of_the_language() -> None:
    write()
    files = [write_links("0-0 1-1", "1-2 0-0 2p1", name="p"), write_links("", "1-1", name="h")]
    assert load_dataset("a.jsonl", alignments={"en-fr": files}).aligned == ALIGNED
    # the same lines, though fewer rows are read
    assert load_dataset("a.jsonl", alignments={"en-fr": files}, limit=1).aligned == {"1/fr": ALIGNED["1/fr"]}


def test_data_of_one_part_has_one_file() -> None:
    rows = [{"parallel_id": 1, "lang": lang, "text": text} for lang, text in (("en", "a b"), ("zh-Hant", "c d e"))]
    write_jsonl(Path("a.jsonl"), *rows)
    dataset = load_dataset("a.jsonl", alignments={"en-zh-Hant": write_links("1-2")})
    assert dataset.aligned == {"1/zh-Hant": (GivenAlignment("en", (((1, 2),),)),)}


def test_a_row_may_have_no_alignment() -> None:
    write(p=None, h=None)
    assert load_dataset("a.jsonl", columns=COLUMNS).aligned == {"2/fr": ALIGNED["2/fr"]}


def test_without_the_reference_there_is_no_alignment() -> None:
    write()
    assert load_dataset("a.jsonl", columns=COLUMNS, langs=["fr"]).aligned == {}


def test_data_without_alignments_has_none() -> None:
    write()
    assert load_dataset("a.jsonl").aligned == {}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"p": "0-3"},
            "a.jsonl:4: field 'p': link 0-3: word 3 of the translation is out of range 0 to 2",
        ),
        (
            {"h": "2-0"},
            "a.jsonl:4: field 'h': link 2-0: word 2 of the reference is out of range 0 to 1",
        ),
        ({"p": "0:1"}, "a.jsonl:4: field 'p': expected links such as 0-0 1-2 2p3, got '0:1'"),
        ({"p": None}, "a.jsonl:4: field 'p': expected links, got null"),
        ({"p": 3}, "a.jsonl:4: field 'p': expected links, got the number 3"),
    ],
)
def test_a_mistake_in_a_column_is_named(changes: dict[str, Any], message: str) -> None:
    write(**changes)
    assert refusal("a.jsonl", columns=COLUMNS) == message


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"aligned_to": "de"}, "a.jsonl: columns.aligned_to: unknown language 'de'; valid: en, fr"),
        ({"alignment": "p"}, "columns: alignment has 1 columns for 2 parts"),
        ({"alignment": ["p", "hh"]}, "a.jsonl:3: unknown column 'hh'; did you mean 'h'?"),
    ],
)
def test_a_mistake_in_what_columns_mean_is_named(columns: dict[str, Any], message: str) -> None:
    write()
    assert refusal("a.jsonl", columns=COLUMNS | columns) == message


def test_alignments_need_translations() -> None:
    write_jsonl(Path("a.jsonl"), {"text": "a", "p": "0-0"})
    expected = "alignments need columns.parallel_id, which tells which rows are translations of each other"
    assert refusal("a.jsonl", columns={"alignment": "p"}) == f"columns.alignment: {expected}"
    assert refusal("a.jsonl", alignments={"en-fr": "p.txt"}) == f"alignments: {expected}"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("0-0", "0-0 0-3"), "p.txt:2: link 0-3: word 3 of the translation is out of range 0 to 2"),
        (("0-0", "3-0"), "p.txt:2: link 3-0: word 3 of the reference is out of range 0 to 2"),
        (("0-0", "a"), "p.txt:2: expected links such as 0-0 1-2 2p3, got 'a'"),
        (("0-0",), "p.txt: expected 2 lines, one for each input in fr, got 1"),
    ],
)
def test_a_mistake_in_a_file_is_named_with_its_line(lines: tuple[str, ...], message: str) -> None:
    write()
    files = [write_links(*lines), write_links("", "", name="h")]
    assert refusal("a.jsonl", alignments={"en-fr": files}) == message


def test_files_that_do_not_fit_the_data_are_refused() -> None:
    write()
    there = "expected two languages of the data joined by a hyphen, reference first; available: en, fr"
    for pair in ("en-de", "fr", "en-en"):
        assert refusal("a.jsonl", alignments={pair: ["p.txt", "h.txt"]}) == f"alignments.{pair}: {there}"
    assert (
        refusal("a.jsonl", alignments={"en-fr": "p.txt"})
        == "alignments.en-fr: expected one file for each of the 2 parts, got 1"
    )
    assert (
        refusal("a.jsonl", alignments={"en-fr": ["p.txt", "h.txt"]})
        == "p.txt: cannot be read: No such file or directory"
    )


def test_each_file_says_where_it_begins_to_count(tmp_path: Path) -> None:
    """The premises are linked from 1, the hypotheses from 0."""
    rows = [
        {"id": f"1-{lang}", "parallel_id": "1", "lang": lang, "premise": "a b", "hypothesis": "c d", "label": "yes"}
        for lang in ("en", "de")
    ]
    path = tmp_path / "pairs.jsonl"
    write_jsonl(path, *rows)
    first, second = tmp_path / "premise.txt", tmp_path / "hypothesis.txt"
    first.write_text("1-1 2-2\n")
    second.write_text("0-0 1-1\n")
    files = {"en-de": [str(first), str(second)]}
    data = load_dataset(path, alignments=files, one_based=[str(first)])
    assert data.aligned["1-de"][0].sure == (((0, 0), (1, 1)), ((0, 0), (1, 1)))
    with pytest.raises(UserError, match="word 2 of the reference is out of range"):
        load_dataset(path, alignments=files)
    with pytest.raises(UserError, match="one_based: 'x' is none of the files of alignments"):
        load_dataset(path, alignments=files, one_based=["x"])
