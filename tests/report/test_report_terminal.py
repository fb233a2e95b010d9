"""The terminal: plain text from data, no colour where none is wanted, whole numbers in a narrow window."""

import io
import re

import pytest
from rich.console import Console

from verax.report.terminal import comparison, explanation, leaderboard
from verax.types import Comparison, Highlight, Human, Instance, Prediction, Summary, Target

ROWS = [
    Summary("random", "comp", 0.1, 0.05, 0.15, 200, 0, 0.1, None, None, True, "b"),
    Summary("integrated_gradients (steps=100)", "comp", 0.512, 0.4, 0.6, 197, 3, 0.1, 0.0001, 0.0002, True, "a"),
    Summary("leave_one_out", "comp", 0.5, 0.41, 0.59, 200, 0, 0.1, 0.0001, 0.0002, True, "a"),
]


def printed(thing, width=100, **options):
    console = Console(file=io.StringIO(), width=width, **({"force_terminal": False} | options))
    console.print(thing)
    return console.file.getvalue()


def test_leaderboard_is_ranked_and_marks_the_best_group():
    lines = printed(leaderboard(ROWS)).splitlines()
    assert lines[0] == "comp (higher is better)"
    rows = [line.split() for line in lines if "[" in line]
    assert [row[:2] for row in rows] == [["◆", "integrated_gradients"], ["◆", "leave_one_out"], ["random", "0.100"]]
    assert rows[1] == ["◆", "leave_one_out", "0.500", "[0.410,", "0.590]", "<", "0.001", "200", "0", "a"]


@pytest.mark.parametrize("width", [20, 40, 60, 79, 80, 100])
def test_no_number_is_cut_in_a_narrow_window(width):
    shown = printed(leaderboard(ROWS), width=width)
    assert "…" not in shown
    together = re.sub(r"\s+", "", shown)
    for piece in ("0.512", "[0.400,0.600]", "<0.001", "197", "leave_one_out"):
        assert piece in together
    assert all(len(line) <= width for line in shown.splitlines())


@pytest.mark.parametrize("name", ["[bold red]x[/]", "[/]", "[link=file:///x]y[/link]", ":smile:"])
def test_markup_in_names_is_text(name, text):
    row = Summary(name, name, 0.5, 0.4, 0.6, 3, 0, None, None, None)
    assert printed(leaderboard([row])).count(name) == 2
    instance = Instance("i", (text(name),), name)
    shown = Highlight("i", name, "token", Target(name), instance.units, tuple(1.0 for _ in instance.units))
    assert printed(explanation(shown, instance, Prediction("i", name, (name,), (1.0,)))).count(name) >= 4
    assert name in printed(comparison([Comparison(name, name, 0.1, 0.2, 3, 0.5, 0.5)], name, name))


def test_control_codes_of_a_terminal_are_shown_not_sent(text):
    evil = "\x1b[2J\x1b]0;title\x07\x9b31m\u202e"
    instance = Instance("i", (text(evil),))
    shown = Highlight("i", evil, "token", Target(evil), instance.units, (1.0,))
    for thing in (
        explanation(shown, instance),
        leaderboard([Summary(evil, evil, 0.5, None, None, 3, 0, None, None, None)]),
        comparison([Comparison(evil, evil, 0.1, 0.2, 3, 0.5, 0.5)], evil, evil),
    ):
        assert not set(printed(thing)) & set("\x1b\x07\x9b\u202e")


def test_an_explanation_has_words_scores_and_bars(text):
    instance = Instance("i", (text("not bad"), text("at all")), human=Human(words=((1,), ())))
    shown = Highlight("i", "loo", "token", Target(), instance.units, (-0.5, 1.0, 0.0, 0.25))
    lines = printed(explanation(shown, instance, Prediction("i", "pos", ("neg", "pos"), (0.1, 0.9)))).splitlines()
    assert lines[0] == "loo explains prediction; predicted pos (0.900)"
    assert [line.rstrip() for line in lines[2:4]] == ["not bad", "at all"]
    rows = [line.split() for line in lines[5:] if re.search(r"\d|0$", line)]
    assert rows == [["not", "-0.5", "-----"], ["bad*", "+1", "##########"], ["at", "0"], ["all", "+0.25", "##"]]


def test_colour_in_a_terminal_and_none_where_it_is_not_wanted(text, monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    instance = Instance("i", (text("bad good"),))
    shown = explanation(Highlight("i", "loo", "token", Target(), instance.units, (-1.0, 1.0)), instance)
    coloured = printed(shown, force_terminal=True, color_system="truecolor", no_color=False)
    assert "48;2;242;142;43" in coloured
    assert "48;2;107;174;214" in coloured
    assert "\x1b" not in printed(shown)
    monkeypatch.setenv("NO_COLOR", "1")
    bare = printed(shown, force_terminal=True, color_system="truecolor")
    assert "48;2" not in bare
    assert "\x1b[4mgood" in bare, "the sign is still told by underline and slant"
    assert "\x1b[3mbad" in bare


def test_comparison_says_which_way_it_went():
    rows = [
        Comparison("up", "comp", 0.1, 0.2, 50, 0.001, 0.002),
        Comparison("same", "comp", 0.1, 0.11, 50, 0.4, 0.8),
        Comparison("down", "suff", 0.1, 0.2, 50, 0.001, 0.002, higher_is_better=False),
        Comparison("lost", "suff", None, None, 0, None, None, higher_is_better=False),
    ]
    said = {
        line.split()[0]: line.split("  ")[-1].strip() for line in printed(comparison(rows)).splitlines() if line.strip()
    }
    assert (said["up"], said["same"], said["down"], said["lost"]) == ("better", "not told apart", "worse", "unknown")


def test_nothing_to_show_is_said():
    assert "No scores" in printed(leaderboard([]))
    assert "share no method" in printed(comparison([]))


def test_where_nothing_beats_chance_it_is_said():
    rows = [Summary(name, "m", 0.5, 0.4, 0.6, 5, 0, 0.5, p, p, True, "a") for name, p in (("x", 0.4), ("random", None))]
    said = "No method can be told apart from random here."
    assert said in printed(leaderboard(rows))
    assert said not in printed(leaderboard([*rows, Summary("y", "m", 0.9, 0.8, 1.0, 5, 0, 0.5, 0.01, 0.01, True, "b")]))
