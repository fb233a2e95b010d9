"""How parameters are written on the page."""

from __future__ import annotations

from typing import Any

import pytest

from verax.report.labels import parameter


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.5, "0.5"),
        ({"random": {}}, "random"),
        ({"embedding": {"encoder": None, "extract": "itermax"}}, "embedding(extract=itermax)"),
        ({"louvain": {"over": {"bivariate": {"budget": 8}}, "seed": 0}}, "louvain(over=bivariate(budget=8), seed=0)"),
        ({"of": "loss", "space": "logit"}, "(of=loss, space=logit)"),
        ({}, ""),
    ],
)
def test_a_parameter_with_parameters_reads_like_a_call(value: Any, said: str) -> None:
    assert parameter(value) == said
