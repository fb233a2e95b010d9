"""Short names of methods and metrics in tables and figures: `IG (sign)`, `LOO`, `Louvain over Shapley`."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from verax.registry.lookup import Namespace, RegistryEntry, ShortForms, built_in

Path = tuple[str, ...]
"""Where a value is among parameters: `("steps",)`, or `("over", "budget")` inside another component or record."""
Values = Mapping[Path, Any]

SHORT_FORMS: ShortForms = {
    "absolute": {"true": "abs", "false": "sign"},
    "aggregate": {"l1": "L1", "l2": "L2"},
    "norm": {"l1": "L1", "l2": "L2"},
    "head": {"most_important": "top head"},
    "over": {
        "bivariate_shapley": "Shapley",
        "attention_interaction": "attention",
        "attention_attribution": "AttAttr",
        "shapley_interaction": "SII",
        "random_interaction": "random pairs",
    },
}
"""How values of common parameters are shown; a class declares its own as `short_forms`."""
LONGEST_LIST = 3


def display_names(namespace: Namespace, components: Sequence[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """Short names for the rows of one table: the display name, and the parameters in which its rows differ.

    Different components get different names, and equal ones the same, in whatever order they come. A name that is not
    built in (a plug-in, explanations made elsewhere) is its own display name.

    Args:
        components: registered name and parameters of each row, as in a run card; missing parameters have defaults.
    """
    known = built_in(namespace)
    named = [known.get(name) or RegistryEntry(name, "", "", "") for name, _ in components]
    rows = [_flat({**entry.defaults, **parameters}) for entry, (_, parameters) in zip(named, components, strict=True)]
    groups: dict[str, list[Values]] = {}
    for entry, values in zip(named, rows, strict=True):
        groups.setdefault(entry.name, []).append(values)
    details = {name: list(_differing(group)) for name, group in groups.items()}
    short = [_short_name(entry, values, details[entry.name]) for entry, values in zip(named, rows, strict=True)]
    shared = defaultdict(set)
    for text, entry, values in zip(short, named, rows, strict=True):
        shared[text].add((entry.name, *map(_written, values.items())))
    return [
        text if len(shared[text]) == 1 else _full_name(entry, values, details[entry.name])
        for text, entry, values in zip(short, named, rows, strict=True)
    ]


def _short_name(entry: RegistryEntry, values: Values, details: Sequence[Path]) -> str:
    in_title = [(parameter,) for parameter in re.findall(r"{(\w+)}", entry.display)]
    title = entry.display or entry.name
    for path in in_title:
        title = title.replace(f"{{{path[0]}}}", _word(path, values.get(path), entry))
    shown = [_word(path, values[path], entry) for path in details if path in values and path not in in_title]
    return _with_details(title, shown)


def _full_name(entry: RegistryEntry, values: Values, details: Sequence[Path]) -> str:
    """The registered name with differing parameters spelled out, for rows whose short names coincide."""
    return _with_details(
        entry.name, [f"{'.'.join(path)}={_written(values[path])}" for path in details if path in values]
    )


def _with_details(title: str, details: Sequence[str]) -> str:
    shown = ", ".join(filter(None, details))
    return f"{title} ({shown})" if shown else title


def _flat(parameters: Mapping[str, Any], above: Path = ()) -> dict[Path, Any]:
    """Parameters by path; a component `{name: parameters}` is its name, with its parameters below it."""
    flat: dict[Path, Any] = {}
    for name, value in parameters.items():
        path = (*above, name)
        if isinstance(value, Mapping):
            inner = value
            if len(value) == 1 and isinstance(next(iter(value.values())), Mapping):
                ((flat[path], inner),) = value.items()
            flat |= _flat(inner, path)
        else:
            flat[path] = value
    return flat


def _differing(rows: Sequence[Values]) -> Iterator[Path]:
    """The parameters in which rows differ; those of inner components among the rows that have the same component."""
    for path in dict.fromkeys(path for row in rows for path in row):
        values = defaultdict(set)
        for row in rows:
            above = tuple(row.get(path[:depth]) for depth in range(1, len(path)))
            values[above].add(_written(row.get(path)))
        if any(len(different) > 1 for different in values.values()):
            yield path


def _word(path: Path, value: Any, entry: RegistryEntry) -> str:
    """A parameter in short; empty for one that is off or not set."""
    parameter, written = path[-1], _written(value)
    for forms in (entry.short_forms if len(path) == 1 else {}, SHORT_FORMS):
        if written in forms.get(parameter, {}):
            return forms[parameter][written]
    if value is None or value is False:
        return ""
    if value is True:
        return parameter
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        few = len(value) <= LONGEST_LIST
        return f"{parameter}={'/'.join(map(_written, value))}" if few else f"{len(value)} {parameter}"
    return f"{parameter}={value:g}" if isinstance(value, float) else f"{parameter}={written}"


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
