"""Capabilities of models, the requests that they answer in batches, and their protocols."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from verax.models.encoding import Encoding, PerturbedInput
from verax.models.removal import States
from verax.models.targets import Readout
from verax.types import FloatArray, Instance, IntArray

Capability = Literal[
    "outputs", "hidden", "embeddings", "gradients", "attention", "attention_gradients", "text", "likelihood"
]
"""Names of capabilities; plug-ins may add their own.

`outputs`: class logits under removal of words (`logits`). `hidden`: hidden states (`hidden`, `token_states`).
`embeddings`: word embeddings (`path`), and `gradients`: gradients with respect to them (`gradients`,
`vocabulary_norm`). `attention`: attention maps (`attention`), and `attention_gradients`: gradients with respect to them
(`map_gradients`). `text`: an answer and an explanation in free text (`SelfExplainer`), and `likelihood`: likelihoods of
given texts. The methods in brackets answer the questions of `verax.engine.questions`.
"""


class PathPoint(NamedTuple):
    """One backward pass: the gradient of `readout` at `baseline + alpha * (input - baseline)`.

    `guided` lets only positive gradients pass through a ReLU.
    """

    row: PerturbedInput
    baseline: str
    alpha: float
    readout: Readout
    guided: bool = False


class PointGradient(NamedTuple):
    """The answer to a PathPoint: `gradient` has shape [tokens, dimensions], `value` is the readout there."""

    gradient: FloatArray
    value: float


@dataclass(frozen=True, eq=False, slots=True)
class EmbeddingPath:
    """The two ends of a path in word-embedding space, and the unit of each token.

    Args:
        inputs, baseline: shape [tokens, dimensions].
        token_unit: unit of each token, -1 for special tokens; shape [tokens].
    """

    inputs: FloatArray
    baseline: FloatArray
    token_unit: IntArray


Head = Literal["most_important", "mean"] | int
"""Attention head of a layer: the one that contributes most to a readout, the mean of all, or one by its number."""


class AttentionPass(NamedTuple):
    """One pass that returns the attention of a layer.

    A `readout` adds a backward pass that weighs the heads; `map_of` also returns the whole map of a head.
    """

    row: PerturbedInput
    layer: int
    readout: Readout | None
    map_of: Head | None = None


@dataclass(frozen=True, eq=False, slots=True)
class AttentionRead:
    """The answer to an AttentionPass: attention from the position that the classifier reads to every token.

    Args:
        weights: shape [heads, tokens].
        contributions: gradient times activation of each head's output at the reading position, shape [heads]; None
            without a readout.
        token_unit: unit of each token, -1 for special tokens; shape [tokens].
        map: attention of the requested head from each token to each; shape [tokens, tokens].
    """

    weights: FloatArray
    contributions: FloatArray | None
    token_unit: IntArray
    map: FloatArray | None = None


class StatesPass(NamedTuple):
    """One forward pass up to a layer: 0 returns the embeddings after their norm, n the output of the n-th layer."""

    row: PerturbedInput
    layer: int


class MapPoint(NamedTuple):
    """One backward pass: the gradient of `readout` at the attention map of a layer, scaled by `alpha`."""

    row: PerturbedInput
    layer: int
    alpha: float
    readout: Readout


class MapGradient(NamedTuple):
    """The answer to a MapPoint: the unscaled map times the gradient at the scaled one, summed over heads.

    Args:
        product: by attending and attended token; shape [tokens, tokens].
        total: sum over the whole map, special tokens included.
    """

    product: FloatArray
    total: float


class Model(Protocol):
    """A model of any kind."""

    @property
    def name(self) -> str:
        """Name, as the user gave it."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of its classes, in the order of the logits; empty if it has none."""

    @property
    def fingerprint(self) -> dict[str, str]:
        """Hashes of everything that determines its answers (weights, tokenizer), and its dtype."""

    @property
    def about(self) -> dict[str, str]:
        """Facts for the run card: architecture, device, training, ..."""

    @property
    def capabilities(self) -> AbstractSet[str]:
        """See `Capability`."""


class EncodingModel(Model, Protocol):
    """A model that encodes its inputs, so that words can be removed from them and inputs can share a batch."""

    def encode(self, instance: Instance) -> Encoding:
        """The instance in this model's terms; raises Undefined if the model cannot read it."""

    def unknown(self, encoding: Encoding) -> float:
        """Share of an input's words that the tokenizer does not know."""

    def lengths(self, encoding: Encoding, states: States) -> IntArray:
        """Sequence length of each row: [rows, units] -> [rows]; 0 where no token is left."""

    def bucket(self, row: PerturbedInput, length: int) -> Hashable:
        """Rows may share a batch only if their buckets are equal."""

    def by_token(self, instance: Instance) -> Instance:
        """The instance with every sub-word as a word of its own (`granularity="token"`)."""


class Classifier(EncodingModel, Protocol):
    """A model with the capability `outputs`."""

    @property
    def removals(self) -> frozenset[str]:
        """Rules by which words can be removed."""

    def logits(self, rows: Sequence[PerturbedInput]) -> FloatArray:
        """Forward passes in one batch: shape [rows, classes]."""


class Encoder(EncodingModel, Protocol):
    """A model with the capability `hidden`."""

    @property
    def layers(self) -> int:
        """Number of layers."""

    def hidden(self, rows: Sequence[PerturbedInput]) -> FloatArray:
        """Forward passes in one batch, each neuron's maximum over positions: shape [rows, layers + 1, neurons]."""

    def token_states(self, passes: Sequence[StatesPass]) -> list[FloatArray]:
        """Hidden states of all tokens, [tokens, dimensions] each, in one batch; all passes name the same layer."""
