"""The run card: the typed manifest of a run, before and after its rows are computed."""

from __future__ import annotations

import json
import math
import platform
from collections import Counter
from collections.abc import Callable
from dataclasses import fields
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import pyarrow.compute as pc

from verax.engine.protocols import Method
from verax.methods.integrated_gradients import INCOMPLETE
from verax.models.classifier import Classifier
from verax.models.targets import class_of
from verax.results.manifest import FORMAT, Counts, DataEntry, Manifest, MethodEntry, MetricEntry, ModelEntry
from verax.run.context import TEXT, RunContext
from verax.run.endpoint import endpoint_of, hosts, moved
from verax.run.parameters import Configured
from verax.run.plan import Plan
from verax.store.keys import key_of
from verax.store.read import RunTables, strings, value_counts
from verax.store.tables import COUNTED, TableName
from verax.types import CUT_OFF, FAILED, Cost, Dataset, Note, UserError

PACKAGES = ("torch", "transformers", "tokenizers", "numpy", "scipy", "scikit-learn", "pyarrow")
UNREADABLE, SAMPLED = 0.3, 20
"""A language is warned of if the tokenizer does not know this share of the words of its first inputs."""


def opening_manifest(plan: Plan, *, rows: int, command: str, earlier: Manifest) -> Manifest:
    """The manifest before anything is computed.

    Args:
        rows: of the plan, without inputs and products of providers.
        earlier: the manifest in the folder, if any.
    """
    run, spec = plan.run, plan.run.spec
    model = _model_entry(run, earlier)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    more = {name: value for provider in plan.providers for name, value in provider.card().items()}
    if run.left_out:
        more["left_out"] = dict(run.left_out)
    if run.until_decided is not None:
        more["until_decided"] = run.until_decided
    if endpoint_of(run.model) is not None:
        more["requests"] = earlier.requests or 0
    return Manifest(
        format=FORMAT,
        verax=version("verax"),
        created=earlier.created if "created" in earlier.model_fields_set else now,
        command=command,
        spec=spec.model_dump(mode="json"),
        model=model,
        data=_data_entry(plan),
        methods=(*map(method_entry, run.methods), *_given_entries(run)),
        metrics=tuple(map(_metric_entry, run.metrics)),
        seed=spec.seed,
        planned=rows,
        versions={"python": platform.python_version(), **{name: version(name) for name in PACKAGES}},
        machine=f"{platform.system()} {platform.machine()}",
        warnings=(*_warnings_before(run), *moved(model)),
        **more,
    )


def _model_entry(run: RunContext, earlier: Manifest) -> ModelEntry:
    model = run.model
    facts: dict[str, Any] = {"name": model.name, "hash": key_of(**model.fingerprint)}
    if run.scores_words:
        facts |= {**model.fingerprint, **model.about}
    if run.writes_text and hasattr(model, "setup"):
        facts |= {
            "setup": model.setup or "prompted",
            "prompts": {"source": model.wording.source, "hash": model.wording.hash},
            **model.predictor.about,
            **({} if model.explainer is model.predictor else {"explainer": model.explainer.about}),
        }
    if endpoint_of(model) is not None:
        facts["hosts"] = sorted({*hosts(earlier.model), facts["host"]})
    return ModelEntry(**{**facts, "labels": model.labels})


def _data_entry(plan: Plan) -> DataEntry:
    data, parts = plan.run.data, plan.run.parts
    return DataEntry(
        name=data.name,
        split=data.provenance.get("split"),
        n=len(data),
        labels=data.labels,
        metric=data.metric,
        explained_parts="all" if parts is None else parts,
        hash=key_of(inputs=[plan.instance_key(instance) for instance in data.instances]),
        provenance=dict(data.provenance),
    )


def method_entry(named: Configured[Any]) -> MethodEntry:
    """What a run card says about a method."""
    component = named.component
    more: dict[str, Any] = {"target": "prediction"}
    if component.kind != TEXT:
        more = {
            "base": getattr(component, "base", None),
            "target": str(getattr(component, "target", "none")),
            "signed": is_signed(component),
            "ranks": bool(getattr(component, "ranks", False)),
        }
    return MethodEntry(
        label=named.label,
        name=named.name,
        parameters=named.parameters,
        kind=component.kind,
        reference=component.reference,
        version=component.version,
        **more,
    )


def _given_entries(run: RunContext) -> list[MethodEntry]:
    """Entries of explanations made elsewhere."""
    return [
        MethodEntry(label=one.label, name=one.label, kind=one.kind, parameters={}, reference="made elsewhere")
        for one in run.explainers
        if one.method is None
    ]


def _metric_entry(named: Configured[Any]) -> MetricEntry:
    component = named.component
    return MetricEntry(
        label=named.label,
        name=named.name,
        parameters=named.parameters,
        higher_is_better=component.higher_is_better,
        ranked=bool(getattr(component, "ranked", True)),
        range=_finite(component.range),
        reference=component.reference,
        version=component.version,
    )


def _finite(bounds: tuple[float | None, float | None]) -> tuple[float | None, float | None]:
    """The bounds of a metric; None for an infinite one, which JSON does not have."""
    low, high = (bound if bound is None or math.isfinite(bound) else None for bound in bounds)
    return low, high


def _warnings_before(run: RunContext) -> list[str]:
    """Warnings about the model and the data."""
    warnings = [*unknown_labels(run.model, run.data), *unreadable(run.model, run.data)] if run.scores_words else []
    return [*warnings, *_text_warnings(run)] if run.writes_text else warnings


def _text_warnings(run: RunContext) -> list[str]:
    """Warnings about labels without a class, and about languages that tests of free text do not support."""
    known = {label.casefold() for label in run.model.labels}  # as answers are read
    labels = {instance.label for instance in run.data.instances if instance.label is not None}
    unknown = sorted(label for label in labels if label.casefold() not in known)
    warnings = [f"labels that the model has no class for: {', '.join(unknown[:4])}"] if unknown else []
    foreign = sorted({one.lang for one in run.data.instances if one.lang.partition("-")[0] != "en"})
    if foreign:
        warnings.append(
            f"editors, templates and mentions go by rules for English; there are inputs in {', '.join(foreign)}"
        )
    return warnings


def is_signed(method: Method) -> bool:
    """Whether the scores of a method distinguish what supports the target from what opposes it."""
    inner = getattr(method, "over", None)
    if isinstance(inner, Method):  # spans over pairs, another method on randomised weights
        return is_signed(inner)
    sizes = getattr(method, "absolute", False) or getattr(method, "aggregate", None) in {"l1", "l2"}
    return bool(getattr(method, "signed", True)) and not sizes


def closing_manifest(manifest: Manifest, tables: RunTables) -> Manifest:
    """The manifest with counts and costs of all stored rows, however often the run was resumed."""
    reasons = [tables.table(name, ["reason"])["reason"] for name in ("explanations", "scores")]
    rows = sum(tables.counts()[name] for name in COUNTED)
    failed = sum(pc.sum(pc.equal(reason, FAILED)).as_py() or 0 for reason in reasons)
    no_value = sum(len(reason) - reason.null_count for reason in reasons)
    costs = [tables.table(name, ["cost"])["cost"] for name in COUNTED]
    cost = {
        field.name: sum(pc.sum(pc.struct_field(column, field.name)).as_py() or 0 for column in costs)
        for field in fields(Cost)
    }
    return manifest.model_copy(
        update={
            "cost": {**cost, "seconds": round(cost["seconds"], 3)},
            "counts": Counts(rows=rows, done=rows - no_value, failed=failed, skipped=no_value - failed),
            "warnings": (*manifest.warnings, *_warnings_after(tables)),
        }
    )


def unknown_labels(model: Classifier, data: Dataset) -> list[str]:
    """A warning if instances carry labels that the model has no class for."""
    strange = [i.label for i in data.instances if i.label is not None and class_of(i.label, model.labels) is None]
    if not strange:
        return []
    names = ", ".join(map(repr, sorted(set(strange))[:4]))
    return [
        f"{len(strange)} of {len(data)} instances have a label that the model has no class for ({names}; its classes: "
        f"{', '.join(model.labels)}): targets gold and loss are skipped there; model.labels can rename the classes"
    ]


def unreadable(model: Classifier, data: Dataset) -> list[str]:
    """A warning for each language that the model's tokenizer mostly can't read, judged by its first inputs."""
    shares: dict[str, list[float]] = {}
    for instance in data.instances:
        seen = shares.setdefault(instance.lang, [])
        if len(seen) < SAMPLED:
            try:
                seen.append(model.unknown(model.encode(instance)))
            except UserError:
                raise
            except Exception:  # noqa: BLE001, S112 - it is recorded with its reason when the model is asked about it
                continue
    means = {lang: sum(seen) / len(seen) for lang, seen in shares.items() if seen}
    return [
        f"{lang}: the model's tokenizer does not know {share:.0%} of the words of the first inputs; what is explained "
        "there is mostly an unknown token"
        for lang, share in means.items()
        if share > UNREADABLE
    ]


def _warnings_after(tables: RunTables) -> list[str]:
    """Lines about methods whose explanations are cut off, incomplete, or of a truncated input."""
    highlights = tables.table("explanations", ["method", "reason"])
    made = value_counts(highlights.filter(pc.is_null(highlights["reason"]))["method"])
    texts = value_counts(tables.table("texts", ["method"])["method"])
    short = _noted(tables, "texts", CUT_OFF)
    missed = _noted(tables, "explanations", "completeness_error", lambda e: isinstance(e, float) and e > INCOMPLETE)
    cut = _noted(tables, "explanations", "truncated_tokens")
    lines = [
        f"{method}: {n} of {texts[method]} explanations were cut off, and test nothing; raise its max_new_tokens"
        for method, n in short.items()
    ]
    lines += [
        f"{method}: {missed[method]} of {n} explanations miss completeness by over {INCOMPLETE:.0%}; raise its steps"
        for method, n in made.items()
        if missed[method]
    ]
    lines += [
        f"{method}: {cut[method]} of {n} inputs were cut to fit the model" for method, n in made.items() if cut[method]
    ]
    return lines + _collapsed(tables)


def _collapsed(tables: RunTables) -> list[str]:
    """Lines about agents of simulatability that name one class for all held-out inputs, where the model names more."""
    columns = tables.table("scores", ["metric", "method", "series"])
    rows = columns.filter(pc.fill_null(pc.match_substring(columns["series"], '"without"'), False))
    model: dict[tuple[str, str], set[float]] = {}
    agents: dict[tuple[str, str], dict[tuple[str, int], set[float]]] = {}
    for metric, method, text in zip(*(strings(rows[name]) for name in rows.column_names), strict=True):
        series = json.loads(text or "{}")
        model.setdefault((metric, method), set()).update(series["model"])
        for side in ("with", "without"):
            for seed, named in enumerate(series[side]):
                agents.setdefault((metric, method), {}).setdefault((side, seed), set()).add(named)
    lines = []
    for (metric, method), classes in model.items():
        sides = [side for (side, _), named in agents[metric, method].items() if len(named) == 1 < len(classes)]
        of = len(agents[metric, method]) // 2
        lines += [
            f"{metric}: {sides.count(side)} of {of} agents {what} collapsed to one class and measure nothing; give "
            "more inputs, more epochs or another learning rate"
            for side, what in (("with", f"that see {method}"), ("without", "without explanations"))
            if side in sides
        ]
    return list(dict.fromkeys(lines))  # those without explanations are shared by all methods


def _noted(
    tables: RunTables, name: TableName, note: str, holds: Callable[[Note], bool] = lambda _: True
) -> Counter[str]:
    """Number of explanations of each method that have a note for which `holds` is true; only their notes are parsed."""
    columns = tables.table(name, ["method", "notes"])
    noted = columns.filter(pc.match_substring(columns["notes"], json.dumps(note)))
    pairs = zip(strings(noted["method"]), map(json.loads, strings(noted["notes"])), strict=True)
    return Counter(method for method, notes in pairs if note in notes and holds(notes[note]))
