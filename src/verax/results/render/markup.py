"""HTML that is escaped by construction: whatever is not built by `tag` is text, and text is escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

# Control characters, line and paragraph separators, embeddings and overrides of the writing direction, lone surrogates,
# characters that XML does not allow: they have no shape of their own, would reorder or break the text around them, or
# cannot be encoded.
_SHAPELESS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
_VOID = frozenset({"input", "link", "meta"})


class Html(str):
    """Markup that is safe to put into a page; only `tag`, `text` and `join` make it from data."""

    __slots__ = ()


Child = Html | str | int | None | Iterable["Child"]


def visible(raw: str) -> str:
    """The text with each character that has no shape of its own shown as U+FFFD; tab and line ends stay."""
    return _SHAPELESS.sub("\N{REPLACEMENT CHARACTER}", raw)


def text(raw: str) -> Html:
    """A text from data, a model or a spec as it reads, harmless in an element and in a quoted attribute."""
    return raw if isinstance(raw, Html) else Html(html.escape(visible(raw)))


def join(*children: Child) -> Html:
    """Children one after the other: markup as it is, everything else as escaped text, None as nothing."""
    pieces: list[str] = []
    for child in children:
        if child is None:
            continue
        if isinstance(child, str):
            pieces.append(text(child))
        elif isinstance(child, int):
            pieces.append(str(child))
        else:
            pieces.append(join(*child))
    return Html("".join(pieces))


def tag(element: str, /, *children: Child, **attributes: str | int | bool | None) -> Html:
    """An element.

    Attributes are written `class_`, `data_gold`; None and False leave one out, True gives it no value.
    """
    head = element
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        label = key.rstrip("_").replace("_", "-")
        head += f" {label}" if value is True else f' {label}="{text(str(value))}"'
    return Html(f"<{head}>") if element in _VOID else Html(f"<{head}>{join(*children)}</{element}>")
