"""Rationales in the prediction format of the ERASER benchmark: JSONL with white-space tokenized documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from verax.data.imports.request import ImportRequest
from verax.data.imports.tokens import TokenSpan, TokenSpans, with_token_scores
from verax.data.rows import Record, describe
from verax.data.table import read_jsonl
from verax.data.text import split_at_spaces
from verax.types import Instance, UserError

SOFT, HARD = "soft_rationale_predictions", "hard_rationale_predictions"
_ORDER = ("premise", "hypothesis")


def read(request: ImportRequest) -> Iterator[Record]:
    """One row per annotation: its soft scores, or 1 for the tokens of its hard rationales and 0 elsewhere."""
    path = Path(request.source)
    if not path.is_file():
        raise UserError(f"no such file: {path}")
    for line in read_jsonl(path):
        instance_id = line.name("annotation_id")
        if instance_id is None:
            raise line.error("annotation_id", "expected text, got an empty value")
        cells = {"id": instance_id, "method": request.method, "target": request.target}
        row = Record(line.where, line.position, cells)
        instance = request.find(row, "annotation_id")
        if instance is None:
            continue
        pieces: TokenSpans = []
        scores: list[float] = []
        for part, rationale in _by_part(line, instance):
            tokens = split_at_spaces(instance.parts[part].raw).offsets
            pieces += [TokenSpan(part, start, end) for start, end in tokens]
            scores += _scores(line, rationale, len(tokens))
        yield with_token_scores(row, pieces, np.array(scores, np.float64), instance)


def _by_part(line: Record, instance: Instance) -> list[tuple[int, dict[str, Any]]]:
    """Rationales with the index of their part."""
    rationales = line.items("rationales", line.cells.get("rationales"), "a list of rationales, one for each document")
    for rationale in rationales:
        if not isinstance(rationale, dict):
            raise line.error("rationales", f"expected an object, got {describe(rationale)}")
    parts = len(instance.parts)
    if len(rationales) == parts:
        return list(enumerate(sorted(rationales, key=_place) if parts == len(_ORDER) else rationales))
    # A question often has no rationale; the length identifies the part of a rationale.
    lengths = [len(split_at_spaces(part.raw).words) for part in instance.parts]
    fitting = [_fitting(rationale, lengths) for rationale in rationales]
    chosen = [numbers[0] for numbers in fitting if len(numbers) == 1]
    if len(set(chosen)) != len(rationales) or not rationales:
        raise line.error(
            "rationales", f"{len(rationales)} rationales cannot be matched to the {parts} parts of {instance.id!r}"
        )
    return list(zip(chosen, rationales, strict=True))


def _place(rationale: dict[str, Any]) -> int:
    """Sort key: premise before hypothesis by document name; other documents keep their order."""
    name = str(rationale.get("docid"))
    return next((number for number, ending in enumerate(_ORDER) if name.endswith(ending)), 0)


def _fitting(rationale: dict[str, Any], lengths: Sequence[int]) -> list[int]:
    soft = rationale.get(SOFT)
    return [part for part, length in enumerate(lengths) if isinstance(soft, list) and len(soft) == length]


def _scores(line: Record, rationale: dict[str, Any], tokens: int) -> list[float]:
    """Scores of the tokens of a document; shape [tokens]."""
    if rationale.get(SOFT) is not None:
        soft = line.items(SOFT, rationale[SOFT], "a list of numbers")
        if len(soft) != tokens:
            raise line.error(SOFT, f"{len(soft)} scores for a document of {tokens} tokens")
        return [_number(line, number, value) for number, value in enumerate(soft)]
    if rationale.get(HARD) is None:
        raise line.error("rationales", f"expected {SOFT} or {HARD}")
    scores = [0.0] * tokens
    for span in line.items(HARD, rationale[HARD], "a list of spans"):
        if not isinstance(span, dict):
            raise line.error(HARD, f"expected an object, got {describe(span)}")
        start, end = (line.whole_number(HARD, span.get(name), name) for name in ("start_token", "end_token"))
        if not 0 <= start < end <= tokens:
            raise line.error(HARD, f"[{start}, {end}] is outside the {tokens} tokens of the document")
        scores[start:end] = [1.0] * (end - start)
    return scores


def _number(line: Record, number: int, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise line.error(SOFT, f"score {number}: expected a number, got {describe(value)}")
    return float(value)
