"""verax compared with Captum and interpreto: the same model, texts and budgets, timed in turns in one run.

    python -m bench.peers --json

A randomly initialised BERT (6 layers, hidden size 384) and texts of about 26 tokens. Every library gets the text and
the class to explain, and returns one score per word; words are removed as the peer does it. Captum is called with one
text at a time, interpreto with all texts at once, verax with all texts through one engine. A peer is called with its
defaults, and once more with a batch size. Printed is the peer's time over that of verax, by medians.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np
import torch

from bench.models import PairMaker, random_bert
from bench.peer_captum import Captum
from bench.peer_process import INSTALLED, interpreto
from bench.peer_work import (
    KERNEL_SHAP_SAMPLES,
    LIME_SAMPLES,
    PERMUTATIONS,
    STEPS,
    TUNED_BATCH,
    Answer,
    Scores,
    Stopwatch,
)
from verax.data.text import from_words
from verax.engine.engine import Engine, Task, TaskResult
from verax.engine.protocols import Method, as_generator
from verax.methods.integrated_gradients import IntegratedGradients
from verax.methods.lime import Lime
from verax.methods.occlusion import Occlusion
from verax.methods.shapley import KernelShap, ShapleySampling
from verax.models.classifier import Classifier
from verax.models.encoding import PerturbedInput
from verax.models.subject import Subject
from verax.types import Attribution, Instance, Target

SETTINGS = ("defaults", "tuned")
REQUIRED = 1.3
"""The least ratio, whatever the peer, the method and the number of texts."""
GIVEN = Target("gold")  # the class that every library explains


@dataclass(frozen=True)
class Pairing:
    """What a peer is compared in.

    Args:
        peer, method: who, and what.
        ours: the same in verax: the same budget, words removed in the same way.
        same_scores: `equal`, up to rounding; `similar`, where each draws its own samples; `other`, where the peer
            computes something else by design.
    """

    peer: str
    method: str
    ours: Method
    same_scores: str

    @property
    def name(self) -> str:
        """Peer and method."""
        return f"{self.peer} {self.method}"


PAIRINGS = (
    Pairing("captum", "occlusion", Occlusion(GIVEN, removal="pad"), "equal"),
    Pairing("captum", "lime", Lime(GIVEN, LIME_SAMPLES, "lasso", removal="pad"), "similar"),
    Pairing("captum", "shapley_sampling", ShapleySampling(GIVEN, PERMUTATIONS, removal="pad"), "similar"),
    Pairing("captum", "integrated_gradients", IntegratedGradients(GIVEN, STEPS, "pad"), "equal"),
    Pairing("interpreto", "occlusion", Occlusion(GIVEN, removal="mask"), "equal"),
    Pairing("interpreto", "lime", Lime(GIVEN, LIME_SAMPLES, "ridge", removal="mask"), "similar"),
    Pairing("interpreto", "kernel_shap", KernelShap(GIVEN, KERNEL_SHAP_SAMPLES, "mask"), "similar"),
    # interpreto averages |gradient x point of the path| over dimensions: as many gradients, other numbers
    Pairing("interpreto", "integrated_gradients", IntegratedGradients(GIVEN, STEPS, "zero"), "other"),
)


def make_instances(classifier: Classifier, n: int) -> list[Instance]:
    """The words of random pairs as one text each (interpreto's words are those of one text), labelled as predicted."""
    joined = [
        replace(pair, parts=(from_words([word for part in pair.parts for word in part.words]),))
        for pair in PairMaker(seed=1).instances(n)
    ]
    rows = [Subject(instance, classifier) for instance in joined]
    best = [int(classifier.logits([PerturbedInput(x.encoding, x.state)])[0].argmax()) for x in rows]
    return [replace(instance, label=classifier.labels[i]) for instance, i in zip(joined, best, strict=True)]


def explain(classifier: Classifier, instances: Sequence[Instance], method: Method) -> Scores:
    """All instances through one engine of verax."""
    scores: dict[int, list[float]] = {}

    def keep(number: int, outcome: TaskResult[Attribution]) -> tuple[()]:
        if outcome.error is not None or outcome.value is None:
            raise outcome.error or RuntimeError("an explanation is missing")
        scores[number] = outcome.value.scores.tolist()
        return ()

    Engine().run(
        Task(as_generator(method, Subject(instance, classifier)), partial(keep, number))
        for number, instance in enumerate(instances)
    )
    return [scores[number] for number in range(len(instances))]


Runner = Callable[[], Answer]


def measure(runners: dict[str, dict[str, Runner]], repeats: int) -> dict[str, dict[str, list[Answer]]]:
    """Everything once without looking at the clock, then in turns; who comes first in one round is last in the next."""
    for group in runners.values():
        for run in group.values():
            run()
    answers: dict[str, dict[str, list[Answer]]] = {name: {who: [] for who in group} for name, group in runners.items()}
    for i in range(repeats):
        for name, group in runners.items():
            for who, run in list(group.items())[:: 1 if i % 2 == 0 else -1]:
                answers[name][who].append(run())
    return answers


def compare(pairing: Pairing, answers: dict[str, list[Answer]]) -> Iterator[dict[str, Any]]:
    """A row for each way to call the peer."""
    ours = statistics.median(answer.seconds for answer in answers["verax"])
    for setting in [who for who in answers if who != "verax"]:
        theirs = statistics.median(answer.seconds for answer in answers[setting])
        ratio = theirs / ours
        yield {
            "peer": pairing.peer,
            "method": pairing.method,
            "setting": setting,
            "peer_seconds": round(theirs, 3),
            "verax_seconds": round(ours, 3),
            "ratio": round(ratio, 2),
            "met": ratio >= REQUIRED,
            "peer_rows": answers[setting][0].rows,
            "verax_rows": answers["verax"][0].rows,
            **_agreement(answers[setting][0].scores, answers["verax"][0].scores, pairing.same_scores),
        }


def _agreement(theirs: Scores, ours: Scores, same_scores: str) -> dict[str, Any]:
    """The largest difference where scores should be equal, and how they correlate over all words; why, where not."""
    a, b = (np.concatenate(scores) for scores in (theirs, ours))
    constant = " and ".join(who for who, scores in (("the peer", a), ("verax", b)) if not np.ptp(scores))
    reason = (
        "the peer scores something else" if same_scores == "other" else f"constant: {constant}" if constant else None
    )
    return {
        "max_difference": float(np.abs(a - b).max()) if same_scores == "equal" else None,
        "correlation": None if reason else round(float(np.corrcoef(a, b)[0, 1]), 4),
        "why_no_correlation": reason,
    }


def run(
    pairings: Sequence[Pairing], *, instances: int, repeats: int, settings: Sequence[str], cpu_time: bool
) -> dict[str, Any]:
    """Measure these."""
    model, tokenizer, classifier = random_bert()
    data = make_instances(classifier, instances)
    texts = [instance.parts[0].raw for instance in data]
    targets = [classifier.labels.index(str(instance.label)) for instance in data]
    stopwatch = Stopwatch(model, cpu_time=cpu_time)
    captum = Captum(model, tokenizer, texts, targets)
    versions = {name: version(name) for name in ("captum", "torch", "transformers")}
    with ExitStack() as stack:
        peers: dict[str, Callable[[str, bool], Answer]] = {
            "captum": lambda method, tuned: stopwatch(partial(captum.explain, method, tuned=tuned))
        }
        if any(pairing.peer == "interpreto" for pairing in pairings):
            child, theirs = stack.enter_context(interpreto(model, tokenizer, texts, targets, cpu_time=cpu_time))
            peers["interpreto"] = lambda method, tuned: child.explain(method, tuned=tuned)
            versions.update({name if name == "interpreto" else f"interpreto's {name}": v for name, v in theirs.items()})
        runners: dict[str, dict[str, Runner]] = {
            pairing.name: {
                "verax": partial(stopwatch, partial(explain, classifier, data, pairing.ours)),
                **{who: partial(peers[pairing.peer], pairing.method, who == "tuned") for who in settings},
            }
            for pairing in pairings
        }
        answers = measure(runners, repeats)
    rows = [row for p in pairings for row in compare(p, answers[p.name])]
    return {
        "results": rows,
        "required": REQUIRED,
        "missed": sum(not row["met"] for row in rows),
        "instances": instances,
        "repeats": repeats,
        "mean_tokens": round(float(np.mean([len(ids) for ids in tokenizer(texts)["input_ids"]])), 1),
        "budgets": {
            "lime": LIME_SAMPLES,
            "shapley_sampling": PERMUTATIONS,
            "kernel_shap": KERNEL_SHAP_SAMPLES,
            "integrated_gradients": STEPS,
        },
        "tuned_batch": TUNED_BATCH,
        "threads": torch.get_num_threads(),
        "versions": versions,
    }


def show(result: dict[str, Any]) -> None:
    """A line for each row, and what they were measured with."""
    print(f"{'':42}{'ratio':>7}{'':8}{'peer s':>9}{'verax s':>9}{'peer rows':>11}{'verax rows':>11}  scores")
    for row in result["results"]:
        met = "" if row["met"] else "MISSED"
        scores = row["why_no_correlation"] or f"correlation {row['correlation']}"
        if row["max_difference"] is not None:
            scores = f"differ by at most {row['max_difference']:.0e}"
        print(
            f"{row['peer'] + ' ' + row['method'] + ', ' + row['setting']:42}{row['ratio']:>7}  {met:6}"
            f"{row['peer_seconds']:>9}{row['verax_seconds']:>9}{row['peer_rows']:>11}{row['verax_rows']:>11}"
            f"  {scores}"
        )
    versions = ", ".join(f"{name} {number}" for name, number in result["versions"].items())
    print(f"{result['instances']} texts of {result['mean_tokens']} tokens, {result['threads']} threads, {versions}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--instances", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--tuned", action="store_true", help="leave out the peers' defaults, which take longest")
    parser.add_argument("--cpu-time", action="store_true", help="CPU time in one thread, for a machine that is busy")
    parser.add_argument("--without-interpreto", action="store_true", help="compare with Captum alone")
    parser.add_argument("--only", default="", metavar="WORDS", help='one line: "captum lime"; or a part of its name')
    options = parser.parse_args()
    named = [pairing for pairing in PAIRINGS if options.only in pairing.name]
    pairings = [pairing for pairing in named if not (options.without_interpreto and pairing.peer == "interpreto")]
    if not pairings:
        parser.error(f"--only {options.only!r} is in none of: {', '.join(pairing.name for pairing in PAIRINGS)}")
    if not INSTALLED.exists() and any(pairing.peer == "interpreto" for pairing in pairings):
        print(
            "interpreto has no environment yet: `make .bench/interpreto/installed` (or `make bench`) makes it; "
            "--without-interpreto compares with Captum alone",
            file=sys.stderr,
        )
        sys.exit(2)
    if options.cpu_time:
        torch.set_num_threads(1)
    settings = SETTINGS[1:] if options.tuned else SETTINGS
    result = run(
        pairings,
        instances=options.instances,
        repeats=options.repeats,
        settings=settings,
        cpu_time=options.cpu_time,
    )
    if options.json:
        json.dump(result, sys.stdout, indent=1)
        print()
    else:
        show(result)


if __name__ == "__main__":
    main()
