"""The run card as a typed, versioned model: what was run, on what, and with which outcome."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, FiniteFloat, ValidationError

from verax.registry import display_names
from verax.types import Performance

FORMAT = 1
NOT_RECORDED = "not recorded"
RANDOM = {"token": "random", "token_interaction": "random_interaction", "span_interaction": "random_span"}
"""The method that gives random explanations of each kind."""
_DEEPEST = 30
"""Levels of nesting in an entry of a card; what is deeper is left out."""
T = TypeVar("T", bound=BaseModel)


class _Entry(BaseModel):
    """A part of a manifest; fields of later versions are kept as they are."""

    model_config = ConfigDict(extra="allow", frozen=True, protected_namespaces=(), coerce_numbers_to_str=True)


class MethodEntry(_Entry):
    """A method of a run, or a file of explanations made elsewhere.

    `signed` says whether its scores distinguish what supports the target from what opposes it.
    """

    label: str
    name: str = ""
    parameters: dict[str, Any] = {}
    kind: str = "token"
    base: str | None = None
    target: str | None = None
    signed: bool = True
    reference: str = ""
    version: int | None = None

    @property
    def random(self) -> bool:
        """Whether it is a random baseline."""
        return self.name in RANDOM.values()


class MetricEntry(_Entry):
    """A metric of a run; `ranked` says whether it orders explanations."""

    label: str
    name: str = ""
    parameters: dict[str, Any] = {}
    higher_is_better: bool | None = None
    ranked: bool = True
    range: tuple[float | None, float | None] | None = None
    reference: str = ""
    version: int | None = None

    @property
    def ascending(self) -> bool:
        """Whether higher values are better; a metric that does not say is read that way."""
        return self.higher_is_better is not False


class ModelEntry(_Entry):
    """The model that was explained; further facts (architecture, device, hosts, ...) are extra fields."""

    name: str = NOT_RECORDED
    hash: str | None = None
    labels: tuple[str, ...] = ()
    architecture: str = ""
    parameters: str = ""

    @property
    def facts(self) -> Mapping[str, Any]:
        """Everything that was recorded about the model."""
        return {name: value for name, value in self.model_dump(exclude_unset=True).items() if value is not None}


class DataEntry(_Entry):
    """The inputs that were explained; `hash` identifies them."""

    name: str = NOT_RECORDED
    split: str | None = None
    n: int | None = None
    labels: tuple[str, ...] = ()
    metric: Performance = "accuracy"
    explained_parts: str | tuple[int, ...] = "all"
    hash: str | None = None
    provenance: dict[str, Any] = {}


class Counts(_Entry):
    """Rows of a finished run by their outcome."""

    rows: int = 0
    done: int = 0
    failed: int = 0
    skipped: int = 0


class Manifest(_Entry):
    """The run card. Every field has a default: cards of earlier versions and damaged ones can be read too."""

    format: int = FORMAT
    verax: str = NOT_RECORDED
    created: str = NOT_RECORDED
    command: str = NOT_RECORDED
    spec: dict[str, Any] = {}
    model: ModelEntry = ModelEntry()
    data: DataEntry = DataEntry()
    methods: tuple[MethodEntry, ...] = ()
    metrics: tuple[MetricEntry, ...] = ()
    seed: int | None = None
    versions: dict[str, str] = {}
    machine: str = NOT_RECORDED
    warnings: tuple[str, ...] = ()
    cost: dict[str, int | FiniteFloat] = {}
    counts: Counts | None = None
    requests: int | None = None

    @classmethod
    def read(cls, card: object) -> tuple[Manifest, tuple[str, ...]]:
        """The manifest of a card, and one line for each entry that could not be read and was left out."""
        if not isinstance(card, Mapping):
            return cls(), ("the run card is not a mapping",) if card is not None else ()
        problems: list[str] = []
        fields: dict[str, Any] = {str(key): _shallow(str(key), value, problems) for key, value in card.items()}
        for name, kind in (("methods", MethodEntry), ("metrics", MetricEntry)):
            if name in fields:
                fields[name] = tuple(_readable(kind, name, fields[name], problems))
        for name, part in (("model", ModelEntry), ("data", DataEntry), ("counts", Counts)):
            if fields.get(name) is not None:
                fields[name] = _part(part, name, fields[name], problems)
        while True:
            try:
                return cls.model_validate({key: value for key, value in fields.items() if value is not None}), tuple(
                    problems
                )
            except ValidationError as error:
                name = str(error.errors()[0]["loc"][0])
                problems.append(f"run card: {name}: {error.errors()[0]['msg'].lower()}")
                del fields[name]

    @cached_property
    def _methods(self) -> dict[str, MethodEntry]:
        return {entry.label: entry for entry in reversed(self.methods)}

    @cached_property
    def _metrics(self) -> dict[str, MetricEntry]:
        return {entry.label: entry for entry in reversed(self.metrics)}

    def method(self, label: str) -> MethodEntry:
        """The entry of a method; a bare one for a label that only the rows know."""
        return self._methods.get(label) or MethodEntry(label=label, name=label)

    def metric(self, label: str) -> MetricEntry:
        """The entry of a metric; a bare one for a label that only the rows know."""
        return self._metrics.get(label) or MetricEntry(label=label, name=label)

    @cached_property
    def _display(self) -> dict[str, str]:
        """Display names by label; a name that two methods would share is not used."""
        names = display_names("methods", [(entry.name or entry.label, entry.parameters) for entry in self.methods])
        labels = [entry.label for entry in self.methods]
        shown = [name if names.count(name) == 1 else label for name, label in zip(names, labels, strict=True)]
        return dict(zip(labels, shown, strict=True))

    def display(self, label: str) -> str:
        """The short name of a method in tables and figures: `IG (sign)`, `LOO`."""
        return self._display.get(label, label)

    def method_labels(self, met: Iterable[str] = ()) -> tuple[str, ...]:
        """Labels of the methods in the order of the card, then those that only the rows know."""
        return tuple(dict.fromkeys([*(entry.label for entry in self.methods), *met]))

    def metric_labels(self, met: Iterable[str] = ()) -> tuple[str, ...]:
        """Labels of the metrics in the order of the card, then those that only the rows know."""
        return tuple(dict.fromkeys([*(entry.label for entry in self.metrics), *met]))

    def baseline(self, label: str) -> str:
        """The random explanation that a method is compared with: that of its kind, or else of words.

        A random explanation is its own baseline. Of several of one kind the first counts.
        """
        first = {entry.name: entry.label for entry in reversed(self.methods)}
        words = first.get(RANDOM["token"], RANDOM["token"])
        return first.get(RANDOM.get(self.method(label).kind, words), words) if label in self._methods else words


def _shallow(name: str, value: Any, problems: list[str], levels: int = _DEEPEST) -> Any:
    """A value of a card without what is nested too deeply for anything to show."""
    if not isinstance(value, dict | list):
        return value
    if not levels:
        problems.append(f"run card: {name}: nested more than {_DEEPEST} levels deep")
        return None
    if isinstance(value, dict):
        return {key: _shallow(name, inner, problems, levels - 1) for key, inner in value.items()}
    return [_shallow(name, inner, problems, levels - 1) for inner in value]


def _readable(kind: type[T], name: str, rows: object, problems: list[str]) -> Iterable[T]:
    """The entries of a list that are valid."""
    if not isinstance(rows, list | tuple):
        problems.append(f"run card: {name}: expected a list")
        return
    for row in rows:
        entry = _part(kind, name, row, problems)
        if entry is not None:
            yield entry


def _part(kind: type[T], name: str, value: object, problems: list[str]) -> T | None:
    """One part of a card, without the fields that are not valid; None if what it cannot do without is missing."""
    if isinstance(value, kind):
        return value
    if not isinstance(value, Mapping):
        problems.append(f"run card: {name}: expected a mapping, got {value!r:.40}")
        return None
    fields = {str(key): item for key, item in value.items() if item is not None}
    while True:
        try:
            return kind.model_validate(fields)
        except ValidationError as error:
            field = str(error.errors()[0]["loc"][0])
            problems.append(f"run card: {name}: {field}: {error.errors()[0]['msg'].lower()}")
            known = kind.model_fields.get(field)
            if fields.pop(field, None) is None or (known is not None and known.is_required()):
                return None
