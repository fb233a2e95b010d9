"""inseq's attributions of generated text, from the JSON that `FeatureAttributionOutput.save` writes."""

from __future__ import annotations

import base64
import binascii
import gzip
import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError

from verax.data.imports.arrays import numbers
from verax.data.imports.request import ImportRequest
from verax.data.imports.tokens import (
    TokenSpan,
    TokenSpans,
    in_part,
    open_tokenizer,
    part_starts,
    tokenize,
    with_token_scores,
)
from verax.data.pieces import Mismatch, locate
from verax.data.rows import Record, describe
from verax.data.table import parse_json
from verax.data.text import split_words
from verax.stats.aggregation import Aggregation, over_dimensions
from verax.types import FloatArray, Instance, Text, UserError

_GZIP = b"\x1f\x8b"
_SPECIAL = re.compile(r"<[^<>\s]+>|\[[A-Z]+\]|<｜[^<>]+｜>")


def read(request: ImportRequest) -> Iterator[Record]:
    """One row per sequence: scores of the input tokens, summed over the generated tokens."""
    content = _plain(_read_json(request))
    if not isinstance(content, dict) or "sequence_attributions" not in content:
        raise UserError(f"{request.name}: not an inseq file: 'sequence_attributions' is missing")
    sequences = content["sequence_attributions"]
    texts = (content.get("info") or {}).get("input_texts")
    if not isinstance(sequences, list) or not isinstance(texts, list) or len(texts) != len(sequences):
        raise UserError(
            f"{request.name}: expected one text in info.input_texts for each entry of sequence_attributions"
        )
    tokenizer = None if request.tokenizer is None else open_tokenizer(request.tokenizer)
    for number, row, instance in request.explained(texts):
        tokens, scores = _input_scores(row, sequences[number], request.aggregate)
        pieces = _places(row, tokens, texts[number], instance, tokenizer)
        yield with_token_scores(row, pieces, scores, instance)


def _read_json(request: ImportRequest) -> Any:
    path = Path(request.source)
    if not path.is_file():
        raise UserError(f"no such file: {path}")
    try:
        content = path.read_bytes()
        if content.startswith(_GZIP):
            content = gzip.decompress(content)
        text = content.decode("utf-8")
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path}: cannot be read: {error}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8: byte {error.start}") from None
    return parse_json(text, str(path))


def _plain(value: Any) -> Any:
    """Replace serialized objects by their attributes; the classes named in the file are never imported."""
    if isinstance(value, dict):
        if "__instance_type__" in value:
            return _plain(value.get("attributes", {}))
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _input_scores(row: Record, sequence: Any, aggregation: Aggregation) -> tuple[list[tuple[int, str]], FloatArray]:
    """Id and text of each input token, and its aggregated score summed over generated tokens: [tokens].

    Encoder-decoders store source attributions; decoders only a target, which starts with the input.
    """
    if not isinstance(sequence, Mapping) or not isinstance(sequence.get("source"), list):
        raise row.error("source", "expected a list of tokens")
    tokens = [_token(row, token) for token in sequence["source"]]
    field = "source_attributions" if sequence.get("source_attributions") is not None else "target_attributions"
    scores = _tensor(row, field, sequence.get(field))
    if field == "target_attributions":
        target = sequence.get("target")
        prefix = [_token(row, token) for token in target[: len(tokens)]] if isinstance(target, list) else []
        if prefix != tokens:
            raise row.error("target", "expected a decoder's target to begin with its source")
        scores = scores[: len(tokens)]  # the rest are generated tokens, with NaN for later positions
    if scores.ndim < 2 or len(scores) != len(tokens):
        raise row.error("scores", f"{field} of shape {list(scores.shape)} for {len(tokens)} tokens of the input")
    steps = numbers(row, scores)
    each = steps.reshape(steps.shape[0] * steps.shape[1], *steps.shape[2:])
    return tokens, over_dimensions(each, aggregation).reshape(steps.shape[:2]).sum(axis=1)


def _token(row: Record, value: Any) -> tuple[int, str]:
    if not isinstance(value, Mapping) or not isinstance(value.get("token"), str):
        raise row.error("source", f"expected a token with text and id, got {describe(value)}")
    return row.whole_number("source", value.get("id"), "the id of a token"), value["token"]


def _tensor(row: Record, field: str, value: Any) -> FloatArray:
    """Decode a base64 safetensors file with the single tensor `attribution`."""
    # loaded with torch: it may be float8, which numpy lacks
    from safetensors.torch import load  # noqa: PLC0415

    if not isinstance(value, str):
        raise row.error(field, f"expected a base64 tensor, as written by inseq 0.6 and later, got {describe(value)}")
    try:
        return np.asarray(load(base64.b64decode(value, validate=True))["attribution"].double().numpy())
    except (binascii.Error, SafetensorError, KeyError, ValueError) as error:
        raise row.error(field, f"unreadable tensor: {str(error).strip() or 'empty'}") from None


def _places(row: Record, tokens: list[tuple[int, str]], text: str, instance: Instance, tokenizer: Any) -> TokenSpans:
    """Positions of the tokens in the parts, via their positions in the model input."""
    whole = split_words(text)
    if tokenizer is None:
        pieces = _by_spelling(row, [token for _, token in tokens], whole)
    else:
        ids, pieces = tokenize(tokenizer, [text])
        if ids != [number for number, _ in tokens]:
            raise row.error(
                "source", f"the tokenizer splits this text into {len(ids)} other tokens; check that it is the right one"
            )
    starts = part_starts(text, instance.parts)
    if starts is None:
        raise row.error("id", f"the explained text does not contain the parts of {instance.id!r}")
    return [piece and in_part(piece.start, piece.end, starts, instance.parts) for piece in pieces]


def _by_spelling(row: Record, tokens: list[str], whole: Text) -> TokenSpans:
    """Positions from the spelling of the tokens; special tokens at the ends are not in the text."""
    first, last = 0, len(tokens)
    while first < last and _SPECIAL.fullmatch(tokens[first]) and not whole.raw.startswith(tokens[first]):
        first += 1
    while last > first and _SPECIAL.fullmatch(tokens[last - 1]) and not whole.raw.endswith(tokens[last - 1]):
        last -= 1
    try:
        spans = locate(tokens[first:last], whole)
    except Mismatch as error:
        raise row.error("source", f"{error}; give the tokenizer to locate the tokens exactly") from None
    inner = [TokenSpan(0, start, end) for start, end in spans]
    return [*[None] * first, *inner, *[None] * (len(tokens) - last)]
