"""`metrics: all`: every registered metric, plug-ins included, is measured, or the run says why it is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.plug_ins import InstallPlugIn
from verax.api import Run, evaluate
from verax.data.load import load_dataset
from verax.registry import entries
from verax.run.spec import preset_spec
from verax.studies.diagnosticity.presets import DIAGNOSTICITY

PLUG_IN = """
from dataclasses import dataclass
from typing import ClassVar

from sklearn.metrics import average_precision_score

from verax.metrics.agreement import gold_words
from verax.metrics.ranking import word_scores
from verax.types import Measured, Passes


class _Own:
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "an example"
    higher_is_better: ClassVar[bool] = True
    range: ClassVar[tuple] = (0.0, 1.0)

    def passes(self, n):
        return Passes(0, 0)


@dataclass(frozen=True)
class Oracle(_Own):
    def __call__(self, x, highlight):
        return Measured(float(average_precision_score(gold_words(x), word_scores(x, highlight))))


@dataclass(frozen=True)
class Coin(_Own):
    def __call__(self, x, highlight):
        return Measured(float(x.rng(0, highlight.method).random()))


@dataclass(frozen=True)
class Picky(_Own):
    needs: ClassVar[frozenset] = frozenset({"oracle of another package"})

    def __call__(self, x, highlight):
        raise AssertionError("it is not called")
"""


@pytest.fixture
def plug_ins(tmp_path: Path, install_plug_in: InstallPlugIn) -> None:
    (tmp_path / "own_metrics.py").write_text(PLUG_IN)
    names = {"oracle": "Oracle", "coin": "Coin", "picky": "Picky", "gone": "NoSuchMetric"}
    install_plug_in("own-metrics", {"verax.metrics": {name: f"own_metrics:{cls}" for name, cls in names.items()}})


def preset_run(out: Path, **changes: Any) -> Run:
    """A small run of the preset: too small for metrics that train agents."""
    spec = {**preset_spec("diagnosticity", {}), **changes}
    data = {"name": spec["data"]["name"], "limit": 12}
    parts = {name: spec[name] for name in ("methods", "metrics")}
    validation = load_dataset(data["name"], split="validation", limit=50)
    return evaluate(spec["model"], data, **parts, validation=validation, out=out, progress=False)


@pytest.mark.usefixtures("plug_ins")
def test_each_registered_metric_is_on_trial_or_has_a_reason(tmp_path: Path) -> None:
    run = preset_run(tmp_path / "run")
    result = run.study("diagnosticity")
    assert {trial.label.partition("(")[0] for trial in result.trials} == set(entries("metrics"))
    assert all((trial.kind is None) == bool(trial.reason) for trial in result.trials)
    standing = {trial.label: trial.standing for trial in result.trials if trial.kind == "token"}
    assert standing["oracle"] == "better"
    assert standing["coin"] == "chance"
    assert standing["comprehensiveness"] == "better"
    reasons = {trial.label: trial.reason for trial in result.trials if trial.kind is None}
    assert "there is no such provider" in reasons["picky"]
    assert "cannot be imported" in reasons["gone"]
    assert "at least 25 are needed" in reasons["simulatability"]
    assert "translations" in reasons["crosslingual_faithfulness"]
    groups = {group.name for group in result.groups}
    assert groups == {"word", "conjunction", "negation", "span_pair"}
    assert [one.study.name for one in run.findings()] == ["diagnosticity"]


def test_a_listed_metric_is_not_measured_twice(tmp_path: Path) -> None:
    listed = ["complexity", {"agreement": {"level": "interaction"}}, "all"]
    run = preset_run(tmp_path / "run", metrics=listed, methods=DIAGNOSTICITY.content["methods"][:2])
    labels = [entry.label for entry in run.manifest.metrics]
    assert labels[:3] == ["complexity", "agreement(level=interaction)", "agreement"]
    assert labels.count("complexity") == 1
    assert set(run.manifest.left_out) | {entry.name for entry in run.manifest.metrics} == set(entries("metrics"))
