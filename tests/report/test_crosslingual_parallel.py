"""Parallel sentences: where words and links stand, and what a browser makes of a choice of language and method."""

import itertools
import json
import re
import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import many_languages as made
from verax.data.text import split_words
from verax.report.content import Content
from verax.report.lines import TEXT
from verax.report.page import render
from verax.report.parallel import PAIRS, pairs_of
from verax.report.parallel_layout import BAND, WIDTH, cut, lay_out_parallel, pieces_of
from verax.report.parallel_plot import Scored, drawing
from verax.types import Alignment, Highlight, Instance, Target

ARABIC = "كان القارب على الماء"
URDU = "کشتی شام کو پانی پر تھی"
LONG = " ".join(f"word{k}" for k in range(60))


def instance(*texts, lang="en", name="x"):
    return Instance(name, tuple(split_words(raw, lang) for raw in texts), lang=lang)


def numbers(*sides):
    return [[box.word for box in row.boxes if box.word is not None] for row in sides]


def test_the_translation_stands_below_its_reference_part_by_part():
    plan = lay_out_parallel(instance("a b", "c"), instance("d e f", "g", lang="de"), ())
    assert len(plan.rows) == 2
    assert [numbers(*pair) for pair in plan.rows] == [[[0, 1], [0, 1, 2]], [[2], [3]]]
    for above, below in plan.rows:
        assert below.top == above.top + TEXT + BAND
    assert plan.rows[1][0].top > plan.rows[0][1].top + TEXT
    assert plan.height > plan.rows[1][1].top + TEXT


@pytest.mark.parametrize(("raw", "lang"), [(ARABIC, "ar"), (URDU, "ur")])
def test_words_of_a_text_from_right_to_left_run_from_right_to_left(raw, lang):
    plan = lay_out_parallel(instance("the boat was on the water"), instance(raw, lang=lang), ())
    ((above, below),) = plan.rows
    assert (above.rtl, below.rtl, below.lang) == (False, True, lang)
    assert [box.left for box in above.boxes] == sorted(box.left for box in above.boxes)
    assert [box.left for box in below.boxes] == sorted((box.left for box in below.boxes), reverse=True)
    assert max(box.right for box in below.boxes) == pytest.approx(plan.width - 10)
    assert min(box.left for box in above.boxes) == pytest.approx(10)


def ends_of(strand):
    """Where a curve begins and ends."""
    found = [float(value) for value in re.findall(r"[\d.]+", strand.path)]
    return (found[0], found[1]), (found[-2], found[-1])


def test_links_join_the_words_and_stand_apart_where_a_word_has_several():
    links = ((0, 0), (0, 1), (1, 2), (2, 2))
    plan = lay_out_parallel(instance("one two three"), instance("eins zwei drei", lang="de"), links)
    ((above, below),) = plan.rows
    assert [strand.ends for strand in plan.strands] == list(links)
    assert plan.marks == ()
    for strand in plan.strands:
        (x, y), (to_x, to_y) = ends_of(strand)
        first, second = above.boxes[strand.ends[0]], below.boxes[strand.ends[1]]
        assert first.left < x < first.right
        assert second.left < to_x < second.right
        assert above.top + TEXT <= y < to_y <= below.top
    (x_first, _), _ = ends_of(plan.strands[0])
    (x_second, _), _ = ends_of(plan.strands[1])
    assert x_first < x_second, "the link to the left leaves on the left: they do not cross"
    _, (from_left, _) = ends_of(plan.strands[2])
    _, (from_right, _) = ends_of(plan.strands[3])
    assert from_left < from_right


def test_long_texts_are_cut_into_stanzas_that_fit_where_few_links_are_cut():
    links = tuple((k, k) for k in range(60))
    plan = lay_out_parallel(instance(LONG), instance(LONG, lang="de"), links)
    assert len(plan.rows) > 3
    assert plan.width <= WIDTH
    assert len(plan.strands) == 60, "words in the same order: no link leads to another stanza"
    assert plan.marks == ()


def test_a_short_text_waits_for_a_long_one_so_that_links_stay_whole():
    links = tuple((k, k) for k in range(40))
    short, long = " ".join(f"w{k}" for k in range(40)), " ".join(f"longerword{k}" for k in range(40))
    plan = lay_out_parallel(instance(short), instance(long, lang="de"), links)
    assert plan.marks == ()
    assert [numbers(*pair)[0] for pair in plan.rows] == [numbers(*pair)[1] for pair in plan.rows]


def test_a_link_to_another_stanza_has_its_number_at_both_ends():
    links = (*((k, k) for k in range(60)), (0, 59))
    plan = lay_out_parallel(instance(LONG), instance(LONG, lang="de"), links)
    assert len(plan.strands) == 60
    assert [mark.shown for mark in plan.marks] == ["1", "1"]
    first, second = plan.marks
    assert first.y < second.y
    assert first.x == pytest.approx(plan.rows[0][0].boxes[0].middle)
    assert second.x == pytest.approx(plan.rows[-1][1].boxes[-1].middle)


def test_many_links_between_parts_take_no_longer_than_there_are():
    parts, words = 3, 50  # a part is one stanza
    text = " ".join("a" * words)
    links = tuple(itertools.product(range(parts * words), repeat=2))
    began = time.process_time()
    plan = lay_out_parallel(instance(*[text] * parts), instance(*[text] * parts, lang="de"), links)
    took = time.process_time() - began
    assert len(plan.rows) == parts
    assert len(plan.strands) == parts * words**2
    assert sum(mark.shown.count(",") + 1 for mark in plan.marks) == 2 * (len(links) - len(plan.strands))
    assert took < 1.5, "a look at all links for each of them takes far longer"


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.text("abcdefghij", min_size=1, max_size=30), min_size=1, max_size=70),
    st.lists(st.text("klmnopqrst", min_size=1, max_size=30), min_size=1, max_size=70),
    st.lists(st.tuples(st.integers(0, 69), st.integers(0, 69)), max_size=40, unique=True),
)
def test_no_word_is_lost_and_no_line_is_too_long(above, below, links):
    one, other = instance(" ".join(above)), instance(" ".join(below), lang="de")
    pieces = pieces_of(one.parts[0], 0), pieces_of(other.parts[0], 0)
    stanzas = cut(*pieces, tuple(links))
    for side in (0, 1):
        assert [piece for stanza in stanzas for piece in stanza[side]] == pieces[side]
    plan = lay_out_parallel(one, other, tuple(links))
    assert plan.width <= WIDTH + 1e-6
    drawn = {strand.ends for strand in plan.strands}
    known = {(a, b) for a, b in links if a < len(above) and b < len(below)}
    assert drawn <= known
    assert bool(plan.marks) == (drawn != known)
    for pair in plan.rows:
        for row in pair:
            spans = sorted((box.left, box.right) for box in row.boxes)
            assert all(a[1] <= b[0] + 1e-6 for a, b in itertools.pairwise(spans))


def test_colours_and_weights_of_words_and_links():
    sides = (Scored({0: 1.0, 1: -0.5, 2: 0.01}), Scored({0: 2.0, 1: -2.0}))
    links = ((0, 0), (1, 1), (0, 1), (2, 0))
    svg = drawing(instance("a b c"), instance("x y z", lang="de"), links, sides)
    words = re.findall(r'<g class="scored (\w+)" data-at="(\d) (\d)"><title>([^<]*)', svg)
    assert words == [
        ("for", "0", "0", "+1"),
        ("against", "0", "1", "-0.5"),
        ("neither", "0", "2", "+0.01"),
        ("for", "1", "0", "+2"),
        ("against", "1", "1", "-2"),
        ("unscored", "1", "2", "not scored"),
    ]
    drawn = re.findall(r'class="link (\w+)" stroke-opacity="([\d.]+)" data-ends="([\d ]+)"><title>([^<]*)', svg)
    assert drawn == [
        ("for", "1.00", "0 0", "a ↔ x"),
        ("against", "0.62", "1 1", "b ↔ y"),
        ("neither", "1.00", "0 1", "a ↔ y"),
        ("neither", "0.25", "2 0", "c ↔ x"),
    ]
    assert 'aria-label="Words that belong together: a ↔ x; b ↔ y; a ↔ y; c ↔ x."' in svg
    assert re.findall(r'fill-opacity="([\d.]+)"', svg) == ["0.60", "0.30", "0.00", "0.60", "0.60", "0.00"]


def test_the_direction_of_writing_is_said():
    svg = drawing(instance("boat"), instance(ARABIC, lang="ar"), (), (Scored({}), Scored({})))
    assert 'direction="ltr" dir="ltr" lang="en"' in svg
    assert 'direction="rtl" dir="rtl" lang="ar"' in svg
    assert "no words are linked" in svg
    both = drawing(instance(URDU, lang="ur"), instance(ARABIC, lang="ar"), (), (Scored({}), Scored({})))
    assert both.startswith('<div class="scroll" dir="rtl">')


SCORES = {label: [(place + 1) * (k - 1.5) for k in range(4)] for place, label in enumerate(made.LABELS)}
LINKS = {"embedding": ((0, 0), (1, 1), (3, 3)), "random": ((0, 3),)}


def explained(instances, scores=None):
    return [
        Highlight(one.id, label, "token", Target(), one.units, tuple(values))
        for one in instances
        for label, values in (scores or SCORES).items()
    ]


def aligned(instances, aligners=("embedding", "random")):
    return [
        Alignment(one.id, f"{one.parallel_id}-en", aligner, LINKS[aligner])
        for aligner in aligners
        for one in instances
        if one.lang != "en"
    ]


@pytest.fixture
def write(tmp_path):
    """Store a run of pairs; explanations and alignments can be others."""

    def store(groups=4, instances=None, highlights=None, alignments=None, **changes):
        instances = made.instances(groups=groups) if instances is None else instances
        highlights = explained(instances) if highlights is None else highlights
        alignments = aligned(instances) if alignments is None else alignments
        folder = tmp_path / f"run-{len(list(tmp_path.iterdir()))}"
        return made.write(folder, instances=instances, others=[*highlights, *alignments], **changes)

    return store


def pairs(run, limit=100):
    return pairs_of(Content(run, run.instances.ids[:limit]), run.study("crosslingual"))


def test_pairs_are_those_of_the_reference_with_the_links_of_the_tables(write):
    run = write()
    found = pairs(run, 2)
    assert [(pair.reference.id, pair.translation.id) for pair in found] == [
        ("p0-en", "p0-de"),
        ("p0-en", "p0-es"),
        ("p1-en", "p1-de"),
        ("p1-en", "p1-es"),
    ]
    assert {pair.alignment.links for pair in found} == {((0, 0), (1, 1), (3, 3))}
    assert {pair.alignment for pair in pairs(write(alignments=[]))} == {None}
    assert len(pairs(write(groups=40), 1000)) == PAIRS
    assert pairs(run, 0) == []


@pytest.mark.parametrize(
    ("labels", "chosen"),
    [
        (("random", "embedding(layer=1)", "embedding"), "embedding"),
        (("random", "given"), None),
        (("random",), "random"),
    ],
)
def test_links_are_those_of_the_aligner_of_the_tables_or_of_the_only_one(write, labels, chosen):
    rows = [Alignment("p0-de", "p0-en", label, ((0, place),)) for place, label in enumerate(labels)]
    alignment = pairs(write(alignments=rows), 1)[0].alignment
    assert (alignment and alignment.aligner) == chosen


@pytest.mark.parametrize(
    ("parameters", "links"),
    [
        ({}, ((0, 0),)),
        ({"align_parts": "joint"}, ((0, 1),)),
        ({"aligner": {"embedding": {"layer": 1}}}, ((0, 2),)),
        ({"aligner": {"embedding": {"layer": 1}}, "align_parts": "joint"}, ((0, 3),)),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_variants_of_an_aligner_are_distinguished_by_parameters(write, parameters, links, turned):
    labels = ("embedding", "embedding, parts joint", "embedding(layer=1)", "embedding(layer=1), parts joint")
    rows = [Alignment("p0-de", "p0-en", label, ((0, place),)) for place, label in enumerate(labels)]
    metrics = [made.metric(made.FAITHFULNESS, **({"aligner": {"embedding": made.EMBEDDING}} | parameters))]
    run = write(alignments=rows[::-1] if turned else rows, metrics=metrics)
    assert pairs(run, 1)[0].alignment.links == links


@pytest.mark.parametrize("turned", [False, True])
def test_links_with_an_input_of_another_reference_language_are_not_drawn(write, turned):
    rows = [
        Alignment("p0-de", "p0-en", "embedding", ((0, 1),)),
        Alignment("p0-de", "p0-es", "embedding", ((0, 2),)),
        Alignment("p0-de", "p0-es", "random", ((0, 3),)),
    ]
    assert pairs(write(alignments=rows[::-1] if turned else rows), 1)[0].alignment.links == ((0, 1),)


def test_a_pair_that_could_not_be_aligned_says_why(write):
    rows = [Alignment("p0-de", "p0-en", "embedding", (), "empty", "no word")]
    assert "not aligned: empty" in render(write(alignments=rows), instances=1)


def test_an_input_without_its_reference_or_translation_is_left_out(write):
    fewer = [one for one in made.instances(groups=4) if one.id not in {"p0-en", "p1-de"}]
    found = [pair.translation.id for pair in pairs(write(instances=fewer))]
    assert found == ["p1-es", "p2-de", "p2-es", "p3-de", "p3-es"]


def test_the_most_faithful_method_is_shown_first_and_the_script_knows_all(write):
    html = render(write(), instances=1)
    figure = re.search(r'<figure class="pair".*?</figure>', html, re.DOTALL)[0]
    assert "saliency (l2), loss" in figure
    assert "ρ 0.900" in figure
    assert "predicted YES, gold yes" in figure
    told = json.loads(re.search(r'data-painted="([^"]*)"', figure)[1].replace("&quot;", '"'))
    assert len(told) == len(made.LABELS)
    assert told[1] == [[[-3.0, -1.0, 1.0, 3.0], [-3.0, -1.0, 1.0, 3.0]], "ρ 1.000", True]
    assert "alignment not recorded" in render(write(alignments=[]), instances=1)


def test_the_random_explanation_is_never_shown_first(write):
    scores = made.all_scores()
    strong = [replace(s, value=1.0) if s.method == made.LABELS[-1] and s.value is not None else s for s in scores]
    html = render(write(scores=strong))
    assert "saliency (l2), loss" in re.search(r'<span class="method".*?</span>', html)[0]


CHOOSE = """(() => {{
  const choice = document.getElementById('parallel-{0}');
  choice.value = {1!r};
  choice.dispatchEvent(new Event('input'));
}})()"""
SEEN = "[...document.querySelectorAll('.pair')].filter(p => !p.hidden).map(p => p.dataset.lang).join(' ')"
LOOKS = (
    "[...document.querySelectorAll('.pair:not([hidden]) svg')[0].querySelectorAll('.scored, .link')]"
    ".map(e => e.getAttribute('class').split(' ')[1] + ' ' + (e.querySelector('rect') ? "
    "e.querySelector('rect').getAttribute('fill-opacity') + ' ' + e.querySelector('title').textContent : "
    "e.getAttribute('stroke-opacity')))"
)


@pytest.fixture
def page(write, tmp_path):
    """A run in which the random method scores the other way round."""
    random = SCORES[made.LABELS[-1]]
    turned = SCORES | {made.LABELS[-1]: [*(-2 * score for score in random[:3]), 0.0]}
    path = tmp_path / "report.html"
    path.write_text(render(write(highlights=explained(made.instances(groups=4), turned))), encoding="utf-8")
    return path


def test_choosing_a_language_and_a_method_repaints_the_pairs(browser, page):
    browser.open(page)
    assert browser.ask("document.getElementById('parallel-choice').hidden") is False
    assert browser.ask(SEEN) == "de de de de"
    before = browser.ask(LOOKS)
    browser.ask(CHOOSE.format("language", "=es"))
    assert browser.ask(SEEN) == "es es es es"
    browser.ask(CHOOSE.format("language", ""))
    assert browser.ask(SEEN) == "de es de es de es de es"
    browser.ask(CHOOSE.format("method", "5"))
    assert browser.ask("document.querySelector('.pair .method').textContent") == "random"
    assert browser.ask("document.querySelector('.pair .value').textContent") == "ρ 0.100"
    links, words = browser.ask(LOOKS)[:3], browser.ask(LOOKS)[3:]
    # scores 18, 6, -6 and 0: shares 1, 0.33, 0.33 and 0
    assert words[:4] == ["for 0.60 +18", "for 0.18 +6", "against 0.18 -6", "neither 0.00 0"]
    assert links == ["for 1.00", "for 0.32", "neither 0.25"]
    browser.ask(CHOOSE.format("method", "3"))
    assert browser.ask(LOOKS) == before, "the script paints as the page was painted"


def test_without_the_script_all_pairs_are_seen_and_nothing_can_be_chosen(browser, page):
    browser.open(page, script=False)
    shown = browser.call("DOM.getDocument")  # scripts of the page are off; the protocol still answers
    assert shown
    html = page.read_text("utf-8")
    assert re.search(r'<form id="parallel-choice"[^>]* hidden', html)
    assert html.count('class="pair"') == 8
    assert not re.search(r'<figure class="pair"[^>]* hidden', html)


def test_pointing_at_a_word_brings_out_its_links(browser, page):
    browser.open(page)
    word = "document.querySelector('.pair [data-at=\"0 1\"] text')"
    point = f"{word}.dispatchEvent(new PointerEvent('{{}}', {{{{bubbles: true}}}}))"
    met = "[...document.querySelectorAll('.pair .met')].map(e => e.dataset.ends)"
    browser.ask(point.format("pointerover"))
    assert browser.ask(met) == ["1 1"]
    browser.ask(point.format("pointerout"))
    assert browser.ask(met) == []


def test_the_words_of_an_arabic_pair_stand_in_their_order_in_every_font(font_browser, assert_texts_fit):
    pair = [instance("the boat was on the water", name="a"), instance(ARABIC, lang="ar", name="b")]
    svg = drawing(pair[0], pair[1], ((1, 1), (5, 3)), (Scored({1: 1.0}), Scored({1: 1.0})))
    assert_texts_fit(f"<!doctype html><meta charset=utf-8><body>{svg}")
    lefts = font_browser.ask(
        "[...document.querySelectorAll('[data-at^=\"1 \"] text')].map(e => e.getBoundingClientRect().x)"
    )
    assert lefts == sorted(lefts, reverse=True)
    assert len(lefts) == 4


def test_words_stay_within_their_colours_in_every_font(font_browser, assert_texts_fit):
    long = " ".join(["a boat with seven hundred gulls follows the wind"] * 6)
    above, below = instance(long, name="a"), instance(long, name="b")
    links = tuple((word, 53 - word) for word in range(54))
    scores = Scored(dict.fromkeys(range(54), 1.0))
    assert_texts_fit(f"<!doctype html><meta charset=utf-8><body>{drawing(above, below, links, (scores, scores))}")
    outside = font_browser.ask(
        "[...document.querySelectorAll('.scored')].map(e => [e.querySelector('text'), e.querySelector('rect')]"
        ".map(part => part.getBoundingClientRect())).filter(([text, box]) => text.left < box.left - 0.6 ||"
        " box.right + 0.6 < text.right).length"
    )
    assert outside == 0


def test_the_page_has_the_sections_only_where_languages_were_compared(write):
    html = render(write())
    assert html.index('id="leaderboard"') < html.index('id="crosslingual"') < html.index('id="parallel"')
    assert html.index('id="parallel"') < html.index('id="instances"')
    other = render(write(metrics=[made.metric("comprehensiveness")]))
    assert 'id="crosslingual"' not in other
    assert 'id="parallel"' not in other


def test_nothing_is_wider_than_a_phone(write, browser, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(render(write()), encoding="utf-8")
    for width in (400, 1280):
        browser.open(path, width=width)
        assert browser.ask("document.documentElement.scrollWidth") <= width


EVIL = "\"><img src=x onerror=document.documentElement.setAttribute('ran',1)>\u202e(</title></svg><script>x)"


def test_hostile_languages_labels_and_words_are_text(write, browser, tmp_path):
    path = tmp_path / "report.html"
    other = {"en": f"en {EVIL}", "de": f"de {EVIL}", "es": f"es {EVIL}"}
    evil = made.text_of(f"{EVIL.replace(' ', '_')} word {EVIL.replace(' ', '_')} end", EVIL)
    instances = [replace(i, lang=other[i.lang], parts=(evil,), label=EVIL) for i in made.instances(groups=4)]
    renamed = {label: f"{label} {EVIL}" for label in made.LABELS}
    methods = [m | {"label": renamed[m["label"]], "name": f"{m['name']} {EVIL}", "target": EVIL} for m in made.METHODS]
    metrics = [
        m | {"parameters": {"reference_lang": other["en"], "aligner": {f"{EVIL} {place}": {}}}}
        for place, m in enumerate(made.METRICS)
    ]
    scores = [
        replace(s, method=renamed[s.method], reason=EVIL if s.reason else None, detail=EVIL) for s in made.all_scores()
    ]
    run = write(
        instances=instances,
        methods=methods,
        metrics=metrics,
        scores=scores,
        highlights=explained(instances, {renamed[label]: values for label, values in SCORES.items()}),
        alignments=[Alignment(one.id, f"{one.parallel_id}-en", EVIL, ((0, 0), (2, 3))) for one in instances],
    )
    path.write_text(render(run), encoding="utf-8")
    browser.open(path)
    assert browser.ask("document.documentElement.hasAttribute('ran')") is False
    assert browser.ask("document.images.length") == 0
    assert browser.ask("document.scripts.length") == 1
    assert browser.requests == [path.as_uri()]
    assert browser.ask("document.querySelectorAll('.pair').length") == 8
    # choosing repaints with hostile names, and still nothing runs
    browser.ask(CHOOSE.format("method", "1"))
    assert browser.ask("document.documentElement.hasAttribute('ran')") is False
    assert "<img src=x" in browser.ask("document.querySelector('.pair .method').textContent")


@pytest.mark.parametrize("width", [400, 1280])
def test_labels_fit_in_every_font(write, assert_texts_fit, width):
    assert_texts_fit(render(write()), width)
