"""One file and one line: every method and metric is registered once, and every name leads to something."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest

import verax
from verax.engine.protocols import AnsweringMethod, Method, Metric, TextMetric
from verax.registry import BUILT_IN, Namespace, entries, resolve
from verax.types import UserError

SOURCE = Path(verax.__file__).parent
ROOMS: tuple[Namespace, ...] = get_args(Namespace)
NAMES = [(namespace, name) for namespace in ROOMS for name in BUILT_IN[namespace]]


def defined(namespace: str) -> list[str]:
    """What the files of a room define: every public class that has a version, as `module:class`."""
    found = []
    for file in sorted((SOURCE / namespace).glob("*/*.py")):
        name = ".".join(("verax", *file.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")
        for public, thing in inspect.getmembers(importlib.import_module(name), inspect.isclass):
            own = thing.__module__ == name and not public.startswith("_")
            if own and "version" in vars(thing):
                found.append(f"{name}:{public}")
    return found


@pytest.mark.parametrize("namespace", ["methods", "metrics"])
def test_every_file_is_registered_once(namespace: Namespace) -> None:
    assert Counter(entry.target for entry in BUILT_IN[namespace].values()) == Counter(defined(namespace))


@pytest.mark.parametrize(("namespace", "name"), NAMES)
def test_every_entry_resolves_and_says_in_one_line_what_it_is(namespace: Namespace, name: str) -> None:
    entry = BUILT_IN[namespace][name]
    assert isinstance(resolve(namespace, name), dict) if namespace == "presets" else callable(resolve(namespace, name))
    assert entry.name == name
    assert entry.kind
    assert len(entry.summary.splitlines()) == 1
    assert entry.summary.endswith(".")
    assert len(entry.summary) <= 110


@pytest.mark.parametrize(
    ("namespace", "name"), [(namespace, name) for namespace, name in NAMES if namespace in {"methods", "metrics"}]
)
def test_methods_and_metrics_are_frozen_dataclasses_that_work_as_they_are(namespace: Namespace, name: str) -> None:
    made = resolve(namespace, name)()
    assert dataclasses.is_dataclass(made)
    assert made == resolve(namespace, name)()
    for field in dataclasses.fields(made):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(made, field.name, None)
    text = BUILT_IN[namespace][name].kind == "text"
    kind = {"methods": (Method, AnsweringMethod), "metrics": (Metric, TextMetric)}[namespace][text]
    # not isinstance: it would ask what decides the values, and so load what a metric reads texts with
    assert [member for member in dir(kind) if not member.startswith("_") and not hasattr(type(made), member)] == []
    assert made.reference == BUILT_IN[namespace][name].reference
    assert BUILT_IN[namespace][name].cost
    assert made.version >= 1
    folder = BUILT_IN[namespace][name].target.split(".")[2]
    assert BUILT_IN[namespace][name].kind == (
        made.kind if namespace == "methods" else {"free_text": "text"}.get(folder, folder)
    )


@pytest.mark.parametrize(
    ("namespace", "name", "said"),
    [
        (
            "methods",
            "integrated_gradient",
            "unknown method 'integrated_gradient'; did you mean 'integrated_gradients'?",
        ),
        ("metrics", "suficiency", "unknown metric 'suficiency'; did you mean 'sufficiency'?"),
        ("datasets", "world/nil", "unknown dataset 'world/nil'; did you mean 'world/nli'?"),
        ("metrics", "xyz", "unknown metric 'xyz'; valid: agreement, "),
    ],
)
def test_an_unknown_name_gets_the_nearest_known_one(namespace: Namespace, name: str, said: str) -> None:
    with pytest.raises(UserError) as error:
        resolve(namespace, name)
    assert str(error.value).startswith(said)


def install(folder: Path, points: str) -> None:
    """Put a distribution with entry points into a folder, as an installer does."""
    (folder / "shouting.py").write_text("class Shout:\n    loud = True\n")
    info = folder / "shouting-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shouting\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(points)


def test_a_plug_in_is_listed_and_resolves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "[verax.methods]\nshout = shouting:Shout\n")
    monkeypatch.syspath_prepend(tmp_path)
    found = entries("methods")
    assert list(found)[:-1] == list(BUILT_IN["methods"])
    assert (found["shout"].kind, found["shout"].summary) == ("plug-in", "From shouting.")
    assert resolve("methods", "shout").loud
    assert "shout" not in entries("metrics")
    monkeypatch.undo()
    assert "shout" not in entries("methods")


def test_a_plug_in_can_not_take_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "[verax.methods]\nsaliency = shouting:Shout\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UserError, match="shouting:Shout calls itself 'saliency', which is taken in methods"):
        entries("methods")


def test_listing_imports_nothing_heavy() -> None:
    code = (
        "import sys, verax.registry as r\n"
        f"for room in {ROOMS!r}: assert r.entries(room)\n"
        "print(*({'torch', 'transformers', 'scipy', 'sklearn', 'pandas', 'pyarrow'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
