"""Locating the tokens of another tool in the parts of an input."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from verax.data.rows import Record
from verax.data.text import words_over
from verax.registry import entries, resolve
from verax.types import FloatArray, Instance, Text, UserError
from verax.types.errors import first_line


class TokenSpan(NamedTuple):
    """Characters `start` to `end` (half-open) of one part."""

    part: int
    start: int
    end: int


TokenSpans = list[TokenSpan | None]
"""Position of each token; None for a token outside the parts (a special token, the text of a prompt)."""


def open_tokenizer(given: Any) -> Any:
    """A fast tokenizer of a shipped model, a folder or the hub; a tokenizer object is returned unchanged.

    No code of a checkpoint is run.
    """
    if isinstance(given, str) and given in entries("models"):
        given = resolve("models", given)()
    if isinstance(given, (str, Path)):
        # Imported here: the import takes seconds, and is not needed with offsets.
        from transformers import AutoTokenizer  # noqa: PLC0415

        try:
            given = AutoTokenizer.from_pretrained(str(given), use_fast=True, trust_remote_code=False)
        except (OSError, ValueError, KeyError, ImportError) as error:
            raise UserError(f"tokenizer: {str(given)!r} cannot be loaded: {first_line(error)}") from None
    if not getattr(given, "is_fast", False):
        raise UserError(f"tokenizer: {type(given).__name__} is not a fast tokenizer, which is needed to locate tokens")
    return given


def tokenize(tokenizer: Any, texts: Sequence[str], *, truncation: bool = False) -> tuple[list[int], TokenSpans]:
    """Ids and positions of the tokens of a text or text pair, with special tokens; both of shape [tokens]."""
    if len(texts) > 2:
        raise UserError(f"tokenizer: cannot encode an input of {len(texts)} parts; store offsets with the scores")
    encoded = tokenizer(*texts, return_offsets_mapping=True, truncation=truncation, verbose=False)
    places = zip(encoded.sequence_ids(), encoded["offset_mapping"], strict=True)
    return list(encoded["input_ids"]), [None if part is None else TokenSpan(part, *span) for part, span in places]


def in_text(tokens: Sequence[str], texts: Sequence[Text]) -> TokenSpans | None:
    """Positions of tokens whose concatenation contains the parts in order; None if it does not.

    The tokens of a single part may stop before its end, since some tokenizers drop trailing characters.
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
    """Start of each part in a text that contains them in order; None if it does not.

    Text before, between and after the parts (a prompt, a separator) belongs to none of them.
    """
    starts: list[int] = []
    at = 0
    for text in texts:
        start = whole.find(text.raw, at)
        if start < 0:
            return None
        starts.append(start)
        at = start + len(text.raw)
    return starts


def in_part(begin: int, end: int, starts: Sequence[int], texts: Sequence[Text]) -> TokenSpan | None:
    """The part with the largest overlap, and the overlapping range in it."""
    overlaps = {
        part: TokenSpan(part, max(begin - start, 0), min(end - start, len(text.raw)))
        for part, (start, text) in enumerate(zip(starts, texts, strict=True))
    }
    best = max(overlaps.values(), key=lambda piece: piece.end - piece.start)
    return best if best.end > best.start else None


def with_token_scores(
    row: Record, pieces: Sequence[TokenSpan | None], scores: FloatArray, instance: Instance
) -> Record:
    """The row with `parts` in the format of `load_explanations`: offsets and scores of its tokens.

    A token that overlaps no word (a lone space marker) is assigned to the next word, or to the last one.
    """
    parts: list[dict[str, list[Any]]] = [{"offsets": [], "scores": []} for _ in instance.parts]
    for piece, score in zip(pieces, scores.tolist(), strict=True):
        if piece is None or piece.start == piece.end:
            continue
        if not 0 <= piece.part < len(parts):
            raise row.error("offsets", f"part {piece.part} is out of range for {len(parts)} parts (from 0)")
        text = instance.parts[piece.part]
        start, end = piece.start, piece.end
        over = words_over(text, start, end)
        # positions outside the text are rejected later by `collect`
        if not over and text.words and 0 <= start < end <= len(text.raw):
            start, end = text.offsets[min(over.start, len(text.words) - 1)]
        if text.words:
            parts[piece.part]["offsets"].append([start, end])
            parts[piece.part]["scores"].append(score)
    return row.with_cells({"parts": parts})
