"""The columns of the tables: typed, so that pandas and pyarrow read a run without verax."""

from __future__ import annotations

from typing import Literal, get_args

import pyarrow as pa

Table = Literal["instances", "predictions", "explanations", "scores", "texts", "answers", "alignments"]
TABLES: tuple[Table, ...] = get_args(Table)

_SPAN = pa.struct([("part", pa.int64()), ("start", pa.int64()), ("end", pa.int64())])
_UNITS = pa.list_(pa.list_(_SPAN))
_COST = pa.struct(
    [
        ("forward_asked", pa.int64()),
        ("forward", pa.int64()),
        ("backward_asked", pa.int64()),
        ("backward", pa.int64()),
        ("seconds", pa.float64()),
    ]
)
_TEXT = pa.struct(
    [
        ("raw", pa.string()),
        ("words", pa.list_(pa.string())),
        ("offsets", pa.list_(pa.struct([("start", pa.int64()), ("end", pa.int64())]))),
        ("lang", pa.string()),
    ]
)
_HUMAN = pa.struct(
    [
        ("words", pa.list_(pa.list_(pa.int64()))),
        ("span_pairs", _UNITS),
        ("explanations", pa.list_(pa.string())),
    ]
)
# `position` counts all rows of a run in the order in which they were appended.
_ROW = [("key", pa.string()), ("position", pa.int64())]

SCHEMAS: dict[Table, pa.Schema] = {
    "instances": pa.schema(
        [
            *_ROW,
            ("id", pa.string()),
            ("parts", pa.list_(_TEXT)),
            ("label", pa.string()),
            ("lang", pa.string()),
            ("parallel_id", pa.string()),
            ("human", _HUMAN),
        ]
    ),
    "predictions": pa.schema(
        [
            *_ROW,
            ("instance_id", pa.string()),
            ("label", pa.string()),
            ("labels", pa.list_(pa.string())),
            ("probabilities", pa.list_(pa.float64())),
            ("cost", _COST),
        ]
    ),
    "explanations": pa.schema(
        [
            *_ROW,
            ("instance_id", pa.string()),
            ("method", pa.string()),
            ("kind", pa.string()),
            ("target_of", pa.string()),
            ("target_space", pa.string()),
            ("units", _UNITS),
            ("scores", pa.list_(pa.float64())),
            ("cost", _COST),
            ("notes", pa.string()),
            ("reason", pa.string()),
            ("detail", pa.string()),
            ("failed", pa.bool_()),
        ]
    ),
    "scores": pa.schema(
        [
            *_ROW,
            ("instance_id", pa.string()),
            ("method", pa.string()),
            ("metric", pa.string()),
            ("value", pa.float64()),
            ("reason", pa.string()),
            ("detail", pa.string()),
            ("curve", pa.list_(pa.float64())),
            ("cost", _COST),
            ("series", pa.string()),
            ("card", pa.string()),
        ]
    ),
    "texts": pa.schema(
        [
            *_ROW,
            ("instance_id", pa.string()),
            ("method", pa.string()),
            ("target_of", pa.string()),
            ("target_space", pa.string()),
            ("text", pa.string()),
            ("label", pa.string()),
            ("labels", pa.list_(pa.string())),
            ("probabilities", pa.list_(pa.float64())),
            ("how", pa.string()),
            ("cost", _COST),
            ("notes", pa.string()),
        ]
    ),
    "answers": pa.schema(
        [
            *_ROW,
            ("text", pa.string()),
            ("finish", pa.string()),
            ("tokens", pa.int64()),
            ("tops", pa.list_(pa.struct([("token", pa.string()), ("logprob", pa.float64())]))),
        ]
    ),
    "alignments": pa.schema(
        [
            *_ROW,
            ("instance_id", pa.string()),
            ("reference_id", pa.string()),
            ("aligner", pa.string()),
            ("links", pa.list_(pa.struct([("reference", pa.int64()), ("translation", pa.int64())]))),
            ("reason", pa.string()),
            ("detail", pa.string()),
        ]
    ),
}
