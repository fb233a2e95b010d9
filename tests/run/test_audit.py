"""Audits: what they choose, how they keep to their time, what they save and print."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import yaml
from rich.console import Console

from support.cli import CallVerax
from verax.api import Run, audit
from verax.cli.auditing import duration_of
from verax.data.text import split_words
from verax.models.black_box import BlackBox
from verax.models.classifier import Classifier
from verax.run import audit as auditing
from verax.run import execute_run as driver
from verax.run.audit import (
    COSTLY,
    INTERACTIONS,
    METHODS,
    SHARE,
    Contents,
    execute_audit,
    fitted,
    plan_audit,
    spec_file,
    within,
)
from verax.run.cost import Expected, estimate_cost
from verax.run.execute_run import OutOfTime
from verax.run.until_decided import FIRST
from verax.store.verify import verify_folder
from verax.types import Dataset, Human, Instance, UserError

CONTENT: dict[str, Any] = {"model": {"name": "tiny"}, "data": {"name": "many"}, "seed": 0}
LABELS = ("yes", "maybe", "no")
PLACES = ("boat", "lake", "wind", "bread", "honey", "coat")
QUIET = Console(quiet=True)


@pytest.fixture
def data() -> Dataset:
    texts = [f"the {first} and the {second}" for first, second in itertools.permutations(PLACES, 2)]
    return Dataset("many", tuple(Instance(f"i{i}", (split_words(t),), "yes") for i, t in enumerate(texts)), LABELS)


@pytest.fixture
def model(classifier: Callable[..., Classifier]) -> Classifier:
    return classifier("bert")


def _names(given: list[Any]) -> list[str]:
    return [next(iter(one)) if isinstance(one, dict) else one for one in given]


def test_a_model_with_gradients_and_attention_gets_every_method(model: Classifier, data: Dataset) -> None:
    planned = plan_audit(CONTENT, model, data)
    assert planned.content["methods"] == list(METHODS)
    assert planned.content["metrics"] == ["comprehensiveness", "sufficiency"]
    assert planned.left_out == {
        "agreement": "the data have no human highlights",
        **dict.fromkeys(INTERACTIONS, "it scores pairs of words from two parts, and inputs have 1"),
    }
    assert planned.most == len(data)


def test_a_function_gets_the_methods_that_ask_for_outputs_alone(data: Dataset) -> None:
    def lengths(texts: list[tuple[str, ...]]) -> Any:
        size = np.array([len(" ".join(text)) for text in texts], float)
        return np.stack([1 / (2 + size), 1 / (2 + size), size / (2 + size)], axis=1)

    planned = plan_audit(CONTENT, BlackBox(lengths, labels=LABELS, name="lengths", version="1"), data)
    assert _names(planned.content["methods"]) == ["leave_one_out", "lime", "shapley_sampling"]
    assert planned.content["methods"][0] == "leave_one_out"  # `mask` writes dots for a word
    assert planned.content["methods"][1:] == [{name: {"removal": "delete"}} for name in ("lime", "shapley_sampling")]
    assert set(planned.left_out) == {*METHODS[3:], *INTERACTIONS, "agreement"}
    assert "needs gradients" in planned.left_out["saliency"]


def pairs(data: Dataset) -> Dataset:
    """Inputs of two parts."""
    return replace(
        data, instances=tuple(replace(one, parts=(*one.parts, split_words("a coat"))) for one in data.instances)
    )


def test_pairs_of_words_are_scored_where_inputs_have_two_parts(model: Classifier, data: Dataset) -> None:
    planned = plan_audit(CONTENT, model, pairs(data))
    assert planned.content["methods"] == [*METHODS, *INTERACTIONS, "random_interaction"]
    assert planned.without_costly() is not None

    def outputs(texts: list[tuple[str, ...]]) -> Any:
        return np.full((len(texts), 3), 1 / 3)

    function = plan_audit(CONTENT, BlackBox(outputs, labels=LABELS, name="even", version="1"), pairs(data))
    assert _names(function.content["methods"])[3:] == ["bivariate_shapley", "random_interaction"]
    lean = function.without_costly()
    assert lean is not None
    assert _names(lean.content["methods"]) == ["leave_one_out", "lime", "shapley_sampling"]
    assert "the time is too short" in lean.left_out["bivariate_shapley"]
    assert lean.without_costly() is None


@pytest.mark.parametrize(("whole", "kept"), [(10.0, True), (1000.0, False)])
def test_costly_methods_need_time_for_enough_inputs(
    model: Classifier, data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: float, kept: bool
) -> None:
    planned = plan_audit(CONTENT, model, pairs(data))

    def cost(prepared: Any, folder: Path, **_: Any) -> Any:
        costly = any(one.name in COSTLY for one in prepared.run.methods)
        rows = SimpleNamespace(rows=100, done=0)
        return SimpleNamespace(left=rows, requests=None, expected=Expected(1, 1, 0, whole if costly else 1.0))

    monkeypatch.setattr(auditing, "estimate_cost", cost)
    chosen, found = fitted(planned, tmp_path, 100.0, auditing.time.monotonic() + 100.0)
    assert (chosen.content["methods"] == planned.content["methods"]) is kept
    assert chosen.most == len(data), "all inputs in either case"
    assert found.expected is not None
    assert found.expected.seconds == (whole if kept else 1.0)


def test_highlights_and_translations_are_measured(model: Classifier, data: Dataset) -> None:
    marked = tuple(replace(one, human=Human(words=((1,),))) for one in data.instances)
    assert plan_audit(CONTENT, model, replace(data, instances=marked)).content["metrics"][2:] == ["agreement"]
    pairs = [
        replace(one, id=f"{one.id}-{lang}", parallel_id=one.id, lang=lang) for one in marked for lang in ("de", "en")
    ]
    parallel = replace(data, instances=tuple(pairs))
    found = Contents.of(parallel)
    assert (found.inputs, found.langs, found.translations, found.parts) == (len(data), ("de", "en"), True, (1,))
    across = {"crosslingual_faithfulness": {"reference_lang": "en"}}
    assert plan_audit(CONTENT, model, parallel).content["metrics"][2:] == ["agreement", across]


def test_a_model_that_explains_itself_is_tested_for_consistency() -> None:
    content = {"model": {"name": "world/nli-mt-ra"}, "data": {"name": "world/nli", "limit": 4}}
    planned = plan_audit(content)
    assert _names(planned.content["metrics"]) == ["counterfactual_test"] * 2 + ["reconstruction_test", "bleu"]
    assert planned.prepared.run.until_decided is None
    assert [one.name for one in planned.prepared.run.methods] == ["mt_ra"]
    fewer = planned.at_most(2)
    assert (fewer.most, fewer.content["data"]["sample"]) == (2, 2)


def test_the_number_of_inputs_fits_the_time(model: Classifier, data: Dataset, tmp_path: Path) -> None:
    planned = plan_audit(CONTENT, model, data)
    cost = replace(estimate_cost(planned.prepared, tmp_path / "run", seconds=0.1), expected=Expected(1, 1, 0, 100.0))
    assert within(planned, cost, 100 / SHARE + 1) is planned
    fitted = within(planned, cost, 100 / SHARE * 0.8)
    assert fitted.most == int(0.8 * len(data)) > FIRST
    assert fitted.content["until_decided"] == {"goal": "random", "max_inputs": fitted.most}
    assert within(planned, cost, 0.0).most == FIRST, "fewer inputs decide nothing"


def _clock() -> SimpleNamespace:
    """A clock that counts how often it was read, which is once for each row."""
    return SimpleNamespace(monotonic=itertools.count(1).__next__)


def test_a_run_whose_time_is_over_ends_at_its_last_look(
    model: Classifier, data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look of 16 inputs has 16 predictions, and 8 explanations with 2 scores each: 400 rows."""
    planned, folder = plan_audit(CONTENT, model, data), tmp_path / "run"
    monkeypatch.setattr(driver, "time", _clock())
    with pytest.raises(OutOfTime):
        execute_audit(planned, folder, console=QUIET, stop_at=399)
    monkeypatch.setattr(driver, "time", _clock())
    run = execute_audit(planned, folder, console=QUIET, stop_at=100)
    assert (run.status, len(run.instances)) == ("finished", FIRST)
    assert yaml.safe_load(spec_file(folder).read_text())["until_decided"]["max_inputs"] == FIRST
    assert all(file.problem is None for file in verify_folder(folder))
    again = execute_audit(planned, folder, console=QUIET)
    assert len(again.instances) > FIRST, "more time continues it"


def test_the_command_prints_a_verdict_and_saves_a_spec_that_repeats_it(
    verax: CallVerax, checkpoint: Callable[[str], Path], data: Dataset, tmp_path: Path
) -> None:
    rows = [{"text": one.parts[0].raw, "label": "yes"} for one in data.instances[:12]]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    model = checkpoint("bert")
    said = verax("audit", model, "rows.jsonl", "--labels", ",".join(LABELS), "--out", "runs/mine")
    assert said.code == 0, said.err
    for heading in ("Plan", "Left out", "Cost", "Spec", "Verdict", "Use", "Certainty", "Read next"):
        assert f"\n{heading} " in f"\n{said.out}".replace("\n", " \n")
    found = Run(tmp_path / "runs" / "mine").conclusion()
    assert found is not None
    assert " ".join(found.use.split()[:6]) in said.out
    repeated = verax("run", "runs/mine.yaml")
    assert repeated.code == 0
    assert "to do: 0," in repeated.err
    assert verax("verify", "runs/mine").code == 0


def test_a_spec_that_someone_wrote_is_not_replaced(model: Classifier, data: Dataset, tmp_path: Path) -> None:
    spec_file(tmp_path / "mine").write_text("model: world/nli\n")
    with pytest.raises(UserError, match=r"mine.yaml was not written by an audit, and is not replaced"):
        execute_audit(plan_audit(CONTENT, model, data), tmp_path / "mine", console=QUIET)
    assert spec_file(tmp_path / "mine").read_text() == "model: world/nli\n"
    assert not (tmp_path / "mine").exists()


def test_a_dry_run_writes_nothing(verax: CallVerax, tmp_path: Path) -> None:
    said = verax("audit", "rules/word", "world/nli", "--labels", "a,b", "--dry-run")
    assert said.code == 2, "its labels are not those of the data"
    said = verax("audit", "world/nli", "world/nli", "--limit", "20", "--budget", "1h", "--dry-run")
    assert said.code == 0
    assert "stops after 60 minutes" in said.out
    assert list(tmp_path.iterdir()) == []


def test_audit_in_python(model: Classifier, data: Dataset, tmp_path: Path) -> None:
    run = audit(model, replace(data, instances=data.instances[:12]), out=tmp_path / "run", progress=False)
    assert len(run.instances) == 12
    assert run.conclusion() is not None


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("10m", 600), ("1.5h", 5400), (" 2 m ", 120)])
def test_durations(text: str, seconds: float) -> None:
    assert duration_of(text) == seconds


@pytest.mark.parametrize("text", ["10", "m", "0s", "-1m", "1d", "1m30s"])
def test_invalid_durations(text: str) -> None:
    with pytest.raises(UserError, match="--budget: expected a time such as 90s, 10m or 2h"):
        duration_of(text)
