"""`import_explanations`: what another tool computed, as explanations of ours and as a file that a spec can name."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, get_args

from verax.data.explanations import collect
from verax.data.imports.request import Aggregation, Request
from verax.data.rows import Row
from verax.registry import unknown
from verax.types import Dataset, Highlight, UserError

FORMATS: dict[str, tuple[str, ...]] = {
    "captum": ("tokenizer", "aggregate", "ids"),
    "shap": ("ids",),
    "inseq": ("tokenizer", "aggregate", "ids"),
    "eraser": (),
}
"""The formats, each a module beside this one, and which parameters it has beyond those of all."""


def import_explanations(
    format: str,  # noqa: A002 - the word that people look for
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
    """Read explanations that another tool computed, and lay their scores on our words.

    Args:
        format: `captum`, `shap`, `inseq` or `eraser`.
        source: the path of a file; or, of Captum, a dict from id to tensor, and of SHAP a `shap.Explanation`.
        dataset: the inputs that were explained.
        out: write them here as well, as the JSONL that `explanations` of a spec reads.
        method: the name that they get in the leaderboard; that of the format by default.
        target: what was explained: `prediction` (the default), `gold`, `loss`, or the name of a class. With SHAP values
            of several classes it says which of them are taken, by name or by number.
        tokenizer: of the model that was explained, to know where its tokens stand: a folder, a hub
            id or a fast tokenizer.
        aggregate: how the dimensions of a token become one score: `sum` (the default), `mean`, `l1` or `l2`.
        ids: of the explanations in their order, where the file has none; without them an input is known by its text.

    Returns:
        Explanations by method, as `load_explanations` gives them.
    """
    if format not in FORMATS:
        raise UserError(unknown("format", format, FORMATS))
    for field, value in {"tokenizer": tokenizer, "aggregate": aggregate, "ids": ids}.items():
        if value is not None and field not in FORMATS[format]:
            raise UserError(f"{field}: {format} takes none, got {value!r:.60}")
    if aggregate is not None and aggregate not in get_args(Aggregation):
        raise UserError(unknown("aggregate", aggregate, get_args(Aggregation)))
    is_path = isinstance(source, (str, Path))
    if not is_path and format not in {"captum", "shap"}:
        raise UserError(f"source: {format} is read from a file, got a {type(source).__name__}")
    request = Request(
        Path(source) if is_path else source,
        str(source) if is_path else format,
        dataset,
        method or format,
        "prediction" if target is None else target,
        tokenizer,
        aggregate or "sum",
        ids,
    )
    rows: Iterable[Row] = importlib.import_module(f"verax.data.imports.{format}").read(request)
    if out is None:
        return collect(rows, dataset, request.name)
    return _kept(rows, request, Path(out))


def _kept(rows: Iterable[Row], request: Request, path: Path) -> dict[str, list[Highlight]]:
    """The same, written row by row into a file that appears when all is well."""
    if isinstance(request.source, Path) and path.exists() and path.samefile(request.source):
        raise UserError(f"out: {path} is the file that is read; choose another")
    draft = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with draft.open("w", encoding="utf-8") as file:
            found = collect(_noted(rows, file), request.dataset, request.name)
        draft.replace(path)
    except OSError as error:
        raise UserError(f"out: {path} can't be written: {error.strerror}") from None
    finally:
        draft.unlink(missing_ok=True)
    return found


def _noted(rows: Iterable[Row], file: IO[str]) -> Iterator[Row]:
    for row in rows:
        yield row  # whoever reads it refuses it first, if it is wrong
        file.write(json.dumps(dict(row.cells), ensure_ascii=False, allow_nan=False) + "\n")
