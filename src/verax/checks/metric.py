"""`check_metric`: does a metric keep what the rest of verax relies on?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from verax.checks.behaviour import Behaviour
from verax.checks.checked import Check, Checked
from verax.checks.declaration import description, frozen_dataclass, is_range, name_it, parameters
from verax.checks.inputs import default_inputs, default_model, readable
from verax.checks.trials import Case, first_of, improper, numbers
from verax.engine.engine import Outcome
from verax.engine.protocols import Metric
from verax.models.classifier import Classifier
from verax.models.subject import Subject
from verax.types import SCORE_KINDS, Highlight, Instance, Kind, Measured, Span, Target, Unit

ROUNDING = 1e-9
"""How far a value may be outside its range by rounding alone."""


def check_metric(
    metric: str | Mapping[str, Any] | Metric,
    model: Classifier | None = None,
    *,
    inputs: Sequence[Instance] | None = None,
    seed: int = 0,
) -> Checked:
    """Try a metric on explanations with random scores, and say in plain words what does not hold.

    Args:
        metric: a name, `{name: {parameter: value}}`, or a metric of one's own.
        model: from `load_model`, best in float64; the shipped `world/nli` by default.
        inputs: what the explanations are of; by default a few pairs, plain and awkward, two of them with gold words.
        seed: of the scores, and for a metric that draws at random and was given none.
    """
    model = default_model() if model is None else model
    label, what = name_it("metrics", metric, model, seed)
    subjects = readable(model, default_inputs() if inputs is None else inputs)
    cases = []
    for number, x in enumerate(subjects, 1):
        cases += [Case(f"{number} {x.instance.id}, {made.kind}", x, made) for made in _explanations(x, seed)]
    declared = [frozen_dataclass(what), description(what, metric=True), parameters(what)]
    behaviour = Behaviour(what, model, cases)
    own = [case for case in cases if _kind(case) in _own_kinds(behaviour)]
    try:
        checks = [
            *declared,
            behaviour.value("measures", "measures"),
            _values(behaviour, own),
            _refusals(behaviour, "refusals", own),
            _refusals(behaviour, "other kinds", [case for case in cases if case not in own]),
            _bears(behaviour, "constant scores", [even for case in own for even in _constant(case)]),
            _bears(behaviour, "missing words", [less for case in own for less in _incomplete(case)]),
            behaviour.passes(),
            behaviour.same_twice(),
            *behaviour.batch_and_order(),
            behaviour.seed(),
            *behaviour.global_random(),
            *behaviour.leaves_alone(),
        ]
    finally:
        behaviour.leave()
    return Checked(label, model.name, len(subjects), tuple(checks))


def _explanations(x: Subject, seed: int) -> Iterable[Highlight]:
    """One explanation of each kind, with scores of both signs."""
    kinds: dict[Kind, list[Unit]] = {
        "token": list(x.units),
        "token_interaction": [(*left, *right) for left, right in pairwise(x.units)],
        "span_interaction": [_halves(x)],
    }
    draw = x.rng(seed)
    for kind in SCORE_KINDS:
        units = tuple(kinds[kind])
        scores = tuple(draw.normal(size=len(units)).tolist())
        yield Highlight(x.instance.id, "random", kind, Target(), units, scores, notes={"made_for": "a check"})


def _halves(x: Subject) -> Unit:
    """The first and the last part, as two spans; of an input with one part, that part and its first word."""
    words = [len(part.words) for part in x.instance.parts]
    last = len(words) - 1
    return Span(0, 0, words[0] if last else 1), Span(last, 0, words[last])


def _kind(case: Case) -> Kind | None:
    return None if case.highlight is None else case.highlight.kind


def _own_kinds(behaviour: Behaviour) -> set[Kind | None]:
    """Kinds of explanation that the metric has given some value for."""
    return {_kind(case) for case in behaviour.cases if behaviour.first[case.name].error is None}


def _constant(case: Case) -> Iterable[Case]:
    """The same explanation with all scores alike."""
    for score in (0.0, 0.5):
        assert case.highlight is not None  # noqa: S101 - every case of a metric has one
        scores = (score,) * len(case.highlight.scores)
        yield Case(f"{case.name}, all scores {score}", case.x, replace(case.highlight, scores=scores))


def _incomplete(case: Case) -> Iterable[Case]:
    """The same explanation without each second unit, and without any."""
    for which, step in {"every second unit": slice(None, None, 2), "any unit": slice(0)}.items():
        assert case.highlight is not None  # noqa: S101 - every case of a metric has one
        units, scores = case.highlight.units[step], case.highlight.scores[step]
        yield Case(f"{case.name}, without {which}", case.x, replace(case.highlight, units=units, scores=scores))


def _values(behaviour: Behaviour, own: Iterable[Case]) -> Check:
    """A finite number within the range, as a Measured."""
    problem = first_of({case.name: _bad_value(behaviour.what, behaviour.first[case.name]) for case in own})
    return Check("value", not problem, problem)


def _refusals(behaviour: Behaviour, name: str, cases: Iterable[Case]) -> Check:
    problem = first_of({case.name: improper(behaviour.first[case.name]) for case in cases})
    return Check(name, not problem, problem)


def _bears(behaviour: Behaviour, name: str, cases: Sequence[Case]) -> Check:
    """Awkward explanations have a value or are refused properly; what already befalls plain ones is told there."""
    ended = behaviour.once(cases)
    plain = {_bad(behaviour.what, outcome) for outcome in behaviour.first.values()}
    wrong = {name: _bad(behaviour.what, outcome) for name, outcome in ended.items()}
    problem = first_of({name: said for name, said in wrong.items() if said not in plain})
    return Check(name, not problem, problem)


def _bad(what: Any, outcome: Outcome[Any]) -> str | None:
    return improper(outcome) or _bad_value(what, outcome)


def _bad_value(what: Any, outcome: Outcome[Any]) -> str | None:
    if outcome.error is not None:
        return None
    if not isinstance(outcome.value, Measured):
        return f"returned a {type(outcome.value).__name__}, not a Measured"
    found = numbers(outcome)
    value = outcome.value.value
    if found is None or not all(map(math.isfinite, found.tolist())):
        return f"the value or its curve is not finite: {value}; raise Undefined where there is no value"
    bounds: Any = getattr(what, "range", None)
    low, high = bounds if is_range(bounds) else (None, None)  # a range that is none is told by the description
    below, above = low is not None and value < low - ROUNDING, high is not None and value > high + ROUNDING
    return f"{value:g} is outside of its range, {low} to {high}" if below or above else None
