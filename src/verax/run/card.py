"""The run card: everything that somebody needs to judge a run, or to do it again."""

from __future__ import annotations

import json
import platform
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import pyarrow.compute as pc

from verax.engine.protocols import Method
from verax.models.classifier import Classifier
from verax.models.labels import class_of
from verax.run.context import TEXT, RunContext
from verax.run.endpoint import endpoint_of, hosts, moved
from verax.run.parameters import Configured
from verax.run.plan import Plan
from verax.run.rows import FAILED
from verax.store.keys import key_of
from verax.store.read import RunTables, strings, value_counts
from verax.store.tables import TableName
from verax.types import Cost, Dataset, Note, UserError

FORMAT = 1
PACKAGES = ("torch", "transformers", "tokenizers", "numpy", "scipy", "scikit-learn", "pyarrow")
UNREADABLE = 0.3
"""Languages of which the model's tokenizer knows less are warned of, judged by so many inputs:"""
SAMPLED = 20
_COUNTED: tuple[TableName, ...] = ("predictions", "explanations", "texts", "scores")
INCOMPLETE = 0.05
"""Explanations that miss completeness by more than this share are warned of."""


def opening_card(plan: Plan, *, command: str, earlier: Mapping[str, Any]) -> dict[str, Any]:
    """The card before anything is computed; `earlier` is the one that the folder has."""
    run, spec = plan.run, plan.run.spec
    model = _model_facts(run, earlier)
    card = {
        "format": FORMAT,
        "verax": version("verax"),
        "created": earlier.get("created", datetime.now(UTC).isoformat(timespec="seconds")),
        "command": command,
        "spec": spec.model_dump(mode="json"),
        "model": model,
        "data": _data_facts(plan),
        "methods": [*map(_method_entry, run.methods), *_given_entries(run)],
        "metrics": [_metric_entry(metric) for metric in run.metrics],
        "seed": spec.seed,
        "versions": {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}},
        "machine": f"{platform.system()} {platform.machine()}",
        "warnings": [*_warnings_before(run), *moved(model)],
    }
    for provider in plan.providers:
        card |= provider.card()
    if endpoint_of(run.model) is not None:
        card["requests"] = earlier.get("requests", 0)
    return card


def _model_facts(run: RunContext, earlier: Mapping[str, Any]) -> dict[str, Any]:
    """What a card says of the model."""
    model = run.model
    facts = {"name": model.name, "hash": key_of(**model.fingerprint), "labels": list(model.labels)}
    if run.scores_words:
        facts |= {**model.fingerprint, "labels": list(model.labels), **model.about}
    if run.writes_text:
        facts |= {
            "setup": model.setup or "prompted",
            "prompts": {"source": model.wording.source, "hash": model.wording.hash},
            **model.predictor.about,
            **({} if model.explainer is model.predictor else {"explainer": model.explainer.about}),
        }
    if endpoint_of(model) is not None:
        facts["hosts"] = sorted({*hosts(earlier), facts["host"]})
    return facts


def _data_facts(plan: Plan) -> dict[str, Any]:
    """What a card says of the inputs."""
    data, parts = plan.run.data, plan.run.parts
    return {
        "name": data.name,
        "split": data.provenance.get("split"),
        "n": len(data),
        "labels": list(data.labels),
        "metric": data.metric,
        "explained_parts": "all" if parts is None else list(parts),
        "hash": key_of(inputs=[plan.instance_key(instance) for instance in data.instances]),
        "provenance": dict(data.provenance),
    }


def _method_entry(named: Configured[Any]) -> dict[str, Any]:
    """What a card says of a method."""
    component = named.component
    entry = {
        "label": named.label,
        "name": named.name,
        "parameters": named.parameters,
        "kind": component.kind,
        "target": "prediction",
        "reference": component.reference,
        "version": component.version,
    }
    if component.kind != TEXT:
        entry |= {
            "base": getattr(component, "base", None),
            "target": str(getattr(component, "target", "none")),
            "signed": signed(component),
        }
    return entry


def _given_entries(run: RunContext) -> list[dict[str, Any]]:
    """What a card says of explanations made elsewhere."""
    return [
        {"label": one.label, "name": one.label, "kind": one.kind, "parameters": {}, "reference": "made elsewhere"}
        for one in run.explainers
        if one.method is None
    ]


def _metric_entry(named: Configured[Any]) -> dict[str, Any]:
    """What a card says of a metric."""
    component = named.component
    return {
        "label": named.label,
        "name": named.name,
        "parameters": named.parameters,
        "higher_is_better": component.higher_is_better,
        "ranked": bool(getattr(component, "ranked", True)),
        "range": list(component.range),
        "reference": component.reference,
        "version": component.version,
    }


def _warnings_before(run: RunContext) -> list[str]:
    """What to warn of before anything is computed."""
    warnings = [*unknown_labels(run.model, run.data), *unreadable(run.model, run.data)] if run.scores_words else []
    return [*warnings, *_text_warnings(run)] if run.writes_text else warnings


def _text_warnings(run: RunContext) -> list[str]:
    """Warnings of classes that a model is not asked for, and of languages that tests of free text are not made for."""
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


def signed(method: Method) -> bool:
    """Whether a method tells what speaks for the target from what speaks against it."""
    sizes = getattr(method, "absolute", False) or getattr(method, "aggregate", None) == "l2"
    return bool(getattr(method, "signed", True)) and not sizes


def closing_card(card: Mapping[str, Any], tables: RunTables) -> dict[str, Any]:
    """The card with counts and costs of the rows themselves, so that they are right however often a run was resumed."""
    reasons = {name: tables.table(name, ["reason"])["reason"] for name in ("explanations", "scores")}
    rows = sum(tables.counts()[name] for name in _COUNTED)
    failed = sum(pc.sum(pc.equal(reason, FAILED)).as_py() or 0 for reason in reasons.values())
    no_value = sum(len(reason) - reason.null_count for reason in reasons.values())
    costs = [tables.table(name, ["cost"])["cost"] for name in _COUNTED]
    cost = {
        field.name: sum(pc.sum(pc.struct_field(column, field.name)).as_py() or 0 for column in costs)
        for field in fields(Cost)
    }
    return {
        **card,
        "cost": {**cost, "seconds": round(cost["seconds"], 3)},
        "counts": {"rows": rows, "done": rows - no_value, "failed": failed, "skipped": no_value - failed},
        "warnings": [*card.get("warnings", []), *_warnings(tables)],
    }


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


def _warnings(tables: RunTables) -> list[str]:
    """Lines about methods whose explanations are cut off, incomplete, or of a truncated input."""
    highlights = tables.table("explanations", ["method", "reason"])
    made = value_counts(highlights.filter(pc.is_null(highlights["reason"]))["method"])
    texts = value_counts(tables.table("texts", ["method"])["method"])
    short = _noted(tables, "texts", "cut_off")
    missed = _noted(tables, "explanations", "completeness_error", lambda e: isinstance(e, float) and e > INCOMPLETE)
    cut = _noted(tables, "explanations", "truncated_tokens")
    lines = [
        f"{method}: {n} of {texts[method]} explanations were cut off at the longest length"
        for method, n in short.items()
    ]
    lines += [
        f"{method}: {missed[method]} of {n} explanations miss completeness by over {INCOMPLETE:.0%}; raise its steps"
        for method, n in made.items()
        if missed[method]
    ]
    return lines + [
        f"{method}: {cut[method]} of {n} inputs were cut to fit the model" for method, n in made.items() if cut[method]
    ]


def _noted(
    tables: RunTables, name: TableName, note: str, holds: Callable[[Note], bool] = lambda _: True
) -> Counter[str]:
    """Number of explanations of each method that have a note for which `holds` is true; only their notes are parsed."""
    columns = tables.table(name, ["method", "notes"])
    noted = columns.filter(pc.match_substring(columns["notes"], json.dumps(note)))
    pairs = zip(strings(noted["method"]), map(json.loads, strings(noted["notes"])), strict=True)
    return Counter(method for method, notes in pairs if note in notes and holds(notes[note]))
