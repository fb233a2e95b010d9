"""SpanEx: JSONL with pairs of SNLI or FEVER and annotated relations between spans of their two texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from verax.data import esnli, fever, snli
from verax.data.columns import Columns
from verax.data.formats import Companions, Format, has
from verax.data.gold import RELATIONS, read_characters
from verax.data.rows import Record, describe
from verax.data.table import read_csv, read_jsonl
from verax.data.text import split_words
from verax.types import Relation, Span, Text, Unit

_PREMISE, _HYPOTHESIS, _LABEL, _RELATIONS = "premise", "hypothesis", "label", "relations"
_PAIRS, _GOLD, _WHY = "span pairs", "gold words", "explanations"
_PUBLIC_ID, _ESNLI = "original_id", "row of e-SNLI"
_SYSTEM = "SYSTEM"
"""In the label of a relation that the annotation tool made."""
_FEVER_LABELS = {"supports": "SUPPORTS", "refutes": "REFUTES", "nei": "NOT ENOUGH INFO"}


def _is_spanex(cells: Mapping[str, Any], *, of_fever: bool) -> bool:
    has_fields = has("id", _LABEL, _PREMISE, _HYPOTHESIS, _RELATIONS)(cells) and isinstance(cells[_RELATIONS], list)
    return has_fields and (cells[_LABEL] in tuple(_FEVER_LABELS)) == of_fever


def _related(rows: Iterator[Record], parts: tuple[str, str], labels: Mapping[str, str]) -> Iterator[Record]:
    """Rows with the span pairs that annotators gave, in word indices, together and one by one; and the gold words.

    Gold words are those highlighted in e-SNLI, if it was joined, otherwise those in any pair.
    """
    for row in rows:
        texts = [split_words(row.text(part, row.cells.get(part))) for part in parts]
        given = row.items(_RELATIONS, row.cells.get(_RELATIONS), "a list of relations")
        relations = [
            Relation(spans, label, level, annotator)
            for number, relation in enumerate(given)
            for spans, level in [_spans(row, number, relation, parts, texts)]
            for label, annotator in _given_by(row, f"{_RELATIONS}[{number}]", relation)
        ]
        # several annotators and levels often give the same pair
        pairs = list(dict.fromkeys(relation.spans for relation in relations))
        gold, explanations = _highlights(row, texts)
        if gold is None:
            gold = [sorted({word for pair in pairs for word in range(*pair[part][1:])}) for part in range(len(parts))]
        label = row.cells.get(_LABEL)
        cells = {
            _PAIRS: [[list(span) for span in pair] for pair in pairs],
            _GOLD: gold,
            RELATIONS: tuple(relation for relation in relations if relation.annotator),
            _WHY: explanations,
            _LABEL: labels.get(label, label) if isinstance(label, str) else label,
        }
        yield row.with_cells(cells)


def _given_by(row: Record, field: str, relation: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Label and annotator of a relation, for each who gave it; those that the annotation tool itself made are left out.

    The tool linked words that are spelled alike before anybody saw them, and named these links Synonym-SYSTEM.
    """
    if "labels" not in relation and "annotators" not in relation:
        return [("", "")]
    names = row.items(f"{field}.labels", relation.get("labels"), "a list of labels")
    annotators = row.items(f"{field}.annotators", relation.get("annotators"), "a list of annotators")
    if len(names) != len(annotators):
        raise row.error(field, f"{len(names)} labels for {len(annotators)} annotators")
    pairs = [(row.text(f"{field}.labels", name), str(who)) for name, who in zip(names, annotators, strict=True)]
    return [(name, who) for name, who in pairs if _SYSTEM not in name]


def _highlights(row: Record, texts: Sequence[Text]) -> tuple[list[list[int]] | None, list[str]]:
    """Words highlighted in e-SNLI and its explanations, if the pair was found there."""
    annotated = row.cells.get(_ESNLI)
    if annotated is None:
        return None, []
    marked = [esnli.highlighted(annotated, name, text.raw) for name, text in zip(esnli.SENTENCES, texts, strict=True)]
    gold = None if marked == [None, None] else [sorted(words or ()) for words in marked]
    return gold, [why for why in esnli.explanations_of(annotated) if why]


def _esnli_files(path: Path) -> tuple[Path, ...]:
    """The dev and test files of e-SNLI in the same folder, or in a folder `esnli` next to it."""
    names = ("esnli_dev.csv", "esnli_test.csv")
    places = [folder / name for folder in (path.parent, path.parent.parent / "esnli") for name in names]
    return tuple(place for place in places if place.is_file())


def _joined(files: tuple[Path, ...], rows: Iterator[Record]) -> Iterator[Record]:
    """Rows with that of e-SNLI whose public id (`pairID`) is their `original_id`."""
    annotated = {row.name(esnli.PAIR_ID): row for file in files for row in read_csv(file)}
    for row in rows:
        found = annotated.get(row.name(_PUBLIC_ID))
        yield row if found is None else row.with_cells({_ESNLI: found})


def _spans(row: Record, number: int, relation: Any, parts: tuple[str, str], texts: list[Text]) -> tuple[Unit, str]:
    """The spans of a relation, one of each part, and its level."""
    field = f"{_RELATIONS}[{number}]"
    if not isinstance(relation, dict):
        raise row.error(field, f"expected an object, got {describe(relation)}")
    spans: list[Span] = []
    for part, text in zip(parts, texts, strict=True):
        offsets = [relation.get(f"start_{part}"), relation.get(f"end_{part}")]
        words = read_characters(row, f"{field}.{part}", offsets, text)
        spans.append(Span(len(spans), words.start, words.stop))
    return tuple(spans), str(relation.get("level") or "")


def _format(
    parts: tuple[str, str], names: tuple[str, ...], given: Mapping[str, str], companions: Companions | None = None
) -> Format:
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
            explanations=(_WHY,),
            maskable_part=(_PREMISE,),
            metric="macro_f1",
        ),
        labels=names,
        companions=companions,
    )


SPANEX_SNLI = _format((_PREMISE, _HYPOTHESIS), snli.LABELS, {}, Companions(_esnli_files, _joined))
# Order and names of classes and parts are those of FEVER, so that FEVER models can be evaluated.
SPANEX_FEVER = _format((_HYPOTHESIS, _PREMISE), fever.LABELS, _FEVER_LABELS)
