"""How wide a text is drawn, estimated without a font: pictures are laid out here and drawn by somebody's browser."""

from __future__ import annotations

import unicodedata
from functools import cache

FONT = "Arial,'Liberation Sans',Helvetica,sans-serif"
"""Faces with the same widths, one of which nearly every system has; the estimates are for them."""

_SHAPES = {
    0.25: "ijl'|",
    0.3: "fIt.,:;!/\\[] \N{NO-BREAK SPACE}",
    0.36: 'r()-`"{}*·',
    0.52: "csvxyzkJ^",
    0.58: "abdeghnopqu0123456789L?_$#",
    0.63: "FTZ+=<>~",
    0.69: "ABEKPSVXY&",
    0.75: "wCDHNRU",
    0.8: "GOQ",
    0.87: "mM",
    1.02: "W%@…—ÆŒ",
    # Letters much narrower or wider than those of their own script.
    0.4: "اأإآلוזיןι",
    0.92: "سشصضжмшщыюфæœ",
    1.06: "ЖМШЩЮФЫ",
}
_WIDTHS = {character: width for width, characters in _SHAPES.items() for character in characters}
# Scripts by where they begin and end; letters of all others are given a square.
_SCRIPTS = ((0x0370, 0x052F, 0.6), (0x0531, 0x058F, 0.7), (0x0590, 0x05FF, 0.64), (0x0600, 0x06FF, 0.58))
_EMOJI = 1.4
_SYMBOL = 1.05
_UPPER = 0.8
_LOWER = 0.62
_LEAST = 0.3
_ARABIC_FINAL = 0.2  # at the end of a word most letters take a wider shape


@cache
def _character(character: str) -> float:
    """The width of one character, in heights of the font."""
    if character in _WIDTHS:
        return _WIDTHS[character]
    category = unicodedata.category(character)
    if category in ("Mn", "Me", "Cf"):
        return 0.0
    if unicodedata.east_asian_width(character) in ("W", "F"):
        return _EMOJI if category == "So" else 1.0
    if (bare := unicodedata.normalize("NFD", character)[0]) in _WIDTHS:
        return _WIDTHS[bare]
    for first, last, width in _SCRIPTS:
        if first <= ord(character) <= last:
            return width + 0.2 if category == "Lu" else width
    return {"Lu": _UPPER, "Ll": _LOWER, "Po": 0.5, "Pi": 0.5, "Pf": 0.5, "Pd": 0.6}.get(category, _SYMBOL)


def text_width(shown: str, size: float) -> float:
    """A cautious estimate: rarely less than what a browser needs for the text in a font of this size."""
    final = _ARABIC_FINAL if "\u0600" <= shown[-1:] <= "\u06ff" else 0.0
    return size * max(_LEAST, final + sum(map(_character, shown)))


def cut_to(shown: str, width: float, size: float) -> str:
    """The text, or as much of its beginning as fits the width, with an ellipsis."""
    if text_width(shown, size) <= width:
        return shown
    left = width - text_width("…", size)
    for end, character in enumerate(shown):
        left -= size * _character(character)
        if left < 0:
            return shown[:end] + "…"
    return shown
