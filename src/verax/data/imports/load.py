"""`import_explanations`: convert explanations of other tools, optionally into a file for use in a spec."""

from __future__ import annotations

import importlib
import json
import secrets
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, get_args

from verax.data.explanations import collect
from verax.data.imports.request import ImportRequest
from verax.data.rows import Record
from verax.registry import unknown
from verax.stats.aggregation import Aggregation
from verax.types import Dataset, Highlight, UserError

FORMATS: dict[str, tuple[str, ...]] = {
    "captum": ("tokenizer", "aggregate", "ids"),
    "shap": ("ids",),
    "inseq": ("tokenizer", "aggregate", "ids"),
    "eraser": (),
}
"""Format names (modules of this package) and their format-specific parameters."""


def import_explanations(
    format: str,  # noqa: A002 - the natural name of the parameter
    source: Any,
    dataset: Dataset,
    *,
    out: str | Path | None = None,
    method: str | None = None,
    target: str | None = None,
    tokenizer: Any = None,
    aggregate: Aggregation | None = None,
    ids: Sequence[str] | None = None,
) -> dict[str, list[Highlight]]:
    """Read explanations of another tool and map their scores onto the words of the dataset.

    Args:
        format: `captum`, `shap`, `inseq` or `eraser`.
        source: path of a file; for Captum also a dict from id to tensor, for SHAP also a `shap.Explanation`.
        dataset: the inputs that were explained.
        out: also write them to this JSONL file, which `explanations` of a spec can read.
        method: name of the method in the leaderboard; default: name of the format.
        target: what was explained: `prediction` (the default), `gold`, `loss`, or the name of a class. Of SHAP values
            for several classes, those of the target are used, by name or index.
        tokenizer: tokenizer of the explained model, to locate its tokens: a folder, a hub id or a fast tokenizer.
        aggregate: aggregation of the dimensions of a token: `sum` (the default), `mean`, `l1` or `l2`.
        ids: instance ids in the order of the explanations, if the file has none; default: matched by input text.

    Returns:
        Explanations by method, as returned by `load_explanations`.
    """
    if format not in FORMATS:
        raise UserError(unknown("format", format, FORMATS))
    for field, value in {"tokenizer": tokenizer, "aggregate": aggregate, "ids": ids}.items():
        if value is not None and field not in FORMATS[format]:
            raise UserError(f"{field}: not supported for {format}, got {value!r:.60}")
    if aggregate is not None and aggregate not in get_args(Aggregation):
        raise UserError(unknown("aggregate", aggregate, get_args(Aggregation)))
    is_path = isinstance(source, (str, Path))
    if not is_path and format not in {"captum", "shap"}:
        raise UserError(f"source: {format} needs a file, got a {type(source).__name__}")
    request = ImportRequest(
        Path(source) if is_path else source,
        str(source) if is_path else format,
        dataset,
        method or format,
        "prediction" if target is None else target,
        tokenizer,
        aggregate or "sum",
        ids,
    )
    rows: Iterable[Record] = importlib.import_module(f"verax.data.imports.{format}").read(request)
    if out is None:
        return collect(rows, dataset, request.name)
    return _collect_and_write(rows, request, Path(out))


def _collect_and_write(rows: Iterable[Record], request: ImportRequest, path: Path) -> dict[str, list[Highlight]]:
    """Collect explanations and write them to a file, which is only created on success."""
    if isinstance(request.source, Path) and path.exists() and path.samefile(request.source):
        raise UserError(f"out: {path} is the source file; choose another path")
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise UserError(f"out: {path} is not a regular file, and is not replaced; choose another path")
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
    try:
        with draft.open("x", encoding="utf-8") as file:  # new, and not through a link
            explanations = collect(_written(rows, file), request.dataset, request.name)
        draft.replace(path)
    except OSError as error:
        raise UserError(f"out: {path} cannot be written: {error.strerror}") from None
    finally:
        draft.unlink(missing_ok=True)
    return explanations


def _written(rows: Iterable[Record], file: IO[str]) -> Iterator[Record]:
    for row in rows:
        yield row  # validated by the consumer before it is written
        file.write(json.dumps(dict(row.cells), ensure_ascii=False, allow_nan=False) + "\n")
