"""A run from end to end: rows are counted, resumed, repaired, and never computed twice."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from support import tiny
from verax.api import Run, evaluate, open_run
from verax.data.text import split_words
from verax.engine.questions import Outputs, QuestionGenerator
from verax.models.classifier import Classifier
from verax.models.load import load_model
from verax.models.subject import Subject
from verax.store.store import Store
from verax.types import Attribution, Dataset, Highlight, Instance, Kind, Measured, Passes, UserError

ROWS_OF_AN_INSTANCE = 1 + 3 * (1 + 3)
"""A prediction; three methods (random beside the two) with an explanation and three scores each."""


class Counting:
    """A model that counts the passes it is asked for."""

    def __init__(self, model: Classifier) -> None:
        self._model = model
        self.passes = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def logits(self, rows: Sequence[Any]) -> Any:
        self.passes += len(rows)
        return self._model.logits(rows)

    def gradients(self, points: Sequence[Any]) -> Any:
        self.passes += len(points)
        return self._model.gradients(points)


@pytest.fixture
def progress_counter(classifier: Callable[..., Classifier]) -> Counting:
    return Counting(classifier("bert"))


def numbers(run: Run) -> dict[tuple[str, ...], Any]:
    found: dict[tuple[str, ...], Any] = {
        (s.instance_id, s.method, s.metric): (s.value, s.reason) for s in run.score_rows()
    }
    found.update({(h.instance_id, h.method): h.scores for h in run.highlights()})
    return found


def test_every_row_is_there_once(small_run: Callable[..., Run], dataset: Dataset) -> None:
    run = small_run()
    assert run.tables.card["counts"] == {
        "rows": len(dataset) * ROWS_OF_AN_INSTANCE,
        "done": len(dataset) * ROWS_OF_AN_INSTANCE,
        "failed": 0,
        "skipped": 0,
    }
    assert [i.id for i in run.inputs()] == [i.id for i in dataset.instances]
    table = run.summary()
    assert set(table["method"]) == {"random", "leave_one_out", "integrated_gradients(steps=4)"}
    assert len(table) == 9
    loo = table[(table.method == "leave_one_out") & (table.metric == "comprehensiveness")].iloc[0]
    values = [s.value for s in run.score_rows() if (s.method, s.metric) == ("leave_one_out", "comprehensiveness")]
    assert loo["mean"] == pytest.approx(np.mean([value for value in values if value is not None]))
    assert (loo["n"], loo["skipped"]) == (5, 0)
    cost = run.tables.card["cost"]
    assert 0 < cost["forward"] < cost["forward_asked"]


def test_a_second_time_costs_nothing(small_run: Callable[..., Run], progress_counter: Counting) -> None:
    first = numbers(small_run(model=progress_counter))
    spent = progress_counter.passes
    assert spent > 0
    again = small_run(model=progress_counter)
    assert progress_counter.passes == spent
    assert numbers(again) == first
    assert again.tables.card["cost"]["forward"] + again.tables.card["cost"]["backward"] == spent, (
        "the card counts the first time"
    )


def test_more_methods_and_metrics_cost_only_themselves(
    small_run: Callable[..., Run], progress_counter: Counting
) -> None:
    small_run(model=progress_counter, methods=["leave_one_out"], metrics=["agreement"])
    spent = progress_counter.passes
    run = small_run(model=progress_counter, methods=["leave_one_out"], metrics=["agreement", "complexity"])
    assert progress_counter.passes == spent, "complexity asks the model nothing, and the explanations are there"
    assert {s.metric for s in run.score_rows()} == {"agreement", "complexity"}
    fewer = small_run(model=progress_counter, methods=["leave_one_out"], metrics=["complexity"])
    assert {s.metric for s in fewer.score_rows()} == {"complexity"}, "rows of an earlier spec are kept but not shown"


def test_pooled_resumed_and_alone_agree(small_run: Callable[..., Run], dataset: Dataset, tmp_path: Path) -> None:
    whole = numbers(small_run(out=tmp_path / "whole"))
    part = replace(dataset, instances=dataset.instances[:2])
    small_run(out=tmp_path / "parts", data=part)
    small_run(out=tmp_path / "parts", methods=["leave_one_out"])
    pieces = numbers(small_run(out=tmp_path / "parts"))
    assert pieces.keys() == whole.keys()
    for key, value in whole.items():
        if len(key) == 2:
            assert np.abs(np.subtract(value, pieces[key])).max() <= 1e-12
        else:
            assert value[0] == pytest.approx(pieces[key][0], abs=1e-12)


def test_changed_weights_are_computed_again(small_run: Callable[..., Run]) -> None:
    first, second = (
        Counting(load_model(model.double(), tokenizer=tokenizer))
        for seed in (1, 2)
        for model, tokenizer in [tiny.build("bert", seed=seed)]
    )
    before = numbers(small_run(model=first))
    assert first.passes > 0
    after = small_run(model=second)
    assert second.passes > 0
    assert after.tables.card["counts"]["rows"] == 5 * ROWS_OF_AN_INSTANCE
    assert numbers(after)[("pair 0", "leave_one_out")] != before[("pair 0", "leave_one_out")]
    spent = first.passes
    assert numbers(small_run(model=first)) == before, "and the first weights' rows are still there"
    assert first.passes == spent


def test_a_flipped_bit_costs_its_own_shard_alone(small_run: Callable[..., Run], progress_counter: Counting) -> None:
    run = small_run(model=progress_counter)
    whole, expected = progress_counter.passes, numbers(run)
    shards = sorted((run.folder / "shards").iterdir())
    assert {path.name.partition("-")[0] for path in shards} == {"instances", "predictions", "explanations", "scores"}
    spent = {}
    for path in shards:
        table = path.name.partition("-")[0]
        current = next((run.folder / "shards").glob(f"{table}-*"))
        data = bytearray(current.read_bytes())
        data[len(data) // 2] ^= 0b100
        current.write_bytes(data)
        before = progress_counter.passes
        again = small_run(model=progress_counter)
        spent[table] = progress_counter.passes - before
        assert numbers(again).keys() == expected.keys()
        assert again.tables.card["counts"] == run.tables.card["counts"]
        assert (run.folder / "quarantine").is_dir()
    assert spent["instances"] == 0
    assert spent["predictions"] == 5
    assert 0 < spent["scores"] < whole, "explanations were not made again"
    assert 0 < spent["explanations"] < whole


def test_instances_that_cannot_be_explained_are_counted(small_run: Callable[..., Run], dataset: Dataset) -> None:
    bad = (
        Instance("blank", (split_words("a boat"), split_words("  "))),
        Instance("three", (split_words("a"), split_words("b"), split_words("c"))),
        Instance("long", (split_words("word " * 300), split_words("b"))),
    )
    run = small_run(data=replace(dataset, instances=(*dataset.instances, *bad)))
    counts = run.tables.card["counts"]
    assert counts["skipped"] == 3 * ROWS_OF_AN_INSTANCE
    assert counts["rows"] == 8 * ROWS_OF_AN_INSTANCE == counts["done"] + counts["skipped"]
    reasons = {(skip.instance_id, skip.reason) for skip in run.skips()}
    assert reasons == {("blank", "empty"), ("three", "too_many_parts"), ("long", "too_long")}
    skipped = run.summary()["skipped"].unique().tolist()
    assert skipped == [3]


@dataclass(frozen=True)
class Broken:
    """A method of somebody's own that fails on some inputs."""

    kind: ClassVar[Kind] = "token"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "a mistake"

    def passes(self, n: int) -> Passes:
        return Passes(1, 0)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        logits = yield Outputs(x, np.ones((1, x.n_units), bool))
        if "boat" in x.instance.parts[0].words:
            raise KeyError("nobody foresaw a boat")
        return x.attribution(np.full(x.n_units, logits[0, 0]))


@dataclass(frozen=True)
class Half:
    """A metric of somebody's own that asks nothing."""

    version: ClassVar[int] = 1
    reference: ClassVar[str] = "none"
    higher_is_better: ClassVar[bool] = True
    range: ClassVar[tuple[float | None, float | None]] = (0.0, math.inf)

    def passes(self, n: int) -> Passes:
        return Passes(0, 0)

    def __call__(self, x: Subject, highlight: Highlight) -> Measured:
        return Measured(0.5)


class Choking:
    """A model whose tokenizer fails on a word."""

    def __init__(self, model: Classifier) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def encode(self, instance: Instance) -> Any:
        if "gulls" in instance.parts[0].words:
            raise RuntimeError("gulls stick in my throat")
        return self._model.encode(instance)


def test_a_tokenizer_that_fails_costs_its_own_instance_alone(
    small_run: Callable[..., Run], classifier: Callable[..., Classifier]
) -> None:
    counts = small_run(model=Choking(classifier("bert"))).tables.card["counts"]
    assert counts["failed"] == ROWS_OF_AN_INSTANCE
    assert counts["done"] == 4 * ROWS_OF_AN_INSTANCE


def test_methods_and_metrics_of_ones_own(small_run: Callable[..., Run]) -> None:
    run = small_run(methods=[Broken()], metrics=[Half(), "complexity"])
    counts = run.tables.card["counts"]
    boats = sum("boat" in i.parts[0].words for i in run.inputs())
    assert 0 < boats < 5
    assert counts["failed"] == boats * 3, "an explanation and two scores each"
    failed = [skip for skip in run.skips() if skip.failed]
    assert all("KeyError" in skip.detail and "nobody foresaw" in skip.detail for skip in failed)
    assert {s.value for s in run.score_rows() if s.metric == "Half" and s.value is not None} == {0.5}
    assert run.manifest.metric("Half").range == (0.0, None), "JSON has no infinity"


def test_explanations_made_elsewhere_are_measured(
    small_run: Callable[..., Run], dataset: Dataset, tmp_path: Path
) -> None:
    """Our own scores, written to a file and read back, measure the same as the method itself."""
    first = small_run(methods=["leave_one_out"])
    lines = []
    for highlight in first.highlights():
        if highlight.method == "leave_one_out" and highlight.instance_id != "pair 3":
            instance = next(i for i in dataset.instances if i.id == highlight.instance_id)
            cut = len(instance.parts[0].words)
            scores = [list(highlight.scores[:cut]), list(highlight.scores[cut:])]
            lines.append(json.dumps({"id": instance.id, "method": "theirs", "scores": scores}))
    file = tmp_path / "theirs.jsonl"
    file.write_text("\n".join(lines))
    run = small_run(methods=["leave_one_out"], explanations=[file])
    ours, theirs = (
        {(s.instance_id, s.metric): s.value for s in run.score_rows() if s.method == method and s.value is not None}
        for method in ("leave_one_out", "theirs")
    )
    assert {key: value for key, value in ours.items() if key[0] != "pair 3"} == pytest.approx(theirs)
    assert [s.reason for s in run.score_rows() if s.method == "theirs" and s.instance_id == "pair 3"] == [
        "not_given"
    ] * 3


def test_by_token(small_run: Callable[..., Run], dataset: Dataset) -> None:
    run = small_run(granularity="token")
    words = sum(len(part.words) for i in dataset.instances for part in i.parts)
    pieces = sum(len(part.words) for i in run.inputs() for part in i.parts)
    assert pieces > words
    assert run.tables.card["counts"]["skipped"] == 0


def test_two_files_with_the_same_method(small_run: Callable[..., Run], tmp_path: Path) -> None:
    line = json.dumps({"id": "pair 3", "method": "theirs", "scores": [[1.0], [2.0]]})
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for file in files:
        file.write_text(line)
    with pytest.raises(UserError, match=r"b\.jsonl.*'pair 3'.*'theirs'"):
        small_run(explanations=files)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"methods": ["leave_one_ot"]}, "did you mean 'leave_one_out'"),
        ({"metrics": ["sufficency"]}, "did you mean 'sufficiency'"),
        ({"methods": [{"leave_one_out": {"removel": "mask"}}]}, "did you mean 'removal'"),
        ({"methods": [{"leave_one_out": {"removal": "burn"}}]}, "removal: input should be 'mask', 'delete'"),
        ({"methods": [{"random": {"seed": "x"}}]}, "random: seed"),
        ({"methods": [{"saliency": {"target": "nein"}}]}, "unknown target 'nein'"),
        ({"methods": [{"saliency": {"target": {"of": "gold", "spcae": "logit"}}}]}, "did you mean 'space'"),
        ({"methods": ["saliency", "saliency"]}, "listed twice"),
        ({"methods": [{"a": {}, "b": {}}]}, "expected a name"),
        ({"methods": [{"integrated_gradients": {"steps": 0}}]}, "steps: got 0"),
        ({"metrics": []}, "metrics"),
        ({"granularity": "letter"}, "granularity"),
    ],
)
def test_mistakes_are_told_before_anything_is_computed(
    small_run: Callable[..., Run], progress_counter: Counting, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        small_run(model=progress_counter, **changes)
    assert progress_counter.passes == 0


def test_a_model_without_a_mask_token(small_run: Callable[..., Run], classifier: Callable[..., Classifier]) -> None:
    model = classifier("gpt2")
    with pytest.raises(UserError, match="rules it can do: attention, delete, zero"):
        small_run(model=model, methods=[{"leave_one_out": {"removal": "mask"}}])
    with pytest.raises(UserError, match="baseline: got 'pad'"):
        small_run(model=model, methods=["integrated_gradients"])
    can = [{"leave_one_out": {"removal": "delete"}}, {"integrated_gradients": {"baseline": "zero", "steps": 2}}]
    assert small_run(model=model, methods=can).tables.card["counts"]["failed"] == 0


def test_incomplete_integration_is_warned_of(small_run: Callable[..., Run]) -> None:
    rough = {"integrated_gradients": {"steps": 1, "rule": "riemann_right", "baseline": "zero"}}
    warnings = small_run(methods=[rough]).tables.card["warnings"]
    assert len(warnings) == 1
    assert "miss completeness" in warnings[0]


def test_results_outlive_their_process(small_run: Callable[..., Run]) -> None:
    folder = small_run().folder
    code = f"import verax; print(len(verax.open_run({str(folder)!r}).summary()))"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "9"


def test_a_second_writer_is_refused(small_run: Callable[..., Run]) -> None:
    folder = small_run().folder
    with Store.open(folder), pytest.raises(UserError, match=r"pid|process"):
        small_run()
    assert open_run(folder).score_rows(), "but reading is free"


def test_the_keys_of_a_plan_are_written_as_they_are_generated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They can be generated again after a full disk, so the store need not hold them."""
    written: list[list[str]] = []
    write = Store.write_plan

    def spy(store: Store, keys: Iterable[str]) -> None:
        assert not isinstance(keys, Iterator | Collection)
        written.extend([list(keys), list(keys)])
        write(store, keys)

    monkeypatch.setattr(Store, "write_plan", spy)
    evaluate("world/nli", {"name": "world/nli", "limit": 2}, [], ["complexity"], out=tmp_path, progress=False)
    assert written[0] == written[1] == (tmp_path / "plan.txt").read_text().split()
