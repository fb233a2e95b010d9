"""Locating the words or sub-words of another tool in a text."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from verax.types import Text

_WHITE_SPACE = frozenset(b" \t\n\r\v\f")
# Byte-level tokenizers write each byte as a printable character: itself where it is one, else the next code point
# from 256 on. `Ġ` is the space in this writing.
_PRINTABLE = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
_OTHER = [byte for byte in range(256) if byte not in _PRINTABLE]
_BYTE_OF = {chr(byte): byte for byte in _PRINTABLE} | {chr(256 + n): byte for n, byte in enumerate(_OTHER)}


class Mismatch(Exception):
    """The pieces do not spell the text; `reached` is the first differing character of the text."""

    def __init__(self, message: str, reached: int) -> None:
        super().__init__(message)
        self.reached = reached


def locate(pieces: Sequence[str], text: Text) -> list[tuple[int, int]]:
    """Character range (start, end) of each piece; together the pieces must spell the text.

    Pieces may be words, or sub-words as WordPiece (`##ing`), SentencePiece (`▁the`) or a byte-level tokenizer (`Ġthe`)
    writes them; they may be lower-cased and stripped of accents. Characters outside of words may be missing.
    """
    furthest = None
    for spelled in _readings(pieces):
        try:
            return _spans(spelled, pieces, text)
        except Mismatch as error:
            if furthest is None or error.reached > furthest.reached:
                furthest = error
    raise furthest or AssertionError("the literal reading is always tried")


def _readings(pieces: Sequence[str]) -> list[list[bytes]]:
    """Possible readings of the pieces, the literal one first, since the text itself may contain `##` or `▁`."""
    readings = [
        [piece.encode() for piece in pieces],
        [(piece[2:] if piece.startswith("##") else piece).encode() for piece in pieces],
        [piece.replace("▁", " ").encode() for piece in pieces],
    ]
    if all(character in _BYTE_OF for piece in pieces for character in piece):
        readings.append([bytes(_BYTE_OF[character] for character in piece) for piece in pieces])
    return readings


def _spans(spelled: Sequence[bytes], pieces: Sequence[str], text: Text) -> list[tuple[int, int]]:
    stream = b"".join(spelled)
    owner = [number for number, piece in enumerate(spelled) for _ in piece]
    in_word = {place for start, end in text.offsets for place in range(start, end)}
    touched: list[list[int]] = [[] for _ in spelled]
    at = 0
    for place, character in enumerate(text.raw):
        forms = _forms(character)
        while at < len(stream) and stream[at] in _WHITE_SPACE and not stream.startswith(forms[0], at):
            at += 1
        form = next((form for form in forms if stream.startswith(form, at)), None)
        if form is None and place in in_word:
            piece = f"word {owner[at]} ({pieces[owner[at]]!r})" if at < len(stream) else "the end of the words"
            raise Mismatch(
                f"{piece} does not match {text.raw[place : place + 20]!r} at character {place} of the text", place
            )
        after = at + len(form or b"")
        if place in in_word:
            for number in set(owner[at:after]):
                touched[number].append(place)
        at = after
    if rest := stream[at:].strip():
        number = owner[stream.index(rest, at)]
        raise Mismatch(f"word {number} ({pieces[number]!r}) comes after the end of the text", len(text.raw))
    return _filled([(places[0], places[-1] + 1) if places else None for places in touched])


def _forms(character: str) -> tuple[bytes, ...]:
    """A character as it is, lower-cased, and without accents and invisible joiners, as uncased tokenizers write it."""
    if character.isascii():
        return character.encode(), character.lower().encode()
    decomposed = unicodedata.normalize("NFD", character.lower())
    bare = "".join(c for c in decomposed if unicodedata.category(c) not in ("Mn", "Cf"))
    return tuple(form.encode("utf-8", "surrogatepass") for form in (character, character.lower(), bare))


def _filled(spans: Sequence[tuple[int, int] | None]) -> list[tuple[int, int]]:
    """Give a piece without characters of a word (a bare `▁`) the range of the next piece, or of the last one."""
    known = [span for span in spans if span is not None]
    following = known[-1] if known else (0, 0)
    filled = []
    for span in reversed(spans):
        following = span or following
        filled.append(following)
    return filled[::-1]
