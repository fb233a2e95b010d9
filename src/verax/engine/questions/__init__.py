"""Questions that a method or metric can ask about its one input.

A method is a generator: it yields a question, and `yield` returns the answer. A question is about the subject `x` that
the method received, or about a view of it (`x.without(...)`), so one method can delegate to another with `yield from`.
"""

from __future__ import annotations

from verax.engine.questions.base import (
    Needed,
    Pass,
    Question,
    QuestionGenerator,
    Reduction,
    WholeQuestion,
    check_finite,
)
from verax.engine.questions.bundle import Bundle, split_results, together
from verax.engine.questions.coalitions import (
    CoalitionQuestion,
    Hidden,
    HiddenStatistic,
    Outputs,
    gold_class,
    resolve_target,
)
from verax.engine.questions.internals import (
    Attention,
    AttentionPathGradient,
    AttributedMaps,
    Embeddings,
    PathGradient,
    SummedGradient,
    TokenStates,
    VocabularyNorm,
)
from verax.engine.questions.text import Candidates, Choose, Generate, Likelihood, TextQuestion

__all__ = [
    "Attention",
    "AttentionPathGradient",
    "AttributedMaps",
    "Bundle",
    "Candidates",
    "Choose",
    "CoalitionQuestion",
    "Embeddings",
    "Generate",
    "Hidden",
    "HiddenStatistic",
    "Likelihood",
    "Needed",
    "Outputs",
    "Pass",
    "PathGradient",
    "Question",
    "QuestionGenerator",
    "Reduction",
    "SummedGradient",
    "TextQuestion",
    "TokenStates",
    "VocabularyNorm",
    "WholeQuestion",
    "check_finite",
    "gold_class",
    "resolve_target",
    "split_results",
    "together",
]
