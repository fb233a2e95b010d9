"""Whether an explanation mentions the words that were put into an input."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from verax.data.text import split_words
from verax.metrics.free_text.insertion import Insertion
from verax.metrics.free_text.linguistics import PIPELINE, Tokens, linguistics, tokens_of_words
from verax.registry import unknown
from verax.types import Instance, Text, UserError

Match = Literal["word", "substring"]
Rule = Literal["word", "lemma", "substring", "none"]
"""What decided: the same word, two words of one lemma, letters inside a word, or nothing that was found."""

VERSION = 1
"""Raised whenever something else comes to count as mentioned: it is part of what decides it."""
_HYPHENS = frozenset("-\u2010\u2011")


@dataclass(frozen=True, slots=True)
class Mention:
    """Whether the insertion is mentioned, and by what that was decided.

    Args:
        mentioned: the verdict.
        rule: what decided.
        by: the word of the explanation that mentions it, or the letters in it; empty if none does.
    """

    mentioned: bool
    rule: Rule
    by: str


class _Word(NamedTuple):
    """A word, the ways to spell it (as it is, and without clitics), and its lemma, all in lower case."""

    word: str
    spellings: frozenset[str]
    lemmas: frozenset[str]
    content: bool


@dataclass(frozen=True)
class WordMatch:
    """An insertion is mentioned when any of its content words is a whole word of the explanation, up to inflection.

    Content words are those that spaCy takes neither for stop words nor for function words; an insertion without any
    (`not`) is looked for as it is. Words are compared in lower case, by spelling and by lemma.

    Args:
        match: `word`, or `substring`, the loosest rule: an inserted word may also be inside a word (`men` in `women`).
        pipeline: name of the spaCy pipeline.
    """

    match: Match = "word"
    pipeline: str = PIPELINE

    def __post_init__(self) -> None:
        if self.match not in get_args(Match):
            raise UserError(f"match: {unknown('rule', self.match, get_args(Match))}")

    @property
    def provenance(self) -> Mapping[str, str]:
        """What decides a mention beside the parameters."""
        return {"mention": f"words {VERSION}", "pipeline": linguistics(self.pipeline).name}

    def mention(self, insertion: Insertion, edited: Instance, explanation: str) -> Mention:
        """Whether an explanation of the edited input mentions what was put in.

        Args:
            insertion: what was put in.
            edited: the input that it was put into (`insertion.apply`): inserted words are read where they stand.
            explanation: of the edited input.
        """
        _, start, end = insertion.span
        inserted = self._words(edited.parts[insertion.part])[start:end]
        wanted = tuple(word for word in inserted if word.content) or inserted
        found = _by_word(wanted, self._words(split_words(explanation)))
        if found is None and self.match == "substring":
            found = _by_letters(wanted, explanation.lower())
        if found is None:
            return Mention(False, "none", "")
        return Mention(True, *found)

    def _words(self, text: Text) -> tuple[_Word, ...]:
        several = tokens_of_words(text, linguistics(self.pipeline).read(text.raw))
        return tuple(_word(word, tokens) for word, tokens in zip(text.words, several, strict=True))


def _word(word: str, tokens: Tokens) -> _Word:
    """A word of its tokens: of several (`dog's`, `don't`) the first is the word, the others cling to it.

    A word with a hyphen is not one of its halves: `formal` does not mention `semi-formal`.
    """
    spellings = {word.lower()}
    lemmas = set()
    if tokens and (len(tokens) == 1 or not _HYPHENS & set(word)):
        spellings.add(tokens[0].text.lower())
        lemmas.add(tokens[0].lemma)
    return _Word(word, frozenset(spellings), frozenset(lemmas), any(token.content for token in tokens))


def _by_word(wanted: Iterable[_Word], explanation: tuple[_Word, ...]) -> tuple[Rule, str] | None:
    for one in wanted:
        for other in explanation:
            if one.spellings & other.spellings:
                return "word", other.word
    for one in wanted:
        for other in explanation:
            # a lemma may be the other's spelling: what a word is tagged as depends on what stands around it
            if (one.lemmas | one.spellings) & (other.lemmas | other.spellings):
                return "lemma", other.word
    return None


def _by_letters(wanted: Iterable[_Word], explanation: str) -> tuple[Rule, str] | None:
    for one in wanted:
        for form in sorted(one.spellings | one.lemmas):
            if form in explanation:
                return "substring", form
    return None
