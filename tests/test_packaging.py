"""The release: its versions agree, the wheel is complete and small, and works without the source tree.

`VERAX_WHEEL` names a wheel that is checked in place of one that is built here.
"""

from __future__ import annotations

import ast
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from email.parser import Parser
from pathlib import Path
from typing import Any

import pytest
import yaml

from verax import explain, load_model

ROOT = Path(__file__).parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
MOST_WEIGHTS = 15_000_000
EXTRAS = (
    "accelerate",
    "captum",
    "datasets",
    "IPython",
    "jieba",
    "matplotlib",
    "mlflow",
    "pythainlp",
    "ray",
    "sacrebleu",
    "shap",
    "shapiq",
    "spacy",
    "wandb",
    "wn",
)
"""Modules of extras and of tests, which an environment need not have."""
PAIR = ("The small red boat is on the lake.", "The boat is green.")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel to check."""
    if given := os.environ.get("VERAX_WHEEL"):
        return ROOT / given
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], cwd=ROOT, check=True)
    (built,) = folder.glob("*.whl")
    return built


def test_versions_agree() -> None:
    version = PROJECT["version"]
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))["version"] == version
    newest = re.search(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert newest is not None
    assert newest[1] == version
    assert importlib.metadata.version("verax") == version


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.startswith("verax/")}
    source = ROOT / "src"
    files = {path.relative_to(source).as_posix() for path in (source / "verax").rglob("*") if path.is_file()}
    assert packed == {name for name in files if "__pycache__" not in name}
    assert {"verax/py.typed", "verax/registry/index.json"} <= packed
    suffixes = {Path(name).suffix for name in packed}
    assert {".toml", ".txt", ".json", ".safetensors", ".css", ".js"} <= suffixes


def test_shipped_weights_are_small(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        sizes = [item.file_size for item in archive.infolist() if item.filename.endswith(".safetensors")]
    assert 0 < sum(sizes) <= MOST_WEIGHTS


def test_the_metadata_is_that_of_the_project(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        found = Parser().parsestr(archive.read(name).decode("utf-8"))
        assert any(name.endswith("licenses/LICENSE") for name in archive.namelist())
    assert (found["Name"], found["Version"]) == ("verax", PROJECT["version"])
    assert found["License-Expression"] == "Apache-2.0"
    assert set(found.get_all("Classifier", [])) == set(PROJECT["classifiers"])
    assert found.get_payload().startswith("# verax")  # type: ignore[union-attr]


def test_every_import_is_a_declared_dependency() -> None:
    extras = [
        needed for name, several in PROJECT["optional-dependencies"].items() if name != "test" for needed in several
    ]
    declared = {normalised(re.split(r"[^\w.-]", needed)[0]) for needed in PROJECT["dependencies"] + extras}
    homes, imported = importlib.metadata.packages_distributions(), set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module is not None:
                imported.add(node.module.partition(".")[0])
    foreign = imported - sys.stdlib_module_names - {"verax"}
    assert "torch" in foreign
    assert [name for name in sorted(foreign) if declared.isdisjoint(map(normalised, homes.get(name, ())))] == []


def normalised(name: str) -> str:
    """The name of a distribution as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_wheel_works_without_the_source_tree(wheel: Path, tmp_path: Path) -> None:
    """Installed into a new environment, which borrows the dependencies of this one but no extra; in an empty folder."""
    venv.create(tmp_path / "env", with_pip=False)
    python = tmp_path / "env/bin/python"
    install = [sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", "-q", wheel]
    subprocess.run(install, check=True)
    (site,) = (tmp_path / "env/lib").glob("python*/site-packages")
    borrowed = [folder for folder in sys.path if Path(folder).name == "site-packages"]
    hidden = f"import sys; sys.modules.update(dict.fromkeys({EXTRAS!r}))"
    (site / "dependencies.pth").write_text("\n".join([*borrowed, hidden]))
    empty = tmp_path / "empty"
    empty.mkdir()
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def call(*command: str | Path) -> str:
        return subprocess.run(command, cwd=empty, env=env, capture_output=True, text=True, check=True).stdout

    where = call(python, "-c", "import verax, verax.api; print(verax.api.__file__, verax.__version__)").split()
    assert where == [str(site / "verax/api.py"), PROJECT["version"]]
    verax = tmp_path / "env/bin/verax"
    assert call(verax, "--version") == f"verax {PROJECT['version']}\n"
    assert "world/nli" in call(verax, "list")
    assert "Finished" in call(verax, "demo", "--limit", "2", "--out", "run")
    assert "Finished" in call(verax, "show", "run")
    found = json.loads(call(verax, "explain", *PAIR, "--method", "leave_one_out", "--json"))
    assert found == json.loads(json.dumps(explain(load_model("world/nli"), *PAIR, method="leave_one_out").to_dict()))
