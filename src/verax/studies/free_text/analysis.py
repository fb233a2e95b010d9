"""Consistency tests of free-text explanations: counterfactuals, noise floor, reconstruction, performance, comparison.

A test that fails is evidence against an explanation; a test that passes is no proof that it is faithful.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from verax.results.matching import require_same_texts
from verax.results.run import Run, run_names
from verax.stats.bleu import corpus_bleu, counts_of
from verax.stats.intervals import mean_difference, of_sums, ratio, share
from verax.stats.joint import joint_test
from verax.studies.free_text.noise import NoiseRow, mentions, noise_row
from verax.studies.free_text.outcomes import (
    BLEU,
    MATCHES,
    Outcome,
    Results,
    TextRun,
    consistency_tests,
    results_of,
    text_run,
    unions,
)
from verax.types import CUT_OFF, Estimate, Nle, TrialLog, UserError


@dataclass(frozen=True, slots=True)
class ConsistencyRow:
    """One test of one method (Tables 2 and 3).

    Args:
        test: the editor, or the union of several (`random + infill`); `reconstruction`.
        found: share of instances with a counterfactual, or with a reconstructed input.
        among_found: share of these whose explanation is inconsistent; None if there is none.
        total: share of all tested instances whose explanation is inconsistent; None if none was tested.
        counterfactuals: number of counterfactuals over all instances; 0 for a reconstruction.
        mentioned: share of the counterfactuals whose explanation mentions the inserted words.
        match: the rule of mention that decides.
        by_rule: `total` by each rule of mention; empty where that was not recorded.
        flips: share of all edits that change the prediction.
        self_flips: share of answers to the unedited input, asked again, that are another class: what `flips` would be
            if edits had no effect. 0 for a deterministic model; None where that was not measured.
        unanswered: edits of the tested instances, random ones included, that got no answer, by reason.
        by_meaning: `total` if a word of at least `threshold` similarity counts as a mention too; None if that was not
            measured.
    """

    model: str
    method: str
    test: str
    n: int
    untested: Mapping[str, int]
    found: Estimate | None
    among_found: Estimate | None
    total: Estimate | None
    counterfactuals: int = 0
    mentioned: Estimate | None = None
    match: str = ""
    by_rule: Mapping[str, Estimate | None] = field(default_factory=dict)
    tried: float | None = None
    flips: Estimate | None = None
    self_flips: Estimate | None = None
    repeats: int = 0
    untested_edits: Mapping[str, int] = field(default_factory=dict)
    unanswered: Mapping[str, int] = field(default_factory=dict)
    by_meaning: Estimate | None = None
    threshold: float | None = None

    @property
    def not_tested(self) -> int:
        """Number of instances that were not tested."""
        return sum(self.untested.values())


@dataclass(frozen=True, slots=True)
class PerformanceRow:
    """How well a model predicts and explains (Table 7).

    Args:
        accuracy: over the `judged` instances whose gold class the model has; one without an answer counts as wrong.
        bleu: corpus BLEU, from 0 to 100, over the `compared` explanations that have a human reference.
        parsed: number of classes parsed from the text, where the model gives no likelihoods.
        by_first_token: number of classes found by the first token of an answer.
    """

    model: str
    method: str
    n: int
    accuracy: Estimate | None
    judged: int
    bleu: Estimate | None
    compared: int
    parsed: int
    by_first_token: int
    cut_off: int


@dataclass(frozen=True, slots=True)
class MethodComparison:
    """Two methods under one test, over the `n` instances that both were tested on.

    Args:
        p: joint test of all methods under the same test, adjusted for their pairs.
    """

    test: str
    first: tuple[str, str]
    second: tuple[str, str]
    n: int
    total_first: float
    total_second: float
    difference: Estimate
    p: float | None


@dataclass(frozen=True, slots=True)
class FreeText:
    """All tests of one run, or of several on the same inputs."""

    counterfactual: tuple[ConsistencyRow, ...]
    noise: tuple[NoiseRow, ...]
    reconstruction: tuple[ConsistencyRow, ...]
    performance: tuple[PerformanceRow, ...]
    comparisons: tuple[MethodComparison, ...]
    runs: int
    sources: tuple[TextRun, ...] = field(default=(), repr=False, compare=False)
    """The explanations and scores that all this was made from."""


Owner = tuple[str, str]
"""Model and method."""


def analyse(runs: Sequence[Run]) -> FreeText | None:
    """The tests of one run, or of several on the same inputs; None if none has free-text explanations."""
    speaking = [run for run in runs if run.text_methods]
    if not speaking:
        return None
    for run in runs:
        if run not in speaking:
            raise UserError(f"{run.folder} has no free-text explanations, and {speaking[0].folder} has")
    for number, run in enumerate(runs):
        for other in runs[:number]:
            require_same_texts(other, run)
    return free_text([text_run(name, run) for name, run in zip(run_names(runs), runs, strict=True)])


def free_text(runs: Sequence[TextRun], *, seed: int = 0) -> FreeText:
    """Every test of every method, and the methods compared."""
    owners = [(run, method) for run in runs for method in run.methods]
    found: list[tuple[Owner, Results]] = []
    for run, method in owners:
        single = consistency_tests(run.manifest)
        # the order of tables: editors, their unions, then reconstruction
        each = sorted((*single, *unions(single)), key=lambda test: test.kind)
        found += [((run.name, method), results_of(run, method, test)) for test in each]
    rows = {
        kind: tuple(_row(*owner, results, seed) for owner, results in found if results.test.kind == kind)
        for kind in ("counterfactual", "reconstruction")
    }
    sequential = any(run.manifest.sequential for run in runs)
    noise = [
        noise_row(*owner, results, seed=seed, sequential=sequential)
        for owner, results in found
        if len(results.test.metrics) == 1
    ]
    return FreeText(
        counterfactual=rows["counterfactual"],
        noise=tuple(row for row in noise if row is not None),
        reconstruction=rows["reconstruction"],
        performance=tuple(_performance(run, method, seed) for run, method in owners),
        comparisons=tuple(_comparisons(found, seed, sequential=sequential)),
        runs=len(runs),
        sources=tuple(runs),
    )


def _row(model: str, method: str, results: Results, seed: int) -> ConsistencyRow:
    outcomes = list(results.outcomes.values())
    hits = [outcome for outcome in outcomes if outcome.found]
    inconsistent = sum(outcome.inconsistent for outcome in hits)
    row = ConsistencyRow(
        model=model,
        method=method,
        test=results.test.name,
        n=len(outcomes),
        untested=results.untested,
        found=share(len(hits), len(outcomes), seed=seed),
        among_found=share(inconsistent, len(hits), seed=seed),
        total=share(inconsistent, len(outcomes), seed=seed),
    )
    if results.test.kind == "reconstruction":
        return row
    edits, threshold, logs = results.trials("edit"), results.threshold, results.logs
    still = sum(outcome.by_meaning for outcome in hits)
    judged = all(outcome.by_rule for outcome in hits)
    rules = {rule: sum(outcome.by_rule.get(rule, False) for outcome in hits) for rule in MATCHES if judged}
    return replace(
        row,
        counterfactuals=sum(map(len, edits.values())),
        mentioned=mentions(edits, seed=seed),
        match=results.test.match,
        by_rule={rule: share(count, len(outcomes), seed=seed) for rule, count in rules.items()},
        tried=len(results.scores) * sum(log.tried for log in logs) / len(logs) if logs else None,
        flips=_flips(results.logs_by_instance, seed),
        self_flips=_self_flips(results.logs_by_instance, seed),
        repeats=sum(log.repeats for log in logs),
        untested_edits=results.untested_edits,
        unanswered=results.unanswered,
        by_meaning=None if threshold is None else share(still, len(outcomes), seed=seed),
        threshold=threshold,
    )


def _ratio(hits: Sequence[int], of: Sequence[int], seed: int = 0) -> Estimate | None:
    return ratio(np.array(hits, float), np.array(of, float), seed=seed)


def _flips(logs: Sequence[Sequence[TrialLog]], seed: int) -> Estimate | None:
    """The share of edits that flip the prediction; inputs are resampled, with the edits of all editors."""
    hits = [sum(trial.kind == "edit" for log in several for trial in log.trials) for several in logs]
    return _ratio(hits, [sum(log.tried for log in several) for several in logs], seed)


def _self_flips(logs: Sequence[Sequence[TrialLog]], seed: int) -> Estimate | None:
    """The share of repeated answers that differ: 0 where none had to be repeated, None where none was counted."""
    counted = [[log for log in several if log.self_flips is not None] for several in logs]
    if not any(counted):
        return None
    differ = [sum(log.self_flips or 0 for log in several) for several in counted]
    asked = _ratio(differ, [sum(log.repeats for log in several) for several in counted], seed)
    return Estimate(0.0) if asked is None else asked


def _performance(run: TextRun, method: str, seed: int) -> PerformanceRow:
    texts = run.texts[method]
    correct = _correct(run, method, texts)
    metric = next((entry.label for entry in run.manifest.metrics if entry.name == BLEU), "")
    scores = run.scores.get((method, metric), {}).values()
    counts = [None if score.value is None else counts_of(score.series) for score in scores]
    compared = [count for count in counts if count is not None]
    return PerformanceRow(
        model=run.name,
        method=method,
        n=len(texts),
        accuracy=share(sum(correct), len(correct), seed=seed),
        judged=len(correct),
        bleu=of_sums(np.array(compared), corpus_bleu, seed=seed) if compared else None,
        compared=len(compared),
        parsed=sum(text.label_source == "parsed" for text in texts),
        by_first_token=sum(text.label_source == "first_token" for text in texts),
        cut_off=sum(CUT_OFF in text.notes for text in texts),
    )


def _correct(run: TextRun, method: str, texts: Sequence[Nle]) -> list[bool]:
    """Whether the prediction is right, for each input whose gold class the model has.

    An input without an explanation has scores that say why: it got no answer, unless something failed unexpectedly.
    """
    predicted: dict[str, str | None] = dict.fromkeys(run.scored.get(method, ()))
    predicted |= {text.instance_id: text.label.casefold() for text in texts}
    known = {label.casefold() for label in (texts[0].labels if texts else run.manifest.model.labels)}
    gold = {name: label.casefold() for name, label in run.gold.items() if label is not None}
    return [predicted[name] == label for name, label in gold.items() if name in predicted and label in known]


def _comparisons(found: Sequence[tuple[Owner, Results]], seed: int, *, sequential: bool) -> Iterator[MethodComparison]:
    """All pairs of methods under each test that both have, tested jointly."""
    by_test: dict[tuple[str, str, str, str], list[tuple[Owner, dict[str, Outcome]]]] = {}
    for owner, results in found:
        test = results.test
        same = (test.kind, test.name, test.settings, test.search)
        by_test.setdefault(same, []).append((owner, results.outcomes))
    for (_, name, _, _), columns in by_test.items():
        ids = list(dict.fromkeys(instance for _, outcomes in columns for instance in outcomes))
        values = np.array([[_inconsistent(of, instance) for _, of in columns] for instance in ids])
        values = values.reshape(len(ids), len(columns))
        test_of_all = joint_test(values, higher_is_better=False, seed=seed, sequential=sequential)
        for i, j in combinations(range(len(columns)), 2):
            row = _pair(name, columns[i], columns[j], test_of_all.p[i, j], seed)
            if row is not None:
                yield row


def _inconsistent(outcomes: Mapping[str, Outcome], instance: str) -> float:
    return float(outcomes[instance].inconsistent) if instance in outcomes else np.nan


def _pair(
    test: str, one: tuple[Owner, dict[str, Outcome]], other: tuple[Owner, dict[str, Outcome]], p: float, seed: int
) -> MethodComparison | None:
    (first, mine), (second, theirs) = one, other
    shared = [name for name in mine if name in theirs]
    a, b = (np.array([float(side[name].inconsistent) for name in shared]) for side in (mine, theirs))
    difference = mean_difference(b - a, seed=seed)
    if difference is None:
        return None
    return MethodComparison(
        test=test,
        first=first,
        second=second,
        n=len(shared),
        total_first=float(a.mean()),
        total_second=float(b.mean()),
        difference=difference,
        p=None if np.isnan(p) else float(p),
    )
