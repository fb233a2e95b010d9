"""`export`: the word scores of a method as JSONL in the format of another project."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args

from verax.exports.eraser import TOP, eraser_lines
from verax.exports.thermostat import thermostat_lines
from verax.exports.word_scores import scoring_method
from verax.registry import unknown
from verax.results.run import Run
from verax.store.files import replace_by
from verax.types import UserError

Format = Literal["eraser", "thermostat"]


def export(
    run: Run,
    format: str,  # noqa: A002 - the natural name of the parameter
    file: Path,
    *,
    method: str | None = None,
    top: float | None = None,
    tokenizer: Any = None,
) -> tuple[str, int]:
    """Write the explanations by a method, an object for each input; the file is only created on success.

    Args:
        format: `eraser` or `thermostat`.
        method: label, name or display name; by default the only method that scores words.
        top: of `eraser`, the share of the tokens in a hard rationale.
        tokenizer: of `thermostat`, by default that of the explained model.

    Returns:
        The label of the method, and the number of inputs that it explained.
    """
    if format not in get_args(Format):
        raise UserError(unknown("format", format, get_args(Format)))
    for option, value, meant in (("top", top, "eraser"), ("tokenizer", tokenizer, "thermostat")):
        if value is not None and format != meant:
            raise UserError(f"{option}: it is an option of the format {meant}")
    if top is not None and not 0 <= top <= 1:
        raise UserError(f"top: expected a share between 0 and 1, got {top}")
    label = scoring_method(run, method)
    if format == "eraser":
        lines = eraser_lines(run, label, top=TOP if top is None else top)
    else:
        lines = thermostat_lines(run, label, tokenizer=tokenizer)
    return label, _write(lines, file)


def _write(lines: Iterator[dict[str, Any]], file: Path) -> int:
    """The number of lines."""
    numbers: list[int] = []

    def write(path: Path) -> None:
        with path.open("w", encoding="utf-8") as opened:
            for number, line in enumerate(lines, start=1):
                opened.write(json.dumps(line, allow_nan=False) + "\n")
                numbers[:] = [number]

    try:
        replace_by(file, write)
    except OSError as error:
        raise UserError(f"out: {file} cannot be written: {error.strerror}") from None
    return sum(numbers)
