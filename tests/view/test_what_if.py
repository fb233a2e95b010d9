"""What-if: the answers are those of `explain_all`, and the page follows edits and switches."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

from support.accessibility import accessibility_problems
from support.browser import Browser
from support.runs import word_run
from support.viewer import Served, serving
from verax.api import explain_all
from verax.models.black_box import BlackBox
from verax.types import UserError

Wait = Callable[[str], Any]
TEXT = "the dog is not happy"
FOUND = "document.getElementById('found').textContent"


def chances(texts: list[tuple[str, ...]]) -> list[list[float]]:
    """Happy texts are good, unless they contain `not`."""
    good = [0.9 if "happy" in text[0] and "not" not in text[0].split() else 0.2 for text in texts]
    return [[1 - value, value] for value in good]


@pytest.fixture(scope="module")
def model() -> Any:
    return BlackBox(chances, labels=("bad", "good"), name="happy", version="1", mask_text="_")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, model: Any) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("given")
    word_run(folder / "one")
    with serving(folder, model=model) as made:
        yield made


def test_words_are_deleted_before_the_input_is_explained(model: Any) -> None:
    whole = explain_all(model, TEXT, methods=["leave_one_out"])
    reduced = explain_all(model, TEXT, methods=["leave_one_out"], without=[(0, 3)])
    assert (whole.prediction.label, reduced.prediction.label) == ("bad", "good")
    (row,) = reduced.highlights
    assert [unit[0].start for unit in row.units] == [0, 1, 2, 4]
    # of the class predicted for the whole text, `bad`: 0.1 without `not`, 0.8 without `happy` as well
    expected = [0.0, 0.0, 0.0, math.log(0.1 / 0.8)]
    assert row.scores == pytest.approx(expected, abs=1e-6)


def test_words_that_are_not_there_are_rejected(model: Any) -> None:
    with pytest.raises(UserError, match=r"without: .*\(0, 9\)"):
        explain_all(model, TEXT, methods=["leave_one_out"], without=[(0, 9)])


def test_edit_and_switch_off(browser: Browser, served: Served, wait: Wait) -> None:
    browser.open(served.access.url)
    browser.open(f"{served.base}/what-if?{urlencode({'text': TEXT})}")
    assert "predicted bad" in browser.ask(FOUND)
    browser.ask("document.querySelector('[name=off][value=\"0-3\"]').click()")
    wait(f"{FOUND}.includes('with words off')")
    assert "flipped" in browser.ask(FOUND)
    assert "predicted good" in browser.ask(FOUND)
    assert browser.ask("document.querySelector('[name=off][value=\"0-3\"]').checked")
    assert accessibility_problems(browser) == []
    edited = "document.querySelector('textarea')"
    browser.ask(f"{edited}.value = 'a happy cat'; {edited}.dispatchEvent(new Event('input', {{bubbles: true}}))")
    wait(f"!{FOUND}.includes('with words off')")  # the word was one of another text
    assert "predicted good" in browser.ask(FOUND)
    assert browser.ask("document.querySelector('.answer mark.for10').textContent") == "happy"


def test_an_instance_of_a_run_is_where_it_starts(served: Served) -> None:
    page = served.text(f"/what-if?run={served.run('one').removeprefix('/runs/')}&instance=0")
    assert "a small dog runs</textarea>" in page
    assert "an animal moves</textarea>" in page


@pytest.mark.parametrize("query", ["method=x", "off=a&text=b", "off=0-", "off=0-1-2"])
def test_invalid_questions_are_refused(served: Served, query: str) -> None:
    identity = "" if "method" in query else "&" + urlencode({"words_of": words_of(served, "b")})
    answer = served.request(f"/what-if?{query}{identity}" + ("" if "text" in query else "&text=b"))
    assert answer.status == 400
    assert "alarm" in answer.body


def words_of(served: Served, text: str) -> str:
    page = served.text(f"/what-if?{urlencode({'text': text})}")
    return page.split('name="words_of" value="')[1].split('"')[0]


def test_without_a_model_the_page_says_how_to_get_one(tmp_path_factory: pytest.TempPathFactory) -> None:
    with serving(tmp_path_factory.mktemp("empty")) as made:
        answer = made.request("/what-if")
        assert answer.status == 400
        assert "--model" in answer.body
        assert "no run" in made.text("/")
