"""Text is escaped unless it is markup that was built; shapeless characters are made visible."""

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verax.results.render.markup import join, tag, text, visible


@given(st.text(st.characters(codec=None)))
def test_escaped_text_gives_back_what_is_visible_and_can_be_written(raw):
    escaped = text(raw)
    assert html.unescape(escaped) == visible(raw)
    assert not set(escaped) & set("<>\"'")
    escaped.encode("utf-8")


@pytest.mark.parametrize("char", ["\x00", "\x1b", "\x85", "\u2028", "\u202e", "\u2066", "\ud800", "\x0b"])
def test_shapeless_characters_are_shown(char):
    assert visible(f"a{char}b") == "a\N{REPLACEMENT CHARACTER}b"


@pytest.mark.parametrize("raw", ["tab\tand\nline", "שלום\u200f", "नमस्ते", "👩‍👩‍👧", "é", "a\r\nb"])
def test_text_of_every_script_stays(raw):
    assert visible(raw) == raw


def test_children_and_attributes():
    inner = tag("b", "<i>")
    made = tag("p", inner, "&", None, [1, "x"], class_="a", data_id='"', hidden=True, title=None, open=False)
    assert made == '<p class="a" data-id="&quot;" hidden><b>&lt;i&gt;</b>&amp;1x</p>'


def test_markup_put_into_a_string_is_text_again():
    assert join(f"{tag('b')}") == "&lt;b&gt;&lt;/b&gt;"
