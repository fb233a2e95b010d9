"""`verax show --figure` and `verax explain --plot`: files, names, folders, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.cli import CallVerax
from support.masking import masked_word_run
from support.runs import word_run

PAIR = ("explain", "A red kettle is here.", "It is blue.", "--method", "kernel_shap", "--set", "budget=16")


def test_a_figure_is_written_to_a_file_in_the_format_of_its_name(verax: CallVerax, tmp_path: Path) -> None:
    word_run(tmp_path / "run")
    for name, start in {"a.pdf": b"%PDF", "b.svg": b"<?xml", "c.PNG": b"\x89PNG"}.items():
        said = verax("show", "run", "--figure", "leaderboard", "--width", "text", "--no-title", "--out", name)
        assert (said.code, said.out) == (0, f"Wrote {name}\n"), said.err
        assert (tmp_path / name).read_bytes().startswith(start)


def test_all_figures_go_to_a_folder_and_their_names_are_listed(verax: CallVerax, tmp_path: Path) -> None:
    masked_word_run(tmp_path / "run")
    names = verax("show", "run", "--figure", "list").out.split()
    assert {"curves", "p-values", "beeswarm"} <= set(names)
    said = verax("show", "run", "--figure", "all", "--figure", "beeswarm", "--format", "svg", "--out", "new/figures")
    assert said.code == 0, said.err
    assert sorted(path.stem for path in (tmp_path / "new/figures").iterdir()) == sorted(names)
    assert {path.suffix for path in (tmp_path / "new/figures").iterdir()} == {".svg"}
    only = verax("show", "run", "--study", "masking", "--figure", "list").out.split()
    assert set(only) == {"curves", "p-values", "beeswarm"}


def test_a_beeswarm_is_drawn_of_one_method(verax: CallVerax, tmp_path: Path) -> None:
    word_run(tmp_path / "run")
    assert verax("show", "run", "--figure", "beeswarm", "--method", "random", "--out", "b.svg").code == 0
    assert "Random" in (tmp_path / "b.svg").read_text("utf-8")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--figure leaderbord --out x.pdf", "--figure: unknown figure 'leaderbord'; did you mean 'leaderboard'?"),
        ("--figure leaderboard", "--out: name the file or the folder"),
        ("--figure leaderboard --format csv --out x", "--format csv: figures are written as pdf, svg, png"),
        ("--figure leaderboard --format svg --out x.pdf", "--out: x.pdf is not of the --format svg"),
        ("--figure leaderboard --figure beeswarm --out x.pdf", "--out: 2 figures don't fit into the file x.pdf"),
        ("--figure leaderboard --out x.pdf --width 99", "width: expected column (3.3 in) or text (6.9 in)"),
        ("--figure leaderboard --out run/manifest.json/x.pdf", "cannot be written"),
        ("--figure leaderboard --method loo --out x.pdf", "--method: it is for --figure beeswarm"),
        ("--method loo", "--method: it is for --figure beeswarm"),
        ("--figure beeswarm --method lo --out x.pdf", "unknown method 'lo'; did you mean 'loo'?"),
        ("--format pdf", "--format pdf: figures have it: verax show --figure"),
    ],
)
def test_what_cannot_be_drawn_is_refused(verax: CallVerax, tmp_path: Path, options: str, said: str) -> None:
    word_run(tmp_path / "run")
    answer = verax("show", "run", *options.split())
    assert answer.code == 2
    assert said in answer.err
    assert not (tmp_path / "x.pdf").exists()


def test_the_curves_of_a_training_are_a_figure(verax: CallVerax, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    facts = {"curves": {"none": [0.5, 0.75], "masking": [0.25, 0.5]}, "metric": "accuracy", "best_epoch": 1}
    (tmp_path / "model/training.json").write_text(json.dumps(facts))
    assert verax("show", "model", "--figure", "curves", "--out", "c.svg").code == 0
    assert "after each epoch" in (tmp_path / "c.svg").read_text("utf-8")
    (tmp_path / "model/training.json").write_text("{}")
    assert "training.json holds no curves" in verax("show", "model", "--figure", "curves", "--out", "c.svg").err


def test_an_explanation_is_plotted_and_written_as_latex(verax: CallVerax, tmp_path: Path) -> None:
    said = verax(*PAIR, "--plot", "waterfall", "--out", "w.svg")
    assert (said.code, said.out) == (0, "Wrote w.svg\n"), said.err
    assert "without words (mask)" in (tmp_path / "w.svg").read_text("utf-8")
    latex = verax(*PAIR, "--format", "latex")
    assert r"\colorbox[RGB]" in latex.out
    assert verax(*PAIR, "--format", "latex", "--out", "e.tex").code == 0
    assert (tmp_path / "e.tex").read_text("utf-8") == latex.out
    assert verax(*PAIR, "--format", "json").out == verax(*PAIR, "--json").out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--plot waterfal --out x.pdf", "--plot: unknown plot 'waterfal'; did you mean 'waterfall'?"),
        ("--plot bar", "--out: name the file"),
        ("--plot bar --out folder", "--out: name a file for the plot"),
        ("--plot bar --out x.pdf --width narrow", "width: expected column"),
        ("--plot bar --out x.pdf --method lime", "show one explanation"),
        ("--format csv", "--format csv: an explanation is written as terminal, json or latex"),
        ("--out x.txt", "--out: it is for --plot"),
    ],
)
def test_what_cannot_be_plotted_is_refused_before_the_model_is_loaded(
    verax: CallVerax, monkeypatch: pytest.MonkeyPatch, options: str, said: str
) -> None:
    monkeypatch.setattr("verax.models.load.load_model", lambda *_, **__: pytest.fail("loaded"))
    answer = verax("explain", "A kettle.", "Blue.", "--method", "leave_one_out", *options.split())
    assert answer.code == 2
    assert said in answer.err
