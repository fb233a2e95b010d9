"""The reconstruction test: do the reasons of an explanation lead to the same prediction?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from verax.engine.protocols import AnsweringMethod, RunFacts, as_generator
from verax.engine.questions import QuestionGenerator
from verax.metrics.free_text.model_written import ModelWritten
from verax.metrics.free_text.reconstruction import (
    UNREADABLE,
    ComveByReplacement,
    NliByTemplates,
    Reconstructed,
    Reconstruction,
)
from verax.models.subject import Subject
from verax.models.wording import task_of
from verax.types import Kind, Measured, Nle, Passes, Trial, TrialLog, Undefined


def fitting(labels: Sequence[str], parts: int) -> Reconstruction:
    """The reconstruction for inputs with this number of parts and these classes: by rules if the task has some."""
    task = task_of(labels, parts)
    if task == "nli":
        return NliByTemplates()
    if task == "commonsense":
        first, second = labels
        return ComveByReplacement((first, second))
    return ModelWritten()


@dataclass(frozen=True)
class ReconstructionTest:
    """1 if an input made from the explanation alone gets the prediction of the original one, 0 otherwise.

    A test of consistency, not a proof of faithfulness. There is no value if no input can be made from the explanation.

    Args:
        by: makes the input; chosen by the task by default, see `fitting`.
    """

    by: Reconstruction | None = None

    name: ClassVar[str] = "reconstruction_test"
    display: ClassVar[str] = "Reconstruction test"
    summary: ClassVar[str] = "Whether the reasons alone lead to the same prediction; a consistency test."
    cost: ClassVar[str] = "1 answer"
    measures: ClassVar[str] = "text"
    kinds: ClassVar[frozenset[Kind]] = frozenset({"text"})
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Atanasova et al. 2023, Section 2.2"
    higher_is_better: ClassVar[bool] = True
    ranked: ClassVar[bool] = False
    range: ClassVar[tuple[float | None, float | None]] = (0.0, 1.0)
    needs: ClassVar[frozenset[str]] = frozenset({"setup"})

    @property
    def provenance(self) -> Mapping[str, str]:
        """Provenance of the reconstruction; empty until one is chosen."""
        return {} if self.by is None else self.by.provenance

    def fitted(self, run: RunFacts) -> ReconstructionTest:
        """The test with the reconstruction for the task of the run, if none is named."""
        if self.by is not None or not run.data.instances:
            return self
        return replace(self, by=fitting(run.model.labels, len(run.data.instances[0].parts)))

    def passes(self, n: int) -> Passes:
        """Passes of text generators are not counted in advance."""
        return Passes(0, 0)

    def max_inputs(self, parts: int, labels: int) -> int:
        """The reconstructed input, and the question to a model that writes it."""
        return 2

    def __call__(self, x: Subject, nle: Nle, *, setup: AnsweringMethod) -> QuestionGenerator[Measured]:
        """The verdict on the explanation of x.

        Args:
            x: the original input.
            nle: its class and explanation.
            setup: how the model answers.
        """
        by = fitting(x.model.labels, len(x.instance.parts)) if self.by is None else self.by
        try:
            made: Reconstructed = yield from as_generator(by.reconstruct, x, nle.text, nle.label)
        except Undefined as problem:
            if problem.reason not in UNREADABLE:
                raise
            detail = str(problem).removeprefix("no_reconstruction: ")
            return Measured(None, reason="no_reconstruction", detail=detail, trial_log=TrialLog(0, ()))
        said = yield from setup.answer(x.edited(made.instance))
        flipped = said.label != nle.label
        parts = tuple(part.raw for part in made.instance.parts)
        trial = Trial(
            "reconstruction", parts, said.label, flipped, said.label_source, explanation=said.text, notes=made.notes
        )
        return Measured(float(not flipped), trial_log=TrialLog(1, (trial,), decisive=0))
