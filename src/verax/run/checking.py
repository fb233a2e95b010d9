"""Checks before anything is computed: does each component fit the model, the data and the rest of the run?"""

from __future__ import annotations

import dataclasses
from importlib.util import find_spec
from typing import Any

from verax.engine.protocols import Method, check_capabilities
from verax.models.labels import check_target, class_of
from verax.models.removal import check_removal
from verax.run.context import TEXT, RunContext
from verax.run.parameters import Configured
from verax.types import Instance, UserError


def check_fit(named: Configured[Any], model: Any) -> None:
    """Reject a method or metric that asks for what the model cannot answer."""
    component = named.component
    for problem in check_capabilities(component, model, named.name):
        raise UserError(problem)
    if getattr(component, "kind", None) == TEXT:
        _check_text_method(named, model)
    for inner in (getattr(component, field.name) for field in dataclasses.fields(component)):
        if isinstance(inner, Method):
            check_fit(Configured(named.name, inner), model)
    if hasattr(component, "extra") and find_spec(component.extra[0]) is None:
        raise UserError(f"{named.name} needs {component.extra[0]}: pip install 'verax[{component.extra[1]}]'")
    if hasattr(component, "removal"):
        check_removal(component.removal, model.removals, model.name)
    if hasattr(component, "target"):
        check_target(component.target, model.labels)
    if hasattr(component, "baseline"):
        baselines: frozenset[str] = getattr(model, "baselines", frozenset())
        if component.baseline not in baselines:
            valid = ", ".join(sorted(baselines)) or "none, it has no gradients"
            raise UserError(f"{named.name}: baseline: got {component.baseline!r}; those of {model.name!r}: {valid}")


def _check_text_method(named: Configured[Any], model: Any) -> None:
    """Reject a way to explain itself that the model was not trained for, and prompts that lack what it needs."""
    if named.component.trained and model.setup != named.name:
        trained = f"was trained as {model.setup}" if model.setup else "was not trained to explain itself"
        raise UserError(
            f"methods: {named.name}: the model {model.name!r} {trained}; `verax train nle --setup {named.name}` trains "
            "one, and explain_then_answer and answer_then_explain ask any model that follows instructions"
        )
    if not named.component.trained and model.setup is not None:
        raise UserError(
            f"methods: {named.name}: the model {model.name!r} was trained as {model.setup}; leave methods out"
        )
    model.wording.check(named.component.stages)


def check_prompts(named: Configured[Any], model: Any, instance: Instance) -> None:
    """Fill every prompt of a method once, so that a placeholder without a value is found before anything is asked."""
    for stage in named.component.stages:
        model.wording.prompt(stage, instance, model.labels, label=model.labels[0], explanation="", plain=model.plain)


def check_run(run: RunContext) -> None:
    """Reject components that do not fit the data or each other."""
    _check_labels(run)
    _check_paired_parts(run)
    if run.writes_text:
        _check_alike(run)
        for method in run.methods:
            if method.component.kind == TEXT:
                check_prompts(method, run.model, run.data.instances[0])
    components: tuple[Configured[Any], ...] = (*run.methods, *run.metrics)
    for named in components:
        if hasattr(named.component, "check"):
            named.component.check(run)


def check_unique(run: RunContext) -> None:
    """Reject labels that are there twice: rows are told apart by them."""
    labels = {
        "methods": [explainer.label for explainer in run.explainers],
        "metrics": [metric.label for metric in run.metrics],
    }
    for field, several in labels.items():
        if repeated := sorted({label for label in several if several.count(label) > 1}):
            raise UserError(f"{field}: {repeated[0]!r} is there twice")


def _check_labels(run: RunContext) -> None:
    """Reject data without any gold class that the model knows, where a metric needs it."""
    data, classes = run.data, run.model.labels
    needing = [metric.name for metric in run.metrics if getattr(metric.component, "labelled", False)]
    if not needing or any(class_of(instance.label, classes) is not None for instance in data.instances):
        return
    labels = sorted({instance.label for instance in data.instances if instance.label is not None})
    hint = "data.columns.label names the column"
    if labels:
        hint = f"there are {', '.join(labels[:4])}; the model knows {', '.join(classes)}; model.labels renames them"
    raise UserError(
        f"{needing[0]} needs the gold class of the inputs, and none of the {len(data)} of {data.name} has a label that "
        f"the model knows: {hint}"
    )


def _check_paired_parts(run: RunContext) -> None:
    """Reject interactions between two parts where no input has two, or only one of them is explained."""
    data = run.data
    pairing = next((method for method in run.methods if _pairs_parts(method)), None)
    if pairing is None or not data.instances:
        return
    if any(len(instance.parts) == 2 for instance in data.instances):
        if run.parts is not None and len(run.parts) < 2:
            raise UserError(
                f"{pairing.label} pairs the words of two parts, and data.explain: maskable leaves one of them out; use "
                "explain: all"
            )
        return
    fix = "parts: within"
    if hasattr(pairing.component, "over"):
        fix = f"{{{pairing.name}: {{over: {{...: {{parts: within}}}}}}}}"
    raise UserError(
        f"{pairing.label} pairs the words of two parts, and the inputs of {data.name} have "
        f"{len(data.instances[0].parts)}; {fix} pairs the words of the same part"
    )


def _pairs_parts(named: Configured[Any]) -> bool:
    return getattr(getattr(named.component, "over", named.component), "parts", None) == "between"


def _check_alike(run: RunContext) -> None:
    """Reject inputs with different numbers of parts: a prompt has a place for each part."""
    if not run.data.instances:
        raise UserError(f"data: {run.data.name} has no inputs")
    first = run.data.instances[0]
    other = next((one for one in run.data.instances if len(one.parts) != len(first.parts)), None)
    if other is not None:
        raise UserError(
            f"data: {run.data.name}: instance {other.id!r} has {len(other.parts)} parts and {first.id!r} has "
            f"{len(first.parts)}; all inputs of a run need as many"
        )
