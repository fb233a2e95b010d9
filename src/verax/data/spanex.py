"""SpanEx: JSONL with pairs of SNLI or FEVER and annotated relations between spans of their two texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from verax.data import fever, snli
from verax.data.columns import Columns
from verax.data.formats import Format, has, with_cells
from verax.data.gold import read_characters
from verax.data.rows import Record, describe
from verax.data.table import read_jsonl
from verax.data.text import split_words
from verax.types import Text

_PREMISE, _HYPOTHESIS, _LABEL, _RELATIONS = "premise", "hypothesis", "label", "relations"
_PAIRS, _GOLD = "span pairs", "words in pairs"
_FEVER_LABELS = {"supports": "SUPPORTS", "refutes": "REFUTES", "nei": "NOT ENOUGH INFO"}


def _is_spanex(cells: Mapping[str, Any], *, of_fever: bool) -> bool:
    has_fields = has("id", _LABEL, _PREMISE, _HYPOTHESIS, _RELATIONS)(cells) and isinstance(cells[_RELATIONS], list)
    return has_fields and (cells[_LABEL] in tuple(_FEVER_LABELS)) == of_fever


def _related(rows: Iterator[Record], parts: tuple[str, str], labels: Mapping[str, str]) -> Iterator[Record]:
    """Rows with the distinct span pairs in word indices, and the words of each part that are in any of them."""
    for row in rows:
        texts = [split_words(row.text(part, row.cells.get(part))) for part in parts]
        relations = row.items(_RELATIONS, row.cells.get(_RELATIONS), "a list of relations")
        spans = [_spans(row, number, relation, parts, texts) for number, relation in enumerate(relations)]
        # several annotators and levels often give the same pair
        pairs = [[[part, *ends] for part, ends in enumerate(pair)] for pair in dict.fromkeys(spans)]
        gold = [sorted({word for pair in spans for word in range(*pair[part])}) for part in range(len(parts))]
        label = row.cells.get(_LABEL)
        named = labels.get(label, label) if isinstance(label, str) else label
        yield with_cells(row, **{_PAIRS: pairs, _GOLD: gold, _LABEL: named})


def _spans(
    row: Record, number: int, relation: Any, parts: tuple[str, str], texts: list[Text]
) -> tuple[tuple[int, int], ...]:
    """The span of a relation in each part, as word indices (start, end), end exclusive."""
    field = f"{_RELATIONS}[{number}]"
    if not isinstance(relation, dict):
        raise row.error(field, f"expected an object, got {describe(relation)}")
    spans = []
    for part, text in zip(parts, texts, strict=True):
        offsets = [relation.get(f"start_{part}"), relation.get(f"end_{part}")]
        words = read_characters(row, f"{field}.{part}", offsets, text)
        spans.append((words.start, words.stop))
    return tuple(spans)


def _format(parts: tuple[str, str], names: tuple[str, ...], given: Mapping[str, str]) -> Format:
    return Format(
        name="SpanEx",
        readers={".jsonl": read_jsonl},
        fits=partial(_is_spanex, of_fever=bool(given)),
        convert=partial(_related, parts=parts, labels=given),
        columns=Columns(
            parts=parts,
            label=_LABEL,
            id="id",
            gold_words=(_GOLD,),
            span_pairs=_PAIRS,
            maskable_part=(_PREMISE,),
            metric="macro_f1",
        ),
        labels=names,
    )


SPANEX_SNLI = _format((_PREMISE, _HYPOTHESIS), snli.LABELS, {})
# Order and names of classes and parts are those of FEVER, so that FEVER models can be evaluated.
SPANEX_FEVER = _format((_HYPOTHESIS, _PREMISE), fever.LABELS, _FEVER_LABELS)
