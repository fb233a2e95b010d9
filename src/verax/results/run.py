"""A run that can be queried: its manifest, its rows as columns, and the studies that apply to it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from verax.registry import resolve
from verax.results.manifest import Manifest
from verax.results.study import Findings, studies
from verax.store.codec import unescape
from verax.store.read import RunTables, codes, strings
from verax.store.tables import TABLES, TableName
from verax.types import (
    Alignment,
    FloatArray,
    Highlight,
    Instance,
    IntArray,
    Nle,
    Prediction,
    Score,
    Skip,
    UserError,
)

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Labels:
    """A column of names as numbers.

    Args:
        names: each different name once, as first met.
        codes: index of the name of each row, -1 for none; shape [rows].
    """

    names: tuple[str, ...]
    codes: IntArray

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> Labels:
        """Encode a column of names; names that no row has are left out."""
        numbers, names = codes(column)
        used, first = np.unique(numbers, return_index=True)
        used = used[np.argsort(first)]
        used = used[used >= 0]
        place = np.full(len(names) + 1, -1, np.int32)
        place[used] = np.arange(len(used), dtype=np.int32)
        return cls(tuple(names[number] for number in used.tolist()), place[numbers])

    def code(self, name: str) -> int:
        """The number of a name; -2, which no row has, for an unknown one."""
        return self._index.get(name, -2)

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.names)}


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores of a run as columns of equal length.

    Args:
        instance, method, metric: whose score it is.
        reason: why there is no value.
        value: shape [rows], NaN where there is none.
    """

    instance: Labels
    method: Labels
    metric: Labels
    reason: Labels
    value: FloatArray
    _tables: RunTables

    @classmethod
    def of(cls, tables: RunTables) -> Scores:
        """Read the columns that every study needs; curves and series are read when they are asked for."""
        table = tables.table("scores", columns=("instance_id", "method", "metric", "reason", "value"))
        value = pc.fill_null(table["value"], float("nan")).to_numpy()
        names = (Labels.of(table[name]) for name in ("instance_id", "method", "metric", "reason"))
        instance, method, metric, reason = names
        return cls(instance, method, metric, reason, np.asarray(value, np.float64), tables)

    def __len__(self) -> int:
        return len(self.value)

    def where(self, *, metric: str | None = None, method: str | None = None) -> IntArray:
        """Indices of the rows of a metric, of a method, or of both, in the order of the run."""
        chosen = np.ones(len(self), bool)
        if metric is not None:
            chosen &= self.metric.codes == self.metric.code(metric)
        if method is not None:
            chosen &= self.method.codes == self.method.code(method)
        return np.flatnonzero(chosen)

    def methods_of(self, metric: str) -> list[str]:
        """The methods that have a row under a metric, as first met."""
        codes = self.method.codes[self.where(metric=metric)]
        return [self.method.names[code] for code in dict.fromkeys(codes.tolist())]

    def ids(self, rows: IntArray) -> list[str]:
        """The instance of each of these rows."""
        names = self.instance.names
        return [names[code] for code in self.instance.codes[rows].tolist()]

    def by_instance(self, metric: str, method: str) -> dict[str, float | None]:
        """The value of each instance that has a row, None where it has a reason instead."""
        rows = self.where(metric=metric, method=method)
        values = self.value[rows].tolist()
        return {one: None if math.isnan(value) else value for one, value in zip(self.ids(rows), values, strict=True)}

    def matrix(self, metric: str, methods: Sequence[str]) -> tuple[FloatArray, IntArray, list[str]]:
        """The values of a metric.

        Returns:
            Values, shape [instances, methods], NaN where there is none; how many rows of each method have a reason
            instead, shape [methods]; the instances, in the order of their first row.
        """
        rows = self.where(metric=metric)
        place = np.full(len(self.method.names) + 1, -1, np.int64)
        for number, method in enumerate(methods):
            code = self.method.code(method)
            if code >= 0:
                place[code] = number
        column = place[self.method.codes[rows]]
        rows, column = rows[column >= 0], column[column >= 0]
        codes, first, line = np.unique(self.instance.codes[rows], return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        taken = rank[line] * max(len(methods), 1) + column
        if len(np.unique(taken)) != len(taken):
            raise ValueError(f"two scores for one instance and method under {metric!r}")
        values = np.full((len(codes), len(methods)), np.nan)
        values[rank[line], column] = self.value[rows]
        skipped = np.bincount(column[np.isnan(self.value[rows])], minlength=len(methods))
        return values, skipped, [self.instance.names[code] for code in codes[order].tolist()]

    def reasons(self, metric: str, method: str) -> dict[str, int]:
        """How many rows have no value for which reason, the most frequent first."""
        codes = self.reason.codes[self.where(metric=metric, method=method)]
        counts = np.bincount(codes[codes >= 0], minlength=len(self.reason.names))
        return {
            self.reason.names[code]: int(counts[code]) for code in np.argsort(-counts, kind="stable") if counts[code]
        }

    def curves(self, rows: IntArray) -> list[tuple[float, ...] | None]:
        """The curve of each of these rows."""
        found = self._tables.table("scores", columns=("curve",))["curve"].take(pa.array(rows)).to_pylist()
        return [None if curve is None else tuple(curve) for curve in found]

    def series(self, rows: IntArray) -> Iterator[dict[str, tuple[float, ...]]]:
        """What was kept for each point of the curve of each of these rows, by name."""
        column = self._tables.table("scores", columns=("series",))["series"]
        for text in column.take(pa.array(rows)).to_pylist():
            yield {} if text is None else {unescape(name): tuple(values) for name, values in json.loads(text).items()}


@dataclass(frozen=True)
class Inputs:
    """The inputs of a run without their texts, each column in the order of the run.

    Args:
        ids: of the instances.
        labels: gold classes, None without one.
        langs: languages.
        parallel_ids: what translations of one input share, None without one.
    """

    ids: list[str]
    labels: list[str | None]
    langs: list[str]
    parallel_ids: list[str | None]

    def __len__(self) -> int:
        return len(self.ids)


class Run:
    """What a folder of results holds, as of when it was opened. Rows are read as columns, once."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self.tables = RunTables.open(self.folder)
        self.manifest, unreadable = Manifest.read(self.tables.card)
        self.problems: tuple[str, ...] = (*self.tables.problems, *unreadable)
        self._by_instance: dict[TableName, Labels] = {}
        self._results: dict[str, Any] = {}

    @property
    def name(self) -> str:
        """What was run on what."""
        return f"{self.manifest.model.name} on {self.manifest.data.name}"

    @cached_property
    def scores(self) -> Scores:
        """Every score of every explanation."""
        return Scores.of(self.tables)

    @cached_property
    def instances(self) -> Inputs:
        """Ids, labels, languages and parallel ids of the inputs."""
        table = self.tables.table("instances", columns=("id", "label", "lang", "parallel_id"))
        return Inputs(*(strings(table[name]) for name in table.column_names))

    @cached_property
    def parallel(self) -> dict[str, str]:
        """What translations of one input share, by the id of the instance."""
        pairs = zip(self.instances.ids, self.instances.parallel_ids, strict=True)
        return {one: shared for one, shared in pairs if shared is not None}

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """Labels of all methods, those of the manifest first."""
        met = [*Labels.of(self.tables.table("explanations", columns=("method",))["method"]).names]
        met += Labels.of(self.tables.table("texts", columns=("method",))["method"]).names
        return self.manifest.method_labels([*met, *self.scores.method.names])

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """Labels of all metrics, those of the manifest first."""
        return self.manifest.metric_labels(self.scores.metric.names)

    @cached_property
    def text_methods(self) -> tuple[str, ...]:
        """Labels of the methods that explain in free text."""
        written = Labels.of(self.tables.table("texts", columns=("method",))["method"]).names
        known = [entry.label for entry in self.manifest.methods if entry.kind == "text"]
        return tuple(dict.fromkeys([*known, *written]))

    def predictions(self, instances: Sequence[str] | None = None) -> list[Prediction]:
        """The model's answers to the inputs, to all of them or to some."""
        return self._rows("predictions", instances)

    def highlights(self, instances: Sequence[str] | None = None) -> list[Highlight]:
        """Explanations by scores, of all instances or of some."""
        reason = self.tables.table("explanations", columns=("reason",))["reason"]
        present = np.flatnonzero(pc.is_null(reason).to_numpy(zero_copy_only=False))
        return self._rows("explanations", instances, present)

    def skips(self, instances: Sequence[str] | None = None, rows: IntArray | None = None) -> list[Skip]:
        """Why some explanations are missing, of all instances or of some, or of given rows."""
        if rows is None:
            reason = self.tables.table("explanations", columns=("reason",))["reason"]
            rows = np.flatnonzero(pc.is_valid(reason).to_numpy(zero_copy_only=False))
        return self._rows("explanations", instances, rows)

    def skip_groups(self) -> dict[tuple[bool, str], IntArray]:
        """The rows of missing explanations: by whether they failed, and by reason."""
        table = self.tables.table("explanations", columns=("reason", "failed"))
        reasons = Labels.of(table["reason"])
        failed = np.asarray(pc.fill_null(table["failed"], False).to_numpy(), bool)
        groups = {
            (bad, reason): np.flatnonzero((reasons.codes == code) & (failed == bad))
            for code, reason in enumerate(reasons.names)
            for bad in (True, False)
        }
        return {group: rows for group, rows in groups.items() if len(rows)}

    def texts(self, instances: Sequence[str] | None = None) -> list[Nle]:
        """Explanations in free text, of all instances or of some."""
        return self._rows("texts", instances)

    def alignments(self, instances: Sequence[str] | None = None) -> list[Alignment]:
        """Word alignments of translations, of all instances or of some."""
        return self._rows("alignments", instances)

    def score_rows(self, instances: Sequence[str] | None = None, rows: IntArray | None = None) -> list[Score]:
        """Scores as objects, of all instances or of some, or of given rows: for what is displayed."""
        return self._rows("scores", instances, rows)

    def inputs(self, instances: Sequence[str] | None = None) -> list[Instance]:
        """The inputs with their texts, all of them or some."""
        if instances is None:
            return self.tables.rows("instances")
        chosen = set(instances)
        return self.tables.rows("instances", [i for i, one in enumerate(self.instances.ids) if one in chosen])

    def _rows(
        self, table: TableName, instances: Sequence[str] | None = None, rows: IntArray | None = None
    ) -> list[Any]:
        if instances is not None:
            found = self._of_instances(table, instances)
            rows = found if rows is None else np.intersect1d(found, rows)
        return self.tables.rows(table, rows)

    def _of_instances(self, table: TableName, instances: Sequence[str]) -> IntArray:
        """Numbers of the rows of some instances."""
        labels = self._instance_columns(table)
        wanted = [code for one in set(instances) if (code := labels.code(one)) >= 0]
        return np.flatnonzero(np.isin(labels.codes, wanted))

    def _instance_columns(self, table: TableName) -> Labels:
        if table not in self._by_instance:
            self._by_instance[table] = Labels.of(self.tables.table(table, columns=("instance_id",))["instance_id"])
        return self._by_instance[table]

    @staticmethod
    def notes(text: str | None) -> dict[str, Any]:
        """The notes of an explanation from their column."""
        return {} if text is None else dict(json.loads(unescape(text)))

    def study(self, name: str) -> Any:
        """The result of a study of this run, computed once; None where it does not apply."""
        if name not in self._results:
            self._results[name] = resolve("studies", name).analyse([self])
        return self._results[name]

    def findings(self, name: str | None = None) -> list[Findings]:
        """Tables, figures and sentences of one study, or of every study that applies."""
        chosen = studies() if name is None else [resolve("studies", name)]
        results = [(study, self.study(study.name)) for study in chosen]
        return [study.findings_of(result) for study, result in results if result is not None]

    def summary(self) -> pd.DataFrame:
        """The leaderboard as a data frame: a row for each method and metric."""
        import pandas as pd  # noqa: PLC0415 - half a second that only those pay who ask for a data frame

        result = self.study("leaderboard")
        return pd.DataFrame([] if result is None else result.records())

    def score_table(self) -> pd.DataFrame:
        """All scores as a data frame: a row for each instance, method and metric."""
        import pandas as pd  # noqa: PLC0415 - as above

        names = [name for name in TABLES["scores"].schema.names if name not in {"key", "position"}]
        table = self.tables.table("scores", columns=names)
        named = {name: pa.types.is_dictionary(table[name].type) for name in names}
        return pd.DataFrame(
            {
                # object: other types of strings refuse those that are not valid UTF-8
                name: pd.Series(_names(table[name]), dtype=object) if named[name] else table[name].to_pandas()
                for name in names
            }
        )

    def __repr__(self) -> str:
        made = self.tables.table("explanations", columns=("reason",))["reason"].null_count
        made += self.tables.table("texts", columns=("method",)).num_rows
        return f"Run({str(self.folder)!r}: {made} explanations, {len(self.scores)} scores)"


def _names(column: pa.ChunkedArray) -> list[str | None]:
    """The name in each row of a column, as it was before it was stored."""
    labels = Labels.of(column)
    return [None if code < 0 else labels.names[code] for code in labels.codes.tolist()]


def open_runs(folders: Sequence[Path | str]) -> list[Run]:
    """Open several runs; naming one folder twice is refused."""
    paths = [Path(folder) for folder in folders]
    resolved = [path.resolve() for path in paths]
    for path, real in zip(paths, resolved, strict=True):
        if resolved.count(real) > 1:
            raise UserError(f"{path} is named twice")
    return [Run(path) for path in paths]


def run_names(runs: Sequence[Run]) -> list[str]:
    """A short name for each run: its model, or its folder where models share a name."""
    models = [run.manifest.model.name for run in runs]
    return models if len(set(models)) == len(runs) else [str(run.folder) for run in runs]
