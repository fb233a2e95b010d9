"""What a method or metric says of itself, before it is run: its type, its description, its parameters."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any, cast

from verax.checks.checked import Check
from verax.models.classifier import Classifier
from verax.registry import Namespace
from verax.run.checking import check_fit
from verax.run.parameters import Configured, from_config, from_parameters
from verax.types import SCORE_KINDS, UserError


def name_it(namespace: Namespace, given: Any, model: Classifier, seed: int) -> tuple[str, Any]:
    """The label and the thing itself; refuses what the model can't do.

    Args:
        room: `methods` or `metrics`.
        given: a name, `{name: {parameter: value}}`, or the thing itself, whatever state it is in.
        model: what it will be tried on.
        seed: for what has a `seed` and was given none.
    """
    if isinstance(given, type):
        raise UserError(f"{namespace}: {given.__name__} is a class; give an object of it: {given.__name__}()")
    if not isinstance(given, str | Mapping) and not dataclasses.is_dataclass(given):
        return type(given).__name__, given
    named: Configured[Any] = from_config(namespace, given, seed)
    try:
        check_fit(named, model)
    except UserError:
        raise
    except Exception:  # noqa: BLE001, S110 - it stumbled over a fault that a check will name
        pass
    return named.label, named.component


def frozen_dataclass(what: Any) -> Check:
    """Parameters that can change after they were recorded would be recorded wrongly."""
    problem, kind = "", cast("Any", type(what))
    if not dataclasses.is_dataclass(what):
        problem = f"{kind.__name__} is no dataclass; put @dataclass(frozen=True) above the class"
    elif not kind.__dataclass_params__.frozen:
        problem = f"{kind.__name__} can be changed after it was made; use @dataclass(frozen=True)"
    return Check("frozen dataclass", not problem, problem)


def description(what: Any, *, metric: bool) -> Check:
    """Version, reference, number of passes; the kind of a method, the direction and range of a metric."""
    version, reference = getattr(what, "version", None), getattr(what, "reference", None)
    holds = {
        "version must be a whole number from 1": type(version) is int and version >= 1,
        "reference must say whose it is": isinstance(reference, str) and bool(reference.strip()),
        "passes(n) must say how many passes it asks for": callable(getattr(what, "passes", None)),
    }
    if metric:
        better = getattr(what, "higher_is_better", None)
        holds["higher_is_better must be True or False"] = isinstance(better, bool)
        holds["range must be (lowest, highest), None where there is no bound"] = is_range(getattr(what, "range", None))
    else:
        holds[f"kind must be one of {', '.join(SCORE_KINDS)}"] = getattr(what, "kind", None) in SCORE_KINDS
    wrong = [rule for rule, held in holds.items() if not held]
    return Check("description", not wrong, "; ".join(wrong))


def is_range(given: Any) -> bool:
    """Whether something is a pair of bounds, the lower one first; None where there is no bound."""
    if not isinstance(given, tuple) or len(given) != 2:
        return False
    low, high = given
    if not all(bound is None or isinstance(bound, int | float) for bound in given):
        return False
    return low is None or high is None or low < high


def parameters(what: Any) -> Check:
    """Every field has a default, and the parameters of one can be written as JSON and read back to the same."""
    name = "parameters"
    if not dataclasses.is_dataclass(what) or isinstance(what, type):
        return Check(name, False, "without dataclass fields it has no parameters that could be recorded")
    missing = [field.name for field in dataclasses.fields(what) if _has_no_default(field)]
    if missing:
        return Check(name, False, f"no default for {', '.join(missing)}; it could not be used by its name alone")
    try:
        named: Configured[Any] = Configured(type(what).__name__, cast(Any, what))
        again: Any = from_parameters(
            cast(Any, type(what)), json.loads(json.dumps(named.parameters, allow_nan=False)), ""
        )
    except Exception as error:  # noqa: BLE001 - fields of any type: whatever goes wrong is the finding
        return Check(name, False, f"do not survive JSON: {type(error).__name__}: {error}".partition("\n")[0])
    if again != what:
        return Check(name, False, f"come back from JSON as {again!r} instead of {what!r}")
    return Check(name, True)


def _has_no_default(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
