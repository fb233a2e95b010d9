"""The page: its sections, what it shows of odd runs, and the file it is written to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support import free_text
from support.markup import Node, card_block, page_sections, report_tree
from support.masking import masked_word_run
from support.reading import Reading
from support.runs import make_run, text_of, word_rows, word_run
from support.stored import forget_hashes
from support.unified import PAGE_METHODS, unified_word_run
from verax.report import page
from verax.report.page import render, write_report
from verax.results.run import Run
from verax.types import Highlight, Human, Instance, Score, Target, UserError

MakeRun = Callable[..., Run]


def test_sections_are_linked_and_named(run: MakeRun) -> None:
    made = report_tree(run(3))
    sections = page_sections(made)
    assert list(sections) == ["judgement", "leaderboard", "instances", "card"]
    assert [link["href"] for link in made.only("nav", aria_label="Sections").all("a")] == [
        f"#{name}" for name in sections
    ]
    for name, section in sections.items():
        assert section["aria-labelledby"] == f"{name}-title"
        assert section.only("h2")["id"] == f"{name}-title"
    assert made.only("h1").words == "tiny on pairs"
    assert made.only("p", "facts-line").words == "finished · 3 instances · 2 methods · 1 metric · accuracy 0.667"
    assert made.only("main").attributes["id"] == "content"


def test_studies_have_a_section_where_they_apply(tmp_path: Path) -> None:
    masked = page_sections(report_tree(masked_word_run(tmp_path / "masked")))
    assert list(masked) == ["judgement", "leaderboard", "masking", "instances", "card"]
    assert len(masked["masking"].all("svg", "chart")) > 1
    kinds = page_sections(report_tree(unified_word_run(tmp_path / "kinds")))
    assert list(kinds) == ["judgement", "leaderboard", "unified", "instances", "card"]
    assert len(kinds["unified"].all("figure")) == 3
    words = {label: entry for label, entry in PAGE_METHODS.items() if entry[1] == "token"}
    assert "unified" not in page_sections(report_tree(unified_word_run(tmp_path / "words", words)))
    texts = page_sections(report_tree(free_text.text_run(tmp_path / "texts")))
    assert list(texts) == ["free_text", "texts", "card"], "nothing is ranked, and there is no heatmap"


def test_free_text_and_scores_of_words_share_a_page(tmp_path: Path) -> None:
    words, both = word_rows(8), free_text.card()
    both["methods"] += words["card"]["methods"]
    both["metrics"] += words["card"]["metrics"]
    made = report_tree(
        free_text.text_run(
            tmp_path,
            card=both,
            instances=[*words["instances"], *free_text.instances()],
            highlights=words["highlights"],
            scores=[*words["scores"], *free_text.scores()],
        )
    )
    sections = page_sections(made)
    assert list(sections) == ["judgement", "leaderboard", "free_text", "texts", "instances", "card"]
    board = sections["leaderboard"].words
    assert "comp" in board
    assert "mt_ra" not in board
    assert free_text.RANDOM not in board
    assert sections["instances"].all(data_method="mt_ra") == []


def test_the_leaderboard_has_its_tables(run: MakeRun) -> None:
    board = page_sections(report_tree(run(30)))["leaderboard"]
    overview, ranking = board.all("table")
    assert [row[0] for row in overview.rows()[1:]] == ["Random baseline", "loo"]
    head, first, second = ranking.rows()
    assert [cell for cell in head if "drawn" not in cell] == [
        "Method",
        "Group",
        "Mean",
        "p against random",
        "n",
        "Skipped",
    ]
    assert (first[0], second[0]) == ("loo", "Random baseline")
    assert first[3].startswith("◆ 0.345 [")
    assert first[4:] == ["< 0.001", "30", "0"]
    assert len(ranking.all("td", "best")) == 1
    assert len(ranking.all("svg", "plot", role="img")) == 2


def test_what_does_not_rank_is_not_on_the_leaderboard(tmp_path: Path) -> None:
    sections = page_sections(report_tree(masked_word_run(tmp_path / "a")))
    assert "within" not in sections["leaderboard"].words
    assert "within" in sections["instances"].words
    only = masked_word_run(tmp_path / "b")
    scores = [score for score in only.score_rows() if score.metric == "within"]
    alone = page_sections(report_tree(masked_word_run(tmp_path / "c", scores=scores)))
    assert list(alone) == ["leaderboard", "instances", "card"]
    assert alone["leaderboard"].all("table") == []


def test_each_kind_is_drawn_with_its_own_random_explanation(tmp_path: Path) -> None:
    board = page_sections(report_tree(unified_word_run(tmp_path)))["leaderboard"]
    rankings = board.all("table")[1:]
    flags = [[row[0].endswith("baseline") for row in table.rows()[1:]] for table in rankings]
    assert [sum(flagged) for flagged in flags] == [2, 2, 2]
    lines = {}
    for row in rankings[0].only("tbody").all("tr"):
        drawn = row.all("line", "random")
        assert len(drawn) == 1
        lines[row.only("span", "label").text] = drawn[0]["x1"]
    assert len(lines) == 4


def test_an_empty_run_has_a_page(tmp_path: Path) -> None:
    made = report_tree(make_run(tmp_path))
    assert list(page_sections(made)) == ["leaderboard", "instances", "card"]
    assert made.only("h1").words == "not recorded on not recorded"
    assert made.all("article") == []
    assert page_sections(made)["leaderboard"].all("table") == []


def test_only_skips(skipped_only: Run) -> None:
    made = report_tree(skipped_only)
    articles = made.all("article", "instance")
    assert len(articles) == 7
    assert [article.all("p", "skip")[1].only("strong").text for article in articles] == ["failed: empty"] + [
        "skipped: empty"
    ] * 6
    missing = card_block(made, "Skipped and failed")
    _, failed, skipped = missing.only("table").rows()
    assert failed[:3] == ["empty", "failed", "1"]
    assert skipped[:3] == ["empty", "skipped", "6"]
    assert len(missing.all("code")) == 1 + 5, "one failure; of six skips the first five"
    assert "1 more" in skipped[3]


@pytest.mark.parametrize(
    "odd",
    [
        {"model": "text"},
        {"methods": "x", "metrics": [1]},
        {"cost": [], "counts": 3},
        {"spec": [1, {"a": None}]},
        {"cost": {"forward": float("nan")}},
        {"data": "text"},
        {"methods": [1, {"name": "random"}, {"label": 3}]},
    ],
)
def test_a_card_of_any_shape_is_shown_and_its_problems_are_named(tmp_path: Path, odd: dict[str, Any]) -> None:
    run = word_run(tmp_path)
    forget_hashes(tmp_path)
    (tmp_path / "run.json").write_text(json.dumps(run.tables.card | odd))
    made = report_tree(Run(tmp_path))
    assert "card" in page_sections(made)
    assert len(made.only("div", "alarm", role="alert").all("li")) >= 1


def test_problems_come_first_then_the_verdict_and_warnings_below_it(run: MakeRun) -> None:
    counts = {"rows": 12, "done": 9, "failed": 1, "skipped": 1}
    broken = run(card={**word_rows()["card"], "counts": counts, "warnings": ["loo: 2 explanations are constant"]})
    broken.problems = ("shard 3 is torn",)
    made = report_tree(broken)
    first, second, *_ = (node for node in made.only("main").children if isinstance(node, Node))
    assert (first.attributes.get("role"), first.words) == ("alert", "shard 3 is torn")
    assert second["id"] == "judgement"
    *_, box, verdicts, note = (node for node in second.children if isinstance(node, Node) and node.tag != "p")
    assert (box.classes, verdicts.classes) == ({"conclusion"}, {"judged"})
    assert (note["role"], note.words) == ("note", "loo: 2 explanations are constant")
    assert "shard 3 is torn" in card_block(made, "Unreadable data").words
    assert "≠" in card_block(made, "Counts").words
    assert len(card_block(made, "Counts").all("p", "alarm")) == 1
    assert report_tree(run()).all(role="alert") == []


def test_many_methods_and_long_words(run: MakeRun, tmp_path: Path) -> None:
    methods = tuple(f"method_with_a_long_name_{i}" for i in range(300))
    made = report_tree(run(1, methods, scores=[Score("id-0", m, "comp", 0.1) for m in methods[:5]]))
    assert [node["data-method"] for node in made.all("div") if "data-method" in node.attributes] == list(methods)
    word = "x" * 5000
    instance = Instance("long", (text_of(word),), human=Human(words=((0,),)))
    row = Highlight("long", "loo", "token", Target(), instance.units, (1.0,))
    assert word in render(make_run(tmp_path, instances=[instance], highlights=[row]))


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    word_run(tmp_path, 10)
    script = "import sys; from verax.report.page import render; from verax.results.run import Run\n"
    script += "sys.stdout.write(render(Run(sys.argv[1])))"
    pages = {
        subprocess.run(
            [sys.executable, "-c", script, str(tmp_path)],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert pages == {render(Run(tmp_path)).encode()}


def test_results_studies_and_reports_import_no_torch() -> None:
    modules = ["verax.report.page", "verax.report.terminal", "verax.report.notebook", "verax.results.run"]
    script = (
        f"import sys, {', '.join(modules)}\n"
        "from verax.results.study import studies\n"
        "assert len(studies()) > 3\n"
        "print({'torch', 'transformers'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    assert done.stdout == "set()\n"


def test_the_file_is_replaced_as_a_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "run"
    word_run(folder, 1)
    path = write_report(folder)
    assert path == folder / "report.html"
    first = path.read_bytes()
    assert first.startswith(render(Run(folder)).encode())
    there = sorted(folder.iterdir())

    def torn(self: Path, target: Path) -> None:
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", torn)
        with pytest.raises(OSError, match="disk full"):
            write_report(folder, instances=0)
    assert path.read_bytes() == first
    assert sorted(folder.iterdir()) == there
    assert write_report(folder, tmp_path / "new" / "other.html").exists()
    assert Run(folder).problems == (), "a report in the folder is no harm to the run"


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError):
        write_report(tmp_path / "nothing")


def test_a_report_opens_its_run_once(tmp_path: Path, reading: Reading) -> None:
    word_run(tmp_path)
    reading.clear()
    write_report(tmp_path)
    assert reading.opened == [tmp_path]


def test_a_section_with_nothing_to_show_is_left_out(run: MakeRun, monkeypatch: pytest.MonkeyPatch) -> None:
    extra = ("extra", "Extra", lambda content: page.Html("" if content.ids else "<p>here</p>"))
    monkeypatch.setattr(page, "SECTIONS", (*page.SECTIONS, extra))
    assert "extra" not in page_sections(report_tree(run(), instances=1))
    assert page_sections(report_tree(run(), instances=0))["extra"].only("p").text == "here"


def test_the_file_holds_everything_before_any_script_runs(run: MakeRun) -> None:
    made = report_tree(run(30))
    assert not [node for node in made.all("article") if "hidden" in node.attributes]
    assert "hidden" in made.only("form", id="filter").attributes
