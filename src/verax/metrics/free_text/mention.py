"""Whether an explanation mentions the words inserted into an input, by words or by meaning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from verax.align.embedding import default_layer
from verax.data.text import split_words
from verax.engine.questions import QuestionGenerator, TokenStates
from verax.metrics.free_text.editing import Insertion
from verax.metrics.free_text.linguistics import PIPELINE, Tokens, linguistics, tokens_of_words
from verax.models.classifier import Encoder
from verax.models.subject import Subject
from verax.registry import unknown
from verax.types import FloatArray, Instance, Text, Undefined, UserError

Match = Literal["any", "content", "substring"]
MatchRule = Literal["word", "lemma", "substring", "none"]
"""The rule that matched: the same word, the same lemma, letters inside a word, or none."""

WORDS_VERSIONS: dict[Match, int] = {"any": 2, "content": 3, "substring": 2}
COSINE_VERSION = 1
"""Raised whenever a rule or the similarities change: part of their provenance."""
_HYPHENS = frozenset("-\u2010\u2011")


class Mention(NamedTuple):
    """Whether an insertion is mentioned, the rule that matched, and the word or letters of the explanation that did."""

    mentioned: bool = False
    rule: MatchRule = "none"
    by: str = ""


class _Word(NamedTuple):
    """A word, its spellings (as it is, and without clitics), and its lemmas, in lower case."""

    word: str
    spellings: frozenset[str]
    lemmas: frozenset[str]
    content: bool


@dataclass(frozen=True)
class WordMatch:
    """An insertion is mentioned if a word of it is a whole word of the explanation, up to inflection.

    Words are compared in lower case, by spelling and by lemma (Atanasova et al. 2023, Equation 1).

    Args:
        match: the words that count: `any` of the insertion; its `content` words only, which are numbers, negations,
            quantifiers, and what is neither a stop word nor a function word according to spaCy (an insertion without
            any is searched for as it is); or the loosest rule `substring`: any word, also inside a word (`men` in
            `women`).
    """

    match: Match = "any"
    pipeline: str = PIPELINE

    def __post_init__(self) -> None:
        if self.match not in get_args(Match):
            raise UserError(f"match: {unknown('rule', self.match, get_args(Match))}")

    @property
    def provenance(self) -> Mapping[str, str]:
        """Everything that determines a mention besides the parameters."""
        return {"mention": f"words {WORDS_VERSIONS[self.match]}", "pipeline": linguistics(self.pipeline).name}

    def mention(self, insertion: Insertion, edited: Instance, explanation: str) -> Mention:
        """Whether an explanation mentions the inserted words, read in the edited input (`insertion.apply`)."""
        _, start, end = insertion.span
        inserted = self._words(edited.parts[insertion.part])[start:end]
        wanted = tuple(word for word in inserted if any(sign.isalnum() for sign in word.word))
        if self.match == "content":
            wanted = tuple(word for word in wanted if word.content) or wanted
        mention = _by_word(wanted, self._words(split_words(explanation)))
        if self.match == "substring" and not mention.mentioned:
            mention = _by_letters(wanted, explanation.lower())
        return mention

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


def _by_word(wanted: Iterable[_Word], explanation: tuple[_Word, ...]) -> Mention:
    pairs = [(inserted, other) for inserted in wanted for other in explanation]
    for inserted, other in pairs:
        if inserted.spellings & other.spellings:
            return Mention(True, "word", other.word)
    for inserted, other in pairs:
        # a lemma may be the other's spelling, since tags depend on the context
        if (inserted.lemmas | inserted.spellings) & (other.lemmas | other.spellings):
            return Mention(True, "lemma", other.word)
    return Mention()


def _by_letters(wanted: Iterable[_Word], explanation: str) -> Mention:
    forms = (form for inserted in wanted for form in sorted(inserted.spellings | inserted.lemmas))
    return next((Mention(True, "substring", form) for form in forms if form in explanation), Mention())


@dataclass(frozen=True)
class SemanticMatch:
    """Cosine of mean hidden states of the inserted words and of each run of at most as many words of the explanation.

    Inserted words are read in their part of the input, the explanation on its own. Hidden states of most encoders have
    high cosines whatever the words mean, so a threshold is only meaningful next to the share of random edits above it.

    Args:
        encoder: a folder, a hub id or a shipped model.
        layer: layer of the hidden states, 0 for the embeddings; two thirds of the layers by default.
        threshold: the least cosine that counts as similar.
    """

    encoder: str
    layer: int | None = None
    threshold: float = 0.8

    def __post_init__(self) -> None:
        if self.layer is not None and self.layer < 0:
            raise UserError(f"semantic match: layer must be 0 (the embeddings) or more, got {self.layer}")
        if not -1 <= self.threshold <= 1:
            raise UserError(f"semantic match: threshold must be a cosine, from -1 to 1, got {self.threshold:g}")

    @property
    def provenance(self) -> Mapping[str, str]:
        """Everything that determines a similarity besides the parameters and the encoder."""
        return {"mention": f"cosine {COSINE_VERSION}"}

    def similarity(
        self, model: Encoder, insertion: Insertion, edited: Instance, explanation: str
    ) -> QuestionGenerator[float]:
        """The cosine of the most similar words, with the loaded encoder; Undefined if the explanation has no word."""
        layer = default_layer(model.layers) if self.layer is None else self.layer
        if layer > model.layers:
            raise UserError(
                f"semantic match: layer must be at most {model.layers}, the layers of the encoder, got {layer}"
            )
        text = split_words(explanation)
        if not text.words:
            raise Undefined("empty", "the explanation has no word")
        inserted = yield from _word_sums(model, edited.parts[insertion.part], layer)
        mentioned = yield from _word_sums(model, text, layer)
        _, start, end = insertion.span
        spans = _spans(len(text.words), len(insertion.words))
        cosines = _cosines(_mean(inserted, start, end), np.stack([_mean(mentioned, *span) for span in spans]))
        return float(cosines.max())


def _spans(words: int, longest: int) -> list[tuple[int, int]]:
    """Every run of 1 to `longest` words, shorter ones first."""
    lengths = range(1, min(longest, words) + 1)
    return [(start, start + length) for length in lengths for start in range(words - length + 1)]


def _word_sums(model: Encoder, text: Text, layer: int) -> QuestionGenerator[FloatArray]:
    """For each word the sum of its sub-words' hidden states, and their number: [words, dimensions + 1]."""
    x = Subject(Instance(text.raw, (text,), lang=text.lang), model).encoded()
    states: FloatArray = yield TokenStates(x, layer)
    if not np.isfinite(states).all():
        raise Undefined("nonfinite", f"a hidden state after layer {layer} is not a finite number")
    own = x.encoding.token_unit >= 0
    sums = np.zeros((len(text.words), states.shape[1] + 1))
    np.add.at(sums, x.encoding.token_unit[own], np.pad(states[own], ((0, 0), (0, 1)), constant_values=1))
    return sums


def _mean(sums: FloatArray, start: int, end: int) -> FloatArray:
    """Mean over all sub-words of words `start` to `end`, shape [dimensions]; zero if the model reads none."""
    total = sums[start:end].sum(0)
    return np.asarray(total[:-1] / max(total[-1], 1.0))


def _cosines(vector: FloatArray, others: FloatArray) -> FloatArray:
    """Cosines: [dimensions], [spans, dimensions] -> [spans]; 0 for a zero vector."""
    lengths = np.linalg.norm(vector) * np.linalg.norm(others, axis=1)
    return np.asarray(others @ vector / np.where(lengths > 0, lengths, 1.0))
