"""Positions of the words of two parallel texts, the reference above its translation, and of the links between them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from verax.report.lines import MARGIN, TEXT, Box, Piece, gap, is_rtl, lay_out, length, may_break
from verax.types import Instance, IntArray, Links, Text

WIDTH = 760.0
"""Largest width; longer texts are cut into stanzas."""
BAND = 62.0
"""Distance of a translation from its reference."""
_STANZA, _PART = 28.0, 16.0
_CUT = 4.0
"""Words that a stanza may be shorter for each link that is not cut."""


class WordRow(NamedTuple):
    """A line of words in reading order; the words of its boxes have their numbers over all parts."""

    boxes: tuple[Box, ...]
    top: float
    rtl: bool
    lang: str


class Strand(NamedTuple):
    """A link within a stanza, as SVG writes paths."""

    ends: tuple[int, int]
    path: str


class LinkNumber(NamedTuple):
    """Numbers of links that lead to another stanza, at one of their ends."""

    shown: str
    x: float
    y: float


class ParallelLayout(NamedTuple):
    """A picture: its size, stanzas of a reference and a translation row, links, and numbers of links that are cut."""

    width: float
    height: float
    rows: tuple[tuple[WordRow, WordRow], ...]
    strands: tuple[Strand, ...]
    marks: tuple[LinkNumber, ...]


def lay_out_parallel(reference: Instance, translation: Instance, links: Links) -> ParallelLayout:
    """Lay out two instances, part by part and stanza by stanza, and the links between their words.

    Args:
        links: words by their numbers over all parts, (of the reference, of the translation).
    """
    rows: list[tuple[WordRow, WordRow]] = []
    firsts = [0, 0]
    widest, y = 0.0, MARGIN
    for above, below in zip(reference.parts, translation.parts, strict=False):
        stanzas = cut(pieces_of(above, firsts[0]), pieces_of(below, firsts[1]), links)
        # a text from right to left begins where the longest line of its own part ends, near what it translates
        width = max(length(side) for stanza in stanzas for side in stanza) + 2 * MARGIN
        for upper, lower in stanzas:
            rows.append((_row(upper, above, y, width), _row(lower, below, y + TEXT + BAND, width)))
            y += 2 * TEXT + BAND + _STANZA
        firsts = [firsts[0] + len(above.words), firsts[1] + len(below.words)]
        widest, y = max(widest, width), y + _PART
    strands, marks = _joined(rows, links)
    return ParallelLayout(widest, y - _STANZA - _PART + MARGIN, tuple(rows), strands, marks)


def pieces_of(part: Text, first: int) -> list[Piece]:
    """The pieces of a text in reading order; words are numbered over all parts, from `first`."""
    lines, width = lay_out((part,), WIDTH)
    pieces = []
    for number, line in enumerate(lines):
        for box in line.boxes:
            order = (number, width - box.right if line.rtl else box.left)
            word = None if box.word is None else first + box.word
            pieces.append(Piece(box.shown, word, box.width, box.space, order))
    return pieces


def cut(above: Sequence[Piece], below: Sequence[Piece], links: Links) -> list[tuple[list[Piece], list[Piece]]]:
    """Both texts in stanzas that fit the width, cut where few links lead from one stanza to another."""
    ends = _ends(above, below, links)
    stanzas = []
    i = j = 0
    while i < len(above) or j < len(below):
        firsts, seconds = _breaks(above, i), _breaks(below, j)
        done = firsts[-1] == len(above) and seconds[-1] == len(below)
        next_i, next_j = (len(above), len(below)) if done else _best(ends, firsts, seconds)
        stanzas.append((list(above[i:next_i]), list(below[j:next_j])))
        i, j = next_i, next_j
    return stanzas


def _ends(above: Sequence[Piece], below: Sequence[Piece], links: Links) -> IntArray:
    """The links of two texts by the places of their pieces, shape [links, 2]."""
    place = [{piece.word: number for number, piece in enumerate(side)} for side in (above, below)]
    known = [(place[0][a], place[1][b]) for a, b in links if a in place[0] and b in place[1]]
    return np.array(known, np.int64).reshape(-1, 2)


def _breaks(pieces: Sequence[Piece], start: int) -> IntArray:
    """Possible ends of a stanza that begins at a piece: after at least one piece, and within the width."""
    if start == len(pieces):
        return np.array([start])
    used, found = 0.0, []
    for number in range(start, len(pieces)):
        used += pieces[number].width + (gap(pieces[number]) if number > start else 0.0)
        if used > WIDTH - 2 * MARGIN and number > start:
            break
        if number + 1 == len(pieces) or may_break(pieces[number], pieces[number + 1]):
            found.append(number + 1)
    return np.array(found or [start + 1])


def _best(ends: IntArray, firsts: IntArray, seconds: IntArray) -> tuple[int, int]:
    """The ends of a stanza: as late as possible, but earlier by some words for each link that is not cut."""
    upper = (ends[:, :1] < firsts).astype(np.float64)
    lower = (ends[:, 1:] < seconds).astype(np.float64)
    crossing = upper.sum(0)[:, None] + lower.sum(0)[None, :] - 2 * upper.T @ lower
    score = firsts[:, None] + seconds[None, :] - _CUT * crossing
    first, second = np.unravel_index(int(score.argmax()), score.shape)
    return int(firsts[first]), int(seconds[second])


def _row(pieces: Sequence[Piece], part: Text, top: float, width: float) -> WordRow:
    """The boxes of a row in reading order, placed from the side where its text begins."""
    rtl = is_rtl(part)
    order = sorted(range(len(pieces)), key=lambda number: pieces[number].order)
    places: dict[int, Box] = {}
    at = MARGIN
    for position, number in enumerate(order):
        piece = pieces[number]
        if position:
            at += gap(pieces[max(number, order[position - 1])])
        left, right = (width - at - piece.width, width - at) if rtl else (at, at + piece.width)
        places[number] = Box(piece.shown, piece.word, left, right, piece.space)
        at += piece.width
    return WordRow(tuple(places[number] for number in range(len(pieces))), top, rtl, part.lang)


def _joined(rows: Sequence[tuple[WordRow, WordRow]], links: Links) -> tuple[tuple[Strand, ...], tuple[LinkNumber, ...]]:
    """A line for each link within a stanza; numbers at both ends of the others."""
    places: list[dict[int, tuple[int, Box]]] = [{}, {}]
    for stanza, sides in enumerate(rows):
        for side, row in enumerate(sides):
            places[side] |= {box.word: (stanza, box) for box in row.boxes if box.word is not None}
    known = [(a, b) for a, b in links if a in places[0] and b in places[1]]
    whole = [(a, b) for a, b in known if places[0][a][0] == places[1][b][0]]
    apart = [(a, b) for a, b in known if places[0][a][0] != places[1][b][0]]
    feet = _feet(whole, [{word: box for word, (_, box) in side.items()} for side in places])
    strands = []
    for a, b in whole:
        y = rows[places[0][a][0]][0].top + TEXT + 1
        strands.append(Strand((a, b), _curve(feet[0, a, b], y, feet[1, b, a], y + BAND - 2)))
    numbered: dict[tuple[int, int], list[str]] = defaultdict(list)
    for number, (a, b) in enumerate(apart, 1):
        numbered[0, a].append(str(number))
        numbered[1, b].append(str(number))
    marks = []
    for (side, word), numbers in numbered.items():
        stanza, box = places[side][word]
        top = rows[stanza][side].top
        marks.append(LinkNumber(",".join(numbers), box.middle, top - 4 if side else top + TEXT + 11))
    return tuple(strands), tuple(marks)


def _feet(links: Links | list[tuple[int, int]], boxes: Sequence[dict[int, Box]]) -> dict[tuple[int, int, int], float]:
    """The x where each link meets its words, by (side, word, other word); links of one word are spread in order."""
    found = {}
    for side in (0, 1):
        others: dict[int, list[int]] = defaultdict(list)
        for link in links:
            others[link[side]].append(link[1 - side])
        for word, met in others.items():
            box = boxes[side][word]
            met.sort(key=lambda other: boxes[1 - side][other].middle)
            for place, other in enumerate(met, 1):
                found[side, word, other] = box.left + (box.right - box.left) * place / (len(met) + 1)
    return found


def _curve(x: float, y: float, to_x: float, to_y: float) -> str:
    bend = (to_y - y) * 0.3
    return f"M{x:.1f} {y:.1f}C{x:.1f} {y + bend:.1f} {to_x:.1f} {to_y - bend:.1f} {to_x:.1f} {to_y:.1f}"
