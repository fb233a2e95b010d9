"""The editors of a run: those of the preset fitted to the data, and the option `--editor`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verax.run.spec import by_name
from verax.types import UserError

COUNTERFACTUAL = "counterfactual_test"
SHIPPED_FOR, SHIPPED_EDITOR = "world/nli", "world/nli-editor"
WORLD = "world"
_RANDOM_OF_WORLD = {COUNTERFACTUAL: {"editor": {"random": {"wordnet": WORLD}}}}


def with_editor(content: Mapping[str, Any], editor: str | None) -> dict[str, Any]:
    """A spec's content with a trained editor in place of any other; if there is none, in a further test."""
    metrics = content.get("metrics")
    if editor is None or not isinstance(metrics, (list, tuple)):
        return dict(content)
    tests = [_settings(metric) for metric in metrics if _name(metric) == COUNTERFACTUAL]
    if not tests:
        raise UserError("--editor: the run has no counterfactual_test; use --preset nle, or name it in the spec")
    if not any(map(_is_infill, tests)):
        random = [settings for settings in tests if _name(settings.get("editor", "random")) == "random"]
        shared = random[0] if len(random) == 1 else {}  # only tests with equal settings have a union
        return {**content, "metrics": [*metrics, _test(shared, {"path": editor})]}
    changed: list[Any] = []
    for metric in metrics:
        settings = _settings(metric)
        if _name(metric) != COUNTERFACTUAL or not _is_infill(settings):
            changed.append(metric)
        else:
            replaced = _test(settings, {**_settings(settings["editor"]), "path": editor})
            changed += [] if replaced in changed else [replaced]  # tests may have differed in their editors only
    return {**content, "metrics": changed}


def fitted_to_data(content: Mapping[str, Any]) -> dict[str, Any]:
    """A preset's content without the shipped editor, and with words of WordNet, unless the data is the built-in one."""
    data = by_name(content.get("data") or {})
    name = str(data.get("name")) if isinstance(data, Mapping) else ""
    metrics: list[Any] = list(content["metrics"])
    if name != SHIPPED_FOR:
        metrics = [metric for metric in metrics if SHIPPED_EDITOR not in str(metric)]
    if not name.startswith(f"{WORLD}/"):
        random = {COUNTERFACTUAL: {"editor": "random"}}
        metrics = [random if metric == _RANDOM_OF_WORLD else metric for metric in metrics]
    return {**content, "metrics": metrics}


def _test(settings: Mapping[str, Any], infill: Mapping[str, Any]) -> dict[str, Any]:
    """A counterfactual test by a trained editor."""
    return {COUNTERFACTUAL: {**settings, "editor": {"infill": dict(infill)}}}


def _is_infill(settings: Mapping[str, Any]) -> bool:
    return _name(settings.get("editor", "random")) == "infill"


def _name(given: Any) -> str:
    return str(next(iter(given), "")) if isinstance(given, dict) else str(given)


def _settings(given: Any) -> dict[str, Any]:
    """The parameters in an entry of a spec: a name has none, `{name: {parameter: value}}` may have some."""
    inner = given.get(_name(given)) if isinstance(given, Mapping) else None
    return dict(inner) if isinstance(inner, Mapping) else {}
