"""Templates of human explanations of an inference, as `nli_templates.toml` lists them."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

from verax.metrics.free_text.templates import Template

_TABLES = tomllib.loads(files(__package__).joinpath("nli_templates.toml").read_text("utf-8"))
VERSION: int = _TABLES["version"]


def _template(listed: str | list[str], group: dict[str, Any]) -> Template:
    """A phrase, or a phrase with the premise and the hypothesis that are made from it."""
    phrase, premise, hypothesis = (listed, "X", "Y") if isinstance(listed, str) else listed
    nouns: bool = group.get("nouns", False)
    return Template(phrase.format(**_TABLES["words"]), group["label"], premise, hypothesis, nouns)


NLI_TEMPLATES = tuple(_template(listed, group) for group in _TABLES["groups"] for listed in group["templates"])
"""The first whose halves are statements is used."""
