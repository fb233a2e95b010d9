"""Instances and the run card on the page, and how much of a run is read for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from support.markup import card_block, card_facts, page_sections, report_tree
from support.masking import masked_word_run
from support.reading import Reading
from support.runs import make_run, method_entry, metric_entry, run_card, word_rows
from verax.results.run import Run
from verax.types import Highlight, Score, Skip, Target

MakeRun = Callable[..., Run]


def test_an_instance_shows_labels_people_and_every_method(run: MakeRun) -> None:
    made = report_tree(run(2, ("random", "loo", "other")))
    first, second = made.all("article", "instance")
    assert first.only("h3").text == "id-0"
    labels = first.only("p", "labels")
    assert [node.text for node in labels.all("strong")] == ["yes", "no"]
    assert labels.only("span", "flag wrong").text == "✗ wrong"
    assert labels.only("span", "classes").words == "yes 0.700 no 0.300"
    assert second.all("span", "wrong") == []
    assert "a dog is an animal" in first.only("div", "human").words
    assert [
        node["data-method"] for node in first.only("dl", "methods").all("div") if "data-method" in node.attributes
    ] == [
        "random",
        "loo",
        "other",
    ]
    assert [flag.text for flag in first.only("dl", "methods").all("span", "flag")] == ["baseline"]
    assert (first["data-gold"], first["data-predicted"], "data-wrong" in first.attributes) == ("yes", "no", True)


def test_an_instance_has_its_scores_reasons_and_notes(tmp_path: Path) -> None:
    rows = word_rows(1)
    highlight = rows["highlights"][1]
    rows["highlights"][1] = Highlight(
        "id-0", "loo", "token", Target("loss"), highlight.units, highlight.scores, notes={"error": 0.25, "cut": 3}
    )
    rows["scores"][0] = Score("id-0", "random", "comp", None, "empty", "no word")
    article = report_tree(make_run(tmp_path, **rows)).only("article", "instance")
    assert article.only("table").rows() == [
        ["Method", "comp", "Notes"],
        ["random", "empty", ""],
        ["loo", "0.200", "error 0.250, cut 3"],
    ]
    assert article.only("table").only("td", title="no word").words == "empty"
    assert "loss" in article.only("div", data_method="loo").only("small").words


def test_a_masked_instance_has_small_curves(tmp_path: Path) -> None:
    sections = page_sections(report_tree(masked_word_run(tmp_path)))
    sparks = sections["instances"].all("svg", "spark")
    assert len(sparks) == 12, "one for each explanation of each instance"
    assert sparks[1].only("path", "measure")["d"] == "M2.0 5.4L31.0 22.2L60.0 22.2L89.0 22.2L118.0 22.2"
    assert [len(spark.all("path", "random")) for spark in sparks[:2]] == [0, 1]
    assert sparks[1]["aria-label"].endswith("0.900, 0.200, 0.200, 0.200, 0.200")
    # random is right for 1, 2 and 3 of 4 steps, a third of the instances each; loo for one
    # after the first point random: 2/3, 1/3, 0, 0; loo: 0. Area (2/3 + 1/3) / 4; of random's own area 1.5 / 4
    areas = sections["masking"].only("table").rows()
    assert areas[1][0] == "loo"
    assert areas[1][1].startswith("○ 25.0 [")
    assert areas[1][2].startswith("66.7 [")


def test_only_so_many_instances_are_shown_and_read(run: MakeRun, reading: Reading) -> None:
    many = run(30)
    reading.clear()
    made = report_tree(many, instances=5)
    assert [node.only("h3").text for node in made.all("article")] == [f"id-{i}" for i in range(5)]
    assert "first 5 of 30 instances" in page_sections(made)["instances"].words
    assert reading.decoded == {"instances": 5, "predictions": 5, "explanations": 10, "scores": 10}
    assert reading.opened == []
    reading.clear()
    assert report_tree(many, instances=0).all("article") == []
    assert sum(reading.decoded.values()) == 0


def test_skips_of_a_large_run_are_counted_and_not_read(run: MakeRun, reading: Reading) -> None:
    skips = [Skip(f"id-{i}", "other", "empty", failed=i % 2 == 0) for i in range(40)]
    many = run(40, skips=skips)
    reading.clear()
    missing = card_block(report_tree(many, instances=1), "Skipped and failed")
    assert [row[:3] for row in missing.only("table").rows()[1:]] == [
        ["empty", "failed", "20"],
        ["empty", "skipped", "20"],
    ]
    assert reading.decoded["explanations"] == 2 + 1 + 2 * 5, (
        "two explanations and a skip of the one shown, ten examples"
    )


def test_the_run_card(run: MakeRun) -> None:
    card = run_card(
        [method_entry("loo", parameters={"steps": 5}, target="loss", reference="Someone")], [metric_entry("m")]
    )
    card |= {
        "command": "verax run spec.yaml --out runs/x",
        "seed": 7,
        "spec": {"model": "tiny", "methods": [{"loo": {"steps": 5}}]},
        "model": {"name": "tiny", "hash": "0123456789abcdef" * 4, "layers": 3},
        "data": {"name": "pairs", "provenance": {"file": "x.jsonl"}},
        "counts": {"rows": 12, "done": 9, "failed": 1, "skipped": 2},
        "cost": {"forward_asked": 1000, "forward": 600, "backward_asked": 10, "backward": 10, "seconds": 1.25},
        "versions": {"torch": "2.13.0"},
        "warnings": ["a label that the model does not have"],
    }
    made = report_tree(run(card=card))
    assert card_block(made, "Reproduce").only("code").text == "verax run spec.yaml --out runs/x"
    assert card_block(made, "Counts").all("p")[0].words == "12 rows = 9 done + 1 failed + 2 skipped"
    cost = card_block(made, "Cost")
    assert cost.only("table").rows()[1:] == [
        ["forward passes", "1,000", "600", "400"],
        ["backward passes", "10", "10", "0"],
    ]
    assert "1.2 s" in cost.words
    model = card_facts(card_block(made, "Model"))
    assert (model["name"], model["layers"], model["architecture"]) == ("tiny", "3", "not recorded")
    assert card_block(made, "Model").only("code").text == "0123456789abcdef" * 4
    assert "x.jsonl" in card_facts(card_block(made, "Data"))["provenance"]
    assert card_block(made, "Spec").only("code").text == "model: tiny\nmethods:\n- loo:\n    steps: 5\n"
    environment = card_facts(card_block(made, "Environment"))
    assert (environment["seed"], environment["torch"]) == ("7", "2.13.0")
    assert card_block(made, "Warnings").only("li").text == "a label that the model does not have"
    assert card_block(made, "Methods").only("table").rows()[1] == [
        "loo",
        "loo",
        "steps = 5",
        "loss",
        "not recorded",
        "Someone",
    ]
    assert card_block(made, "Unreadable data").all("li") == []


def test_what_is_not_recorded_is_said(tmp_path: Path) -> None:
    made = report_tree(make_run(tmp_path))
    for title in ("Counts", "Methods", "Metrics", "Spec"):
        assert "not recorded" in card_block(made, title).words
    assert card_facts(card_block(made, "Environment"))["seed"] == "not recorded"


def test_missing_values_are_counted(run: MakeRun) -> None:
    scores = [Score(f"id-{i}", "loo", "comp", None, "no_gold" if i else "empty") for i in range(4)]
    made = report_tree(run(4, scores=scores))
    assert "4 metric values" in card_block(made, "Skipped and failed").words
    ranking = page_sections(made)["leaderboard"].all("table")[1]
    skipped = ranking.only("summary")
    assert (skipped.words, skipped["title"]) == ("1", "no_gold: 3, empty: 1")
    assert [cell.words for cell in ranking.all("td") if cell.attributes.get("data-head") == "Not applicable"] == ["3"]
