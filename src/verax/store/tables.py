"""Tables of a run and the dataclasses of their rows; a new field is a new column.

Columns are typed, so that pandas and pyarrow can read a run without verax.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from verax.store.codec import Plain, RowCodec, escape, row_codec, unescape
from verax.types import Alignment, Generated, Highlight, Instance, Nle, Prediction, Score, Skip

Row: TypeAlias = Instance | Prediction | Highlight | Nle | Skip | Score | Alignment | Generated
TableName: TypeAlias = Literal["instances", "predictions", "explanations", "scores", "texts", "answers", "alignments"]


@dataclass(frozen=True)
class RowTable:
    """A table of the rows of one or several dataclasses.

    Args:
        schema: `key`, `position` (in the order in which rows were appended), and the columns of all classes.
        strings: columns that hold strings, except keys and JSON.
        defaults: default values that are plain scalars, by column.
        blank: values of a row in the columns of other classes.
        marks: for each of several classes the column that is null in rows of the others.
    """

    schema: pa.Schema
    strings: tuple[str, ...]
    codecs: dict[type, RowCodec]
    defaults: Plain
    blank: Plain
    marks: dict[str, type]

    @classmethod
    def of(cls, *kinds: type) -> RowTable:
        """Derive the table of some dataclasses."""
        codecs = {kind: row_codec(kind) for kind in kinds}
        columns: dict[str, pa.DataType] = {"key": pa.string(), "position": pa.int64()}
        defaults: Plain = {}
        for codec in codecs.values():
            columns |= codec.columns
            defaults |= codec.defaults
        schema = pa.schema(list(columns.items()))
        strings = tuple(dict.fromkeys(name for codec in codecs.values() for name in codec.strings))
        if len(codecs) == 1:
            return cls(schema, strings, codecs, defaults, {}, {})
        shared = set.intersection(*(set(codec.columns) for codec in codecs.values()))
        marks = {next(name for name in codec.required if name not in shared): kind for kind, codec in codecs.items()}
        blank = dict.fromkeys(schema.names[2:]) | defaults
        return cls(schema, strings, codecs, defaults, blank, marks)

    def kind_of(self, row: Plain) -> type:
        """The class of a row."""
        return next((kind for mark, kind in self.marks.items() if row[mark] is not None), next(iter(self.codecs)))


COUNTED: tuple[TableName, ...] = ("predictions", "explanations", "texts", "scores")
"""Tables of what a run computes: their rows are counted, inputs and alignments are not."""
TABLES: dict[TableName, RowTable] = {
    "instances": RowTable.of(Instance),
    "predictions": RowTable.of(Prediction),
    "explanations": RowTable.of(Highlight, Skip),
    "scores": RowTable.of(Score),
    "texts": RowTable.of(Nle),
    "answers": RowTable.of(Generated),
    "alignments": RowTable.of(Alignment),
}


def encode(key: str, position: int, value: Row) -> tuple[TableName, Plain]:
    """The name of the table that a value belongs to, and its row there."""
    kind = type(value)
    for name, table in TABLES.items():
        if kind in table.codecs:
            return name, {"key": escape(key), "position": position, **table.blank, **table.codecs[kind].encode(value)}
    raise TypeError(f"a run cannot store a {kind.__name__}; its tables hold {', '.join(TABLES)}")


def decode(name: TableName, row: Plain) -> tuple[str, Any]:
    """The key and the value that `encode` was given."""
    table = TABLES[name]
    return unescape(row["key"]), table.codecs[table.kind_of(row)].decode(row)
