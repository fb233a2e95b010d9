"""Rows of a run from what methods and metrics return or raise."""

from __future__ import annotations

import traceback
from typing import Any

import numpy as np
from scipy.special import softmax

from verax.engine.engine import Outcome
from verax.engine.questions import Outputs, QuestionGenerator
from verax.engine.text_protocols import AnsweringMethod, Tested
from verax.models.subject import Subject
from verax.run.parameters import Configured
from verax.types import (
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

FAILED = "failed"
PREDICTION = "prediction"
"""The method of a skip that concerns the instance as a whole: the model cannot be asked about it at all."""


def predict(x: Subject) -> QuestionGenerator[Prediction]:
    """The model's answer to the unperturbed input."""
    logits: FloatArray = yield Outputs(x, np.empty((0, x.n_units), bool), and_full=True)
    probabilities = softmax(logits[-1])
    labels = x.encoding.labels
    best = labels[int(np.argmax(logits[-1]))]
    return Prediction(x.instance.id, best, labels, tuple(probabilities.tolist()))


def write_text(x: Subject, method: Configured[AnsweringMethod]) -> QuestionGenerator[Nle]:
    """The explanation of an input in free text."""
    if empty := [number for number, part in enumerate(x.instance.parts, 1) if not part.words]:
        raise Undefined("empty", f"part {empty[0]} of the input has no word")
    answer = yield from method.component.answer(x)
    answer = yield from method.component.explain(x, answer)
    if answer.text is None:
        raise TypeError(f"{method.label} ended without an explanation")
    ids, labels = (x.instance.id, method.label, Target()), x.model.labels
    predicted, source = answer.probabilities, answer.label_source
    return Nle(*ids, answer.text, answer.label, labels, predicted, source, notes=answer.notes)


def as_highlight(
    instance: Instance, method: Configured[Any], attribution: Attribution, cost: Cost = Cost()
) -> Highlight:
    """The explanation of an instance by scores."""
    target, scores = getattr(method.component, "target", Target()), tuple(attribution.scores.tolist())
    ids = (instance.id, method.label, method.component.kind, target)
    return Highlight(*ids, attribution.units, scores, cost, attribution.notes)


def as_score(instance_id: str, method: str, metric: str, outcome: Outcome[Measured | Tested]) -> Score:
    """The value of a metric, or the reason why there is none."""
    ids, result, cost = (instance_id, method, metric), outcome.value, outcome.cost
    if result is None:
        reason, detail = _reason(outcome.error)
        return Score(*ids, None, reason, detail, cost=cost)
    if isinstance(result, Tested):
        return Score(*ids, result.value, result.reason, result.detail, cost=cost, trial_log=result.trial_log)
    value, curve, series = result
    if not np.isfinite(value):
        return Score(*ids, None, "nonfinite", "the metric's value is not a finite number", cost=cost)
    return Score(*ids, value, curve=curve, cost=cost, series=series)


def as_skip(instance_id: str, method: str, error: Exception | None) -> Skip:
    """The reason why there is no explanation."""
    reason, detail = _reason(error)
    return Skip(instance_id, method, reason, detail, failed=reason == FAILED)


def skipped_score(skip: Skip, metric: str) -> Score:
    """The score of an explanation that is not there."""
    return Score(skip.instance_id, skip.method, metric, None, skip.reason, skip.detail)


def _reason(error: Exception | None) -> tuple[str, str]:
    if isinstance(error, Undefined):
        return error.reason, error.detail
    where = traceback.extract_tb(error.__traceback__)[-1] if error is not None and error.__traceback__ else None
    place = f" ({where.filename.rpartition('/')[2]}:{where.lineno})" if where else ""
    return FAILED, f"{type(error).__name__}: {error}{place}"
