"""The examples of CONTRIBUTING.md are real: they do what the text says, and its plug-in works from end to end."""

from __future__ import annotations

import importlib
import json
import re
import sys
import textwrap
import tomllib
from collections.abc import Callable, Generator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from support.plug_ins import InstallPlugIn
from verax.cli import main
from verax.engine.engine import Engine, Task, TaskResult
from verax.engine.protocols import Method, Metric, as_generator
from verax.engine.questions import Outputs
from verax.models.black_box import BlackBox
from verax.models.encoding import Encoding
from verax.models.subject import Subject
from verax.registry import index
from verax.types import Attribution, FloatArray, Highlight, Instance, Target, Text

ROOT = Path(__file__).parent.parent
WEIGHTS = np.array([0.5, -2.0, 3.0])
PLUG_IN = ("rarity/metric.py", "rarity/study.py")


def blocks(kind: str = "python") -> list[str]:
    found = re.findall(rf"^( *)```{kind}\n(.*?)^\1```$", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.S | re.M)
    return [textwrap.dedent(code) for _, code in found]


def block(path: str) -> str:
    (code,) = [code for code in blocks() if code.startswith(f"# {path}\n")]
    assert not (ROOT / path).exists()
    return code


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Any]:
    """Gives what an example defines, found as the index finds it."""

    def load(path: str, name: str) -> Any:
        (tmp_path / "example.py").write_text(block(path), "utf-8")
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "example", raising=False)
        namespace = {"data": "datasets"}.get(path.split("/")[2], path.split("/")[2])
        monkeypatch.setattr(index, "PACKAGES", {"example": namespace})
        entry = json.loads(index.index_text())[namespace][name]
        assert {"summary", "reference"} <= set(entry)
        return getattr(sys.modules["example"], entry["target"].removeprefix("example:"))

    return load


def linear(generator: Generator[Outputs, FloatArray, Any]) -> Any:
    """Answer as a model of two classes whose logits are minus and plus the sum of the weights of the kept words."""
    question = next(generator)
    while True:
        full = np.ones((int(question.and_full), len(WEIGHTS)), dtype=bool)
        values = np.vstack([question.keep, full]) @ WEIGHTS
        try:
            question = generator.send(np.stack([-values, values], axis=1))
        except StopIteration as end:
            return end.value


@pytest.fixture
def instance() -> Instance:
    return Instance("i", (Text("not so good", ("not", "so", "good"), ((0, 3), (4, 6), (7, 11))),))


@pytest.fixture
def x(instance: Instance) -> Subject:
    empty = np.empty(0, dtype=np.int64)
    encoding = Encoding(instance, empty, empty, empty, ("bad", "fine"), None)
    return Subject(instance, SimpleNamespace(encode=lambda _: encoding))


def test_the_method_gives_back_the_weights_of_a_linear_model(x: Subject, example: Callable[[str, str], Any]) -> None:
    method = example("src/verax/methods/keep_one.py", "keep_one")()
    assert isinstance(method, Method)
    np.testing.assert_allclose(linear(method(x)).scores, WEIGHTS, rtol=1e-12)


@pytest.mark.parametrize(("scores", "flips"), [((0.0, 0.1, 0.9), 1.0), ((0.9, 0.0, 0.1), 0.0)])
def test_the_metric_sees_that_the_prediction_changes(
    x: Subject, example: Callable[[str, str], Any], scores: tuple[float, ...], flips: float
) -> None:
    metric = example("src/verax/metrics/faithfulness/decision_flip.py", "decision_flip")()
    assert isinstance(metric, Metric)
    highlight = Highlight("i", "m", "token", Target(), x.units, scores)
    assert linear(metric(x, highlight)).value == flips


def test_the_data_reader_gives_a_dataset(example: Callable[[str, str], Any]) -> None:
    data = example("src/verax/data/greetings.py", "greetings")(limit=1)
    assert [(one.label, one.parts[0].words[:2]) for one in data.instances] == [("greeting", ("Good", "morning"))]


def test_the_question_is_answered_by_a_model_with_the_capability(
    instance: Instance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "question.py").write_text(block("surprise/question.py"), "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("question")
    model = BlackBox(lambda texts: [[0.5, 0.5]] * len(texts), labels=("a", "b"), name="m", version="1")
    model.capabilities = model.capabilities | {"surprise"}
    calls: list[int] = []

    def surprises(rows: Any) -> Any:
        calls.append(len(rows))
        return module.surprises(rows)

    model.surprises = surprises  # type: ignore[attr-defined]
    ended: list[TaskResult[Attribution]] = []
    x = Subject(instance, model)
    generators = [as_generator(module.Surprising(), x) for _ in range(2)]
    Engine().run([Task(generator, lambda outcome: ended.append(outcome) or ()) for generator in generators])  # type: ignore[func-returns-value]
    assert [outcome.value.scores.tolist() for outcome in ended if outcome.value] == [[3.0, 2.0, 4.0]] * 2
    assert calls == [1]  # the second asks what is known


@pytest.fixture
def plug_in(tmp_path: Path, install_plug_in: InstallPlugIn, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package of the example, with the entry points that the text declares."""
    (tmp_path / "rarity").mkdir()
    (tmp_path / "rarity" / "__init__.py").write_text("")
    for path in PLUG_IN:
        (tmp_path / path).write_text(block(path), "utf-8")
    for module in [name for name in sys.modules if name.split(".")[0] == "rarity"]:
        monkeypatch.delitem(sys.modules, module)
    (declared,) = [tomllib.loads(code) for code in blocks("toml")]
    install_plug_in("rarity", declared["project"]["entry-points"])


@pytest.mark.usefixtures("plug_in")
def test_a_plug_in_brings_a_whole_protocol(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Preset, analysis, a table, a figure, and a metric with its own provider: no file of verax knows of them."""

    def verax(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["verax", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        printed = capsys.readouterr()
        assert end.value.code == 0, printed.err
        return printed.out

    for namespace, name in (("studies", "rarity"), ("presets", "rare-words"), ("metrics", "rarity")):
        assert name in verax("list", namespace)
    run = str(tmp_path / "run")
    assert "Rare words among the top words" in verax("run", "--preset", "rare-words", "--limit", "4", "--out", run)
    (shown,) = json.loads(verax("show", run, "--study", "rarity", "--format", "json"))
    rows = {row["method"]: row["rarity"] for row in shown["tables"][0]["rows"]}
    assert rows == pytest.approx(expected(Path(run)), abs=1e-12)
    assert len(rows) == 3
    assert len(shown["figures"][0]["panels"][0]["marks"]) == 3
    assert "rarity_low" in verax("show", run, "--study", "rarity", "--format", "csv")
    assert r"\toprule" in verax("show", run, "--study", "rarity", "--format", "latex")
    assert "| Method | Rare words |" in verax("show", run, "--study", "rarity", "--format", "markdown")
    assert "Rare words" in verax("show", run, "--study", "rarity")
    verax("report", run)
    page = (tmp_path / "run" / "report.html").read_text("utf-8")
    assert 'id="rarity"' in page
    assert '<h2 id="rarity-title">Rare words</h2>' in page
    assert page.count('class="mark s0"') >= 3


def expected(folder: Path) -> dict[str, float]:
    """The mean rarity of each method, counted from the stored explanations."""
    from collections import Counter

    from verax.results.run import Run

    run = Run(folder)
    inputs = {one.id: one for one in run.inputs()}
    counts = Counter(word.casefold() for one in inputs.values() for part in one.parts for word in part.words)
    shares: dict[str, list[float]] = {}
    for row in run.highlights():
        order = sorted(range(len(row.units)), key=lambda i: (-row.scores[i], i))[:3]
        words = [inputs[row.instance_id].parts[row.units[i][0].part].words[row.units[i][0].start] for i in order]
        share = sum(counts[word.casefold()] <= 2 for word in words) / len(words)
        shares.setdefault(run.manifest.display(row.method), []).append(share)
    return {method: sum(values) / len(values) for method, values in shares.items()}
