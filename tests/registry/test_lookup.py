"""Every name resolves, an unknown one gets the nearest, and plug-ins are found once, and described when listed."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any, get_args

import pytest

from support.plug_ins import InstallPlugIn
from verax.engine.protocols import AnsweringMethod, Method, Metric, TextMetric, kinds_of
from verax.methods.gradients import Saliency
from verax.registry import NAMESPACES, Namespace, built_in, described, entries, lookup, registered_name, rescan, resolve
from verax.results.study import Study
from verax.types import Kind, MeasuredProperty, Preset, UserError

NAMES = [(namespace, name) for namespace in NAMESPACES for name in built_in(namespace)]
Install = Callable[[Mapping[str, Mapping[str, str]]], None]


@pytest.mark.parametrize(("namespace", "name"), NAMES)
def test_every_entry_resolves_and_has_a_summary_of_one_line(namespace: Namespace, name: str) -> None:
    entry, component = built_in(namespace)[name], resolve(namespace, name)
    content = {"presets": Preset, "studies": Study}
    assert isinstance(component, content[namespace]) if namespace in content else callable(component)
    assert component.name == entry.name == name
    assert component.summary == entry.summary
    assert getattr(component, "reference", "") == entry.reference
    assert len(entry.summary.splitlines()) == 1
    assert entry.summary.endswith(".")
    assert len(entry.summary) <= 110


@pytest.mark.parametrize(
    ("namespace", "name"), [(namespace, name) for namespace, name in NAMES if namespace in {"methods", "metrics"}]
)
def test_methods_and_metrics_are_frozen_dataclasses_that_work_as_they_are(namespace: Namespace, name: str) -> None:
    entry, made = built_in(namespace)[name], resolve(namespace, name)()
    assert dataclasses.is_dataclass(made)
    assert made == resolve(namespace, name)()
    for field in dataclasses.fields(made):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(made, field.name, None)
    is_text = made.kind == "text" if namespace == "methods" else kinds_of(made) == {"text"}
    kind = {"methods": (Method, AnsweringMethod), "metrics": (Metric, TextMetric)}[namespace][is_text]
    # not isinstance: it would ask what decides the values, and so load what a metric reads texts with
    assert [member for member in dir(kind) if not member.startswith("_") and not hasattr(type(made), member)] == []
    assert entry.cost
    assert entry.display
    assert made.version >= 1
    assert entry.kind == (made.kind if namespace == "methods" else made.measures)
    assert entry.kind in get_args(Kind if namespace == "methods" else MeasuredProperty)


@pytest.mark.parametrize(
    ("namespace", "name", "message"),
    [
        (
            "methods",
            "integrated_gradient",
            "unknown method 'integrated_gradient'; did you mean 'integrated_gradients'?",
        ),
        ("metrics", "suficiency", "unknown metric 'suficiency'; did you mean 'sufficiency'?"),
        ("datasets", "world/nil", "unknown dataset 'world/nil'; did you mean 'world/nli'?"),
        ("studies", "maskin", "unknown study 'maskin'; did you mean 'masking'?"),
        ("metrics", "xyz", "unknown metric 'xyz'; valid: agreement, "),
    ],
)
def test_an_unknown_name_gets_the_nearest_known_one(namespace: Namespace, name: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        resolve(namespace, name)
    assert str(error.value).startswith(message)


@pytest.fixture
def install(tmp_path: Path, install_plug_in: InstallPlugIn) -> Iterator[Install]:
    """Install the distribution `shouting`, with two modules, under some entry points."""
    (tmp_path / "shouting.py").write_text(
        "class Shout:\n"
        "    kind, summary, cost, reference = 'token', 'Scores by capital letters.', 'none', 'Loud 2020'\n"
        "    display = 'SHOUT'\n"
        "class Bare:\n"
        "    summary = 3\n"
    )
    (tmp_path / "broken_shouting.py").write_text("import no_such_module_anywhere\n")
    yield partial(install_plug_in, "shouting")
    for module in ("shouting", "broken_shouting"):
        sys.modules.pop(module, None)


def test_a_plug_in_is_listed_and_resolves(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install({"verax.methods": {"shout": "shouting:Shout", "bare": "shouting:Bare"}})
    listed = entries("methods")
    assert list(listed)[:-2] == list(built_in("methods"))
    assert (listed["shout"].kind, listed["shout"].summary) == ("plug-in", "From shouting.")
    assert "shouting" not in sys.modules, "nothing is imported before it is used"
    full = described(listed["shout"])
    assert (full.kind, full.summary, full.cost) == ("token", "Scores by capital letters. From shouting.", "none")
    assert (full.reference, full.display) == ("Loud 2020", "SHOUT")
    assert described(listed["bare"]) == listed["bare"], "a summary that is no text is none"
    assert resolve("methods", "shout").display == "SHOUT"
    assert registered_name("methods", resolve("methods", "bare")) == "bare"
    assert "shout" not in entries("metrics")
    monkeypatch.undo()
    rescan()
    assert "shout" not in entries("methods")


def test_a_plug_in_that_cannot_be_imported_says_why(install: Install) -> None:
    install({"verax.metrics": {"broken": "broken_shouting:Shout", "gone": "shouting:Gone"}})
    broken, gone = (described(entries("metrics")[name]) for name in ("broken", "gone"))
    assert broken.summary == (
        "From shouting; it cannot be imported: ModuleNotFoundError: No module named 'no_such_module_anywhere'"
    )
    assert gone.summary.startswith("From shouting; it cannot be imported: AttributeError: module 'shouting' has no")
    with pytest.raises(UserError, match="the plug-in 'broken' of shouting cannot be imported: No module named"):
        resolve("metrics", "broken")


@pytest.mark.parametrize(
    ("points", "name"),
    [
        ({"verax.methods": {"saliency": "shouting:Shout"}}, "saliency"),
        ({"verax.methods": {"shout": "shouting:Shout", "saliency": "shouting:Bare"}}, "saliency"),
    ],
)
def test_a_plug_in_can_not_take_a_name(install: Install, points: Any, name: str) -> None:
    install(points)
    message = f"{points['verax.methods'][name]} has a name that is already used in methods: {name!r}"
    with pytest.raises(UserError, match=message):
        entries("methods")


def test_entry_points_are_scanned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    scanned = []

    def counted() -> Any:
        scanned.append(1)
        return metadata.entry_points()

    monkeypatch.setattr(lookup, "entry_points", counted)
    rescan()
    for _ in range(3):
        for namespace in NAMESPACES:
            entries(namespace)
    assert len(scanned) == 1
    rescan()
    entries("methods")
    assert len(scanned) == 2


def test_the_name_of_a_class() -> None:
    """The registered one, the declared one if it is free, or that of the class."""

    class Mine:
        name = "mine"

    class Imposter(Saliency):
        name = "saliency"  # type: ignore[misc]

    class Inherits(Saliency):
        pass

    assert [registered_name("methods", kind) for kind in (Saliency, Mine, Imposter, Inherits)] == [
        "saliency",
        "mine",
        "Imposter",
        "Inherits",
    ]


def test_listing_imports_nothing_heavy() -> None:
    code = (
        "import sys, verax.registry as r\n"
        "for namespace in r.NAMESPACES: assert r.entries(namespace)\n"
        "assert r.display_names('methods', [('leave_one_out', {})]) == ['LOO']\n"
        "print(*({'torch', 'transformers', 'scipy', 'sklearn', 'pandas', 'pyarrow', 'pydantic'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
