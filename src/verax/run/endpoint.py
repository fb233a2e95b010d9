"""Runs whose model is at an HTTP endpoint: answers are stored, failures are asked again, requests are counted."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from verax.models.endpoint import REASONS, CachedEndpoint, Endpoint
from verax.models.endpoint.choice import text_request
from verax.models.generator import ChoicePass, GeneratePass, Prompt
from verax.models.self_explainer import SelfExplainer
from verax.models.wording import Stage
from verax.results.manifest import Manifest, ModelEntry
from verax.run.context import TEXT, RunContext
from verax.run.plan import Remaining
from verax.store.journal import pack
from verax.store.keys import key_of
from verax.store.tables import Row, encode
from verax.types import Generated, Instance, Score, Skip

PROMPTED = 32
"""Inputs whose prompts are counted."""
BYTES = 4
"""Bytes of text in a token, about."""


def with_cache(model: Any) -> Any:
    """The model with its endpoint's answers stored, in one place for classes and explanations."""
    if not isinstance(model, SelfExplainer) or not isinstance(model.explainer, Endpoint):
        return model
    if model.predictor is not model.explainer:
        return model
    cached = CachedEndpoint(model.explainer)
    return dataclasses.replace(model, explainer=cached, predictor=cached)


def endpoint_of(model: Any) -> CachedEndpoint | None:
    """The endpoint of a model, if it has one."""
    explainer = getattr(model, "explainer", None)
    return explainer if isinstance(explainer, CachedEndpoint) else None


class RequestCost(NamedTuple):
    """What missing rows take of an endpoint at most: requests, tokens of prompts and of answers, bytes of answers.

    A token of a prompt counts as four bytes. The prompts of some inputs are counted as they would be sent, with an
    explanation of the largest length where they contain one. An answer is stored by itself and in a row.
    """

    requests: int
    prompt_tokens: int
    answer_tokens: int
    disk: int


def request_cost(run: RunContext, left: Remaining) -> RequestCost:
    """What is left of a run at its endpoint, which is sent nothing."""
    model: SelfExplainer = run.model
    some = run.data.instances[:: -(-len(run.data) // PROMPTED)]
    prompts = answers = 0.0
    for label, kind, _, method in run.explainers:
        if method is None or kind != TEXT:
            continue
        stages: Sequence[Stage] = method.component.stages  # type: ignore[attr-defined]
        sent = [_request(model, instance, stage) for instance in some for stage in stages]
        inputs = sum(load.inputs for group, load in left.groups.items() if group.explainer == label) / len(some)
        prompts += inputs * sum(_n_bytes(request.prompt) for request in sent) / BYTES
        answers += inputs * sum(request.max_new_tokens for request in sent)
    longest = Generated("x" * BYTES * model.max_new_tokens, "length", model.max_new_tokens)
    size = len(pack(*encode(key_of(row="answer"), 0, longest)))
    return RequestCost(left.requests, round(prompts), round(answers), 2 * left.requests * size)


def _request(model: SelfExplainer, instance: Instance, stage: Stage) -> GeneratePass:
    """The request of a stage as it is sent."""
    label = model.labels[0] if stage == "explain_label" else None
    explanation = "x" * BYTES * model.max_new_tokens if stage == "answer_explanation" else None
    prompt = model.wording.prompt(stage, instance, model.labels, label=label, explanation=explanation)
    if stage.startswith("explain"):
        return GeneratePass(prompt, model.max_new_tokens)
    return text_request(ChoicePass(prompt, model.labels))


def _n_bytes(prompt: Prompt) -> int:
    return len(f"{prompt.system or ''}{prompt.user}".encode("utf-8", "replace"))


def unanswered(model: Any, rows: Iterable[tuple[str, Row]]) -> frozenset[str]:
    """Keys of rows that have no result because an endpoint did not answer."""
    if endpoint_of(model) is None:
        return frozenset()
    return frozenset(key for key, row in rows if _is_unanswered(row))


def _is_unanswered(row: Row) -> bool:
    log = row.trial_log if isinstance(row, Score) else None
    if log is not None and (log.unanswered or any(trial.untested in REASONS for trial in log.trials)):
        return True
    return isinstance(row, (Skip, Score)) and row.reason in REASONS


def hosts(model: ModelEntry) -> tuple[str, ...]:
    """Addresses that answered in a folder; a manifest of an older version has the last one only."""
    if "hosts" in model.model_fields_set or model.host is None:
        return model.hosts
    return (model.host,)


def moved(model: ModelEntry) -> list[str]:
    """A warning if stored answers came from another address: the same name may be another model there."""
    others = [host for host in model.hosts if host != model.host]
    if not others:
        return []
    return [
        f"answers of {', '.join(others)} are kept as those of {model.host}: if that is another model, use another "
        "folder"
    ]


def with_requests(manifest: Manifest, sent: int, earlier: Manifest) -> Manifest:
    """The manifest with the requests that were sent; an address that was sent nothing has answered nothing."""
    answered = manifest.model.hosts if sent else hosts(earlier.model)
    model = manifest.model.model_copy(update={"hosts": answered})
    return manifest.model_copy(update={"model": model, "requests": (manifest.requests or 0) + sent})
