"""A run that can be queried: its manifest, its rows as columns, and the studies that apply to it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from verax.registry import resolve
from verax.results.manifest import Manifest, UntilDecided
from verax.results.render.numbers import estimate, plural
from verax.results.study import Findings, studies
from verax.stats.intervals import of_sums, share
from verax.stats.performance import counted, performance
from verax.store.codec import unescape
from verax.store.read import RunTables, codes, strings
from verax.store.tables import TABLES, TableName
from verax.types import (
    FAILED,
    PREDICTION,
    Alignment,
    Estimate,
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

T = TypeVar("T")
Status = Literal["finished", "unfinished", "finished with failures"]
UNFINISHED = 3
"""Exit code of a run that is not finished."""


@dataclass(frozen=True, eq=False)
class Labels:
    """A column of names as numbers.

    Args:
        names: each different name once, in the order of first occurrence.
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
    """The scores of a run as columns of equal length (`value`: shape [rows], NaN where there is none)."""

    instance: Labels
    method: Labels
    metric: Labels
    reason: Labels
    value: FloatArray
    _tables: RunTables

    @classmethod
    def of(cls, tables: RunTables) -> Scores:
        """Read the columns that every study needs; curves and series are read on request."""
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
        """The methods that have a row of a metric, in the order of first occurrence."""
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
        return {name: None if math.isnan(value) else value for name, value in zip(self.ids(rows), values, strict=True)}

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
        """Number of rows without a value by reason, the most frequent first."""
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
        """The series of each of these rows, by name."""
        column = self._tables.table("scores", columns=("series",))["series"]
        for text in column.take(pa.array(rows)).to_pylist():
            yield {} if text is None else {unescape(name): tuple(values) for name, values in json.loads(text).items()}


@dataclass(frozen=True)
class Inputs:
    """The inputs of a run without their texts, each column in the order of the run; labels are the gold classes."""

    ids: list[str]
    labels: list[str | None]
    langs: list[str]
    parallel_ids: list[str | None]

    def __len__(self) -> int:
        return len(self.ids)


class Run:
    """The results in a folder, as of when it was opened. Rows are read as columns, once."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self.tables = RunTables.open(self.folder)
        self.manifest, unreadable = Manifest.read(self.tables.card)
        self.problems: tuple[str, ...] = (*self.tables.problems, *unreadable)
        if self._undecided and not self.tables.missing:
            outcome = self._undecided.outcome
            self.problems = (f"the run is {outcome}; start the same command again to continue it", *self.problems)
        self._labels: dict[tuple[TableName, str], Labels] = {}
        self._results: dict[Hashable, Any] = {}

    @property
    def name(self) -> str:
        """The model and its data."""
        return f"{self.manifest.model.name} on {self.manifest.data.name}"

    @cached_property
    def failed(self) -> int:
        """Number of explanations and scores that failed."""
        reasons = [self.tables.table(name, ["reason"])["reason"] for name in ("explanations", "scores")]
        return sum(pc.sum(pc.equal(reason, FAILED)).as_py() or 0 for reason in reasons)

    @property
    def status(self) -> Status:
        """Whether all planned rows are stored in intact files, and none of them failed.

        A run until decided that is neither decided nor at its last input is not finished.
        """
        if self.tables.problems or self._undecided:
            return "unfinished"
        return "finished with failures" if self.failed else "finished"

    @property
    def _undecided(self) -> UntilDecided | None:
        """The sequential test, if the run has not stopped yet."""
        test = self.manifest.until_decided
        return None if test is None or test.finished else test

    @property
    def notices(self) -> tuple[str, ...]:
        """How the run was stopped by its results, if it was, and which numbers are valid in spite of that."""
        test = self.manifest.until_decided
        if test is None:
            return ()
        goals = {"random": "every method is decided against random", "best": "it is decided which method is best"}
        return (
            f"Run in random order until {goals.get(test.goal, test.goal)}: {test.standing(self.manifest.display)}.",
            "The p-values, letters and marks of rankings come from a sequential test, which is valid whenever a run "
            "stops. Intervals and all other statistics are computed as if the number of inputs had been fixed.",
        )

    @property
    def exit_code(self) -> int:
        """Exit code of a command that shows the run: 0, 1 after failures, 3 if it is not finished."""
        return UNFINISHED if self.status == "unfinished" else int(self.failed > 0)

    @property
    def status_line(self) -> str:
        """The status with the number of rows that are missing or failed."""
        missing = self.tables.missing
        numbers = [self.tables.progress] if missing else []
        numbers += ["a file is damaged"] if len(self.tables.problems) > bool(missing) else []
        numbers += [f"{self.failed} rows failed"] if self.failed else []
        numbers += [self.manifest.until_decided.outcome] if self.manifest.until_decided is not None else []
        return f"{self.status} ({', '.join(numbers)})" if numbers else self.status

    @property
    def headline(self) -> str:
        """The status, what was run on what, how much of it, and how accurate the model is."""
        data = self.manifest.data
        split = f" ({data.split})" if data.split else ""
        sizes = ((self.instances, "instance"), (self.methods, "method"), (self.metrics, "metric"))
        counts = ", ".join(plural(len(items), noun) for items, noun in sizes)
        accuracy = f"; accuracy of the model {self.accuracy_in_words}" if self.accuracies else ""
        what = f"{self.manifest.model.name} on {data.name}{split}: {counts}{accuracy}"
        return f"{self.status_line.capitalize()}: {what}"

    @property
    def accuracy_in_words(self) -> str:
        """The accuracy with its interval; of each method that explains in free text, if there are several."""
        several = len(self.accuracies) > 1
        shown = [
            estimate(value) + (f" ({self.manifest.display(method)})" if several else "")
            for method, value in self.accuracies.items()
        ]
        return ", ".join(shown)

    @cached_property
    def accuracies(self) -> dict[str, Estimate]:
        """Share of predictions that are the gold class, of the instances that have one.

        Under the empty name those of the classifier; of a model that answers in free text, those of each method, where
        an instance without an answer counts as wrong unless something failed. Classes are compared without regard to
        case. Inputs whose class the model does not have are left out.
        """
        table = self.tables.table("predictions", columns=("instance_id", "label"))
        columns: dict[str, dict[str, str | None]] = {
            "": dict(zip(strings(table["instance_id"]), strings(table["label"]), strict=True))
        }
        if not columns[""]:
            failed = self.scores.reason.codes == self.scores.reason.code(FAILED)
            for method in self.text_methods:
                rows = self.scores.where(method=method)
                columns[method] = dict.fromkeys(self.scores.ids(rows[~failed[rows]]))
            texts = self.tables.table("texts", columns=("instance_id", "method", "label"))
            for instance, method, label in zip(*(strings(texts[name]) for name in texts.column_names), strict=True):
                columns[method][instance] = label
        pairs = {method: self._gold_and(predicted) for method, predicted in columns.items()}
        return {
            method: value
            for method, several in pairs.items()
            if (value := share(sum(gold == answer for gold, answer in several), len(several))) is not None
        }

    @property
    def accuracy(self) -> Estimate | None:
        """The accuracy of the classifier; None without predictions of inputs that have a class."""
        return self.accuracies.get("")

    @cached_property
    def macro_f1(self) -> Estimate | None:
        """Macro F1 of the classifier's predictions, over the same instances as the accuracy."""
        table = self.tables.table("predictions", columns=("instance_id", "label"))
        answered = self._gold_and(dict(zip(strings(table["instance_id"]), strings(table["label"]), strict=True)))
        if not answered:
            return None
        classes = sorted({label for pair in answered for label in pair})
        gold, answers = np.array([[classes.index(label) for label in pair] for pair in answered]).T
        counts = counted(gold, answers[:, None], len(classes)).reshape(len(gold), -1).astype(np.float64)
        shape = (3, len(classes))
        return of_sums(counts, lambda sums: performance(sums.reshape(*sums.shape[:-1], *shape), "macro_f1"))

    def _gold_and(self, predicted: Mapping[str, str | None]) -> list[tuple[str, str]]:
        """Gold class and prediction, in lower case, of the instances that have both; empty if there is no answer."""
        classes = {label.casefold() for label in self.manifest.model.labels}
        return [
            (label.casefold(), (predicted[instance] or "").casefold())
            for instance, label in zip(self.instances.ids, self.instances.labels, strict=True)
            if label is not None and instance in predicted and (not classes or label.casefold() in classes)
        ]

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
        """Parallel ids, which translations of one input share, by instance."""
        pairs = zip(self.instances.ids, self.instances.parallel_ids, strict=True)
        return {name: shared for name, shared in pairs if shared is not None}

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """Labels of all methods, those of the manifest first."""
        explained = [*self.labels("explanations", "method").names, *self.labels("texts", "method").names]
        labels = self.manifest.method_labels([*explained, *self.scores.method.names])
        return tuple(label for label in labels if label != PREDICTION)

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """Labels of all metrics, those of the manifest first."""
        return self.manifest.metric_labels(self.scores.metric.names)

    @cached_property
    def text_methods(self) -> tuple[str, ...]:
        """Labels of the methods that explain in free text."""
        known = [entry.label for entry in self.manifest.methods if entry.kind == "text"]
        return tuple(dict.fromkeys([*known, *self.labels("texts", "method").names]))

    def labels(self, table: TableName, column: str) -> Labels:
        """A column of names, encoded once."""
        if (table, column) not in self._labels:
            self._labels[table, column] = Labels.of(self.tables.table(table, columns=(column,))[column])
        return self._labels[table, column]

    def predictions(self, instances: Sequence[str] | None = None) -> list[Prediction]:
        """Predictions for all instances or for some."""
        return self._rows("predictions", instances)

    def highlights(self, instances: Sequence[str] | None = None) -> list[Highlight]:
        """Explanations by scores, of all instances or of some."""
        return self._rows("explanations", instances, np.flatnonzero(self.labels("explanations", "reason").codes < 0))

    def skips(self, instances: Sequence[str] | None = None, rows: IntArray | None = None) -> list[Skip]:
        """Missing explanations, of all instances or of some, or of given rows."""
        if rows is None:
            rows = np.flatnonzero(self.labels("explanations", "reason").codes >= 0)
        return self._rows("explanations", instances, rows)

    def skip_groups(self) -> dict[tuple[bool, str], IntArray]:
        """Rows of missing explanations, by whether they failed and by reason."""
        reasons = self.labels("explanations", "reason")
        column = self.tables.table("explanations", columns=("failed",))["failed"]
        failed = np.asarray(pc.fill_null(column, False).to_numpy(), bool)
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
        """Scores as objects, for display: of all instances or of some, or of given rows."""
        return self._rows("scores", instances, rows)

    def inputs(self, instances: Sequence[str] | None = None) -> list[Instance]:
        """The inputs with their texts, all of them or some."""
        if instances is None:
            return self.tables.rows("instances")
        chosen = set(instances)
        return self.tables.rows("instances", [i for i, name in enumerate(self.instances.ids) if name in chosen])

    def _rows(
        self, table: TableName, instances: Sequence[str] | None = None, rows: IntArray | None = None
    ) -> list[Any]:
        """Rows of a table, of some instances if they are given, and of some numbers if they are given."""
        if instances is not None:
            labels = self.labels(table, "instance_id")
            wanted = [code for name in set(instances) if (code := labels.code(name)) >= 0]
            found = np.flatnonzero(np.isin(labels.codes, wanted))
            rows = found if rows is None else np.intersect1d(found, rows)
        return self.tables.rows(table, rows)

    @staticmethod
    def notes(text: str | None) -> dict[str, Any]:
        """The notes of an explanation from their column."""
        return {} if text is None else dict(json.loads(unescape(text)))

    def cached(self, key: Hashable, compute: Callable[[], T]) -> T:
        """A result of this run that several studies share, computed once."""
        if key not in self._results:
            self._results[key] = compute()
        return cast(T, self._results[key])

    def study(self, name: str) -> Any:
        """The result of a study of this run, computed once; None where it does not apply."""
        return self.cached(("study", name), lambda: resolve("studies", name).analyse([self]))

    def findings(self, name: str | None = None) -> list[Findings]:
        """Tables, figures and sentences of one study, or of every study that applies."""
        chosen = studies([self]) if name is None else [resolve("studies", name)]
        results = [(study, self.study(study.name)) for study in chosen]
        return [study.findings_of(result) for study, result in results if result is not None]

    def summary(self) -> pd.DataFrame:
        """The leaderboard as a data frame: a row for each method and metric."""
        import pandas as pd  # noqa: PLC0415 - it takes half a second

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
                # object: other types of strings reject invalid UTF-8
                name: pd.Series(strings(table[name]), dtype=object) if named[name] else table[name].to_pandas()
                for name in names
            }
        )

    def __repr__(self) -> str:
        made = int((self.labels("explanations", "reason").codes < 0).sum()) + self.tables.counts()["texts"]
        return f"Run({str(self.folder)!r}: {made} explanations, {len(self.scores)} scores)"


def open_runs(folders: Sequence[Path | str]) -> list[Run]:
    """Open several runs; a folder that is named twice is rejected."""
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
