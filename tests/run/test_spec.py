"""The spec: what is written is what is run, and a mistake names its field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from verax.data.columns import Columns
from verax.methods.integrated_gradients import IntegratedGradients
from verax.metrics.faithfulness.erasure import Comprehensiveness
from verax.run.parameters import from_config
from verax.run.spec import DataSpec, ModelSpec, Spec, override, parse_spec, read_spec
from verax.types import Target, UserError

YAML = """
model: path/or/hub-id
data: {name: world/nli, split: test, limit: 200}
methods: [random, leave_one_out, {integrated_gradients: {steps: 100, target: loss}}]
metrics: [comprehensiveness, sufficiency, agreement, complexity]
seed: 0
"""


def written(tmp_path: Path, text: str) -> dict[str, Any]:
    path = tmp_path / "spec.yaml"
    path.write_text(text)
    return read_spec(path)


def test_a_spec_as_in_the_docs(tmp_path: Path) -> None:
    spec = parse_spec(written(tmp_path, YAML))
    assert spec.model == ModelSpec(name="path/or/hub-id")
    assert spec.data == DataSpec(name="world/nli", split="test", limit=200)
    named = from_config("methods", spec.methods[2], spec.seed)
    assert named.component == IntegratedGradients(Target("loss"), steps=100)
    assert named.label == "integrated_gradients(target=loss, steps=100)"
    assert named.parameters["target"] == {"of": "loss", "space": "logit"}
    again = parse_spec(spec.model_dump(mode="json"))
    assert again == spec, "the echo in the run card is a spec"


def test_flags_override(tmp_path: Path) -> None:
    content = written(tmp_path, YAML.replace("path/or/hub-id", "{name: a, dtype: float64}"))
    spec = parse_spec(override(content, {"seed": 7}, {"data": {"limit": 3}, "model": {"name": "b"}}))
    assert (spec.data.limit, spec.data.split, spec.seed) == (3, "test", 7)
    assert spec.model == ModelSpec(name="b", dtype="float64")
    unchanged = {"seed": None}, {"model": {"name": None}, "data": {"limit": 3}}
    assert parse_spec(override({**content, "data": "world/nli"}, *unchanged)).data.limit == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model: m\nmetrics: [agreement]", "'data' is missing"),
        ("model: m\ndata: d\nmetrics: [agreement]\nmetod: [x]", "did you mean 'methods'"),
        ("model: {name: m, dtyp: x}\ndata: d\nmetrics: [a]", "did you mean 'model.dtype'"),
        ("model: m\ndata: {name: d, columns: {lable: x}}\nmetrics: [a]", "did you mean 'data.columns.label'"),
        ("model: {name: m, endpoint: {ulr: x}}\ndata: d\nmetrics: [a]", "did you mean 'model.endpoint.url'"),
        ("model: {name: m, dtype: int8}\ndata: d\nmetrics: [a]", "model.dtype: .*float32.*got 'int8'"),
        ("modle: m\ndata: d\nmetrics: [a]", "did you mean 'model'"),
        ("model: m\ndata: d\nmethods: saliency\nmetrics: [a]", "methods: expected a list, got 'saliency'"),
        ("model: {name: m, labels: [no, yes]}\ndata: d\nmetrics: [a]", "in quotes"),
        ("model: m\ndata: {name: d, limit: 0}\nmetrics: [a]", "data.limit: .*got 0"),
        ("model: m\ndata: d\nmetrics: []", "metrics: .*at least 1"),
        ("model: m\ndata: d\nmetrics: [a]\nseed: -1", "seed: .*got -1"),
        ("model: [m\ndata: d", r"spec\.yaml:2: not valid YAML"),
        ("- a\n- b", "a spec is a mapping"),
        ("", "a spec is a mapping"),
    ],
)
def test_mistakes_name_their_field(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse_spec(written(tmp_path, text))


def test_a_missing_file_has_a_neighbour(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("x")
    with pytest.raises(UserError, match=r"did you mean 'mine\.yaml'"):
        read_spec(tmp_path / "mime.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="cannot be read"):
        read_spec(tmp_path / "binary.yaml")


@pytest.mark.parametrize("section", [Spec, ModelSpec, DataSpec, Columns])
def test_every_field_is_documented(section: type[BaseModel]) -> None:
    assert all(field.description for field in section.model_fields.values())


def test_labels_tell_variants_apart() -> None:
    assert from_config("methods", "random", 0).label == "random"
    assert from_config("methods", "random", 3).label == "random", "the run's own seed makes no variant"
    assert from_config("methods", "random", 3).parameters == {"seed": 3}
    assert from_config("methods", {"random": {"seed": 4}}, 3).label == "random(seed=4)"
    assert (
        from_config("metrics", {"comprehensiveness": {"bins": [0.1, 0.5]}}, 0).label
        == "comprehensiveness(bins=0.1/0.5)"
    )
    assert from_config("metrics", Comprehensiveness(average="mean"), 0).label == "comprehensiveness(average=mean)"
    probability = from_config("methods", {"saliency": {"target": {"of": "gold", "space": "probability"}}}, 0)
    assert probability.label == "saliency(target=gold (probability))"
