"""The page: what it says of ordinary and of odd runs, that it stands alone, and how it behaves in a browser."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from verax.report import page
from verax.report.page import render, write_report
from verax.store.read import Stored
from verax.types import Highlight, Human, Instance, Prediction, Score, Skip, Target, UserError


def shown(html: str) -> str:
    """The text of a page, without its style and script."""
    body = re.sub(r"<(style|script)>.*?</\1>", "", html, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", body)).replace("&#x27;", "'")


EMPTY = Stored(Path("x"), {}, [], [], [], [], [], ())


def test_an_empty_run_says_so():
    said = shown(render(EMPTY))
    assert "no scores" in said
    assert "no instances" in said
    assert "not recorded on not recorded" in said


def test_the_leaderboard_ranks_and_explains(run):
    html = render(run(30))
    said = shown(html)
    assert "loo has the best value, 0.345" in said
    assert "↑ higher is better" in said
    assert "p against random" in said
    table = re.search(r'<table class="ranking".*?</table>', html, re.DOTALL)[0]
    assert re.findall(r'<tr[^>]*><th scope="row"><span dir="auto" class="label">(\w+)', table) == ["loo", "random"]
    assert "< 0.001" in shown(table).replace("&lt;", "<")
    assert html.count('class="best"') == 1
    assert 'aria-label="in the best group"' in html


def test_methods_that_cannot_be_told_apart_share_a_bracket(run):
    scores = [
        Score(f"id-{i}", m, "comp", v + 0.001 * (i % 5))
        for i in range(30)
        for m, v in (("random", 0.1), ("a", 0.5), ("b", 0.5))
    ]
    html = render(run(30, ("random", "a", "b"), scores=scores))
    lanes = re.findall(r'<div class="lanes">(.*?)</div>', html)
    assert [re.findall(r'class="lane([^"]*)"', lane) for lane in lanes] == [
        [" held opens", ""],
        [" held closes", ""],
        ["", " held opens closes"],
    ]
    assert "b can't be told apart from it" in shown(html)


def test_missing_values_are_counted_with_their_reasons(run):
    scores = [Score(f"id-{i}", "loo", "comp", None, "no_gold" if i else "empty") for i in range(4)]
    html = render(run(4, scores=scores))
    assert '<summary title="no_gold: 3, empty: 1">4</summary>' in html
    assert "Without any score: random" in shown(html)
    assert "4 metric values could not be had" in shown(html)


def test_only_skips(skipped_only):
    html = render(skipped_only)
    said = shown(html)
    assert "failed: empty no word" in said
    assert "skipped: empty no word" in said
    assert html.count("<code>id-") == 1 + 5, "one failure; of six skips the first five"
    assert "and 1 more" in said
    assert "no prediction" in said


def test_an_instance_shows_labels_people_and_every_method(run):
    said = shown(render(run(1, ("random", "loo", "other"))))
    for expected in (
        "gold yes",
        "predicted no ✗ wrong",
        "yes 0.700 · no 0.300",
        "People: a dog is an animal",
        "random baseline",
        "other",
    ):
        assert expected.replace(" · ", " ") in said.replace(" · ", " ")


def test_only_so_many_instances_are_embedded_and_that_is_said(run):
    html = render(run(30), instances=5)
    assert html.count('<article class="instance"') == 5
    assert "The first 5 of 30 instances" in shown(html)
    assert "id-4<" in html
    assert "id-5<" not in html


def test_the_run_card(run):
    card = {
        "command": "verax run spec.yaml --out runs/x",
        "seed": 7,
        "spec": {"model": "tiny", "methods": [{"loo": {"steps": 5}}]},
        "model": {"name": "tiny", "hash": "0123456789abcdef" * 4},
        "counts": {"rows": 12, "done": 9, "failed": 1, "skipped": 2},
        "cost": {"forward_asked": 1000, "forward": 600, "backward_asked": 10, "backward": 10, "seconds": 1.25},
        "versions": {"torch": "2.13.0"},
    }
    html = render(run(card=card))
    said = shown(html)
    assert "verax run spec.yaml --out runs/x" in said
    assert "12 rows = 9 done + 1 failed + 2 skipped" in said
    assert "forward passes 1,000 600 400" in said
    assert f"<code>{'0123456789abcdef' * 4}</code>" in html
    assert "methods:\n- loo:\n    steps: 5" in html
    assert "torch 2.13.0" in said
    assert "architecture not recorded" in said
    assert "1.2 s" in said


def test_counts_that_do_not_add_up_and_damage_are_alarms(run):
    html = render(
        run(card={"counts": {"rows": 12, "done": 9, "failed": 1, "skipped": 1}}, damaged=("shard 3 is torn",))
    )
    assert "≠" in html
    assert "does not add up" in html
    assert "shard 3 is torn" in html
    assert html.count('class="alarm"') == 2


@pytest.mark.parametrize(
    "odd", [{"model": "text"}, {"methods": "x", "metrics": [1]}, {"cost": [], "counts": 3}, {"spec": [1, {"a": None}]}]
)
def test_a_card_of_any_shape_is_shown(run, odd):
    assert "Run card" in render(run(card=odd))


def test_many_methods_long_words_and_one_value(run, text):
    methods = tuple(f"method_with_a_long_name_{i}" for i in range(300))
    scores = [Score("id-0", m, "comp", 0.1) for m in methods[:5]]
    html = render(run(1, methods, scores=scores))
    assert all(html.count(f">{m}<") >= 2 for m in methods)
    word = "x" * 5000
    instance = Instance("long", (text(word),), human=Human(words=((0,),)))
    row = Highlight("long", "loo", "token", Target(), instance.units, (1.0,))
    assert word in render(Stored(Path("x"), {}, [instance], [], [row], [], [], ()))


def test_the_same_run_gives_the_same_bytes(run):
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from conftest import make_run\nfrom verax.report.page import render\n"
        "sys.stdout.write(render(make_run(10)))"
    )
    folder = str(Path(__file__).parent)
    pages = {
        subprocess.run(
            [sys.executable, "-c", script, folder],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert pages == {render(run(10)).encode()}


def test_the_report_imports_no_torch():
    modules = "verax.report.page, verax.report.terminal, verax.report.tables, verax.report.notebook"
    script = f"import sys, {modules}; print('torch' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True).stdout == "False\n"
    )


def test_the_file_is_replaced_as_a_whole_or_not_at_all(run, tmp_path, monkeypatch):
    monkeypatch.setattr(page, "read_run", lambda _: run(1))
    path = write_report(tmp_path)
    assert path == tmp_path / "report.html"
    first = path.read_bytes()
    assert first == render(run(1)).encode()

    def torn(self, target):
        raise OSError("disk full")

    monkeypatch.setattr(page, "read_run", lambda _: run(2))
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", torn)
        with pytest.raises(OSError, match="disk full"):
            write_report(tmp_path)
    assert path.read_bytes() == first
    assert list(tmp_path.iterdir()) == [path]
    assert write_report(tmp_path, tmp_path / "new" / "other.html").exists()


def test_a_folder_that_is_no_run_is_the_users_mistake(tmp_path):
    with pytest.raises(UserError):
        write_report(tmp_path / "nothing")


def test_a_section_with_nothing_to_say_is_left_out(run, monkeypatch):
    extra = page.Section("extra", "Extra", lambda content: page.Html("" if content.limit else "<p>here</p>"))
    monkeypatch.setattr(page, "SECTIONS", (*page.SECTIONS, extra))
    assert "Extra" not in render(run(), instances=1)
    assert "Extra" in render(run(), instances=0)


def test_the_file_holds_everything_before_any_script_runs(run):
    html = render(run(30))
    assert not re.search(r"<article[^>]* hidden", html)
    assert re.search(r'<form id="filter" hidden', html)


def visible_ids(browser):
    return browser.ask(
        "[...document.querySelectorAll('.instance')].filter(e => e.offsetHeight)"
        ".map(e => e.querySelector('h3').textContent)"
    )


def type_into(browser, field, value):
    """Change a control as a person would, so that the page hears of it."""
    attribute = "checked" if isinstance(value, bool) else "value"
    literal = str(value).lower() if isinstance(value, bool) else f"'{value}'"
    browser.ask(f"document.getElementById('{field}').{attribute} = {literal}")
    browser.ask(f"document.getElementById('{field}').dispatchEvent(new Event('input', {{bubbles: true}}))")


def test_filter_and_pages_in_a_browser(browser, run, tmp_path):
    stored = run(25, skips=[Skip("id-3", "gone", "empty")])
    path = tmp_path / "report.html"
    path.write_text(render(stored), encoding="utf-8")
    browser.open(path)
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
def test_a_phone_shows_the_page_without_sideways_scrolling(browser, run, tmp_path, dark):
    long = "w" * 300
    stored = run(3, ("random", "loo", f"integrated_gradients_{long}"), damaged=(long,))
    stored.card.update(
        command=long, model={"name": long, "hash": "ab" * 64}, spec={long: [long]}, versions={long: long}
    )
    stored.predictions[0] = Prediction("id-0", long, (long,), (1.0,))
    path = tmp_path / "report.html"
    path.write_text(render(stored), encoding="utf-8")
    browser.open(path, width=380, dark=dark)
    assert browser.ask("document.documentElement.scrollWidth") <= 380
    ground = browser.ask("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(18, 21, 25)" if dark else "rgb(247, 247, 245)"), "the style sheet passes its own policy"


def test_without_script_everything_is_there(browser, run, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(render(run(25)), encoding="utf-8")
    browser.open(path, script=False)
    assert len(visible_ids(browser)) == 25
    assert browser.ask("document.getElementById('filter').offsetHeight") == 0
