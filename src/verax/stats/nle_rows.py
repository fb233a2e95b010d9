"""What a run with free-text explanations tested: its set-ups, its tests, and how each instance came out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from verax.stats.recorded import parameter, recorded
from verax.types import Instance, Nle, Score, Trial

COUNTERFACTUAL = "counterfactual_test"
RECONSTRUCTION = "reconstruction_test"
BLEU = "bleu"

Verdict = Literal["consistent", "inconsistent", "no_counterfactual", "no_reconstruction", "not_tested"]
NOTHING_FOUND: tuple[Verdict, ...] = ("no_counterfactual", "no_reconstruction")
"""Reasons of scores without a value that a test was carried out for all the same."""


class NleRun(NamedTuple):
    """A run, or what a table needs of it; `name` tells its model from those of other runs."""

    name: str
    card: Mapping[str, Any]
    instances: Sequence[Instance]
    texts: Sequence[Nle]
    scores: Sequence[Score]


@dataclass(frozen=True, slots=True)
class ConsistencyTest:
    """A test of a run.

    Args:
        metrics: its label in the run; of a union of editors those of all of them.
        kind: what is done to the input.
        name: how tables call it: the editor, or `reconstruction`; its label where others would be called the same.
        settings: its other parameters.
        search: those of the editor, but for where a trained one is kept. Tests of one name are the same test in every
            run if settings and search are.
    """

    metrics: tuple[str, ...]
    kind: Literal["counterfactual", "reconstruction"]
    name: str
    settings: str
    search: str = ""


class Outcome(NamedTuple):
    """How a test of one instance came out: whether it had anything to judge, and what it judged.

    `by_meaning` is whether the explanation is inconsistent even if a similar word counts as a mention.
    """

    found: bool
    inconsistent: bool
    by_meaning: bool


def verdict(score: Score) -> Verdict:
    """What a score says in one word."""
    if score.value is not None:
        return "consistent" if score.value == 1 else "inconsistent"
    return next((reason for reason in NOTHING_FOUND if reason == score.reason), "not_tested")


def setups(card: Any, texts: Iterable[Nle]) -> tuple[str, ...]:
    """Labels of what explains in free text, in the order of the run card."""
    known = [entry["label"] for entry in recorded(card, "methods") if entry.get("kind") == "text"]
    return tuple(dict.fromkeys([*known, *(text.method for text in texts)]))


def consistency_tests(card: Any) -> tuple[ConsistencyTest, ...]:
    """The tests of a run in the order of its card, each editor on its own."""
    entries = [entry for entry in recorded(card, "metrics") if entry.get("name") in {COUNTERFACTUAL, RECONSTRUCTION}]
    called = [_called(entry) for entry in entries]
    return tuple(
        ConsistencyTest(
            (entry["label"],),
            "counterfactual" if entry["name"] == COUNTERFACTUAL else "reconstruction",
            name if called.count(name) == 1 else entry["label"],
            _settings(entry),
            _search(entry),
        )
        for entry, name in zip(entries, called, strict=True)
    )


def _called(entry: Mapping[str, Any]) -> str:
    if entry["name"] == RECONSTRUCTION:
        return "reconstruction"
    editor = parameter(entry, "editor")
    name = next(iter(editor), None) if isinstance(editor, Mapping) else editor
    return name if isinstance(name, str) else str(entry["label"])


def _settings(entry: Mapping[str, Any]) -> str:
    parameters = entry.get("parameters")
    rest = {key: value for key, value in parameters.items() if key != "editor"} if isinstance(parameters, dict) else {}
    return json.dumps(rest, sort_keys=True, default=str)


def _search(entry: Mapping[str, Any]) -> str:
    editor = parameter(entry, "editor")
    own = next(iter(editor.values()), None) if isinstance(editor, Mapping) else None
    rest = {key: value for key, value in own.items() if key != "path"} if isinstance(own, Mapping) else {}
    return json.dumps(rest, sort_keys=True, default=str)


def unions(found: Sequence[ConsistencyTest]) -> tuple[ConsistencyTest, ...]:
    """Editors that are tested with in the same way, taken together: `random + infill`."""
    by_settings: dict[str, list[ConsistencyTest]] = {}
    for test in found:
        if test.kind == "counterfactual":
            by_settings.setdefault(test.settings, []).append(test)
    made = []
    for settings, several in by_settings.items():
        several.sort(key=lambda test: test.name != "random")
        name = " + ".join(test.name for test in several)
        metrics, search = tuple(m for t in several for m in t.metrics), " + ".join(t.search for t in several)
        made += [ConsistencyTest(metrics, "counterfactual", name, settings, search)]
    return tuple(test for test in made if len(test.metrics) > 1)


class Results(NamedTuple):
    """A test of one set-up: scores of each of its metrics by instance, and the instances that the run has."""

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
        """How many instances were not tested for which reason, that of the first editor that was not tested."""
        done, reasons = self.outcomes, dict[str, int]()
        for name in self.instances:
            if name not in done:
                scores = [scores.get(name) for scores in self.scores]
                missing = next(one for one in scores if one is None or verdict(one) == "not_tested")
                reason = "no_score" if missing is None else str(missing.reason)
                reasons[reason] = reasons.get(reason, 0) + 1
        return reasons

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
    )


def _outcome(score: Score) -> Outcome:
    inconsistent = score.value == 0
    return Outcome(score.value is not None, inconsistent, inconsistent and not _similar(score))


def _similar(score: Score) -> bool:
    """Whether every counterfactual that is not mentioned by word is mentioned by meaning."""
    card = score.trial_log
    if card is None or card.threshold is None:
        return False
    silent = [trial for trial in card.trials if trial.kind == "edit" and trial.flipped and not trial.mentioned]
    least = card.threshold
    return bool(silent) and all(trial.similarity is not None and trial.similarity >= least for trial in silent)


def results_of(run: NleRun, setup: str, test: ConsistencyTest) -> Results:
    """The scores of a test of one set-up."""
    columns = tuple(
        {score.instance_id: score for score in run.scores if (score.method, score.metric) == (setup, metric)}
        for metric in test.metrics
    )
    return Results(test, columns, tuple(instance.id for instance in run.instances))
