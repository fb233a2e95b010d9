"""Whether an explanation mentions the words inserted into an input."""

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
"""The rule that matched: the same word, the same lemma, letters inside a word, or none."""

VERSION = 1
"""Raised whenever the rules change: part of their provenance."""
_HYPHENS = frozenset("-\u2010\u2011")


@dataclass(frozen=True, slots=True)
class Mention:
    """Whether the insertion is mentioned.

    Args:
        mentioned: the verdict.
        rule: the rule that matched.
        by: the word of the explanation that matched, or the letters in it; empty if none did.
    """

    mentioned: bool
    rule: Rule
    by: str


class _Word(NamedTuple):
    """A word, its spellings (as it is, and without clitics), and its lemmas, in lower case."""

    word: str
    spellings: frozenset[str]
    lemmas: frozenset[str]
    content: bool


@dataclass(frozen=True)
class WordMatch:
    """An insertion is mentioned if any of its content words is a whole word of the explanation, up to inflection.

    Content words are neither stop words nor function words according to spaCy; an insertion without any (`not`) is
    searched for as it is. Words are compared in lower case, by spelling and by lemma.

    Args:
        match: `word`, or the looser `substring`: an inserted word may also be inside a word (`men` in `women`).
        pipeline: name of the spaCy pipeline.
    """

    match: Match = "word"
    pipeline: str = PIPELINE

    def __post_init__(self) -> None:
        if self.match not in get_args(Match):
            raise UserError(f"match: {unknown('rule', self.match, get_args(Match))}")

    @property
    def provenance(self) -> Mapping[str, str]:
        """Everything that determines a mention besides the parameters."""
        return {"mention": f"words {VERSION}", "pipeline": linguistics(self.pipeline).name}

    def mention(self, insertion: Insertion, edited: Instance, explanation: str) -> Mention:
        """Whether an explanation of the edited input mentions the inserted words.

        Args:
            insertion: the inserted words.
            edited: the edited input (`insertion.apply`), in which the inserted words are read.
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
    """A word from its tokens: of several (`dog's`, `don't`) the first is the word, the others are clitics.

    A word with a hyphen does not match its halves: `formal` does not mention `semi-formal`.
    """
    spellings = {word.lower()}
    lemmas = set()
    if tokens and (len(tokens) == 1 or not _HYPHENS & set(word)):
        spellings.add(tokens[0].text.lower())
        lemmas.add(tokens[0].lemma)
    return _Word(word, frozenset(spellings), frozenset(lemmas), any(token.content for token in tokens))


def _by_word(wanted: Iterable[_Word], explanation: tuple[_Word, ...]) -> tuple[Rule, str] | None:
    for inserted in wanted:
        for other in explanation:
            if inserted.spellings & other.spellings:
                return "word", other.word
    for inserted in wanted:
        for other in explanation:
            # a lemma may be the other's spelling, since tags depend on the context
            if (inserted.lemmas | inserted.spellings) & (other.lemmas | other.spellings):
                return "lemma", other.word
    return None


def _by_letters(wanted: Iterable[_Word], explanation: str) -> tuple[Rule, str] | None:
    for inserted in wanted:
        for form in sorted(inserted.spellings | inserted.lemmas):
            if form in explanation:
                return "substring", form
    return None
