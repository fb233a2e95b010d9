"""What a method and a metric must both keep when they are run: the same result, whenever and beside whatever."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from verax.checks.checked import Check
from verax.checks.surroundings import GlobalRandom, changed, model_facts
from verax.checks.trials import Case, Outcomes, alone, apart, first_of, improper, numbers, together
from verax.engine.protocols import needs
from verax.models.classifier import Classifier
from verax.models.subject import Memo, Subject
from verax.run.plan import passes_of
from verax.run.providers import provider_class
from verax.types import Highlight, Passes

ROUNDING = {"float64": 1e-9}
COARSE_ROUNDING = 1e-4
"""In float32 and below, rows that meet other rows in a batch are rounded in other places."""


@dataclass
class Behaviour:
    """Runs one method or metric on its cases under different circumstances.

    Every run starts from the same global random state, so that each check sees its own fault and not that of another;
    `leave` puts it back.

    Args:
        what: the method or metric.
        model: what it asks.
        cases: what it is run on, each with a name of its own.
    """

    what: Any
    model: Classifier
    cases: Sequence[Case]
    first: Outcomes = field(init=False)
    _call: Any = field(init=False)
    _memos: dict[str, Memo] = field(init=False, default_factory=dict)
    _random: GlobalRandom = field(init=False)
    _model_before: dict[str, str] = field(init=False)
    _disturbed: list[str] = field(init=False)
    _touched: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self._call = self._handing(self.what)
        self._model_before, self._random = model_facts(self.model), GlobalRandom.now()
        cases = self._copies(self.cases)
        before = [_content(case) for case in cases]
        self.first = alone(self._call, cases)
        self._disturbed = changed(self._random.facts(), GlobalRandom.now().facts())
        after = [changed(was, _content(case)) for case, was in zip(cases, before, strict=True)]
        self._touched = [f"{case.name!r}: {', '.join(what)}" for case, what in zip(cases, after, strict=True) if what]

    def _handing(self, what: Any) -> Any:
        return with_examples(what, [case.x for case in self.cases])

    def leave(self) -> None:
        """Put the global random state back."""
        self._random.put_back()

    def once(self, cases: Sequence[Case]) -> Outcomes:
        """What becomes of cases, each alone."""
        self._random.put_back()
        return alone(self._call, self._copies(cases))

    def value(self, name: str, verb: str) -> Check:
        """Something must come out, or no other check has anything to look at."""
        some = any(outcome.error is None for outcome in self.first.values())
        reasons = first_of({case: str(outcome.error) for case, outcome in self.first.items()})
        return Check(name, some, "" if some else f"{verb} none of the {len(self.first)}: {reasons}")

    def refusals(self) -> Check:
        """What it can't do it says by Undefined, with a reason."""
        problem = first_of({name: improper(outcome) for name, outcome in self.first.items()})
        return Check("refusals", not problem, problem)

    def passes(self) -> Check:
        """No more different passes than `passes(n)` says."""
        problem = first_of({case.name: self._too_many(case) for case in self.cases})
        return Check("passes", not problem, problem)

    def _too_many(self, case: Case) -> str | None:
        n, cost = case.x.n_units, self.first[case.name].cost
        try:
            said = Passes(*passes_of(self.what, n, self.model))
            over = cost.forward > said.forward or cost.backward > said.backward
        except Exception as error:  # noqa: BLE001 - code of others: whatever goes wrong is the finding
            return f"passes({n}) gives no Passes(forward, backward): {type(error).__name__}: {error}"
        if not over:
            return None
        asked = f"{cost.forward} forward and {cost.backward} backward"
        return f"asks for {asked}, but passes({n}) says {said.forward} and {said.backward}"

    def same_twice(self) -> Check:
        """The same input twice gives the same bits."""
        problem = apart(self.first, self.once(self.cases), 0)
        return Check("same twice", problem is None, problem or "")

    def batch_and_order(self) -> list[Check]:
        """Alone or beside others, in other batches and with other padding, first or last: the same numbers."""
        self._random.put_back()
        pooled = together(self._call, self._unanswered())
        self._random.put_back()
        backwards = together(self._call, self._unanswered()[::-1])
        found = {
            "batch": apart(self.first, pooled, self._rounding),
            "order": apart(pooled, backwards, self._rounding),
        }
        return [Check(name, problem is None, problem or "") for name, problem in found.items()]

    def seed(self) -> Check:
        """If it has a seed, another one must give other numbers somewhere."""
        if not dataclasses.is_dataclass(self.what) or not hasattr(self.what, "seed"):
            return Check("seed", True, "it has none")
        if any(provider_class(self.what, name).owns_seed for name in needs(cast("Any", self.what))):
            return Check("seed", True, "it decides what the metric is handed")
        try:
            other = dataclasses.replace(self.what, seed=self.what.seed + 1)  # type: ignore[type-var]
        except Exception as error:  # noqa: BLE001 - code of others: whatever goes wrong is the finding
            return Check("seed", False, f"can't be raised by 1: {type(error).__name__}: {error}")
        cases = [case for case in self._copies(self.cases) if numbers(self.first[case.name]) is not None]
        if not cases:
            return Check("seed", True, "there is nothing to compare")
        for case in sorted(cases, key=lambda case: -case.x.n_units):  # short inputs may leave no choice
            if apart({case.name: self.first[case.name]}, self._reseeded(other, case), 0):
                return Check("seed", True)
        return Check("seed", False, "another seed gives the same numbers on every input; draw with x.rng(self.seed)")

    def _reseeded(self, other: Any, case: Case) -> Outcomes:
        self._random.put_back()
        return alone(self._handing(other), [case])

    def global_random(self) -> list[Check]:
        """It neither changes nor reads the random numbers that the whole process shares."""
        whose = " and ".join(sorted(self._disturbed))
        problem = f"{whose} global random state is changed; draw with x.rng(seed)" if whose else ""
        GlobalRandom.seeded(20_001).put_back()
        differs = apart(self.first, alone(self._call, self._copies(self.cases)), self._rounding)
        read = f"results follow the global seed, {differs}; draw with x.rng(seed)" if differs else ""
        return [Check("global random state", not problem, problem), Check("global seeds", not read, read)]

    def leaves_alone(self) -> list[Check]:
        """Neither the model nor what it is handed is changed; to be looked at last."""
        model = ", ".join(sorted(changed(self._model_before, model_facts(self.model))))
        handed = self._touched[0] if self._touched else ""
        return [
            Check("model", not model, f"changed: {model}" if model else ""),
            Check("arguments", not handed, f"changed: {handed}" if handed else ""),
        ]

    @property
    def _rounding(self) -> float:
        return ROUNDING.get(self.model.fingerprint.get("dtype", ""), COARSE_ROUNDING)

    def _copies(self, cases: Sequence[Case]) -> list[Case]:
        """Copies of cases, each with the memo of its name: a second run is answered from it where it can be."""
        return [case.copy(self._memos.setdefault(case.name, {})) for case in cases]

    def _unanswered(self) -> list[Case]:
        """Copies of all cases, with one new memo."""
        memo: Memo = {}
        return [case.copy(memo) for case in self.cases]


def with_examples(component: Any, subjects: Sequence[Subject]) -> Any:
    """A metric that is called with examples of what its providers provide; a method as it is."""
    names = needs(component)
    examples = {name: provider_class(component, name).example(component, subjects) for name in names}
    if not examples:
        return component

    def call(x: Subject, highlight: Highlight) -> Any:
        return component(x, highlight, **{name: example(x, highlight) for name, example in examples.items()})

    return call


def _content(case: Case) -> dict[str, str]:
    """Everything that a method or metric is handed, in a form that can be compared."""
    encoding = case.x.encoding
    arrays = (case.x.state, case.x.alive, encoding.token_ids, encoding.type_ids, encoding.token_unit)
    return {
        "the input": " ".join(array.tobytes().hex() for array in arrays) + repr(encoding.notes),
        "the explanation": repr(case.highlight),
    }
