"""`verax crosslingual` on runs that were written by hand."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import many_languages as made
from verax.cli import main
from verax.run.parameters import from_config
from verax.stats.crosslingual_rows import measures
from verax.store.store import Store
from verax.store.tables import Row
from verax.studies.crosslingual.presets import CROSSLINGUAL
from verax.studies.leaderboard.presets import ATTRIBUTION_TABLE

pytestmark = pytest.mark.usefixtures("four_are_enough")


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


def write(folder: Path, **changes: Any) -> Path:
    """A stored run of three languages; `changes` are of its card."""
    with Store.open(folder) as store:
        rows: list[Row] = [*made.instances(), *made.predictions(made.RIGHT), *made.all_scores()]
        for place, row in enumerate(rows):
            store.append(str(place), row)
        store.write_card(made.card(**changes))
    return folder


def model(architecture: str, key: str) -> dict[str, str]:
    return {"architecture": f"{architecture}ForSequenceClassification", "parameters": "10", "hash": key}


def test_the_preset_is_the_attribution_table_across_languages() -> None:
    assert CROSSLINGUAL.content["methods"] == ATTRIBUTION_TABLE.content["methods"]
    metrics = [from_config("metrics", given, 0) for given in CROSSLINGUAL.content["metrics"]]
    found = measures({"metrics": [{"label": m.label, "name": m.name, "parameters": m.parameters} for m in metrics]})
    assert [(one.name, one.aligner) for one in found] == [
        ("faithfulness", "embedding(extract=itermax)"),
        ("faithfulness", "random"),
        ("comprehensiveness", None),
        ("sufficiency", None),
        ("plausibility", None),
    ]


def test_one_run_prints_its_tables(verax: Callable[..., Answer], tmp_path: Path) -> None:
    write(tmp_path / "one")
    said = verax("crosslingual", "one")
    assert said.code == 0, said.err
    assert "◆ 0.400 [" in said.out
    assert "Cross-lingual faithfulness: de" in said.out
    assert "fewer than 3 languages to correlate" in said.out


def test_the_formats_for_papers_and_programs(verax: Callable[..., Answer], tmp_path: Path) -> None:
    write(tmp_path / "one")
    assert "| saliency (l2) | ◆ 0.400 " in verax("crosslingual", "one", "--markdown").out
    assert verax("crosslingual", "one", "--latex").out.count(r"\begin{tabular}") == 10
    rows = json.loads(verax("crosslingual", "one", "--json").out)
    assert rows[1]["value"] == pytest.approx(0.4)
    assert len(list(csv.DictReader(io.StringIO(verax("crosslingual", "one", "--csv").out)))) == len(rows)


def test_several_runs_are_averaged_by_architecture(verax: Callable[..., Answer], tmp_path: Path) -> None:
    for name, facts in {"a": model("Bert", "a"), "b": model("Bert", "b"), "c": model("XLMRoberta", "c")}.items():
        write(tmp_path / name, model=facts)
    said = verax("crosslingual", "a", "b", "c")
    assert said.code == 0, said.err
    assert "Cross-lingual faithfulness, by architecture" in said.out
    assert "0.400 ± 0.000" in said.out
    assert "XLMRoberta (1) Loss" in said.out


def test_runs_that_can_not_be_averaged_are_refused_in_one_line(verax: Callable[..., Answer], tmp_path: Path) -> None:
    write(tmp_path / "a", model=model("Bert", "a"))
    write(tmp_path / "twin", model=model("Bert", "a"))
    write(tmp_path / "elsewhere", model=model("Bert", "b"), data={"hash": "other"})
    said = verax("crosslingual", "a", "twin")
    assert (said.code, said.out) == (2, "")
    assert "a and twin are of the same model" in said.err
    assert "a and elsewhere are not of the same inputs" in verax("crosslingual", "a", "elsewhere").err


@pytest.mark.parametrize(
    ("others", "told"),
    [
        ([f"{made.FAITHFULNESS}(aligner=given)"], f"{made.FAITHFULNESS}(aligner=given)"),
        ([made.FAITHFULNESS, "more", made.SHUFFLED], f"{made.FAITHFULNESS}, more, {made.SHUFFLED}"),
        ([made.FAITHFULNESS], made.FAITHFULNESS),
    ],
)
def test_runs_that_are_measured_in_other_ways_are_not_averaged(
    verax: Callable[..., Answer], tmp_path: Path, others: list[str], told: str
) -> None:
    write(tmp_path / "a", model=model("Bert", "a"))
    write(tmp_path / "b", model=model("Bert", "b"), metrics=[made.metric(made.FAITHFULNESS, one) for one in others])
    ours = f"{made.FAITHFULNESS}, {made.SHUFFLED}"
    said = verax("crosslingual", "a", "b")
    assert (said.code, said.out) == (2, "")
    expected = f"error: a is measured by {ours} and b by {told}: they can't be averaged"
    assert " ".join(said.err.split()) == expected
    back = f"error: b is measured by {told} and a by {ours}: they can't be averaged"
    assert " ".join(verax("crosslingual", "b", "a").err.split()) == back


def test_a_run_without_the_metric_says_how_to_get_it(verax: Callable[..., Answer], tmp_path: Path) -> None:
    write(tmp_path / "one", metrics=[made.metric("comprehensiveness")])
    said = verax("crosslingual", "one")
    assert said.code == 2
    assert "one has no scores of crosslingual_faithfulness; verax run --preset crosslingual" in " ".join(
        said.err.split()
    )
    write(tmp_path / "two", metrics=[made.metric(made.FAITHFULNESS, "other")])
    assert "in a language other than its reference" in " ".join(verax("crosslingual", "two").err.split())
