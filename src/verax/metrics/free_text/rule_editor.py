"""An editor for models with a known rule: it inserts words that decide, so that some of its edits flip predictions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from verax.data.rules import RULES, features, fired
from verax.engine.questions import QuestionGenerator
from verax.metrics.free_text.editing import Insertion, Proposal, Proposals, editable_parts
from verax.models.subject import Subject
from verax.stats.drawing import rng_of
from verax.types import require_at_least

VERSION = 1
"""Raised whenever the editor makes other edits: part of their provenance."""


@dataclass(frozen=True)
class RuleEditor:
    """Single words that decide in the rules of the models `rules/...`, at random positions; none for other models.

    Edits after which clauses of two classes fire are left out, since the class is then undefined.

    Args:
        edits: number of edits, before those are left out.
    """

    edits: int = 16
    seed: int = 0

    namespace: ClassVar[str] = "editors"
    name: ClassVar[str] = "rule_words"
    summary: ClassVar[str] = "Inserts words that decide in the rules of the models `rules/...`."
    reference: ClassVar[str] = "control"

    def __post_init__(self) -> None:
        require_at_least("rule_words", 1, edits=self.edits)
        require_at_least("rule_words", 0, seed=self.seed)

    @property
    def provenance(self) -> Mapping[str, str]:
        """The version."""
        return {"editor": f"rule_words {VERSION}"}

    def max_inputs(self, parts: int, labels: int) -> int:
        """The same number for any number of parts and classes."""
        return self.edits

    def propose(
        self, x: Subject, wanted: Sequence[str], parts: Collection[int] | None = None
    ) -> QuestionGenerator[Proposals]:
        """Its edits, which aim at no class, without a question."""
        yield from ()
        instance = x.instance
        numbers = editable_parts(instance, parts)
        if "rules" not in getattr(x.model, "about", {}) or not numbers:
            return ()
        rng = rng_of(self.seed, (text.raw for text in instance.parts), b"rule_words")
        words = [word for feature in features(RULES) for word in feature.words]
        proposals = []
        for _ in range(self.edits):
            part = numbers[int(rng.integers(len(numbers)))]
            position = int(rng.integers(len(instance.parts[part].words) + 1))
            insertion = Insertion(part, position, (words[int(rng.integers(len(words)))],))
            edited = insertion.apply(instance)
            if len({clause.label for _, clause in fired([text.words for text in edited.parts])}) == 1:
                proposals.append(Proposal(insertion))
        return tuple(proposals)
