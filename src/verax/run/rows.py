"""Rows of a run from the results and errors of methods and metrics."""

from __future__ import annotations

import re
from concurrent.futures import BrokenExecutor
from typing import Any

import numpy as np
from scipy.special import softmax

from verax.engine.engine import TaskResult
from verax.engine.protocols import Answer, as_generator
from verax.engine.questions import Outputs, QuestionGenerator
from verax.models.black_box import CallableError
from verax.models.subject import Subject
from verax.run.context import TEXT
from verax.run.parameters import Configured
from verax.types import (
    FAILED,
    Attribution,
    Cost,
    FloatArray,
    Highlight,
    Instance,
    Measured,
    Nle,
    Prediction,
    Score,
    Skip,
    Target,
    Undefined,
)
from verax.types.errors import located

TEMPORARY = "temporary failure: "
"""How the detail of a failure begins that may not happen again; such rows are computed again when a run continues."""
_TEMPORARY_ERRORS = (CallableError, ConnectionError, TimeoutError, MemoryError, BrokenExecutor)
_OUT_OF_MEMORY = re.compile(r"out of memory|can't allocate memory|not enough memory", re.IGNORECASE)


def predict(x: Subject) -> QuestionGenerator[Prediction]:
    """The model's answer to the unperturbed input."""
    logits: FloatArray = yield Outputs(x, np.empty((0, x.n_units), bool), and_full=True)
    probabilities = softmax(logits[-1])
    labels = x.encoding.labels
    best = labels[int(np.argmax(logits[-1]))]
    return Prediction(x.instance.id, best, labels, tuple(probabilities.tolist()))


def explain(x: Subject, method: Configured[Any]) -> QuestionGenerator[Attribution | Answer]:
    """The explanation of an input by a method."""
    empty = [number for number, part in enumerate(x.instance.parts, 1) if not part.words]
    if empty and method.component.kind == TEXT:
        raise Undefined("empty", f"part {empty[0]} of the input has no word")
    made: Attribution | Answer = yield from as_generator(method.component, x)
    if isinstance(made, Answer) and made.text is None:
        raise TypeError(f"{method.label} ended without an explanation")
    return made


def as_explanation(
    instance: Instance, method: Configured[Any], made: Attribution | Answer, labels: tuple[str, ...], cost: Cost
) -> Highlight | Nle:
    """The explanation of an instance; `labels` are the classes of the model."""
    if isinstance(made, Answer):
        text, predicted, source = made.text or "", made.probabilities, made.label_source
        return Nle(instance.id, method.label, Target(), text, made.label, labels, predicted, source, cost, made.notes)
    target, scores = getattr(method.component, "target", Target()), tuple(made.scores.tolist())
    ids = (instance.id, method.label, method.component.kind, target)
    return Highlight(*ids, made.units, scores, cost, made.notes)


def as_score(instance_id: str, method: str, metric: str, outcome: TaskResult[Measured]) -> Score:
    """The value of a metric, or the reason why there is none."""
    ids, measured, cost = (instance_id, method, metric), outcome.value, outcome.cost
    if measured is None:
        reason, detail = _reason(outcome.error)
        return Score(*ids, None, reason, detail, cost=cost)
    value, curve, series, no_value, detail, log = measured
    if value is not None and not np.isfinite(value):
        return Score(*ids, None, "nonfinite", "the metric's value is not a finite number", cost=cost)
    return Score(*ids, value, no_value, detail, curve, cost, series, log)


def as_skip(instance_id: str, method: str, error: Exception | None) -> Skip:
    """The reason why there is no explanation."""
    reason, detail = _reason(error)
    return Skip(instance_id, method, reason, detail, failed=reason == FAILED)


def skipped_score(skip: Skip, metric: str) -> Score:
    """The score of a missing explanation."""
    return Score(skip.instance_id, skip.method, metric, None, skip.reason, skip.detail)


def _reason(error: Exception | None) -> tuple[str, str]:
    if isinstance(error, Undefined):
        return error.reason, error.detail
    may_pass = isinstance(error, _TEMPORARY_ERRORS) or (
        isinstance(error, RuntimeError) and _OUT_OF_MEMORY.search(str(error)) is not None
    )
    if isinstance(error, CallableError):
        error = error.cause
    return FAILED, f"{TEMPORARY if may_pass else ''}{located(error)}"
