"""`verax check`: exit codes, its table and its JUnit XML."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

from support.cli import CallVerax
from support.runs import make_run, score_run, word_rows

TABLE = {"comp": {"random": [0.1, 0.2] * 8, "loo": [0.5, 0.75] * 8}}


def _parsed(file: Path) -> ElementTree.Element:
    return ElementTree.parse(file).getroot()  # noqa: S314 - the test wrote it itself


def test_all_requirements_met(verax: CallVerax, tmp_path: Path) -> None:
    score_run(tmp_path / "run", TABLE)
    said = verax("check", "run", "--require", "LOO: comp > random", "--require", "comp >= 0.6")
    assert said.code == 0
    assert "All 2 checks met" in said.out
    written = verax("check", "run", "--require", "comp >= 0.6", "--format", "json", "--out", "checks.json")
    assert (written.code, written.out) == (0, "")
    assert [row["met"] for row in json.loads((tmp_path / "checks.json").read_text())] == [True]


def test_a_requirement_that_is_not_met_fails_and_is_in_the_xml(verax: CallVerax, tmp_path: Path) -> None:
    score_run(tmp_path / "run", TABLE)
    said = verax("check", "run", "--require", "loo: comp > random", "--require", "comp >= 0.7", "--junit", "out.xml")
    assert said.code == 1
    assert "1 of 2 checks not met" in said.out
    root = _parsed(tmp_path / "out.xml")
    assert root.tag == "testsuites"
    (suite,) = root.findall("testsuite")
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    failed = {case.get("name"): case.find("failure") for case in suite.findall("testcase")}
    assert failed["loo: comp > random"] is None
    failure = failed["comp >= 0.7"]
    assert failure is not None
    assert failure.get("message") == "loo: comp 0.625"


def test_hostile_names_are_valid_xml(verax: CallVerax, tmp_path: Path) -> None:
    name = 'a<b>&"\x01\x1b[31m'
    score_run(tmp_path / "run", {"comp": {"random": [0.1, 0.2] * 8, name: [0.0] * 16}})
    assert verax("check", "run", "--require", "comp >= 0.7", "--junit", "out.xml").code == 1
    (case,) = _parsed(tmp_path / "out.xml").iter("testcase")
    assert case.get("classname") == 'a<b>&"\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}[31m'


def test_worse_than_an_earlier_run_fails(verax: CallVerax, tmp_path: Path) -> None:
    score_run(tmp_path / "before", TABLE)
    worse = {"comp": {**TABLE["comp"], "loo": [value - 0.125 for value in TABLE["comp"]["loo"]]}}
    score_run(tmp_path / "after", worse)
    said = verax("check", "after", "--no-worse-than", "before", "--format", "json")
    assert said.code == 1
    (row,) = json.loads(said.out)
    assert (row["method"], row["metric"], row["met"], row["value"]) == ("loo", "comp", False, 0.5)
    back = verax("check", "before", "--no-worse-than", "after")
    assert back.code == 0
    assert back.out == "All 1 checks met (1 comparison with an earlier run met)\n"


def test_invalid_input(verax: CallVerax, tmp_path: Path) -> None:
    score_run(tmp_path / "run", TABLE)
    score_run(tmp_path / "other", {"suff": TABLE["comp"]})
    for arguments, problem in (
        ([], "nothing to check"),
        (["--require", "comp > randm"], "expected a number or random"),
        (["--no-worse-than", "other"], "share no method under the same metric"),
        (["--require", "comp > 0", "--junit", "missing/out.xml"], "--junit"),
    ):
        said = verax("check", "run", *arguments)
        assert said.code == 2
        assert problem in said.err


def test_an_unfinished_run_is_not_checked(verax: CallVerax, tmp_path: Path) -> None:
    make_run(tmp_path / "run", **word_rows(), plan=["0", "a row that is missing"])
    said = verax("check", "run", "--require", "comp >= -100")
    assert said.code == 3
    assert "nothing was checked" in said.err
