"""Consistency tests of free-text explanations: which a run holds, and the outcome for each instance."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from verax.results.manifest import Manifest, MetricEntry
from verax.results.run import Run
from verax.types import Nle, Score, Trial, TrialLog

COUNTERFACTUAL = "counterfactual_test"
RECONSTRUCTION = "reconstruction_test"
BLEU = "bleu"
MATCHES = ("any", "content")
"""Rules of mention that every edit is judged by, whichever decides: any inserted word, content words only."""

Verdict = Literal["consistent", "inconsistent", "no_counterfactual", "no_reconstruction", "not_tested"]
NOTHING_FOUND: tuple[Verdict, ...] = ("no_counterfactual", "no_reconstruction")
"""Reasons of missing values that are outcomes: the test was performed and found nothing to judge."""


@dataclass(frozen=True)
class TextRun:
    """What the tables need of a run.

    Args:
        scored: the instances that each method has any score for, except those that failed unexpectedly.
    """

    name: str
    manifest: Manifest
    inputs: Mapping[str, tuple[str, ...]]
    gold: Mapping[str, str | None]
    texts: Mapping[str, Sequence[Nle]]
    scores: Mapping[tuple[str, str], Mapping[str, Score]]
    scored: Mapping[str, Sequence[str]]

    @property
    def methods(self) -> tuple[str, ...]:
        """Labels of the methods that explain in free text."""
        return tuple(self.texts)


def text_run(name: str, run: Run) -> TextRun:
    """Read the explanations of a run and the scores of its tests."""
    texts: dict[str, list[Nle]] = {method: [] for method in run.text_methods}
    for text in run.texts():
        texts[text.method].append(text)
    labels = [entry.label for entry in run.manifest.metrics if entry.name in {COUNTERFACTUAL, RECONSTRUCTION, BLEU}]
    rows = np.concatenate([np.empty(0, np.int64), *(run.scores.where(metric=label) for label in labels)])
    scores: dict[tuple[str, str], dict[str, Score]] = {}
    for score in run.score_rows(rows=np.sort(rows)):
        scores.setdefault((score.method, score.metric), {})[score.instance_id] = score
    failed = run.scores.reason.codes == run.scores.reason.code("failed")
    scored = {}
    for method in texts:
        rows = run.scores.where(method=method)
        scored[method] = run.scores.ids(rows[~failed[rows]])
    inputs = {instance.id: tuple(part.raw for part in instance.parts) for instance in run.inputs()}
    gold = dict(zip(run.instances.ids, run.instances.labels, strict=True))
    return TextRun(name, run.manifest, inputs, gold, texts, scores, scored)


@dataclass(frozen=True, slots=True)
class ConsistencyTest:
    """A test of a run.

    Args:
        metrics: its label in the run; of a union of editors those of all of them.
        name: its name in tables: the editor, or `reconstruction`; its label where another test has the same name.
        search: those of the editor, except for the path of a trained one. Tests of one name are the same test in every
            run if settings and search are.
        match: the rule of mention that decides; empty for a reconstruction.
    """

    metrics: tuple[str, ...]
    kind: Literal["counterfactual", "reconstruction"]
    name: str
    settings: str
    search: str = ""
    match: str = ""


class Outcome(NamedTuple):
    """The outcome of a test for one instance: whether there was anything to judge, and the judgement.

    `by_rule` is whether the explanation is inconsistent by each rule of mention, empty where that was not recorded;
    `by_meaning` whether it is even if a similar word counts as a mention.
    """

    found: bool
    inconsistent: bool
    by_meaning: bool
    by_rule: Mapping[str, bool]


def verdict(score: Score) -> Verdict:
    """The verdict of a score."""
    if score.value is not None:
        return "consistent" if score.value == 1 else "inconsistent"
    return next((reason for reason in NOTHING_FOUND if reason == score.reason), "not_tested")


def consistency_tests(manifest: Manifest) -> tuple[ConsistencyTest, ...]:
    """The tests of a run in the order of its manifest, each editor on its own."""
    entries = [entry for entry in manifest.metrics if entry.name in {COUNTERFACTUAL, RECONSTRUCTION}]
    names = [_name(entry) for entry in entries]
    return tuple(
        ConsistencyTest(
            (entry.label,),
            "counterfactual" if entry.name == COUNTERFACTUAL else "reconstruction",
            name if names.count(name) == 1 else entry.label,
            _settings(entry),
            _search(entry),
            str(entry.parameters.get("match", "")),
        )
        for entry, name in zip(entries, names, strict=True)
    )


def _name(entry: MetricEntry) -> str:
    if entry.name == RECONSTRUCTION:
        return "reconstruction"
    editor = entry.parameters.get("editor")
    name = next(iter(editor), None) if isinstance(editor, Mapping) else editor
    return name if isinstance(name, str) else entry.label


def _settings(entry: MetricEntry) -> str:
    rest = {key: value for key, value in entry.parameters.items() if key != "editor"}
    return json.dumps(rest, sort_keys=True, default=str)


def _search(entry: MetricEntry) -> str:
    editor = entry.parameters.get("editor")
    own = next(iter(editor.values()), None) if isinstance(editor, Mapping) else None
    rest = {key: value for key, value in own.items() if key != "path"} if isinstance(own, Mapping) else {}
    return json.dumps(rest, sort_keys=True, default=str)


def unions(found: Sequence[ConsistencyTest]) -> tuple[ConsistencyTest, ...]:
    """Editors with the same settings of the test, taken together: `random + infill`."""
    by_setting: dict[str, list[ConsistencyTest]] = {}
    for test in found:
        if test.kind == "counterfactual":
            by_setting.setdefault(test.settings, []).append(test)
    made = []
    for settings, several in by_setting.items():
        several.sort(key=lambda test: test.name != "random")
        name = " + ".join(test.name for test in several)
        metrics, search = tuple(m for t in several for m in t.metrics), " + ".join(t.search for t in several)
        made += [ConsistencyTest(metrics, "counterfactual", name, settings, search, several[0].match)]
    return tuple(test for test in made if len(test.metrics) > 1)


class Results(NamedTuple):
    """A test of one method: scores of each of its metrics by instance, and the instances of the run."""

    test: ConsistencyTest
    scores: tuple[Mapping[str, Score], ...]
    instances: tuple[str, ...]

    @property
    def outcomes(self) -> dict[str, Outcome]:
        """By instance, where every editor was tested: with a counterfactual if any found one, and so on."""
        found = [
            {name: _outcome(s) for name, s in scores.items() if verdict(s) != "not_tested"} for scores in self.scores
        ]
        shared = [name for name in found[0] if all(name in other for other in found[1:])]
        return {name: _either([one[name] for one in found]) for name in shared}

    @property
    def untested(self) -> dict[str, int]:
        """Number of instances that were not tested, by the reason of the first editor that was not."""
        done, reasons = self.outcomes, dict[str, int]()
        for name in self.instances:
            if name not in done:
                scores = [scores.get(name) for scores in self.scores]
                missing = next(one for one in scores if one is None or verdict(one) == "not_tested")
                reason = "no_score" if missing is None else str(missing.reason)
                reasons[reason] = reasons.get(reason, 0) + 1
        return reasons

    @property
    def logs_by_instance(self) -> list[list[TrialLog]]:
        """What was recorded about every instance, tested or not: the logs of all editors together."""
        found: dict[str, list[TrialLog]] = {}
        for by_instance in self.scores:
            for name, score in by_instance.items():
                if score.trial_log is not None:
                    found.setdefault(name, []).append(score.trial_log)
        return list(found.values())

    @property
    def logs(self) -> list[TrialLog]:
        """The logs of all instances and editors."""
        return [log for several in self.logs_by_instance for log in several]

    @property
    def untested_edits(self) -> dict[str, int]:
        """Edits that change the prediction and whose explanation tests nothing, by reason."""
        edits = (trial for log in self.logs for trial in log.trials if trial.kind == "edit")
        return dict(Counter(trial.untested for trial in edits if trial.untested))

    @property
    def threshold(self) -> float | None:
        """The least similarity that counts as a mention by meaning; None if it was not measured everywhere."""
        met = {
            None if s.trial_log is None else s.trial_log.threshold
            for one in self.scores
            for s in one.values()
            if s.value is not None or s.trial_log is not None
        }
        return met.pop() if len(met) == 1 else None

    @property
    def unanswered(self) -> dict[str, int]:
        """Edits of tested instances, random ones too, that the model gave no answer to, by reason."""
        cards = [scores[name].trial_log for name in self.outcomes for scores in self.scores]
        reasons = [Counter(card.unanswered) for card in cards if card is not None]
        return dict(sum(reasons, Counter[str]()))

    def trials(self, kind: Literal["edit", "noise"]) -> dict[str, list[Trial]]:
        """Counterfactuals, or random edits, of each tested instance that has any."""
        made: dict[str, list[Trial]] = {}
        for name in self.outcomes:
            cards = [scores[name].trial_log for scores in self.scores]
            several = [trial for card in cards if card is not None for trial in card.trials if trial.kind == kind]
            if kind == "edit":
                several = [trial for trial in several if trial.flipped]
            if several:
                made[name] = several
        return made


def _either(several: Sequence[Outcome]) -> Outcome:
    """The outcome of a union of editors: what any of them found was found."""
    return Outcome(
        any(one.found for one in several),
        any(one.inconsistent for one in several),
        any(one.by_meaning for one in several),
        {rule: any(one.by_rule.get(rule, False) for one in several) for rule in MATCHES if _judged(several)},
    )


def _judged(several: Sequence[Outcome]) -> bool:
    """Whether all that was found was judged by each rule."""
    return all(one.by_rule for one in several if one.found)


def _outcome(score: Score) -> Outcome:
    inconsistent = score.value == 0
    edits = [] if score.trial_log is None else [t for t in score.trial_log.trials if is_tested_edit(t)]
    by_rule = {rule: not all(t.mentions[rule] for t in edits) for rule in MATCHES if all(t.mentions for t in edits)}
    return Outcome(
        score.value is not None, inconsistent, inconsistent and not _similar(score), by_rule if edits else {}
    )


def is_tested_edit(trial: Trial) -> bool:
    """Whether an edit changed the prediction and has an explanation that could be tested."""
    return trial.kind == "edit" and trial.flipped and trial.mentioned is not None


def _similar(score: Score) -> bool:
    """Whether every counterfactual that is not mentioned by word is mentioned by meaning."""
    card = score.trial_log
    if card is None or card.threshold is None:
        return False
    silent = [trial for trial in card.trials if is_tested_edit(trial) and not trial.mentioned]
    least = card.threshold
    return bool(silent) and all(trial.similarity is not None and trial.similarity >= least for trial in silent)


def results_of(run: TextRun, method: str, test: ConsistencyTest) -> Results:
    """The scores of a test of one method."""
    return Results(test, tuple(run.scores.get((method, metric), {}) for metric in test.metrics), tuple(run.gold))
