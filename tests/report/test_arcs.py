"""The picture of interactions: which pairs, where words, brackets and arcs stand, and how a browser shows it."""

import io
import itertools
import math
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from support.markup import parse
from verax.data.text import split_words
from verax.report.arc_layout import WIDTH, lay_out_arcs
from verax.report.arcs import _label_spots, arcs_html, people_html, picture, top_pairs
from verax.report.lines import MARGIN, TEXT, is_rtl, lay_out
from verax.report.notebook import highlight_html
from verax.report.page import render
from verax.report.terminal import explanation, side_by_side
from verax.results.manifest import MethodEntry
from verax.results.render.text_width import cut_to, text_width
from verax.types import Highlight, Human, Instance, Prediction, Span, Target

PREMISE, HYPOTHESIS = "A small red dog runs through the wet grass.", "An animal is moving outdoors."
EVIDENCE = (
    "The tower was designed by a team of engineers (led by a bridge builder) and built within two years as the gate of "
    "a fair. It was at first disliked by many painters of the country for its shape, but it has become a sign of the "
    "town, and some seven million people climb it every year."
)
ARABIC = "يركض الكلب البني الصغير بسرعة في الحديقة القريبة من المنزل"
HEBREW = "הכלב החום רץ מהר New York City ליד הבית הגדול."


def instance(*texts, human=None, name="i"):
    return Instance(name, tuple(split_words(raw) for raw in texts), human=human)


def word_pairs(made):
    """Every word of part 0 with every word of part 1."""
    first, second = (len(part.words) for part in made.parts)
    return tuple((Span(0, a, a + 1), Span(1, b, b + 1)) for a in range(first) for b in range(second))


def interactions(made, scores=None, units=None, kind="token_interaction", method="m"):
    units = word_pairs(made) if units is None else units
    scores = [1.0 - 0.01 * k for k in range(len(units))] if scores is None else scores
    return Highlight(made.id, method, kind, Target(), tuple(units), tuple(scores))


def box_of(plan, part, word):
    """The line that a word stands in and its box."""
    return next((n, b) for n, line in enumerate(plan.lines) if line.part == part for b in line.boxes if b.word == word)


def printed(thing, width=100):
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    console.print(thing)
    return console.file.getvalue()


def numbers_in(path):
    """The points of a path that is made of M, L and C."""
    values = list(map(float, re.findall(r"-?[\d.]+", path)))
    return list(zip(values[::2], values[1::2], strict=True))


# Which pairs


def test_pairs_are_ranked_by_signed_score_and_ties_go_to_the_first():
    made = instance("a b", "x y")
    found = top_pairs(interactions(made, [0.5, -2.0, 1.0, 0.5]), made, 3)
    assert [(pair.rank, pair.words, pair.score) for pair in found] == [
        (1, ("b", "x"), 1.0),
        (2, ("a", "x"), 0.5),
        (3, ("b", "y"), 0.5),
    ]


def test_the_table_and_the_label_tell_the_pairs_in_words():
    made = instance(PREMISE, HYPOTHESIS)
    units = ((Span(0, 1, 4), Span(1, 0, 2)), (Span(0, 4, 5), Span(1, 2, 4)))
    html = picture(interactions(made, [0.25, -1.0], units, "span_interaction"), made, inline=False)
    label = re.search(r'<svg[^>]*role="img" aria-label="([^"]*)"', html)[1]
    assert label == ("The 2 pairs with the highest scores: 1. small red dog ↔ An animal +0.25; 2. runs ↔ is moving -1")
    rows = [re.findall(r"<td>(?:<bdi>)?([^<]*)", row) for row in re.findall(r"<tr class.*?</tr>", html)]
    assert rows == [["1", "small red dog", "An animal", "+0.25"], ["2", "runs", "is moving", "-1"]]


def test_directions_with_scores_of_their_own_are_arrows_side_by_side():
    made = instance("a b", "x")
    units = ((Span(0, 0, 1), Span(1, 0, 1)), (Span(1, 0, 1), Span(0, 0, 1)), (Span(0, 1, 2), Span(1, 0, 1)))
    shown = interactions(made, [1.0, 0.5, 0.25], units)
    html = arcs_html(shown, made, inline=True)
    assert re.findall("<title>([^<]*)", html)[::-1] == ["1. a → x +1", "2. x → a +0.5", "3. b ↔ x +0.25"]
    plan = lay_out_arcs(made, units, bracketed=False)
    assert len({(end.x, end.y) for arc in plan.arcs[:2] for end in arc.ends}) == 4
    heads = re.findall(r'<path d="M([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+)L[^"]*" stroke-width="2">', html)
    (x, y), (back_x, back_y) = plan.arcs[0].ends[1], plan.arcs[1].ends[1]
    assert [tuple(map(float, head)) for head in heads] == [
        pytest.approx((back_x - 4, back_y + 6, back_x, back_y), abs=0.1),
        pytest.approx((x - 4, y - 6, x, y), abs=0.1),
    ]
    assert re.search("rank +from +to +score", printed(explanation(shown, made)))


@pytest.mark.parametrize(("top", "shown"), [(1, 1), (5, 5), (100, 54)])
def test_only_so_many_pairs_are_drawn(top, shown):
    made = instance("a b c d e f g h i", "x y z u v w")
    html = arcs_html(interactions(made), made, inline=True, top=top)
    assert html.count("<title>") == html.count("<circle") == html.count("<bdi>") / 2 == shown
    assert ("the highest of 54" in html) == (shown < 54)


def test_no_pair_at_all_is_said():
    made = instance("", "x")
    empty = interactions(made, (), ())
    assert "no pair of words or spans" in picture(empty, made, inline=False)
    assert "no pair of words or spans" in printed(explanation(empty, made))
    assert "no pair of words or spans" in highlight_html(empty, made)


def test_the_sign_is_told_by_dots_as_well_as_by_colour_and_strength_by_width():
    made = instance("a b c", "x")
    html = arcs_html(interactions(made, [1.0, 0.0, -0.5]), made, inline=True)
    arcs = dict(re.findall(r'<title>(\d)[^<]*</title>.*?<path d="[^"]*" ([^>]*)>', html))
    assert ["dasharray" in arcs[rank] for rank in "123"] == [False, False, True]
    width = {rank: float(re.search(r'stroke-width="([\d.]+)"', arcs[rank])[1]) for rank in "123"}
    assert width["1"] > width["3"] > width["2"]
    inks = re.findall(r'stroke="(#\w+)"', html)
    assert len(set(inks)) == 3


@pytest.mark.parametrize("scores", [[0.0, 0.0], [1e-300, -1e300], [1.7e308, -1.7e308]])
def test_scores_of_any_size_are_drawn(scores):
    made = instance("a b", "x")
    html = arcs_html(interactions(made, scores), made, inline=False)
    assert not re.search(r"\b(nan|inf)\b", html)


# Where things stand


def assert_within(plan):
    assert all(
        MARGIN - 0.01 <= box.left < box.right <= plan.width - MARGIN + 0.01 for line in plan.lines for box in line.boxes
    )
    assert all(top >= 0 and top + TEXT <= plan.height for top in plan.tops)
    for arc in plan.arcs:
        for x, y in [*numbers_in(arc.path), *arc.spots]:
            assert 0 <= x <= plan.width
            assert 0 <= y <= plan.height
        for bracket in arc.brackets:
            assert 0 <= bracket.y <= plan.height


def test_ranks_lie_apart_and_brackets_clear_of_boxes():
    made = instance(" ".join(f"word{k}" for k in range(40)), "one two")
    hub = Span(0, 20, 21)
    within = [(Span(0, k, k + 1), hub) for k in (18, 19, 21, 3, 33)]
    spots = _label_spots(lay_out_arcs(made, within, bracketed=False).arcs)
    assert min(math.dist(a, b) for a, b in itertools.combinations(spots, 2)) > 15, "discs of radius 7.5"
    plan = lay_out_arcs(made, [(Span(0, 0, 2), Span(1, 0, 1)), (Span(0, 1, 3), Span(1, 1, 2))], bracketed=True)
    assert_within(plan)
    for arc in plan.arcs:
        for bracket in arc.brackets:
            away = [max(top - bracket.foot, bracket.foot - top - TEXT) for top in plan.tops]
            assert any(distance >= 4 for distance in away)
            assert not any(top < bracket.y < top + TEXT for top in plan.tops)


texts = st.text(st.sampled_from("abcWil.,()אב中ع \N{GRINNING FACE}"), min_size=1, max_size=150)


def drawn_pairs(draw, made, longest):
    """Some pairs of spans of at most so many words, within parts and across them."""
    spans = [
        Span(number, a, b)
        for number, part in enumerate(made.parts)
        for a in range(len(part.words))
        for b in range(a + 1, min(a + longest, len(part.words)) + 1)
    ]
    one = st.sampled_from(spans) if spans else st.nothing()
    return draw(st.lists(st.tuples(one, one), max_size=8)) if spans else []


@settings(max_examples=60, deadline=None)
@given(first=texts, second=texts, data=st.data())
def test_arcs_end_at_the_middle_of_their_words(first, second, data):
    made = instance(first, second)
    units = drawn_pairs(data.draw, made, 1)
    plan = lay_out_arcs(made, units, bracketed=False)
    assert_within(plan)
    for unit, arc in zip(units, plan.arcs, strict=True):
        (line, box), (other_line, other_box) = (box_of(plan, span.part, span.start) for span in unit)
        feet = (TEXT if line < other_line else 0.0, TEXT if other_line < line else 0.0)
        both = unit[::-1] in units and unit[0] != unit[1]
        beside = [min(3.0, (at.right - at.left) / 4) if both else 0.0 for at in (box, other_box)]
        assert arc.ends[0].y == plan.tops[line] + feet[0]
        assert arc.ends[1].y == plan.tops[other_line] + feet[1]
        assert [abs(arc.ends[0].x - box.middle), abs(arc.ends[1].x - other_box.middle)] == pytest.approx(beside)


@settings(max_examples=60, deadline=None)
@given(first=texts, second=texts, data=st.data())
def test_brackets_cover_the_words_of_their_spans_and_no_other(first, second, data):
    made = instance(first, second)
    units = drawn_pairs(data.draw, made, 30)
    plan = lay_out_arcs(made, units, bracketed=True)
    assert_within(plan)
    for unit, arc in zip(units, plan.arcs, strict=True):
        covered = {
            (plan.lines[at.line].part, box.word)
            for at in arc.stretches
            for box in plan.lines[at.line].boxes
            if box.word is not None and at.left <= box.left and box.right <= at.right
        }
        assert covered == {(span.part, word) for span in unit for word in range(span.start, span.end)}
        assert {(b.left, b.right) for b in arc.brackets} == {(at.left, at.right) for at in arc.stretches}
        assert all(any(b.y == end.y and b.left <= end.x <= b.right for b in arc.brackets) for end in arc.ends)
    brackets = {b[:3] for arc in plan.arcs for b in arc.brackets}
    for one in brackets:
        for other in brackets - {one}:
            assert one[2] != other[2] or one[1] < other[0] or other[1] < one[0], "two brackets overlap"


def test_a_span_that_goes_on_in_the_next_line_has_an_open_bracket():
    made = instance(EVIDENCE, "x")
    plan = lay_out_arcs(made, [(Span(0, 2, 54), Span(1, 0, 1))], bracketed=True)
    upper = [bracket for bracket in plan.arcs[0].brackets if bracket.y < plan.tops[-1] - 20]
    assert [(bracket.left_foot, bracket.right_foot) for bracket in upper] == [
        (True, False),
        (False, False),
        (False, True),
    ]


def test_an_open_bracket_from_right_to_left_opens_to_the_left():
    made = instance(f"{ARABIC} {ARABIC} {ARABIC}", "x")
    plan = lay_out_arcs(made, [(Span(0, 0, 30), Span(1, 0, 1))], bracketed=True)
    upper = [bracket for bracket in plan.arcs[0].brackets if bracket.y < plan.tops[-1] - 20]
    assert [(bracket.left_foot, bracket.right_foot) for bracket in upper] == [(False, True), (True, False)]


def test_long_parts_are_wrapped_in_reading_order():
    made = instance(EVIDENCE, HYPOTHESIS)
    lines, width = lay_out(made.parts, WIDTH)
    assert width <= WIDTH
    assert [line.part for line in lines].count(0) >= 3
    assert [box.word for line in lines if line.part == 0 for box in line.boxes] == [*range(len(made.parts[0].words))]
    for line in lines:
        assert all(before.right <= after.left for before, after in zip(line.boxes, line.boxes[1:], strict=False))
        assert line.boxes[0].shown not in {",", ".", ")"}, "a line does not begin with what closes a word"


def test_arcs_cross_lines_between_their_words():
    made = instance(EVIDENCE, HYPOTHESIS)
    plan = lay_out_arcs(made, word_pairs(made)[:120:7], bracketed=False)
    crossed = 0
    for arc in plan.arcs:
        # A straight piece begins where a curve ends, at the top of a line, and ends at its foot.
        for x, y in re.findall(r"L([\d.]+) ([\d.]+)", arc.path):
            line = next(n for n, top in enumerate(plan.tops) if abs(top + TEXT - float(y)) < 0.1)
            assert not any(box.left < float(x) < box.right for box in plan.lines[line].boxes)
            crossed += 1
    assert crossed > 10


def test_right_to_left_words_run_from_the_right_and_others_among_them_do_not():
    lines, width = lay_out(instance(HEBREW).parts, WIDTH)
    shown = [box.shown for box in sorted(lines[0].boxes, key=lambda box: -box.left)]
    assert shown == ["הכלב", "החום", "רץ", "מהר", "City", "York", "New", "ליד", "הבית", "הגדול", "."]
    assert lines[0].rtl
    assert lines[0].boxes[0].right == width - MARGIN
    lines, _ = lay_out(instance("He said שלום לכם, twice.").parts, WIDTH)
    shown = [box.shown for box in sorted(lines[0].boxes, key=lambda box: box.left)]
    assert shown == ["He", "said", "לכם", "שלום", ",", "twice", "."]


@pytest.mark.parametrize(
    ("raw", "lang", "expected"),
    [(ARABIC, "en", True), ("(1) שלום", "en", True), ("dog", "ar", False), ("123", "ar", True), ("123", "en", False)],
)
def test_the_direction_is_that_of_the_first_letter_else_of_the_language(raw, lang, expected):
    assert is_rtl(split_words(raw, lang)) is expected


def test_one_word_in_a_part_a_blank_part_and_a_word_without_end():
    made = instance("a", "W" * 5000)
    plan = lay_out_arcs(made, word_pairs(made), bracketed=False)
    assert_within(plan)
    assert plan.width <= WIDTH
    assert plan.lines[-1].boxes[0].shown.endswith("…")
    blank = instance("", "x y")
    html = arcs_html(interactions(blank, [1.0], [(Span(1, 0, 1), Span(1, 1, 2))]), blank, inline=False)
    assert "(blank)" in html


def test_what_does_not_fit_is_cut():
    assert cut_to("short", 100, 15) == "short"
    cut = cut_to("m" * 100, 100, 15)
    assert cut.endswith("m…")
    assert text_width(cut, 15) <= 100
    assert text_width("e\u0301", 15) == text_width("e", 15)
    assert text_width("中", 15) == 15


# People


def test_annotated_pairs_are_drawn_below_in_grey():
    human = Human(words=((3,), (1,)), span_pairs=((Span(0, 1, 4), Span(1, 0, 2)),))
    made = instance(PREMISE, HYPOTHESIS, human=human)
    html = highlight_html(interactions(made), made)
    above, below = html.split("Annotated pairs:<")
    assert 'aria-label="Annotated pairs: small red dog ↔ An animal"' in below
    assert len(set(re.findall(r'stroke="(#\w+)"', below))) == 1
    assert not set(re.findall(r'stroke="(#\w+)"', below)) & set(re.findall(r'stroke="(#\w+)"', above))
    assert above.count('stroke="currentColor"') == 2, "gold words are boxed"
    assert people_html(instance("a", "b", human=Human(words=((0,), ()))), inline=True) is None
    many = instance("a b", "x", human=Human(span_pairs=((Span(0, 0, 1), Span(1, 0, 1)),) * 50))
    assert "and 20 more" in people_html(many, inline=True)


def test_a_notebook_needs_no_style_sheet_and_no_script():
    made = instance(PREMISE, HYPOTHESIS, human=Human(span_pairs=((Span(0, 1, 4), Span(1, 0, 2)),)))
    html = highlight_html(interactions(made), made, top=3)
    assert not re.search(r"class=|<script|<style|url\(|href", html)
    assert html.count("<circle") == 3


# The page


@pytest.fixture
def page(run):
    """A run with an explanation by words, one by token pairs and one by span pairs."""

    def make(made, **changes):
        spans = ((Span(0, 0, 2), Span(1, 0, 1)), (Span(0, 1, 3), Span(1, 1, 3)))
        rows = [
            Highlight(made.id, "random", "token", Target(), made.units, (1.0,) * len(made.units)),
            interactions(made, method="pairs"),
            interactions(made, [1.0, -0.5], spans, "span_interaction", "spans"),
        ]
        card = {"methods": [{"label": name, "name": name} for name in ("random", "pairs", "spans")]}
        parts = {"instances": [made], "highlights": rows, "predictions": [], "scores": [], "card": card}
        return run(**(parts | changes))

    return make


def seen(browser):
    """How many ranks the first picture shows, and how many rows its table."""
    shown = "[...document.querySelector('.arcs').querySelectorAll('circle')].filter(e => e.getClientRects().length)"
    rows = "[...document.querySelectorAll('.methods table')[0].rows].filter(e => getComputedStyle(e).display != 'none')"
    return browser.ask(f"{shown}.length"), browser.ask(f"{rows}.length") - 1


def test_the_reader_chooses_how_many_pairs_without_any_script(browser, page, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(render(page(instance(PREMISE, HYPOTHESIS))), encoding="utf-8")
    browser.open(path, script=False)
    assert seen(browser) == (5, 5)
    for top in (1, 3, 10, 5):
        browser.ask(f"document.getElementById('top-{top}').click()")
        assert seen(browser) == (top, top)


def test_a_run_without_interactions_has_no_choice_of_pairs(run, page):
    def choices(made):
        return [node["id"] for node in parse(render(made)).all("input", type="radio")]

    assert choices(run()) == []
    assert choices(page(instance(PREMISE, HYPOTHESIS))) == ["top-1", "top-3", "top-5", "top-10"]


def test_pairs_of_people_are_drawn_once_below_the_methods(page):
    made = instance(PREMISE, HYPOTHESIS, human=Human(span_pairs=((Span(0, 1, 4), Span(1, 0, 2)),)))
    run = page(made)
    pictures = [node["aria-label"] for node in parse(render(run)).all("svg", role="img")]
    assert [label for label in pictures if "small red dog ↔ An animal" in label] == pictures[-1:]
    only_words = page(made, highlights=run.highlights()[:1])
    assert "small red dog ↔ An animal" not in render(only_words)


@pytest.mark.parametrize("texts", [(PREMISE, HYPOTHESIS), (EVIDENCE, HYPOTHESIS), (ARABIC, HEBREW)])
@pytest.mark.parametrize("notebook", [False, True])
def test_words_stand_where_they_were_laid_out_in_every_font(font_browser, assert_texts_fit, page, texts, notebook):
    made = instance(*texts)
    if notebook:
        assert_texts_fit(f"<!doctype html><meta charset=utf-8>{highlight_html(interactions(made), made)}")
    else:
        assert_texts_fit(render(page(made)))
    drawn = font_browser.ask(
        "[...document.querySelector('svg').querySelectorAll('g[lang] text')]"
        ".map(e => [e.textContent, e.getStartPositionOfChar(0).x, e.getEndPositionOfChar(e.textContent.length - 1).x])"
    )
    boxes = [box for line in lay_out(made.parts, WIDTH)[0] for box in line.boxes]
    assert [word for word, _, _ in drawn] == [box.shown for box in boxes]
    for (word, *ends), box in zip(drawn, boxes, strict=True):
        assert sorted(ends) == pytest.approx([box.left, box.right], abs=0.1), word
    sizes = font_browser.ask(
        "[...document.querySelectorAll('svg')].map(e => [e.getBoundingClientRect().width, e.getBBox().width])"
    )
    assert all(0 < drawn <= given for given, drawn in sizes)


def test_fonts_are_scaled_by_little(font_browser, page, tmp_path):
    """By at most a fifth for any English word."""
    path = tmp_path / "report.html"
    path.write_text(render(page(instance(EVIDENCE, HYPOTHESIS))), encoding="utf-8")
    font_browser.open(path)
    ratios = font_browser.ask(
        "[...document.querySelectorAll('.arcs g[lang] text')].map(e => {"
        "const planned = e.getComputedTextLength(); e.removeAttribute('textLength');"
        "return [e.textContent, planned / e.getComputedTextLength()]})"
    )
    words = {word: ratio for word, ratio in ratios if word.isalpha()}
    assert len(words) > 40
    assert {word: ratio for word, ratio in words.items() if not 0.8 < ratio < 1.25} == {}


@pytest.mark.parametrize("dark", [False, True])
def test_words_have_the_ink_of_the_page(browser, page, tmp_path, dark):
    path = tmp_path / "report.html"
    path.write_text(render(page(instance(PREMISE, HYPOTHESIS))), encoding="utf-8")
    browser.open(path, dark=dark)
    ink = browser.ask("getComputedStyle(document.querySelector('.arcs g[lang] text')).fill")
    assert ink == ("rgb(230, 233, 237)" if dark else "rgb(29, 34, 41)")


def test_a_phone_scrolls_the_picture_and_not_the_page(browser, page, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(render(page(instance(EVIDENCE, HYPOTHESIS))), encoding="utf-8")
    browser.open(path, width=380)
    assert browser.ask("document.documentElement.scrollWidth") <= 380


# How much and how fast


def test_two_thousand_pairs_are_quick_and_small():
    made = instance(EVIDENCE, EVIDENCE)
    shown = interactions(made)
    assert len(shown.units) > 2000
    start = time.process_time()
    html = arcs_html(shown, made, inline=False)
    assert time.process_time() - start < 0.5
    assert len(html.encode()) < 18_750, "800 of them would make a page of more than 15 MB"


# The terminal


def test_the_terminal_lists_the_first_ten_pairs():
    made = instance(PREMISE, HYPOTHESIS)
    units = word_pairs(made)
    scores = [float(k) for k in range(len(units))]
    said = printed(explanation(interactions(made, scores), made, Prediction("i", "yes", ("yes",), (1.0,))))
    assert said.startswith("m explains prediction; predicted yes (1.000)")
    rows = [line.split() for line in said.splitlines() if re.match(r" *\d", line)]
    assert len(rows) == 10
    assert rows[0] == ["1", ".", ".", "+59"]
    assert rows[1] == ["2", ".", "outdoors", "+58"]
    assert "The highest 10 of 60 pairs." in said


def test_side_by_side_words_are_in_columns_and_pairs_in_tables_of_their_own():
    made = instance("a b", "x")
    token = Highlight("i", "words", "token", Target(), made.units, (1.0, 0.5, -1.0))
    said = printed(
        side_by_side(
            [(token, MethodEntry(label="words")), (interactions(made, method="pairs"), MethodEntry(label="pairs"))],
            made,
            Prediction("i", "y", ("y",), (1,)),
            [],
        )
    )
    head = next(line for line in said.splitlines() if line.startswith("word"))
    assert head.split() == ["word", "words"]
    assert re.search(r"pairs\n *rank +words +words +score", said)
    pairs = [(interactions(made), MethodEntry(label="m"))]
    only = printed(side_by_side(pairs, made, Prediction("i", "y", ("y",), (1,)), []))
    assert "Each column" not in only


def test_control_codes_in_words_are_not_sent_to_the_terminal():
    evil = "\x1b[2J\x9b31m\u202e"
    made = Instance("i", (split_words(f"{evil}a"), split_words(evil + "[bold]")))
    assert not set(printed(explanation(interactions(made), made))) & set("\x1b\x9b\u202e")
