"""Reading and writing word alignments in Pharaoh format: `0-0 1-2 2p3`."""

from __future__ import annotations

import re

from verax.types import Links, UserError

# bounded, since Python refuses to parse integers of thousands of digits
_LINK = re.compile(r"([0-9]{1,18})([-p?])([0-9]{1,18})")


def parse_links(text: str, where: str, n_reference: int, n_translation: int, *, first: int = 0) -> tuple[Links, Links]:
    """Parse a line into sure and possible links, each sorted and unique.

    A link is the index of a word of the reference, a sign and the index of a word of the translation: `3-4` is sure,
    `3p4` (or `3?4`) possible. A link given as both is sure. An empty line has no links.

    Args:
        text: links separated by white space.
        where: location for messages, such as `links.txt:17`.
        n_reference: number of words of the reference.
        n_translation: number of words of the translation.
        first: index of the first word in the text, 0 or 1; returned links count from 0.
    """
    links: dict[bool, set[tuple[int, int]]] = {True: set(), False: set()}
    for item in text.split():
        match = _LINK.fullmatch(item)
        if match is None:
            raise UserError(f"{where}: expected links such as 0-0 1-2 2p3, got {item!r:.40}")
        link = int(match[1]) - first, int(match[3]) - first
        for number, count, side in zip(link, (n_reference, n_translation), ("reference", "translation"), strict=True):
            if not 0 <= number < count:
                raise UserError(f"{where}: link {item}: {_beyond(number + first, count, side, first)}")
        links[match[2] == "-"].add(link)
    return tuple(sorted(links[True])), tuple(sorted(links[False] - links[True]))


def format_links(sure: Links, possible: Links = ()) -> str:
    """Format links as a line for `parse_links`, sorted, words counted from 0."""
    marked = sorted([(*link, "-") for link in sure] + [(*link, "p") for link in possible])
    return " ".join(f"{source}{sign}{target}" for source, target, sign in marked)


def _beyond(number: int, count: int, side: str, first: int) -> str:
    if count == 0:
        return f"the {side} has no words"
    return f"word {number} of the {side} is out of range {first} to {count - 1 + first}"
