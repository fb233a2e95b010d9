"""Tables of the consistency tests of free-text explanations: cells, columns, what they warn of."""

import csv
import io
import re
from itertools import count

import pytest

from support import free_text as made
from support.tables import heads_of, lines_of, printed
from verax.results.render.plain import to_csv, to_latex, to_markdown
from verax.results.render.terminal import show_findings
from verax.studies.free_text import STUDY
from verax.studies.free_text.tables import CONSISTENCY

TWO = [{"label": m, "name": m, "kind": "text"} for m in ("mt_ra", "st_re")]


@pytest.fixture
def found(tmp_path):
    """What people read of runs; `changes` replace parts of the only one."""
    numbers = count()

    def make(*runs, **changes):
        chosen = runs or [made.text_run(tmp_path / f"{next(numbers)}", **changes)]
        return STUDY.apply(chosen)

    return make


@pytest.fixture
def tables(found):
    """Tables by name."""
    return lambda **changes: {table.name: table for table in found(**changes).tables}


def with_noise(chance):
    """Eight counterfactuals that are mentioned, each with four random edits of which so many are."""
    drawn = tuple(made.noise(mentioned=place < chance) for place in range(4))
    trials = (made.edit(mentioned=True), *drawn)
    return [made.score(number, made.RANDOM, "m", trials=trials) for number in range(8)]


def test_cells_are_in_percent_with_intervals(tables):
    table = tables()["counterfactual"]
    assert heads_of(table)[1:5] == ["% found", "% inconsistent of found", "% inconsistent", "% mentioned"]
    cells = {row[0]: row[1:] for row in lines_of(table)}
    assert list(cells) == ["MT-Ra, random", "MT-Ra, infill", "MT-Ra, random + infill"]
    assert cells["MT-Ra, random"][0].startswith("42.9 [")
    assert cells["MT-Ra, random + infill"][1].startswith("80.0 [")
    assert cells["MT-Ra, random + infill"][2].startswith("66.7 [")
    assert cells["MT-Ra, random"][-2:] == ["7", "1"]
    assert "unparsed_answer (at most 2)" in table.caption
    assert table.rows[0].cells[7].details == ("unparsed_answer: 1",)


def test_meaning_has_a_column_only_where_it_was_measured(tables):
    assert "% by meaning" not in heads_of(tables()["counterfactual"])
    trials = (made.edit(mentioned=False, similarity=0.9),)
    table = tables(scores=[made.score(0, made.RANDOM, "f", trials=trials, threshold=0.8)])["counterfactual"]
    assert heads_of(table)[5] == "% by meaning"
    assert lines_of(table)[0][5].startswith("0.0 [")
    assert "0.800" in table.caption


def test_edits_without_an_answer_have_a_column_only_where_there_are_any(tables):
    title = "Edits without an answer"
    assert title not in heads_of(tables()["counterfactual"])
    scores = [made.score(0, made.RANDOM, "f", unanswered={"timeout": 2})]
    table = tables(scores=scores)["counterfactual"]
    assert lines_of(table)[0][heads_of(table).index(title)] == "2"
    assert "timeout (at most 2)" in table.caption


def test_only_what_was_measured_has_a_table(tables):
    assert list(tables()) == ["counterfactual", "reconstruction", "performance"]
    assert list(tables(scores=with_noise(1))) == ["counterfactual", "noise_floor", "reconstruction", "performance"]
    scores = [*made.scores(), *made.scores(method="st_re")]
    assert "comparison" in tables(card=made.card(methods=TWO), scores=scores)
    bare = made.card(metrics=[])
    assert list(tables(card=bare, scores=[])) == ["performance"]


def test_it_is_said_once_that_these_are_consistency_tests(found):
    assert found().sentences.count(CONSISTENCY) == 1
    assert printed(show_findings(found()), 4000).count(CONSISTENCY) == 1


def test_records_hold_every_number_in_full(tables):
    made_tables = tables()
    for table in made_tables.values():
        assert len({tuple(record) for record in table.records()}) == 1
    union = made_tables["counterfactual"].records()[2]
    assert (union["model"], union["method"], union["test"]) == ("tiny", "mt_ra", "random + infill")
    assert union["total"] == 4 / 6
    assert union["total_low"] < 4 / 6 < union["total_high"]
    assert (union["n"], union["not_tested"], union["counterfactuals"]) == (6, 2, 8)
    (performance,) = made_tables["performance"].records()
    assert performance["accuracy"] == 7 / 8
    assert (performance["parsed"], performance["cut_off"], performance["bleu"]) == (1, 2, None)


def test_noise_floor_and_comparison_by_hand(tables):
    noise = tables(scores=with_noise(1))["noise_floor"]
    (record,) = noise.records()
    assert (record["edits"], record["flips"], record["chance"], record["mentioned"]) == (32, 0.0, 0.25, 1.0)
    assert (record["difference"], record["pairs"], record["reading"]) == (0.75, 8, "above random")
    scores = made.scores({made.RANDOM: "ffffffff"}) + made.scores({made.RANDOM: "mmmmmmmm"}, "st_re")
    comparison = tables(card=made.card(methods=TWO), scores=scores)["comparison"]
    (row,) = [record for record in comparison.records() if record["test"] == "random"]
    assert (row["first_method"], row["second_method"], row["n"]) == ("mt_ra", "st_re", 8)
    assert (row["total_first"], row["total_second"], row["difference"]) == (1.0, 0.0, -1.0)
    assert row["p"] == row["p_holm"] == 2 / 2**8


def test_names_are_escaped_for_papers_and_spreadsheets(found):
    name = "=cmd & 50% of_x {y} <b>|"
    card = made.card(methods=[{"label": name, "name": "mt_ra", "kind": "text"}])
    made_tables = found(card=card, scores=made.scores(method=name), texts=made.texts(method=name)).tables
    rows = list(csv.DictReader(io.StringIO(to_csv(made_tables[:1]))))
    assert {row["method"] for row in rows} == {f"'{name}"}
    latex = to_latex(made_tables)
    assert r"=cmd \& 50\% of\_x \{y\} \textless{}b\textgreater{}\textbar{}, random" in latex
    assert latex.count(r"\caption") == 3
    assert r"=cmd &amp; 50% of\_x {y} &lt;b&gt;\|" in to_markdown(made_tables)


def test_explanations_that_copy_the_input_are_warned_of(found):
    plain = found().sentences
    (warning,) = [line for line in found(scores=with_noise(3)).sentences if "copy" in line]
    assert "MT-Ra, random: " in warning
    assert "75.0 %" in warning
    assert not [line for line in found(scores=with_noise(1)).sentences if line not in plain and "random words" in line]
    drawn = (made.edit(mentioned=False), made.noise(mentioned=True), *(made.noise(mentioned=False) for _ in range(3)))
    like = [made.score(number, made.RANDOM, "f", trials=drawn) for number in range(7)]
    like.append(made.score(7, made.RANDOM, "m", trials=(made.edit(mentioned=True), *drawn[1:])))
    assert len(found(scores=like).sentences) == 3


def test_what_was_found_in_words(found):
    (first, *_) = found().sentences
    said = first.replace("\N{NO-BREAK SPACE}", " ")
    assert said.startswith("MT-Ra: 4 of 6 explanations (66.7 %) ")
    assert "random + infill" in said
    assert "2 of 7 explanations (28.6 %)" in said


@pytest.mark.parametrize("letters", ["oooooooo", "xxxxxxxx", "f"])
def test_odd_runs_are_shown(found, letters):
    n = len(letters)
    changes = {"scores": made.scores({made.RANDOM: letters}), "instances": made.instances(n), "texts": made.texts(n)}
    shown = found(**changes)
    assert "Counterfactual" in printed(show_findings(shown))
    assert to_latex(shown.tables)
    assert shown.sentences[0].startswith("MT-Ra: ")


def test_several_runs_are_named_in_their_rows(found, tmp_path):
    runs = [made.text_run(tmp_path / name, card=made.card(model={"name": name})) for name in ("small", "large")]
    shown = found(*runs)
    tables = {table.name: table for table in shown.tables}
    assert [line[0] for line in lines_of(tables["reconstruction"])] == ["small: MT-Ra", "large: MT-Ra"]
    assert lines_of(tables["comparison"])[0][0] == "random: small: MT-Ra, large: MT-Ra"
    assert [line.partition(":")[0] for line in shown.sentences[:2]] == ["small", "large"]


@pytest.mark.parametrize("width", [40, 80, 170])
def test_the_terminal_fits_and_cuts_no_number(found, width):
    said = printed(show_findings(found(scores=[*made.scores(), *with_noise(3)[7:]])), width)
    assert "…" not in said
    assert all(len(line) <= width for line in said.splitlines())
    assert "66.7" in said
    assert "MT-Ra,random+infill" in re.sub(r"\s+", "", said)


def test_classes_found_by_the_first_token_have_a_column(tables):
    assert "by first token" not in heads_of(tables()["performance"])
    table = tables(texts=made.texts(label_source="first_token"))["performance"]
    assert lines_of(table)[0][heads_of(table).index("by first token")] == "8"
