"""Checks that components fit the model, the data and each other, before anything is computed."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, get_args, get_type_hints

from verax.engine.protocols import Method, check_capabilities
from verax.models.black_box import BlackBox
from verax.models.removal import check_removal
from verax.models.targets import GENERIC, check_target, class_of
from verax.registry import unknown
from verax.run.context import TEXT, RunContext
from verax.run.parameters import Configured, from_config, named_parameters
from verax.types import Instance, UserError


def removing(given: Any, model: Any, seed: int) -> Any:
    """A method as a spec names it, with deletion where the model does not support its default rule of removal.

    A rule that is named stays, and so does that of an object: `check_fit` rejects it.
    """
    component = from_config("methods", given, seed).component
    removal = getattr(component, "removal", None)
    if removal is None or removal in getattr(model, "removals", {removal}) or dataclasses.is_dataclass(given):
        return given
    name, parameters = named_parameters("methods", given)
    chosen = "removal" in parameters or "delete" not in get_args(get_type_hints(type(component))["removal"])
    return given if chosen else {name: {**parameters, "removal": "delete"}}


def check_fit(named: Configured[Any], model: Any, *, asks_method: bool = False) -> None:
    """Reject a method or metric that the model cannot answer.

    Args:
        asks_method: whether it is a metric that asks methods of free text, which are checked themselves.
    """
    component = named.component
    for problem in () if asks_method else check_capabilities(component, model, named.name):
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
    """Reject a method that the model was not trained for, and prompts that lack a stage of it."""
    if not named.component.stages:
        return
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
    """Reject data that do not fit the model, and components that do not fit the data or each other."""
    _check_ids(run)
    _check_labels(run)
    _check_measured_langs(run)
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
    _check_answers(run)


def check_unique(run: RunContext) -> None:
    """Reject repeated labels: they identify rows."""
    labels = {
        "methods": [explainer.label for explainer in run.explainers],
        "metrics": [metric.label for metric in run.metrics],
    }
    for field, several in labels.items():
        if repeated := sorted({label for label in several if several.count(label) > 1}):
            raise UserError(f"{field}: {repeated[0]!r} is listed twice")


def _check_ids(run: RunContext) -> None:
    """Reject data in which two instances share an id: rows are stored and paired by it."""
    repeated = [instance_id for instance_id, n in Counter(x.id for x in run.data.instances).items() if n > 1]
    if repeated:
        raise UserError(f"data: {run.data.name}: {len(repeated)} ids are not unique, such as {repeated[0]!r}")


def _check_labels(run: RunContext) -> None:
    """Reject data most of whose labels are none of the model's classes, and data without labels if a metric needs them.

    A class that two tasks share, such as `neutral`, does not make their labels the same; a few inputs without a gold
    class, such as `-`, do not make them different.
    """
    data, classes = run.data, run.model.labels
    counts = Counter(instance.label for instance in data.instances if instance.label is not None)
    labels, known = sorted(counts), sum(n for label, n in counts.items() if class_of(label, classes) is not None)
    if labels and 2 * known >= counts.total():
        return
    if labels:
        most = f"most of the labels of {data.name} are none" if known else f"the labels of {data.name} are none"
        raise UserError(f"data: {most} of the classes of the model; {_fix(labels, classes)}")
    needing = [metric.name for metric in run.metrics if getattr(metric.component, "labelled", False)]
    if needing:
        raise UserError(
            f"{needing[0]} needs the gold class of the inputs, and none of the {len(data)} of {data.name} has a label: "
            "data.columns.label names the column"
        )


def _check_answers(run: RunContext) -> None:
    """Ask a function about a few inputs: it must return probabilities, or logits if it is declared to."""
    if isinstance(run.model, BlackBox) and run.data.instances:
        run.model.check(run.data.instances)


def _check_measured_langs(run: RunContext) -> None:
    """Reject languages that no input is in."""
    langs, wanted = {instance.lang for instance in run.data.instances}, run.spec.measured_langs
    for lang in () if isinstance(wanted, str) else sorted(set(wanted) - langs):
        raise UserError(f"measured_langs: {unknown('language', lang, langs)}")


def _fix(labels: Sequence[str], classes: Sequence[str]) -> str:
    """What to do about labels that the model does not have."""
    facts = f"labels: {', '.join(labels[:6])}; classes: {', '.join(classes)}."
    if all(name.casefold().startswith(GENERIC) for name in classes):
        return (
            f"{facts} The checkpoint has no names for its classes: give them in the model's order, model.labels: [...]"
        )
    if len(labels) == len(classes):
        return f"{facts} If they mean the same, give their names in the model's order: model.labels: [...]"
    return (
        f"{facts} Use data of the task that the model was trained for, or name another label column: data.columns.label"
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
    if _paired_by(pairing.component) is not pairing.component:
        fix = f"{{{pairing.name}: {{over: {{...: {{parts: within}}}}}}}}"
    raise UserError(
        f"{pairing.label} pairs the words of two parts, and the inputs of {data.name} have "
        f"{len(data.instances[0].parts)}; {fix} pairs the words of the same part"
    )


def _pairs_parts(named: Configured[Any]) -> bool:
    return getattr(_paired_by(named.component), "parts", None) == "between"


def _paired_by(component: Any) -> Any:
    """The method that pairs words: the one that a component is matched to or made from, or the component itself."""
    inner = getattr(component, "like", None) or getattr(component, "over", None)
    return component if inner is None else _paired_by(inner)


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
