"""The key of an endpoint: read from the environment, sent to the endpoint, and shown to nobody."""

from __future__ import annotations

import json
import os
import re
from typing import NoReturn

from verax.types import UserError

DEFAULT_VARIABLE = "VERAX_API_KEY"
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")
_TOO_SHORT_TO_HIDE = 6


class Key:
    """A secret, or none. It can't be printed, copied or pickled, and takes itself out of texts.

    Args:
        variable: the name of the environment variable that holds it. The default one may be unset: then no key is sent.
    """

    __slots__ = ("_secret", "variable")

    def __init__(self, variable: str) -> None:
        if not _VARIABLE.fullmatch(variable):
            # what stands there may be the key itself, so it is not repeated
            raise UserError(
                f"key_env: give the name of an environment variable in capitals, such as {DEFAULT_VARIABLE}, "
                "and not the key"
            )
        secret = os.environ.get(variable, "").strip()
        if not secret and variable != DEFAULT_VARIABLE:
            raise UserError(f"key_env: the environment variable {variable} is not set")
        if not all("!" <= character <= "~" for character in secret):
            raise UserError(f"key_env: what {variable} holds is no key: it has blanks or characters beyond ASCII")
        self.variable = variable
        self._secret = secret

    def __bool__(self) -> bool:
        return bool(self._secret)

    def headers(self) -> dict[str, str]:
        """What tells the endpoint who asks."""
        return {"Authorization": f"Bearer {self._secret}"} if self._secret else {}

    def hide(self, text: str) -> str:
        """The text without the key: an endpoint may send back what it was sent.

        A stand-in such as `none`, which servers without keys ask for, is no secret, and words hold it by chance.
        """
        if len(self._secret) < _TOO_SHORT_TO_HIDE:
            return text
        in_json = json.dumps(self._secret)[1:-1]
        return text.replace(self._secret, "[key]").replace(in_json, "[key]")

    def __repr__(self) -> str:
        return f"Key({self.variable})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key is not copied and not written down")
