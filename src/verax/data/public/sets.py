"""Public data sets by name, as `sets.toml` describes them."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

from verax.data.esnli import ESNLI
from verax.data.fever import FEVER
from verax.data.public.loaders import Babi, Clinical, InFiles, OnHub, PublicSet
from verax.data.spanex import SPANEX_FEVER, SPANEX_SNLI

_KINDS: dict[str, type[PublicSet]] = {"hub": OnHub, "files": InFiles, "babi": Babi, "clinical": Clinical}
_FORMATS = {"esnli": ESNLI, "fever": FEVER, "spanex-snli": SPANEX_SNLI, "spanex-fever": SPANEX_FEVER}


def _public_set(name: str, kind: str, **described: Any) -> PublicSet:
    """One data set; lists of the description become tuples, and files of annotated data get their format."""
    fields: dict[str, Any] = {
        field: tuple(value) if isinstance(value, list) else value for field, value in described.items()
    }
    if kind == "files":
        fields["files"] = {split: tuple(several) for split, several in fields["files"].items()}
        fields["format"] = _FORMATS[name]
    return _KINDS[kind](name, **fields)


SETS = {
    name: _public_set(name, **described)
    for name, described in tomllib.loads(files(__package__).joinpath("sets.toml").read_text("utf-8")).items()
}
# the registry finds a component by the name of a variable
globals().update({name.replace("-", "_"): public_set for name, public_set in SETS.items()})
