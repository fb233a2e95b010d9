"""The page in a browser: filters, narrow windows, fonts, and hostile labels in figures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.browser import Browser
from support.masking import masked_word_run
from support.runs import score_run, word_rows
from support.unified import PAGE_METHODS, PAGE_METRICS, unified_word_run
from verax.report.page import render
from verax.results.render.markup import visible
from verax.results.run import Run
from verax.types import Prediction, Skip

MakeRun = Callable[..., Run]


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Callable[..., Path]:
    """Open the report of a run."""

    def show(run: Run, **how: Any) -> Path:
        path = tmp_path / "report.html"
        path.write_text(render(run), encoding="utf-8")
        browser.open(path, **how)
        return path

    return show


def visible_ids(browser: Browser) -> list[str]:
    found: list[str] = browser.ask(
        "[...document.querySelectorAll('.instance')].filter(e => e.offsetHeight)"
        ".map(e => e.querySelector('h3').textContent)"
    )
    return found


def type_into(browser: Browser, field: str, value: str | bool) -> None:
    """Change a control as a person would, so that the page hears of it."""
    attribute = "checked" if isinstance(value, bool) else "value"
    literal = str(value).lower() if isinstance(value, bool) else f"'{value}'"
    browser.ask(f"document.getElementById('{field}').{attribute} = {literal}")
    browser.ask(f"document.getElementById('{field}').dispatchEvent(new Event('input', {{bubbles: true}}))")


def test_filter_and_pages_in_a_browser(browser: Browser, run: MakeRun, opened: Callable[..., Path]) -> None:
    opened(run(25, skips=[Skip("id-3", "gone", "empty")]))
    assert visible_ids(browser) == [f"id-{i}" for i in range(10)]
    browser.ask("[...document.querySelectorAll('#instances-pages button')].at(-1).click()")
    assert visible_ids(browser) == [f"id-{i}" for i in range(10, 20)]
    type_into(browser, "filter-wrong", True)
    assert visible_ids(browser) == [f"id-{i}" for i in range(0, 25, 3)]
    assert browser.ask("document.getElementById('filter-count').textContent") == "9 of 25 instances"
    type_into(browser, "filter-wrong", False)
    type_into(browser, "filter-label", "=no")
    assert visible_ids(browser) == [f"id-{i}" for i in range(0, 25, 3)]
    type_into(browser, "filter-label", "")
    type_into(browser, "filter-text", "ID-24")
    assert visible_ids(browser) == ["id-24"]
    type_into(browser, "filter-text", "")
    type_into(browser, "filter-skipped", True)
    assert visible_ids(browser) == ["id-3"]
    type_into(browser, "filter-method", "=loo")
    names = browser.ask(
        "[...document.querySelectorAll('[data-method]')].filter(e => e.offsetHeight).map(e => e.dataset.method)"
    )
    assert set(names) == {"loo"}


@pytest.mark.parametrize("dark", [False, True])
def test_a_phone_shows_the_page_without_sideways_scrolling(
    browser: Browser, run: MakeRun, opened: Callable[..., Path], dark: bool
) -> None:
    long = "w" * 300
    methods = ("random", "loo", f"integrated_gradients_{long}")
    rows = word_rows(3, methods)
    card = rows["card"] | {"command": long, "spec": {long: [long]}, "versions": {long: long}, "counts": {long: long}}
    card |= {"model": {"name": long, "hash": "ab" * 64}}
    rows["predictions"][0] = Prediction("id-0", long, (long,), (1.0,))
    broken = run(3, methods, card=card, predictions=rows["predictions"])
    broken.problems = (long,)
    opened(broken, width=380, dark=dark)
    assert browser.ask("document.documentElement.scrollWidth") <= 380
    ground = browser.ask("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(18, 21, 25)" if dark else "rgb(247, 247, 245)"), "the style sheet passes its own policy"


BAR = "document.querySelector('nav.bar').getBoundingClientRect()"
SHADOWED = """
(() => {
  const place = document.querySelector('#leaderboard .scroll');
  const look = getComputedStyle(place);
  place.scrollLeft = 1e6;
  return [place.scrollWidth > place.clientWidth, place.scrollLeft > 0, place.tabIndex, look.backgroundAttachment];
})()
"""


@pytest.mark.parametrize("dark", [False, True])
def test_the_navigation_stays_in_view_and_wide_tables_show_that_they_scroll(
    browser: Browser, tmp_path: Path, opened: Callable[..., Path], dark: bool
) -> None:
    metrics = [f"measure_{n}_of_some_property" for n in range(30)]
    table = {"random": [0.1, 0.3, 0.2], "alpha": [0.3, 0.2, 0.5]}
    opened(score_run(tmp_path / "run", dict.fromkeys(metrics, table)), width=1280, dark=dark)
    browser.ask("location.hash = 'card'")
    browser.ask("scrollTo(0, document.documentElement.scrollHeight)")
    assert browser.ask("scrollY") > 0
    assert browser.ask(f"{BAR}.top") == 0
    wide, scrolls, tab, attachment = browser.ask(SHADOWED)
    assert (wide, scrolls, tab) == (True, True, 0)
    assert attachment == "local, local, scroll, scroll", "the shadows stay, and the content covers them at its ends"
    assert browser.ask("document.documentElement.scrollWidth <= innerWidth")
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.ask("getComputedStyle(document.querySelector('#leaderboard .scroll')).overflowX") == "visible"
    assert browser.ask(f"{BAR}.height") == 0
    browser.call("Emulation.setEmulatedMedia", media="")


def test_scores_are_printed_next_to_words_where_that_is_chosen(
    browser: Browser, run: MakeRun, opened: Callable[..., Path]
) -> None:
    opened(run(1), width=400)
    words = "[...document.querySelectorAll('[data-method=loo] .part > [title]')]"
    printed = f"{words}.map(e => getComputedStyle(e, '::after').content)"
    assert set(browser.ask(printed)) == {"none"}
    browser.ask("document.getElementById('print-scores').focus()")
    browser.call("Input.dispatchKeyEvent", type="keyDown", key=" ", code="Space", text=" ")
    browser.call("Input.dispatchKeyEvent", type="keyUp", key=" ", code="Space")
    assert browser.ask(printed) == ['"0"', '"+0.25"', '"+1"', '"-0.5"', '"0"', '"+0.5"', '"-1"']
    assert browser.ask("document.documentElement.scrollWidth <= innerWidth")
    browser.ask("document.getElementById('print-scores').click()")
    assert set(browser.ask(printed)) == {"none"}


BOXES = """
[...document.querySelectorAll('.instance mark.gold')].map(e => {
  const box = e.getBoundingClientRect();
  return [...e.parentElement.children].filter(other => other !== e).some(other => {
    const near = other.getBoundingClientRect();
    return Math.min(box.right, near.right) - Math.max(box.left, near.left) > 0.5 &&
           Math.min(box.bottom, near.bottom) - Math.max(box.top, near.top) > 4;
  });
})
"""


@pytest.mark.parametrize("width", [400, 1280])
def test_boxes_of_annotated_words_touch_no_other_word(
    browser: Browser, run: MakeRun, opened: Callable[..., Path], width: int
) -> None:
    opened(run(2), width=width)
    boxes = browser.ask(BOXES)
    assert len(boxes) >= 8
    assert not any(boxes)


def test_without_script_everything_is_there(browser: Browser, run: MakeRun, opened: Callable[..., Path]) -> None:
    opened(run(25), script=False)
    assert len(visible_ids(browser)) == 25
    assert browser.ask("document.getElementById('filter').offsetHeight") == 0


LONG = f"integrated_gradients(target=gold, {'x' * 200}=1)"
DRAWN = {
    "masking": lambda folder: masked_word_run(folder, ("random", LONG)),
    "unified": unified_word_run,
}


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("study", DRAWN)
def test_a_phone_shows_every_figure(
    browser: Browser, tmp_path: Path, opened: Callable[..., Path], study: str, dark: bool
) -> None:
    opened(DRAWN[study](tmp_path / "run"), width=400, dark=dark)
    assert browser.ask("document.documentElement.scrollWidth") <= 400
    boxes = f"[...document.querySelectorAll('#{study} figure svg')].map(e => e.getBoundingClientRect())"
    edges = browser.ask(f"{boxes}.map(r => [r.left, r.right, r.width])")
    assert len(edges) >= 2
    assert all(left >= 0 and right <= 400 and width > 250 for left, right, width in edges)
    ink = browser.ask(f"getComputedStyle(document.querySelector('#{study} figure .mark.s0')).stroke")
    assert ink == ("rgb(98, 189, 240)" if dark else "rgb(0, 114, 178)")


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("study", DRAWN)
def test_labels_fit_in_every_font(
    assert_texts_fit: Callable[..., None], tmp_path: Path, study: str, width: int
) -> None:
    assert_texts_fit(render(DRAWN[study](tmp_path / "run")), width)


EVIL = "\"><img src=x onerror=document.documentElement.setAttribute('ran',1)>\u202e(</title></svg><script>x)"


@pytest.mark.parametrize("study", ["masking", "unified"])
def test_hostile_labels_in_figures_are_text(
    browser: Browser, tmp_path: Path, opened: Callable[..., Path], study: str
) -> None:
    if study == "masking":
        run = masked_word_run(tmp_path / "run", (f"random {EVIL}", f"loo {EVIL}"))
    else:
        evil = {"k": EVIL, "grid": EVIL, "budget": EVIL, "insertion": EVIL}
        methods = {f"{label} {EVIL}": entry for label, entry in PAGE_METHODS.items()}
        run = unified_word_run(
            tmp_path / "run", methods, [(f"{label} {EVIL}", name, evil) for label, name, _ in PAGE_METRICS]
        )
    opened(run)
    assert browser.ask("document.documentElement.hasAttribute('ran')") is False
    assert browser.ask("document.scripts.length + document.images.length") == 1
    assert browser.ask("document.querySelectorAll('[style]').length") == 0
    assert browser.ask(f"document.querySelectorAll('#{study} svg:not(.plot):not(.chart)').length") == 0
    shown = visible(f"loo {EVIL}") if study == "masking" else visible(EVIL)
    assert shown in browser.ask(f"document.querySelector('#{study} .panels').textContent")
    assert shown in browser.ask(f"document.querySelector('#{study} svg.chart').ariaLabel")
