"""The picture of an explanation: colour, line, title and gold mark of each word."""

import re
from pathlib import Path

import pytest

from support.markup import parse
from verax.report.arcs import INKS, picture
from verax.report.notebook import highlight_html, side_by_side_html
from verax.report.words import STYLES, level, shade, style_sheet, words_html
from verax.results.manifest import MethodEntry
from verax.results.render.markup import visible
from verax.run.card import method_entry
from verax.run.parameters import from_config
from verax.types import Highlight, Human, Instance, Prediction, Skip, Span, Target

CSS = (Path(__file__).parents[2] / "src/verax/report/assets/report.css").read_text()


def highlight(instance, scores, kind="token", units=None):
    return Highlight(instance.id, "m", kind, Target(), units or instance.units, tuple(scores))


def marks(html):
    return re.findall(r'<(mark|span) title="([^"]*)"(?: class="([^"]*)")?>([^<]*)</', html)


def test_each_word_has_its_colour_and_its_exact_score(text):
    instance = Instance("i", (text("not bad at all"),), human=Human(words=((1,),)))
    html = picture(highlight(instance, [-0.123456, 1.0, 0.0, 0.5]), instance, inline=False)
    assert marks(html) == [
        ("mark", "-0.123456", "word against1", "not"),
        ("mark", "+1, annotated", "word gold for10", "bad"),
        ("span", "0", "", "at"),
        ("mark", "+0.5", "word for5", "all"),
    ]


def test_parts_stand_on_their_own_lines_in_their_own_direction(text):
    instance = Instance("i", (text("one, two"), text("שלום עולם", lang="he")))
    html = words_html(None, instance, inline=False)
    assert re.findall(r'<div dir="auto" lang="(\w+)" class="part">([^<]*)</div>', html) == [
        ("en", "one, two"),
        ("he", "שלום עולם"),
    ]


def test_what_stands_between_words_is_kept(text):
    from verax.types import Text

    part = Text("  (a)  <b>\x00 ", ("a", "b"), ((3, 4), (8, 9)))
    instance = Instance("i", (part,))
    html = words_html(highlight(instance, [1.0, -1.0]), instance, inline=False)
    assert re.sub(r"<[^>]*>", "", html).replace("&lt;", "<").replace("&gt;", ">") == visible(part.raw)


def test_a_word_without_a_score_says_so_and_a_blank_part_too(text):
    instance = Instance("i", (text("kept cut"), text("   ")))
    html = words_html(highlight(instance, [1.0], units=((Span(0, 0, 1),),)), instance, inline=False)
    assert ("mark", "not scored", "word unscored", "cut") in marks(html)
    assert "<em>(blank)</em>" in html


def test_a_phrase_colours_all_its_words(text):
    instance = Instance("i", (text("a b c"),))
    html = words_html(highlight(instance, [2.0], units=((Span(0, 0, 2),),)), instance, inline=False)
    assert [word for _, title, _, word in marks(html) if title == "+2"] == ["a", "b"]


def test_all_zero_scores_colour_nothing(text):
    instance = Instance("i", (text("a b"),))
    assert "<mark" not in words_html(highlight(instance, [0.0, 0.0]), instance, inline=False)


@pytest.mark.parametrize("strongest", [1e-300, 1.0, 1.7e308])
def test_levels_hold_for_any_size(strongest):
    assert [level(strongest * share, strongest) for share in (0, 0.04, 0.5, 1)] == [0, 0, 5, 10]


def test_the_sign_is_told_by_line_style_as_well_as_by_colour():
    for step in range(1, 11):
        assert " solid " in STYLES[f"for{step}"]
        assert " dotted " in STYLES[f"against{step}"]
        assert " solid " in STYLES[f"size{step}"]
    widths = [float(re.search(r"border-bottom:([\d.]+)px", STYLES[f"for{s}"])[1]) for s in range(1, 11)]
    assert widths == sorted(set(widths))
    assert shade(1, 2) == "for5"
    assert shade(-1, 2) == "against5"


def luminance(colour):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def theme(name):
    block = CSS.split("@media (prefers-color-scheme: dark)")[name == "dark"]
    return {key: tuple(bytes.fromhex(value)) for key, value in re.findall(r"--(\w+): #([0-9a-f]{6});", block)}


@pytest.mark.parametrize("name", ["light", "dark"])
def test_words_can_be_read_on_every_colour(name):
    colours = theme(name)
    for look, rules in STYLES.items():
        if not look.startswith(("for", "against", "size")):
            continue
        *ink, alpha = map(float, re.search(r"rgba\((\d+),(\d+),(\d+),([\d.]+)\)", rules).groups())
        line = tuple(map(float, re.search(r"\brgb\((\d+),(\d+),(\d+)\)", rules).groups()))
        ground = tuple(alpha * a + (1 - alpha) * b for a, b in zip(ink, colours["sheet"], strict=True))
        assert contrast(ground, colours["ink"]) >= 4.5, look
        assert contrast(line, colours["sheet"]) >= 3, look


@pytest.mark.parametrize("ink", INKS.values())
def test_arcs_can_be_seen_and_the_figures_on_them_read(ink):
    colour = tuple(bytes.fromhex(ink[1:]))
    assert contrast(colour, (255, 255, 255)) >= 4.5
    assert all(contrast(colour, theme(name)["sheet"]) >= 3 for name in ("light", "dark"))


@pytest.mark.parametrize("name", ["light", "dark"])
@pytest.mark.parametrize("ground", ["paper", "sheet"])
@pytest.mark.parametrize("ink", ["ink", "quiet", "accent", "alarm"])
def test_text_of_the_page_can_be_read(name, ground, ink):
    assert contrast(theme(name)[ink], theme(name)[ground]) >= 4.5


def test_notebook_html_carries_its_own_looks(text):
    instance = Instance("i", (text("good <b>"),), "pos", human=Human(words=((0,),)))
    html = highlight_html(
        highlight(instance, [1.0, -1.0]), instance, Prediction("i", "neg", ("neg", "pos"), (0.75, 0.25))
    )
    assert "class=" not in html
    assert "<script" not in html
    assert "<style" not in html
    assert STYLES["for10"] in html
    assert STYLES["gold"] in html
    assert "&lt;b&gt;" in html
    assert "(0.750)" in html


COLUMNS = """
(() => {
  const grid = [...document.querySelectorAll('div')].find(e => e.style.display === 'grid');
  const boxes = [...grid.children].map(e => e.getBoundingClientRect());
  const covered = [...grid.querySelectorAll('ruby')].map(e => {
    const [word, score] = [e.firstElementChild, e.querySelector('rt')].map(one => one.getBoundingClientRect());
    return score.top < word.bottom - 1 || score.height < 5;
  });
  return [new Set(boxes.map(box => Math.round(box.left))).size, covered.some(Boolean), covered.length,
          document.documentElement.scrollWidth <= innerWidth];
})()
"""


@pytest.mark.parametrize(("width", "columns"), [(1280, 2), (400, 1)])
def test_columns_of_a_notebook_fit_and_no_word_covers_its_score(browser, text, tmp_path, width, columns):
    instance = Instance("i", (text("a rather unremarkable sentence"),), human=Human(words=((2,),)))
    entry = MethodEntry(label="loo")
    made = [(highlight(instance, [1.0, -1.0, 0.5, 1e-5]), entry)] * 2
    path = tmp_path / "cell.html"
    path.write_text(f"<meta charset=utf-8>{side_by_side_html(made, instance, Prediction('i', 'y', ('y',), (1.0,)))}")
    browser.open(path, width=width)
    assert browser.ask(COLUMNS) == [columns, False, 8, True]


def test_the_style_sheet_has_a_rule_for_every_class():
    assert style_sheet().count("{") == len(STYLES) == 34


def test_scores_without_a_sign_have_a_scale_of_their_own(text):
    instance = Instance("i", (text("low high none"),))
    html = picture(highlight(instance, [0.5, 1.0, -1.0]), instance, inline=False, signed=False)
    assert marks(html) == [
        ("mark", "0.5", "word size5", "low"),
        ("mark", "1", "word size10", "high"),
        ("span", "-1", "", "none"),
    ]
    pair = highlight(instance, [1.0, 0.5], "token_interaction", [instance.units[0] * 2, instance.units[1] * 2])
    drawn = picture(pair, instance, inline=False, signed=False)
    assert INKS["size"] in drawn
    assert INKS["for"] not in drawn
    assert "+" not in drawn


@pytest.mark.parametrize(
    ("method", "two_sided"),
    [
        ("leave_one_out", True),
        ({"leave_one_out": {"absolute": True}}, False),
        ("attention", False),
        ("saliency", False),
        ({"input_x_gradient": {"aggregate": "l1"}}, False),
        ("integrated_gradients", True),
        ({"louvain": {"over": "attention_interaction"}}, False),
        ("louvain", True),
        ({"randomised": {"over": "saliency"}}, False),
        ({"activation": {"aggregate": "mean"}}, False),
        ("beam", False),
        ("random", False),
    ],
)
def test_metadata_of_a_method_say_whether_its_scores_have_a_sign(method, two_sided):
    assert method_entry(from_config("methods", method, 0)).two_sided is two_sided


def test_columns_of_a_notebook_share_a_legend_and_print_scores(text):
    instance = Instance("i", (text("not bad"),), "pos", human=Human(words=((1,),)))
    rows = [highlight(instance, [-0.5, 0.25]), highlight(instance, [0.125, 1.0])]
    entries = [
        MethodEntry(label="leave_one_out", name="leave_one_out"),
        MethodEntry(label="a", name="attention", signed=False),
    ]
    made = list(zip(rows, entries, strict=True))
    skips = [Skip("i", "beam", "unfit", "no <b>")]
    tree = parse(side_by_side_html(made, instance, Prediction("i", "neg", ("neg", "pos"), (0.75, 0.25)), skips))
    (grid,) = [node for node in tree.all("div") if "display:grid" in node.attributes.get("style", "")]
    assert [column.only("strong").text for column in grid.children] == ["LOO", "Attention"]
    printed = [[node.text for node in column.all("rt")] for column in grid.children]
    assert printed == [["-0.5", "+0.25"], ["0.12", "1"]]
    keys = [node.text for node in tree.all("mark") if node not in grid.all("mark")]
    assert keys == ["supports", "opposes", "more (scores without a sign)", "annotated"]
    assert tree.only("details").only("li").text == "beam: unfit: no <b>"
    assert tree.words.count("predicted neg (0.750)") == 1
