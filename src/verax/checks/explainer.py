"""`check_explainer`: checks of an explanation method."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from verax.checks.behaviour import Behaviour, check_component
from verax.checks.checked import Check, Checked
from verax.checks.trials import Case, first_problem, wrong_refusal
from verax.engine.engine import TaskResult
from verax.engine.protocols import Method
from verax.models.classifier import Classifier
from verax.models.subject import Subject
from verax.types import Attribution, Instance, Removal, Undefined, Unit


def check_explainer(
    method: str | Mapping[str, Any] | Method,
    model: Classifier | None = None,
    *,
    inputs: Sequence[Instance] | None = None,
    seed: int = 0,
) -> Checked:
    """Try an explanation method, and report which properties that verax relies on do not hold.

    Args:
        method: a name, `{name: {parameter: value}}`, or a method object.
        model: from `load_model`, best in float64; the shipped `world/nli` by default.
        inputs: inputs to explain; by default a few pairs, some of them awkward. A method that asks for very many
            passes is checked faster with small parameters or short inputs.
        seed: for a method that draws at random and was given no seed.
    """
    return check_component(
        "methods",
        method,
        model,
        inputs,
        seed,
        cases_of=lambda number, x: [Case(f"{number} {x.instance.id}", x)],
        own_checks=_own_checks,
    )


def _own_checks(behaviour: Behaviour) -> Iterable[Check]:
    outcomes, cases = behaviour.first, behaviour.cases
    yield behaviour.value("explains")
    yield Check.of("scores", first_problem({c.name: _misfit(behaviour, c, outcomes[c.name]) for c in cases}))
    yield behaviour.refusals("refusals", cases)
    yield _words_left(behaviour)


def _words_left(behaviour: Behaviour) -> Check:
    """An input that has lost words is explained by the remaining ones only."""
    removal: Removal = "mask" if "mask" in behaviour.model.removals else "delete"
    views = []
    for case in behaviour.cases:
        n = case.x.n_units
        lost = {"every third word": np.arange(n) % 3 == 1, "all words but the first": np.arange(n) > 0}
        views += [
            Case(f"{case.name}, without {which}", case.x.without(dropped, removal)) for which, dropped in lost.items()
        ]
    outcomes = behaviour.once(views)
    known = {_problem(behaviour, case, behaviour.first[case.name]) for case in behaviour.cases}
    problems = {view.name: _problem(behaviour, view, outcomes[view.name]) for view in views}
    # problems of whole inputs are reported by other checks
    return Check.of("words left", first_problem({name: why for name, why in problems.items() if why not in known}))


def _problem(behaviour: Behaviour, case: Case, outcome: TaskResult[Any]) -> str | None:
    return wrong_refusal(outcome) or _misfit(behaviour, case, outcome)


def _misfit(behaviour: Behaviour, case: Case, outcome: TaskResult[Any]) -> str | None:
    """The problem with the units or scores of one explanation: each word needs one finite score."""
    if isinstance(outcome.error, Undefined) and outcome.error.reason == "nonfinite":
        return "a score is not a finite number"
    if outcome.error is not None:
        return None
    made = outcome.value
    if not isinstance(made, Attribution):
        return f"returned a {type(made).__name__}, not an Attribution; end with x.attribution(scores)"
    if getattr(behaviour.component, "kind", "token") != "token":
        return _stray(made.units, case.x)
    if made.units != case.x.units:
        return "the units are not the words that are there, each once, in reading order (x.units)"
    return None


def _stray(units: Sequence[Unit], x: Subject) -> str | None:
    """The problem with the units of interactions: spans without a word, repeated units."""
    words = {(unit[0].part, unit[0].start) for unit in x.units}
    for span in (span for unit in units for span in unit):
        if not any((span.part, word) in words for word in range(span.start, span.end)):
            return f"{span} holds no word that is there"
    return "a unit is scored twice" if len(set(units)) < len(units) else None
