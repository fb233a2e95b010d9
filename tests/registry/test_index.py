"""The index is what the components declare: nothing is missing, nothing is stale, nothing is there twice."""

from __future__ import annotations

import importlib
import inspect
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import verax
from verax.registry import Namespace, built_in, resolve
from verax.registry import index as indexing
from verax.registry.lookup import INDEX
from verax.run.parameters import as_configured

SOURCE = Path(verax.__file__).parent
COMPONENTS: tuple[Namespace, ...] = ("methods", "metrics", "aligners", "editors", "reconstructions")


def test_the_index_is_up_to_date() -> None:
    assert INDEX.read_text("utf-8") == indexing.index_text(), "run `python -m verax.registry.index` to renew it"


def versioned(package: str) -> list[str]:
    """Every public class with a version that the files of a package define, as `module:class`."""
    classes = []
    for file in sorted((SOURCE / package).rglob("*.py")):
        name = ".".join(("verax", *file.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")
        for public, thing in inspect.getmembers(importlib.import_module(name), inspect.isclass):
            own = thing.__module__ == name and not public.startswith("_")
            if own and "version" in vars(thing):
                classes.append(f"{name}:{public}")
    return classes


@pytest.mark.parametrize(
    ("package", "namespace"), [("methods", "methods"), ("metrics", "metrics"), ("align", "aligners")]
)
def test_every_method_metric_and_aligner_is_registered_once(package: str, namespace: Namespace) -> None:
    assert Counter(entry.target for entry in built_in(namespace).values()) == Counter(versioned(package))


def test_the_defaults_are_the_parameters_that_a_run_records() -> None:
    names = [(namespace, name) for namespace in COMPONENTS for name in built_in(namespace)]
    for namespace, name in names:
        required = {"path": "an-editor"} if name == "infill" else {}
        recorded = as_configured(namespace, resolve(namespace, name)(**required)).parameters
        assert json.loads(json.dumps(recorded)) == {**required, **built_in(namespace)[name].defaults}, name


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., dict[str, Any]]]:
    """The index of a package `shop` with some modules, searched for methods."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(indexing, "PACKAGES", {"shop": "methods"})

    def index(**modules: str) -> dict[str, Any]:
        (tmp_path / "shop" / "inner").mkdir(parents=True)
        for folder in (tmp_path / "shop", tmp_path / "shop" / "inner"):
            (folder / "__init__.py").write_text("")
        for name, text in modules.items():
            (tmp_path / "shop" / f"{name.replace('__', '/')}.py").write_text(text)
        content: dict[str, Any] = json.loads(indexing.index_text())
        return content

    yield index
    for name in set(sys.modules) - before:
        if name.partition(".")[0] == "shop":
            del sys.modules[name]


CLASSES = """
from dataclasses import dataclass
from typing import ClassVar

@dataclass(frozen=True)
class Part:
    size: int = 2
    name: ClassVar[str] = "part"
    summary: ClassVar[str] = "A part."
    namespace: ClassVar[str] = "editors"

@dataclass(frozen=True)
class Whole:
    must: str
    part: Part = Part(3)
    sizes: tuple[int, ...] = (1, 2)
    name: ClassVar[str] = "whole"
    summary: ClassVar[str] = "A whole."
    kind: ClassVar[str] = "token"

class Child(Whole):
    "Inherits all but the registration."
"""
OTHERS = """
from dataclasses import dataclass
from shop.inner.classes import Part, Whole
from verax.registry import registered

@registered("made", "A function.", reference="Somebody 2020")
def make():
    pass

@dataclass
class Thing:
    name: str
    summary: str
    namespace = "datasets"

here = Thing("here", "A thing.")
no_summary = Thing("there", None)
"""


def test_classes_functions_and_objects_are_found_where_they_are_defined(package: Callable[..., dict[str, Any]]) -> None:
    index = package(inner__classes=CLASSES, others=OTHERS)
    assert index["methods"] == {
        "whole": {
            "target": "shop.inner.classes:Whole",
            "kind": "token",
            "summary": "A whole.",
            "defaults": {"part": {"part": {"size": 3}}, "sizes": [1, 2]},
            "required": ["must"],
        },
        "made": {
            "target": "shop.others:make",
            "kind": "built-in",
            "summary": "A function.",
            "reference": "Somebody 2020",
        },
    }
    assert list(index["methods"]) == ["whole", "made"], "kinds of explanations come first"
    assert list(index["editors"]) == ["part"]
    assert {name: entry["target"] for name, entry in index["datasets"].items()} == {"here": "shop.others:here"}


def test_a_name_that_is_declared_twice_is_rejected(package: Callable[..., dict[str, Any]]) -> None:
    with pytest.raises(ValueError, match=r"shop\.others:Whole and shop\.inner\.classes:Whole both declare 'whole'"):
        package(inner__classes=CLASSES, others=CLASSES.replace('"part"', '"other part"'))
