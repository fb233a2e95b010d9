"""The option `--editor` of a run: a trained editor in the counterfactual tests of a spec."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verax.run.spec import by_name
from verax.types import UserError

COUNTERFACTUAL = "counterfactual_test"
SHIPPED_FOR, SHIPPED_EDITOR = "world/nli", "world/nli-editor"


def with_editor(content: Mapping[str, Any], editor: str | None) -> dict[str, Any]:
    """A spec's content with a trained editor in place of any other; without any, in one more counterfactual test."""
    metrics = content.get("metrics")
    if editor is None or not isinstance(metrics, (list, tuple)):
        return dict(content)
    if not any(_name(metric) == COUNTERFACTUAL for metric in metrics):
        raise UserError("--editor: the run has no counterfactual_test; use --preset nle, or name it in the spec")
    if any(map(_is_infill, metrics)):
        changed = [_filled_by(editor, metric) if _is_infill(metric) else metric for metric in metrics]
        # tests that differed in their editors alone are one now
        unique = [one for number, one in enumerate(changed) if not (_is_infill(one) and one in changed[:number])]
        return {**content, "metrics": unique}
    random = [_settings(metric) for metric in metrics if _editor(metric) == "random"]
    shared = random[0] if len(random) == 1 else {}  # only tests with equal settings have a union
    infill = {COUNTERFACTUAL: {**shared, "editor": {"infill": {"path": editor}}}}
    return {**content, "metrics": [*metrics, infill]}


def without_shipped_editor(content: Mapping[str, Any]) -> dict[str, Any]:
    """A preset's content without the shipped editor, unless the data is that whose words the editor knows."""
    data = by_name(content.get("data") or {})
    if isinstance(data, Mapping) and data.get("name") == SHIPPED_FOR:
        return dict(content)
    return {**content, "metrics": [metric for metric in content["metrics"] if SHIPPED_EDITOR not in str(metric)]}


def _filled_by(path: str, metric: Mapping[str, Any]) -> dict[str, Any]:
    """A counterfactual test by a trained editor, with another editor and the same settings."""
    settings = _settings(metric)
    editor = {"infill": {**_settings(settings["editor"]), "path": path}}
    return {**metric, COUNTERFACTUAL: {**settings, "editor": editor}}


def _is_infill(metric: Any) -> bool:
    """Whether an entry of a spec is a counterfactual test by a trained editor."""
    return _editor(metric) == "infill"


def _editor(metric: Any) -> str | None:
    """Name of the editor, if an entry of a spec is a counterfactual test."""
    return _name(_settings(metric).get("editor", "random")) if _name(metric) == COUNTERFACTUAL else None


def _name(given: Any) -> str:
    return str(next(iter(given), "")) if isinstance(given, dict) else str(given)


def _settings(given: Any) -> dict[str, Any]:
    """The parameters of an entry of a spec: a name has none, `{name: {parameter: value}}` may have some."""
    inner = given.get(_name(given)) if isinstance(given, Mapping) else None
    return dict(inner) if isinstance(inner, Mapping) else {}
