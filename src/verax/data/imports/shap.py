"""SHAP values of texts: a `shap.Explanation`, or its public fields in an .npz file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from verax.data.imports.arrays import numbers, read_arrays
from verax.data.imports.request import ImportRequest
from verax.data.imports.tokens import TokenSpan, TokenSpans, in_text, with_token_scores
from verax.data.pieces import Mismatch, locate
from verax.data.rows import Record
from verax.registry import unknown
from verax.types import FloatArray, Instance, UserError


@dataclass(frozen=True)
class _ShapValues:
    """The relevant fields of a `shap.Explanation`.

    Args:
        values: [tokens] or [tokens, classes] for each row.
        tokens: token texts of each row, which spell the explained text.
        base_values: for each row a number, or one per class; empty if unknown.
        outputs: class names of the model; empty if unknown.
    """

    values: Sequence[Any]
    tokens: Sequence[Sequence[str]]
    base_values: Sequence[Any]
    outputs: tuple[str, ...]
    ids: Sequence[str] | None


def read(request: ImportRequest) -> Iterator[Record]:
    """One row per text; a class axis is reduced to the target class."""
    explained = _from_file(request) if isinstance(request.source, Path) else _from_object(request)
    texts = ["".join(tokens) for tokens in explained.tokens]
    for number, row, instance in replace(request, ids=explained.ids).explained(texts):
        tokens = explained.tokens[number]
        values = numbers(row, explained.values[number])
        if values.ndim not in {1, 2} or len(values) != len(tokens):
            raise row.error("scores", f"values of shape {list(values.shape)} for {len(tokens)} tokens")
        chosen, target = _of_target(request, row, explained, number, values, instance)
        pieces = _places(row, tokens, instance)
        yield with_token_scores(row.with_cells({"target": target}), pieces, chosen, instance)


def _from_object(request: ImportRequest) -> _ShapValues:
    source = request.source
    if not hasattr(source, "values") or not hasattr(source, "data") or callable(source.values):
        raise UserError(f"shap: expected a shap.Explanation or the path of an .npz file, got {type(source).__name__}")
    values, data, base = source.values, source.data, source.base_values
    if data is None:
        raise UserError("shap: the explanation has no data; its tokens are needed to locate the scores")
    if all(isinstance(token, str) for token in data):  # one row taken out of an explanation
        values, data, base = [values], [data], None if base is None else [base]
    outputs = source.output_names
    names = () if outputs is None else tuple(str(name) for name in np.atleast_1d(outputs))
    tokens = [[str(token) for token in row] for row in data]
    known = () if base is None or np.ndim(base) == 0 else base
    return _ShapValues(values, tokens, known, names, request.ids)


def _from_file(request: ImportRequest) -> _ShapValues:
    path: Path = request.source
    if path.suffix.lower() != ".npz":
        raise UserError(f"{path}: shap values are read from an .npz file; docs/imports.md shows how to write it")
    content = read_arrays(path)
    for field in ("values", "data", "lengths"):
        if field not in content:
            raise UserError(f"{path}: {field!r} is missing; docs/imports.md shows how to write it")
    lengths = content["lengths"].astype(int).ravel().tolist()
    total = len(content["data"])
    if sum(lengths) != total or len(content["values"]) != total:
        raise UserError(
            f"{path}: {len(content['values'])} values and {total} tokens for lengths that add up to {sum(lengths)}"
        )
    cuts = np.cumsum(lengths)[:-1]
    tokens = [[str(token) for token in row] for row in np.split(content["data"], cuts)]
    ids = [str(identity) for identity in content["ids"]] if "ids" in content else None
    outputs = tuple(str(name) for name in np.atleast_1d(content.get("output_names", np.empty(0))))
    base = content.get("base_values", np.empty(0))
    given = request.ids if request.ids is not None else ids
    return _ShapValues(np.split(content["values"], cuts), tokens, base, outputs, given)


def _places(row: Record, tokens: Sequence[str], instance: Instance) -> TokenSpans:
    """Positions of tokens that are literal pieces of the text, otherwise by their tokenizer spelling."""
    pieces = in_text(tokens, instance.parts)
    if pieces is not None:
        return pieces
    if len(instance.parts) > 1:
        raise row.error("data", "the tokens do not spell a text that contains the parts in order")
    try:
        return [TokenSpan(0, start, end) for start, end in locate(tokens, instance.parts[0])]
    except Mismatch as error:
        raise row.error("data", str(error)) from None


def _of_target(
    request: ImportRequest, row: Record, explained: _ShapValues, number: int, values: FloatArray, instance: Instance
) -> tuple[FloatArray, str]:
    """The values of the target class, shape [tokens], and the name of the target."""
    labels, outputs, target = request.dataset.labels, explained.outputs, request.target
    wanted = (instance.label or "") if target == "gold" else target
    if values.ndim == 1:
        if len(outputs) != 1 or outputs[0] not in labels:
            return values, target
        # a single selected class keeps its name, so that it is not mistaken for the predicted one
        if target != "prediction" and wanted != outputs[0]:
            raise row.error("target", f"the values are those of class {outputs[0]!r}, not of {wanted!r}")
        return values, outputs[0] if target == "prediction" else target
    classes = values.shape[1]
    if target == "prediction":
        return values[:, _predicted(row, explained, number, values)], target
    ours = list(labels) if len(labels) == classes else []
    names = ours if not outputs else list(outputs) if len(outputs) == classes and set(outputs) <= set(labels) else []
    if wanted in names:
        return values[:, names.index(wanted)], target
    if wanted.isdecimal() and int(wanted) < classes and (names or ours):
        return values[:, int(wanted)], (names or ours)[int(wanted)]
    if names:
        raise row.error("target", unknown("class", wanted, names))
    raise row.error("target", f"cannot tell which of {list(outputs) or classes} is {wanted!r}; give its index")


def _predicted(row: Record, explained: _ShapValues, number: int, values: FloatArray) -> int:
    """The class with the highest output, which is base value plus SHAP values (local accuracy)."""
    classes = values.shape[1]
    if classes == 1:
        return 0
    base = numbers(row, explained.base_values[number]) if len(explained.base_values) > number else np.empty(0)
    if base.shape != (classes,):
        raise row.error(
            "target",
            f"{classes} classes and no base values to find the predicted one; give a class as target",
        )
    return int(np.argmax(base + values.sum(0)))
