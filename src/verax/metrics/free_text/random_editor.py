"""The random editor: a random adjective before a noun, or a random adverb before a verb."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from verax.engine.questions import QuestionGenerator
from verax.metrics.free_text.editing import Insertion, Proposal, Proposals, editable_parts, spread_evenly
from verax.metrics.free_text.linguistics import PIPELINE, linguistics, tokens_of_words
from verax.metrics.free_text.wordnet import WordLists, word_lists
from verax.models.subject import Subject
from verax.stats.drawing import evenly_spaced, rng_of
from verax.types import Instance, Text, require_at_least

VERSION = 2
"""Raised whenever the editor makes other edits: part of their provenance."""


@dataclass(frozen=True)
class RandomEditor:
    """Single words from all adjectives and adverbs of WordNet (Atanasova et al. 2023, Section 3, Baseline).

    Nouns and verbs are tagged by spaCy; proper nouns and auxiliaries are excluded. Draws depend only on the seed and on
    the text of the instance.

    Args:
        positions: number of positions, in all parts together.
        candidates: number of words tried at each.
        seed: of positions and words.
        wordnet: folder or database of WordNet, or `world`, see `word_lists`.
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
        require_at_least("random editor", 1, positions=self.positions, candidates=self.candidates)
        require_at_least("random editor", 0, seed=self.seed)

    @property
    def provenance(self) -> Mapping[str, str]:
        """Everything that determines the edits besides the parameters."""
        words, read = word_lists(self.wordnet), linguistics(self.pipeline)
        return {"editor": f"random {VERSION}", "pipeline": read.name, "wordnet": words.fingerprint}

    def max_inputs(self, parts: int, labels: int) -> int:
        """The same number for any number of parts and classes."""
        return self.positions * self.candidates

    def propose(
        self, x: Subject, wanted: Sequence[str], parts: Collection[int] | None = None
    ) -> QuestionGenerator[Proposals]:
        """Its edits, which aim at no class, without a question."""
        yield from ()
        return tuple(Proposal(insertion) for insertion in self.edits(x.instance, parts))

    def edits(self, instance: Instance, parts: Collection[int] | None = None) -> tuple[Insertion, ...]:
        """Insertions into the parts that may be edited, all by default, position by position.

        Positions are spread evenly over the parts; where one has too few, the others have more. Where all have too few,
        more words are tried at each, so that the number of edits stays the same.
        """
        words = word_lists(self.wordnet)
        lists = {
            number: _lists(instance.parts[number], words, self.pipeline) for number in editable_parts(instance, parts)
        }
        rng = rng_of(self.seed, (text.raw for text in instance.parts), b"random_editor")
        drawn = {number: rng.permutation(sorted(own)).tolist() for number, own in lists.items()}
        spots = spread_evenly(drawn, rng)[: self.positions]
        insertions: list[Insertion] = []
        for left, (number, position) in zip(range(len(spots), 0, -1), spots, strict=True):
            own = lists[number][position]
            wanted = -(-(self.positions * self.candidates - len(insertions)) // left)
            several = rng.choice(len(own), min(wanted, len(own)), replace=False)
            insertions += [Insertion(number, position, (own[i],)) for i in several]
        return tuple(insertions)

    def draw(
        self, instance: Instance, *, count: int, seed: int, parts: Collection[int] | None
    ) -> tuple[Insertion, ...]:
        """Edits of another seed, spread over its positions."""
        return evenly_spaced(replace(self, seed=self.seed + 1 + seed).edits(instance, parts), count)


def _lists(text: Text, words: WordLists, pipeline: str) -> dict[int, tuple[str, ...]]:
    """Positions before a noun or a verb, and the words to draw from at each."""
    by_tag = {"NOUN": words.adjectives, "VERB": words.adverbs}
    tagged = enumerate(tokens_of_words(text, linguistics(pipeline).read(text.raw)))
    tags = {number: next((token.pos for token in tokens if token.pos in by_tag), None) for number, tokens in tagged}
    return {number: by_tag[tag] for number, tag in tags.items() if tag is not None and by_tag[tag]}
