"""The run card: everything needed to assess a run and to reproduce it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import yaml

from verax.report.content import Content
from verax.results.manifest import NOT_RECORDED, Manifest, MethodEntry, MetricEntry
from verax.results.render.markup import Child, Html, join, tag
from verax.results.render.numbers import count, plural
from verax.types import Skip

_EXAMPLES = 5
_METHOD_COLUMNS = ("name", "parameters", "target", "version", "reference")
_METRIC_COLUMNS = ("name", "parameters", "range", "reference")


def section(content: Content) -> Html:
    """Reproduction first, then inputs, cost and what is missing."""
    manifest = content.manifest
    return join(
        _block("Reproduce", tag("pre", tag("code", manifest.command), tabindex=0, class_="command"), wide=True),
        _block("Warnings", _lines(manifest.warnings), wide=True) if manifest.warnings else None,
        _block("Model", _facts(manifest.model.facts, ("name", "architecture", "labels", "dtype", "device", "hash"))),
        _block("Data", _facts(manifest.data.model_dump(), ("name", "split", "n", "hash", "provenance"))),
        _until_decided(manifest),
        _block("Counts", _counts(manifest)),
        _block("Cost", _cost(manifest)),
        _block("Skipped and failed", _skips(content), wide=True),
        _block("Unreadable data", _unreadable(content.run.problems), wide=True),
        _block("Methods", _entries(manifest.methods, _METHOD_COLUMNS), wide=True),
        _block("Metrics", _entries(manifest.metrics, _METRIC_COLUMNS), wide=True),
        _block("Environment", _environment(manifest), wide=True),
        _block("Spec", _spec(manifest), wide=True),
    )


def _block(title: str, body: Html, *, wide: bool = False) -> Html:
    return tag("section", tag("h3", title), body, class_="block wide" if wide else "block")


def _lines(lines: Sequence[str]) -> Html:
    return tag("ul", [tag("li", line, dir="auto") for line in lines])


def _list(pairs: Sequence[tuple[str, Child]]) -> Html:
    return tag(
        "dl",
        [tag("div", tag("dt", key, dir="auto"), tag("dd", value, dir="auto")) for key, value in pairs],
        class_="facts",
    )


def _value(value: Any) -> Html:
    """A value of the card: mappings as lists of facts, lists in one line, missing ones as `not recorded`."""
    if value is None or value in ("", {}, [], ()):
        return tag("span", NOT_RECORDED if value in (None, "") else "none", class_="quiet")
    if isinstance(value, Mapping):
        return _list([(str(key), _value(inner)) for key, inner in value.items()])
    if isinstance(value, list | tuple):
        if any(isinstance(item, Mapping | list | tuple) for item in value):
            return tag("ul", [tag("li", _value(item)) for item in value])
        return join(", ".join(str(item) for item in value))
    if isinstance(value, bool):
        return join("yes" if value else "no")
    return tag("code", value) if isinstance(value, str) and _is_hash(value) else join(str(value))


def _is_hash(value: str) -> bool:
    return len(value) >= 16 and all(char in "0123456789abcdef" for char in value.removeprefix("sha256:"))


def _facts(facts: Mapping[str, Any], known: Sequence[str]) -> Html:
    """The entries that every card should have, then all others."""
    return _list([(name, _value(facts.get(name))) for name in dict.fromkeys([*known, *facts])])


def _until_decided(manifest: Manifest) -> Html | None:
    """The sequential test of a run that stopped once a ranking was decided."""
    test = manifest.until_decided
    return None if test is None else _block("Until decided", _value(test.model_dump()))


def _counts(manifest: Manifest) -> Html:
    """Rows = done + failed + skipped, and whether that holds."""
    counts = manifest.counts
    if counts is None:
        return tag("p", NOT_RECORDED, class_="quiet")
    parts = {"done": counts.done, "failed": counts.failed, "skipped": counts.skipped}
    complete = sum(parts.values()) == counts.rows
    terms = [
        tag("span", tag("b", count(number)), f" {name}") for name, number in {"rows": counts.rows, **parts}.items()
    ]
    equation = join(terms[0], f" {'=' if complete else '≠'} ", terms[1], " + ", terms[2], " + ", terms[3])
    words = "Every row is accounted for." if complete else "The counts do not add up: rows are missing."
    return join(tag("p", equation, class_="equation"), tag("p", words, class_="note" if complete else "alarm"))


def _cost(manifest: Manifest) -> Html:
    """Passes that were requested, computed, and saved."""
    rows = []
    for name in ("forward", "backward"):
        asked, done = manifest.cost.get(f"{name}_asked"), manifest.cost.get(name)
        saved = None if asked is None or done is None else asked - done
        cells = [NOT_RECORDED if value is None else count(int(value)) for value in (asked, done, saved)]
        numbers = [tag("td", cell, class_="number") for cell in cells]
        rows.append(tag("tr", tag("th", f"{name} passes", scope="row"), numbers))
    labels = ("requested", "computed", "saved")
    head = tag("tr", tag("td"), [tag("th", label, scope="col", class_="number") for label in labels])
    seconds = manifest.cost.get("seconds")
    time = NOT_RECORDED if seconds is None else f"{seconds:,.1f} s"
    table = tag("table", tag("thead", head), tag("tbody", rows))
    return join(tag("div", table, class_="scroll"), tag("p", f"Time: {time}", class_="note"))


def _skips(content: Content) -> Html:
    """Missing explanations by reason, with examples; then the number of missing values."""
    run = content.run
    ordered = sorted(run.skip_groups().items(), key=lambda group: (not group[0][0], -len(group[1]), group[0][1]))
    rows = [
        _skip_row(failed, reason, run.skips(rows=places[:_EXAMPLES]), len(places))
        for (failed, reason), places in ordered
    ]
    heads = [
        tag("th", label, scope="col", class_="number" if label == "Times" else None)
        for label in ("Reason", "Outcome", "Times", "Examples")
    ]
    explanations = tag("p", "No explanation is missing.")
    if rows:
        table = tag("table", tag("thead", tag("tr", heads)), tag("tbody", rows), class_="skips")
        explanations = tag("div", table, class_="scroll", role="region", aria_label="Skips by reason", tabindex=0)
    missing = int(np.isnan(content.run.scores.value).sum())
    words = f"{plural(missing, 'metric value')} not available; the tables give the reasons." if missing else None
    return join(explanations, tag("p", words, class_="note") if words else None)


def _skip_row(failed: bool, reason: str, skips: Sequence[Skip], number: int) -> Html:
    examples = []
    for skip in skips:
        detail = f" · {skip.detail}" if skip.detail else None
        examples.append(tag("li", tag("code", skip.instance_id), f" · {skip.method}", detail, dir="auto"))
    more = tag("li", f"and {count(number - len(skips))} more") if number > len(skips) else None
    return tag(
        "tr",
        tag("th", reason, scope="row", dir="auto"),
        tag("td", "failed" if failed else "skipped"),
        tag("td", count(number), class_="number"),
        tag("td", tag("ul", examples, more)),
    )


def _unreadable(problems: Sequence[str]) -> Html:
    if not problems:
        return tag("p", "None.")
    words = "Some rows of this run are missing or cannot be read and are not in this report. Run it again to add them."
    return join(tag("p", words, class_="alarm"), _lines(problems))


def _entries(entries: Sequence[MethodEntry | MetricEntry], columns: Sequence[str]) -> Html:
    """Methods or metrics with their parameters, one per row."""
    rows = [
        tag(
            "tr",
            tag("th", entry.label, scope="row", dir="auto"),
            [tag("td", _inline(getattr(entry, name)), dir="auto") for name in columns],
        )
        for entry in entries
    ]
    if not rows:
        return tag("p", NOT_RECORDED, class_="quiet")
    head = tag("tr", [tag("th", name, scope="col") for name in ("label", *columns)])
    table = tag("table", tag("thead", head), tag("tbody", rows))
    return tag("div", table, class_="scroll", role="region", aria_label="Parameters", tabindex=0)


def _inline(value: Any) -> Html:
    """A value in one line: parameters as `name = value`."""
    if isinstance(value, Mapping) and value:
        return join(", ".join(f"{key} = {inner}" for key, inner in value.items()))
    return _value(value)


def _spec(manifest: Manifest) -> Html:
    """The spec as YAML, ready to be copied."""
    if not manifest.spec:
        return _value(None)
    return tag(
        "pre",
        tag("code", yaml.safe_dump(manifest.spec, sort_keys=False, allow_unicode=True)),
        tabindex=0,
        class_="spec",
    )


def _environment(manifest: Manifest) -> Html:
    names = ("created", "seed", "verax", "format", "machine")
    pairs: list[tuple[str, Child]] = [(name, _value(getattr(manifest, name))) for name in names]
    return _list([*pairs, *((name, _value(value)) for name, value in manifest.versions.items())])
