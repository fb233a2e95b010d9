"""Everything the golden files need from verax, in one place: run a command, then read rows, keys and conclusions.

The recorded format uses plain names of its own, so that it survives renames in verax: when an API below changes, change
this module and nothing else. Left out on purpose are seconds, prose (`detail`, warnings, names for display) and facts
about the machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import verax as package
from verax.registry import entries
from verax.results.run import Run
from verax.store.read import read_rows
from verax.studies.crosslingual.analysis import CrossLingual
from verax.studies.crosslingual.analysis import analyse as crosslingual
from verax.studies.free_text.analysis import ConsistencyRow, FreeText
from verax.studies.free_text.analysis import analyse as free_text_tests
from verax.studies.leaderboard.analysis import contrast
from verax.studies.masking.curves import MaskingCurves
from verax.studies.unified.analysis import UnifiedRun
from verax.types import Alignment, Estimate, Highlight, Instance, Nle, Prediction, Score, Skip, Trial

HERE = Path(__file__).parent
KEY_DIGITS = 16
"""Digits that are kept of each content key."""

Plain = Any
"""What JSON can hold."""


def verax(*arguments: str, cwd: Path) -> None:
    """Run a `verax` command in a process of its own, on one thread unless the environment says otherwise.

    Raises:
        AssertionError: the command failed.
    """
    defaults = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    fixed = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(
        [sys.executable, "-m", "verax", *arguments],
        cwd=cwd,
        env={**defaults, **os.environ, **fixed, **own_files(cwd)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, f"verax {' '.join(arguments)}: exit code {done.returncode}\n{done.stderr[-4000:]}"


def own_files(cwd: Path) -> dict[str, str]:
    """Variables by which neither the installed WordNet nor what an earlier run kept in the user's cache matters."""
    return {"WNSEARCHDIR": str(HERE / "wordnet"), "XDG_CACHE_HOME": str(cwd / "cache")}


def presets() -> list[str]:
    """The names of the built-in presets."""
    return list(entries("presets"))


def home() -> Path:
    """The folder that holds the package."""
    return Path(package.__file__).parents[1]


def rows(folder: Path) -> dict[str, Plain]:
    """Every row of a run by instance, method and metric, never by content key."""
    run = Run(folder)
    explained = [*run.highlights(), *run.texts(), *run.skips()]
    units = {instance.id: instance.units for instance in run.inputs()}
    return {
        "predictions": {row.instance_id: _prediction(row) for row in run.predictions()},
        "explanations": _nested((row.instance_id, row.method, _explanation(row, units)) for row in explained),
        "scores": _nested((row.instance_id, row.method, row.metric, _score(row)) for row in run.score_rows()),
        "alignments": _nested((row.instance_id, row.aligner, _alignment(row)) for row in run.alignments()),
    }


def keys(folder: Path) -> dict[str, list[str]]:
    """The sorted content keys of a run's rows (their first digits), by what the rows are."""
    found: dict[str, list[str]] = {}
    for key, row in read_rows(folder):
        found.setdefault(_group(row), []).append(key[:KEY_DIGITS])
    return {group: sorted(found[group]) for group in sorted(found)}


def conclusions(folder: Path) -> dict[str, Plain]:
    """Everything that verax concludes from one run."""
    run = Run(folder)
    manifest, masking, unified = run.manifest, run.study("masking"), run.study("unified")
    across, texts = run.study("crosslingual"), run.study("free_text")
    assert manifest.counts is not None, "the run is not finished"
    return _known(
        {
            "counts": manifest.counts.model_dump(),
            "passes": {name: count for name, count in manifest.cost.items() if name != "seconds"},
            "leaderboard": _leaderboard(run) or None,
            "masking": masking and _masking(masking.groups[0]),
            "unified": unified and _unified(unified.runs[0]),
            "crosslingual": across and _crosslingual(across),
            "free_text": texts and _free_text(texts),
        }
    )


def conclusions_of_both(first: Path, second: Path) -> dict[str, Plain]:
    """What verax concludes from two runs of different models on the same inputs."""
    runs = [Run(first), Run(second)]
    languages, free_text = crosslingual(runs), free_text_tests(runs)
    return _known(
        {
            "comparison": _comparison(*runs) or None,
            "crosslingual": languages and _crosslingual(languages),
            "free_text": free_text and _free_text(free_text),
        }
    )


# Plain values


def _plain(value: object) -> Plain:
    """An interval as value, low and high; mappings and tuples as JSON has them."""
    if isinstance(value, Estimate):
        return {"value": value.value, "low": value.low, "high": value.high}
    if hasattr(value, "_asdict"):
        return {name: _plain(item) for name, item in value._asdict().items()}
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    return value


def _pick(row: object, names: str, **renamed: str) -> dict[str, Plain]:
    """Attributes of an object under their own names, and under recorded names where these differ."""
    wanted = {name: name for name in names.split()} | renamed
    return {recorded: _plain(getattr(row, attribute)) for recorded, attribute in wanted.items()}


def _known(sections: Mapping[str, Plain]) -> dict[str, Plain]:
    return {name: value for name, value in sections.items() if value is not None}


def _nested(paths: Any) -> dict[str, Plain]:
    """Mappings in mappings, from tuples of names that end with a value."""
    made: dict[str, Plain] = {}
    for *names, last, value in paths:
        inner = made
        for name in names:
            inner = inner.setdefault(name, {})
        assert last not in inner, f"two rows for {[*names, last]}"
        inner[last] = value
    return made


# Rows


def _passes(row: Prediction | Highlight | Nle | Score) -> list[int]:
    """Forward and backward passes asked for; which row is charged for those computed depends on the order of work."""
    return [row.cost.forward_asked, row.cost.backward_asked]


def _prediction(row: Prediction) -> Plain:
    chances = dict(zip(row.labels, row.probabilities, strict=True))
    return {"label": row.label, "probabilities": chances, "passes_asked": _passes(row)}


def _explanation(row: Highlight | Nle | Skip, words: Mapping[str, tuple[Any, ...]]) -> Plain:
    if isinstance(row, Skip):
        return _pick(row, "reason failed")
    if isinstance(row, Nle):
        chances = dict(zip(row.labels, row.probabilities, strict=True)) if row.probabilities else {}
        facts = _pick(row, "text label notes", label_source="label_source")
        return {"kind": "text", **facts, "probabilities": chances, "passes_asked": _passes(row)}
    # a unit is a list of spans: part, first word, word after the last
    units = (
        "every word" if row.units == words[row.instance_id] else [[list(span) for span in unit] for unit in row.units]
    )
    target = _pick(row.target, "of space")
    return {**_pick(row, "kind scores notes"), "target": target, "units": units, "passes_asked": _passes(row)}


def _score(row: Score) -> Plain:
    facts = _pick(row, "value reason curve") | {"series": _plain(row.series) or None}
    if row.trial_log is not None:
        trials = [_trial(trial) for trial in row.trial_log.trials]
        facts["test"] = _pick(row.trial_log, "tried unanswered decisive threshold") | {"trials": trials}
    return _known(facts) | {"passes_asked": _passes(row)}


def _trial(row: Trial) -> Plain:
    return _pick(
        row,
        "kind parts predicted flipped wanted explanation mentioned similarity notes",
        label_source="label_source",
        inserted_words="words",
        mention_rule="rule",
        mentioned_by="by",
    ) | {"inserted_at": None if row.inserted is None else list(row.inserted)}


def _alignment(row: Alignment) -> Plain:
    return _pick(row, "links reason", reference="reference_id")


def _group(row: Instance | Prediction | Highlight | Nle | Skip | Score | Alignment) -> str:
    if isinstance(row, Score):
        return f"scores of {row.metric}"
    if isinstance(row, Alignment):
        return f"alignments by {row.aligner}"
    if isinstance(row, (Prediction, Instance)):
        return "predictions" if isinstance(row, Prediction) else "instances"
    return f"explanations by {row.method}"


# Conclusions


def _leaderboard(run: Run) -> dict[str, Plain]:
    found = run.study("leaderboard")
    rows = [] if found is None else found.records()
    return _nested((row.pop("metric"), row.pop("method"), row) for row in rows)


def _comparison(first: Run, second: Run) -> dict[str, Plain]:
    made = []
    for row in contrast(first, second):
        means = _pick(row, "n p", mean_first="first", mean_second="second")
        made.append((row.metric.label, row.method.name, means | {"higher_is_better": row.metric.ascending}))
    return _nested(made)


def _masking(found: MaskingCurves) -> Plain:
    names = "curve acu racu reason signed n skipped over p_values"
    methods = {row.method: _pick(row, names, performance_metric="metric") for row in found.curves}
    return _pick(found, "baseline majority runs") | {"methods": methods}


def _unified(found: UnifiedRun) -> Plain:
    names = "kind base value n difference pairs p best like_random words bounds sf"
    properties = {
        row.metric: _pick(row, "higher_is_better over seeds", property="name", f1_without="without")
        | {"cells": {cell.method: _pick(cell, names) for cell in row.entries}}
        for row in found.properties
    }
    stability = {row.method: _pick(row, "base value n") for row in found.stability}
    return {"properties": properties, "stability": stability}


def _crosslingual(found: CrossLingual) -> Plain:
    return _pick(found, "reference outputs runs over", spread_over_methods="spreads") | {
        "methods": {row.label: {"output": row.output, "random": row.role == "random"} for row in found.methods},
        "architectures": {row.name: row.runs for row in found.architectures},
        "faithfulness": {grid.measure.metric: _grid(grid) for grid in found.overall},
        "faithfulness_by_language": {str(grid.language): _grid(grid) for grid in found.by_language},
        "other_measures": {grid.measure.name: _grid(grid) for grid in found.others},
        "languages": {row.lang: _pick(row, "faithfulness accuracy n by_architecture") for row in found.languages},
        "correlation_with_accuracy": _correlation(found.correlation),
        "rank_agreement": {f"{row.first}, {row.second}": _correlation(row.tau) for row in found.agreements},
    }


def _grid(grid: object) -> Plain:
    names = "value n skipped reason best difference p like_random by_architecture"
    cells = {method: _pick(cell, names) for method, cell in grid.cells.items()}
    return _pick(grid.measure, "metric higher_is_better") | {"average": _plain(grid.average), "cells": cells}


def _correlation(found: object) -> Plain:
    """A correlation; its p-value is computed from a formula, not from seeded draws."""
    return _pick(found, "value n reason", analytic_p="p")


def _free_text(found: FreeText) -> Plain:
    noise = "edits flips chance similar mentioned difference pairs p reading"
    performance = "n accuracy judged bleu compared parsed by_first_token cut_off"
    compared = "n total_first total_second difference p"
    return {
        "runs": found.runs,
        "counterfactual": _consistency(found.counterfactual),
        "reconstruction": _consistency(found.reconstruction),
        "noise": _nested((row.model, row.method, row.editor, _pick(row, noise)) for row in found.noise),
        "performance": _nested((row.model, row.method, _pick(row, performance)) for row in found.performance),
        "comparisons": _nested(
            (row.test, " ".join(row.first), " ".join(row.second), _pick(row, compared)) for row in found.comparisons
        ),
    }


def _consistency(found: Sequence[ConsistencyRow]) -> Plain:
    names = "n untested found among_found total counterfactuals mentioned unanswered by_meaning threshold"
    return _nested((row.model, row.method, row.test, _pick(row, names)) for row in found)
