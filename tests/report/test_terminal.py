"""Explanations in a terminal: plain text from data, no colour where none is wanted."""

import re

import pytest

from support.runs import text_of
from support.tables import printed
from verax.report.terminal import explanation
from verax.types import Highlight, Human, Instance, Prediction, Target


@pytest.mark.parametrize("name", ["[bold red]x[/]", "[/]", "[link=file:///x]y[/link]", ":smile:"])
def test_markup_in_names_is_text_of(name):
    instance = Instance("i", (text_of(name),), name)
    shown = Highlight("i", name, "token", Target(name), instance.units, tuple(1.0 for _ in instance.units))
    assert printed(explanation(shown, instance, Prediction("i", name, (name,), (1.0,)))).count(name) >= 4


def test_control_codes_of_a_terminal_are_shown_not_sent():
    evil = "\x1b[2J\x1b]0;title\x07\x9b31m\u202e"
    instance = Instance("i", (text_of(evil),))
    shown = Highlight("i", evil, "token", Target(evil), instance.units, (1.0,))
    assert not set(printed(explanation(shown, instance))) & set("\x1b\x07\x9b\u202e")


def test_an_explanation_has_words_scores_and_bars():
    instance = Instance("i", (text_of("not bad"), text_of("at all")), human=Human(words=((1,), ())))
    shown = Highlight("i", "loo", "token", Target(), instance.units, (-0.5, 1.0, 0.0, 0.25))
    lines = printed(explanation(shown, instance, Prediction("i", "pos", ("neg", "pos"), (0.1, 0.9)))).splitlines()
    assert lines[0] == "loo explains prediction; predicted pos (0.900)"
    assert [line.rstrip() for line in lines[2:4]] == ["not bad", "at all"]
    rows = [line.split() for line in lines[5:] if re.search(r"\d|0$", line)]
    assert rows == [["not", "-0.5", "-----"], ["bad*", "+1", "##########"], ["at", "0"], ["all", "+0.25", "##"]]


def test_colour_in_a_terminal_and_none_where_it_is_not_wanted(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    instance = Instance("i", (text_of("bad good"),))
    shown = explanation(Highlight("i", "loo", "token", Target(), instance.units, (-1.0, 1.0)), instance)
    coloured = printed(shown, force_terminal=True, color_system="truecolor", no_color=False)
    assert "48;2;242;142;43" in coloured
    assert "48;2;107;174;214" in coloured
    assert "\x1b" not in printed(shown)
    monkeypatch.setenv("NO_COLOR", "1")
    bare = printed(shown, force_terminal=True, color_system="truecolor")
    assert "48;2" not in bare
    assert "\x1b[4mgood" in bare, "the sign is still shown by underline and slant"
    assert "\x1b[3mbad" in bare
