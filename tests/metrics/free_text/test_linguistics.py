"""What is read from a text: tags, lemmas, subjects, and where they stand; and what is said when nobody can read."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from verax.data.text import split_words
from verax.metrics.free_text.linguistics import Linguistics, lacks, linguistics, tokens_of_words
from verax.types import Undefined, UserError


def test_words_are_tagged_and_lemmatised() -> None:
    tokens = {token.text: token for token in linguistics().read("The two nurses quickly carried a heavy box.")}
    assert [tokens[word].pos for word in ("nurses", "quickly", "carried", "heavy")] == ["NOUN", "ADV", "VERB", "ADJ"]
    assert (tokens["nurses"].lemma, tokens["carried"].lemma) == ("nurse", "carry")
    assert tokens["nurses"].dep == "nsubj"
    assert (tokens["nurses"].plural, tokens["box"].plural) == (True, False)
    assert {token.text for token in tokens.values() if token.content} == {
        "two",
        "nurses",
        "quickly",
        "carried",
        "heavy",
        "box",
    }


@settings(max_examples=30, deadline=None)
@given(st.text(st.characters(), max_size=30))
@example("half a \ud83d character")
def test_tokens_stand_where_they_say(text: str) -> None:
    readable = text.encode("utf-8", "replace").decode()
    assert all(readable[token.start : token.end] == token.text for token in linguistics().read(text))


def test_tokens_of_words_are_those_that_overlap_them() -> None:
    text = split_words("The dog's t-shirt can't fit, 🙂 ok")
    several = tokens_of_words(text, linguistics().read(text.raw))
    assert dict(zip(text.words, [[token.text for token in tokens] for tokens in several], strict=True)) == {
        "The": ["The"],
        "dog's": ["dog", "'s"],
        "t-shirt": ["t", "-", "shirt"],
        "can't": ["ca", "n't"],
        "fit": ["fit"],
        ",": [","],
        "🙂": ["🙂"],
        "ok": ["ok"],
    }


def test_a_token_over_several_words_belongs_to_each() -> None:
    tokens = linguistics().read("a :-) b")
    assert [token.text for token in tokens] == ["a", ":-)", "b"]
    text = split_words("a :-) b")
    assert [len(found) for found in tokens_of_words(text, tokens)] == [1] * 5


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("A nurse sleeps", None),
        ("There is a boat", None),
        ("The fence was painted", None),
        ("sleeping on the floor", "subject"),
        ("a red boat", "verb"),
        ("", "subject"),
    ],
)
def test_a_sentence_has_a_subject_and_a_verb(text: str, missing: str | None) -> None:
    assert lacks(linguistics().read(text)) == missing


def test_a_subject_without_a_verb_is_not_enough() -> None:
    tokens = linguistics().read("A nurse sleeps")
    assert lacks(tuple(token for token in tokens if token.pos != "VERB")) == "verb"


def test_the_name_says_which_pipeline_and_version_it_was() -> None:
    name, version = linguistics().name.split(" ")
    assert name.startswith("en_core_web_sm")
    assert version[0].isdigit()


def test_a_pipeline_that_is_not_there_is_named_with_those_that_are_and_the_extra() -> None:
    with pytest.raises(UserError, match=r"^pipeline: spaCy can't load 'en_no_such'.*en_core_web_sm.*verax\[nle\]"):
        Linguistics("en_no_such")


def test_without_spacy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(UserError, match=r"needs spaCy, which is not installed: pip install 'verax\[nle\]'"):
        Linguistics()


def test_a_pipeline_that_knows_too_little_is_refused(tmp_path: Path) -> None:
    import spacy

    spacy.blank("en").to_disk(tmp_path / "blank")
    with pytest.raises(UserError, match="gives no parts of speech, no lemmas, no dependencies"):
        Linguistics(str(tmp_path / "blank"))


def test_a_text_beyond_the_pipeline_is_undefined() -> None:
    with pytest.raises(Undefined, match="too_long"):
        linguistics().read("a" * 1_000_001)
