"""Columns derived from dataclasses: the Arrow type of each field, and the functions that write and read it.

A value that a column cannot hold exactly (a number that is not finite, an integer beyond 64 bits) is rejected before
anything is written. `verax.types.stored.StoredAs` changes how a field is stored.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import operator
import re
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, Union, get_args, get_origin, get_type_hints

import numpy as np
import pyarrow as pa

from verax.types.stored import StoredAs

Plain: TypeAlias = dict[str, Any]
"""A row in values that both JSON and Arrow hold."""
Convert: TypeAlias = Callable[[Any], Any]

_MARK = "\ufdd0"
_UNSAFE = re.compile("[\ud800-\udfff\ufdd0]")
_ESCAPED = re.compile(f"{_MARK}([0-9a-f]{{4}})")


def escape(text: str) -> str:
    """The text in valid UTF-8, as Parquet requires: lone surrogates and U+FDD0 become U+FDD0 and four hex digits."""
    if text.isascii():
        return text
    return _UNSAFE.sub(lambda match: f"{_MARK}{ord(match[0]):04x}", text)


def unescape(text: str) -> str:
    """The text that `escape` was given."""
    if _MARK not in text:
        return text
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)


class Codec(NamedTuple):
    """Arrow type of a value, and the functions that turn it into its plain form and back."""

    arrow: pa.DataType
    encode: Convert
    decode: Convert


class _Column(NamedTuple):
    """A column of a dataclass: its name, the path of attributes to its value, its codec, and whether it is JSON."""

    name: str
    path: str
    codec: Codec
    json: bool


@dataclasses.dataclass(frozen=True)
class RowCodec:
    """Columns of a dataclass.

    Args:
        columns: names and Arrow types, in the order of the fields.
        strings: columns that hold strings, except those that hold JSON.
        required: columns of fields without a default that cannot be None.
        defaults: default values that are plain scalars, by column.
        decode: a column that is null or missing, as in rows of an earlier version, gives the default of its field.
    """

    columns: dict[str, pa.DataType]
    strings: tuple[str, ...]
    required: tuple[str, ...]
    defaults: Plain
    encode: Callable[[Any], Plain]
    decode: Callable[[Mapping[str, Any]], Any]


def row_codec(kind: type, *, as_json: bool = False) -> RowCodec:
    """Derive the columns of a dataclass; with `as_json`, the members of the JSON object that holds it."""
    columns = list(_columns(kind, as_json=as_json))
    defaults = {stored.name or field.name: _default(field) for field, _, stored in _fields(kind)}
    may_be_none = {stored.name or field.name for field, hint, stored in _fields(kind) if _is_optional(hint)}
    return RowCodec(
        {column.name: column.codec.arrow for column in columns},
        tuple(column.name for column in columns if column.codec.arrow == pa.string() and not column.json),
        tuple(name for name, value in defaults.items() if value is dataclasses.MISSING and name not in may_be_none),
        {name: value for name, value in defaults.items() if isinstance(value, str | int | float)},
        _compiled("value", [(column.name, f"value.{column.path}", column.codec.encode) for column in columns]),
        _decoder(kind, as_json=as_json),
    )


def _compiled(arguments: str, members: Sequence[tuple[str, str, Convert]]) -> Callable[..., Plain]:
    """The function that returns a dict of encoded members, compiled because a loop over them takes twice as long.

    Args:
        members: name, expression of the value, and encoder of each.
    """
    items = ", ".join(f"{name!r}: _encode{i}({value})" for i, (name, value, _) in enumerate(members))
    encoders = {f"_encode{i}": encode for i, (_, _, encode) in enumerate(members)}
    function: Callable[..., Plain] = eval(f"lambda {arguments}: {{{items}}}", encoders)  # noqa: S307 - names of fields
    return function


def _columns(kind: type, prefix: str = "", path: str = "", *, as_json: bool) -> Iterator[_Column]:
    """Columns of a dataclass; those of a flat field follow in its place."""
    for field, hint, stored in _fields(kind):
        name, where = prefix + (stored.name or field.name), path + field.name
        if stored.flat:
            yield from _columns(hint, f"{name}_", f"{where}.", as_json=as_json)
        else:
            yield _Column(name, where, codec_of(hint, stored, name=name, as_json=as_json), stored.json)


def _decoder(kind: type, prefix: str = "", *, as_json: bool) -> Callable[[Mapping[str, Any]], Any]:
    """The function that builds a dataclass from its columns."""
    columns: list[tuple[str, str, Convert, bool]] = []
    flat: list[tuple[str, Callable[[Mapping[str, Any]], Any]]] = []
    for field, hint, stored in _fields(kind):
        name, default = prefix + (stored.name or field.name), _default(field)
        if stored.flat:
            flat.append((field.name, _decoder(hint, f"{name}_", as_json=as_json)))
            continue
        if _is_optional(hint) and default is not None and default is not dataclasses.MISSING:
            raise TypeError(f"{kind.__name__}.{field.name} may be None, so its default must be None: a null is read so")
        decode = codec_of(hint, stored, name=name, as_json=as_json).decode
        columns.append((field.name, name, decode, default is dataclasses.MISSING))

    def read(row: Mapping[str, Any]) -> Any:
        values = {attribute: decode_members(row) for attribute, decode_members in flat}
        for attribute, name, decode, required in columns:
            stored = row.get(name)
            if stored is not None:
                values[attribute] = decode(stored)
            elif required:
                values[attribute] = None
        return kind(**values)

    return read


def _fields(kind: type) -> Iterator[tuple[dataclasses.Field[Any], Any, StoredAs]]:
    """Fields of a dataclass, each with its type and how it is stored."""
    hints = get_type_hints(kind, include_extras=True)
    for field in dataclasses.fields(kind):
        yield field, *_stored_as(hints[field.name])


def _stored_as(hint: Any) -> tuple[Any, StoredAs]:
    """A type without its annotation, and how it is stored."""
    if get_origin(hint) is not Annotated:
        return hint, StoredAs()
    inner, *markers = get_args(hint)
    return inner, next((marker for marker in markers if isinstance(marker, StoredAs)), StoredAs())


def _default(field: dataclasses.Field[Any]) -> Any:
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def _is_optional(hint: Any) -> bool:
    return get_origin(hint) in {Union, types.UnionType} and types.NoneType in get_args(hint)


def codec_of(hint: Any, stored: StoredAs | None = None, *, name: str, as_json: bool = False) -> Codec:
    """Derive the codec of a type.

    Args:
        stored: how it is stored; by default from the annotation of the type.
        name: the column, for messages.
        as_json: whether the value is inside a string of JSON, where tuples are lists and mappings are allowed.
    """
    if stored is None:
        hint, stored = _stored_as(hint)
    if stored.json and not as_json:
        return _json_text(codec_of(hint, stored, name=name, as_json=True), null_if_empty=stored.null_if_empty)
    codec = _derive(hint, stored, name, as_json)
    upgrade = stored.upgrade
    return codec if upgrade is None else codec._replace(decode=lambda value: codec.decode(upgrade(value)))


def _derive(hint: Any, stored: StoredAs, name: str, as_json: bool) -> Codec:  # noqa: PLR0911 - one for each kind of type
    origin, arguments = get_origin(hint), get_args(hint)
    if _is_optional(hint):
        inner = functools.reduce(operator.or_, [kind for kind in arguments if kind is not types.NoneType])
        return _optional(_derive(inner, stored, name, as_json))
    if hint is str or (origin is Literal and all(isinstance(value, str) for value in arguments)):
        return Codec(pa.string(), _text(name, as_json=as_json), _same if as_json else unescape)
    if hint in _SCALARS:
        arrow, encoder = _SCALARS[hint]
        return Codec(arrow, encoder(name), _same)
    if origin is tuple and arguments[-1] is Ellipsis:
        return _list(codec_of(arguments[0], name=name, as_json=as_json), numbers=arguments[0] is float)
    if origin is tuple:
        return _struct(_members(dict(zip(stored.members, arguments, strict=True)), as_json), tuple, as_json)
    if isinstance(hint, type) and issubclass(hint, tuple):
        return _struct(_members(get_type_hints(hint, include_extras=True), as_json), hint._make, as_json)  # type: ignore[attr-defined]
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        row = row_codec(hint, as_json=as_json)
        return Codec(pa.struct(list(row.columns.items())), row.encode, row.decode)
    if as_json and origin is not None and issubclass(origin, Mapping) and arguments[0] is str:
        return _mapping(codec_of(arguments[1], name=name, as_json=True), name)
    if as_json and arguments and set(arguments) <= {str, int, float, bool}:
        return Codec(pa.string(), _scalar(name), _same)
    raise TypeError(f"{name}: no column is defined for {hint}; use str, int, float, bool, tuple, a dataclass, or JSON")


def _members(kinds: Mapping[str, Any], as_json: bool) -> dict[str, Codec]:
    return {name: codec_of(kind, name=name, as_json=as_json) for name, kind in kinds.items()}


def _optional(codec: Codec) -> Codec:
    encode, decode = codec.encode, codec.decode
    return Codec(
        codec.arrow,
        lambda value: None if value is None else encode(value),
        lambda value: None if value is None else decode(value),
    )


def _list(item: Codec, *, numbers: bool) -> Codec:
    """A tuple of any length; numbers, which are many, are checked all at once."""
    encode, decode = item.encode, item.decode

    def encode_numbers(values: Any) -> list[float]:
        plain = list(map(float, values))
        return plain if all(map(math.isfinite, plain)) else list(map(encode, plain))

    read = tuple if decode is _same else lambda values: tuple(map(decode, values))
    return Codec(pa.list_(item.arrow), encode_numbers if numbers else lambda values: list(map(encode, values)), read)


def _struct(members: Mapping[str, Codec], build: Convert, as_json: bool) -> Codec:
    """A tuple of fixed length: a struct with named members, or a list in JSON."""
    encoders, decoders = [codec.encode for codec in members.values()], [codec.decode for codec in members.values()]
    if as_json:
        return Codec(
            pa.null(),
            lambda value: [encode_item(item) for encode_item, item in zip(encoders, value, strict=True)],
            lambda value: build(decode(item) for decode, item in zip(decoders, value, strict=True)),
        )
    encode = _compiled(", ".join(members), [(name, name, codec.encode) for name, codec in members.items()])
    get = operator.itemgetter(*members)
    plain = all(decode is _same for decode in decoders)
    return Codec(
        pa.struct([(name, codec.arrow) for name, codec in members.items()]),
        lambda value: encode(*value),
        (lambda row: build(get(row)))
        if plain
        else (lambda row: build([decode(item) for decode, item in zip(decoders, get(row), strict=True)])),
    )


def _mapping(item: Codec, name: str) -> Codec:
    def encode(value: Mapping[str, Any]) -> Plain:
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"{name} must have strings as keys, not {key!r}")
        return {key: item.encode(member) for key, member in value.items()}

    return Codec(pa.null(), encode, lambda value: {key: item.decode(member) for key, member in value.items()})


def _json_text(codec: Codec, *, null_if_empty: bool) -> Codec:
    """A value as one string of JSON."""

    def encode(value: Any) -> str | None:
        plain = codec.encode(value)
        if plain is None or (null_if_empty and not plain):
            return None
        return escape(json.dumps(plain, ensure_ascii=False, allow_nan=False))

    return Codec(pa.string(), encode, lambda text: codec.decode(json.loads(unescape(text))))


def _same(value: Any) -> Any:
    return value


def _number(name: str) -> Callable[[Any], float]:
    def encode(value: Any) -> float:
        number = float(value)
        if not math.isfinite(number):
            raise ValueError(f"{name} must be a finite number, not {number}")
        return number

    return encode


def _integer(name: str) -> Callable[[Any], int]:
    def encode(value: Any) -> int:
        number = operator.index(value)
        if not -(2**63) <= number < 2**63:
            raise ValueError(f"{name}: {number} does not fit into 64 bits")
        return number

    return encode


def _scalar(name: str) -> Convert:
    def encode(value: Any) -> Any:
        plain = value.item() if isinstance(value, np.generic) else value
        if not isinstance(plain, str | int | float):
            raise TypeError(f"{name} must hold strings, numbers, true or false, not {value!r}")
        return plain

    return encode


def _text(name: str, *, as_json: bool) -> Callable[[Any], str]:
    """A string, escaped unless it is inside JSON, which is escaped as a whole."""

    def encode(value: Any) -> str:
        if not isinstance(value, str):
            raise TypeError(f"{name} must be a string, not {value!r}")
        return value if as_json else escape(value)

    return encode


_SCALARS: dict[Any, tuple[pa.DataType, Callable[[str], Convert]]] = {
    float: (pa.float64(), _number),
    int: (pa.int64(), _integer),
    bool: (pa.bool_(), lambda _: bool),
}
