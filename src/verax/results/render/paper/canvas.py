"""Pages of matplotlib whose look and files do not depend on the settings of the user, and text that fits on them."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.figure import Figure as MplFigure
from matplotlib.font_manager import FontEntry, FontProperties, fontManager, get_font
from matplotlib.lines import Line2D

from verax.results.render.markup import visible
from verax.types import UserError

Format = Literal["svg", "png", "pdf"]
SIZE = 7.0
"""Font size in points; no text is smaller."""
TITLE = 8.0
LINE = 0.125
"""Height of a line of text, in inches."""
INK, QUIET, GRID = "#1a1a1a", "#5a5a5a", "#dcdcdc"

_PREFERRED = ("Arial", "Liberation Sans", "Helvetica")
_ALWAYS = "DejaVu Sans"
"""The font that matplotlib brings along."""
_ARROW = re.compile(r" (?=→)|(?<=←) ")
_PPI = 720
_DPI = 300
_NO_DATE: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
_SETTINGS: dict[str, Any] = {
    "pdf.fonttype": 42,  # TrueType outlines: publishers reject bitmaps and Type 3
    "svg.fonttype": "path",  # the same look with whatever fonts a reader has
    "svg.hashsalt": "verax",
    "axes.unicode_minus": True,
    "hatch.linewidth": 0.5,
    "text.hinting": "none",  # as wide in pixels as in outlines
    "font.size": SIZE,
}


_are_own = ContextVar("_are_own", default=False)


@contextmanager
def own_settings() -> Iterator[None]:
    """The settings of matplotlib that figures are drawn and written with; those of the user come back afterwards."""
    if _are_own.get():  # to set them takes a millisecond
        yield
        return
    token = _are_own.set(True)
    try:
        with mpl.rc_context(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph .* missing from")  # `Page.warn_of_missing_glyphs` says so once
            mpl.rcdefaults()
            mpl.rcParams.update(_SETTINGS)  # type: ignore[arg-type]
            yield
    finally:
        _are_own.reset(token)


@cache
def _base_fonts() -> tuple[str, ...]:
    installed = {entry.name for entry in fontManager.ttflist}
    return (*[name for name in _PREFERRED if name in installed][:1], _ALWAYS)


@cache
def _characters(path: str) -> frozenset[int]:
    return frozenset(get_font(path).get_charmap())


@cache
def _path_of(family: str) -> str:
    return str(fontManager.findfont(FontProperties(family=family)))


@cache
def _fallbacks() -> tuple[FontEntry, ...]:
    """Upright fonts of regular weight, those of Noto first, which has one for nearly every script."""
    regular = [entry for entry in fontManager.ttflist if entry.style == "normal" and entry.weight in {400, "normal"}]
    order = sorted(regular, key=lambda entry: (not entry.name.startswith("Noto Sans"), entry.name, entry.fname))
    return tuple(entry for entry in order if "lastresort" not in entry.name.replace(" ", "").lower())


@cache
def _fonts_for(text: str) -> tuple[tuple[str, ...], str]:
    """Families that have the characters of a text, few of them; and the characters that no installed font has."""
    families = list(_base_fonts())
    missing = {ord(one) for one in text if one.isprintable()}.difference(*(_characters(_path_of(f)) for f in families))
    while missing:
        best = max(_fallbacks(), key=lambda entry: len(missing & _characters(entry.fname)), default=None)
        if best is None or not missing & _characters(best.fname):
            break
        families.append(best.name)
        missing -= _characters(best.fname)
    return tuple(families), "".join(map(chr, sorted(missing)))


def without_font(text: str) -> str:
    """The characters that no installed font has."""
    return _fonts_for(text)[1]


def font(text: str, size: float = SIZE, *, bold: bool = False) -> FontProperties:
    """The font of a text."""
    return FontProperties(family=list(_fonts_for(text)[0]), size=size, weight="bold" if bold else "normal")


@cache
def width_of(text: str, size: float = SIZE, *, bold: bool = False) -> float:
    """The width of a text in inches, as `Page.write` draws it."""
    shown = one_line(text)
    with own_settings():
        width, _, _ = _renderer().get_text_width_height_descent(shown, font(shown, size, bold=bold), ismath=False)
    return float(width) / _PPI


@cache
def _renderer() -> Any:
    return RendererAgg(1, 1, _PPI)  # type: ignore[no-untyped-call]


def one_line(text: str) -> str:
    """Text as it is drawn: without line ends and characters that have no shape."""
    return " ".join(visible(text).split())


def wrapped(text: str, room: float, size: float = SIZE, *, bold: bool = False) -> list[str]:
    """A text in lines that are at most so many inches wide, broken at spaces, else after `_,=/)`, else anywhere."""

    def fits(line: str) -> bool:
        return width_of(line, size, bold=bold) <= room

    lines: list[str] = []
    for word in _ARROW.sub("\N{NO-BREAK SPACE}", one_line(text)).split(" "):
        if lines and fits(f"{lines[-1]} {word}"):
            lines[-1] += f" {word}"
            continue
        lines.append("")
        for piece in [word] if fits(word) else re.split(r"(?<=[_,=/)])|(?=\()", word):
            for chunk in [piece] if fits(piece) else piece:
                if lines[-1] and not fits(lines[-1] + chunk):
                    lines.append("")
                lines[-1] += chunk
    return [line for line in lines if line]


class Page(MplFigure):
    """A matplotlib figure laid out in inches from its upper left corner; it shows itself in any notebook.

    `savefig` takes the arguments of matplotlib's, and writes SVG, PNG or PDF: fonts embedded, no date.
    """

    def __init__(self, width: float, height: float, title: str = "") -> None:
        with own_settings():
            super().__init__(figsize=(width, height), dpi=100, facecolor="white")
        self.title, self._unknown = one_line(title), ""

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches."""
        width, height = self.get_size_inches()
        return float(width), float(height)

    def write(self, x: float, y: float, text: str, **look: Any) -> None:
        """Text as it reads, never as TeX: its left end, or what `ha` says, at x inches from the left.

        Args:
            y: distance of the centre of the line from the upper edge.
            look: `size`, `bold`, and arguments of matplotlib's `Text`.
        """
        size, bold = look.pop("size", SIZE), look.pop("bold", False)
        shown = one_line(text)
        self._unknown += without_font(shown)
        place = {"va": "center_baseline", "color": INK, "parse_math": False, **look}
        properties = font(shown, size, bold=bold)
        self.text(x, self.size[1] - y, shown, transform=self.dpi_scale_trans, fontproperties=properties, **place)

    def line(self, x: list[float], y: list[float], **look: Any) -> None:
        """A line, or markers, at distances from the upper left corner."""
        height = self.size[1]
        self.add_artist(Line2D(x, [height - one for one in y], transform=self.dpi_scale_trans, **look), clip=False)

    def warn_of_missing_glyphs(self) -> None:
        """Say which characters are drawn as boxes."""
        if self._unknown:
            names = "".join(sorted(set(self._unknown)))[:20]
            warnings.warn(
                f"no installed font has {names!r}: drawn as boxes; install a font of that script, such as one of Noto",
                stacklevel=3,
            )

    def savefig(self, fname: Any, **kwargs: Any) -> None:
        """Write the figure to a path or a file object."""
        chosen = str(kwargs.pop("format", None) or Path(str(fname)).suffix[1:]).lower()
        if chosen not in _NO_DATE:
            raise UserError(f"figures are written as {', '.join(_NO_DATE)}, got {str(fname)!r}")
        metadata = {**_NO_DATE[chosen], **({"Title": self.title} if self.title else {}), **kwargs.pop("metadata", {})}
        with own_settings():
            super().savefig(fname, format=chosen, **{"dpi": _DPI, "metadata": metadata, **kwargs})

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=150)
        return buffer.getvalue()
