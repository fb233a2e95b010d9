r"""Words marked by asterisks in their text, for people to edit: `A *red* boat`, and back.

Asterisks and backslashes of the text itself are written `\*` and `\\`; a tab and the ends of lines `\t`, `\n`, `\r`, so
that a text stays in its cell of a table.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from verax.data.text import words_over
from verax.types import Text

_ESCAPES = {"\\": r"\\", "*": r"\*", "\t": r"\t", "\n": r"\n", "\r": r"\r"}
_SIGNS = {written: sign for sign, written in _ESCAPES.items()}
_PIECE = re.compile(r"\\.|.", re.DOTALL)
_AROUND = 12


def mark(text: Text, words: Collection[int]) -> str:
    """The text with an asterisk on either side of each of these words."""
    pieces, end = [], 0
    for number, (start, stop) in enumerate(text.offsets):
        if number in words:
            pieces += [_escaped(text.raw[end:start]), "*", _escaped(text.raw[start:stop]), "*"]
            end = stop
    return "".join([*pieces, _escaped(text.raw[end:])])


def marked_words(text: Text, marked: str) -> tuple[int, ...]:
    """The words that share a character with what stands between asterisks.

    A ValueError says what is wrong if an asterisk has no partner, or if more than asterisks was changed.
    """
    raw: list[str] = []
    stretches: list[tuple[int, int]] = []
    opened: int | None = None
    for piece in _PIECE.findall(marked):
        if piece == "*":
            if opened is None:
                opened = len(raw)
            else:
                stretches.append((opened, len(raw)))
                opened = None
        else:
            raw += _SIGNS.get(piece, piece)
    _check_same(text.raw, "".join(raw))
    if opened is not None:
        raise ValueError(f"an asterisk has no partner: there are {2 * len(stretches) + 1}")
    found = {word for start, end in stretches if start < end for word in words_over(text, start, end)}
    return tuple(sorted(found))


def _escaped(raw: str) -> str:
    return "".join(_ESCAPES.get(sign, sign) for sign in raw)


def _check_same(expected: str, got: str) -> None:
    if expected == got:
        return
    pairs = zip(expected, got, strict=False)
    place = next((i for i, (one, other) in enumerate(pairs) if one != other), min(len(expected), len(got)))
    here, there = (one[place : place + _AROUND] or "the end" for one in (expected, got))
    raise ValueError(
        f"the text was changed at character {place + 1}: expected {here!r}, got {there!r}; move asterisks only"
    )
