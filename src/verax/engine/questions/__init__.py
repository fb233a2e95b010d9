"""Questions that a method or metric can ask about its one input.

A method is a plain generator: it yields a question, and `yield` returns the answer. A question names the subject that
it is about: the `x` that the method received, or a view of it (`x.without(...)`), so one method can delegate to another
with `yield from`.
"""

from __future__ import annotations

from verax.engine.questions.attention import Attention
from verax.engine.questions.attention_gradients import AttentionPathGradient, AttributedMaps
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
from verax.engine.questions.coalitions import CoalitionQuestion, Hidden, Outputs, gold_class, resolve
from verax.engine.questions.gradients import Embeddings, PathGradient, SummedGradient, VocabularyNorm
from verax.engine.questions.states import TokenStates
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
    "resolve",
    "split_results",
    "together",
]
