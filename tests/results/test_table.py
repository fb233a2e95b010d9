"""Tables as data: what programs read of them."""

from __future__ import annotations

import pytest

from verax.results.table import Cell, Column, Mark, Table, TableRow, from_records, table_row
from verax.types import Estimate

BEST = Mark("best", "◆", "best value")
WEAK = Mark("weak", "○", "like random")


def table(*rows: TableRow, columns: tuple[Column, ...] = (Column("name", "Name", "text"), Column("x", "X"))) -> Table:
    return Table("t", "Title", columns, rows)


def test_an_estimate_has_both_ends_and_a_plain_value_none() -> None:
    made = table(table_row("a", Estimate(0.5, 0.25, 1.0)), table_row("b", 2.0), table_row("c", Estimate(3.0)))
    assert made.records() == [
        {"name": "a", "x": 0.5, "x_low": 0.25, "x_high": 1.0},
        {"name": "b", "x": 2.0, "x_low": None, "x_high": None},
        {"name": "c", "x": 3.0, "x_low": None, "x_high": None},
    ]


@pytest.mark.parametrize("value", [3, True, "text", 0, False, ""])
def test_other_values_in_a_column_of_estimates_are_kept(value: object) -> None:
    made = table(table_row("a", Estimate(0.5)), table_row("b", Cell(value)))  # type: ignore[arg-type]
    assert made.records()[1] == {"name": "b", "x": value, "x_low": None, "x_high": None}


def test_marks_reasons_and_differences_are_in_every_record_where_any_row_has_them() -> None:
    made = table(
        table_row("a", Cell(1.0, marks=(BEST, WEAK), difference=Estimate(0.5, 0.0, 1.0))),
        table_row("b", Cell(reason="too long")),
        table_row("c", 2.0),
    )
    assert made.records() == [
        {
            "name": "a",
            "x": 1.0,
            "x_difference": 0.5,
            "x_difference_low": 0.0,
            "x_difference_high": 1.0,
            "x_marks": "best weak",
            "x_reason": None,
        },
        {
            "name": "b",
            "x": None,
            "x_difference": None,
            "x_difference_low": None,
            "x_difference_high": None,
            "x_marks": "",
            "x_reason": "too long",
        },
        {
            "name": "c",
            "x": 2.0,
            "x_difference": None,
            "x_difference_low": None,
            "x_difference_high": None,
            "x_marks": "",
            "x_reason": None,
        },
    ]
    assert made.marks == (BEST, WEAK)


def test_sections_are_a_field_where_there_are_any() -> None:
    assert [record.get("section") for record in table(table_row("a", 1)).records()] == [None]
    made = table(table_row("a", 1, section="one"), table_row("b", 2))
    assert [record["section"] for record in made.records()] == ["one", ""]


def test_columns_of_one_name_lose_no_value() -> None:
    columns = (Column("method", "Method", "text"), Column("method", "method"), Column("x", "x"), Column("x_low", "y"))
    made = table(table_row("a", 1.0, Estimate(2.0, 1.5, 2.5), 9.0), columns=columns)
    assert made.records() == [{"method": "a", "method_": 1.0, "x": 2.0, "x_low": 1.5, "x_high": 2.5, "x_low_": 9.0}]


def test_people_see_the_columns_with_a_title() -> None:
    columns = (Column("a", "A"), Column("b"), Column("c", "C"))
    assert table(columns=columns).shown == (0, 2)


def test_a_row_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="2 columns but a row of 3 cells"):
        table(table_row("a", 1, 2))


def test_a_table_of_records() -> None:
    made = from_records("t", "T", [{"a": "x", "b": 1.5, "c": None}, {"a": "y", "b": None, "c": 3}])
    assert [(column.name, column.title) for column in made.columns] == [("a", ""), ("b", ""), ("c", "")]
    assert made.records() == [{"a": "x", "b": 1.5, "c": None}, {"a": "y", "b": None, "c": 3}]
    assert from_records("t", "T", []).records() == []


def test_an_estimate_can_be_negated() -> None:
    assert Estimate(-0.5, -0.75, 0.25).negated() == (0.5, -0.25, 0.75)
    assert Estimate(0.0).negated() == (0.0, None, None)
    assert str(Estimate(0.0).negated().value) == "0.0"
    assert (Estimate(1.0).interval, Estimate(1.0, 0.0, 2.0).interval) == (None, (0.0, 2.0))
