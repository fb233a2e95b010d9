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
    assert heads_of(table)[1:] == [
        "% found",
        "% inconsistent of found",
        "% inconsistent of all",
        "% of all, content words",
        "% mentioned",
        "n",
        "Not tested",
    ]
    cells = {row[0]: row[1:] for row in lines_of(table)}
    assert list(cells) == ["MT-Ra, random", "MT-Ra, infill", "MT-Ra, random + infill"]
    assert cells["MT-Ra, random"][0].startswith("42.9 [")
    assert cells["MT-Ra, random + infill"][1] == "80.0", "of five found: no interval"
    assert cells["MT-Ra, random + infill"][2].startswith("66.7 [")
    assert cells["MT-Ra, random"][-2:] == ["7", "1"]
    assert "unparsed_answer (at most 2)" in table.caption
    at = [column.name for column in table.columns].index("not_tested")
    assert table.rows[0].cells[at].details == ("unparsed_answer: 1",)


def test_meaning_has_a_column_only_where_it_was_measured(tables):
    assert "% by meaning" not in heads_of(tables()["counterfactual"])
    trials = (made.edit(mentioned=False, similarity=0.9),)
    table = tables(scores=[made.score(0, made.RANDOM, "f", trials=trials, threshold=0.8)])["counterfactual"]
    assert heads_of(table)[5] == "% by meaning"
    assert heads_of(table)[4] == "% of all, content words"
    assert lines_of(table)[0][5] == "0.0"
    assert "0.800" in table.caption


def test_both_rules_of_mention_are_in_the_table(tables):
    """Of eight inputs all have an edit; any word is mentioned in six, a content word in two."""
    scores = [
        made.score(i, made.RANDOM, "m" if i < 6 else "f", trials=(made.edit(mentioned=i < 6, mentions=rules(i)),))
        for i in range(8)
    ]
    table = tables(scores=scores)["counterfactual"]
    (random, *_) = table.records()
    assert (random["total"], random["total_any"], random["total_content"], random["match"]) == (0.25, 0.25, 0.75, "any")
    assert "% of all, content words" in heads_of(table)
    assert "% of all, any word" not in heads_of(table), "it is the rule of the test"
    old = [made.score(0, made.RANDOM, "f", trials=(made.edit(mentioned=False, mentions={}),))]
    (random, *_) = tables(scores=old)["counterfactual"].records()
    assert random["total_content"] is None, "it was not recorded"


def test_both_rules_of_mention_are_in_the_noise_floor(tables):
    """Of 32 random edits 24 are mentioned by any word, 8 by a content word; of 8 counterfactuals 6 and 2."""
    scores = [
        made.score(
            i,
            made.RANDOM,
            "m" if i < 6 else "f",
            trials=(
                made.edit(mentioned=i < 6, mentions=rules(i)),
                *[made.noise(mentioned=i < 6, mentions=rules(i))] * 4,
            ),
        )
        for i in range(8)
    ]
    table = tables(scores=scores)["noise_floor"]
    (row,) = table.records()
    assert (row["chance"], row["chance_any"], row["chance_content"]) == (0.75, 0.75, 0.25)
    assert (row["mentioned"], row["mentioned_any"], row["mentioned_content"]) == (0.75, 0.75, 0.25)
    assert "% mentioned, content words" in heads_of(table)
    assert "% mentioned, any word" not in heads_of(table), "it is the rule of the test"
    old = [made.score(0, made.RANDOM, "m", trials=(made.edit(mentioned=True, mentions={}), made.noise(mentions={})))]
    (row,) = tables(scores=old)["noise_floor"].records()
    assert row["chance_content"] is None, "it was not recorded"


def rules(number):
    return {"any": number < 6, "content": number < 2}


def test_edits_that_could_not_be_tested_are_counted_apart(tables):
    cut = made.edit(mentioned=None, mentions={}, untested="cut_off")
    kept = made.edit(mentioned=False)
    scores = [made.score(0, made.RANDOM, "f", trials=(kept, cut)), made.score(1, made.RANDOM, "x")]
    table = tables(scores=scores)["edits"]
    (random, *_) = table.records()
    assert (random["untested_edits"], random["unanswered"]) == (1, 0)
    assert lines_of(table)[0][heads_of(table).index("Not tested")] == "1"
    assert "cut_off (at most 1)" in table.caption


def test_self_flips_are_next_to_flips(tables, found):
    """Sixteen edits of each of eight inputs, one flips; of four repeats one flips. A deterministic model has none."""
    asked = [made.score(i, made.RANDOM, "m", repeats=4, self_flips=1) for i in range(8)]
    (random, *_) = tables(scores=asked)["edits"].records()
    assert (random["flips"], random["self_flips"], random["repeats"], random["tried"]) == (1 / 16, 0.25, 32, 16.0)
    assert any("25.0 % of the answers to unedited inputs change" in line for line in found(scores=asked).sentences)
    certain = [made.score(i, made.RANDOM, "m", self_flips=0) for i in range(8)]
    (random, *_) = tables(scores=certain)["edits"].records()
    assert (random["self_flips"], random["repeats"]) == (0.0, 0)
    assert "% self-flips" not in heads_of(tables()["edits"]), "it was not measured"


def test_edits_without_an_answer_are_counted_with_their_reasons(tables):
    scores = [made.score(0, made.RANDOM, "f", unanswered={"timeout": 2})]
    table = tables(scores=scores)["edits"]
    assert lines_of(table)[0][heads_of(table).index("Without an answer")] == "2"
    assert "timeout (at most 2)" in table.caption


def test_only_what_was_measured_has_a_table(tables):
    assert list(tables()) == ["counterfactual", "edits", "reconstruction", "performance"]
    assert list(tables(scores=with_noise(1))) == [
        "counterfactual",
        "edits",
        "noise_floor",
        "reconstruction",
        "performance",
    ]
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
    assert row["p"] == pytest.approx(2 / 2**8)


def test_names_are_escaped_for_papers_and_spreadsheets(found):
    name = "=cmd & 50% of_x {y} <b>|"
    card = made.card(methods=[{"label": name, "name": "mt_ra", "kind": "text"}])
    made_tables = found(card=card, scores=made.scores(method=name), texts=made.texts(method=name)).tables
    rows = list(csv.DictReader(io.StringIO(to_csv(made_tables[:1]))))
    assert {row["method"] for row in rows} == {f"'{name}"}
    latex = to_latex(made_tables)
    assert r"=cmd \& 50\% of\_x \{y\} \textless{}b\textgreater{}\textbar{}, random" in latex
    assert latex.count(r"\caption") == 4
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
