"""The run card: everything one needs to judge a run and to do it again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from verax.report.content import NOT_RECORDED, Content, entries, entry, written
from verax.report.labels import parameter
from verax.results.render.markup import Child, Html, join, tag
from verax.results.render.numbers import count, plural
from verax.types import Skip

_EXAMPLES = 5


def section(content: Content) -> Html:
    """Reproduction first, then what went in, what it cost and what is missing."""
    card = content.card
    return join(
        _block(
            "Do it again", tag("pre", tag("code", written(card, "command")), tabindex=0, class_="command"), wide=True
        ),
        _block("Model", _facts(card, "model", ("name", "architecture", "labels", "dtype", "device", "hash"))),
        _block("Data", _facts(card, "data", ("name", "split", "n", "hash", "provenance"))),
        _block("Counts", _counts(card)),
        _block("Cost", _cost(card)),
        _block("Skipped and failed", _skips(content), wide=True),
        _block("Damage", _damage(content.damaged), wide=True),
        _block(
            "Methods",
            _entries(card, "methods", ("label", "name", "parameters", "target", "version", "reference")),
            wide=True,
        ),
        _block("Metrics", _entries(card, "metrics", ("label", "name", "parameters", "range", "reference")), wide=True),
        _block("Environment", _environment(card)),
        _block("Spec", _spec(card)),
    )


def _block(title: str, body: Html, *, wide: bool = False) -> Html:
    return tag("section", tag("h3", title), body, class_="block wide" if wide else "block")


def _list(pairs: Sequence[tuple[str, Child]]) -> Html:
    return tag(
        "dl",
        [tag("div", tag("dt", key, dir="auto"), tag("dd", value, dir="auto")) for key, value in pairs],
        class_="facts",
    )


def _value(value: Any) -> Html:
    """A value of the card as it is: tables as lists of facts, lists side by side, nothing as `not recorded`."""
    if value is None or value in ("", {}, []):
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


def _facts(card: Mapping[str, Any], key: str, known: Sequence[str]) -> Html:
    """The entries that every card should have, whether it has them or not, then whatever else it holds."""
    table = entry(card, key)
    extra = [name for name in table if name not in known] if isinstance(table, Mapping) else []
    return _list([(str(name), _value(entry(table, name))) for name in [*known, *extra]])


def _counts(card: Mapping[str, Any]) -> Html:
    """Rows in = done + failed + skipped, and whether that holds."""
    names = ("rows", "done", "failed", "skipped")
    values = [entry(card, "counts", name) for name in names]
    rows, *parts = [value if isinstance(value, int) else None for value in values]
    if rows is None or None in parts:
        return _facts(card, "counts", names)
    numbers = [part for part in parts if part is not None]
    sign, said = (
        ("=", "Every row is accounted for.")
        if sum(numbers) == rows
        else ("≠", "The count does not add up: rows are missing.")
    )
    terms = [
        tag("span", tag("b", count(number)), f" {name}") for name, number in zip(names, [rows, *numbers], strict=True)
    ]
    equation = join(terms[0], f" {sign} ", terms[1], " + ", terms[2], " + ", terms[3])
    return join(tag("p", equation, class_="equation"), tag("p", said, class_="note" if sign == "=" else "alarm"))


def _cost(card: Mapping[str, Any]) -> Html:
    """Passes asked for, passes computed, passes saved because their answer was known."""
    rows = []
    for name in ("forward", "backward"):
        asked, done = entry(card, "cost", f"{name}_asked"), entry(card, "cost", name)
        known = isinstance(asked, int) and isinstance(done, int)
        saved = count(asked - done) if known else NOT_RECORDED
        cells = [count(value) if isinstance(value, int) else NOT_RECORDED for value in (asked, done)]
        rows.append(
            tag(
                "tr",
                tag("th", f"{name} passes", scope="row"),
                [tag("td", cell, class_="number") for cell in [*cells, saved]],
            )
        )
    head = tag(
        "tr", tag("td"), [tag("th", label, scope="col", class_="number") for label in ("asked", "evaluated", "saved")]
    )
    seconds = entry(card, "cost", "seconds")
    time = f"{seconds:,.1f} s" if isinstance(seconds, int | float) else NOT_RECORDED
    table = tag("table", tag("thead", head), tag("tbody", rows))
    return join(tag("div", table, class_="scroll"), tag("p", f"Time: {time}", class_="note"))


def _skips(content: Content) -> Html:
    """Explanations that could not be had, by reason, with examples; then values that could not."""
    groups: dict[tuple[bool, str], list[Skip]] = defaultdict(list)
    for skips in content.skips.values():
        for skip in skips:
            groups[skip.failed, skip.reason].append(skip)
    rows = []
    for (failed, reason), skips in sorted(
        groups.items(), key=lambda group: (not group[0][0], -len(group[1]), group[0][1])
    ):
        examples = [
            tag(
                "li",
                tag("code", skip.instance_id),
                f" · {skip.method}",
                f" · {skip.detail}" if skip.detail else None,
                dir="auto",
            )
            for skip in skips[:_EXAMPLES]
        ]
        more = tag("li", f"and {count(len(skips) - _EXAMPLES)} more") if len(skips) > _EXAMPLES else None
        kind = "failed" if failed else "skipped"
        cells = (tag("td", kind), tag("td", count(len(skips)), class_="number"), tag("td", tag("ul", examples, more)))
        rows.append(tag("tr", tag("th", reason, scope="row", dir="auto"), cells))
    head = tag(
        "tr",
        [
            tag("th", label, scope="col", class_="number" if label == "Times" else None)
            for label in ("Reason", "What", "Times", "Examples")
        ],
    )
    explanations = tag("p", "Every explanation could be had.")
    if rows:
        table = tag("table", tag("thead", head), tag("tbody", rows), class_="skips")
        explanations = tag("div", table, class_="scroll", role="region", aria_label="Skips by reason", tabindex=0)
    missing = sum(sum(reasons.values()) for reasons in content.reasons.values())
    values = (
        f"{plural(missing, 'metric value')} could not be had; the leaderboard gives the reasons." if missing else None
    )
    return join(explanations, tag("p", values, class_="note") if values else None)


def _damage(damaged: Sequence[str]) -> Html:
    if not damaged:
        return tag("p", "None: every file of the run matches its hash.")
    return join(
        tag(
            "p",
            "Some of this run can't be read, and what it held is not in this report. Run it again to redo only that.",
            class_="alarm",
        ),
        tag("ul", [tag("li", line, dir="auto") for line in damaged]),
    )


def _entries(card: Mapping[str, Any], key: str, columns: Sequence[str]) -> Html:
    """Methods or metrics with their parameters, one a row."""
    rows = [
        tag(
            "tr",
            tag("th", str(row.get("label", NOT_RECORDED)), scope="row", dir="auto"),
            [tag("td", _inline(row.get(name)), dir="auto") for name in columns[1:]],
        )
        for row in entries(card, key)
    ]
    if not rows:
        return tag("p", NOT_RECORDED, class_="quiet")
    head = tag("tr", [tag("th", name, scope="col") for name in columns])
    return tag(
        "div",
        tag("table", tag("thead", head), tag("tbody", rows)),
        class_="scroll",
        role="region",
        aria_label=key,
        tabindex=0,
    )


def _inline(value: Any) -> Html:
    """A value in one line: parameters as `name = value`."""
    if isinstance(value, Mapping) and value:
        return join(", ".join(f"{key} = {parameter(inner)}" for key, inner in value.items()))
    return _value(value)


def _spec(card: Mapping[str, Any]) -> Html:
    """The spec as a person would write it, ready to be copied."""
    spec = entry(card, "spec")
    if spec is None:
        return _value(spec)
    return tag("pre", tag("code", yaml.safe_dump(spec, sort_keys=False, allow_unicode=True)), tabindex=0)


def _environment(card: Mapping[str, Any]) -> Html:
    pairs: list[tuple[str, Child]] = [
        (key, _value(entry(card, key))) for key in ("created", "seed", "verax", "format", "machine")
    ]
    versions = entry(card, "versions")
    if isinstance(versions, Mapping):
        pairs += [(str(key), _value(value)) for key, value in versions.items()]
    return _list(pairs)
