"""Hostile strings everywhere, in a real browser: nothing runs, everything is shown as it is."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from support.runs import make_run, text_of
from verax.report.notebook import highlight_html
from verax.report.page import render, write_report
from verax.results.render import markup
from verax.results.render.markup import Html, visible
from verax.results.run import Run
from verax.types import Highlight, Human, Instance, Prediction, Score, Skip, Span, Target

RAN = "document.documentElement.setAttribute('ran-{}','1')"
REFRESH = "<meta http-equiv=refresh content=0;url=about:blank>"
PAYLOADS = (
    f"<script>{RAN.format('script')}</script>",
    f'"><img src=x onerror={RAN.format("img")}>',
    f"'><svg onload={RAN.format('svg')}>",
    f"</script><script>{RAN.format('closed')}</script>",
    f"</style></title></textarea><script>{RAN.format('style')}</script>",
    f"javascript:{RAN.format('url')}",
    f'" autofocus onfocus={RAN.format("focus")} tabindex=1 x="',
    "<style>*{display:none!important}</style>",
    REFRESH,
    "<base href=https://example.invalid/><link rel=stylesheet href=x.css>",
    "&lt;b&gt; &amp;amp;",
    "before\u202eafter\u2066inside",
    "nul\x00esc\x1b[31m bell\x07",
    "line\u2028separator\u2029end",
    "{{7*7}} ${7*7} #{7*7} <%= 7*7 %>",
    "lone\ud800surrogate",
)


def hostile_rows():
    """Every payload in every place where data, a model or a spec can put a string."""
    every = " ".join(p.replace(" ", "\u00a0") for p in PAYLOADS)
    instances, predictions, highlights, skips, scores, methods, metrics = [], [], [], [], [], [], []
    for i, payload in enumerate(PAYLOADS):
        method, metric, name = f"method {payload}", f"metric {payload}", f"id {payload}"
        words = text_of(every, lang=payload)
        gold = Human(words=((0, i),), explanations=(f"human {payload}",))
        instance = Instance(name, (words, text_of(payload)), f"gold {payload}", human=gold)
        instances.append(instance)
        predictions.append(Prediction(name, f"class {payload}", (f"class {payload}",), (1.0,)))
        ramp = tuple(float(k - 3) for k in range(len(instance.units)))
        notes = {f"note {payload}": f"noted {payload}"}
        highlights.append(
            Highlight(name, method, "token", Target(f"target {payload}"), instance.units, ramp, notes=notes)
        )
        skips.append(Skip(name, f"skipping {payload}", f"reason {payload}", f"detail {payload}", failed=i % 2 == 0))
        scores.append(Score(name, method, metric, 0.5))
        scores.append(Score(name, method, f"other {payload}", None, f"missing {payload}", f"why {payload}"))
        methods.append({"label": method, "name": f"name {payload}", "parameters": {f"k {payload}": f"v {payload}"}})
        metrics.append({"label": metric, "reference": f"paper {payload}", "parameters": {f"mk {payload}": payload}})
    every = "|".join(PAYLOADS)
    card = {
        "command": f"command {every}",
        "created": f"created {every}",
        "verax": every,
        "model": {"name": f"model {every}", f"model key {every}": f"model value {every}", "labels": list(PAYLOADS)},
        "data": {"name": f"data {every}", "split": f"split {every}", "provenance": {every: every}},
        "versions": {f"package {every}": f"version {every}"},
        "machine": every,
        "spec": {"key <script>": ["<script>"]},
        "counts": {"rows": every},
        "cost": {"seconds": every},
        "methods": [*methods, *PAYLOADS],
        "metrics": metrics,
    }
    return {
        "card": card,
        "instances": instances,
        "predictions": predictions,
        "highlights": highlights,
        "skips": skips,
        "scores": scores,
    }


@pytest.fixture(scope="module")
def hostile(tmp_path_factory) -> Run:
    run = make_run(tmp_path_factory.mktemp("hostile") / "run", **hostile_rows())
    run.problems += tuple(f"damaged {payload}" for payload in PAYLOADS)
    return run


@pytest.fixture(scope="module")
def unescaped(hostile) -> str:
    """The same page with its escaping broken, but for the payload that would leave the page before one can look."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(markup, "text", lambda raw: Html(raw.encode("utf-8", "replace").decode()))
        return re.sub(REFRESH.replace(" ", "[ \u00a0]"), "", render(hostile))


def traces(browser, path: Path) -> set[str]:
    browser.open(path)
    names = browser.ask("document.documentElement.getAttributeNames().join(' ')")
    return set(re.findall(r"ran-(\w+)", names))


def test_nothing_runs(browser, hostile, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(render(hostile), encoding="utf-8")
    assert traces(browser, path) == set()
    assert browser.requests == [path.as_uri()], "the page asked for something else than itself"
    assert browser.ask("document.scripts.length") == 1
    attributes = browser.ask("[...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames())")
    assert not [name for name in attributes if name.startswith("on") or name == "src"]
    links = browser.ask("[...document.querySelectorAll('[href]')].map(e => e.getAttribute('href'))")
    assert links
    assert all(link.startswith("#") for link in links)
    tags = set(browser.ask("[...document.querySelectorAll('body *')].map(e => e.localName)"))
    assert not tags & {"img", "base", "link", "meta", "style", "iframe", "object", "embed"}
    assert browser.ask("document.querySelectorAll('svg').length === document.querySelectorAll('svg.plot').length")


PLACES = ("method", "metric", "id", "human", "gold", "class", "target", "reason", "detail", "missing", "noted", "name")
PLACES += ("k", "v", "mk", "paper", "command", "created", "model", "data", "split", "package", "version", "damaged")


@pytest.fixture(scope="module")
def shown(browser, hostile, tmp_path_factory) -> str:
    """All that the page says, as the browser understood it."""
    path = tmp_path_factory.mktemp("literal") / "report.html"
    path.write_text(render(hostile), encoding="utf-8")
    browser.open(path)
    return browser.ask("document.body.textContent")


@pytest.mark.parametrize("place", PLACES)
def test_texts_are_shown_literally(shown, place):
    whole = place in {"command", "created", "model", "data", "split", "package", "version"}
    for expected in ["|".join(PAYLOADS)] if whole else PAYLOADS:
        assert visible(f"{place} {expected}") in shown


def test_words_keep_their_scores_in_their_titles(browser, hostile, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(render(hostile), encoding="utf-8")
    browser.open(path)
    words = browser.ask(
        "[...document.querySelectorAll('.instance dd .part')[0].querySelectorAll('[title]')]"
        ".map(e => [e.textContent, e.title])"
    )
    assert [word for word, _ in words] == [visible(p.replace(" ", "\u00a0")) for p in PAYLOADS]
    assert [title.split(",")[0] for _, title in words[:5]] == ["-3", "-2", "-1", "0", "+1"]


def test_control_the_payloads_do_run_where_nothing_holds_them(browser, unescaped, tmp_path):
    path = tmp_path / "control.html"
    path.write_text(re.sub(r"<meta http-equiv[^>]*>", "", unescaped, count=1), encoding="utf-8")
    assert {"script", "img", "closed", "style"} <= traces(browser, path)


def test_the_policy_holds_when_escaping_fails(browser, unescaped, tmp_path):
    path = tmp_path / "unescaped.html"
    path.write_text(unescaped, encoding="utf-8")
    assert traces(browser, path) == set()
    assert browser.ask("document.scripts.length") > 1, "the payloads are in the page, and blocked"


def test_the_notebook_picture_is_escaped(browser, tmp_path):
    path = tmp_path / "notebook.html"
    rows = hostile_rows()
    explained = zip(rows["highlights"], rows["instances"], rows["predictions"], strict=True)
    pieces = [highlight_html(*one) for one in explained]
    path.write_text("<!doctype html><meta charset=utf-8>" + "".join(pieces), encoding="utf-8")
    assert traces(browser, path) == set()
    assert (
        browser.ask("document.scripts.length + document.images.length + document.querySelectorAll('style,link').length")
        == 0
    )
    shown = browser.ask("document.body.textContent")
    for payload in PAYLOADS:
        for place in ("method", "target", "gold", "class"):
            assert visible(f"{place} {payload}") in shown


def test_nothing_runs_in_the_pictures_of_interactions(browser, tmp_path):
    rows = hostile_rows()
    units = tuple((Span(0, i, len(PAYLOADS)), Span(1, 0, 1)) for i in range(len(PAYLOADS)))
    human = Human(span_pairs=units, words=((0,), (0,)))
    instances = [replace(instance, human=human) for instance in rows["instances"]]
    ramp = tuple(float(-k) for k in range(len(units)))
    highlights = [replace(h, kind="span_interaction", units=units, scores=ramp) for h in rows["highlights"]]
    paths = [tmp_path / "report.html", tmp_path / "notebook.html"]
    run = make_run(tmp_path / "run", **(rows | {"instances": instances, "highlights": highlights}))
    paths[0].write_text(render(run), encoding="utf-8")
    pieces = [highlight_html(h, i) for h, i in zip(highlights, instances, strict=True)]
    paths[1].write_text("<!doctype html><meta charset=utf-8>" + "".join(pieces), encoding="utf-8")
    for path, scripts in zip(paths, (1, 0), strict=True):
        assert traces(browser, path) == set()
        assert browser.requests == [path.as_uri()]
        assert browser.ask("document.scripts.length") == scripts
        assert browser.ask("document.images.length") == 0
        drawn = browser.ask("[...document.querySelectorAll('svg:not(.plot) *')].map(e => e.localName)")
        assert set(drawn) == {"g", "title", "path", "rect", "text", "circle"}
        spoken = browser.ask("document.querySelector('svg:not(.plot)').getAttribute('aria-label')")
        assert all(visible(payload.replace(" ", "\u00a0")) in spoken for payload in PAYLOADS)
    table = browser.ask("document.querySelector('details').textContent")
    assert all(visible(payload.replace(" ", "\u00a0")) in table for payload in PAYLOADS)


def test_hostile_strings_are_in_the_file_as_on_the_page(tmp_path):
    run = make_run(tmp_path, **hostile_rows())
    page, seal = write_report(tmp_path).read_text(encoding="utf-8").rsplit("<!--", 1)
    assert page == render(run)
    assert re.fullmatch(r" sha256 [0-9a-f]{64} -->\n", seal)
    assert Run(tmp_path).problems == run.problems, "a report in the folder is no harm to the run"
    assert any("<script>" in problem for problem in run.problems), "entries that are not valid are named as they are"
