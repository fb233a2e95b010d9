"""Where the tokens of another tool stand in the parts of an input."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from verax.data.imports.arrays import first_line
from verax.data.rows import Row
from verax.data.text import words_over
from verax.registry import entries, resolve
from verax.types import FloatArray, Instance, Text, UserError


class Piece(NamedTuple):
    """Characters `start` to `end` (half-open) of one part."""

    part: int
    start: int
    end: int


Pieces = list[Piece | None]
"""A place for each token; None for one that stands in no part (a special token, the frame of a prompt)."""


def open_tokenizer(given: Any) -> Any:
    """A fast tokenizer of a shipped model, a folder or the hub; one in memory is taken as it is.

    No code of a checkpoint is run.
    """
    if isinstance(given, str) and given in entries("models"):
        given = resolve("models", given)()
    if isinstance(given, (str, Path)):
        # transformers takes seconds to import, and whoever has offsets does without it
        from transformers import AutoTokenizer  # noqa: PLC0415

        try:
            given = AutoTokenizer.from_pretrained(str(given), use_fast=True, trust_remote_code=False)
        except (OSError, ValueError, KeyError, ImportError) as error:
            raise UserError(f"tokenizer: {str(given)!r} can't be loaded: {first_line(error)}") from None
    if not getattr(given, "is_fast", False):
        raise UserError(f"tokenizer: {type(given).__name__} is not fast: it can't tell where its tokens stand")
    return given


def tokenize(tokenizer: Any, texts: Sequence[str], *, truncation: bool = False) -> tuple[list[int], Pieces]:
    """The ids and places of the tokens of one text or of a pair, special tokens included; both of shape [tokens]."""
    if len(texts) > 2:
        raise UserError(f"tokenizer: can't encode an input of {len(texts)} parts; store offsets beside the scores")
    encoded = tokenizer(*texts, return_offsets_mapping=True, truncation=truncation, verbose=False)
    places = zip(encoded.sequence_ids(), encoded["offset_mapping"], strict=True)
    return list(encoded["input_ids"]), [None if part is None else Piece(part, *span) for part, span in places]


def in_text(tokens: Sequence[str], texts: Sequence[Text]) -> Pieces | None:
    """Places of tokens that spell, one after the other, a text in which the parts stand in order; None if they don't.

    The tokens of a lone part may stop before its end, since some tokenizers drop what comes last.
    """
    spelled = "".join(tokens)
    starts = part_starts(spelled, texts)
    if starts is None:
        if len(texts) > 1 or not spelled.strip() or not texts[0].raw.startswith(spelled):
            return None
        starts = [0]
    ends = list(itertools.accumulate(map(len, tokens)))
    return [in_part(begin, end, starts, texts) for begin, end in zip([0, *ends], ends, strict=False)]


def part_starts(whole: str, texts: Sequence[Text]) -> list[int] | None:
    """The character at which each part begins in a text that holds them in order; None if it does not.

    What stands before, between and behind the parts (a prompt, a separator) belongs to none of them.
    """
    starts: list[int] = []
    at = 0
    for text in texts:
        found = whole.find(text.raw, at)
        if found < 0:
            return None
        starts.append(found)
        at = found + len(text.raw)
    return starts


def in_part(begin: int, end: int, starts: Sequence[int], texts: Sequence[Text]) -> Piece | None:
    """The part that characters of a whole overlap most, and where in it they stand."""
    overlaps = {
        part: Piece(part, max(begin - start, 0), min(end - start, len(text.raw)))
        for part, (start, text) in enumerate(zip(starts, texts, strict=True))
    }
    best = max(overlaps.values(), key=lambda piece: piece.end - piece.start)
    return best if best.end > best.start else None


def lay(row: Row, pieces: Sequence[Piece | None], scores: FloatArray, instance: Instance) -> Row:
    """The row with `parts` in our own format: the places and scores of its tokens, shape [tokens] each.

    A token that overlaps no word (a lone space marker) goes with the word that follows, or with the last one.
    """
    parts: list[dict[str, list[Any]]] = [{"offsets": [], "scores": []} for _ in instance.parts]
    for piece, score in zip(pieces, scores.tolist(), strict=True):
        if piece is None or piece.start == piece.end:
            continue
        if not 0 <= piece.part < len(parts):
            raise row.error("offsets", f"part {piece.part} is beyond the {len(parts)} parts, counted from 0")
        text = instance.parts[piece.part]
        start, end = piece.start, piece.end
        over = words_over(text, start, end)
        # a place outside the text is left for the reader of our own format to refuse
        if not over and text.words and 0 <= start < end <= len(text.raw):
            start, end = text.offsets[min(over.start, len(text.words) - 1)]
        if text.words:
            parts[piece.part]["offsets"].append([start, end])
            parts[piece.part]["scores"].append(score)
    return Row(row.where, row.position, {**row.cells, "parts": parts})
