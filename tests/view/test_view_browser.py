"""The viewer in a real browser: views, filters, keys, hostile texts and accessibility."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from support.accessibility import accessibility_problems
from support.browser import Browser
from support.free_text import text_run
from support.hostile import HOSTILE
from support.masking import masked_word_run
from support.runs import make_run, method_entry, metric_entry, run_card, text_of, word_rows, word_run
from support.unified import unified_word_run
from support.viewer import Served, serving
from verax.results.render.markup import visible
from verax.store.store import Store
from verax.types import Highlight, Instance, Prediction, Score, Skip, Target

Wait = Callable[[str], Any]
LOADED = "[...document.querySelectorAll('[data-load]')].every(e => e.getAttribute('aria-busy') === 'false')"
IDS = "[...document.querySelectorAll('.results a')].map(e => e.textContent)"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("given")
    methods = ("random", "alpha", "beta", "gamma")
    word_run(folder / "words", 45, methods, skips=[Skip("id-7", "gone", "empty")])
    rows = word_rows(45, methods)
    scores = [Score(row.instance_id, row.method, row.metric, row.value + 0.3) for row in rows["scores"]]
    make_run(folder / "more", **rows | {"scores": scores})
    masked_word_run(folder / "deep" / "masked")
    unified_word_run(folder / "kinds")
    text_run(folder / "texts")
    make_run(folder / "growing", **word_rows(2), plan=[str(n) for n in range(60)])
    hostile_run(folder / "hostile")
    with serving(folder) as made:
        yield made


def hostile_run(folder: Path) -> None:
    """Every hostile text as id, word, class, method and metric."""
    instances = [Instance(f"{i} {raw}", (text_of(raw),), raw) for i, raw in enumerate(HOSTILE)]
    methods, metrics = list(HOSTILE[-6:]), list(HOSTILE[-12:-6])
    make_run(
        folder,
        card=run_card(
            [method_entry(name) for name in methods],
            [metric_entry(name) for name in metrics],
            model={"name": HOSTILE[-4]},
            data={"name": HOSTILE[-4]},
            warnings=list(HOSTILE),
        ),
        instances=instances,
        predictions=[Prediction(one.id, HOSTILE[-4], (HOSTILE[-4],), (1.0,)) for one in instances],
        highlights=[
            Highlight(one.id, method, "token", Target(), one.units, tuple(range(len(one.units))))
            for one, method in product(instances, methods)
        ],
        scores=[Score(one.id, *pair, i * 0.1) for i, one in enumerate(instances) for pair in product(methods, metrics)],
    )


@pytest.fixture
def show(browser: Browser, served: Served, wait: Wait) -> Callable[..., None]:
    """Open a path of the viewer, and wait until all of it is there."""
    browser.open(served.access.url)

    def go(path: str, **how: Any) -> None:
        browser.open(served.base + path, **how)
        wait(LOADED)

    return go


def enter(browser: Browser, selector: str, value: str | bool) -> None:
    """Change a field as a person would."""
    attribute = "checked" if isinstance(value, bool) else "value"
    literal = str(value).lower() if isinstance(value, bool) else f"'{value}'"
    browser.ask(
        f"(e => {{ e.{attribute} = {literal}; e.dispatchEvent(new Event('input', {{bubbles: true}}));"
        f"e.dispatchEvent(new Event('change', {{bubbles: true}})) }})(document.querySelector('{selector}'))"
    )


def press(browser: Browser, key: str) -> None:
    """Press and release a key."""
    text = key if len(key) == 1 else ""
    browser.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=text)
    browser.call("Input.dispatchKeyEvent", type="keyUp", key=key)


def test_the_list_has_every_run_with_its_verdict(browser: Browser, served: Served, show: Callable[..., None]) -> None:
    show("/")
    names = browser.ask("[...document.querySelectorAll('.run h2')].map(e => e.textContent)")
    root = served.folders[0].name
    assert set(names) == {
        f"{root}/{name}" for name in ("words", "more", "deep/masked", "kinds", "texts", "growing", "hostile")
    }
    verdict = f"document.querySelector('[href=\"{served.run('words')}\"]').closest('article').querySelector('dl')"
    assert "better than random" in browser.ask(f"{verdict}.textContent")


def test_a_table_can_be_sorted_and_filtered(browser: Browser, served: Served, show: Callable[..., None]) -> None:
    show(served.run("words"))
    table = "document.querySelector('.sheet table')"
    rows = f"[...{table}.tBodies[0].rows].filter(e => e.offsetHeight).map(e => e.cells[0].textContent)"
    given = browser.ask(rows)
    *names, gone = given  # which has no value, and is last in either direction
    assert [name.removesuffix("baseline") for name in given] == ["Random", "alpha", "beta", "gamma", "gone"]
    browser.ask(f"{table}.tHead.querySelectorAll('button')[1].click()")
    assert browser.ask(rows) == [*names[::-1], gone]
    assert browser.ask(f"{table}.tHead.rows[0].cells[1].getAttribute('aria-sort')") == "descending"
    browser.ask(f"{table}.tHead.querySelectorAll('button')[1].click()")
    assert browser.ask(rows) == given
    enter(browser, ".sheet .filter-rows input", "ALPHA")
    assert browser.ask(rows) == ["alpha"]
    show(served.run("words"), width=400)
    enter(browser, ".sheet .sort-choice select", "1 descending")
    assert browser.ask(rows) == [*names[::-1], gone]


def test_tables_are_those_of_the_report(browser: Browser, served: Served, show: Callable[..., None]) -> None:
    from verax.report.page import render
    from verax.results.run import Run

    report = render(Run(served.folders[0] / "deep" / "masked"))
    fragment = served.text(f"{served.run('masked')}/findings")
    assert fragment
    assert fragment.replace("\n", "") in report.replace("\n", "")


def test_instances_are_searched_and_paged(
    browser: Browser, served: Served, show: Callable[..., None], wait: Wait
) -> None:
    path = f"{served.run('words')}/instances"
    show(path)
    assert browser.ask(IDS) == [f"id-{i}" for i in range(20)]
    browser.ask("document.querySelector('a[rel=next]').click()")
    wait(f"document.readyState === 'complete' && {IDS}[0] === 'id-20'")
    enter(browser, "[name=wrong]", True)
    wait("document.getElementById('found').textContent === '15 of 45 instances'")
    assert browser.ask(IDS) == [f"id-{i}" for i in range(0, 45, 3)]
    enter(browser, "[name=q]", "D-4")
    wait(f"{IDS}.length === 1")
    assert browser.ask(IDS) == ["id-42"]
    assert "q=D-4" in browser.ask("location.search")
    enter(browser, "[name=wrong]", False)
    enter(browser, "[name=q]", "")
    enter(browser, "[name=skipped]", True)
    wait(f"{IDS}.length === 1 && {IDS}[0] === 'id-7'")
    for order in ("disagreement", "gap"):
        assert served.request(f"{path}?order={order}").status == 200
    for wrong in ("?order=x", "?page=x", "?page=-1"):
        assert served.request(path + wrong).status == 400


def test_the_page_of_an_instance(browser: Browser, served: Served, show: Callable[..., None]) -> None:
    show(f"{served.run('masked')}/instances/0")
    assert browser.ask("document.querySelectorAll('#curves svg').length") > 0
    show(f"{served.run('kinds')}/instances/1")
    assert browser.ask("document.querySelectorAll('.arcs').length") > 0
    assert served.request(f"{served.run('words')}/instances/45").status == 404


def test_two_runs_side_by_side(browser: Browser, served: Served, show: Callable[..., None]) -> None:
    names = [served.run(name).removeprefix("/runs/") for name in ("words", "more")]
    show(f"/compare?run={names[0]}&run={names[1]}")
    assert "0.300" in browser.ask("document.querySelector('#difference table').textContent")
    assert browser.ask("document.querySelectorAll('.sides > section').length") == 2
    assert accessibility_problems(browser) == []
    assert served.request(f"/compare?run={names[0]}").status == 400
    assert served.request(f"/compare?run={names[0]}&run={names[0]}").status == 400
    assert served.request(f"/compare?run={names[0]}&run=x").status == 404


def test_keys(browser: Browser, served: Served, show: Callable[..., None], wait: Wait) -> None:
    show(f"{served.run('words')}/instances")
    press(browser, "/")
    assert browser.ask("document.activeElement.name") == "q"
    press(browser, "j")
    assert browser.ask("document.activeElement.value") == "j"
    show(f"{served.run('words')}/instances")
    press(browser, "j")
    press(browser, "j")
    assert browser.ask("document.activeElement.textContent") == "id-1"
    press(browser, "k")
    assert browser.ask("document.activeElement.textContent") == "id-0"
    press(browser, "?")
    assert browser.ask("document.getElementById('keys').open")
    browser.ask("document.getElementById('keys').close()")
    press(browser, "n")
    wait(f"document.readyState === 'complete' && {IDS}[0] === 'id-20'")


def test_a_run_in_progress_is_updated(browser: Browser, served: Served, show: Callable[..., None], wait: Wait) -> None:
    folder = served.folders[0] / "grows"
    rows = word_rows(4)
    pending = rows.pop("scores")
    present = sum(len(rows[name]) for name in ("instances", "predictions", "highlights"))
    make_run(folder, **rows, plan=[str(n) for n in range(present + len(pending))])
    show(served.run("grows"))
    assert f"{present} of {present + len(pending)} rows done" in browser.ask(
        "document.querySelector('.status').textContent"
    )
    with Store.open(folder) as store:
        for number, row in enumerate(pending):
            store.append(str(present + number), row)
    wait("document.querySelector('.status').textContent.trim() === 'finished'")
    wait("document.querySelector('.sheet table') !== null")
    assert browser.ask("document.querySelector('.status progress')") is None
    assert browser.ask("document.querySelector('.top .facts-line').textContent").startswith("finished · ")
    assert browser.ask("document.querySelectorAll('[role=alert]').length") == 0


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (400, True)])
def test_every_page_is_accessible(
    browser: Browser, served: Served, show: Callable[..., None], width: int, dark: bool
) -> None:
    words, masked, kinds = (served.run(name) for name in ("words", "masked", "kinds"))
    texts, growing = served.run("texts"), served.run("growing")
    pages = ("/", words, f"{words}/instances", f"{words}/instances/0", f"{words}/card", masked, growing)
    both = f"/compare?run={words.removeprefix('/runs/')}&run={masked.removeprefix('/runs/')}"
    pages = (
        *pages,
        texts,
        f"{texts}/instances/0",
        f"{words}/instances?order=gap&wrong=1",
        f"{words}/instances?q=zz",
        both,
    )
    for path in (*pages, f"{masked}/instances/0", kinds, f"{kinds}/instances/1"):
        show(path, width=width, dark=dark)
        assert accessibility_problems(browser) == [], path


def test_hostile_texts_are_shown_and_not_obeyed(browser: Browser, served: Served, show: Callable[..., None]) -> None:
    run = served.run("hostile")
    for path in ("/", run, f"{run}/instances?page=6", f"{run}/instances/{len(HOSTILE) - 4}", f"{run}/card"):
        show(path)
        assert browser.ask("document.documentElement.getAttribute('ran')") is None
        assert all(url.startswith(served.base) for url in browser.requests)
        assert browser.ask("document.querySelectorAll('main script, main style, main img').length") == 0
    shown = browser.ask("document.body.innerText")
    assert visible(HOSTILE[-4]) in shown
