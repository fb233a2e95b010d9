"""The examples of CONTRIBUTING.md are real: they do what the text says of them."""

from __future__ import annotations

import importlib
import json
import re
import sys
import textwrap
from collections.abc import Callable, Generator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from verax import check_metric, evaluate
from verax.engine.protocols import Method, Metric
from verax.engine.questions import Outputs
from verax.models.encoding import Encoding
from verax.models.subject import Subject
from verax.registry import index
from verax.types import Dataset, FloatArray, Highlight, Instance, Target, Text

ROOT = Path(__file__).parent.parent
WEIGHTS = np.array([0.5, -2.0, 3.0])


def blocks() -> list[str]:
    found = re.findall(r"^( *)```python\n(.*?)^\1```$", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.S | re.M)
    return [textwrap.dedent(code) for _, code in found]


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Gives the class that an example defines, found as the index finds it."""

    def load(path: str) -> Any:
        (code,) = [block for block in blocks() if block.startswith(f"# {path}\n")]
        assert not (ROOT / path).exists()
        namespace, name = path.split("/")[2], Path(path).stem
        (tmp_path / "example.py").write_text(code, "utf-8")
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "example", raising=False)
        monkeypatch.setattr(index, "PACKAGES", {"example": namespace})
        entry = json.loads(index.index_text())[namespace][name]
        assert {"display", "summary", "cost", "reference"} <= set(entry)
        return getattr(sys.modules["example"], entry["target"].removeprefix("example:"))

    return load


def linear(generator: Generator[Outputs, FloatArray, Any]) -> Any:
    """Answer as a model of two classes whose logits are minus and plus the sum of the weights of the kept words."""
    ask = next(generator)
    while True:
        full = np.ones((int(ask.and_full), len(WEIGHTS)), dtype=bool)
        values = np.vstack([ask.keep, full]) @ WEIGHTS
        try:
            ask = generator.send(np.stack([-values, values], axis=1))
        except StopIteration as end:
            return end.value


@pytest.fixture
def x() -> Subject:
    text = Text("not so good", ("not", "so", "good"), ((0, 3), (4, 6), (7, 11)))
    empty = np.empty(0, dtype=np.int64)
    instance = Instance("i", (text,))
    encoding = Encoding(instance, empty, empty, empty, ("bad", "fine"), None)
    return Subject(instance, SimpleNamespace(encode=lambda _: encoding))


def test_the_method_gives_back_the_weights_of_a_linear_model(x: Subject, example: Callable[[str], Any]) -> None:
    method = example("src/verax/methods/token/keep_one.py")()
    assert isinstance(method, Method)
    np.testing.assert_allclose(linear(method(x)).scores, WEIGHTS, rtol=1e-12)


@pytest.mark.parametrize(("scores", "flips"), [((0.0, 0.1, 0.9), 1.0), ((0.9, 0.0, 0.1), 0.0)])
def test_the_metric_sees_that_the_prediction_changes(
    x: Subject, example: Callable[[str], Any], scores: tuple[float, ...], flips: float
) -> None:
    metric = example("src/verax/metrics/faithfulness/decision_flip.py")()
    assert isinstance(metric, Metric)
    highlight = Highlight("i", "m", "token", Target(), x.units, scores)
    assert linear(metric(x, highlight)).value == flips


def test_the_provider_tells_the_metric_how_rare_words_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, classifier: Callable[..., Any], instances: list[Instance]
) -> None:
    (code,) = [block for block in blocks() if block.startswith("# src/verax/run/providers/rarity.py\n")]
    (tmp_path / "rarity_example.py").write_text(code, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    metric = importlib.import_module("rarity_example").RareFirst()
    data = Dataset("pairs", tuple(instances), ("yes", "maybe", "no"))
    run = evaluate(classifier("bert"), data, ["leave_one_out"], [metric], out=tmp_path / "run", progress=False)
    texts = {one.id: [part.words for part in one.parts] for one in instances}
    highlights = {(row.instance_id, row.method): row for row in run.highlights()}
    for score in run.score_rows():
        row = highlights[score.instance_id, score.method]
        ((part, start, _),) = row.units[int(np.argmax(row.scores))]
        word = texts[score.instance_id][part][start]
        n = sum(any(word in words for words in parts) for parts in texts.values())
        assert score.value == pytest.approx(-np.log(n / len(instances)), abs=1e-12)
    assert len(highlights) == len(run.score_rows()) == 2 * len(instances)
    check_metric(metric).raise_if_failed()
