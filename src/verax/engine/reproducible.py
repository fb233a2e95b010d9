"""Answers that are the same to the last bit, whatever else is asked: every pass alone, on one thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_ALONE: ContextVar[bool] = ContextVar("alone", default=False)


def passes_are_alone() -> bool:
    """Whether every pass is a batch of its own."""
    return _ALONE.get()


@contextmanager
def reproducible(model: Any) -> Iterator[None]:
    """Compute on behalf of a model so that no bit depends on other inputs, their order or the number of threads.

    The order in which a matrix product or a sum adds its terms depends on the number of rows, on padding and on the
    number of threads. Alone and on one thread it does not, so a pass has the same result in every process of the same
    machine. This holds for float64 on a CPU, where it is worth its price; in other precisions batches are pooled.

    Args:
        model: the explained model; while it computes in float64 on a CPU, all other models are asked in this way too.
    """
    if not _is_float64_on_cpu(model):
        yield
        return
    token = _ALONE.set(True)
    try:
        with one_thread():
            yield
    finally:
        _ALONE.reset(token)


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute on one thread: torch, and the BLAS of numpy and scipy."""
    import torch  # noqa: PLC0415 - callables and endpoints do without
    from threadpoolctl import threadpool_limits  # noqa: PLC0415

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1, user_api="blas"):
            yield
    finally:
        torch.set_num_threads(threads)


def _is_float64_on_cpu(model: Any) -> bool:
    generators = (model.explainer, model.predictor) if hasattr(model, "explainer") else (model,)
    return all(one.fingerprint.get("dtype") == "float64" and one.about["device"] == "cpu" for one in generators)
