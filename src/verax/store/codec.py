"""Types to plain rows and back: a row is a dict of the columns in `schema.py`, in values that JSON and Arrow both hold.

What a column could not hold exactly (a number that is not finite, an integer beyond 64 bits) is refused here, before
anything is written.
"""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np

from verax.store.cards import read_card, write_card
from verax.store.escape import escape, unescape
from verax.store.schema import Table
from verax.types import (
    Alignment,
    Cost,
    Generated,
    Highlight,
    Human,
    Instance,
    Nle,
    Note,
    Prediction,
    Score,
    Skip,
    Span,
    Target,
    Text,
    Unit,
)

Row: TypeAlias = Instance | Prediction | Highlight | Nle | Skip | Score | Alignment | Generated
Plain: TypeAlias = dict[str, Any]


def encode(key: str, position: int, value: Row) -> tuple[Table, Plain]:
    """The table that a value belongs to and its row there."""
    if type(value) not in _WRITTEN:
        raise TypeError(f"a run holds no {type(value).__name__}")
    table, write = _WRITTEN[type(value)]
    return table, {"key": _text(key), "position": position, **write(value)}


def decode(table: Table, row: Plain) -> tuple[str, Row]:
    """The key and the value that `encode` was given."""
    return unescape(row["key"]), _READ[table](row)


def _instance(value: Instance) -> Plain:
    return {
        "id": _text(value.id),
        "parts": [
            {
                "raw": _text(part.raw),
                "words": [_text(word) for word in part.words],
                "offsets": [{"start": _integer(start), "end": _integer(end)} for start, end in part.offsets],
                "lang": _text(part.lang),
            }
            for part in value.parts
        ],
        "label": _maybe_text(value.label),
        "lang": _text(value.lang),
        "parallel_id": _maybe_text(value.parallel_id),
        "human": None if value.human is None else _human(value.human),
    }


def _to_instance(row: Plain) -> Instance:
    parts = tuple(
        Text(
            unescape(part["raw"]),
            tuple(unescape(word) for word in part["words"]),
            tuple((offset["start"], offset["end"]) for offset in part["offsets"]),
            unescape(part["lang"]),
        )
        for part in row["parts"]
    )
    return Instance(
        unescape(row["id"]),
        parts,
        _to_maybe_text(row["label"]),
        unescape(row["lang"]),
        _to_maybe_text(row["parallel_id"]),
        None if row["human"] is None else _to_human(row["human"]),
    )


def _human(value: Human) -> Plain:
    words, pairs = value.words, value.span_pairs
    return {
        "words": None if words is None else [[_integer(word) for word in part] for part in words],
        "span_pairs": None if pairs is None else _units(pairs),
        "explanations": [_text(text) for text in value.explanations],
    }


def _to_human(row: Plain) -> Human:
    words, pairs = row["words"], row["span_pairs"]
    return Human(
        None if words is None else tuple(tuple(part) for part in words),
        None if pairs is None else _to_units(pairs),
        tuple(unescape(text) for text in row["explanations"]),
    )


def _prediction(value: Prediction) -> Plain:
    return {
        "instance_id": _text(value.instance_id),
        "label": _text(value.label),
        "labels": [_text(label) for label in value.labels],
        "probabilities": _numbers("probabilities", value.probabilities),
        "cost": _cost(value.cost),
    }


def _to_prediction(row: Plain) -> Prediction:
    labels = tuple(unescape(label) for label in row["labels"])
    who = (unescape(row["instance_id"]), unescape(row["label"]), labels)
    return Prediction(*who, tuple(row["probabilities"]), Cost(**row["cost"]))


def _highlight(value: Highlight) -> Plain:
    return {
        "instance_id": _text(value.instance_id),
        "method": _text(value.method),
        "kind": _text(value.kind),
        "target_of": _text(value.target.of),
        "target_space": _text(value.target.space),
        "units": _units(value.units),
        "scores": _numbers("scores", value.scores),
        "cost": _cost(value.cost),
        "notes": _notes(value.notes),
        "reason": None,
        "detail": "",
        "failed": False,
    }


def _to_highlight(row: Plain) -> Highlight:
    return Highlight(
        unescape(row["instance_id"]),
        unescape(row["method"]),
        row["kind"],
        Target(unescape(row["target_of"]), row["target_space"]),
        _to_units(row["units"]),
        tuple(row["scores"]),
        Cost(**row["cost"]),
        json.loads(unescape(row["notes"])),
    )


def _skip(value: Skip) -> Plain:
    """A row of `explanations` whose columns of scores are empty; its reason tells it from a highlight."""
    empty = ("kind", "target_of", "target_space", "units", "scores", "cost", "notes")
    return {
        "instance_id": _text(value.instance_id),
        "method": _text(value.method),
        **dict.fromkeys(empty),
        "reason": _text(value.reason),
        "detail": _text(value.detail),
        "failed": bool(value.failed),
    }


def _to_skip(row: Plain) -> Skip:
    reason, detail = unescape(row["reason"]), unescape(row["detail"])
    return Skip(unescape(row["instance_id"]), unescape(row["method"]), reason, detail, row["failed"])


def _score(value: Score) -> Plain:
    return {
        "instance_id": _text(value.instance_id),
        "method": _text(value.method),
        "metric": _text(value.metric),
        "value": None if value.value is None else _number("value", value.value),
        "reason": _maybe_text(value.reason),
        "detail": _text(value.detail),
        "curve": None if value.curve is None else _numbers("curve", value.curve),
        "cost": _cost(value.cost),
        "series": _series(value.series),
        "card": None if value.trial_log is None else write_card(value.trial_log),
    }


def _nle(value: Nle) -> Plain:
    return {
        "instance_id": _text(value.instance_id),
        "method": _text(value.method),
        "target_of": _text(value.target.of),
        "target_space": _text(value.target.space),
        "text": _text(value.text),
        "label": _text(value.label),
        "labels": [_text(label) for label in value.labels],
        "probabilities": _numbers("probabilities", value.probabilities),
        "how": _text(value.label_source),
        "cost": _cost(value.cost),
        "notes": _notes(value.notes),
    }


def _to_nle(row: Plain) -> Nle:
    return Nle(
        unescape(row["instance_id"]),
        unescape(row["method"]),
        Target(unescape(row["target_of"]), row["target_space"]),
        unescape(row["text"]),
        unescape(row["label"]),
        tuple(unescape(label) for label in row["labels"]),
        tuple(row["probabilities"]),
        row["how"],
        Cost(**row["cost"]),
        json.loads(unescape(row["notes"])),
    )


def _to_score(row: Plain) -> Score:
    return Score(
        unescape(row["instance_id"]),
        unescape(row["method"]),
        unescape(row["metric"]),
        row["value"],
        _to_maybe_text(row["reason"]),
        unescape(row["detail"]),
        None if row["curve"] is None else tuple(row["curve"]),
        Cost(**row["cost"]),
        # rows of an earlier version have neither
        _to_series(row.get("series")),
        None if row.get("card") is None else read_card(row["card"]),
    )


def _generated(value: Generated) -> Plain:
    tokens = None if value.tokens is None else _integer(value.tokens)
    tops = [{"token": _text(token), "logprob": float(logprob)} for token, logprob in value.tops]
    return {"text": _text(value.text), "finish": _text(value.finish), "tokens": tokens, "tops": tops}


def _to_generated(row: Plain) -> Generated:
    tops = row.get("tops") or ()  # rows of an earlier version have none
    return Generated(
        unescape(row["text"]),
        row["finish"],
        row["tokens"],
        tuple((unescape(top["token"]), top["logprob"]) for top in tops),
    )


def _alignment(value: Alignment) -> Plain:
    return {
        "instance_id": _text(value.instance_id),
        "reference_id": _text(value.reference_id),
        "aligner": _text(value.aligner),
        "links": [{"reference": _integer(i), "translation": _integer(j)} for i, j in value.links],
        "reason": _maybe_text(value.reason),
        "detail": _text(value.detail),
    }


def _to_alignment(row: Plain) -> Alignment:
    links = tuple((link["reference"], link["translation"]) for link in row["links"])
    who = (unescape(row["instance_id"]), unescape(row["reference_id"]), unescape(row["aligner"]))
    return Alignment(*who, links, _to_maybe_text(row["reason"]), unescape(row["detail"]))


def _series(series: Mapping[str, Iterable[float]]) -> str | None:
    plain = {_text(name): _numbers(name, values) for name, values in series.items()}
    return json.dumps(plain, ensure_ascii=False, allow_nan=False) if plain else None


def _to_series(text: str | None) -> dict[str, tuple[float, ...]]:
    return {} if text is None else {unescape(name): tuple(values) for name, values in json.loads(text).items()}


def _cost(cost: Cost) -> Plain:
    return {
        "forward_asked": _integer(cost.forward_asked),
        "forward": _integer(cost.forward),
        "backward_asked": _integer(cost.backward_asked),
        "backward": _integer(cost.backward),
        "seconds": _number("seconds", cost.seconds),
    }


def _units(units: Iterable[Unit]) -> list[list[Plain]]:
    return [[{"part": _integer(p), "start": _integer(s), "end": _integer(e)} for p, s, e in unit] for unit in units]


def _to_units(rows: list[list[Plain]]) -> tuple[Unit, ...]:
    return tuple(tuple(Span(span["part"], span["start"], span["end"]) for span in unit) for unit in rows)


def _notes(notes: Mapping[str, Note]) -> str:
    plain: dict[Any, Any] = {
        name: note.item() if isinstance(note, np.generic) else note for name, note in notes.items()
    }
    for name, note in plain.items():
        if not isinstance(name, str) or not isinstance(note, str | int | float):
            raise TypeError(f"the note {name!r} must be a string, a number or true or false, not {note!r}")
    return escape(json.dumps(plain, ensure_ascii=False, allow_nan=False))


def _numbers(name: str, values: Iterable[float]) -> list[float]:
    return [_number(name, value) for value in values]


def _number(name: str, value: float) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{name} must hold finite numbers, not {number}")
    return number


def _integer(value: int) -> int:
    number = operator.index(value)
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"{number} does not fit into 64 bits")
    return number


def _text(value: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a string is wanted here, not {value!r}")
    return escape(value)


def _maybe_text(value: str | None) -> str | None:
    return None if value is None else _text(value)


def _to_maybe_text(value: str | None) -> str | None:
    return None if value is None else unescape(value)


_WRITTEN: dict[type, tuple[Table, Callable[[Any], Plain]]] = {
    Instance: ("instances", _instance),
    Prediction: ("predictions", _prediction),
    Highlight: ("explanations", _highlight),
    Skip: ("explanations", _skip),
    Score: ("scores", _score),
    Nle: ("texts", _nle),
    Generated: ("answers", _generated),
    Alignment: ("alignments", _alignment),
}
_READ: dict[Table, Callable[[Plain], Row]] = {
    "instances": _to_instance,
    "predictions": _to_prediction,
    "explanations": lambda row: _to_highlight(row) if row["reason"] is None else _to_skip(row),
    "scores": _to_score,
    "texts": _to_nle,
    "answers": _to_generated,
    "alignments": _to_alignment,
}
