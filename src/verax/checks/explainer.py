"""`check_explainer`: does a method of explanation keep what the rest of verax relies on?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from verax.checks.behaviour import Behaviour
from verax.checks.checked import Check, Checked
from verax.checks.declaration import description, frozen_dataclass, name_it, parameters
from verax.checks.inputs import default_inputs, default_model, readable
from verax.checks.trials import Case, first_of, improper
from verax.engine.engine import Outcome
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
    """Try a method of explanation and say in plain words what does not hold.

    Args:
        method: a name, `{name: {parameter: value}}`, or a method of one's own.
        model: from `load_model`, best in float64; the shipped `world/nli` by default.
        inputs: what it is tried on; by default a few pairs, plain and awkward. A method that asks for very many passes
            is checked sooner with small parameters or short inputs.
        seed: for a method that draws at random and was given none.
    """
    model = default_model() if model is None else model
    label, what = name_it("methods", method, model, seed)
    subjects = readable(model, default_inputs() if inputs is None else inputs)
    cases = [Case(f"{i} {x.instance.id}", x) for i, x in enumerate(subjects, 1)]
    declared = [frozen_dataclass(what), description(what, metric=False), parameters(what)]
    behaviour = Behaviour(what, model, cases)
    try:
        checks = [
            *declared,
            behaviour.value("explains", "explains"),
            _scores(behaviour),
            behaviour.refusals(),
            _words_left(behaviour),
            behaviour.passes(),
            behaviour.same_twice(),
            *behaviour.batch_and_order(),
            behaviour.seed(),
            *behaviour.global_random(),
            *behaviour.leaves_alone(),
        ]
    finally:
        behaviour.leave()
    return Checked(label, model.name, len(cases), tuple(checks))


def _scores(behaviour: Behaviour) -> Check:
    """One finite score for each word, in reading order."""
    problem = first_of({case.name: _misfit(behaviour, case, behaviour.first[case.name]) for case in behaviour.cases})
    return Check("scores", not problem, problem)


def _words_left(behaviour: Behaviour) -> Check:
    """An input that has lost words is explained by those that are left, and by no other."""
    removal: Removal = "mask" if "mask" in behaviour.model.removals else "delete"
    views = []
    for case in behaviour.cases:
        n = case.x.n_units
        lost = {"every third word": np.arange(n) % 3 == 1, "all words but the first": np.arange(n) > 0}
        views += [
            Case(f"{case.name}, without {which}", case.x.without(dropped, removal)) for which, dropped in lost.items()
        ]
    ended = behaviour.once(views)
    whole = {_wrong(behaviour, case, behaviour.first[case.name]) for case in behaviour.cases}
    wrong = {view.name: _wrong(behaviour, view, ended[view.name]) for view in views}
    problem = first_of({name: said for name, said in wrong.items() if said not in whole})  # the rest is told elsewhere
    return Check("words left", not problem, problem)


def _wrong(behaviour: Behaviour, case: Case, outcome: Outcome[Any]) -> str | None:
    return improper(outcome) or _misfit(behaviour, case, outcome)


def _misfit(behaviour: Behaviour, case: Case, outcome: Outcome[Any]) -> str | None:
    """What is wrong with the units or scores of one explanation."""
    if isinstance(outcome.error, Undefined) and outcome.error.reason == "nonfinite":
        return "a score is not a finite number"
    if outcome.error is not None:
        return None
    made = outcome.value
    if not isinstance(made, Attribution):
        return f"returned a {type(made).__name__}, not an Attribution; end with x.attribution(scores)"
    if getattr(behaviour.what, "kind", "token") != "token":
        return _stray(made.units, case.x)
    if made.units != case.x.units:
        return "the units are not the words that are there, each once, in reading order (x.units)"
    return None


def _stray(units: Sequence[Unit], x: Subject) -> str | None:
    """What is wrong with the units of an explanation by interactions: spans without a word, units that come twice."""
    words = {(unit[0].part, unit[0].start) for unit in x.units}
    for span in (span for unit in units for span in unit):
        if not any((span.part, word) in words for word in range(span.start, span.end)):
            return f"{span} holds no word that is there"
    return "a unit is scored twice" if len(set(units)) < len(units) else None
