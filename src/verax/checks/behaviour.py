"""Checks of a component in use: results do not depend on the circumstances, and nothing else is changed."""

from __future__ import annotations

import dataclasses
import hashlib
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from verax.checks.checked import Check, Checked
from verax.checks.declaration import declaration_checks, label_and_component
from verax.checks.trials import (
    Case,
    TaskResults,
    default_inputs,
    default_model,
    difference,
    first_problem,
    numbers_of,
    readable,
    run_alone,
    run_together,
    wrong_refusal,
)
from verax.engine.protocols import needs
from verax.models.classifier import Classifier
from verax.models.subject import Memo, Subject
from verax.registry import Namespace
from verax.run.plan import passes_of
from verax.run.providers import provider_class
from verax.types import Highlight, Instance, Passes

ROUNDING = {"float64": 1e-9}
COARSE_ROUNDING = 1e-4
"""Tolerance in float32 and below, where a row is rounded differently in another batch."""


def check_component(
    namespace: Namespace,
    given: Any,
    model: Classifier | None,
    inputs: Sequence[Instance] | None,
    seed: int,
    *,
    cases_of: Callable[[int, Subject], Iterable[Case]],
    own_checks: Callable[[Behaviour], Iterable[Check]],
) -> Checked:
    """Check a method or metric (`cases_of`: the cases of an input, which is numbered from 1)."""
    model = default_model() if model is None else model
    label, component = label_and_component(namespace, given, model, seed)
    subjects = readable(model, default_inputs() if inputs is None else inputs)
    checks = declaration_checks(component, is_metric=namespace == "metrics")
    behaviour = Behaviour(component, model, [case for i, x in enumerate(subjects, 1) for case in cases_of(i, x)])
    try:
        checks += own_checks(behaviour)
        checks += behaviour.checks()
    finally:
        behaviour.random.restore()
    return Checked(label, model.name, len(subjects), tuple(checks))


class Behaviour:
    """Runs one method or metric on its cases under different circumstances.

    Every run starts from the same global random state, so that a fault shows in its own check only.
    """

    def __init__(self, component: Any, model: Classifier, cases: Sequence[Case]) -> None:
        self.component, self.model, self.cases = component, model, cases
        self._memos: dict[str, Memo] = {}
        self._call = self._with_examples(component)
        self._model_before, self.random = _model_facts(model), GlobalRandom.now()
        copies = self._copies(cases)
        before = list(map(_content, copies))
        self.first = run_alone(self._call, copies)
        self._disturbed = _changed(self.random.facts(), GlobalRandom.now().facts())
        after = [_changed(content, _content(case)) for case, content in zip(copies, before, strict=True)]
        self._touched = {case.name: ", ".join(names) or None for case, names in zip(copies, after, strict=True)}

    def once(self, cases: Sequence[Case]) -> TaskResults:
        """Results of cases, each run alone."""
        self.random.restore()
        return run_alone(self._call, self._copies(cases))

    def checks(self) -> list[Check]:
        """Checks that methods and metrics share; changes to the model are looked at last."""
        return [
            self._passes(),
            Check.of("same twice", difference(self.first, self.once(self.cases), 0)),
            *self._batch_and_order(),
            self._seed(),
            *self._global_random(),
            *self._side_effects(),
        ]

    def value(self, verb: str) -> Check:
        """Some case must have a value: all other checks look at values."""
        if any(outcome.error is None for outcome in self.first.values()):
            return Check(verb, True)
        reasons = first_problem({case: str(outcome.error) for case, outcome in self.first.items()})
        return Check.of(verb, f"{verb} none of the {len(self.first)}: {reasons}")

    def refusals(self, name: str, cases: Iterable[Case]) -> Check:
        """Cases without a value must raise Undefined, with a reason."""
        return Check.of(name, first_problem({case.name: wrong_refusal(self.first[case.name]) for case in cases}))

    def _passes(self) -> Check:
        """No more different passes than `passes(n)` declares."""
        return Check.of("passes", first_problem({case.name: self._too_many(case) for case in self.cases}))

    def _too_many(self, case: Case) -> str | None:
        n, cost = case.x.n_units, self.first[case.name].cost
        try:
            declared = Passes(*passes_of(self.component, n, self.model))
            over = cost.forward > declared.forward or cost.backward > declared.backward
        except Exception as error:  # noqa: BLE001 - foreign code: every error is a problem to report
            return f"passes({n}) gives no Passes(forward, backward): {type(error).__name__}: {error}"
        if not over:
            return None
        asked = f"{cost.forward} forward and {cost.backward} backward"
        return f"asks for {asked}, but passes({n}) says {declared.forward} and {declared.backward}"

    def _batch_and_order(self) -> list[Check]:
        """The same numbers alone or with others, in other batches with other padding, first or last."""
        self.random.restore()
        pooled = run_together(self._call, self._unanswered())
        self.random.restore()
        backwards = run_together(self._call, self._unanswered()[::-1])
        return [
            Check.of("batch", difference(self.first, pooled, self._rounding)),
            Check.of("order", difference(pooled, backwards, self._rounding)),
        ]

    def _seed(self) -> Check:
        """Another seed must give other numbers in some case."""
        if not dataclasses.is_dataclass(self.component) or not hasattr(self.component, "seed"):
            return Check("seed", True, "it has none")
        if any(provider_class(self.component, name).owns_seed for name in needs(cast("Any", self.component))):
            return Check("seed", True, "it determines what the provider gives to the metric")
        try:
            other = dataclasses.replace(self.component, seed=self.component.seed + 1)  # type: ignore[type-var]
        except Exception as error:  # noqa: BLE001 - foreign code: every error is a problem to report
            return Check.of("seed", f"can't be raised by 1: {type(error).__name__}: {error}")
        cases = [case for case in self._copies(self.cases) if numbers_of(self.first[case.name]) is not None]
        if not cases:
            return Check("seed", True, "there is nothing to compare")
        for case in sorted(cases, key=lambda case: -case.x.n_units):  # short inputs may leave no choice
            self.random.restore()
            reseeded = run_alone(self._with_examples(other), [case])
            if difference({case.name: self.first[case.name]}, reseeded, 0):
                return Check("seed", True)
        return Check.of("seed", "another seed gives the same numbers on every input; draw with x.rng(self.seed)")

    def _global_random(self) -> list[Check]:
        """The random state of the process is neither changed nor read."""
        owners = " and ".join(sorted(self._disturbed))
        problem = f"{owners} global random state is changed; draw with x.rng(seed)" if owners else None
        GlobalRandom.seeded(20_001).restore()
        differs = difference(self.first, run_alone(self._call, self._copies(self.cases)), self._rounding)
        read = f"results follow the global seed, {differs}; draw with x.rng(seed)" if differs else None
        return [Check.of("global random state", problem), Check.of("global seeds", read)]

    def _side_effects(self) -> list[Check]:
        """Neither the model nor the arguments are changed."""
        model = ", ".join(sorted(_changed(self._model_before, _model_facts(self.model))))
        touched = next((f"changed: {name!r}: {what}" for name, what in self._touched.items() if what), None)
        return [Check.of("model", f"changed: {model}" if model else None), Check.of("arguments", touched)]

    @property
    def _rounding(self) -> float:
        return ROUNDING.get(self.model.fingerprint.get("dtype", ""), COARSE_ROUNDING)

    def _copies(self, cases: Sequence[Case]) -> list[Case]:
        """Copies of cases, each with the memo of its name, from which a second run is answered."""
        return [case.copy(self._memos.setdefault(case.name, {})) for case in cases]

    def _unanswered(self) -> list[Case]:
        """Copies of all cases, with one new memo."""
        memo: Memo = {}
        return [case.copy(memo) for case in self.cases]

    def _with_examples(self, component: Any) -> Any:
        """A metric that is called with examples of what its providers provide; a method as it is."""
        subjects = [case.x for case in self.cases]
        examples = {name: provider_class(component, name).example(component, subjects) for name in needs(component)}
        if not examples:
            return component

        def call(x: Subject, highlight: Highlight) -> Any:
            return component(x, highlight, **{name: example(x, highlight) for name, example in examples.items()})

        return call


@dataclass(frozen=True, eq=False, slots=True)
class GlobalRandom:
    """State of the global random generators of Python, numpy and torch; None for torch if it is not imported."""

    python: Any
    numpy: Any
    torch: Any

    @classmethod
    def now(cls) -> GlobalRandom:
        """The current state."""
        torch = sys.modules.get("torch")
        return cls(random.getstate(), np.random.get_state(), None if torch is None else torch.get_rng_state())

    @classmethod
    def seeded(cls, seed: int) -> GlobalRandom:
        """The state after seeding everything; nothing is changed."""
        torch = sys.modules.get("torch")
        drawn = None if torch is None else torch.Generator().manual_seed(seed).get_state()
        return cls(random.Random(seed).getstate(), np.random.RandomState(seed).get_state(), drawn)

    def restore(self) -> None:
        """Make it the state of the process."""
        random.setstate(self.python)
        np.random.set_state(self.numpy)
        if self.torch is not None:
            sys.modules["torch"].set_rng_state(self.torch)

    def facts(self) -> dict[str, str]:
        """Each state by its owner, as text that can be compared."""
        algorithm, key, *rest = self.numpy
        return {
            "Python's": repr(self.python),
            "numpy's": f"{algorithm} {key.tobytes().hex()} {rest}",
            "torch's": "" if self.torch is None else self.torch.numpy().tobytes().hex(),
        }


def _model_facts(model: Any) -> dict[str, str]:
    """The state of a model and of all torch modules that it holds, as text that can be compared."""
    facts = {"public attributes": repr([getattr(model, name, None) for name in ("name", "labels", "fingerprint")])}
    torch = sys.modules.get("torch")
    if torch is None:
        return facts
    for module in vars(model).values():
        if isinstance(module, torch.nn.Module):
            for name, fact in _module_facts(module):
                facts[name] = hashlib.sha256(f"{facts.get(name, '')}{fact}".encode()).hexdigest()
    return facts


def _module_facts(module: Any) -> Iterator[tuple[str, str]]:
    weights = hashlib.sha256()
    for name, tensor in module.state_dict().items():
        weights.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        weights.update(tensor.detach().cpu().contiguous().double().numpy().tobytes())
    yield "weights", weights.hexdigest()
    parts, parameters = list(module.modules()), list(module.parameters())
    hooks = [[len(hooks) for name, hooks in vars(part).items() if name.endswith("_hooks")] for part in parts]
    yield "training flags", repr([part.training for part in parts])
    yield "hooks", repr(hooks)
    yield "requires_grad", repr([parameter.requires_grad for parameter in parameters])
    yield "gradients left behind", repr([parameter.grad is not None for parameter in parameters])
    config: Any = getattr(module, "config", None)
    yield "attention implementation", str(getattr(config, "_attn_implementation", None))
    yield "configuration", config.to_json_string() if hasattr(config, "to_json_string") else ""


def _content(case: Case) -> dict[str, str]:
    """The arguments of a case, as text that can be compared."""
    encoding = case.x.encoding
    arrays = (case.x.state, case.x.alive, encoding.token_ids, encoding.type_ids, encoding.token_unit)
    return {
        "the input": " ".join(array.tobytes().hex() for array in arrays) + repr(encoding.notes),
        "the explanation": repr(case.highlight),
    }


def _changed(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Names of the facts that have changed."""
    return [name for name in before.keys() | after.keys() if before.get(name) != after.get(name)]
