"""`sample`: inputs drawn at random by a seed, in data of every kind, in a run and in a training."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.cli import CallVerax
from verax.api import evaluate
from verax.data.load import load_dataset
from verax.jobs.training.spec import TrainSpec
from verax.jobs.training.splits import open_splits
from verax.run.spec import parse
from verax.types import UserError


def write(path: Path, n: int) -> Path:
    rows = [{"id": f"r{i}", "text": f"word {i}", "label": "ab"[i % 2]} for i in range(n)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_sample_is_seeded_in_order_and_nested(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", 100)
    ids = [one.id for one in load_dataset(path).instances]
    ten, twenty, again, other = (
        [one.id for one in load_dataset(path, sample=n, seed=seed).instances]
        for n, seed in ((10, 3), (20, 3), (10, 3), (10, 4))
    )
    assert ten == again != other
    assert ten == sorted(ten, key=ids.index)
    assert set(ten) < set(twenty)
    assert ten != ids[:10]
    assert load_dataset(path, sample=10, seed=3).provenance["sample"] == "10 of 100, seed 3"


def test_every_input_is_equally_likely(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", 20)
    counts = dict.fromkeys((f"r{i}" for i in range(20)), 0)
    for seed in range(400):
        for one in load_dataset(path, sample=5, seed=seed).instances:
            counts[one.id] += 1
    assert all(abs(count - 100) < 4.5 * 8.7 for count in counts.values())  # binomial: 400 draws of 1 in 4


def test_with_a_limit_it_is_drawn_from_the_first_rows_and_may_be_all(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", 50)
    drawn = load_dataset(path, limit=10, sample=4)
    assert {one.id for one in drawn.instances} < {f"r{i}" for i in range(10)}
    assert (drawn.provenance["sample"], drawn.provenance["limit"]) == ("4 of 10, seed 0", "10")
    assert len(load_dataset(path, limit=10, sample=40)) == 10
    with pytest.raises(UserError, match="sample: expected at least 1, got 0"):
        load_dataset(path, sample=0)


def test_translations_stay_together() -> None:
    drawn = load_dataset("world/xnli", limit=30, sample=4)
    languages = {one.lang for one in drawn.instances}
    assert len(languages) > 1
    assert len(drawn) == 4 * len(languages)
    assert len({one.parallel_id for one in drawn.instances}) == 4


def test_a_run_records_its_sample(tmp_path: Path) -> None:
    data = {"name": "world/nli", "limit": 60, "sample": 3}
    run = evaluate("world/nli", data, ["saliency"], ["complexity"], out=tmp_path, seed=5, progress=False)
    assert run.manifest.data.provenance["sample"] == "3 of 60, seed 5"
    assert run.manifest.spec["data"]["sample"] == 3
    assert run.instances.ids == [one.id for one in load_dataset("world/nli", limit=60, sample=3, seed=5).instances]


def test_the_command_line_takes_a_sample_and_prints_it_in_the_command(verax: CallVerax, tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(
        "{model: world/nli, data: world/nli, methods: [saliency], metrics: [complexity]}"
    )
    said = verax("run", "spec.yaml", "--limit", "40", "--sample", "2", "--out", "run")
    assert said.code == 0, said.err
    card = json.loads((tmp_path / "run" / "run.json").read_text())
    assert card["data"]["n"] == 2
    assert "--sample 2" in card["command"]


def test_a_training_samples_its_training_data_alone() -> None:
    whole, drawn = (
        open_splits(parse(TrainSpec, {"base": "world/nli", "data": {"name": "world/nli", "limit": 40, **sample}}))
        for sample in ({}, {"sample": 7})
    )
    assert len(drawn.train) == 7
    assert set(drawn.train.instances) < set(whole.train.instances)
    assert len(drawn.validation) == len(whole.validation) > 7
