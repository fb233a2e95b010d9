from __future__ import annotations

import sys
import unicodedata

import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st

from verax.data.text import from_words, split_words
from verax.types import UserError

# Every code point, lone surrogates too, with extra weight on those that the rules speak of.
ANY_CHARACTER = st.one_of(
    st.characters(),
    st.integers(0xD800, 0xDFFF).map(chr),
    st.integers(0, sys.maxunicode).map(chr),
    st.sampled_from(
        "aZé1٣.,'’-·\u00ad \t\r\n\0\u0301\u0308\u093f\u094d\u0e33\u3099"
        "漢あアーภက\u0600🇩🇪👩🏽❤\u200b\u200c\u200d\ufe0f\u20e3"
    ),
)
ANY_TEXT = st.lists(ANY_CHARACTER, max_size=40).map("".join)
INVISIBLE = regex.compile(r"[\s\p{Cc}\p{Cf}\p{Cs}\p{Z}\p{DI}\p{M}]+")


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("", []),
        (" \t\r\n\u00a0\u2028", []),
        ("A dog sleeps.", ["A", "dog", "sleeps", "."]),
        ("I don't; they’re 'fine'", ["I", "don't", ";", "they’re", "'", "fine", "'"]),
        ("a well-known -- fact-", ["a", "well-known", "-", "-", "fact", "-"]),
        ("in the U.S. (e.g. U.S.A or a.m.)", ["in", "the", "U.S.", "(", "e.g.", "U.S.A", "or", "a.m.", ")"]),
        ("U.S.Army", ["U.S", ".", "Army"]),
        ("3.14, 10,000 and 5.", ["3.14", ",", "10,000", "and", "5", "."]),
        ("see example.com. good.Bad", ["see", "example.com", ".", "good", ".", "Bad"]),
        ("wait...no", ["wait", ".", ".", ".", "no"]),
        ("$5% x+y a_b #tag", ["$", "5", "%", "x", "+", "y", "a", "_", "b", "#", "tag"]),
        ("l·lusió צה״ל", ["l·lusió", "צה״ל"]),
        ("m² ½ ٣٫١٤", ["m²", "½", "٣٫١٤"]),
        ("co\u00adoperate", ["co\u00adoperate"]),
        ("Übergröße naïve", ["Übergröße", "naïve"]),
        ("한국어 문장", ["한국어", "문장"]),
    ],
)
def test_words_are_those_that_people_would_mark(raw: str, words: list[str]) -> None:
    assert list(split_words(raw).words) == words


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("e\u0301te\u0301", ["e\u0301te\u0301"]),
        ("مُحَمَّدٌ هنا؟", ["مُحَمَّدٌ", "هنا", "؟"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),
        ("हिन्दी में क्\u200dष।", ["हिन्दी", "में", "क्\u200dष", "।"]),
        ("کتابیں پڑھو۔", ["کتابیں", "پڑھو", "۔"]),
    ],
)
def test_combining_marks_and_joiners_stay_with_their_letters(raw: str, words: list[str]) -> None:
    assert list(split_words(raw).words) == words


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("ok👍🏽👍", ["ok", "👍🏽", "👍"]),
        ("👩🏽\u200d💻👨\u200d👩\u200d👧", ["👩🏽\u200d💻", "👨\u200d👩\u200d👧"]),
        ("🇩🇪🇫🇷🇩", ["🇩🇪", "🇫🇷", "🇩"]),
        ("❤\ufe0f 1\ufe0f\u20e3 #\ufe0f\u20e3", ["❤\ufe0f", "1\ufe0f\u20e3", "#\ufe0f\u20e3"]),
        ("🏴\U000e0067\U000e0062\U000e0065\U000e007f!", ["🏴\U000e0067\U000e0062\U000e0065\U000e007f", "!"]),
    ],
)
def test_an_emoji_is_one_word(raw: str, words: list[str]) -> None:
    assert list(split_words(raw).words) == words


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("我爱NLP。", ["我", "爱", "NLP", "。"]),
        ("データか\u3099", ["デ", "ー", "タ", "か\u3099"]),
        ("ภาษา ๑๒๓", ["ภ", "า", "ษ", "า", "๑๒๓"]),
        ("ที่นี่ น้ำ", ["ที่", "นี่", "น้ำ"]),
        ("ພາສາ", ["ພ", "າ", "ສ", "າ"]),
        ("ខ្ញុំ", regex.findall(r"\X", "ខ្ញុំ")),
        ("မြန်", regex.findall(r"\X", "မြန်")),
    ],
)
def test_scripts_without_spaces_are_split_by_grapheme_clusters(raw: str, words: list[str]) -> None:
    assert list(split_words(raw).words) == words


def test_invisible_characters_belong_to_no_word() -> None:
    assert split_words("\0a\0b\x07\ud800c\ufeff\u200b\ufe0f\u200e \udfff\u3164").words == ("a", "b", "c")


def test_the_language_is_kept() -> None:
    assert split_words("ja", "de").lang == "de"
    assert from_words(["ja"], "de").lang == "de"


@settings(deadline=None)
@given(ANY_TEXT)
def test_offsets_give_the_words_and_nothing_visible_is_lost(raw: str) -> None:
    text = split_words(raw)
    assert text == split_words(raw)
    assert text.raw == raw
    end = 0
    gaps = []
    for word, (start, stop) in zip(text.words, text.offsets, strict=True):
        assert raw[start:stop] == word
        assert not regex.search(r"[\s\p{Cc}\p{Cs}]", word)
        gaps.append(raw[end:start])
        end = stop
    gaps.append(raw[end:])
    visible = [c for gap in gaps for c in gap if not INVISIBLE.fullmatch(c) and unicodedata.category(c) != "Cf"]
    assert visible == []


@settings(deadline=None)
@given(ANY_TEXT)
@example(":\u108f")  # a mark of Myanmar that does not extend a grapheme cluster
def test_no_mark_is_torn_from_what_it_stands_on(raw: str) -> None:
    for start, end in split_words(raw).offsets:
        assert not regex.compile(r"\p{M}|\p{GCB=Extend}|\p{GCB=ZWJ}").match(raw, end)
        if unicodedata.category(raw[start]).startswith("M"):
            assert start == 0 or INVISIBLE.fullmatch(raw[start - 1])


@settings(deadline=None)
@given(st.lists(ANY_TEXT.filter(lambda word: word.strip()), max_size=8))
def test_given_words_are_kept_as_they_are(words: list[str]) -> None:
    text = from_words(words)
    assert text.words == tuple(words)
    assert text.raw == " ".join(words)


def test_a_given_ideographic_space_is_a_word() -> None:
    """Word aligners count it, so links behind it would otherwise be one off."""
    assert from_words(["甲", "\u3000", "乙"], "zh").words == ("甲", "\u3000", "乙")


@pytest.mark.parametrize("word", ["", "  "])
def test_an_empty_given_word_is_refused(word: str) -> None:
    with pytest.raises(UserError, match="word 1 is empty"):
        from_words(["a", word])


@pytest.mark.parametrize(
    "piece", ["a", "\u0301", "\u200d", "🇩", "👩\u200d", "\u0600", "a.", "A.B", "a'\u200d", "1,", "漢\u3099", "\0"]
)
def test_a_megabyte_of_one_nasty_piece_is_split_in_linear_time(piece: str) -> None:
    raw = piece * (2**20 // len(piece)) + "b"
    text = split_words(raw)
    assert text.offsets[-1][1] == len(raw)
