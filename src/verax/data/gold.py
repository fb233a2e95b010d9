"""Human annotations from the cells of a row: highlighted words, span pairs, and free-text explanations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from verax.data.columns import Columns
from verax.data.rows import Record, describe
from verax.data.table import parse_json
from verax.data.text import words_over
from verax.types import Human, Span, Text, Unit

RELATIONS = "relations by annotator"
"""Cell with the relations of each annotator, as a tuple; readers of public formats fill it."""
WordReader = Callable[[Record, str, Any, Text], tuple[int, ...]]


def read_human(row: Record, columns: Columns, parts: Sequence[Text]) -> Human | None:
    """All annotations of a row; None if there are none."""
    words = _gold(row, columns, parts)
    span_pairs = _span_pairs(row, columns.span_pairs, parts) if columns.span_pairs else None
    explanations = tuple(sentence for field in columns.explanations for sentence in _sentences(row, field))
    if words is None and span_pairs is None and not explanations:
        return None
    return Human(words, span_pairs, explanations, row.cells.get(RELATIONS, ()) if columns.span_pairs else ())


def _gold(row: Record, columns: Columns, parts: Sequence[Text]) -> tuple[tuple[int, ...], ...] | None:
    readings: tuple[tuple[tuple[str | None, ...], WordReader], ...] = (
        (columns.gold_words, _from_numbers),
        (columns.gold_mask, _from_mask),
        (columns.gold_spans, partial(_union, read=_words_between)),
        (columns.gold_chars, partial(_union, read=read_characters)),
    )
    for fields, read in readings:
        values = [None if field is None else _structured(row, field) for field in fields]
        if all(value is None for value in values):
            continue
        if len(fields) == 1 < len(parts) and fields[0] is not None:
            values = row.items(fields[0], values[0], "a list for each part")
            if len(values) != len(parts):
                message = f"expected a list for each of the {len(parts)} parts, got {describe(values)}"
                raise row.error(fields[0], message)
        cells = zip(fields * len(parts) if len(fields) < len(parts) else fields, values, parts, strict=True)
        return tuple(() if field is None else read(row, field, value, text) for field, value, text in cells)
    return None


def _from_numbers(row: Record, field: str, value: Any, text: Text) -> tuple[int, ...]:
    numbers = set()
    for item in row.items(field, value, "a list of word indices ([] if nothing is highlighted)"):
        number = row.whole_number(field, item, "a word index")
        if not 0 <= number < len(text.words):
            raise row.error(
                field, f"word index {number} is out of range for the {len(text.words)} words of the text (from 0)"
            )
        numbers.add(number)
    return tuple(sorted(numbers))


def _from_mask(row: Record, field: str, value: Any, text: Text) -> tuple[int, ...]:
    mask = row.items(field, value, "a list of 0 and 1")
    if len(mask) != len(text.words):
        raise row.error(
            field, f"expected one entry for each of the {len(text.words)} words of the text, got {len(mask)}"
        )
    if wrong := [item for item in mask if item not in (0, 1)]:
        raise row.error(field, f"expected 0 or 1, got {describe(wrong[0])}")
    return tuple(number for number, item in enumerate(mask) if item)


def _union(
    row: Record, field: str, value: Any, text: Text, read: Callable[[Record, str, Any, Text], range]
) -> tuple[int, ...]:
    marked: set[int] = set()
    for item in row.items(field, value, "a list of [start, end] ([] if nothing is highlighted)"):
        marked.update(read(row, field, item, text))
    return tuple(sorted(marked))


def _words_between(row: Record, field: str, value: Any, text: Text) -> range:
    start, end = _pair(row, field, value, "a word index")
    if not 0 <= start < end <= len(text.words):
        raise row.error(field, f"[{start}, {end}] is outside the {len(text.words)} words of the text")
    return range(start, end)


def read_characters(row: Record, field: str, value: Any, text: Text) -> range:
    """Indices of the words that overlap a pair [start, end] of character offsets; at least one."""
    start, end = read_offsets(row, field, value, text)
    hit = words_over(text, start, end)
    if start == end or not hit:
        raise row.error(field, f"[{start}, {end}] covers no word of the text")
    return hit


def read_offsets(row: Record, field: str, value: Any, text: Text) -> tuple[int, int]:
    """A pair [start, end] of character offsets into a text, end exclusive."""
    start, end = _pair(row, field, value, "a character offset")
    if not 0 <= start <= end <= len(text.raw):
        raise row.error(field, f"[{start}, {end}] is outside the {len(text.raw)} characters of the text")
    return start, end


def _pair(row: Record, field: str, value: Any, what: str) -> tuple[int, int]:
    pair = row.items(field, value, "a pair [start, end]")
    if len(pair) != 2:
        raise row.error(field, f"expected a pair [start, end], got {describe(pair)}")
    start, end = (row.whole_number(field, number, what) for number in pair)
    return start, end


def _span_pairs(row: Record, field: str, parts: Sequence[Text]) -> tuple[Unit, ...] | None:
    value = _structured(row, field)
    if value is None:
        return None
    pairs = []
    for item in row.items(field, value, "a list of span pairs"):
        pair = row.items(field, item, "a pair of spans")
        if len(pair) != 2:
            raise row.error(field, f"expected a pair of spans, got {describe(pair)}")
        pairs.append(tuple(read_span(row, field, span, parts) for span in pair))
    return tuple(pairs)


def read_span(row: Record, field: str, value: Any, parts: Sequence[Text]) -> Span:
    """A span [part, start, end] of words, end exclusive."""
    numbers = row.items(field, value, "a span [part, start, end]")
    if len(numbers) != 3:
        raise row.error(field, f"expected a span [part, start, end], got {describe(numbers)}")
    part, start, end = (row.whole_number(field, number, "a whole number in a span") for number in numbers)
    if not 0 <= part < len(parts):
        raise row.error(field, f"part {part} is out of range for {len(parts)} parts (from 0)")
    if not 0 <= start < end <= len(parts[part].words):
        raise row.error(field, f"[{start}, {end}] is outside the {len(parts[part].words)} words of part {part}")
    return Span(part, start, end)


def _sentences(row: Record, field: str) -> list[str]:
    value = row.cells.get(field)
    if value is None:
        return []
    given = value if isinstance(value, list) else [value]
    return [sentence for item in given if (sentence := row.text(field, item, "text or a list of texts"))]


def _structured(row: Record, field: str) -> Any:
    """A cell that holds a list, which may also be written as JSON text (CSV and TSV only have text)."""
    value = row.cells.get(field)
    if not isinstance(value, str):
        return value
    return parse_json(value, f"{row.where}: field {field!r}") if value.strip() else None
