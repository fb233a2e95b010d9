"""A callable as a model: what it is handed, and what it can't be asked."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.cli import CallVerax
from verax.api import explain
from verax.data.text import split_words
from verax.models.load import load_model
from verax.types import Instance, UserError

DELETE = {"leave_one_out": {"removal": "delete"}}
SEEN: list[tuple[str, ...]] = []


def likes_boats(texts: list[tuple[str, ...]]) -> Any:
    SEEN.extend(texts)
    return [[0.9, 0.1] if any("boat" in part for part in parts) else [0.2, 0.8] for parts in texts]


def test_words_are_removed_from_the_text() -> None:
    SEEN.clear()
    model = load_model(likes_boats, labels=["yes", "no"])
    made = explain(model, "A boat, here.", "Two  words", method={"leave_one_out": {"removal": "delete"}})
    assert SEEN[0] == ("A boat, here.", "Two  words")
    assert set(SEEN[1:]) == {
        ("boat, here.", "Two  words"),
        ("A, here.", "Two  words"),
        ("A boat here.", "Two  words"),
        ("A boat,.", "Two  words"),
        ("A boat, here", "Two  words"),
        ("A boat, here.", "words"),
        ("A boat, here.", "Two"),
    }
    expected = np.log(0.9) - np.log(0.2)
    assert made.highlight.scores == pytest.approx((0, expected, 0, 0, 0, 0, 0))


def test_mask_text_stands_in() -> None:
    SEEN.clear()
    model = load_model(likes_boats, labels=["yes", "no"], mask_text="___")
    explain(model, "A boat", method="leave_one_out")
    assert set(SEEN) == {("A boat",), ("___ boat",), ("A ___",)}


def test_a_plain_function_is_explained_with_nothing_else_given() -> None:
    SEEN.clear()
    made = explain(load_model(likes_boats, labels=["yes", "no"]), "A boat")
    assert made.row.method == "leave_one_out"
    assert set(SEEN) == {("A boat",), ("... boat",), ("A ...",)}


def test_a_function_may_return_logits() -> None:
    def logits(texts: list[tuple[str, ...]]) -> Any:
        return [[len(text.split()), -3.5] for (text,) in texts]

    made = explain(load_model(logits, labels=["yes", "no"], outputs="logits"), "A boat", target="yes", method=DELETE)
    assert made.highlight.scores == (1, 1)
    assert made.prediction.probabilities == pytest.approx((1 / (1 + np.exp(-5.5)), 1 / (1 + np.exp(5.5))))


def test_a_module_of_the_current_folder_is_imported_only_on_request(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def answer(texts):\n    return [[0.3, 0.7]] * len(texts)\n")
    (tmp_path / "data.jsonl").write_text('{"text": "a boat"}\n')
    spec = {
        "model": {"name": "python:mine:answer", "labels": ["x", "y"]},
        "data": "data.jsonl",
        "metrics": ["complexity"],
    }
    (tmp_path / "spec.yaml").write_text(json.dumps(spec))
    command = [Path(sys.executable).with_name("verax"), "run", "spec.yaml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "No module named 'mine'; --import-from FOLDER" in done.stderr
    done = subprocess.run([*command, "--import-from", "."], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("start", [["verax"], ["python", "-m", "verax"]])
def test_modules_in_the_current_folder_are_not_executed(start: list[str], tmp_path: Path) -> None:
    # names that installed libraries try to import, and some of the standard library
    optional = ("uarray", "cupy", "numexpr", "bottleneck", "sitecustomize")
    for name in (*optional, "json", "secrets", "signal", "typing", "torch", "numpy", "pyarrow"):
        (tmp_path / f"{name}.py").write_text(f"open('executed-{name}', 'w').close()\n")
    data = "data:\n  {name: world/nli, limit: 2}\n"
    (tmp_path / "spec.yaml").write_text(f"model: world/nli\n{data}methods: [random]\nmetrics: [complexity]\n")
    program = [str(Path(sys.executable).with_name(start[0])), *start[1:]]
    for command in (["run", "spec.yaml", "--out", "r", "--workers", "2"], ["show", "r"]):
        done = subprocess.run([*program, *command], capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.glob("executed-*")) == []


def test_a_folder_of_modules_is_for_functions(call_verax: CallVerax, tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text("model: world/nli\ndata: world/nli\nmethods: [random]\nmetrics: [complexity]\n")
    said = call_verax("run", tmp_path / "spec.yaml", "--import-from", tmp_path)
    assert (said.code, said.out) == (2, "")
    assert "--import-from: it is for models given as python:module:function" in said.err


def test_by_import_path() -> None:
    model = load_model(f"python:{__name__}:likes_boats", labels=["yes", "no"])
    assert explain(model, "A boat", method={"leave_one_out": {"removal": "delete"}}).prediction.label == "yes"


def test_what_it_cannot_do_is_said() -> None:
    model = load_model(likes_boats, labels=["yes", "no"])
    with pytest.raises(UserError, match="rules it can do: delete, mask"):
        explain(model, "A boat", method={"occlusion": {"removal": "pad"}})
    with pytest.raises(UserError, match="needs gradients"):
        explain(model, "A boat", method="saliency")
    with pytest.raises(UserError, match="integrated_gradients needs gradients"):
        explain(model, "A boat", method="integrated_gradients")
    with pytest.raises(UserError, match="no sub-words"):
        model.by_token(Instance("x", (split_words("a"),)))
    with pytest.raises(UserError, match="names of its classes"):
        load_model(likes_boats)
    with pytest.raises(UserError, match="at least two different"):
        load_model(likes_boats, labels=["yes"])
    with pytest.raises(UserError, match="can't import"):
        load_model("python:nowhere:nothing", labels=["yes", "no"])
    wrong = load_model(lambda texts: [[0.1, 0.2, 0.7]] * len(texts), labels=["yes", "no"])
    with pytest.raises(UserError, match=r"shape \(1, 3\), expected \(1, 2\)"):
        explain(wrong, "A boat", method={"leave_one_out": {"removal": "delete"}})


def weighted(weight: float) -> Callable[[list[tuple[str, ...]]], Any]:
    return lambda texts: [[weight, 1 - weight] for _ in texts]


def test_results_of_another_version_of_a_function_are_not_taken_for_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def weights(function: Any) -> str:
        return load_model(function, labels=["yes", "no"]).fingerprint["weights"]

    assert weights(weighted(0.2)) == weights(weighted(0.2)) != weights(weighted(0.3)), "what it reads from outside"
    assert weights(likes_boats) != weights(weighted(0.2)), "its source"
    assert load_model(likes_boats, labels=["yes", "no"], version="3").fingerprint["weights"] == "3"
    assert weights(partial(likes_boats)) == weights(likes_boats)
    assert weights("python:math:fsum") == "unversioned", "compiled"

    def calls_itself(texts: list[tuple[str, ...]]) -> Any:
        return later(texts) if texts else calls_itself(texts)

    assert weights(calls_itself) != "unversioned", "with a name that has no value yet"
    later = likes_boats
    monkeypatch.syspath_prepend(tmp_path)
    versions = []
    for text in ("A = 1\ndef f(texts): return [[0.5, 0.5]]\n", "A = 20\ndef f(texts): return [[0.5, 0.5]]\n"):
        (tmp_path / "module_of_a_user.py").write_text(text)
        sys.modules.pop("module_of_a_user", None)
        versions.append(weights("python:module_of_a_user:f"))
    assert versions[0] != versions[1], "of python:module:function all of the module counts"
