"""What is imported before it is needed: nothing heavy for names, listings, errors and stored results."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.runs import word_run

HEAVY = (
    "torch",
    "transformers",
    "pandas",
    "scipy.stats",
    "scipy.optimize",
    "sklearn",
    "datasets",
    "huggingface_hub",
    "shapiq",
    "ray",
    "spacy",
    "matplotlib",
    "matplotlib.pyplot",
)
PAIR = ("A boat.", "A lake.")


def imported_by(code: str) -> set[str]:
    """Heavy modules that a program has imported when it ends."""
    report = f"import json, sys; print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def imported_by_command(*args: str, code: int = 0) -> set[str]:
    """Heavy modules that a command has imported when it exits with a code."""
    return imported_by(f"""
import sys
from verax.__main__ import main
sys.argv = ["verax", *{args!r}]
try:
    main()
except SystemExit as stopped:
    assert stopped.code == {code}, stopped.code
""")


def test_modules_are_seen_when_they_are_imported() -> None:
    assert imported_by("import scipy.stats") == {"scipy.stats", "scipy.optimize"}


def test_explain_is_imported_without_torch() -> None:
    assert imported_by("from verax import explain, evaluate, open_run, load_dataset, load_model") == set()


@pytest.mark.parametrize(
    "args",
    [
        ("explain", *PAIR, "--method", "leave_one_uot"),
        ("explain", *PAIR, "--method", "lime", "--set", "smaples=5"),
        ("explain", *PAIR, "--model", "world/nil"),
        ("run", "--preset", "attribution-tabel"),
        ("run", "--preset", "attribution-table", "--model", "world/nil"),
        ("run", "spec.yaml", "--model", "world/nli"),
    ],
    ids=["method", "parameter", "model", "preset", "model-of-run", "metric"],
)
def test_misspelt_names_are_rejected_before_anything_heavy_is_imported(
    args: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = {"model": "world/nli", "data": "world/nli", "methods": ["lime"], "metrics": ["agrement"]}
    (tmp_path / "spec.yaml").write_text(json.dumps(spec))
    monkeypatch.chdir(tmp_path)
    assert imported_by_command(*args, code=2) == set()


def test_stored_results_are_shown_and_components_listed_without_torch(tmp_path: Path) -> None:
    word_run(tmp_path / "run")
    assert imported_by_command("show", str(tmp_path / "run")) == set()
    figure = ("--figure", "leaderboard", "--out", str(tmp_path / "figure.svg"))
    assert imported_by_command("show", str(tmp_path / "run"), *figure) == {"matplotlib"}, "and no torch, no pyplot"
    assert imported_by_command("list") == set()
