"""A sentence in each language of XNLI and the words that a reader of it sees, and what marks and signs do."""

from __future__ import annotations

import unicodedata

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from verax.data.text import split_words

# Words stand between spaces here; the text is what is left when each "_" is taken out with the space behind it.
SENTENCES = {
    "ar": "ذهبَ الأطفالُ إلى المدرسةِ_ ، ولم يعودوا_ ؛ هل تعرفُ السببَ_ ؟",
    "bg": "Най-добрият ученик не дойде_ , защото беше болен_ .",
    "de": "Die E-Mail-Adresse ist falsch_ ,_ „_ nicht wahr_ “_ ?",
    "el": "Πήγες σ’την αγορά χθες_ ; Όχι_ , έμεινα σπίτι_ .",
    "en": "The U.S. team didn't win_ ; it lost 3.5 points_ .",
    "es": "¿_ Dónde está el niño_ ? ¡_ No lo sé_ !",
    "fr": "L’homme qu'il a vu aujourd'hui n'est pas là_ :_ où est-il_ ?",
    "hi": "बच्चे स्कूल नहीं गए_ । क्या पढ़ाई ज़रूरी है_ ?",
    "ru": "Кто-то ушёл_ , но мы ещё здесь_ …",
    "sw": "Ng'ombe wa mjomba hakuenda sokoni_ .",
    "tr": "İstanbul'da yağmur yağdı_ , Ankara’da yağmadı_ .",
    "ur": "بچّے اسکول نہیں گئے_ ۔ کیا آپ جانتے ہیں_ ؟ جی_ ، ہاں_ ؛",
    "vi": "Trẻ em không đi học_ , vì trời mưa_ .",
}


def text_and_words(marked: str) -> tuple[str, list[str]]:
    return marked.replace("_ ", ""), [word.rstrip("_") for word in marked.split(" ")]


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("lang", sorted(SENTENCES))
def test_a_sentence_of_each_language_has_the_words_that_a_reader_sees(lang: str, form: str) -> None:
    raw, words = text_and_words(unicodedata.normalize(form, SENTENCES[lang]))
    text = split_words(raw, lang)
    assert list(text.words) == words
    assert [raw[start:end] for start, end in text.offsets] == words
    assert text.lang == lang


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("كِتَابٌ جَمِيلٌ", ["كِتَابٌ", "جَمِيلٌ"]),  # short vowels, nunation
        ("هٰذا الـكـتاب", ["هٰذا", "الـكـتاب"]),  # superscript alef, tatweel
        ("نسبة ١٢٫٥٪", ["نسبة", "١٢٫٥", "٪"]),  # a decimal comma between Arabic digits
        ("کام\u200cیابی", ["کام\u200cیابی"]),  # a zero-width non-joiner inside a word
        ("دلِ ناداں تُجھے", ["دلِ", "ناداں", "تُجھے"]),
        ("क\u093c़्या फ़िल्म", ["क\u093c़्या", "फ़िल्म"]),  # nukta
        ("श्री\u200dमान् क्\u200cष", ["श्री\u200dमान्", "क्\u200cष"]),  # ZWJ and ZWNJ at a virama
        ("राम॥१२॥", ["राम", "॥", "१२", "॥"]),
        ("tie\u0302\u0301ng Vie\u0323\u0302t", ["tie\u0302\u0301ng", "Vie\u0323\u0302t"]),  # two marks on a letter
        ("Ἀθῆναι\u0387 τί\u037e", ["Ἀθῆναι", "\u0387", "τί", "\u037e"]),  # a Greek colon and question mark
        ("«Да», — сказал он.", ["«", "Да", "»", ",", "—", "сказал", "он", "."]),
        ("\u200fمرحبا\u200f \u202bكلمة\u202c", ["مرحبا", "كلمة"]),  # marks of direction are in no word
    ],
)
def test_marks_stay_with_their_letters_and_signs_are_words_of_their_own(raw: str, words: list[str]) -> None:
    assert list(split_words(raw).words) == words


# Letters and marks of each script, to be strung together at random.
SCRIPTS = {
    "Arab": (
        "ابتثجحخدذرسشصضطعغفقكلمنهويپچژکگںھہیے",
        "\u064b\u064c\u064d\u064e\u064f\u0650\u0651\u0652\u0670\u200c\u200d",
    ),
    "Deva": ("अआइकखगघचजटडतदनपबमयरलवशसह", "\u093c\u093e\u093f\u0940\u0941\u0947\u094b\u094d\u0902\u0901\u200d\u200c"),
    "Latn": ("abcdeghiklmnopqrstuvxyđı", "\u0300\u0301\u0302\u0303\u0309\u0306\u031b\u0323\u0308\u0327"),
    "Cyrl": ("абвгдежзийклмнопрстуфхцчшщъьюя", "\u0301\u0306\u0308"),
    "Grek": ("αβγδεζηθικλμνξοπρστυφχψω", "\u0301\u0308\u0313\u0342"),
}


@settings(deadline=None, max_examples=150)
@given(st.data(), st.sampled_from(sorted(SCRIPTS)))
def test_words_of_letters_and_marks_come_back_whole_from_between_signs(data: st.DataObject, script: str) -> None:
    letters, marks = SCRIPTS[script]
    letter = st.tuples(st.sampled_from(letters), st.text(st.sampled_from(marks), max_size=3)).map("".join)
    words = data.draw(st.lists(st.lists(letter, min_size=1, max_size=5).map("".join), min_size=1, max_size=6))
    signs = data.draw(st.lists(st.sampled_from("؟،؛۔।?!;"), min_size=len(words), max_size=len(words)))
    raw = " ".join(word + sign for word, sign in zip(words, signs, strict=True))
    assert list(split_words(raw).words) == [one for pair in zip(words, signs, strict=True) for one in pair]


@pytest.mark.parametrize("lang", sorted(SENTENCES))
def test_every_letter_of_a_sentence_is_in_exactly_one_word(lang: str) -> None:
    raw, _ = text_and_words(SENTENCES[lang])
    covered = [place for start, end in split_words(raw, lang).offsets for place in range(start, end)]
    assert len(covered) == len(set(covered))
    assert {place for place, sign in enumerate(raw) if not regex.match(r"[\s\p{Cf}]", sign)} <= set(covered)
