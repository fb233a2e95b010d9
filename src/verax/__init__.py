"""verax: tell whether an explanation of a language model can be trusted."""

from __future__ import annotations

import importlib

TYPE_CHECKING = False
"""As in `typing`, whose import would take most of the time before the command line handles signals."""
if TYPE_CHECKING:
    from typing import Any

    __version__: str
    from verax.api import (
        Explanation,
        Run,
        SideBySide,
        audit,
        compare,
        evaluate,
        explain,
        explain_all,
        open_run,
        plot,
        train_editor,
        train_masked,
        train_nle,
        train_plain,
    )
    from verax.checks.checked import Checked
    from verax.checks.explainer import check_explainer
    from verax.checks.metric import check_metric
    from verax.data.imports.load import import_explanations
    from verax.data.load import load_dataset
    from verax.jobs.similarity import representation_similarity
    from verax.models.load import load_model
    from verax.models.self_explainer import load_self_explainer
    from verax.results.table import Table
    from verax.types import (
        Attribution,
        Cost,
        Dataset,
        Highlight,
        Human,
        Instance,
        Measured,
        Nle,
        Passes,
        Score,
        Span,
        Target,
        Text,
        Undefined,
        Unit,
        UserError,
    )

__all__ = [
    "Attribution",
    "Checked",
    "Cost",
    "Dataset",
    "Explanation",
    "Highlight",
    "Human",
    "Instance",
    "Measured",
    "Nle",
    "Passes",
    "Run",
    "Score",
    "SideBySide",
    "Span",
    "Table",
    "Target",
    "Text",
    "Undefined",
    "Unit",
    "UserError",
    "audit",
    "check_explainer",
    "check_metric",
    "compare",
    "evaluate",
    "explain",
    "explain_all",
    "import_explanations",
    "load_dataset",
    "load_model",
    "load_self_explainer",
    "open_run",
    "plot",
    "representation_similarity",
    "train_editor",
    "train_masked",
    "train_nle",
    "train_plain",
]

_HOMES = {
    "Checked": "checks.checked",
    "Table": "results.table",
    "check_explainer": "checks.explainer",
    "check_metric": "checks.metric",
    "import_explanations": "data.imports.load",
    "load_dataset": "data.load",
    "load_model": "models.load",
    "load_self_explainer": "models.self_explainer",
    "representation_similarity": "jobs.similarity",
}
"""Modules of names that are neither in `verax.types` nor in `verax.api`."""


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: `verax list` must not wait for scipy, nor for torch."""
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("verax")
    if name not in __all__:
        raise AttributeError(f"module 'verax' has no attribute {name!r}")
    for home in [_HOMES[name]] if name in _HOMES else ["types", "api"]:
        module = importlib.import_module(f"verax.{home}")
        if hasattr(module, name):
            break
    return getattr(module, name)
