"""Captum attributions: saved tensors with scores of the tokens of each input."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from verax.data.imports.arrays import numbers, read_arrays
from verax.data.imports.request import ImportRequest, check_ids
from verax.data.imports.tokens import TokenSpan, TokenSpans, open_tokenizer, tokenize, with_token_scores
from verax.data.rows import Record
from verax.stats.aggregation import over_dimensions
from verax.types import FloatArray, Instance, UserError

TENSOR, OFFSETS = "attributions", "offsets"


def read(request: ImportRequest) -> Iterator[Record]:
    """One row per instance, from a dict from id to tensor or from a batch tensor with ids.

    A tensor of a dict has the shape [tokens], [tokens, dimensions], or the same with a batch of one in front. The
    tensor of a batch has the shape [batch, tokens] or [batch, tokens, dimensions], shorter inputs padded.
    """
    content = _content(request.source)
    stored = content.pop("ids", None)
    ids = stored if request.ids is None else request.ids
    tokenizer = None if request.tokenizer is None else open_tokenizer(request.tokenizer)
    entries = (
        _entries(content)
        if ids is None
        else _rows(request, content, [str(identity) for identity in np.asarray(ids).tolist()])
    )
    for number, (identity, value, offsets) in enumerate(entries, start=1):
        row = request.row(number, identity)
        instance = request.find(row)
        if instance is None:
            continue
        scores = numbers(row, value)
        if offsets is not None:
            pieces = _from_offsets(row, offsets, instance)
            fitted = _fit(scores, len(pieces))
        elif tokenizer is None:
            raise UserError(
                f"{request.name}: token positions are unknown; give the tokenizer of the explained model, or store "
                f"[tokens, 2] character offsets as {f'{identity}:{OFFSETS}'!r}"
            )
        elif ids is None:
            pieces, fitted = _by_tokenizer(row, scores, tokenizer, instance)
        else:
            pieces, fitted = _without_padding(row, scores, tokenizer, instance)
        if fitted is None:
            raise row.error("scores", f"shape {list(scores.shape)} for {len(pieces)} offsets")
        yield with_token_scores(row, pieces, over_dimensions(fitted, request.aggregate), instance)


def _content(source: Any) -> dict[str, Any]:
    if isinstance(source, Path):
        return read_arrays(source)
    return {str(key): value for key, value in source.items()} if isinstance(source, Mapping) else {TENSOR: source}


SavedScores = tuple[str, Any, Any]
"""An id, its scores, and offsets or None."""


def _entries(content: Mapping[str, Any]) -> Iterator[SavedScores]:
    for key, value in content.items():
        owner, _, kind = key.rpartition(":")
        if kind != OFFSETS or owner not in content:
            yield key, value, content.get(f"{key}:{OFFSETS}")


def _rows(request: ImportRequest, content: Mapping[str, Any], ids: Sequence[str]) -> Iterator[SavedScores]:
    if TENSOR not in content:
        there = ", ".join(repr(key) for key in list(content)[:5])
        raise UserError(f"{request.name}: with ids, expected one tensor {TENSOR!r}, got {there or 'nothing'}")
    scores = numbers(request.row(0, TENSOR), content[TENSOR])
    if scores.ndim not in {2, 3}:
        raise UserError(
            f"{request.name}: {TENSOR!r} must have the shape [batch, tokens] or [batch, tokens, dimensions], "
            f"got {list(scores.shape)}"
        )
    check_ids(request.name, ids, len(scores))
    offsets = content.get(OFFSETS)
    if offsets is not None:
        check_ids(f"{request.name}: {OFFSETS}", ids, len(offsets))
    for number, identity in enumerate(ids):
        yield identity, scores[number], None if offsets is None else offsets[number]


def _from_offsets(row: Record, value: Any, instance: Instance) -> TokenSpans:
    """Token positions from an array of offsets: [tokens, 2] for one part, [tokens, 3] with the part index first."""
    offsets = numbers(row, value)
    offsets = np.asarray(offsets[0]) if offsets.ndim == 3 and len(offsets) == 1 else offsets
    width = 2 if len(instance.parts) == 1 else 3
    if offsets.ndim != 2 or offsets.shape[1] not in {width, 3} or (offsets != np.round(offsets)).any():
        expected = "[tokens, 2]" if width == 2 else "[tokens, 3] with the part index first"
        raise row.error("offsets", f"expected integers of shape {expected}, got shape {list(offsets.shape)}")
    numbered = np.pad(offsets, ((0, 0), (3 - offsets.shape[1], 0))).astype(int).tolist()
    # special tokens have empty ranges, some with part -1
    return [None if start == end else TokenSpan(part, start, end) for part, start, end in numbered]


def _fit(scores: FloatArray, tokens: int) -> FloatArray | None:
    """Scores as [tokens] or [tokens, dimensions], without a batch axis of 1; None if the length differs."""
    if scores.ndim in {1, 2} and len(scores) == tokens:
        return scores
    if scores.ndim in {2, 3} and scores.shape[:2] == (1, tokens):
        return np.asarray(scores[0])
    return None


def _by_tokenizer(row: Record, scores: FloatArray, tokenizer: Any, instance: Instance) -> tuple[TokenSpans, FloatArray]:
    """Match the scores with or without special tokens, complete or truncated by the tokenizer."""
    texts = [part.raw for part in instance.parts]
    _, full = tokenize(tokenizer, texts)
    bare: TokenSpans = [piece for piece in full if piece is not None]
    for pieces in (full, bare):
        if (fitted := _fit(scores, len(pieces))) is not None:
            return pieces, fitted
    _, cut = tokenize(tokenizer, texts, truncation=True)
    if (fitted := _fit(scores, len(cut))) is not None:
        return cut, fitted
    raise row.error(
        "scores",
        f"shape {list(scores.shape)} for an input of {len(full)} tokens ({len(bare)} without the special ones); "
        "check that the tokenizer is the right one and that there is no padding",
    )


def _without_padding(
    row: Record, scores: FloatArray, tokenizer: Any, instance: Instance
) -> tuple[TokenSpans, FloatArray]:
    """The tokens of one row of a batch, without padding."""
    texts = [part.raw for part in instance.parts]
    _, pieces = tokenize(tokenizer, texts)
    if len(pieces) > len(scores):
        _, pieces = tokenize(tokenizer, texts, truncation=True)
    if len(pieces) > len(scores):
        raise row.error("scores", f"{len(scores)} tokens in the batch for an input of {len(pieces)} tokens")
    left = tokenizer.padding_side == "left"
    return pieces, scores[len(scores) - len(pieces) :] if left else scores[: len(pieces)]
