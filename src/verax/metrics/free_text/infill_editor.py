"""The trained editor: a text generator that proposes words to change the prediction to another class."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import regex

from verax.data.text import split_words
from verax.engine.questions import Candidates, QuestionGenerator, split_results, together
from verax.metrics.free_text.editing import (
    Insertion,
    Proposal,
    Proposals,
    editable_parts,
    position_count,
    spread_evenly,
)
from verax.metrics.free_text.second_model import folder_of, hashes_of, second_generator
from verax.models.editor_wording import FACTS, EditorFacts, editor_prompt, read_editor_facts
from verax.models.generator import CandidatesPass, TextGenerator
from verax.models.subject import Subject
from verax.stats.drawing import rng_of
from verax.store.keys import hash_files
from verax.types import Generated, Instance, Undefined, UserError, require_at_least

VERSION = 3
"""Raised whenever the editor makes other edits: part of their provenance."""
_MAX_WORDS = 3
_MAX_NEW_TOKENS = 12
_ROUNDS = 4
"""Positions are asked for in at most this many rounds, until there are as many edits as wanted."""
_PART = regex.compile(r"\{(\d+)\}")


@dataclass(frozen=True)
class InfillEditor:
    """Up to three words at random positions, generated for each class by a model of `verax train editor`.

    Positions depend only on the seed, the text of the instance and the classes (Atanasova et al. 2023, Section 3).

    Args:
        positions: number of positions, for all parts and classes together.
        candidates: number of texts asked for at each; texts without a word, with more than three, cut off, or that
            repeat the neighbouring words are ignored, and further positions make up for them.
    """

    path: str
    positions: int = 4
    candidates: int = 4
    seed: int = 0

    namespace: ClassVar[str] = "editors"
    name: ClassVar[str] = "infill"
    summary: ClassVar[str] = "Inserts one to three words that a trained editor generates for another class."
    reference: ClassVar[str] = "Atanasova et al. 2023, Section 2.1; Ross, Marasovic and Peters 2021"

    def __post_init__(self) -> None:
        require_at_least("editor", 1, positions=self.positions, candidates=self.candidates)
        require_at_least("editor", 0, seed=self.seed)

    @property
    def provenance(self) -> Mapping[str, str]:
        """The model and its prompt, without loading it."""
        folder = folder_of(self.path)
        read_editor_facts(folder)  # rejects a folder without an editor
        facts = hash_files([folder / FACTS, *folder.glob("generation_config.json")])
        return {"editor": f"infill {VERSION}", **hashes_of(self.path), "facts": facts}

    def max_inputs(self, parts: int, labels: int) -> int:
        """The same number for any number of parts and classes."""
        return self.positions * self.candidates

    def check(self, labels: Sequence[str], parts: int) -> None:
        """Reject classes that the editor does not know, and another number of parts, without loading it."""
        self._check_inputs(read_editor_facts(folder_of(self.path)), labels, parts)

    def propose(
        self, x: Subject, wanted: Sequence[str], parts: Collection[int] | None = None
    ) -> QuestionGenerator[Proposals]:
        """Edits by the model in the folder, see `search`."""
        facts, generator = _load(self.path, x)
        return (yield from self.search(x, facts, generator, wanted, parts))

    def search(
        self,
        x: Subject,
        facts: EditorFacts,
        generator: TextGenerator,
        wanted: Sequence[str],
        parts: Collection[int] | None = None,
    ) -> QuestionGenerator[Proposals]:
        """Edits at positions that are spread evenly over classes and parts; those of a round are asked at once.

        A position without an answer, for example because its prompt is too long, has no edits. If no position has an
        answer, the reason of the first is raised.
        """
        self._check_inputs(facts, wanted, len(x.instance.parts))
        spots = self._spots(x.instance, wanted, editable_parts(x.instance, parts))
        budget = self.positions * self.candidates
        proposals: dict[Insertion, dict[str, Proposal]] = {}
        answered, problems = 0, list[Undefined]()
        for _ in range(_ROUNDS):
            count = -(-(budget - len(proposals)) // self.candidates)
            asked, spots = spots[:count], spots[count:]
            ends = yield from together(self._written(x, facts, generator, *spot) for spot in asked)
            written, unanswered = split_results(ends)
            answered, problems = answered + len(written), problems + unanswered
            for proposal in (proposal for several in written for proposal in several):
                if len(proposals) < budget or proposal.insertion in proposals:
                    proposals.setdefault(proposal.insertion, {})[proposal.wanted] = proposal
            if len(proposals) >= budget or not spots:
                break
        if problems and not answered:
            raise problems[0]
        return tuple(proposal for several in proposals.values() for proposal in several.values())

    def _check_inputs(self, facts: EditorFacts, labels: Sequence[str], parts: int) -> None:
        unknown = [label for label in labels if label not in facts.labels]
        if unknown:
            raise UserError(f"editor: {self.path!r} knows {', '.join(facts.labels)}; it can't lead to {unknown[0]!r}")
        known = len(set(_PART.findall(facts.prompt)))
        if known != parts:
            raise UserError(f"editor: {self.path!r} was trained on inputs of {known} part(s), and these have {parts}")

    def _spots(self, instance: Instance, wanted: Sequence[str], parts: Sequence[int]) -> list[tuple[str, int, int]]:
        """Class, part and position of all places for an edit, the ones to try first spread evenly."""
        rng = rng_of(self.seed, (text.raw for text in instance.parts), b"infill_editor")
        drawn = {
            (label, part): rng.permutation(position_count(instance.parts[part])).tolist()
            for label in wanted
            for part in parts
        }
        return [(label, part, position) for (label, part), position in spread_evenly(drawn, rng)]

    def _written(
        self, x: Subject, facts: EditorFacts, generator: TextGenerator, label: str, part: int, position: int
    ) -> QuestionGenerator[Proposals]:
        """Distinct edits at one position."""
        prompt = editor_prompt(facts, x.instance, part, position, label)
        request = CandidatesPass(prompt, self.candidates, _MAX_NEW_TOKENS)
        written: list[Generated] = yield Candidates(x, generator, request)
        # a text that is cut off may end in the middle of a word
        several = dict.fromkeys(split_words(text.text).words for text in written if text.finish != "length")
        around = x.instance.parts[part].words
        return tuple(
            Proposal(Insertion(part, position, words), label)
            for words in several
            if _fit(words) and not _repeats(words, around, position)
        )


def _fit(words: tuple[str, ...]) -> bool:
    """Whether words can be inserted: at most three, and more than punctuation."""
    return len(words) <= _MAX_WORDS and any(sign.isalnum() for word in words for sign in word)


def _repeats(words: tuple[str, ...], around: tuple[str, ...], position: int) -> bool:
    """Whether words repeat their neighbours, as an editor trained to fill gaps tends to do."""
    inserted, count = [word.lower() for word in words], len(words)
    neighbours = (around[position : position + count], around[max(0, position - count) : position])
    return any([word.lower() for word in side] == inserted for side in neighbours)


def _load(path: str, x: Subject) -> tuple[EditorFacts, TextGenerator]:
    return read_editor_facts(folder_of(path)), second_generator(x, path)
