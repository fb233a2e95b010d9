"""HTML and SVG as trees, to check what a page holds rather than how it is written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from verax.report.page import render
from verax.results.run import Run

VOID = frozenset({"meta", "input", "wbr"})


@dataclass
class Node:
    """An element: its attributes, and its children in order."""

    tag: str
    attributes: dict[str, str | None] = field(default_factory=dict)
    children: list[Node | str] = field(default_factory=list)

    def __getitem__(self, name: str) -> str:
        value = self.attributes[name]
        return "" if value is None else value

    @property
    def classes(self) -> set[str]:
        """The classes of the element."""
        return set((self.attributes.get("class") or "").split())

    @property
    def text(self) -> str:
        """All text inside, with white space as it is."""
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    @property
    def words(self) -> str:
        """All text inside, elements apart, with single spaces."""
        pieces = (child if isinstance(child, str) else f" {child.words} " for child in self.children)
        return re.sub(r"\s+", " ", "".join(pieces)).strip()

    def walk(self) -> Iterator[Node]:
        """All elements inside, in order."""
        for child in self.children:
            if isinstance(child, Node):
                yield child
                yield from child.walk()

    def all(self, tag: str | None = None, look: str = "", **attributes: str | None) -> list[Node]:
        """All elements inside of a tag, with the classes `look` and these attributes (`data_test`, `aria_label`)."""
        wanted = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
        return [
            node
            for node in self.walk()
            if (tag is None or node.tag == tag)
            and set(look.split()) <= node.classes
            and all(node.attributes.get(name, ...) == value for name, value in wanted.items())
        ]

    def only(self, tag: str | None = None, look: str = "", **attributes: str | None) -> Node:
        """The one element inside that matches."""
        found = self.all(tag, look, **attributes)
        assert len(found) == 1, f"{len(found)} elements match {tag} {look} {attributes}"
        return found[0]

    def rows(self) -> list[list[str]]:
        """The cells of a table, its header first."""
        return [
            [cell.words for cell in row.children if isinstance(cell, Node) and cell.tag in {"th", "td"}]
            for row in self.all("tr")
        ]


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Node("#document")
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, dict(attrs))
        assert len(node.attributes) == len(attrs), f"an attribute of <{tag}> is there twice"
        self.open[-1].children.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def parse(html: str) -> Node:
    """A page or a piece of one; every element must be closed in order."""
    builder = _Builder()
    builder.feed(html)
    builder.close()
    assert len(builder.open) == 1, f"<{builder.open[-1].tag}> is not closed"
    return builder.root


def report_tree(run: Run, **options: Any) -> Node:
    """The report of a run; ids are unique, and labels refer to elements that exist."""
    page = parse(render(run, **options))
    ids = [node["id"] for node in page.walk() if "id" in node.attributes]
    assert len(set(ids)) == len(ids)
    named = {node["aria-labelledby"] for node in page.walk() if "aria-labelledby" in node.attributes}
    assert named <= set(ids)
    return page


def card_block(page: Node, title: str) -> Node:
    """A part of the run card of a report."""
    (found,) = [node for node in page.all("section", "block") if node.only("h3").text == title]
    return found


def card_facts(node: Node) -> dict[str, str]:
    """Terms and what is said of them; of nested lists the outer one."""
    pairs = [child for child in node.all("dl", "facts")[0].children if isinstance(child, Node)]
    return {pair.all("dt")[0].words: pair.all("dd")[0].words for pair in pairs}


def page_sections(page: Node) -> dict[str, Node]:
    """The sections of a report by their anchor, in order."""
    return {node["id"]: node for node in page.all("section", "page")}
