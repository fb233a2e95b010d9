"""The explanations, scores and results of a run as a folder that is a dataset of the Hugging Face hub."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from verax.exports.card import card_text
from verax.exports.private import find_secrets, without_folders
from verax.exports.word_scores import contents, scores_by_part
from verax.report.arcs import span_texts
from verax.report.content import Content
from verax.results.render.markup import visible
from verax.results.render.parquet import arrow_table
from verax.results.run import Run
from verax.types import Highlight, Instance, Nle, UserError

_TEXTS = pa.list_(pa.string())
_SPAN = pa.struct({"part": pa.int32(), "start": pa.int32(), "end": pa.int32()})
_PAIR = pa.struct({"first": _SPAN, "second": _SPAN, "words": _TEXTS, "score": pa.float64()})
_MISSING = {"reason": pa.string(), "detail": pa.string()}
EXPLANATIONS = pa.schema(
    {
        "id": pa.string(),
        "method": pa.string(),
        "kind": pa.string(),
        "target": pa.string(),
        "texts": _TEXTS,
        "words": pa.list_(_TEXTS),
        "lang": pa.string(),
        "label": pa.string(),
        "prediction": pa.string(),
        "probabilities": pa.list_(pa.struct({"label": pa.string(), "probability": pa.float64()})),
        "scores": pa.list_(pa.list_(pa.float64())),
        "pairs": pa.list_(_PAIR),
        "explanation": pa.string(),
        "notes": pa.string(),
        **_MISSING,
    }
)
SCORES = pa.schema({"id": pa.string(), "method": pa.string(), "metric": pa.string(), "value": pa.float64(), **_MISSING})
Row = dict[str, Any]


def write_dataset(run: Run, folder: Path, repository: str, *, licence: str | None = None) -> list[Path]:
    """Write a dataset and its card into a new or empty folder.

    Texts of the inputs are written as they are. Everywhere else the folders of this machine are removed. Values of
    environment variables for keys are rejected.

    Args:
        repository: where it is going to be uploaded, for the card.
        licence: identifier of the hub, such as `apache-2.0`; `unknown` by default.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder} is not an empty folder; name a new one")
    data = folder / "data"
    data.mkdir(parents=True, exist_ok=True)
    files = {name: data / f"{name}.parquet" for name in ("explanations", "scores", "results")}
    _write_rows(files["explanations"], EXPLANATIONS, run, _explanations)
    _write_rows(files["scores"], SCORES, run, _scores)
    pq.write_table(_results(run), files["results"])
    card = folder / "README.md"
    card.write_text(without_folders(card_text(run, repository, licence)), "utf-8")
    written = [card, *files.values()]
    find_secrets(written)
    return written


def _write_rows(file: Path, schema: pa.Schema, run: Run, rows: Callable[[Content], Iterator[Row]]) -> None:
    """Write the rows of some instances at a time."""
    with pq.ParquetWriter(file, schema) as writer:
        for content in contents(run):
            writer.write_table(pa.Table.from_pylist(list(rows(content)), schema=schema))


def _results(run: Run) -> pa.Table:
    """All tables of all studies, as `verax show --format parquet` writes them."""
    table = arrow_table([table for findings in run.findings() for table in findings.all_tables])
    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            public = [None if value is None else without_folders(value) for value in table[field.name].to_pylist()]
            table = table.set_column(place, field, pa.array(public, pa.string()))
    return table


def _explanations(content: Content) -> Iterator[Row]:
    """A row for each input and method, also where there is no explanation."""
    for instance in content.instances:
        texts: Row = {
            "id": visible(instance.id),
            "texts": [visible(part.raw) for part in instance.parts],
            "words": [[visible(word) for word in part.words] for part in instance.parts],
            "lang": visible(instance.lang),
            "label": None if instance.label is None else visible(instance.label),
        }
        prediction = content.predictions.get(instance.id)
        if prediction is not None:
            texts |= _answer(prediction.label, prediction.labels, prediction.probabilities)
        for method in content.run.methods:
            row = content.highlights.get((instance.id, method)) or content.texts.get((instance.id, method))
            if row is not None:
                made = _scored(row, instance) if isinstance(row, Highlight) else _written(row)
                yield {**texts, **made, **_public(method=method, target=str(row.target), notes=_notes(row.notes))}
        for skip in content.skips.get(instance.id, ()):
            yield {**texts, "kind": content.manifest.method(skip.method).kind, **_why(skip.method, skip)}


def _scored(row: Highlight, instance: Instance) -> Row:
    if row.kind == "token":
        return {"kind": row.kind, "scores": scores_by_part(row, instance, missing=None)}
    pairs = [
        {
            "first": unit[0]._asdict(),
            "second": unit[1]._asdict(),
            "words": [visible(text) for text in span_texts(unit, instance)],
            "score": score,
        }
        for unit, score in zip(row.units, row.scores, strict=True)
    ]
    return {"kind": row.kind, "pairs": pairs}


def _written(row: Nle) -> Row:
    return {"kind": "text", "explanation": visible(row.text), **_answer(row.label, row.labels, row.probabilities)}


def _answer(label: str, labels: tuple[str, ...], probabilities: tuple[float, ...]) -> Row:
    of_labels = zip(labels, probabilities, strict=False)
    return {
        "prediction": visible(label),
        "probabilities": [{"label": visible(name), "probability": probability} for name, probability in of_labels],
    }


def _notes(notes: Mapping[str, Any]) -> str | None:
    return json.dumps(dict(notes), ensure_ascii=True) if notes else None


def _scores(content: Content) -> Iterator[Row]:
    """A row for each input, method and metric, with a value or a reason."""
    for instance in content.instances:
        for score in content.scores.get(instance.id, ()):
            row = _public(method=score.method, metric=score.metric)
            why = {} if score.value is not None else _why(score.method, score)
            yield {"id": visible(instance.id), "value": score.value, **row, **why}


def _why(method: str, missing: Any) -> Row:
    return _public(method=method, reason=missing.reason, detail=missing.detail or None)


def _public(**fields: str | None) -> Row:
    """Names and messages, without what must not be published."""
    return {name: None if value is None else visible(without_folders(value)) for name, value in fields.items()}
