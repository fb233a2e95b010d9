"""Names of components: the generated index of the built-in ones, and the plug-ins of installed packages."""

from __future__ import annotations

import difflib
import importlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeVar, get_args

from verax.types import UserError

Namespace = Literal[
    "methods",
    "metrics",
    "aligners",
    "editors",
    "reconstructions",
    "datasets",
    "models",
    "presets",
    "studies",
    "loggers",
]
NAMESPACES: tuple[Namespace, ...] = get_args(Namespace)
INDEX = Path(__file__).with_name("index.json")
"""Written by `python -m verax.registry.index` from the declarations of the components."""

ShortForms = Mapping[str, Mapping[str, str]]
"""How tables show the values of parameters: `{parameter: {value: text}}`."""
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class RegistryEntry:
    """A registered component, described without importing it.

    Args:
        target: `module:object`.
        kind: the kind of a method, the property that a metric measures, or the origin of another component.
        cost: number of passes for an input of n words.
        display: short name in tables and figures; `{parameter}` is replaced by the value of a parameter.
        short_forms: of the values of its parameters in tables and figures.
        defaults: parameters by default, as JSON values; a component among them as `{name: parameters}`.
        required: parameters without a default.
        plug_in: the distribution of a plug-in; empty for built-in components.
    """

    name: str
    target: str
    kind: str
    summary: str
    cost: str = ""
    reference: str = ""
    display: str = ""
    short_forms: ShortForms = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    required: Sequence[str] = ()
    plug_in: str = ""


def registered(name: str, summary: str, **details: str) -> Callable[[F], F]:
    """Give a function the metadata that a registered class declares as class variables."""

    def declare(function: F) -> F:
        for key, value in {"name": name, "summary": summary, **details}.items():
            setattr(function, key, value)
        return function

    return declare


def metadata(component: Any) -> dict[str, Any]:
    """The fields of an entry that a component declares; the kind of a metric is the property that it measures."""
    attributes = {name: name for name in ("kind", "summary", "cost", "reference", "display", "short_forms")}
    if hasattr(component, "measures"):
        attributes["kind"] = "measures"
    declared = {name: getattr(component, attribute, None) for name, attribute in attributes.items()}
    return {name: value for name, value in declared.items() if value and isinstance(value, (str, Mapping))}


@cache
def _index() -> Mapping[str, Mapping[str, RegistryEntry]]:
    content = json.loads(INDEX.read_text("utf-8"))
    return {
        namespace: MappingProxyType({name: RegistryEntry(name, **fields) for name, fields in section.items()})
        for namespace, section in content.items()
    }


def built_in(namespace: Namespace) -> Mapping[str, RegistryEntry]:
    """The components of a namespace that come with verax, in the order of the index."""
    return _index().get(namespace, {})


@cache
def _entry_points() -> Mapping[str, tuple[EntryPoint, ...]]:
    """Entry points of all installed packages by group; the scan reads a file of each package, so it is done once."""
    points = entry_points()
    return {group: tuple(points.select(group=group)) for group in points.groups if group.startswith("verax.")}


@cache
def entries(namespace: Namespace) -> Mapping[str, RegistryEntry]:
    """All components of a namespace: the built-in ones, then those of plug-ins (group `verax.<namespace>`).

    Nothing is imported: a plug-in has the kind `plug-in` until `described` loads it.
    """
    table = dict(built_in(namespace))
    for point in _entry_points().get(f"verax.{namespace}", ()):
        if point.name in table:
            raise UserError(f"the plug-in {point.value} has a name that is already used in {namespace}: {point.name!r}")
        origin = point.dist.name if point.dist else "an unknown package"
        table[point.name] = RegistryEntry(point.name, point.value, "plug-in", f"From {origin}.", plug_in=origin)
    return MappingProxyType(table)


def rescan() -> None:
    """Look for plug-ins again, after packages were installed or `sys.path` changed."""
    for cached in (_entry_points, entries, _names):
        cached.cache_clear()


def described(entry: RegistryEntry) -> RegistryEntry:
    """An entry with the declarations of a plug-in, which imports it, or the reason why it cannot be imported."""
    if not entry.plug_in:
        return entry
    try:
        declared = metadata(_load(entry.target))
    except Exception as error:  # noqa: BLE001 - any error of a plug-in is shown
        reason = f"{type(error).__name__}: {error}".partition("\n")[0]
        return replace(entry, summary=f"From {entry.plug_in}; it cannot be imported: {reason}")
    summary = declared.pop("summary", "")
    return replace(entry, **declared, summary=f"{summary} {entry.summary}".strip())


def find_entry(namespace: Namespace, name: str) -> RegistryEntry:
    """The entry of a name; nothing is imported."""
    table = entries(namespace)
    if name not in table:
        raise UserError(unknown(_singular(namespace), name, table))
    return table[name]


def resolve(namespace: Namespace, name: str) -> Any:
    """The object that a name is registered for, imported now."""
    entry = find_entry(namespace, name)
    try:
        return _load(entry.target)
    except (ImportError, AttributeError) as error:
        if not entry.plug_in:
            raise
        raise UserError(f"the plug-in {name!r} of {entry.plug_in} cannot be imported: {error}") from error


def _load(target: str) -> Any:
    module, _, attribute = target.partition(":")
    return getattr(importlib.import_module(module), attribute)


def registered_name(namespace: Namespace, kind: type) -> str:
    """The registered name of a class; of other classes the name they declare if it is free, else that of the class."""
    target = f"{kind.__module__}:{kind.__qualname__}"
    if target in _names(namespace):
        return _names(namespace)[target]
    declared: str = vars(kind).get("name", kind.__name__)
    return kind.__name__ if declared in entries(namespace) else declared


@cache
def _names(namespace: Namespace) -> Mapping[str, str]:
    """Names by target."""
    return {entry.target: name for name, entry in entries(namespace).items()}


def _singular(namespace: str) -> str:
    return f"{namespace[:-3]}y" if namespace.endswith("ies") else namespace.removesuffix("s")


def unknown(what: str, name: str, valid: Iterable[str]) -> str:
    """The message for an unknown name, with the nearest valid one, or all of them."""
    names = list(valid)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    hint = f"did you mean {near[0]!r}?" if near else f"valid: {', '.join(sorted(names))}"
    return f"unknown {what} {name!r}; {hint}"
