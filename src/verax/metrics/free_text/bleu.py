"""BLEU of an explanation against human explanations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, ClassVar

from verax.engine.questions import QuestionGenerator
from verax.metrics.free_text.linguistics import EXTRA
from verax.models.subject import Subject
from verax.types import Kind, Measured, MeasuredProperty, Nle, NoPasses, Undefined, UserError

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU


@dataclass(frozen=True)
class Bleu(NoPasses):
    """NormalisedSentence BLEU by sacrebleu, from 0 to 1, against all human explanations of the input.

    The counts for corpus BLEU, which is not the mean of these values, are kept with it: `correct` and `total` n-grams
    for n = 1 to 4, and the `lengths` of the explanation and of the closest reference.
    """

    name: ClassVar[str] = "bleu"
    display: ClassVar[str] = "BLEU"
    summary: ClassVar[str] = "N-gram overlap with human explanations."
    cost: ClassVar[str] = "none"
    measures: ClassVar[MeasuredProperty] = "agreement"
    kinds: ClassVar[frozenset[Kind]] = frozenset({"text"})
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Papineni et al. 2002; Post 2018"
    higher_is_better: ClassVar[bool] = True
    ranked: ClassVar[bool] = False
    range: ClassVar[tuple[float | None, float | None]] = (0.0, 1.0)
    needs: ClassVar[frozenset[str]] = frozenset()

    @property
    def provenance(self) -> Mapping[str, str]:
        """Version of sacrebleu, which determines tokenisation and smoothing."""
        _bleu()
        return {"bleu": f"sacrebleu {version('sacrebleu')}"}

    def max_inputs(self, parts: int, labels: int) -> int:
        """No new input."""
        return 0

    def __call__(self, x: Subject, nle: Nle) -> QuestionGenerator[Measured]:
        """The value for one explanation of x, without a question."""
        yield from ()
        human = x.instance.human
        references = [] if human is None else [text for text in human.explanations if text.strip()]
        if not references:
            raise Undefined("no_gold", "this input has no human explanation")
        score = _bleu().sentence_score(nle.text, references)
        series = {
            "correct": tuple(map(float, score.counts)),
            "total": tuple(map(float, score.totals)),
            "lengths": (float(score.sys_len), float(score.ref_len)),
        }
        return Measured(min(score.score / 100, 1.0), None, series)


@cache
def _bleu() -> BLEU:
    try:
        from sacrebleu.metrics.bleu import BLEU  # noqa: PLC0415 - of an extra
    except ImportError:
        raise UserError(f"bleu: it needs sacrebleu, which is not installed: {EXTRA}") from None
    return BLEU(effective_order=True)
