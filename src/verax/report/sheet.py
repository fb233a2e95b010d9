"""A plain table of cells, which the page, the terminal and papers all show."""

from __future__ import annotations

from typing import NamedTuple

from verax.results.render.markup import Html, tag


class Sheet(NamedTuple):
    """A table: its title, what it shows, heads and rows of cells, the first of which names the row.

    `signs` are sentences on how to read its cells, the same for many tables.
    """

    title: str
    said: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    signs: tuple[str, ...] = ()


def sheet_html(sheet: Sheet, anchor: str) -> Html:
    """The table for the page, with its heading and what is said of it."""
    heads = [tag("th", head, scope="col", class_="number" if place else None) for place, head in enumerate(sheet.heads)]
    rows = [
        tag(
            "tr",
            tag("th", row[0], scope="row", dir="auto"),
            [
                tag("td", cell, class_="number", data_head=head)
                for head, cell in zip(sheet.heads[1:], row[1:], strict=True)
            ],
        )
        for row in sheet.rows
    ]
    table = tag("table", tag("thead", tag("tr", heads)), tag("tbody", rows), aria_labelledby=anchor)
    return tag(
        "section",
        tag("h3", sheet.title, id=anchor),
        tag("div", table, class_="scroll", role="region", aria_labelledby=anchor, tabindex=0),
        tag("p", " ".join([sheet.said, *sheet.signs]), class_="note", dir="auto"),
        class_="sheet",
    )
