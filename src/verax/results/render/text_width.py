"""Text in pictures that is as wide as its layout says, whatever fonts a reader has.

Pictures are laid out by estimated widths, and every `<text>` in them has its width as `textLength`: a browser scales
the glyphs of its own font to it. The estimates lie between the widths of common fonts, so that little is scaled:
English by about 9 % in Liberation Sans (as wide as Arial) and in DejaVu Sans, by nothing in Noto Sans.
"""

from __future__ import annotations

import unicodedata
from functools import cache

from verax.results.render.markup import Child, Html, tag

FONT = "Arial,'Liberation Sans',Helvetica,sans-serif"
"""The font of words in pictures."""
TICK = 11.0
"""Font size of the class `tick` in the style sheet."""

_SHAPES = {
    0.25: "ijl'|",
    0.3: "fIt.,:;!/\\[] \N{NO-BREAK SPACE}",
    0.36: 'r()-`"{}*·',
    0.52: "csvxyzkJ^",
    0.58: "abdeghnopqu0123456789L?_$#",
    0.63: "FTZ+=<>~≤≥",
    0.69: "ABEKPSVXY&",
    0.75: "wCDHNRU",
    0.8: "GOQ",
    0.87: "mM",
    0.94: "←→↔…",
    1.02: "W%@—ÆŒ",
    # Letters much narrower or wider than others of their script.
    0.33: "اأإآלוזיןι",
    0.76: "سشصض",
    0.92: "жмшщыюфæœ",
    1.06: "ЖМШЩЮФЫ",
}
_WIDTHS = {character: width for width, characters in _SHAPES.items() for character in characters}
_SCRIPTS = (
    (0x0370, 0x052F, 0.6),  # Greek, Cyrillic
    (0x0531, 0x058F, 0.7),  # Armenian
    (0x0590, 0x05FF, 0.57),  # Hebrew
    (0x0600, 0x06FF, 0.48),  # Arabic
    (0x0900, 0x0B7F, 0.5),  # Devanagari, Bengali, Gurmukhi, Gujarati, Oriya
    (0x0B80, 0x0BFF, 0.75),  # Tamil
    (0x0C00, 0x0CFF, 0.58),  # Telugu, Kannada
    (0x0D00, 0x0DFF, 0.77),  # Malayalam, Sinhala
    (0x0E00, 0x0FFF, 0.54),  # Thai, Lao, Tibetan
    (0x1000, 0x109F, 0.75),  # Myanmar
    (0x10A0, 0x10FF, 0.64),  # Georgian
    (0x1200, 0x139F, 0.65),  # Ethiopic
    (0x1780, 0x17FF, 0.6),  # Khmer
)
"""First and last character of scripts, and the mean width of a letter."""
_EMOJI = 1.4
_SYMBOL = 1.05
_UPPER = 0.8
_LOWER = 0.62
_LEAST = 0.2
_ARABIC_FINAL = 0.2
"""At the end of a word most Arabic letters take a wider shape."""


@cache
def _character(character: str) -> float:
    """The width of one character, in units of the font size."""
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
    """The estimated width of a text in a font of this size."""
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


def fitted(shown: str, width: float, *children: Child, **attributes: str | int | None) -> Html:
    """An SVG text that is exactly this wide in every font."""
    return tag("text", shown, *children, **attributes, textLength=f"{width:.1f}", lengthAdjust="spacingAndGlyphs")


def label(shown: str, size: float, *children: Child, room: float | None = None, **attributes: str | int | None) -> Html:
    """An SVG text of its estimated width, or less where it has less room.

    Args:
        size: its font size, which the style sheet or an element around it sets.
        room: the largest width.
    """
    width = text_width(shown, size)
    return fitted(shown, width if room is None else min(width, room), *children, **attributes)
