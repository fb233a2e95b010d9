"""The run card as a typed, versioned model: what was run, on what, and with which outcome."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, FiniteFloat, PlainValidator, ValidationError

from verax.registry import display_names
from verax.stats.joint import ALPHA
from verax.types import Performance

FORMAT = 1
NOT_RECORDED = "not recorded"
RANDOM = {"token": "random", "token_interaction": "random_interaction", "span_interaction": "random_span"}
"""The method that gives random explanations of each kind."""
CONTENT_FREE = "content_free"
"""The method whose scores depend on the form of words alone."""
RANDOMISED = "randomised"
"""The method that applies another one to randomised weights."""
_DEEPEST = 30
"""Levels of nesting in an entry of a card; deeper ones are left out."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_NOISE = {"float64": 1e-9, "float16": 1e-3, "bfloat16": 1e-2}
"""Rounding noise of a value between 0 and 1, by the dtype of the model; 1e-6 for float32 and others."""
T = TypeVar("T", bound=BaseModel)


def _label(value: object) -> str:
    if not isinstance(value, str | int | float):
        raise ValueError("input should be a string")
    return str(value)


Label = Annotated[str, PlainValidator(_label)]
"""A text that is kept exactly as it is; pydantic itself rejects strings that are not valid UTF-8."""


class _Entry(BaseModel):
    """A part of a manifest; fields of later versions are kept as they are."""

    model_config = ConfigDict(extra="allow", frozen=True, protected_namespaces=(), coerce_numbers_to_str=True)


class MethodEntry(_Entry):
    """A method of a run, or a file of explanations made elsewhere.

    `signed` says whether the order of its scores distinguishes what supports the target from what opposes it, and
    `ranks` whether they are places in that order, and so have no sign themselves.
    """

    label: Label
    name: Label = ""
    parameters: dict[str, Any] = {}
    kind: str = "token"
    base: str | None = None
    target: Label | None = None
    signed: bool = True
    ranks: bool = False
    reference: str = ""
    version: int | None = None

    @property
    def two_sided(self) -> bool:
        """Whether scores above 0 support and those below 0 oppose; else they are more or less."""
        return self.signed and not self.ranks

    @property
    def random(self) -> bool:
        """Whether it is a random baseline."""
        return self.name in RANDOM.values()

    @property
    def baseline(self) -> bool:
        """Whether it is a baseline or a control of any kind: it is never best, nor is what it beats."""
        return self.random or self.name in {CONTENT_FREE, RANDOMISED}

    @property
    def known_truth(self) -> bool:
        """Whether its explanations are made from annotated reasons, to put metrics on trial."""
        return self.name.startswith("known_")


class MetricEntry(_Entry):
    """A metric of a run; `ranked` says whether it orders explanations."""

    label: Label
    name: Label = ""
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
    """The model that was explained; further facts (device, dtype, ...) are extra fields.

    Of a model at an HTTP endpoint, `host` is its address and `hosts` are all addresses that answered in the folder.
    """

    name: Label = NOT_RECORDED
    hash: str | None = None
    labels: tuple[Label, ...] = ()
    architecture: Label = ""
    parameters: str = ""
    host: Label | None = None
    hosts: tuple[Label, ...] = ()

    @property
    def facts(self) -> Mapping[str, Any]:
        """Everything that was recorded about the model."""
        return {name: value for name, value in self.model_dump(exclude_unset=True).items() if value is not None}


class DataEntry(_Entry):
    """The inputs that were explained; `hash` identifies them."""

    name: Label = NOT_RECORDED
    split: Label | None = None
    n: int | None = None
    labels: tuple[Label, ...] = ()
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


class UntilDecided(_Entry):
    """The sequential test of a run that stops once a ranking is decided.

    Args:
        goal: `random`, each method against its random baseline, or `best`, which method is best.
        metrics: under which the ranking is to be decided.
        order: hash of all inputs in the order in which they are looked at; the run consists of the first ones.
        max_inputs: the run stops there in any case.
        looks: numbers of inputs after which the test was made.
        decided, undecided: methods by metric, at the last look. For `best`, the only method that may be best, or those
            that still may.
    """

    goal: str = "random"
    metrics: tuple[Label, ...] = ()
    test: str = NOT_RECORDED
    level: float = ALPHA
    order: str = NOT_RECORDED
    max_inputs: int = 0
    looks: tuple[int, ...] = ()
    decided: dict[str, tuple[Label, ...]] = {}
    undecided: dict[str, tuple[Label, ...]] = {}

    @property
    def inputs(self) -> int:
        """Number of inputs at the last look."""
        return self.looks[-1] if self.looks else 0

    @property
    def settled(self) -> bool:
        """Whether the ranking is decided under every metric under which methods have values."""
        return bool(self.decided) and not self.undecided

    @property
    def finished(self) -> bool:
        """Whether the run is over: its ranking is decided, or there are no further inputs."""
        return self.settled or self.inputs >= self.max_inputs

    @property
    def outcome(self) -> str:
        """When the run stopped, in a few words."""
        so_far = f"after {self.inputs:,} of at most {self.max_inputs:,} inputs"
        return f"decided {so_far}" if self.settled else f"not decided {so_far}"

    def standing(self, display: Callable[[str], str] = str) -> str:
        """The outcome, with the methods that are decided under each metric and those that are not."""
        methods = "; ".join(
            f"{word} under {metric}: {', '.join(map(display, labels))}"
            for word, several in (("decided", self.decided), ("undecided", self.undecided))
            for metric, labels in several.items()
        )
        return f"{self.outcome} ({methods})" if methods else self.outcome


class Manifest(_Entry):
    """The run card. Every field has a default: cards of earlier versions and damaged ones can be read too.

    `left_out` says why metrics that `all` requested were not measured; `planned` is the number of rows of the plan.
    """

    format: int = FORMAT
    verax: str = NOT_RECORDED
    created: str = NOT_RECORDED
    command: Label = NOT_RECORDED
    spec: dict[str, Any] = {}
    model: ModelEntry = ModelEntry()
    data: DataEntry = DataEntry()
    methods: tuple[MethodEntry, ...] = ()
    metrics: tuple[MetricEntry, ...] = ()
    left_out: dict[str, str] = {}
    seed: int | None = None
    versions: dict[str, str] = {}
    machine: str = NOT_RECORDED
    warnings: tuple[Label, ...] = ()
    cost: dict[str, int | FiniteFloat] = {}
    planned: int | None = None
    counts: Counts | None = None
    requests: int | None = None
    until_decided: UntilDecided | None = None

    @classmethod
    def read(cls, card: object) -> tuple[Manifest, tuple[str, ...]]:
        """The manifest of a card, and one line for each entry that could not be read and was left out."""
        if not isinstance(card, Mapping):
            return cls(), ("the run card is not a mapping",) if card is not None else ()
        problems: list[str] = []
        fields: dict[str, Any] = {
            _utf_8(str(key)): _readable_value(str(key), value, problems) for key, value in card.items()
        }
        for name, kind in (("methods", MethodEntry), ("metrics", MetricEntry)):
            if name in fields:
                fields[name] = tuple(_readable(kind, name, fields[name], problems))
        for name, part in (
            ("model", ModelEntry),
            ("data", DataEntry),
            ("counts", Counts),
            ("until_decided", UntilDecided),
        ):
            if fields.get(name) is not None:
                fields[name] = _part(part, name, fields[name], problems)
        while True:
            try:
                known = {key: value for key, value in fields.items() if value is not None}
                return cls.model_validate(known), tuple(problems)
            except ValidationError as error:
                name = str(error.errors()[0]["loc"][0])
                problems.append(f"run card: {name}: {error.errors()[0]['msg'].lower()}")
                del fields[name]

    @property
    def sequential(self) -> bool:
        """Whether results decided how many inputs were run, so that only sequential tests are valid."""
        return self.until_decided is not None

    def card(self) -> dict[str, Any]:
        """The content of `run.json`: the fields that were set, as values that JSON has."""
        return self.model_dump(exclude_unset=True)

    @cached_property
    def _methods(self) -> dict[str, MethodEntry]:
        return {entry.label: entry for entry in reversed(self.methods)}

    @cached_property
    def _metrics(self) -> dict[str, MetricEntry]:
        return {entry.label: entry for entry in reversed(self.metrics)}

    def method(self, label: str) -> MethodEntry:
        """The entry of a method; a bare one for a label that is not in the card."""
        return self._methods.get(label) or MethodEntry(label=label, name=label)

    def metric(self, label: str) -> MetricEntry:
        """The entry of a metric; a bare one for a label that is not in the card."""
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

    def find_method(self, given: str, labels: Iterable[str]) -> str | None:
        """Which of some methods is meant by a label, or by a name that only one of them has: `LOO`, `loo`, `lime`."""
        known, wanted = list(labels), given.casefold()
        if given in known:
            return given
        named = [
            label for label in known if wanted in {self.display(label).casefold(), self.method(label).name.casefold()}
        ]
        return named[0] if len(named) == 1 else None

    def tolerance(self, metric: str) -> float:
        """Differences of a metric's values up to this are rounding noise, by the dtype of the model."""
        low, high = self.metric(metric).range or (None, None)
        width = 1.0 if low is None or high is None else high - low
        return width * _NOISE.get(str(self.model.facts.get("dtype")), 1e-6)

    def method_labels(self, others: Iterable[str] = ()) -> tuple[str, ...]:
        """Labels of the methods in the order of the card, then others."""
        return tuple(dict.fromkeys([*(entry.label for entry in self.methods), *others]))

    def metric_labels(self, others: Iterable[str] = ()) -> tuple[str, ...]:
        """Labels of the metrics in the order of the card, then others."""
        return tuple(dict.fromkeys([*(entry.label for entry in self.metrics), *others]))

    def baseline(self, label: str) -> str:
        """The random explanation that a method is compared with: one matched to it, or of its kind, or else of words.

        A random explanation is its own baseline. Of several of one kind that are matched to nothing the first counts.
        """
        entry = self.method(label)
        if entry.random and entry.parameters.get("like"):
            return label
        itself = {entry.name: entry.parameters}
        matched = [other.label for other in self.methods if other.random and other.parameters.get("like") == itself]
        if matched:
            return matched[0]
        first = {entry.name: entry.label for entry in reversed(self.methods)}
        words = first.get(RANDOM["token"], RANDOM["token"])
        return first.get(RANDOM.get(entry.kind, words), words) if label in self._methods else words


def _readable_value(name: str, value: Any, problems: list[str], levels: int = _DEEPEST) -> Any:
    """A value of a card in valid UTF-8, except for labels, without what is nested too deeply for anything to show."""
    if isinstance(value, str):
        return _utf_8(value)
    if not isinstance(value, dict | list):
        return value
    if not levels:
        problems.append(f"run card: {name}: nested more than {_DEEPEST} levels deep")
        return None
    if isinstance(value, list):
        return [_readable_value(name, inner, problems, levels - 1) for inner in value]
    return {
        _utf_8(key): inner
        if key == "label" and isinstance(inner, str)
        else _readable_value(name, inner, problems, levels - 1)
        for key, inner in value.items()
    }


def _utf_8(text: str) -> str:
    """A text with lone surrogates replaced."""
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


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
