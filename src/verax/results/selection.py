"""Instances of a run chosen by what they contain and how they were explained, from columns alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.stats import rankdata

from verax.results.run import Labels, Run
from verax.store.codec import escape, unescape
from verax.store.tables import TableName
from verax.types import BoolArray, FloatArray, IntArray

Order = Literal["run", "disagreement", "gap"]


@dataclass(frozen=True)
class Query:
    """What instances must have.

    Args:
        text: part of a text or of the id, in any case.
        label: gold or predicted class.
        wrong: only wrong predictions.
        skipped: only instances that a method did not explain.
        order: that of the run; or the largest disagreement between methods, or gap between metrics, first.
    """

    text: str = ""
    label: str = ""
    wrong: bool = False
    skipped: bool = False
    order: Order = "run"


class InstanceIndex:
    """The instances of a run by number, in the order of the run. Columns are computed at first use."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.ids = run.instances.ids

    def __len__(self) -> int:
        return len(self.ids)

    def select(self, query: Query) -> IntArray:
        """Numbers of the instances that fit, in the order asked for."""
        fits = np.ones(len(self), bool)
        if query.text.strip():
            fits &= self._containing(query.text.strip())
        if query.label:
            fits &= self._labelled(query.label)
        if query.wrong:
            fits &= self.wrong
        if query.skipped:
            fits &= self.skipped
        if query.order == "run":
            return np.flatnonzero(fits)
        values = self.disagreement if query.order == "disagreement" else self.gap
        chosen = np.flatnonzero(fits & ~np.isnan(values))
        return chosen[np.argsort(-values[chosen], kind="stable")]

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Gold and predicted classes."""
        found = {label for label in self.run.instances.labels if label is not None}
        return tuple(sorted(found.union(*(labels.names for _, labels in self._predicted.values()))))

    @cached_property
    def wrong(self) -> BoolArray:
        """Whether a predicted class, of the classifier or of a text, is not the gold class; shape [instances].

        As for the accuracy, case does not count, and neither do gold classes that the model does not have.
        """
        gold = np.array([*((label or "").casefold() for label in self.run.instances.labels), ""], object)
        classes = {label.casefold() for label in self.run.manifest.model.labels}
        known = np.array([label in classes if classes else bool(label) for label in gold], bool)
        wrong = np.zeros(len(gold), bool)
        for places, labels in self._predicted.values():
            names = np.array([*(name.casefold() for name in labels.names), ""], object)
            wrong[places[names[labels.codes] != gold[places]]] = True
        wrong &= known
        return wrong[:-1]

    @cached_property
    def skipped(self) -> BoolArray:
        """Whether a method gave no explanation; shape [instances]."""
        missing = self.run.labels("explanations", "reason").codes >= 0
        skipped = np.zeros(len(self) + 1, bool)
        skipped[self._places("explanations")[missing]] = True
        return skipped[:-1]

    @cached_property
    def disagreement(self) -> FloatArray:
        """Share of pairs of methods whose explanations have different strongest units, shape [instances].

        Random baselines do not count, and explanations are compared with those of the same kind. NaN where no two
        methods can be compared.
        """
        rows, peaks = self._peaks()
        method, kind = self.run.labels("explanations", "method"), self.run.labels("explanations", "kind")
        counts = ~self._random(method)[method.codes[rows]]
        rows, peaks = rows[counts], peaks[counts]
        table = pa.table({"instance": self._places("explanations")[rows], "kind": kind.codes[rows], "peak": peaks})
        agreeing, pairs = (self._ordered_pairs(table, names) for names in (["kind", "peak"], ["kind"]))
        return np.where(pairs > 0, 1 - agreeing / np.maximum(pairs, 1), np.nan)[:-1]

    def _ordered_pairs(self, table: pa.Table, names: list[str]) -> FloatArray:
        """Number of ordered pairs of rows of an instance that are equal in some columns; shape [instances + 1]."""
        groups = table.group_by(["instance", *names]).aggregate([([], "count_all")])
        size = groups["count_all"].to_numpy().astype(np.float64)
        pairs = np.zeros(len(self) + 1)
        np.add.at(pairs, groups["instance"].to_numpy(), size * (size - 1))
        return pairs

    @cached_property
    def gap(self) -> FloatArray:
        """Largest difference of an explanation's ranks under two metrics, shape [instances].

        The rank is the share of the run's explanations that are worse under the metric, ties by half. Random baselines
        do not count, nor do metrics that do not rank. NaN where no explanation has two values.
        """
        scores = self.run.scores
        methods = max(len(scores.method.names), 1)
        valid = ~np.isnan(scores.value) & ~self._random(scores.method)[scores.method.codes]
        explanation = self._places("scores") * methods + scores.method.codes
        low = np.full((len(self) + 1) * methods, np.inf)
        high, values = -low, np.zeros(len(low))
        for entry in (entry for entry in self.run.manifest.metrics if entry.ranked):
            rows = np.flatnonzero(valid & (scores.metric.codes == scores.metric.code(entry.label)))
            better = scores.value[rows] if entry.ascending else -scores.value[rows]
            share = (rankdata(better) - 0.5) / max(len(rows), 1)
            low[explanation[rows]] = np.minimum(low[explanation[rows]], share)
            high[explanation[rows]] = np.maximum(high[explanation[rows]], share)
            values[explanation[rows]] += 1
        gaps = np.where(values > 1, high - low, -1.0).reshape(-1, methods).max(1)
        return np.where(gaps >= 0, gaps, np.nan)[:-1]

    def _random(self, methods: Labels) -> BoolArray:
        """Whether each method is a random baseline; shape [methods]."""
        return np.array([self.run.manifest.method(name).random for name in methods.names], bool)

    def _peaks(self) -> tuple[IntArray, IntArray]:
        """Rows of explanations that have scores, and a number for the unit with the largest absolute one."""
        table = self.run.tables.table("explanations", columns=("scores", "units"))
        column, units = (_one_array(table[name]) for name in table.column_names)
        lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
        rows = np.flatnonzero(lengths > 0)
        if not len(rows):
            return rows, rows
        lengths = lengths[rows]
        sizes = np.abs(pc.list_flatten(column).to_numpy(zero_copy_only=False))
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)
        is_peak = sizes == np.repeat(np.maximum.reduceat(sizes, starts), lengths)
        first = np.minimum.reduceat(np.where(is_peak, np.arange(len(sizes)), len(sizes)), starts)
        return rows, _unit_numbers(pc.list_flatten(units).take(pa.array(first)))

    @cached_property
    def _number(self) -> Mapping[str, int]:
        return {name: number for number, name in enumerate(self.ids)}

    def _places(self, table: TableName) -> IntArray:
        """Number of the instance of each row of a table, one too high for an unknown instance; shape [rows]."""
        labels = self.run.labels(table, "instance_id")
        return np.array([self._number.get(name, len(self)) for name in [*labels.names, ""]], np.int64)[labels.codes]

    @cached_property
    def _predicted(self) -> dict[TableName, tuple[IntArray, Labels]]:
        """Instance and class of each prediction, of the classifier and of the texts."""
        tables: tuple[TableName, ...] = ("predictions", "texts")
        return {name: (self._places(name), self.run.labels(name, "label")) for name in tables}

    def _labelled(self, label: str) -> BoolArray:
        fits = np.array([*(gold == label for gold in self.run.instances.labels), False], bool)
        for places, labels in self._predicted.values():
            fits[places[labels.codes == labels.code(label)]] = True
        return fits[:-1]

    def _containing(self, text: str) -> BoolArray:
        """Whether the id or a part contains a text, in any case; shape [instances]."""
        column = self._parts
        raw = pc.struct_field(pc.list_flatten(column), "raw")
        found = pc.match_substring(raw, escape(text), ignore_case=True).to_numpy(zero_copy_only=False)
        fits = np.zeros(len(self), bool)
        fits[pc.list_parent_indices(column).to_numpy()[found]] = True
        wanted = text.casefold()
        fits |= [wanted in name.casefold() for name in self.ids]
        return fits

    @property
    def _parts(self) -> pa.Array:
        return _one_array(self.run.tables.table("instances", columns=("parts",))["parts"])

    def texts(self, numbers: IntArray) -> list[tuple[str, ...]]:
        """The raw texts of the parts of some instances."""
        return [
            tuple(unescape(part["raw"]) for part in parts) for parts in self._parts.take(pa.array(numbers)).to_pylist()
        ]


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    """A column in one piece."""
    data = column.combine_chunks()
    return pa.concat_arrays(data.chunks) if isinstance(data, pa.ChunkedArray) else data


def _unit_numbers(units: pa.Array) -> IntArray:
    """Equal numbers for equal units, which have one or two spans; shape [units]."""
    spans = pc.list_flatten(units)
    part, start, end = (pc.struct_field(spans, name).to_numpy() for name in ("part", "start", "end"))
    number = (part << 40 | start << 20 | end).astype(np.uint64)
    lengths = pc.list_value_length(units).to_numpy()
    last = np.cumsum(lengths) - 1
    numbers: IntArray = (number[last - lengths + 1] * np.uint64(0x9E3779B97F4A7C15) + number[last]).view(np.int64)
    return numbers
