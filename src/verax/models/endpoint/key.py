"""Keys and headers of an endpoint: read from the environment, sent to the endpoint, never shown or stored."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from string import Template
from typing import Any, NamedTuple, NoReturn

from verax.types import UserError

DEFAULT_VARIABLE = "VERAX_API_KEY"
SET_BY_VERAX = frozenset(
    {"accept-encoding", "connection", "content-length", "content-type", "host", "transfer-encoding"}
)
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_SECRET_HEADER = re.compile("auth|cookie|credential|key|password|secret|token", re.IGNORECASE)
_TOO_SHORT_TO_HIDE, _TOO_SHORT_TO_ENCODE = 6, 8
_FOR_KEYS = ("_API_KEY", "_TOKEN")
"""Endings of environment variables that a spec may name: others may hold anything."""


class Permissions(NamedTuple):
    """What a spec may do only if the person who runs it agrees.

    Args:
        variables: environment variables that it may name although they are not named like keys.
        insecure: whether keys may be sent over plain HTTP.
    """

    variables: frozenset[str] = frozenset()
    insecure: bool = False

    def check_variables(self, key_env: str, headers: Mapping[str, Any]) -> None:
        """Reject environment variables of a spec that are not named like keys."""
        named = [(f"headers: {name}", str(value)) for name, value in headers.items()]
        several = [(field, variable) for field, value in named for variable in Template(value).get_identifiers()]
        for field, variable in [("key_env", key_env), *several]:
            if _VARIABLE.fullmatch(variable) and not variable.endswith(_FOR_KEYS) and variable not in self.variables:
                raise UserError(
                    f"{field}: the spec would send the environment variable {variable}; one that ends in "
                    f"{' or '.join(_FOR_KEYS)} can be named, others with --allow-key-env {variable}"
                )


class Credentials:
    """The key and the headers of an endpoint. It can't be printed, copied or pickled, and hides its secrets in texts.

    They are hidden as they are and, if they are long enough not to occur in words, in other case, as JSON, hexadecimal,
    URL-encoded and in base64, whatever is encoded with them.

    Args:
        key_env: environment variable that holds the key. The default one may be unset; then no key is sent.
        headers: further headers of every request. `$NAME` or `${NAME}` in a value is the environment variable NAME;
            values that name none are stored in the run card, so headers that look like credentials must name one.
    """

    __slots__ = ("_headers", "_hidden", "_secrets", "has_key", "variable")

    def __init__(self, key_env: str, headers: Mapping[str, Any]) -> None:
        if not _VARIABLE.fullmatch(key_env):
            # the value may be the key itself, so it is not repeated
            raise UserError(
                f"key_env: give the name of an environment variable in capitals, such as {DEFAULT_VARIABLE}, "
                "and not the key"
            )
        key = _read("key_env", key_env, optional=key_env == DEFAULT_VARIABLE)
        if " " in key:
            raise UserError(f"key_env: the value of {key_env} is not a key: it contains a blank")
        self.variable, self.has_key = key_env, bool(key)
        self._secrets = [key]
        self._headers = {name: self._filled(name, value) for name, value in headers.items()}
        if key and "authorization" not in map(str.lower, headers):
            self._headers["Authorization"] = f"Bearer {key}"
        self._hidden = _pattern(self._secrets)
        if exposed := [name for name, value in headers.items() if self.hide(value) != value]:
            raise UserError(f"headers: {exposed[0]} contains a key, which would be stored with it; name its variable")

    def headers(self) -> dict[str, str]:
        """The given headers, and the key unless they replace it."""
        return dict(self._headers)

    def hide(self, text: str) -> str:
        """The text with every secret replaced: an endpoint may send back what it was sent.

        Short placeholders such as `none`, which servers without keys expect, are not secrets, and occur in words.
        """
        return text if self._hidden is None else self._hidden.sub("[key]", text)

    @property
    def has_secrets(self) -> bool:
        """Whether a secret is sent with every request."""
        return any(self._secrets)

    def _filled(self, name: str, value: Any) -> str:
        """The value of a header with its environment variables filled in; errors never repeat the value."""
        if not _HEADER.fullmatch(name) or name.lower() in SET_BY_VERAX:
            reason = "is set by verax" if name.lower() in SET_BY_VERAX else "is not the name of a header"
            raise UserError(f"headers: {name!r} {reason}")
        if not isinstance(value, str) or not _is_printable(value):
            raise UserError(f"headers: {name}: the value must be a text of printable ASCII characters")
        template = Template(value)
        if not template.is_valid():
            raise UserError(f"headers: {name}: a $ must be followed by the name of an environment variable, or be $$")
        variables = {variable: _read(f"headers: {name}", variable) for variable in template.get_identifiers()}
        if not variables and _SECRET_HEADER.search(name):
            raise UserError(
                f"headers: {name}: name an environment variable that holds it, such as $MY_TOKEN; a value given here "
                "would be stored"
            )
        for secret in variables.values():  # "Basic abcdef": the server may send back the last part alone
            self._secrets += [secret, secret.split()[-1]]
        return template.substitute(variables)

    def __repr__(self) -> str:
        return f"Credentials({self.variable})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("credentials can't be copied or pickled")


def _pattern(secrets: Iterable[str]) -> re.Pattern[str] | None:
    """Matches secrets; None if there is nothing to hide."""
    hidden = {secret for secret in secrets if len(secret) >= _TOO_SHORT_TO_HIDE}
    by_length = sorted(hidden, key=len, reverse=True)  # one may be the beginning of another
    forms = [form for secret in by_length if len(secret) >= _TOO_SHORT_TO_ENCODE for form in _forms(secret)]
    return re.compile("|".join([*forms, *map(re.escape, by_length)])) if hidden else None


def _forms(secret: str) -> Iterator[str]:
    """Patterns of a secret as it may be written elsewhere, in any case."""
    data = secret.encode()
    yield (
        "(?i:" + "".join(f"(?:{re.escape(chr(byte))}|%(?:25)*{byte:02x})" for byte in data) + ")"
    )  # URL-encoded, in part or again
    yield f"(?i:{re.escape(json.dumps(secret)[1:-1])})"
    yield f"(?i:{data.hex()})"
    for before in range(3):  # base64 of a longer text depends on where in it the secret is
        whole = base64.b64encode(bytes(before) + data).decode()
        inner = whole[-(-before * 4 // 3) : (before + len(data)) * 4 // 3]
        yield "(?i:" + re.escape(inner).replace(r"\+", "[+-]").replace("/", "[/_]") + ")"


def _read(field: str, variable: str, *, optional: bool = False) -> str:
    """The value of an environment variable, without blanks around it."""
    value = os.environ.get(variable, "").strip()
    if not value and not optional:
        raise UserError(f"{field}: the environment variable {variable} is not set")
    if not _is_printable(value):
        raise UserError(f"{field}: the value of {variable} contains characters that are not printable ASCII")
    return value


def _is_printable(value: str) -> bool:
    return all(" " <= character <= "~" for character in value)
