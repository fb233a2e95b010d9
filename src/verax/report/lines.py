"""The words of an instance in lines: wrapped, in their writing direction, each with its position."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import groupby, pairwise
from typing import NamedTuple

from verax.results.render.markup import visible
from verax.results.render.text_width import cut_to, text_width
from verax.types import Text

SIZE = 15.0
"""Font size."""
TEXT = 20.0
"""Height of a line of text."""
MARGIN = 10.0
_SPACE = 5.5
_GLUED = 0.5
_LEAST_WIDTH = 80.0
_RTL_LANGUAGES = frozenset({"ar", "ckb", "dv", "fa", "he", "iw", "ks", "nqo", "ps", "sd", "syr", "ug", "ur", "yi"})


class Box(NamedTuple):
    """A word or the text between two words, with its left and right edge.

    `word` is its number, None for text between words; `space` whether white space precedes it.
    """

    shown: str
    word: int | None
    left: float
    right: float
    space: bool

    @property
    def middle(self) -> float:
        """The x of its centre."""
        return (self.left + self.right) / 2

    @property
    def width(self) -> float:
        """Width of the text."""
        return self.right - self.left


class TextLine(NamedTuple):
    """Boxes of one part in reading order, which need not be the order from left to right.

    Words have their numbers in the part.
    """

    part: int
    rtl: bool
    boxes: tuple[Box, ...]


def _estimated(shown: str) -> float:
    return text_width(shown, SIZE)


@lru_cache(maxsize=16)  # all explanations of an instance share their lines
def lay_out(
    parts: tuple[Text, ...], width: float, measure: Callable[[str], float] = _estimated
) -> tuple[tuple[TextLine, ...], float]:
    """All parts one below the other in lines at most `width` wide, and the width of the widest with its margins.

    Args:
        measure: the width of a text in the font that it is drawn in; an estimate by default.
    """
    wrapped = [
        (index, is_rtl(part), line)
        for index, part in enumerate(parts)
        for line in _wrapped(_pieces(part, measure), width - 2 * MARGIN)
    ]
    used = max(_LEAST_WIDTH, *(length(line) + 2 * MARGIN for _, _, line in wrapped))
    return tuple(TextLine(index, rtl, _placed(line, rtl=rtl, width=used)) for index, rtl, line in wrapped), used


def is_rtl(part: Text) -> bool:
    """Whether a part is written from right to left: by its first letter, or by its language where it has none."""
    for character in part.raw:
        if (rtl := _direction(character)) is not None:
            return rtl
    return part.lang.lower().split("-")[0].split("_")[0] in _RTL_LANGUAGES


class Piece(NamedTuple):
    """A word or the text between two words, which is never broken; see `Box`.

    `order` sorts the pieces of a text from the side where it begins, if they are not in that order.
    """

    shown: str
    word: int | None
    width: float
    space: bool
    order: tuple[int, float] = (0, 0.0)


def _pieces(part: Text, measure: Callable[[str], float]) -> list[Piece]:
    """The words and the text between them, in reading order."""
    found: list[tuple[str, int | None, int]] = []
    end = 0
    for word, (start, stop) in enumerate(part.offsets):
        found += [(part.raw[end:start], None, end), (part.raw[start:stop], word, start)]
        end = stop
    found.append((part.raw[end:], None, end))
    pieces = []
    for raw, number, start in found:
        if shown := " ".join(visible(raw).split()) or ("\N{REPLACEMENT CHARACTER}" if number is not None else ""):
            space = raw[0].isspace() or (start > 0 and part.raw[start - 1].isspace())
            pieces.append(Piece(shown, number, measure(shown), space))
    return pieces or [Piece("(blank)", None, measure("(blank)"), space=False)]


def gap(piece: Piece) -> float:
    """Distance of a piece from the one before it."""
    return _SPACE if piece.space else _GLUED


def length(line: Sequence[Piece]) -> float:
    """Width of a line."""
    return sum(piece.width for piece in line) + sum(map(gap, line[1:]))


def _wrapped(pieces: Sequence[Piece], room: float) -> list[list[Piece]]:
    """Lines no longer than the room; pieces without white space between them stay together if possible."""
    fitting = [piece._replace(shown=cut_to(piece.shown, room, SIZE), width=min(piece.width, room)) for piece in pieces]
    lines: list[list[Piece]] = [[]]
    for chunk in _chunks(fitting):
        if lines[-1] and length([*lines[-1], *chunk]) > room:
            lines.append([])
        for piece in chunk:
            if lines[-1] and length([*lines[-1], piece]) > room:
                lines.append([])
            lines[-1].append(piece)
    return lines


def may_break(before: Piece, piece: Piece) -> bool:
    """Whether a line may end between two pieces: not if they touch, unless both are letters (as in Chinese or Thai)."""
    return piece.space or (before.shown[-1].isalpha() and piece.shown[0].isalpha())


def _chunks(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Pieces between which no line may end."""
    chunks = [[pieces[0]]]
    for before, piece in pairwise(pieces):
        if may_break(before, piece):
            chunks.append([piece])
        else:
            chunks[-1].append(piece)
    return chunks


def _placed(line: Sequence[Piece], *, rtl: bool, width: float) -> tuple[Box, ...]:
    """The boxes of a line in reading order, set from its own side of the picture."""
    order = _visual_order([_direction_of(piece.shown) for piece in line], rtl=rtl)
    places: dict[int, Box] = {}
    at = MARGIN
    for position, index in enumerate(order):
        piece = line[index]
        if position:
            # White space precedes the later of two consecutive pieces; where a reversed run begins, it precedes the
            # first piece of the run in reading order, which has the number of this position.
            before = order[position - 1]
            at += gap(line[max(index, before) if abs(index - before) == 1 else position])
        left, right = at, at + piece.width
        at = right
        if rtl:
            left, right = width - right, width - left
        places[index] = Box(piece.shown, piece.word, left, right, piece.space)
    return tuple(places[index] for index in range(len(line)))


def _direction(character: str) -> bool | None:
    """Whether a character is written from right to left; None without a direction of its own."""
    return {"L": False, "R": True, "AL": True}.get(unicodedata.bidirectional(character))


def _direction_of(shown: str) -> bool | None:
    return next((rtl for character in shown if (rtl := _direction(character)) is not None), None)


def _visual_order(directions: Sequence[bool | None], *, rtl: bool) -> list[int]:
    """Numbers of the pieces from the side where the line begins; runs in the other direction are reversed.

    A piece without direction takes that of its neighbours if they agree, else that of the line.
    """
    settled: list[bool] = []
    for index, direction in enumerate(directions):
        after = next((known for known in directions[index + 1 :] if known is not None), rtl)
        before = settled[-1] if settled else rtl
        settled.append(direction if direction is not None else before if before == after else rtl)
    order: list[int] = []
    for against, run in groupby(range(len(settled)), key=lambda index: settled[index] != rtl):
        order += sorted(run, reverse=against)
    return order
