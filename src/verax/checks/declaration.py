"""Checks of a component before it is run: its type, its description, its parameters."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from typing import Any, cast

from verax.checks.checked import Check
from verax.models.classifier import Classifier
from verax.registry import Namespace
from verax.run.checking import check_fit
from verax.run.parameters import Configured, from_config, from_parameters
from verax.types import SCORE_KINDS, UserError


def label_and_component(namespace: Namespace, given: Any, model: Classifier, seed: int) -> tuple[str, Any]:
    """The label of a method or metric, and the component; raises UserError for one that does not fit the model.

    Args:
        given: a name, `{name: {parameter: value}}`, or an object, which may be invalid in any way.
    """
    if isinstance(given, type):
        raise UserError(f"{namespace}: {given.__name__} is a class; give an object of it: {given.__name__}()")
    if not isinstance(given, str | Mapping) and not dataclasses.is_dataclass(given):
        return type(given).__name__, given
    named: Configured[Any] = from_config(namespace, given, seed)
    try:
        check_fit(named, model)
    except Exception as error:  # other errors are reported by the check of their cause
        if isinstance(error, UserError):
            raise
    return named.label, named.component


def declaration_checks(component: Any, *, is_metric: bool) -> list[Check]:
    """Checks of type, description and parameters."""
    return [_frozen_dataclass(component), _description(component, is_metric), _parameters(component)]


def _frozen_dataclass(component: Any) -> Check:
    """Parameters that change after they were recorded would be recorded wrongly."""
    problem, kind = "", cast("Any", type(component))
    if not dataclasses.is_dataclass(component):
        problem = f"{kind.__name__} is no dataclass; put @dataclass(frozen=True) above the class"
    elif not kind.__dataclass_params__.frozen:
        problem = f"{kind.__name__} can be changed after it was made; use @dataclass(frozen=True)"
    return Check.of("frozen dataclass", problem)


def _description(component: Any, is_metric: bool) -> Check:
    """Version, reference, number of passes; the kind of a method, the direction and range of a metric."""
    version, reference = getattr(component, "version", None), getattr(component, "reference", None)
    rules = {
        "version must be a whole number from 1": type(version) is int and version >= 1,
        "reference must say whose it is": isinstance(reference, str) and bool(reference.strip()),
        "passes(n) must say how many passes it asks for": callable(getattr(component, "passes", None)),
    }
    if is_metric:
        better, bounds = getattr(component, "higher_is_better", None), getattr(component, "range", None)
        rules["higher_is_better must be True or False"] = isinstance(better, bool)
        rules["range must be (lowest, highest), None where there is no bound"] = is_range(bounds)
    else:
        rules[f"kind must be one of {', '.join(SCORE_KINDS)}"] = getattr(component, "kind", None) in SCORE_KINDS
    return Check.of("description", "; ".join(rule for rule, holds in rules.items() if not holds))


def is_range(given: Any) -> bool:
    """Whether a value is a pair of bounds, the lower one first, None where there is no bound."""
    if not isinstance(given, tuple) or len(given) != 2:
        return False
    low, high = given
    if not all(bound is None or (isinstance(bound, int | float) and not math.isnan(bound)) for bound in given):
        return False
    return low is None or high is None or low < high


def _parameters(component: Any) -> Check:
    """Every field has a default, and parameters that are written as JSON give the same component again."""
    name = "parameters"
    if not dataclasses.is_dataclass(component) or isinstance(component, type):
        return Check.of(name, "without dataclass fields it has no parameters that could be recorded")
    missing = dataclasses.MISSING
    required = [
        field.name
        for field in dataclasses.fields(component)
        if field.default is missing and field.default_factory is missing
    ]
    if required:
        return Check.of(name, f"no default for {', '.join(required)}; it could not be used by its name alone")
    try:
        named: Configured[Any] = Configured(type(component).__name__, cast(Any, component))
        recorded = json.loads(json.dumps(named.parameters, allow_nan=False))
        again: Any = from_parameters(cast(Any, type(component)), recorded, "")
    except Exception as error:  # noqa: BLE001 - fields may have any type: every error is a problem to report
        return Check.of(name, f"do not survive JSON: {type(error).__name__}: {error}".partition("\n")[0])
    if again != component:
        return Check.of(name, f"come back from JSON as {again!r} instead of {component!r}")
    return Check.of(name, None)
