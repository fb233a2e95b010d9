"""SpanEx: JSONL with pairs of SNLI or FEVER and the spans of their two texts that annotators saw in relation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from verax.data import fever, snli
from verax.data.columns import Columns
from verax.data.formats import Format, has, with_cells
from verax.data.gold import read_stretch
from verax.data.rows import Row, describe
from verax.data.table import read_jsonl
from verax.data.text import split_words
from verax.types import Text

_PREMISE, _HYPOTHESIS, _LABEL, _RELATIONS = "premise", "hypothesis", "label", "relations"
_PAIRS, _GOLD = "span pairs", "words in pairs"
_FEVER_LABELS = {"supports": "SUPPORTS", "refutes": "REFUTES", "nei": "NOT ENOUGH INFO"}


def _is_spanex(cells: Mapping[str, Any], *, of_fever: bool) -> bool:
    there = has("id", _LABEL, _PREMISE, _HYPOTHESIS, _RELATIONS)(cells) and isinstance(cells[_RELATIONS], list)
    return there and (cells[_LABEL] in tuple(_FEVER_LABELS)) == of_fever


def _related(rows: Iterator[Row], parts: tuple[str, str], labels: Mapping[str, str]) -> Iterator[Row]:
    """Rows with the distinct pairs of spans in word numbers, and the words of each part that are in any of them."""
    for row in rows:
        texts = [split_words(row.text(part, row.cells.get(part))) for part in parts]
        relations = row.items(_RELATIONS, row.cells.get(_RELATIONS), "a list of relations")
        spans = [_spans(row, number, relation, parts, texts) for number, relation in enumerate(relations)]
        # annotators and levels often name the same two spans
        pairs = [[[part, *ends] for part, ends in enumerate(pair)] for pair in dict.fromkeys(spans)]
        gold = [sorted({word for pair in spans for word in range(*pair[part])}) for part in range(len(parts))]
        label = row.cells.get(_LABEL)
        named = labels.get(label, label) if isinstance(label, str) else label
        yield with_cells(row, **{_PAIRS: pairs, _GOLD: gold, _LABEL: named})


def _spans(
    row: Row, number: int, relation: Any, parts: tuple[str, str], texts: list[Text]
) -> tuple[tuple[int, int], ...]:
    """For each part the numbers of the first word of a span and of the one after its last."""
    field = f"{_RELATIONS}[{number}]"
    if not isinstance(relation, dict):
        raise row.error(field, f"expected an object, got {describe(relation)}")
    spans = []
    for part, text in zip(parts, texts, strict=True):
        offsets = [relation.get(f"start_{part}"), relation.get(f"end_{part}")]
        words = read_stretch(row, f"{field}.{part}", offsets, text)
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
# Order and names of the classes are those of FEVER, so that a model of FEVER can be measured: the claim comes first.
SPANEX_FEVER = _format((_HYPOTHESIS, _PREMISE), fever.LABELS, _FEVER_LABELS)
