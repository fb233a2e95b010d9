"""Consoles: the one way to a terminal. What a terminal would obey in a text is shown, not sent."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from verax.results.render.markup import visible


def harmless(raw: str) -> str:
    """A text for a terminal: control characters and overrides of the writing direction are shown as U+FFFD."""
    # a carriage return would let the rest of a line overwrite its beginning
    return visible(raw).replace("\r", "\N{REPLACEMENT CHARACTER}")


class TerminalConsole(Console):
    """A console that sends no control character of the texts it prints, wherever they come from."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Segments of a renderable; control codes of rich itself stay."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(harmless(segment.text), segment.style)
