"""Strings that UTF-8 can't hold, written so that it can and read back exactly.

Half of a surrogate pair (`"\\ud800"` in a JSON file) is a Python string but no UTF-8, and Parquet holds UTF-8 alone. It
is written as the noncharacter U+FDD0 followed by its code in four hex digits; U+FDD0 itself is written the same way.
Every other string stays as it is.
"""

from __future__ import annotations

import re

_MARK = "\ufdd0"
_UNSAFE = re.compile("[\ud800-\udfff\ufdd0]")
_ESCAPED = re.compile(f"{_MARK}([0-9a-f]{{4}})")


def escape(text: str) -> str:
    """The text as UTF-8 can hold it."""
    if text.isascii():
        return text
    return _UNSAFE.sub(lambda match: f"{_MARK}{ord(match[0]):04x}", text)


def unescape(text: str) -> str:
    """The text that `escape` was given."""
    if _MARK not in text:
        return text
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)
