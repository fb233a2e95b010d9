"""Cards as a table, the annotation sheet, and agreement against scikit-learn and hand counts."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import cohen_kappa_score

from support.free_text import INFILL, RANDOM, edit, instances, score, text_run, texts
from verax.results.run import Run
from verax.studies.free_text.annotation import agreement, read_sheet, sheet
from verax.studies.free_text.cards import marked
from verax.studies.free_text.outcomes import text_run as read_run
from verax.types import UserError

MENTIONS = ("fm", "mf", "ff", "mm", "mf", "fm", "mm", "ff")


def trial(any_word: bool, content: bool) -> Any:
    return edit(mentioned=any_word, mentions={"any": any_word, "content": content})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Eight inputs; the rules say `any`, `content` as in MENTIONS, the deciding edit of each is its only one."""
    rows = [
        score(number, metric, one[0], trials=(trial(one[0] == "m", one[1] == "m"),))
        for metric in (RANDOM, INFILL)
        for number, one in enumerate(MENTIONS)
    ]
    return text_run(tmp_path_factory.mktemp("run"), instances=instances(), texts=texts(), scores=rows)


def filled(run: Run, path: Path, answers: Callable[[int], str], inputs: int = 100) -> Path:
    """The sheet with an answer in every row, by its place in the sheet."""
    table = sheet([read_run("tiny", run)], inputs=inputs)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [column.name for column in table.columns])
        writer.writeheader()
        for number, record in enumerate(table.records()):
            writer.writerow({**record, "mentioned": answers(number)})
    return path


def test_the_sheet_holds_the_first_inputs_of_each_editor_and_no_verdict(run: Run) -> None:
    table = sheet([read_run("tiny", run)], inputs=3)
    records = table.records()
    assert len(records) == len({row["id"] for row in records}) == 6
    assert set(records[0]) == {"id", "input", "inserted_words", "explanation", "mentioned", "comment"}
    assert {row["mentioned"] for row in records} == {""}
    assert {row["input"] for row in records} == {"A [blue] dog runs.\nAn animal moves."}
    orders = {tuple(row["id"] for row in sheet([read_run("tiny", run)], seed=seed).records()) for seed in range(3)}
    assert len(orders) == 3
    assert len(set(map(frozenset, orders))) == 1


def test_agreement_is_that_of_a_hand_count_and_of_scikit_learn(run: Run, tmp_path: Path) -> None:
    source = read_run("tiny", run)
    order = [row["id"] for row in sheet([source]).records()]
    said = {name: ("word", "no", "paraphrase", "no", "word")[i % 5] for i, name in enumerate(order)}
    path = filled(run, tmp_path / "anna.csv", lambda number: said[order[number]])
    (table,) = agreement([source], [read_sheet(path)])
    by_id = dict(_judged(source))
    for rule in ("any", "content"):
        human = [said[name] != "no" for name in order]
        found = [by_id[name].mentions[rule] for name in order]
        (row,) = [row for row in table.records() if row["rule"] == rule and not row["test"]]
        assert row["n"] == 16
        assert row["agreement"] == pytest.approx(sum(a == b for a, b in zip(human, found, strict=True)) / 16)
        assert row["kappa"] == pytest.approx(cohen_kappa_score(human, found))
        assert row["missed"] == sum(a and not b for a, b in zip(human, found, strict=True))
        assert row["false"] == sum(b and not a for a, b in zip(human, found, strict=True))
        assert row["paraphrases"] == sum(answer == "paraphrase" for answer in said.values())
    assert {row["test"] for row in table.records()} == {"", "random", "infill"}


def _judged(source: Any) -> list[tuple[str, Any]]:
    from verax.studies.free_text import annotation

    return [(name, judged.trial) for name, judged in annotation._chosen([source])]


def test_annotators_are_compared_over_the_rows_that_both_have(run: Run, tmp_path: Path) -> None:
    first = filled(run, tmp_path / "anna.csv", lambda number: "word" if number < 8 else "no")
    second = filled(
        run, tmp_path / "ben.csv", lambda number: "" if number % 2 else "paraphrase" if number < 4 else "no"
    )
    tables = agreement([read_run("tiny", run)], [read_sheet(first), read_sheet(second)])
    (row,) = tables[1].records()
    one, other = [n < 8 for n in range(0, 16, 2)], [n < 4 for n in range(0, 16, 2)]
    assert (row["n"], row["agreement"], row["kappa"]) == (8, 0.75, pytest.approx(cohen_kappa_score(one, other)))


def test_kappa_without_any_variance_is_missing_with_a_reason(run: Run, tmp_path: Path) -> None:
    path = filled(run, tmp_path / "all.csv", lambda _: "no")
    (table,) = agreement(
        [read_run("tiny", run)],
        [
            read_sheet(path),
        ],
    )
    again = agreement([read_run("tiny", run)], [read_sheet(path), read_sheet(path)])[1]
    assert again.rows[0].cells[2].value is None
    assert again.rows[0].cells[2].reason == "all answers are the same"
    assert table.rows


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("id,mentioned\nx,perhaps\n", "row 2: mentioned: got 'perhaps', expected word, paraphrase, no"),
        ("id,other\nx,no\n", "needs the columns id and mentioned"),
        ("id,mentioned\nx,no\n", "1 of 1 rows are of other runs, such as x"),
        ("id,mentioned\nx,\n", "no row has an answer"),
    ],
)
def test_a_sheet_that_cannot_be_read_is_named(content: str, said: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "sheet.csv").write_text(content)
    with pytest.raises(UserError, match=said):
        agreement([read_run("tiny", run)], [read_sheet(tmp_path / "sheet.csv")])


def test_the_command_writes_a_sheet_and_reads_it_back(run: Run, verax: Callable[..., Any], tmp_path: Path) -> None:
    assert verax("annotate", run.folder, "--out", tmp_path / "sheet.csv", "--inputs", 2).code == 0
    with (tmp_path / "sheet.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4
    with (tmp_path / "done.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows({**row, "mentioned": "no" if number else "word"} for number, row in enumerate(rows))
    said = verax("annotate", run.folder, "--read", tmp_path / "done.csv", "--format", "csv")
    assert said.code == 0
    assert '"agreement"' in said.out
    assert verax("annotate", run.folder).code == 2


def test_cards_are_a_table_with_the_inconsistent_ones_first(run: Run, verax: Callable[..., Any]) -> None:
    said = verax("show", run.folder, "--study", "free_text", "--table", "cards", "--format", "csv")
    assert said.code == 0
    rows = list(csv.DictReader(said.out.splitlines()))
    assert [row["verdict"] for row in rows] == ["inconsistent"] * 8 + ["consistent"] * 8
    assert rows[0]["cause"] == "'blue' changed the prediction and is not mentioned"
    assert rows[-1]["cause"] == "'blue' changed the prediction and is mentioned as 'blue'"
    assert "[blue]" in said.out
    assert "cards" in verax("show", run.folder, "--study", "free_text", "--table", "list").out
    assert "[blue]" not in verax("show", run.folder, "--study", "free_text", "--format", "csv").out


def test_words_that_are_not_found_again_are_not_marked() -> None:
    assert marked(edit(mentioned=True)) == "A [blue] dog runs.\nAn animal moves."
    assert marked(edit(mentioned=True, words="red")) == "A blue dog runs.\nAn animal moves."
