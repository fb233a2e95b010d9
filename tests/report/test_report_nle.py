"""Free-text explanations under test in the report, the terminal and tables: of a run written by hand, in a browser."""

import csv
import io
import json
import re
from dataclasses import replace

import explained_runs as made
import pytest
from rich.console import Console
from verax.report.nle_sheets import sheets
from verax.report.nle_tables import COLUMNS, nle_papers, nle_records
from verax.report.nle_terminal import nle as in_terminal
from verax.report.nle_words import doubts, meaning, mention, summed_up
from verax.report.tables import to_csv, to_json, to_latex, to_markdown
from verax.stats.nle import nle_tables
from verax.stats.nle_rows import NleRun

from verax.report.page import render
from verax.results.render import markup
from verax.results.render.markup import Html, visible
from verax.types import Nle, Score, Skip, Span, Target, TrialLog

RAN = "document.documentElement.setAttribute('ran','1')"
PAYLOADS = (
    f"<script>{RAN}</script>",
    f'"><img src=x onerror={RAN}>',
    f"</q></blockquote></script></style><svg onload={RAN}>",
    f'" autofocus onfocus={RAN} tabindex=1 x="',
    "before\u202eafter",
    "line\u2028end \x1b[31m lone\ud800surrogate",
    "&lt;b&gt; {{7*7}} [red]x[/red]",
)


def tables(**changes):
    run = made.stored(**changes)
    return nle_tables([NleRun("tiny", run.card, run.instances, run.texts, run.scores)])


def shown(html):
    body = re.sub(r"<(style|script)>.*?</\1>", "", html, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", body)).replace("&#x27;", "'").replace("&quot;", '"')


def printed(thing, width=170):
    console = Console(file=io.StringIO(), width=width)
    console.print(thing)
    return console.file.getvalue()


def with_noise(chance):
    """Eight counterfactuals that are mentioned, each with four random edits of which so many are."""
    drawn = tuple(made.noise(mentioned=place < chance) for place in range(4))
    trials = (made.edit(mentioned=True), *drawn)
    return [made.score(number, made.RANDOM, "m", trials=trials) for number in range(8)]


def test_cells_are_in_percent_with_intervals():
    first = sheets(tables())[0]
    assert first.heads[:5] == ("Set-up, editor", "% found", "% inconsistent of found", "% inconsistent", "% mentioned")
    cells = {row[0]: row for row in first.rows}
    assert cells["MT-Ra, random"][1].startswith("42.9 [")
    assert cells["MT-Ra, random + infill"][2].startswith("80.0 [")
    assert cells["MT-Ra, random + infill"][3].startswith("66.7 [")
    assert cells["MT-Ra, random"][-2:] == ("7", "1")
    assert "unparsed_answer (at most 2)" in first.said


def test_meaning_has_a_column_only_where_it_was_measured():
    assert "% by meaning" not in sheets(tables())[0].heads
    trials = (made.edit(mentioned=False, similarity=0.9),)
    first = sheets(tables(scores=[made.score(0, made.RANDOM, "f", trials=trials, threshold=0.8)]))[0]
    assert first.heads[5] == "% by meaning"
    assert first.rows[0][5].startswith("0.0 [")
    assert "similarity 0.800 or more" in first.said


def test_every_table_says_that_it_is_a_consistency_test():
    card = made.card(methods=[{"label": m, "name": m, "kind": "text"} for m in ("mt_ra", "st_re")])
    scores = [*made.scores(), *made.scores(method="st_re")]
    scores[0] = made.score(0, made.RANDOM, "f", trials=(made.edit(mentioned=False), made.noise()))
    several = sheets(tables(card=card, scores=scores))
    assert len(several) == 5
    for sheet in several:
        assert "consistency test" in f"{sheet.title} {sheet.said}"
    found = tables(card=card, scores=scores)
    assert printed(in_terminal(found)).count("consistency test") >= 5
    for record in nle_records(found).records:
        assert "consistency test" in record["table"]


def test_records_hold_every_number_in_full():
    records = json.loads(to_json(nle_records(tables())))
    assert all(tuple(record) == COLUMNS for record in records)
    assert [record["test"] for record in records[:3]] == ["random", "infill", "random + infill"]
    assert records[2]["total"] == 4 / 6
    assert records[2]["total_low"] < 4 / 6 < records[2]["total_high"]
    assert records[-1]["accuracy"] == 7 / 8
    assert (records[-1]["parsed"], records[-1]["cut_off"]) == (1, 2)


def test_names_are_escaped_for_papers_and_spreadsheets():
    name = "=cmd & 50% of_x {y} <b>|"
    card = made.card(methods=[{"label": name, "name": "mt_ra", "kind": "text"}])
    found = tables(card=card, scores=made.scores(method=name), texts=made.texts(method=name))
    rows = list(csv.DictReader(io.StringIO(to_csv(nle_records(found)))))
    assert {row["setup"] for row in rows} == {f"'{name}"}
    latex = "\n".join(to_latex(table) for table in nle_papers(found))
    assert r"=cmd \& 50\% of\_x \{y\} \textless{}b\textgreater{}\textbar{}, random" in latex
    assert latex.count(r"\caption") == 3
    assert r"=cmd &amp; 50% of\_x {y} &lt;b&gt;\|" in "".join(to_markdown(table) for table in nle_papers(found))


def test_rules_in_words():
    assert mention(made.edit(mentioned=False)) == "not mentioned"
    assert mention(made.edit(mentioned=True)) == "mentioned as “blue” (same word)"
    assert mention(made.edit(mentioned=True, rule="lemma", by="blues")) == "mentioned as “blues” (same lemma)"
    inside = made.edit(mentioned=True, rule="substring", by="blue")
    assert mention(inside) == "mentioned as “blue” (letters inside a word)"
    assert mention(replace(made.edit(mentioned=True), mentioned=None)) == "not judged"
    assert meaning(made.edit(mentioned=False), 0.8) is None
    assert "0.850, at least the 0.800" in meaning(made.edit(mentioned=False, similarity=0.85), 0.8)
    assert "0.750, below the 0.800" in meaning(made.edit(mentioned=False, similarity=0.75), 0.8)


def test_explanations_that_copy_the_input_are_warned_of():
    (said,) = doubts(tables(scores=with_noise(3)))
    assert "mention 75.0 % of random words" in said
    assert doubts(tables(scores=with_noise(1))) == []
    html = render(made.stored(scores=with_noise(3)))
    assert 'class="alarm"' in html
    assert "copies the input?" in shown(html)


def test_what_was_found_in_words():
    (said,) = summed_up(tables())
    assert said.replace("\N{NO-BREAK SPACE}", " ") == (
        "MT-Ra: 4 of 6 explanations (66.7 %) are inconsistent under the counterfactual test (random + infill); "
        "2 of 7 explanations (28.6 %) are inconsistent under the reconstruction test."
    )


@pytest.mark.parametrize("letters", ["oooooooo", "xxxxxxxx", "f"])
def test_odd_runs_are_shown(letters):
    n = len(letters)
    changes = {"scores": made.scores({made.RANDOM: letters}), "instances": made.instances(n), "texts": made.texts(n)}
    assert "Free-text explanations" in render(made.stored(**changes))
    assert "consistency test" in printed(in_terminal(tables(**changes)))
    assert to_latex(nle_papers(tables(**changes))[0])


def test_a_card_tells_what_decided():
    said = shown(render(made.stored()))
    assert "MT-Ra predicts no✗ wrong" in said
    assert "MT-Ra predicts yesread from the answer" in said
    assert "Counterfactual, random ✗ inconsistent" in said
    assert "16 edits tried; 1 of them change the prediction." in said
    assert "Edited inputA blue dog runs.An animal moves." in said
    assert "Predictionyes → no" in said
    assert "BeforeA dog is an animal that moves.AfterA dog is no animal." in said
    assert "“blue” is not mentioned" in said
    assert "“blue” is mentioned as “blue” (same word)" in said
    assert "Reconstruction ✗ inconsistent" in said
    assert "Rebuilt inputA dog.An animal that moves." in said
    assert "inconsistent: the reasons alone give another class than before" in said
    assert "templateX is Yspeaks foryes" in said
    assert "Counterfactual, random – not tested unparsed_answer" in re.sub("tested(?=u)", "tested ", said)


@pytest.mark.parametrize(
    ("changes", "marked"),
    [
        ({}, ["blue"]),
        ({"words": "very blue", "parts": ("A very blue dog.", "x"), "inserted": Span(0, 1, 3)}, ["very blue"]),
        ({"parts": ("x", "An idle animal."), "words": "idle", "inserted": Span(1, 1, 2)}, ["idle"]),
        ({"inserted": None}, []),
        ({"inserted": Span(0, 9, 10)}, []),
        ({"inserted": Span(7, 1, 2)}, []),
        ({"inserted": Span(0, 2, 3)}, []),
    ],
)
def test_words_that_were_put_in_are_marked_where_they_stand(changes, marked):
    trial = made.edit(mentioned=False, **changes)
    run = made.stored(scores=[made.score(0, made.RANDOM, "f", trials=(trial,))], instances=made.instances(1))
    html = render(run).split('id="nle-list"')[1]
    assert re.findall(r"<ins>(.*?)</ins>", html) == marked


def test_other_trials_are_folded_and_counted():
    trials = [made.edit(mentioned=False), *(made.edit(mentioned=True) for _ in range(7))]
    trials += [made.noise(flipped=True, mentioned=True), made.noise()]
    score = made.score(0, made.RANDOM, "f", trials=tuple(trials), unanswered={"timeout": 2})
    html = render(made.stored(scores=[score], instances=made.instances(1)))
    assert "<summary>7 more counterfactuals</summary>" in html
    assert "<summary>2 random edits: 1 flip, 1 mentioned by chance</summary>" in html
    assert "and 2 more, which the run keeps" in html
    assert "The model gave no answer to 2 edits (timeout)." in html
    assert "Edits without an answer" in html
    assert "Without an answer, random edits too, and so not searched: timeout (at most 2)." in html


def test_a_skipped_explanation_says_why():
    run = made.stored(texts=made.texts()[1:], skips=[Skip("i0", "mt_ra", "empty_answer", "nothing was written")])
    assert "skipped: empty_answer nothing was written" in shown(render(run))


def test_nothing_is_ranked_and_no_heatmap_is_shown_without_scores_of_words():
    html = render(made.stored())
    assert re.findall(r'<section id="(\w+)"', html) == ["nle", "card"]
    assert "8 instances · 1 set-up · 4 metrics" in html
    empty = render(made.stored(texts=[], scores=[], skips=[Skip("i0", "mt_ra", "empty")]))
    assert re.findall(r'<section id="(\w+)"', empty) == ["nle", "card"]


def test_beside_scores_of_words_free_text_is_not_ranked(run):
    words = run(8)
    both = made.card()
    both["methods"] += words.card["methods"]
    both["metrics"] += words.card["metrics"]
    html = render(
        made.stored(
            card=both,
            instances=[*words.instances, *made.instances()],
            highlights=words.highlights,
            scores=[*words.scores, *made.scores()],
        )
    )
    assert re.findall(r'<section id="(\w+)"', html) == ["leaderboard", "nle", "instances", "card"]
    board = shown(html.split('id="leaderboard"')[1].split('<section id="nle"')[0])
    assert "comp" in board
    assert "mt_ra" not in board
    assert made.RANDOM not in board
    assert 'data-method="mt_ra"' not in html


def test_only_so_many_instances_are_embedded_and_that_is_said():
    html = render(made.stored(), instances=3)
    assert html.count('class="instance explained"') == 3
    assert "The first 3 of 8 instances" in shown(html)
    assert "This report holds no instances." in render(made.stored(), instances=0)


def open_page(browser, tmp_path, run, **how):
    path = tmp_path / "report.html"
    path.write_text(render(run), encoding="utf-8")
    browser.open(path, **how)
    return path


def choose(browser, field, value):
    browser.ask(f"document.getElementById('nle-{field}').value = {json.dumps(value)}")
    browser.ask(f"document.getElementById('nle-{field}').dispatchEvent(new Event('input', {{bubbles: true}}))")


def seen(browser):
    """Ids of the cards that can be seen, with the verdicts that can be seen in each."""
    return browser.ask(
        "[...document.querySelectorAll('.explained')].filter(e => e.offsetHeight).map(e => [e.querySelector('h4')"
        ".textContent, [...e.querySelectorAll('.test')].filter(t => t.offsetHeight).map(t => t.dataset.verdict)])"
    )


def many(n=24):
    """Two set-ups on so many instances: of the second all are consistent."""
    letters = {made.RANDOM: "fmo" * (n // 3), made.REBUILT: "o" * n}
    card = made.card(methods=[{"label": m, "name": m, "kind": "text"} for m in ("mt_ra", "st_re")])
    scores = [*made.scores(letters), *made.scores({made.RANDOM: "m" * n}, "st_re")]
    texts = [*made.texts(n), *made.texts(n, "st_re")]
    return made.stored(card=card, scores=scores, texts=texts, instances=made.instances(n))


def test_filters_and_pages_in_a_browser(browser, tmp_path):
    open_page(browser, tmp_path, many())
    assert [name for name, _ in seen(browser)] == [f"i{number}" for number in range(10)]
    browser.ask("[...document.querySelectorAll('#nle-pages button')].at(-1).click()")
    assert [name for name, _ in seen(browser)] == [f"i{number}" for number in range(10, 20)]
    choose(browser, "verdict", "inconsistent")
    assert seen(browser) == [[f"i{number}", ["inconsistent"]] for number in range(0, 24, 3)]
    assert browser.ask("document.getElementById('nle-count').textContent") == "8 of 24 instances"
    choose(browser, "setup", "=st_re")
    assert seen(browser) == []
    choose(browser, "verdict", "consistent")
    assert len(seen(browser)) == 10
    choose(browser, "setup", "")
    choose(browser, "verdict", "")
    choose(browser, "test", f"={made.REBUILT}")
    assert seen(browser)[0] == ["i0", ["no_reconstruction"]]
    choose(browser, "text", "I23")
    assert seen(browser) == [["i23", ["no_reconstruction"]]]


def test_without_script_everything_is_there(browser, tmp_path):
    open_page(browser, tmp_path, many(), script=False)
    assert len(seen(browser)) == 24
    assert browser.ask("document.getElementById('nle-filter').offsetHeight") == 0


@pytest.mark.parametrize("dark", [False, True])
def test_a_phone_shows_it_without_sideways_scrolling(browser, tmp_path, dark):
    long = "w" * 300
    texts = made.texts(text=long, notes={long: long})
    trial = made.edit(mentioned=True, explanation=long, by=long, words=long, parts=(long, long), notes={long: long})
    scores = [made.score(0, made.RANDOM, "m", trials=(trial, trial, made.noise(explanation=long)))]
    card = made.card()
    card["metrics"][1]["label"] = long
    open_page(browser, tmp_path, made.stored(texts=texts, scores=scores, card=card), width=380, dark=dark)
    assert browser.ask("document.documentElement.scrollWidth") <= 380
    browser.ask("document.querySelectorAll('.test details').forEach(e => { e.open = true; })")
    assert browser.ask("document.documentElement.scrollWidth") <= 380


def hostile():
    """Every payload in every place where data or a model can put a string."""
    texts, scores, instances, skips = [], [], [], []
    for payload in PAYLOADS:
        (instance,) = made.instances(1)
        instances.append(replace(instance, id=f"id {payload}", label=f"gold {payload}"))
        label, method = f"class {payload}", f"set-up {payload}"
        facts = (Target(), f"said {payload}", label, (label,), (), "parsed")
        texts.append(Nle(f"id {payload}", method, *facts, notes={f"note {payload}": f"noted {payload}"}))
        said = {name: f"{name} {payload}" for name in ("words", "wanted", "explanation", "rule", "by", "predicted")}
        changes = {"parts": (f"part {payload}",), "notes": {f"key {payload}": f"value {payload}"}, "inserted": None}
        trial = made.edit(mentioned=True, **said, **changes)
        noise = made.noise(explanation=f"noise {payload}", parts=(f"random {payload}",))
        card = TrialLog(4, (trial, trial, noise), decisive=0)
        scores.append(Score(f"id {payload}", method, made.RANDOM, 1.0, card=card))
        scores.append(Score(f"id {payload}", method, made.REBUILT, None, f"why {payload}", f"detail {payload}"))
        skips.append(Skip(f"id {payload}", f"skipping {payload}", f"reason {payload}", f"told {payload}"))
    methods = [{"label": f"{a} {p}", "name": "mt_ra", "kind": "text"} for a in ("set-up", "skipping") for p in PAYLOADS]
    return made.stored(card=made.card(methods=methods), texts=texts, scores=scores, instances=instances, skips=skips)


PLACES = ("id", "gold", "class", "set-up", "said", "note", "noted", "words", "wanted", "explanation", "rule", "by")
PLACES += ("predicted", "part", "key", "value", "noise", "random", "why", "detail", "reason", "told")


def test_hostile_strings_are_shown_and_nothing_runs(browser, tmp_path):
    path = open_page(browser, tmp_path, hostile())
    assert browser.ask("document.documentElement.getAttribute('ran')") is None
    assert browser.requests == [path.as_uri()]
    assert browser.ask("document.scripts.length") == 1
    attributes = browser.ask("[...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames())")
    assert not [name for name in attributes if name.startswith("on") or name == "src"]
    said = browser.ask("document.body.textContent")
    for place in PLACES:
        for payload in PAYLOADS:
            assert visible(f"{place} {payload}") in said, place


def test_control_the_strings_do_run_where_nothing_escapes_them(browser, tmp_path, monkeypatch):
    monkeypatch.setattr(markup, "text", lambda raw: Html(raw.encode("utf-8", "replace").decode()))
    path = tmp_path / "control.html"
    page = render(hostile())
    path.write_text(re.sub(r"<meta http-equiv[^>]*>", "", page, count=1), encoding="utf-8")
    browser.open(path)
    assert browser.ask("document.documentElement.getAttribute('ran')") == "1"
    path.write_text(page, encoding="utf-8")
    browser.open(path)
    assert browser.ask("document.documentElement.getAttribute('ran')") is None, "the policy holds on its own"


def test_hostile_strings_mean_nothing_to_a_terminal():
    run = hostile()
    found = nle_tables([NleRun("\x1b[31m", run.card, run.instances, run.texts, run.scores)])
    said = printed(in_terminal(found), width=400)
    assert "\x1b" not in said
    assert "[red]x[/red]" in said
