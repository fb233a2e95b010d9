"""Components by name and parameters, and back: the fields of a component are its parameters."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Generic, TypeVar, get_args, get_type_hints

from pydantic import TypeAdapter, ValidationError

from verax.align.protocol import Aligner
from verax.engine.protocols import AnsweringMethod, Method, Metric, TextMetric
from verax.metrics.free_text.editing import Editor
from verax.metrics.free_text.reconstruction import Reconstruction
from verax.registry import Namespace, find_entry, registered_name, resolve, unknown
from verax.types import Target, UserError

T = TypeVar("T", Method, Metric, Aligner, Editor, Reconstruction, AnsweringMethod, TextMetric)

_NAMESPACES: Mapping[Any, Namespace] = {
    Method: "methods",
    Aligner: "aligners",
    Editor: "editors",
    Reconstruction: "reconstructions",
}
"""Components that can be parameters of others, and where they are registered."""
_PARTS = tuple(_NAMESPACES)


@dataclass(frozen=True)
class Configured(Generic[T]):
    """A component with its registered name.

    Args:
        implied: parameters set by the run, such as its seed.
        measured_by: names of the only metrics that measure it, of a method that the spec does not list; None: all.
    """

    name: str
    component: T
    implied: frozenset[str] = frozenset()
    measured_by: frozenset[str] | None = None

    @cached_property
    def label(self) -> str:
        """The name, with the parameters that differ from their defaults."""
        values = [(field, getattr(self.component, field.name)) for field in dataclasses.fields(self.component)]  # type: ignore[arg-type]
        changed = [
            f"{field.name}={_short(value, self.implied)}"
            for field, value in values
            if field.name not in self.implied and not _is_default(value, _default(field), self.implied)
        ]
        return f"{self.name}({', '.join(changed)})" if changed else self.name

    @property
    def parameters(self) -> dict[str, Any]:
        """All parameters as JSON values; a component among them is {its name: its parameters}."""
        return {field.name: _plain(getattr(self.component, field.name)) for field in dataclasses.fields(self.component)}  # type: ignore[arg-type]


def from_config(namespace: Namespace, given: Any, seed: int) -> Configured[Any]:
    """A component from a name, `{name: {parameter: value}}`, or an object; `seed` is for those without one."""
    if dataclasses.is_dataclass(given) and not isinstance(given, type):
        return as_configured(namespace, given)
    check_known(namespace, given)
    name, parameters = named_parameters(namespace, given)
    return configure(name, resolve(namespace, name), parameters, seed)


def check_known(namespace: Namespace, *several: Any) -> None:
    """Reject unknown names and parameters by the index alone: a component may import scikit-learn; objects pass."""
    for given in several:
        if dataclasses.is_dataclass(given):
            continue
        name, parameters = named_parameters(namespace, given)
        entry = find_entry(namespace, name)
        if not entry.plug_in:
            _check_parameters(name, parameters, {*entry.defaults, *entry.required})


def _check_parameters(name: str, parameters: Collection[str], known: Collection[str]) -> None:
    for parameter in parameters:
        if parameter not in known:
            problem = unknown("parameter", str(parameter), known) if known else "takes no parameter"
            raise UserError(f"{name}: {problem}")


def configure(name: str, kind: Any, parameters: Mapping[str, Any], seed: int) -> Configured[Any]:
    """A component of a class from its parameters; `seed` is used if it has a `seed` that is not among them."""
    fields = {field.name for field in dataclasses.fields(kind)}
    _check_parameters(name, parameters, fields)
    own = {"seed"} & fields - set(parameters)
    made = from_parameters(kind, {**dict.fromkeys(own, seed), **parameters}, name, seed)
    inner = [value for key, value in parameters.items() if isinstance(getattr(made, key), _PARTS)]
    implied = frozenset(own or ({"seed"} if inner and not any(map(_names_seed, inner)) else ()))
    return Configured(name, _seeded(made, set(parameters), seed), implied)


def as_configured(namespace: Namespace, what: T, implied: frozenset[str] = frozenset()) -> Configured[T]:
    """A component with its registered name."""
    return Configured(registered_name(namespace, type(what)), what, implied)


def _names_seed(given: Any) -> bool:
    """Whether the parameters given for an inner component contain a seed."""
    return isinstance(given, Mapping) and any("seed" in (parameters or ()) for parameters in given.values())


def _seeded(made: T, given: Collection[str], seed: int) -> T:
    """The component with the run's seed in those inner components that were not given."""
    inner = {field.name: getattr(made, field.name) for field in dataclasses.fields(made) if field.name not in given}  # type: ignore[arg-type]
    changed = {
        name: dataclasses.replace(what, seed=seed)
        for name, what in inner.items()
        if isinstance(what, _PARTS) and hasattr(what, "seed")
    }
    return dataclasses.replace(made, **changed) if changed else made  # type: ignore[type-var]


def _default(field: dataclasses.Field[Any]) -> Any:
    """Default of a parameter."""
    made = field.default_factory
    return field.default if made is dataclasses.MISSING else made()


def _is_default(value: Any, default: Any, implied: frozenset[str]) -> bool:
    """Whether a parameter has its default; an implied seed of an inner component does not count."""
    if "seed" in implied and type(value) is type(default) and hasattr(value, "seed"):
        value = dataclasses.replace(value, seed=default.seed)
    return bool(value == default)


def from_parameters(kind: Callable[..., T], parameters: Mapping[str, Any], name: str, seed: int = 0) -> T:
    """A component from plain values, as in `Configured.parameters`; `name` is for messages."""
    hints = get_type_hints(kind)
    return kind(**{key: _convert(f"{name}: {key}", hints[key], value, seed) for key, value in parameters.items()})


def named_parameters(field: str, given: Any) -> tuple[str, Mapping[str, Any]]:
    """Name and parameters in a field of a spec: a name, or `{name: {parameter: value}}`."""
    if isinstance(given, str):
        return given, {}
    if isinstance(given, Mapping) and len(given) == 1:
        ((name, parameters),) = given.items()
        if isinstance(name, str) and (parameters is None or isinstance(parameters, Mapping)):
            return name, parameters or {}
    raise UserError(f"{field}: expected a name or {{name: {{parameter: value}}}}, got {given!r}")


def _convert(where: str, hint: Any, value: Any, seed: int) -> Any:
    part = next((one for one in (hint, *get_args(hint)) if one in _NAMESPACES), None)
    if part is not None and value is None and type(None) in get_args(hint):
        return None
    if part is not None:
        made = from_config(_NAMESPACES[part], value, seed)
        missing = [name for name in dir(part) if not name.startswith("_") and not hasattr(made.component, name)]
        if missing:
            raise UserError(f"{where}: {made.name} is none of {_NAMESPACES[part]}: it has no {missing[0]!r}")
        return made.component
    if hint is Target and isinstance(value, str):
        return Target(value)
    if hint is Target and isinstance(value, Mapping):
        fields = [field.name for field in dataclasses.fields(Target)]
        for field in value:
            if field not in fields:
                raise UserError(f"{where}: {unknown('field', str(field), fields)}")
    try:
        return _adapter(hint).validate_python(value)
    except ValidationError as error:
        raise UserError(f"{where}: {error.errors()[0]['msg'].lower()}, got {value!r}") from None


def _namespace(value: Any) -> Namespace:
    return next(namespace for kind, namespace in _NAMESPACES.items() if isinstance(value, kind))


@cache
def _adapter(hint: Any) -> TypeAdapter[Any]:
    return TypeAdapter(hint)


def _plain(value: Any) -> Any:
    if isinstance(value, _PARTS):
        inner: Configured[Any] = as_configured(_namespace(value), value)
        return {inner.name: inner.parameters}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    return list(value) if isinstance(value, tuple) else value


def _short(value: Any, implied: frozenset[str]) -> str:
    if isinstance(value, _PARTS):
        inner: Configured[Any] = as_configured(_namespace(value), value, implied)
        return inner.label
    if isinstance(value, tuple):
        return "/".join(_short(one, implied) for one in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, (type, Target)):
        fields = [(getattr(value, field.name), _default(field)) for field in dataclasses.fields(value)]
        return "/".join(_short(one, implied) for one, default in fields if one != default)
    return f"{value:g}" if isinstance(value, float) else str(value)
