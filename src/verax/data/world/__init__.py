"""The built-in corpus: a small knowledge base, and tasks with gold annotations drawn from it."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any


def read_toml(name: str) -> dict[str, Any]:
    """Read a data file of this package."""
    return tomllib.loads(files(__name__).joinpath(name).read_text("utf-8"))
