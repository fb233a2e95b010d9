"""Free-text explanations instance by instance, of a run written by hand: structure, filters, hostile strings."""

import json
import re
from dataclasses import replace
from itertools import count

import pytest

from support import free_text as made
from support.markup import page_sections, report_tree
from support.tables import printed
from verax.report.page import render
from verax.report.texts import _meaning as meaning
from verax.report.texts import _mention as mention
from verax.results.render import markup
from verax.results.render.markup import Html, visible
from verax.results.render.terminal import show_findings
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


@pytest.fixture
def run(tmp_path):
    """A run with free text; `changes` replace some of its parts."""
    numbers = count()
    return lambda **changes: made.text_run(tmp_path / f"run-{next(numbers)}", **changes)


@pytest.fixture
def cards(run):
    """The cards of a run's instances."""
    return lambda **changes: report_tree(run(**changes)).all("article", "explained")


def facts(test):
    """What a test says of the trial that decided."""
    return {pair.only("dt").words: pair.only("dd").words for pair in test.only("dl", "trial").all("div")}


def outcome(card, test):
    return card.only("div", "test", data_test=test)


def test_a_card_has_the_input_and_each_explanation(cards):
    first, second, *_ = cards()
    assert first.only("h3").text == "i0"
    assert [part.text for part in first.only("div", "input").all("p")] == ["A dog runs.", "An animal moves."]
    assert first.only("header").only("strong").text == "yes"
    assert "A dog is an animal." in first.only("div", "human").words
    assert first.only("blockquote").text == "A dog is an animal that moves."
    head = first.only("h4")
    assert [flag.text for flag in head.all("span", "flag wrong")] == ["✗ wrong"]
    assert head.only("strong").text == "no"
    assert [flag.text for flag in second.only("h4").all("span", "flag")] == ["parsed from the answer"]
    assert cards()[2].all("p", "note", dir="auto")[0].words.startswith("cut_off")


def test_a_card_shows_what_decided(cards):
    first, second, *rest = cards()
    test = outcome(first, made.RANDOM)
    assert test["data-verdict"] == "inconsistent"
    assert test.only("span", "verdict").text == "✗ inconsistent"
    assert "16 edits" in test.only("p", "note").words
    found = facts(test)
    assert found["Edited input"] == "A blue dog runs. An animal moves."
    assert found["Prediction"] == "no → no", "before and after"
    assert (found["Before"], found["After"]) == ("A dog is an animal that moves.", "A dog is no animal.")
    assert found["Rule"].endswith("not mentioned")
    assert "same word" in facts(outcome(second, made.RANDOM))["Rule"]
    rebuilt = outcome(first, made.REBUILT)
    assert rebuilt["data-verdict"] == "inconsistent"
    found = facts(rebuilt)
    assert found["Rebuilt input"] == "A dog. An animal that moves."
    assert found["Rule"].startswith("inconsistent")
    assert (found["template"], found["speaks for"]) == ("X is Y", "yes")
    assert [outcome(card, made.RANDOM)["data-verdict"] for card in (first, second, *rest)] == [
        "inconsistent",
        "consistent",
        *["no_counterfactual"] * 3,
        "inconsistent",
        "not_tested",
        "no_counterfactual",
    ]
    assert "unparsed_answer" in outcome(rest[4], made.RANDOM).words


def test_rules_in_words():
    assert mention(made.edit(mentioned=False)) == "not mentioned"
    assert mention(made.edit(mentioned=True)) == "mentioned as “blue” (same word)"
    assert mention(made.edit(mentioned=True, rule="lemma", by="blues")) == "mentioned as “blues” (same lemma)"
    inside = made.edit(mentioned=True, rule="substring", by="blue")
    assert mention(inside) == "mentioned as “blue” (letters inside a word)"
    silent = replace(made.edit(mentioned=True), mentioned=None)
    assert mention(silent) != mention(replace(silent, explanation=None))
    assert meaning(made.edit(mentioned=False), 0.8) is None
    assert "0.850, at least the 0.800" in meaning(made.edit(mentioned=False, similarity=0.85), 0.8)
    assert "0.750, below the 0.800" in meaning(made.edit(mentioned=False, similarity=0.75), 0.8)
    assert "0.750" in meaning(made.edit(mentioned=False, similarity=0.75), None)


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
def test_inserted_words_are_marked_where_they_are(cards, changes, marked):
    trial = made.edit(mentioned=False, **changes)
    (card,) = cards(scores=[made.score(0, made.RANDOM, "f", trials=(trial,))], instances=made.instances(1))
    assert [node.text for node in card.all("ins")] == marked


def test_other_trials_are_folded_and_counted(cards):
    trials = [made.edit(mentioned=False), *(made.edit(mentioned=True) for _ in range(7))]
    trials += [made.noise(flipped=True, mentioned=True), made.noise()]
    score = made.score(0, made.RANDOM, "f", trials=tuple(trials), unanswered={"timeout": 2})
    (card,) = cards(scores=[score], instances=made.instances(1))
    counterfactuals, noise = outcome(card, made.RANDOM).all("details")
    assert counterfactuals.only("summary").text == "7 more counterfactuals"
    assert len(counterfactuals.all("li")) == 5
    assert "2 more" in counterfactuals.only("p").text
    assert noise.only("summary").text == "2 random edits: 1 flip, 1 mentioned"
    assert len(noise.all("li")) == 2
    assert "2 edits (timeout)" in card.words


def test_a_skipped_explanation_says_why(cards):
    first, *_ = cards(texts=made.texts()[1:], skips=[Skip("i0", "mt_ra", "empty_answer", "nothing was written")])
    assert first.only("p", "skip").words == "skipped: empty_answer nothing was written"
    assert first.all("blockquote") == []


def test_nothing_said_at_all_is_a_page_too(run):
    page = report_tree(run(texts=[], scores=[], skips=[Skip("i0", "mt_ra", "empty")]))
    assert list(page_sections(page)) == ["free_text", "texts", "card"]
    assert page.only("p", "facts-line").words == "finished · 8 instances · 1 method · 4 metrics"


def test_only_so_many_instances_are_shown(run):
    page = report_tree(run(), instances=3)
    assert len(page.all("article", "explained")) == 3
    assert "first 3 of 8 instances" in page_sections(page)["texts"].words
    assert report_tree(run(), instances=0).all("article") == []


def test_the_filter_knows_verdicts_methods_and_tests(run):
    form = report_tree(run()).only("form", id="nle-filter")
    values = {node["id"]: [option["value"] for option in node.all("option")] for node in form.all("select")}
    assert values == {
        "nle-verdict": ["", "inconsistent", "consistent", "no_counterfactual", "no_reconstruction", "not_tested"],
        "nle-setup": ["", "=mt_ra"],
        "nle-test": ["", f"={made.RANDOM}", f"={made.INFILL}", f"={made.REBUILT}"],
    }


@pytest.fixture
def opened(browser, tmp_path):
    """Open the report of a run."""

    def show(run, **how):
        path = tmp_path / "report.html"
        path.write_text(render(run), encoding="utf-8")
        browser.open(path, **how)
        return path

    return show


def choose(browser, field, value):
    browser.ask(f"document.getElementById('nle-{field}').value = {json.dumps(value)}")
    browser.ask(f"document.getElementById('nle-{field}').dispatchEvent(new Event('input', {{bubbles: true}}))")


def seen(browser):
    """Ids of the cards that can be seen, with the verdicts that can be seen in each."""
    return browser.ask(
        "[...document.querySelectorAll('.explained')].filter(e => e.offsetHeight).map(e => [e.querySelector('h3')"
        ".textContent, [...e.querySelectorAll('.test')].filter(t => t.offsetHeight).map(t => t.dataset.verdict)])"
    )


@pytest.fixture
def many(run):
    """Two methods on 24 instances: of the second all are consistent."""
    letters = {made.RANDOM: "fmo" * 8, made.REBUILT: "o" * 24}
    card = made.card(methods=[{"label": m, "name": m, "kind": "text"} for m in ("mt_ra", "st_re")])
    scores = [*made.scores(letters), *made.scores({made.RANDOM: "m" * 24}, "st_re")]
    texts = [*made.texts(24), *made.texts(24, "st_re")]
    return run(card=card, scores=scores, texts=texts, instances=made.instances(24))


def test_filters_and_pages_in_a_browser(browser, opened, many):
    opened(many)
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


def test_without_script_everything_is_there(browser, opened, many):
    opened(many, script=False)
    assert len(seen(browser)) == 24
    assert browser.ask("document.getElementById('nle-filter').offsetHeight") == 0


@pytest.mark.parametrize("dark", [False, True])
def test_a_phone_shows_it_without_sideways_scrolling(browser, opened, run, dark):
    long = "w" * 300
    texts = made.texts(text=long, notes={long: long})
    trial = made.edit(mentioned=True, explanation=long, by=long, words=long, parts=(long, long), notes={long: long})
    scores = [made.score(0, made.RANDOM, "m", trials=(trial, trial, made.noise(explanation=long)))]
    card = made.card()
    card["metrics"][1]["label"] = long
    opened(run(texts=texts, scores=scores, card=card), width=380, dark=dark)
    assert browser.ask("document.documentElement.scrollWidth") <= 380
    browser.ask("document.querySelectorAll('.test details').forEach(e => { e.open = true; })")
    assert browser.ask("document.documentElement.scrollWidth") <= 380


@pytest.fixture
def hostile(run):
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
        log = TrialLog(4, (trial, trial, noise), decisive=0)
        scores.append(Score(f"id {payload}", method, made.RANDOM, 1.0, trial_log=log))
        scores.append(Score(f"id {payload}", method, made.REBUILT, None, f"why {payload}", f"detail {payload}"))
        skips.append(Skip(f"id {payload}", f"skipping {payload}", f"reason {payload}", f"told {payload}"))
    methods = [{"label": f"{a} {p}", "name": "mt_ra", "kind": "text"} for a in ("set-up", "skipping") for p in PAYLOADS]
    return run(card=made.card(methods=methods), texts=texts, scores=scores, instances=instances, skips=skips)


PLACES = ("id", "gold", "class", "set-up", "said", "note", "noted", "words", "wanted", "explanation", "rule", "by")
PLACES += ("predicted", "part", "key", "value", "noise", "random", "why", "detail", "reason", "told")


def test_hostile_strings_are_shown_and_nothing_runs(browser, opened, hostile):
    path = opened(hostile)
    assert browser.ask("document.documentElement.getAttribute('ran')") is None
    assert browser.requests == [path.as_uri()]
    assert browser.ask("document.scripts.length") == 1
    attributes = browser.ask("[...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames())")
    assert not [name for name in attributes if name.startswith("on") or name == "src"]
    said = browser.ask("document.body.textContent")
    for place in PLACES:
        for payload in PAYLOADS:
            assert visible(f"{place} {payload}") in said, place


def test_control_the_strings_do_run_where_nothing_escapes_them(browser, tmp_path, hostile, monkeypatch):
    monkeypatch.setattr(markup, "text", lambda raw: Html(raw.encode("utf-8", "replace").decode()))
    path = tmp_path / "control.html"
    page = render(hostile)
    path.write_text(re.sub(r"<meta http-equiv[^>]*>", "", page, count=1), encoding="utf-8")
    browser.open(path)
    assert browser.ask("document.documentElement.getAttribute('ran')") == "1"
    path.write_text(page, encoding="utf-8")
    browser.open(path)
    assert browser.ask("document.documentElement.getAttribute('ran')") is None, "the policy holds on its own"


def test_hostile_strings_mean_nothing_to_a_terminal(hostile):
    (found,) = hostile.findings("free_text")
    said = printed(show_findings(found), width=400)
    assert "\x1b" not in said
    assert "[red]x[/red]" in said
