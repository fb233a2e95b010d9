"""Free-text explanations under test as tables: counterfactuals, noise floor, reconstruction, performance, comparison.

All of them are tests of consistency: what they find is evidence against an explanation, and that they find nothing is
no proof that it is faithful.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from verax.stats.bleu import corpus_bleu, counts_of
from verax.stats.inference import holm, paired_test
from verax.stats.nle_noise import NoiseRow, mentions, noise_row
from verax.stats.nle_rows import BLEU, NleRun, Outcome, Results, consistency_tests, results_of, setups, unions
from verax.stats.recorded import recorded
from verax.stats.shares import mean_difference, of_sums, share
from verax.types import Estimate, Nle, Score

_FAILED = "failed"
"""The reason of a score whose explanation failed."""


@dataclass(frozen=True, slots=True)
class ConsistencyRow:
    """One test of one set-up (Tables 2 and 3).

    Args:
        model, setup: whose explanations.
        test: the editor, or the union of several (`random + infill`); `reconstruction`.
        n: instances that were tested.
        untested: how many were not, by reason.
        found: share of instances with a counterfactual, or with a reconstructed input.
        among_found: share of these whose explanation is inconsistent; None if there is none.
        total: share of all tested instances whose explanation is inconsistent; None if none was tested.
        counterfactuals: how many were found, over all instances; 0 of a reconstruction.
        mentioned: share of the counterfactuals whose explanation mentions what was put in.
        unanswered: edits of the tested instances, random ones too, that got no answer, by reason: with many of them
            little was searched.
        by_meaning: `total` if a word of at least `threshold` similarity counts as a mention too; None if that was not
            measured.
    """

    model: str
    setup: str
    test: str
    n: int
    untested: Mapping[str, int]
    found: Estimate | None
    among_found: Estimate | None
    total: Estimate | None
    counterfactuals: int = 0
    mentioned: Estimate | None = None
    unanswered: Mapping[str, int] = field(default_factory=dict)
    by_meaning: Estimate | None = None
    threshold: float | None = None

    @property
    def not_tested(self) -> int:
        """Instances that the test could not be carried out on."""
        return sum(self.untested.values())


@dataclass(frozen=True, slots=True)
class PerformanceRow:
    """How well a set-up predicts and explains (Table 7).

    Args:
        n: explanations.
        accuracy: over the `judged` instances whose gold class is one of the model's; one that the model gave no answer
            for counts as wrong.
        bleu: of the corpus, from 0 to 100, over the `compared` explanations that people's can be compared with.
        parsed: how many classes were read from what the model wrote, since it gives no likelihoods.
        by_first_token: how many were found, or given probabilities, by the first token of an answer.
        cut_off: how many explanations end where the longest length does.
    """

    model: str
    setup: str
    n: int
    accuracy: Estimate | None
    judged: int
    bleu: Estimate | None
    compared: int
    parsed: int
    by_first_token: int
    cut_off: int


@dataclass(frozen=True, slots=True)
class SetupComparison:
    """Two set-ups under one test, over the `n` instances that both were tested on.

    Args:
        first, second: model and set-up.
        total_first, total_second: share of inconsistent explanations over those instances.
        difference: second minus first.
        p, p_holm: paired permutation test, and corrected over all pairs of set-ups under the same test.
    """

    test: str
    first: tuple[str, str]
    second: tuple[str, str]
    n: int
    total_first: float
    total_second: float
    difference: Estimate
    p: float | None
    p_holm: float | None


@dataclass(frozen=True, slots=True)
class NleTables:
    """Everything that was tested in one run or in several of the same inputs."""

    counterfactual: tuple[ConsistencyRow, ...]
    noise: tuple[NoiseRow, ...]
    reconstruction: tuple[ConsistencyRow, ...]
    performance: tuple[PerformanceRow, ...]
    comparisons: tuple[SetupComparison, ...]
    runs: int


Whose = tuple[str, str]
"""Model and set-up."""


def nle_tables(runs: Sequence[NleRun], *, seed: int = 0) -> NleTables | None:
    """The tables of one run or of several; None if none of them has free-text explanations."""
    whose = [(run, setup) for run in runs for setup in setups(run.card, run.texts)]
    if not whose:
        return None
    found: list[tuple[Whose, Results]] = []
    for run, setup in whose:
        single = consistency_tests(run.card)
        # the order of tables: editors, their unions, then reconstruction
        each = sorted((*single, *unions(single)), key=lambda test: test.kind)
        found += [((run.name, setup), results_of(run, setup, test)) for test in each]
    rows = {
        kind: tuple(_row(*one, results, seed) for one, results in found if results.test.kind == kind)
        for kind in ("counterfactual", "reconstruction")
    }
    noise = [noise_row(*one, results, seed=seed) for one, results in found if len(results.test.metrics) == 1]
    return NleTables(
        counterfactual=rows["counterfactual"],
        noise=tuple(row for row in noise if row is not None),
        reconstruction=rows["reconstruction"],
        performance=tuple(_performance(run, setup, seed) for run, setup in whose),
        comparisons=tuple(_comparisons(found, seed)),
        runs=len(runs),
    )


def _row(model: str, setup: str, results: Results, seed: int) -> ConsistencyRow:
    outcomes = list(results.outcomes.values())
    hits = [outcome for outcome in outcomes if outcome.found]
    inconsistent = sum(outcome.inconsistent for outcome in hits)
    row = ConsistencyRow(
        model=model,
        setup=setup,
        test=results.test.name,
        n=len(outcomes),
        untested=results.untested,
        found=share(len(hits), len(outcomes), seed=seed),
        among_found=share(inconsistent, len(hits), seed=seed),
        total=share(inconsistent, len(outcomes), seed=seed),
    )
    if results.test.kind == "reconstruction":
        return row
    edits, threshold = results.trials("edit"), results.threshold
    still = sum(outcome.by_meaning for outcome in hits)
    return replace(
        row,
        counterfactuals=sum(map(len, edits.values())),
        mentioned=mentions(edits, seed=seed),
        unanswered=results.unanswered,
        by_meaning=None if threshold is None else share(still, len(outcomes), seed=seed),
        threshold=threshold,
    )


def _performance(run: NleRun, setup: str, seed: int) -> PerformanceRow:
    texts = [text for text in run.texts if text.method == setup]
    judged = _judged(run, setup, texts)
    labels = [entry["label"] for entry in recorded(run.card, "metrics") if entry.get("name") == BLEU]
    counts = [_counts(score) for score in run.scores if score.method == setup and score.metric in labels[:1]]
    compared = [count for count in counts if count is not None]
    return PerformanceRow(
        model=run.name,
        setup=setup,
        n=len(texts),
        accuracy=share(sum(judged), len(judged), seed=seed),
        judged=len(judged),
        bleu=of_sums(np.array(compared), corpus_bleu, seed=seed) if compared else None,
        compared=len(compared),
        parsed=sum(text.label_source == "parsed" for text in texts),
        by_first_token=sum(text.label_source == "first_token" for text in texts),
        cut_off=sum("cut_off" in text.notes for text in texts),
    )


def _judged(run: NleRun, setup: str, texts: Sequence[Nle]) -> list[bool]:
    """Whether each input whose gold class the model has got that class.

    One without an explanation has scores that say why: it got no answer, unless something failed that nobody foresaw.
    """
    said: dict[str, str | None] = {
        score.instance_id: None for score in run.scores if score.method == setup and score.reason != _FAILED
    }
    said |= {text.instance_id: text.label.casefold() for text in texts}
    known = {label.casefold() for label in (texts[0].labels if texts else _labels(run.card))}
    gold = {one.id: one.label.casefold() for one in run.instances if one.label is not None}
    return [said[name] == label for name, label in gold.items() if name in said and label in known]


def _labels(card: Mapping[str, Any]) -> list[str]:
    """The classes of the model, as the run card has them."""
    model = card.get("model")
    labels = model.get("labels") if isinstance(model, Mapping) else None
    return [label for label in labels if isinstance(label, str)] if isinstance(labels, list) else []


def _counts(score: Score) -> list[float] | None:
    """What `corpus_bleu` sums over explanations; None where it is missing."""
    return None if score.value is None else counts_of(score.series)


def _comparisons(found: Sequence[tuple[Whose, Results]], seed: int) -> Iterator[SetupComparison]:
    """All pairs of set-ups under each test that both have."""
    by_test: dict[tuple[str, str, str, str], list[tuple[Whose, dict[str, Outcome]]]] = {}
    for whose, results in found:
        test = results.test
        same = (test.kind, test.name, test.settings, test.search)
        by_test.setdefault(same, []).append((whose, results.outcomes))
    for (_, name, _, _), columns in by_test.items():
        pairs = [_pair(name, one, other, seed) for one, other in combinations(columns, 2)]
        rows = [row for row in pairs if row is not None]
        corrected = holm([row.p for row in rows])
        yield from (replace(row, p_holm=p) for row, p in zip(rows, corrected, strict=True))


def _pair(
    test: str, one: tuple[Whose, dict[str, Outcome]], other: tuple[Whose, dict[str, Outcome]], seed: int
) -> SetupComparison | None:
    (first, mine), (second, theirs) = one, other
    shared = [name for name in mine if name in theirs]
    a, b = (np.array([float(side[name].inconsistent) for name in shared]) for side in (mine, theirs))
    apart = mean_difference(b - a, seed=seed)
    if apart is None:
        return None
    return SetupComparison(
        test=test,
        first=first,
        second=second,
        n=len(shared),
        total_first=float(a.mean()),
        total_second=float(b.mean()),
        difference=apart,
        p=paired_test(a, b, seed=seed),
        p_holm=None,
    )
