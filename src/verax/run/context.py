"""What a run is about: the model, the data, and the components that explain and measure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple

from verax.engine.protocols import Method, Metric
from verax.run.parameters import Configured
from verax.run.spec import Spec
from verax.types import Dataset, Highlight, Kind

BASELINE = "random"
TEXT: Final = "text"


class Explainer(NamedTuple):
    """A source of explanations: a method, or a file of explanations made elsewhere, which has no base."""

    label: str
    kind: Kind
    base: str | None = None
    method: Configured[Method] | None = None


@dataclass(frozen=True, eq=False)
class RunContext:
    """A run before its rows are planned; checks, providers and the plan read it.

    Args:
        model: the model that is explained.
        data: the inputs that are explained.
        wide_data: the same data before it was limited to a few inputs.
        methods, metrics: the components, with the labels that name them in every row.
        open_validation: loads the validation data of the run.
        given: explanations made elsewhere, by label and instance id.
        products: what providers are asked for on their own account, not for a metric.
        parts: parts whose words are explained; None: all.
    """

    spec: Spec
    model: Any
    data: Dataset
    wide_data: Dataset
    methods: tuple[Configured[Method], ...]
    metrics: tuple[Configured[Metric], ...]
    open_validation: Callable[[], Dataset]
    given: Mapping[str, Mapping[str, Highlight]] = field(default_factory=dict)
    products: tuple[Configured[Any], ...] = ()
    parts: tuple[int, ...] | None = None

    @cached_property
    def explainers(self) -> tuple[Explainer, ...]:
        """All sources of explanations: the methods, then the files."""
        methods = [(one, one.component) for one in self.methods]
        made = [Explainer(one.label, method.kind, getattr(method, "base", None), one) for one, method in methods]
        given = [Explainer(label, next(iter(rows.values())).kind) for label, rows in self.given.items()]
        return (*made, *given)

    @property
    def scores_words(self) -> bool:
        """Whether some explanation is one by scores, not by text."""
        return any(explainer.kind != TEXT for explainer in self.explainers)

    @property
    def writes_text(self) -> bool:
        """Whether some explanation is one in free text."""
        return any(explainer.kind == TEXT for explainer in self.explainers)
