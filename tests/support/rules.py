"""The label that the rules of `verax.data.rules` give, for comparison with models."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from verax.data.rules import RULES, RuleName, fired


def label_of(parts: Sequence[Collection[str]], rules: Collection[RuleName] = RULES) -> str:
    """The label that the rules give to the words of each part; a mix of both labels is not defined."""
    labels = {clause.label for _, clause in fired(parts, rules)} or {"neutral"}
    (label,) = labels
    return label
