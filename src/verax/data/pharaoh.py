"""One line of word alignments in Pharaoh's format: `0-0 1-2 2p3`, read and written."""

from __future__ import annotations

import re

from verax.types import Links, UserError

# no text has that many words, and Python refuses to read numbers of thousands of digits
_LINK = re.compile(r"([0-9]{1,18})([-p?])([0-9]{1,18})")


def parse_links(text: str, where: str, n_reference: int, n_translation: int, *, first: int = 0) -> tuple[Links, Links]:
    """The links of a line, sure ones and possible ones apart, each sorted and none there twice.

    A link is the number of a word of the reference, a sign and the number of a word of the translation: `3-4` is sure,
    `3p4` (or `3?4`) possible. One that is said to be both is sure. An empty line has no links.

    Args:
        text: links with white space between.
        where: what a message begins with, such as `links.txt:17`.
        n_reference: how many words the reference has.
        n_translation: how many words the translation has.
        first: the number of the first word in the text, 0 or 1; links that are returned always count from 0.
    """
    found: dict[bool, set[tuple[int, int]]] = {True: set(), False: set()}
    for item in text.split():
        match = _LINK.fullmatch(item)
        if match is None:
            raise UserError(f"{where}: expected links such as 0-0 1-2 2p3, got {item!r:.40}")
        link = int(match[1]) - first, int(match[3]) - first
        for number, count, side in zip(link, (n_reference, n_translation), ("reference", "translation"), strict=True):
            if not 0 <= number < count:
                raise UserError(f"{where}: link {item}: {_beyond(number + first, count, side, first)}")
        found[match[2] == "-"].add(link)
    return tuple(sorted(found[True])), tuple(sorted(found[False] - found[True]))


def format_links(sure: Links, possible: Links = ()) -> str:
    """A line that `parse_links` reads back, words counted from 0, in the order of the words."""
    marked = sorted([(*link, "-") for link in sure] + [(*link, "p") for link in possible])
    return " ".join(f"{one}{sign}{other}" for one, other, sign in marked)


def _beyond(number: int, count: int, side: str, first: int) -> str:
    if count == 0:
        return f"the {side} has no word"
    return f"word {number} of the {side} is out of range, which has words {first} to {count - 1 + first}"
