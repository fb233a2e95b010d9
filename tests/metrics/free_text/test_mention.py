"""Which explanations mention an insertion, and by which rule and word that is decided."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verax.data.text import split_words
from verax.metrics.free_text.insertion import Insertion
from verax.metrics.free_text.mention import Mention, WordMatch
from verax.types import Instance, UserError

TEXT = "The man walks near the old women."


def mention(words: str, position: int, explanation: str, match: str = "word") -> Mention:
    insertion = Insertion.of(1, position, words)
    instance = Instance("i", (split_words("Rain falls."), split_words(TEXT)))
    return WordMatch(match).mention(insertion, insertion.apply(instance), explanation)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "position", "explanation", "rule", "by"),
    [
        ("blue", 1, "A Blue man is a man.", "word", "Blue"),
        ("blue", 1, "A man is a person.", "none", ""),
        ("blue", 1, "The bluebird sings.", "none", ""),
        ("dogs", 1, "The dog is an animal.", "lemma", "dog"),
        ("slowly running", 1, "He ran away.", "lemma", "ran"),
        ("dog", 1, "It is the dog's bone.", "word", "dog's"),
        ("semi-formal", 1, "The dress is formal.", "none", ""),
        ("semi-formal", 1, "A semi passes.", "none", ""),
        ("blue ,", 1, "Well, he walks.", "none", ""),
        ("formal", 1, "The dress is semi-formal.", "none", ""),
        ("semi-formal", 1, "Semi-formal clothes are clothes.", "word", "Semi-formal"),
        ("so many times", 3, "So he walks many miles.", "none", ""),  # its content word is `times`
        ("so many times", 3, "He walks each time.", "lemma", "time"),
        ("not", 2, "He does not walk.", "word", "not"),  # no content word: it is looked for itself
        ("happy and not sad", 6, "They are not here.", "none", ""),
        ("happy and not sad", 6, "They are happy.", "word", "happy"),
        ("happy and not sad", 6, "They are sad.", "word", "sad"),
        ("blue", 1, "", "none", ""),
    ],
)
def test_a_whole_word_of_the_explanation_mentions(
    words: str, position: int, explanation: str, rule: str, by: str
) -> None:
    found = mention(words, position, explanation)
    assert (found.mentioned, found.rule, found.by) == (rule != "none", rule, by)


@pytest.mark.parametrize(
    ("words", "explanation", "rule", "by"),
    [
        ("blue", "The bluebird sings.", "substring", "blue"),
        ("dogs", "A dogged fight.", "substring", "dog"),
        ("blue", "The blue bird sings.", "word", "blue"),
        ("blue", "The bird sings.", "none", ""),
    ],
)
def test_the_loosest_rule_takes_letters_inside_a_word(words: str, explanation: str, rule: str, by: str) -> None:
    found = mention(words, 1, explanation, "substring")
    assert (found.rule, found.by) == (rule, by)


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(["blue", "slowly running", "dogs", "not", "semi-formal", "so many times"]),
    st.lists(
        st.sampled_from(["Blue", "runs", "bluebird", "dog", "the", "not", "formal", "times", "time", ","]), max_size=5
    ),
)
def test_what_a_word_mentions_the_loosest_rule_mentions_too(words: str, explanation: list[str]) -> None:
    strict, loose = (mention(words, 1, " ".join(explanation), match) for match in ("word", "substring"))
    assert loose.mentioned or not strict.mentioned
    if strict.mentioned:
        assert loose == strict


def test_an_explanation_that_copies_the_input_mentions_everything() -> None:
    insertion = Insertion.of(1, 1, "increasingly odd")
    edited = insertion.apply(Instance("i", (split_words("Rain falls."), split_words(TEXT))))
    assert WordMatch().mention(insertion, edited, " ".join(part.raw for part in edited.parts)).mentioned


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(UserError, match="match: unknown rule 'substrings'; did you mean 'substring'"):
        WordMatch("substrings")  # type: ignore[arg-type]


def test_what_decides_a_mention_is_told() -> None:
    told = WordMatch().provenance
    assert told["mention"].startswith("words ")
    assert told["pipeline"].startswith("en_core_web_sm")
