"""`check_metric`: checks of a metric."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from verax.checks.behaviour import Behaviour, check_component
from verax.checks.checked import Check, Checked
from verax.checks.declaration import is_range
from verax.checks.trials import Case, first_problem, numbers_of, wrong_refusal
from verax.engine.engine import TaskResult
from verax.engine.protocols import Metric
from verax.models.classifier import Classifier
from verax.models.subject import Subject
from verax.types import SCORE_KINDS, Highlight, Instance, Kind, Measured, Span, Target, Unit

ROUNDING = 1e-9
"""Distance that a value may lie outside of its range."""


def check_metric(
    metric: str | Mapping[str, Any] | Metric,
    model: Classifier | None = None,
    *,
    inputs: Sequence[Instance] | None = None,
    seed: int = 0,
) -> Checked:
    """Try a metric on explanations with random scores, and report which properties that verax relies on do not hold.

    Args:
        metric: a name, `{name: {parameter: value}}`, or a metric object.
        model: from `load_model`, best in float64; the shipped `world/nli` by default.
        inputs: inputs that are explained; by default a few pairs, some of them awkward, two with human highlights.
        seed: of the scores, and for a metric that draws at random and was given no seed.
    """

    def cases_of(number: int, x: Subject) -> Iterable[Case]:
        return [Case(f"{number} {x.instance.id}, {made.kind}", x, made) for made in _explanations(x, seed)]

    return check_component("metrics", metric, model, inputs, seed, cases_of=cases_of, own_checks=_own_checks)


def _own_checks(behaviour: Behaviour) -> Iterable[Check]:
    measured = {_highlight(case).kind for case in behaviour.cases if behaviour.first[case.name].error is None}
    own = [case for case in behaviour.cases if _highlight(case).kind in measured]
    others = [case for case in behaviour.cases if case not in own]
    yield behaviour.value("measures")
    values = {case.name: _bad_value(behaviour.component, behaviour.first[case.name]) for case in own}
    yield Check.of("value", first_problem(values))
    yield behaviour.refusals("refusals", own)
    yield behaviour.refusals("other kinds", others)
    yield _tolerates(behaviour, "constant scores", [even for case in own for even in _constant(case)])
    yield _tolerates(behaviour, "missing words", [less for case in own for less in _incomplete(case)])


def _explanations(x: Subject, seed: int) -> Iterable[Highlight]:
    """One explanation of each kind, with scores of both signs."""
    words = [len(part.words) for part in x.instance.parts]
    last = len(words) - 1
    # the first and the last part; of an input with one part, its first word and the part
    halves = Span(0, 0, words[0] if last else 1), Span(last, 0, words[last])
    kinds: dict[Kind, list[Unit]] = {
        "token": list(x.units),
        "token_interaction": [(*left, *right) for left, right in pairwise(x.units)],
        "span_interaction": [halves],
    }
    draw = x.rng(seed)
    for kind in SCORE_KINDS:
        units = tuple(kinds[kind])
        scores = tuple(draw.normal(size=len(units)).tolist())
        yield Highlight(x.instance.id, "random", kind, Target(), units, scores, notes={"made_for": "a check"})


def _highlight(case: Case) -> Highlight:
    assert case.highlight is not None  # noqa: S101 - every case of a metric has one
    return case.highlight


def _constant(case: Case) -> Iterable[Case]:
    """The same explanation with equal scores."""
    highlight = _highlight(case)
    for score in (0.0, 0.5):
        scores = (score,) * len(highlight.scores)
        yield Case(f"{case.name}, all scores {score}", case.x, replace(highlight, scores=scores))


def _incomplete(case: Case) -> Iterable[Case]:
    """The same explanation without every second unit, and without any."""
    highlight = _highlight(case)
    for which, kept in {"every second unit": slice(None, None, 2), "any unit": slice(0)}.items():
        fewer = replace(highlight, units=highlight.units[kept], scores=highlight.scores[kept])
        yield Case(f"{case.name}, without {which}", case.x, fewer)


def _tolerates(behaviour: Behaviour, name: str, cases: Sequence[Case]) -> Check:
    """Awkward explanations have a value or raise Undefined; problems of the plain ones are reported elsewhere."""
    known = {_problem(behaviour.component, outcome) for outcome in behaviour.first.values()}
    problems = {case: _problem(behaviour.component, outcome) for case, outcome in behaviour.once(cases).items()}
    return Check.of(name, first_problem({case: why for case, why in problems.items() if why not in known}))


def _problem(metric: Any, outcome: TaskResult[Any]) -> str | None:
    return wrong_refusal(outcome) or _bad_value(metric, outcome)


def _bad_value(metric: Any, outcome: TaskResult[Any]) -> str | None:
    """The problem with a value: it must be a Measured with finite numbers within the range."""
    if outcome.error is not None:
        return None
    if not isinstance(outcome.value, Measured):
        return f"returned a {type(outcome.value).__name__}, not a Measured"
    measured, value = numbers_of(outcome), outcome.value.value
    if measured is None or not all(map(math.isfinite, measured.tolist())):
        return f"the value or its curve is not finite: {value}; raise Undefined where there is no value"
    bounds: Any = getattr(metric, "range", None)
    low, high = bounds if is_range(bounds) else (None, None)  # the description reports an invalid range
    below, above = low is not None and value < low - ROUNDING, high is not None and value > high + ROUNDING
    return f"{value:g} is outside of its range, {low} to {high}" if below or above else None
