"""`verax nle` on runs that were written by hand."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import explained_runs as made
import pytest
from verax.run.run import Run

from verax.cli import main
from verax.data.text import split_words


class Answer(NamedTuple):
    """What a command printed, and how it ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def verax(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., Answer]:
    """Call the command line in this process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")

    def call(*args: str) -> Answer:
        monkeypatch.setattr(sys, "argv", ["verax", *args])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return Answer(int(ended.value.code or 0), out, err)

    return call


def test_it_prints_every_table(verax: Callable[..., Answer], tmp_path: Path) -> None:
    made.write(tmp_path / "run", made.stored())
    said = verax("nle", "run")
    assert said.code == 0
    assert "Counterfactual consistency test" in said.out
    assert "Input reconstruction consistency test" in said.out
    assert "4 of 6 explanations" in said.out
    assert json.loads(verax("nle", "run", "--json").out)[2]["total"] == 4 / 6
    rows = list(csv.DictReader(io.StringIO(verax("nle", "run", "--csv").out)))
    assert [row["test"] for row in rows[:3]] == ["random", "infill", "random + infill"]
    assert verax("nle", "run", "--latex").out.count(r"\begin{table}") == 3
    assert "| MT-Ra, random + infill |" in verax("nle", "run", "--markdown").out


def test_several_runs_are_compared_and_told_apart(verax: Callable[..., Answer], tmp_path: Path) -> None:
    made.write(tmp_path / "a", made.stored())
    made.write(tmp_path / "b", made.stored(card=made.card(model={"name": "large"})))
    made.write(tmp_path / "c", made.stored())
    said = verax("nle", "a", "b").out
    assert "tiny: MT-Ra, random" in said
    assert "random: tiny: MT-Ra, large: MT-Ra" in said
    assert "a: MT-Ra, random" in verax("nle", "a", "c").out, "models of one name go by their folders"


def test_runs_of_other_inputs_are_refused(verax: Callable[..., Answer], tmp_path: Path) -> None:
    made.write(tmp_path / "a", made.stored())
    changed = [replace(one, parts=(split_words("Other."),)) for one in made.instances()]
    made.write(tmp_path / "b", made.stored(instances=changed))
    said = verax("nle", "a", "b")
    assert said.code == 2
    assert "is not the same text" in said.err


def test_a_run_without_free_text_is_refused(verax: Callable[..., Answer], tmp_path: Path) -> None:
    made.write(tmp_path / "a", made.stored())
    made.write(tmp_path / "b", made.stored(card={}, texts=[], scores=[]))
    for folders in (["b"], ["a", "b"]):
        said = verax("nle", *folders)
        assert said.code == 2
        assert "b has no free-text explanations" in said.err


def test_a_run_that_is_opened_has_the_same_tables(tmp_path: Path) -> None:
    run = Run(made.write(tmp_path / "run", made.stored()))
    assert run.nle is not None
    assert run.nle.counterfactual[2].total is not None
    assert run.nle.counterfactual[2].total.value == 4 / 6
    assert Run(made.write(tmp_path / "bare", made.stored(card={}, texts=[], scores=[]))).nle is None
