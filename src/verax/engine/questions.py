"""The questions that a method or metric can ask about its one instance, and how it asks them.

A method is a plain generator: it yields a question, and `yield` gives it the answer. A question names the input that it
is about: the `x` that the method was handed, or a view of it (`x.without(...)`). So one method can delegate to another
with `yield from`, and nobody has to translate.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np

from verax.models.classifier import Head, Path
from verax.models.generator import (
    CandidateGenerator,
    CandidatesPass,
    ChoicePass,
    Chooser,
    GeneratePass,
    LikelihoodPass,
    TextGenerator,
)
from verax.models.labels import class_of
from verax.models.readout import Readout
from verax.models.subject import Subject
from verax.types import BoolArray, FloatArray, IntArray, Removal, Target, Undefined


@dataclass(frozen=True, eq=False, slots=True)
class Outputs:
    """Class logits for coalitions of kept units, under a removal rule.

    Args:
        x: the input.
        keep: which units of x are kept in each coalition; shape [rows, n_units].
        removal: how the others are removed.
        and_full: ask for the full input too; it is the last row of the answer.

    The answer is an array of logits, shape [rows (+ 1), classes].
    """

    x: Subject
    keep: BoolArray
    removal: Removal = "mask"
    and_full: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Hidden:
    """The largest value that each neuron of each layer takes over the positions, for coalitions of kept units.

    Args:
        x, keep, removal: as for `Outputs`.

    Positions are those of all tokens, special ones too, but not of padding. The answer is an array of shape
    [rows, layers + 1, neurons]; the embeddings, behind their norm, come first.
    """

    x: Subject
    keep: BoolArray
    removal: Removal = "mask"


@dataclass(frozen=True, eq=False, slots=True)
class TokenStates:
    """Hidden states of all tokens of x behind one layer.

    Args:
        x: the input.
        layer: 0 are the embeddings, behind their norm; n is behind the n-th layer.

    The answer is an array, shape [tokens, dimensions].
    """

    x: Subject
    layer: int


@dataclass(frozen=True, eq=False, slots=True)
class PathGradient:
    """The weighted sum of gradients at the word embeddings along the straight path from a baseline to x.

    Args:
        x: the input.
        readout: what is differentiated.
        baseline: `pad` or `mask` (that token's embedding for every word), `zero_words` (zero for every word), `zero`
            (zero everywhere, special tokens too).
        alphas: where on the path: 0 is the baseline, 1 the input.
        weights: of the gradient at each point; they are summed up inside the engine, so that memory does not grow with
            the number of points.
        guided: let only positive gradients flow back through a ReLU (guided backpropagation).

    The answer is a `SummedGradient`.
    """

    x: Subject
    readout: Readout
    baseline: str = "zero"
    alphas: tuple[float, ...] = (1.0,)
    weights: tuple[float, ...] = (1.0,)
    guided: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class SummedGradient:
    """The answer to a PathGradient.

    Args:
        gradient: the weighted sum, shape [tokens, dimensions].
        values: the readout at each point, shape [points].
        path: its two ends.
    """

    gradient: FloatArray
    values: FloatArray
    path: Path


@dataclass(frozen=True, eq=False, slots=True)
class Embeddings:
    """The word embeddings of x, before positions, types and the layer norm; no pass is needed.

    The answer is a `Path` that ends in them.
    """

    x: Subject


@dataclass(frozen=True, eq=False, slots=True)
class VocabularyNorm:
    """The norm over the vocabulary of a gradient with respect to the one-hot input; no pass is needed.

    Args:
        gradient: at the word embeddings, shape [tokens, dimensions].
        order: of the norm.

    The answer is an array, shape [tokens].
    """

    gradient: FloatArray
    order: Literal[1, 2]


@dataclass(frozen=True, eq=False, slots=True)
class Attention:
    """How the position that the classifier reads attends to every token, in one layer.

    Args:
        x: the input.
        layer: counted from 0, or from the last one by -1.
        readout: weigh the heads by what they contribute to it; costs a backward pass instead of a forward pass.
        map_of: ask for the whole map too, of this head; the most important one needs a readout.

    The answer is an `AttentionRead`.
    """

    x: Subject
    layer: int = -1
    readout: Readout | None = None
    map_of: Head | None = None


@dataclass(frozen=True, eq=False, slots=True)
class AttentionPathGradient:
    """Integrated gradients of the attention maps of x, one layer at a time, summed over heads and layers.

    Args:
        x: the input.
        readout: what is differentiated.
        alphas: what a map is scaled by, point by point; all points weigh the same.

    The answer is an `AttributedMaps`.
    """

    x: Subject
    readout: Readout
    alphas: tuple[float, ...]


@dataclass(frozen=True, eq=False, slots=True)
class AttributedMaps:
    """The answer to an AttentionPathGradient.

    Args:
        total: by the token that attends and the one that is attended to, summed over layers; shape [tokens, tokens].
        layers: the sum over the whole map of each layer, special tokens and all: what its attention adds to the
            readout, up to the error of the steps; shape [layers].
        token_unit: unit of each token, -1 for special tokens; shape [tokens].
    """

    total: FloatArray
    layers: FloatArray
    token_unit: IntArray


@dataclass(frozen=True, eq=False, slots=True)
class Generate:
    """A text that a generator writes.

    Args:
        x: the input that it is about; what is answered is remembered with it.
        generator: who writes.
        request: the prompt, and how it is decoded.

    The answer is a `Generated`.
    """

    x: Subject
    generator: TextGenerator
    request: GeneratePass


@dataclass(frozen=True, eq=False, slots=True)
class Likelihood:
    """Log-likelihoods of given continuations of a prompt.

    Args:
        x, generator: as for `Generate`.
        request: the prompt and the continuations.

    The answer is an array, shape [continuations].
    """

    x: Subject
    generator: TextGenerator
    request: LikelihoodPass


@dataclass(frozen=True, eq=False, slots=True)
class Choose:
    """One label of several, by a generator that gives no likelihoods.

    Args:
        x: as for `Generate`.
        generator: who chooses.
        request: the prompt and the labels.

    The answer is a `Choice`.
    """

    x: Subject
    generator: Chooser
    request: ChoicePass


@dataclass(frozen=True, eq=False, slots=True)
class Candidates:
    """The most likely texts that go on from a prompt, different from each other.

    Args:
        x: as for `Generate`.
        generator: who writes.
        request: the prompt, and how many are wanted.

    The answer is a list of `Generated`, the most likely first.
    """

    x: Subject
    generator: CandidateGenerator
    request: CandidatesPass


TextQuestion = Generate | Likelihood | Choose | Candidates
"""Questions to text generators: each names the one that it is for."""


@dataclass(frozen=True, eq=False, slots=True)
class Bundle:
    """Several questions at once, so that they are answered in the same batches; see `together`.

    The answer is a list: for each question its answer, or the exception that stands in its way.
    """

    questions: tuple[Question, ...]


Question = (
    Outputs
    | Hidden
    | PathGradient
    | Embeddings
    | VocabularyNorm
    | Attention
    | AttentionPathGradient
    | TokenStates
    | TextQuestion
    | Bundle
)
T = TypeVar("T")
QuestionGenerator = Generator[Question, Any, T]


def resolve(target: Target, x: Subject) -> QuestionGenerator[Readout]:
    """Settle the class that a target means; the prediction is that of the unperturbed input, whatever x has lost."""
    of = "loss" if target.of == "loss" else target.space
    if target.of == "prediction":
        full = x.original
        logits: FloatArray = yield Outputs(full, np.empty((0, full.n_units), bool), and_full=True)
        return Readout(of, int(np.argmax(logits[-1])))
    if target.of in {"gold", "loss"}:
        return Readout(of, gold_class(x))
    named = class_of(target.of, x.encoding.labels)
    if named is None:
        raise Undefined("unknown_label", f"{target.of!r} is none of {', '.join(x.encoding.labels)}")
    return Readout(of, named)


def gold_class(x: Subject) -> int:
    """The number of the input's gold class among those of the model."""
    label, gold = x.instance.label, x.encoding.gold
    if gold is not None:
        return gold
    if label is None:
        raise Undefined("no_label", "the gold class of the input is needed (label, --label)")
    raise Undefined("unknown_label", f"{label!r} is none of {', '.join(x.encoding.labels)}")
