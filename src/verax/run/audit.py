"""An audit: a run whose methods and metrics follow from what a model supports and what its data contain."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from rich.console import Console

from verax.data.selection import draw_sample, input_names
from verax.models.endpoint import Permissions
from verax.results.manifest import RANDOM, Manifest
from verax.results.run import Run
from verax.run.checking import check_fit, removing
from verax.run.cost import SECONDS, RunCost, estimate_cost
from verax.run.editor_option import fitted_to_data
from verax.run.execute_run import OutOfTime, execute_run
from verax.run.opening import explains_itself, open_data, open_model
from verax.run.parameters import from_config
from verax.run.prepare import Prepared, prepare
from verax.run.spec import parse_spec
from verax.run.until_decided import FIRST
from verax.store.files import read_regular, replace_file
from verax.store.read import read_run_card
from verax.studies.free_text.presets import NLE
from verax.types import Dataset, UserError

METHODS = (
    "leave_one_out",
    "lime",
    "shapley_sampling",
    "saliency",
    "input_x_gradient",
    "integrated_gradients",
    "attention",
)
"""Methods that score words, as far as the model supports them."""
INTERACTIONS = ("attention_interaction", "bivariate_shapley")
"""Methods that score pairs of words, one from each part, for inputs of two parts."""
COSTLY = ("bivariate_shapley",)
"""Methods that a short audit leaves out: they take more than all others together."""
ENOUGH = 100
"""Inputs that costly methods must leave time for."""
FAITHFULNESS = ("comprehensiveness", "sufficiency")
_HEAD = "# An audit of "
SHARE = 0.7
"""Share of the time left that the estimate may take: other work on a machine makes a run slower than its sample."""


class Contents(NamedTuple):
    """What data contain that decides what can be measured."""

    inputs: int
    parts: tuple[int, ...]
    langs: tuple[str, ...]
    labels: bool
    highlights: bool
    explanations: bool
    translations: bool

    @classmethod
    def of(cls, data: Dataset) -> Contents:
        """Look through all inputs."""
        human = [instance.human for instance in data.instances if instance.human is not None]
        langs = tuple(sorted({instance.lang for instance in data.instances}))
        return cls(
            inputs=len(set(input_names(data))),
            parts=tuple(sorted({len(instance.parts) for instance in data.instances})),
            langs=langs,
            labels=any(instance.label is not None for instance in data.instances),
            highlights=any(one.words is not None or one.span_pairs is not None for one in human),
            explanations=any(one.explanations for one in human),
            translations=len(langs) > 1 and any(instance.parallel_id is not None for instance in data.instances),
        )


@dataclass(frozen=True, eq=False)
class Audit:
    """An audit that is ready to be run.

    Args:
        content: of its spec; `verax run` repeats the audit from it.
        left_out: why methods and metrics are not part of it, by name.
    """

    content: dict[str, Any]
    contents: Contents
    left_out: Mapping[str, str]
    prepared: Prepared

    @property
    def most(self) -> int:
        """Number of inputs that it takes at most."""
        test = self.prepared.run.until_decided
        return len(self.prepared.run.data) if test is None else test.max_inputs

    def at_most(self, inputs: int) -> Audit:
        """The audit with no more than so many inputs."""
        content, data = dict(self.content), self.prepared.recipe.data
        if "until_decided" in content:
            content["until_decided"] = {**content["until_decided"], "max_inputs": inputs}
        else:
            content["data"] = {**content["data"], "sample": inputs}
            data = None if data is None else draw_sample(data, inputs, self.prepared.run.spec.seed)
        return self._with(content, data)

    def without_costly(self) -> Audit | None:
        """The audit without costly methods; None if it has none."""
        kept = [one for one in self.content.get("methods", ()) if _name(one) not in COSTLY]
        if len(kept) == len(self.content.get("methods", ())):
            return None
        if not any(_name(one) in INTERACTIONS for one in kept):
            kept = [one for one in kept if one != RANDOM["token_interaction"]]
        reason = f"the time is too short for it and for {ENOUGH} inputs"
        fewer = self._with({**self.content, "methods": kept}, self.prepared.recipe.data)
        return replace(fewer, left_out={**self.left_out, **dict.fromkeys(COSTLY, reason)})

    def _with(self, content: dict[str, Any], data: Dataset | None) -> Audit:
        """The audit by another spec, with the model that is loaded."""
        permissions = self.prepared.recipe.permissions
        prepared = prepare(parse_spec(content), self.prepared.run.model, data, permissions=permissions)
        return replace(self, content=content, prepared=prepared)


def plan_audit(
    content: Mapping[str, Any],
    model: Any = None,
    data: Dataset | None = None,
    permissions: Permissions = Permissions(),
) -> Audit:
    """Choose methods and metrics.

    Args:
        content: model, data and seed of a spec.
        model, data: loaded objects, in place of those that the content names.
        permissions: of the model's endpoint, if it is at one.
    """
    spec = parse_spec({**content, "metrics": FAITHFULNESS})
    opened = open_data(spec.data, spec.seed) if data is None else data
    if not opened.instances:
        raise UserError(f"data: {opened.name} has no inputs")
    found = Contents.of(opened)
    writes = explains_itself(spec.model) if model is None else "outputs" not in model.capabilities
    if writes:
        chosen, left_out = _of_texts(content, found)
    else:
        model = open_model(spec.model) if model is None else model
        data = opened
        chosen, left_out = _of_words(model, found, spec.seed)
    full = {**content, **chosen}
    return Audit(full, found, left_out, prepare(parse_spec(full), model, data, permissions=permissions))


def _of_words(model: Any, found: Contents, seed: int) -> tuple[dict[str, Any], dict[str, str]]:
    """Methods that score words, and metrics of their scores."""
    methods: list[Any] = []
    left_out: dict[str, str] = {}
    for name in (*METHODS, *INTERACTIONS):
        if name in INTERACTIONS and found.parts != (2,):
            parts = " or ".join(map(str, found.parts))
            left_out[name] = f"it scores pairs of words from two parts, and inputs have {parts}"
            continue
        try:
            method = removing(name, model, seed)
            check_fit(from_config("methods", method, seed), model)
            methods.append(method)
        except UserError as error:
            left_out[name] = str(error)
    if any(_name(method) in INTERACTIONS for method in methods):
        methods.append(RANDOM["token_interaction"])
    metrics: list[Any] = list(FAITHFULNESS)
    if found.highlights:
        metrics.append("agreement")
    else:
        left_out["agreement"] = "the data have no human highlights"
    if found.translations and "hidden" in model.capabilities:
        reference = "en" if "en" in found.langs else found.langs[0]
        metrics.append({"crosslingual_faithfulness": {"reference_lang": reference}})
    elif found.translations:
        left_out["crosslingual_faithfulness"] = f"words are aligned by hidden states, and {model.name} gives none"
    chosen = {"methods": methods, "metrics": metrics, "until_decided": {"goal": "random"}}
    return chosen, left_out


def _name(given: Any) -> str:
    """The name of an entry of a spec."""
    return str(next(iter(given))) if isinstance(given, Mapping) else str(given)


def _of_texts(content: Mapping[str, Any], found: Contents) -> tuple[dict[str, Any], dict[str, str]]:
    """Metrics of free text; the method is the model's own way to explain itself."""
    metrics: Sequence[Any] = fitted_to_data({"data": content["data"], "metrics": NLE.content["metrics"]})["metrics"]
    left_out = {} if found.explanations else {"bleu": "the data have no human explanations"}
    return {"metrics": [metric for metric in metrics if str(metric) not in left_out]}, left_out


def fitted(audit: Audit, folder: Path, budget: float | None, stop_at: float | None) -> tuple[Audit, RunCost]:
    """The audit that fits into its time, or into the requests that its endpoint may be sent; and its cost.

    Costly methods are kept if they leave time for enough inputs.

    Args:
        budget: seconds for all of it.
        stop_at: when they are over, as `time.monotonic` tells it.
    """
    if budget is None or stop_at is None:
        cost = estimate_cost(audit.prepared, folder)
        return within_requests(audit, cost), cost
    lean = audit.without_costly()
    cost = _cost_within(lean or audit, folder, budget)
    chosen = within(within_requests(lean or audit, cost), cost, stop_at - time.monotonic())
    if lean is None or chosen is not lean or 3 * _seconds(cost) > stop_at - time.monotonic():
        return chosen, cost
    whole = _cost_within(audit, folder, budget)
    full = within(audit, whole, stop_at - time.monotonic())
    return (full, whole) if full.most >= min(ENOUGH, audit.most) else (chosen, cost)


def _cost_within(audit: Audit, folder: Path, budget: float) -> RunCost:
    """The cost from a sample that itself takes little of the budget."""
    return estimate_cost(audit.prepared, folder, seconds=min(SECONDS, budget / 10))


def _seconds(cost: RunCost) -> float:
    """The estimated time, 0 if nothing is left or it is not known."""
    return 0.0 if cost.expected is None else cost.expected.seconds or 0.0


def within(audit: Audit, cost: RunCost, seconds: float) -> Audit:
    """The audit with so many inputs that its estimated cost fits into some seconds; the same one if all do.

    It keeps the inputs of the first look, since fewer decide nothing; the time may be over before they are computed.
    """
    rows = cost.left.rows - cost.left.done
    if cost.expected is None or cost.expected.seconds is None or not rows:
        return audit
    affordable = SHARE * max(seconds, 0.0) / max(cost.expected.seconds, 1e-9)
    return _shortened(audit, cost, affordable, min(FIRST, audit.most))


def within_requests(audit: Audit, cost: RunCost) -> Audit:
    """The audit with so many inputs that its endpoint is sent no more requests than the spec allows."""
    endpoint = audit.prepared.run.spec.model.endpoint
    if cost.requests is None or endpoint is None or endpoint.max_requests is None or not cost.requests.requests:
        return audit
    return _shortened(audit, cost, endpoint.max_requests / cost.requests.requests, 1)


def _shortened(audit: Audit, cost: RunCost, share: float, fewest: int) -> Audit:
    """The audit with the inputs of a share of what is left; the same one if that is all."""
    left = cost.left.rows - cost.left.done
    inputs = int(audit.most * min(1.0, (cost.left.done + share * left) / cost.left.rows))
    return audit if inputs >= audit.most else audit.at_most(max(fewest, inputs))


def execute_audit(audit: Audit, folder: Path, *, console: Console, stop_at: float | None = None) -> Run:
    """Save the spec next to the folder, and run it; the run ends at the last look before its time is over.

    A file of that name which is not the spec of an audit is not replaced.

    Args:
        stop_at: when the time is over, as `time.monotonic` tells it.
    """
    command = f"verax run {spec_file(folder)}"
    _save(audit, folder)
    try:
        return execute_run(audit.prepared, folder, command=command, console=console, stop_at=stop_at)
    except OutOfTime:
        test = Manifest.read(read_run_card(folder))[0].until_decided
        if test is None or not test.looks:
            raise
    stopped = audit.at_most(test.inputs)
    _save(stopped, folder)
    return execute_run(stopped.prepared, folder, command=command, console=console)


def spec_file(folder: Path) -> Path:
    """Where the spec of an audit is saved: next to its folder, which `verax run` uses by default for such a file."""
    return folder.with_name(f"{folder.name}.yaml")


def _save(audit: Audit, folder: Path) -> None:
    file = spec_file(folder)
    if file.is_file() and not read_regular(file).startswith(_HEAD.encode()):
        raise UserError(f"{file} was not written by an audit, and is not replaced; choose another folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    head = f"{_HEAD}{time.strftime('%Y-%m-%d')}; `verax run {file.name}` repeats it.\n"
    text = yaml.safe_dump(audit.content, sort_keys=False, allow_unicode=True, width=100)
    replace_file(file, (head + text).encode())
