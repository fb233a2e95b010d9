"""interpreto as its users call it, in an environment of its own: a child process that answers on request.

    .bench/interpreto/bin/python -m bench.peer_interpreto

One JSON object a line comes in and one goes out. The first says what to load (`model`: a folder, `texts`, `targets`:
the class of each text, `threads`, `cpu_time`) and is answered by the versions and the token ids of the texts; every
further one names a `method` and a `batch_size` (null for interpreto's own) and is answered by scores, seconds and rows.
It ends when its input does.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from functools import partial
from importlib.metadata import version
from typing import Any

import torch
from interpreto import (  # type: ignore[import-not-found] # it has an environment of its own
    IntegratedGradients,
    KernelShap,
    Lime,
    Occlusion,
)
from transformers import AutoModelForSequenceClassification, AutoTokenizer
from transformers.utils.logging import disable_progress_bar

from bench.peer_work import KERNEL_SHAP_SAMPLES, LIME_SAMPLES, STEPS, Scores, Stopwatch

METHODS: dict[str, tuple[Any, dict[str, int]]] = {
    "occlusion": (Occlusion, {}),
    "lime": (Lime, {"n_perturbations": LIME_SAMPLES}),
    "kernel_shap": (KernelShap, {"n_perturbations": KERNEL_SHAP_SAMPLES}),
    "integrated_gradients": (IntegratedGradients, {"n_perturbations": STEPS}),
}


def answers(requests: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Load what the first request says; answer each of the others."""
    given = next(requests)
    disable_progress_bar()
    torch.set_num_threads(given["threads"])
    model = AutoModelForSequenceClassification.from_pretrained(given["model"]).eval()
    tokenizer = AutoTokenizer.from_pretrained(given["model"])
    texts, targets = given["texts"], torch.tensor(given["targets"])
    stopwatch = Stopwatch(model, cpu_time=given["cpu_time"])
    yield {
        "versions": {name: version(name) for name in ("interpreto", "torch", "transformers")},
        "tokens": tokenizer(texts)["input_ids"],
        "threads": torch.get_num_threads(),
    }
    for request in requests:
        kind, options = METHODS[request["method"]]
        if request["batch_size"] is not None:
            options = {**options, "batch_size": request["batch_size"]}
        # the explainer is made before the clock starts; all texts in one call is its best use
        explainer = kind(model, tokenizer, **options)
        yield stopwatch(partial(explain, explainer, texts, targets))._asdict()


def explain(explainer: Any, texts: list[str], targets: torch.Tensor) -> Scores:
    """One call for all texts."""
    return [one.attributions[0].tolist() for one in explainer(texts, targets=targets)]


def main() -> None:
    """Answer line by line; whatever a library prints goes to the error stream, so that it can't get in between."""
    with os.fdopen(os.dup(1), "w") as out:
        os.dup2(2, 1)
        for answer in answers(json.loads(line) for line in sys.stdin):
            out.write(json.dumps(answer) + "\n")
            out.flush()


if __name__ == "__main__":
    main()
