"""Write `index.json`, which lists the components that declare a registry name.

    python -m verax.registry.index

A component declares `name` and `summary`, and where they apply `kind` (of a metric `measures`), `cost`, `reference`,
`display` and `short_forms`: a class as class variables, a function by `@registered(...)`, another object as attributes.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import json
import pkgutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

from verax.registry.lookup import INDEX, NAMESPACES, Namespace, metadata
from verax.types import Kind

PACKAGES: Mapping[str, Namespace] = {
    "verax.methods": "methods",
    "verax.metrics": "metrics",
    "verax.align": "aligners",
    "verax.data": "datasets",
    "verax.models.shipped": "models",
    "verax.studies": "studies",
    "verax.loggers": "loggers",
}
"""Where components are searched for, and their namespace unless they declare a `namespace` of their own."""


def index_text() -> str:
    """The content of the index: for each namespace its components, sorted by kind and name."""
    components = list(_components())
    names = {component: name for _, name, _, component in components if isinstance(component, type)}
    index: dict[str, dict[str, Any]] = {namespace: {} for namespace in NAMESPACES}
    for namespace, name, target, component in components:
        if name in index[namespace]:
            raise ValueError(f"{namespace}: {target} and {index[namespace][name]['target']} both declare {name!r}")
        fields = {"target": target, "kind": "built-in", **metadata(component)}
        own = {"defaults": _defaults(component, names), "required": _required(component)}
        index[namespace][name] = fields | {key: value for key, value in own.items() if value}
    ordered = {namespace: dict(sorted(section.items(), key=_order)) for namespace, section in index.items()}
    return json.dumps(ordered, ensure_ascii=False, indent=1) + "\n"


def _order(item: tuple[str, Mapping[str, Any]]) -> tuple[int, str, str]:
    """Kinds of explanations come first, in their usual order."""
    name, kind = item[0], item[1]["kind"]
    kinds = get_args(Kind)
    return kinds.index(kind) if kind in kinds else len(kinds), kind, name


def _components() -> Iterator[tuple[Namespace, str, str, Any]]:
    """Namespace, name, target and object of everything that declares a name and a summary."""
    for package, namespace in PACKAGES.items():
        for module in _modules(package):
            for attribute, component in _defined(module):
                name, summary = _own(component, "name"), _own(component, "summary")
                if isinstance(name, str) and isinstance(summary, str):
                    target = f"{module.__name__}:{attribute}"
                    yield getattr(component, "namespace", namespace), name, target, component


def _own(component: Any, attribute: str) -> Any:
    """An attribute, of a class only if it is its own: a subclass does not inherit its registration."""
    return vars(component).get(attribute) if isinstance(component, type) else getattr(component, attribute, None)


def _modules(package: str) -> Iterator[ModuleType]:
    """A module, and if it is a package all modules in it, by name."""
    module = importlib.import_module(package)
    yield module
    for info in pkgutil.iter_modules(getattr(module, "__path__", ())):
        yield from _modules(f"{package}.{info.name}")


def _defined(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Names and values that a module defines, without those it imports."""
    imported = {
        alias.asname or alias.name
        for node in ast.walk(ast.parse(Path(str(module.__file__)).read_text("utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    return ((name, value) for name, value in vars(module).items() if name not in imported and name[:2] != "__")


def _fields(component: Any) -> tuple[dataclasses.Field[Any], ...]:
    """The parameters of a class."""
    is_class = isinstance(component, type) and dataclasses.is_dataclass(component)
    return dataclasses.fields(component) if is_class else ()


def _required(component: Any) -> list[str]:
    """The parameters of a class that must be given."""
    missing = dataclasses.MISSING
    return [one.name for one in _fields(component) if one.default is missing and one.default_factory is missing]


def _defaults(component: Any, names: Mapping[type, str]) -> dict[str, Any]:
    """The parameters of a class by default, without those that must be given."""
    defaults = {}
    for field in _fields(component):
        if field.default is not dataclasses.MISSING:
            defaults[field.name] = _plain(field.default, names)
        elif field.default_factory is not dataclasses.MISSING:
            defaults[field.name] = _plain(field.default_factory(), names)
    return defaults


def _plain(value: Any, names: Mapping[type, str]) -> Any:
    """A parameter as a JSON value; a component as `{name: parameters}`."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        inner = {field.name: _plain(getattr(value, field.name), names) for field in dataclasses.fields(value)}
        return {names[type(value)]: inner} if type(value) in names else inner
    return list(value) if isinstance(value, tuple) else value


def main() -> None:
    """Write the index."""
    text = index_text()
    INDEX.write_text(text, "utf-8")
    sys.stdout.write(f"wrote {INDEX}: {sum(map(len, json.loads(text).values()))} components\n")


if __name__ == "__main__":
    main()
