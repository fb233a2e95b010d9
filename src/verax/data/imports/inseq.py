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

from verax.data.imports.arrays import numbers, over_dimensions
from verax.data.imports.request import Aggregation, Request
from verax.data.imports.tokens import Piece, Pieces, in_part, lay, open_tokenizer, part_starts, tokenize
from verax.data.pieces import Mismatch, locate
from verax.data.rows import Row, describe
from verax.data.table import parse_json
from verax.data.text import split_words
from verax.types import FloatArray, Instance, Text, UserError

_GZIP = b"\x1f\x8b"
_SPECIAL = re.compile(r"<[^<>\s]+>|\[[A-Z]+\]|<｜[^<>]+｜>")


def read(request: Request) -> Iterator[Row]:
    """A row for each sequence: the scores of the tokens of its input, summed over the tokens that were generated."""
    content = _plain(_read_json(request))
    if not isinstance(content, dict) or "sequence_attributions" not in content:
        raise UserError(f"{request.name}: not a file of inseq: there is no 'sequence_attributions' in it")
    sequences = content["sequence_attributions"]
    texts = (content.get("info") or {}).get("input_texts")
    if not isinstance(sequences, list) or not isinstance(texts, list) or len(texts) != len(sequences):
        raise UserError(f"{request.name}: expected a text in info.input_texts for each of sequence_attributions")
    tokenizer = None if request.tokenizer is None else open_tokenizer(request.tokenizer)
    for number, identity in enumerate(request.identify(texts)):
        if identity is None:
            continue
        row = request.row(number + 1, identity)
        instance = request.find(row)
        if instance is not None:
            tokens, scores = _input_scores(row, sequences[number], request.aggregate)
            pieces = _places(row, tokens, texts[number], instance, tokenizer)
            yield lay(row, pieces, scores, instance)


def _read_json(request: Request) -> Any:
    path = Path(request.source)
    if not path.is_file():
        raise UserError(f"no such file: {path}")
    try:
        content = path.read_bytes()
        if content.startswith(_GZIP):
            content = gzip.decompress(content)
        text = content.decode("utf-8")
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path}: can't be read: {error}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8: byte {error.start}") from None
    return parse_json(text, str(path))


def _plain(value: Any) -> Any:
    """The attributes of objects in place of the objects: their classes are named in the file, but never looked up."""
    if isinstance(value, dict):
        if "__instance_type__" in value:
            return _plain(value.get("attributes", {}))
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _input_scores(row: Row, sequence: Any, how: Aggregation) -> tuple[list[tuple[int, str]], FloatArray]:
    """Id and text of each token of the input, and its score: aggregated, then summed over generated tokens: [tokens].

    An encoder-decoder keeps them as source attributions. A decoder has only a target, which the input begins.
    """
    if not isinstance(sequence, Mapping) or not isinstance(sequence.get("source"), list):
        raise row.error("source", "expected a list of tokens")
    tokens = [_token(row, token) for token in sequence["source"]]
    field = "source_attributions" if sequence.get("source_attributions") is not None else "target_attributions"
    scores = _tensor(row, field, sequence.get(field))
    if field == "target_attributions":
        target = sequence.get("target")
        begun = [_token(row, token) for token in target[: len(tokens)]] if isinstance(target, list) else []
        if begun != tokens:
            raise row.error("target", "a decoder's target must begin with its source")
        scores = scores[: len(tokens)]  # what follows are generated tokens; NaN stands where they come too late
    if scores.ndim < 2 or len(scores) != len(tokens):
        raise row.error("scores", f"{field} of shape {list(scores.shape)} for {len(tokens)} tokens of the input")
    steps = numbers(row, scores)
    each = steps.reshape(steps.shape[0] * steps.shape[1], *steps.shape[2:])
    return tokens, over_dimensions(each, how).reshape(steps.shape[:2]).sum(axis=1)


def _token(row: Row, value: Any) -> tuple[int, str]:
    if not isinstance(value, Mapping) or not isinstance(value.get("token"), str):
        raise row.error("source", f"expected a token with its text and its id, got {describe(value)}")
    return row.whole_number("source", value.get("id"), "the id of a token"), value["token"]


def _tensor(row: Row, field: str, value: Any) -> FloatArray:
    """An array from the base64 of a safetensors file that holds the one tensor `attribution`."""
    # it may be float8, which numpy does not know
    from safetensors.torch import load  # noqa: PLC0415

    if not isinstance(value, str):
        raise row.error(field, f"expected a tensor as base64, which inseq writes from 0.6 on, got {describe(value)}")
    try:
        return np.asarray(load(base64.b64decode(value, validate=True))["attribution"].double().numpy())
    except (binascii.Error, SafetensorError, KeyError, ValueError) as error:
        raise row.error(field, f"not a tensor that can be read: {str(error).strip() or 'it is empty'}") from None


def _places(row: Row, tokens: list[tuple[int, str]], text: str, instance: Instance, tokenizer: Any) -> Pieces:
    """Where the tokens stand in the parts: first in the text that was given to the model, then in the parts in it."""
    whole = split_words(text)
    if tokenizer is None:
        pieces = _by_spelling(row, [token for _, token in tokens], whole)
    else:
        ids, pieces = tokenize(tokenizer, [text])
        if ids != [number for number, _ in tokens]:
            raise row.error("source", f"the tokenizer makes {len(ids)} other tokens of this text; is it another one?")
    starts = part_starts(text, instance.parts)
    if starts is None:
        raise row.error("id", f"the parts of {instance.id!r} do not stand in the text that was explained")
    return [piece and in_part(piece.start, piece.end, starts, instance.parts) for piece in pieces]


def _by_spelling(row: Row, tokens: list[str], whole: Text) -> Pieces:
    """Places by the writing of the tokens alone; special ones stand at the ends and are not in the text."""
    first, last = 0, len(tokens)
    while first < last and _SPECIAL.fullmatch(tokens[first]) and not whole.raw.startswith(tokens[first]):
        first += 1
    while last > first and _SPECIAL.fullmatch(tokens[last - 1]) and not whole.raw.endswith(tokens[last - 1]):
        last -= 1
    try:
        spans = locate(tokens[first:last], whole)
    except Mismatch as error:
        raise row.error("source", f"{error}; name the tokenizer, which knows where its tokens stand") from None
    inner = [Piece(0, start, end) for start, end in spans]
    return [*[None] * first, *inner, *[None] * (len(tokens) - last)]
