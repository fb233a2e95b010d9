"""The random editor: a random adjective before a noun, or a random adverb before a verb."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from verax.engine.questions import QuestionGenerator
from verax.metrics.free_text.editor import Proposal, Proposals, check_search, open_parts
from verax.metrics.free_text.insertion import Insertion
from verax.metrics.free_text.linguistics import PIPELINE, Token, linguistics, tokens_of_words
from verax.metrics.free_text.wordnet import WordLists, word_lists
from verax.models.subject import Subject
from verax.stats.drawing import rng_of, spread
from verax.types import Instance, Text

VERSION = 1
"""Raised whenever the editor makes other edits: part of their provenance."""


@dataclass(frozen=True)
class RandomEditor:
    """Single words from all adjectives and adverbs of WordNet (Atanasova et al. 2023, Section 3, Baseline).

    Nouns and verbs are tagged by spaCy; proper nouns and auxiliaries are excluded. Draws depend only on the seed and on
    the text of the instance.

    Args:
        positions: number of positions in each part that may be edited.
        candidates: number of words tried at each.
        seed: of positions and words.
        pipeline: name of the spaCy pipeline.
        wordnet: folder or database of WordNet, see `word_lists`.
    """

    positions: int = 4
    candidates: int = 4
    seed: int = 0
    pipeline: str = PIPELINE
    wordnet: str | None = None

    namespace: ClassVar[str] = "editors"
    name: ClassVar[str] = "random"
    summary: ClassVar[str] = "Inserts a random WordNet adjective before a noun, or adverb before a verb."
    reference: ClassVar[str] = "Atanasova et al. 2023, Section 3"

    def __post_init__(self) -> None:
        check_search("random editor", self.positions, self.candidates, self.seed)

    @property
    def provenance(self) -> Mapping[str, str]:
        """Everything that determines the edits besides the parameters."""
        words, read = word_lists(self.wordnet), linguistics(self.pipeline)
        return {"editor": f"random {VERSION}", "pipeline": read.name, "wordnet": words.fingerprint}

    def max_inputs(self, parts: int, labels: int) -> int:
        """The same number for any number of classes."""
        return self.positions * self.candidates * parts

    def propose(
        self, x: Subject, wanted: Sequence[str], parts: Collection[int] | None = None
    ) -> QuestionGenerator[Proposals]:
        """Its edits, which aim at no class, without a question."""
        yield from ()
        return tuple(Proposal(insertion) for insertion in self.edits(x.instance, parts))

    def edits(self, instance: Instance, parts: Collection[int] | None = None) -> tuple[Insertion, ...]:
        """Insertions into the parts that may be edited, all by default, position by position."""
        words = word_lists(self.wordnet)
        insertions: list[Insertion] = []
        for number in open_parts(instance, parts):
            lists = _lists(instance.parts[number], words, self.pipeline)
            rng = rng_of(self.seed, (text.raw for text in instance.parts), f"random_editor {number}".encode())
            drawn = rng.permutation(sorted(lists))[: self.positions].tolist()
            for position in drawn:
                several = rng.choice(len(lists[position]), min(self.candidates, len(lists[position])), replace=False)
                insertions += [Insertion(number, position, (lists[position][i],)) for i in several]
        return tuple(insertions)

    def draw(
        self, instance: Instance, *, count: int, seed: int, parts: Collection[int] | None
    ) -> tuple[Insertion, ...]:
        """Edits of another seed, spread over its positions."""
        return spread(replace(self, seed=self.seed + 1 + seed).edits(instance, parts), count)


def _lists(text: Text, words: WordLists, pipeline: str) -> dict[int, tuple[str, ...]]:
    """Positions before a noun or a verb, and the words to draw from at each."""
    by_tag = {"NOUN": words.adjectives, "VERB": words.adverbs}
    found = {}
    for number, tokens in enumerate(tokens_of_words(text, linguistics(pipeline).read(text.raw))):
        tag = _tag(tokens, by_tag)
        if tag is not None:
            found[number] = by_tag[tag]
    return found


def _tag(tokens: tuple[Token, ...], tags: Collection[str]) -> str | None:
    """The first of the given tags among the tokens of a word."""
    return next((token.pos for token in tokens if token.pos in tags), None)
