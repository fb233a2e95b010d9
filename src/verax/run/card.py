"""The run card: everything that somebody needs to judge a run, or to do it again."""

from __future__ import annotations

import json
import platform
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import pyarrow.compute as pc

from verax.engine.protocols import Method
from verax.models.classifier import Classifier
from verax.models.labels import class_of
from verax.run.execute import FAILED
from verax.run.parameters import Configured
from verax.run.plan import Plan
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


def opening_card(
    model: Classifier, data: Dataset, plan: Plan, *, spec: Mapping[str, Any], command: str, seed: int
) -> dict[str, Any]:
    """What is known before anything is computed."""
    facts = {
        "name": model.name,
        "hash": key_of(**model.fingerprint),
        **model.fingerprint,
        "labels": list(model.labels),
        **model.about,
    }
    explained = key_of(inputs=[planned.key for planned in plan.instances])
    return card_of(
        model=facts,
        data=data_facts(data, explained, plan.parts),
        methods=_methods(plan),
        metrics=plan.metrics,
        spec=spec,
        command=command,
        seed=seed,
        warnings=[*unknown_labels(model, data), *unreadable(model, data)],
    )


def data_facts(data: Dataset, explained: str, parts: tuple[int, ...] | None = None) -> dict[str, Any]:
    """What a card says of the inputs; `explained` tells them from all others."""
    return {
        "name": data.name,
        "split": data.provenance.get("split"),
        "n": len(data),
        "labels": list(data.labels),
        "metric": data.metric,
        "explained_parts": "all" if parts is None else list(parts),
        "hash": explained,
        "provenance": dict(data.provenance),
    }


def card_of(
    *,
    model: Mapping[str, Any],
    data: Mapping[str, Any],
    methods: Sequence[Mapping[str, Any]],
    metrics: Sequence[Configured[Any]],
    spec: Mapping[str, Any],
    command: str,
    seed: int,
    warnings: Sequence[str],
) -> dict[str, Any]:
    """The card of a run of any kind, before anything is computed."""
    return {
        "format": FORMAT,
        "verax": version("verax"),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command,
        "spec": dict(spec),
        "model": dict(model),
        "data": dict(data),
        "methods": list(methods),
        "metrics": [
            {
                "label": named.label,
                "name": named.name,
                "parameters": named.parameters,
                "higher_is_better": named.component.higher_is_better,
                "ranked": bool(getattr(named.component, "ranked", True)),
                "range": list(named.component.range),
                "reference": named.component.reference,
                "version": named.component.version,
            }
            for named in metrics
        ],
        "seed": seed,
        "versions": {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}},
        "machine": f"{platform.system()} {platform.machine()}",
        "warnings": list(warnings),
    }


def _methods(plan: Plan) -> list[dict[str, Any]]:
    """Whoever explains: the methods of the run, then what was made elsewhere."""
    made = [
        {
            "label": named.label,
            "name": named.name,
            "parameters": named.parameters,
            "kind": named.component.kind,
            "base": getattr(named.component, "base", None),
            "target": str(getattr(named.component, "target", "none")),
            "signed": signed(named.component),
            "reference": named.component.reference,
            "version": named.component.version,
        }
        for named in plan.methods
    ]
    return made + [
        {"label": label, "name": label, "kind": kind, "parameters": {}, "reference": "made elsewhere"}
        for label, kind in plan.outside.items()
    ]


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
