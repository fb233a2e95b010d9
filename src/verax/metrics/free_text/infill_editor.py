"""The trained editor: a text generator that writes the words which are to lead to another class."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, cast

import regex

from verax.data.text import split_words
from verax.engine.questions import Candidates, QuestionGenerator, split_results, together
from verax.metrics.free_text.editor import Proposal, Proposals, check_search, open_parts, places
from verax.metrics.free_text.insertion import Insertion
from verax.metrics.free_text.second_model import folder_of, generator_beside, hashes_of
from verax.models.editor_wording import FACTS, EditorFacts, editor_prompt, read_editor_facts
from verax.models.generator import CandidateGenerator, CandidatesPass
from verax.models.subject import Subject
from verax.stats.drawing import rng_of
from verax.store.keys import hash_files
from verax.types import Generated, Instance, UserError

VERSION = 2
"""Raised whenever the editor makes other edits: part of their provenance."""
_MOST_WORDS = 3
_MAX_NEW_TOKENS = 12
_PART = regex.compile(r"\{(\d+)\}")


class _Loaded(NamedTuple):
    """A loaded editor."""

    facts: EditorFacts
    generator: CandidateGenerator


@dataclass(frozen=True)
class InfillEditor:
    """Up to three words at random positions, written for each class by a model of `verax train editor`.

    Positions depend only on the seed, the text of the instance and the class (Atanasova et al. 2023, Section 3).

    Args:
        path: the folder of the editor.
        positions: number of positions in each part that may be edited, for each class.
        candidates: number of texts asked for at each; texts without a word, with more than three, cut off, or that
            repeat the neighbouring words are ignored.
        seed: of the positions.
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
        check_search("editor", self.positions, self.candidates, self.seed)

    @property
    def provenance(self) -> Mapping[str, str]:
        """The model and its prompt, without loading it."""
        folder = folder_of(self.path)
        read_editor_facts(folder)  # rejects a folder without an editor
        facts = hash_files([folder / FACTS, *folder.glob("generation_config.json")])
        return {"editor": f"infill {VERSION}", **hashes_of(self.path), "facts": facts}

    def max_inputs(self, parts: int, labels: int) -> int:
        """The same number for each class but the predicted one."""
        return self.positions * self.candidates * parts * (labels - 1)

    def check(self, labels: Sequence[str], parts: int) -> None:
        """Reject classes that the editor does not know, and another number of parts, without loading it."""
        self._check_inputs(read_editor_facts(folder_of(self.path)), labels, parts)

    def propose(
        self, x: Subject, wanted: Sequence[str], parts: Collection[int] | None = None
    ) -> QuestionGenerator[Proposals]:
        """Edits for each class, position by position, all asked at once.

        A position without an answer, for example because its prompt is too long, has no edits. If no position has an
        answer, the reason of the first is raised.
        """
        facts, generator = _load(self.path, x)
        self._check_inputs(facts, wanted, len(x.instance.parts))
        spots = [
            (label, part, position)
            for label in wanted
            for part in open_parts(x.instance, parts)
            for position in self._positions(x.instance, part, label)
        ]
        ends = yield from together(self._written(x, facts, generator, *spot) for spot in spots)
        written, problems = split_results(ends)
        if problems and not written:
            raise problems[0]
        return tuple(proposal for proposals in written for proposal in proposals)

    def _check_inputs(self, facts: EditorFacts, labels: Sequence[str], parts: int) -> None:
        strange = [label for label in labels if label not in facts.labels]
        if strange:
            raise UserError(f"editor: {self.path!r} knows {', '.join(facts.labels)}; it can't lead to {strange[0]!r}")
        known = len(set(_PART.findall(facts.prompt)))
        if known != parts:
            raise UserError(f"editor: {self.path!r} was trained on inputs of {known} part(s), and these have {parts}")

    def _positions(self, instance: Instance, part: int, label: str) -> list[int]:
        rng = rng_of(self.seed, (text.raw for text in instance.parts), f"infill_editor {part} {label}".encode())
        drawn: list[int] = rng.permutation(places(instance.parts[part]))[: self.positions].tolist()
        return drawn

    def _written(
        self, x: Subject, facts: EditorFacts, generator: CandidateGenerator, label: str, part: int, position: int
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
    return len(words) <= _MOST_WORDS and any(sign.isalnum() for word in words for sign in word)


def _repeats(words: tuple[str, ...], around: tuple[str, ...], position: int) -> bool:
    """Whether words repeat their neighbours, as an editor trained to fill gaps tends to do."""
    wanted, count = tuple(map(str.lower, words)), len(words)
    beside = (around[position : position + count], around[max(0, position - count) : position])
    return any(tuple(map(str.lower, found)) == wanted for found in beside)


def _load(path: str, x: Subject) -> _Loaded:
    # every model loaded from a folder gives candidates
    return _Loaded(read_editor_facts(folder_of(path)), cast("CandidateGenerator", generator_beside(x, path)))
