"""The context of a run: model, data, methods and metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple

from verax.engine.protocols import Method, Metric
from verax.results.manifest import UntilDecided
from verax.run.parameters import Configured
from verax.run.spec import Spec
from verax.types import Dataset, Highlight, Kind

BASELINE = "random"
ALL = "all"
"""Among metrics: every registered one that fits the run, with its default parameters."""
TEXT: Final = "text"
WIDE = 500
"""Inputs that classes in prompts and random words of tests are taken from, however few are explained: so another limit
changes no row."""


class ExplanationSource(NamedTuple):
    """A source of explanations: a method, or a file of explanations made elsewhere, which has no base."""

    label: str
    kind: Kind
    base: str | None = None
    method: Configured[Method] | None = None


@dataclass(frozen=True, eq=False)
class RunContext:
    """A run before its rows are planned, for checks, providers and the plan.

    Args:
        wide_data: the data before it was limited to a few inputs.
        methods, metrics: the components, with the labels that name them in every row.
        open_validation: loads the validation data of the run.
        given: explanations made elsewhere, by label and instance id.
        products: requests to providers that no metric makes.
        parts: parts whose words are explained; None: all.
        until_decided: the sequential test of a run that stops once a ranking is decided, as of the earlier looks.
        left_out: why registered metrics that were requested by `all` are not measured, by name.
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
    until_decided: UntilDecided | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def explainers(self) -> tuple[ExplanationSource, ...]:
        """All sources of explanations: the methods, then the files."""
        methods = [(one, one.component) for one in self.methods]
        made = [
            ExplanationSource(one.label, method.kind, getattr(method, "base", None), one) for one, method in methods
        ]
        given = [ExplanationSource(label, next(iter(rows.values())).kind) for label, rows in self.given.items()]
        return (*made, *given)

    @cached_property
    def measured_langs(self) -> frozenset[str] | None:
        """Languages in which metrics that compare no translations are measured; None: all."""
        wanted = self.spec.measured_langs
        references = {one.component.reference_lang for one in self.metrics if hasattr(one.component, "reference_lang")}
        if wanted == "all" or not references:
            return None
        return frozenset(references if wanted == "reference" else wanted)

    def measures_in(self, metric: Configured[Metric], lang: str) -> bool:
        """Whether a metric measures inputs of a language."""
        langs = self.measured_langs
        return langs is None or lang in langs or hasattr(metric.component, "reference_lang")

    @property
    def scores_words(self) -> bool:
        """Whether some explanation is one by scores, not by text."""
        return any(explainer.kind != TEXT for explainer in self.explainers)

    @property
    def writes_text(self) -> bool:
        """Whether some explanation is one in free text."""
        return any(explainer.kind == TEXT for explainer in self.explainers)
