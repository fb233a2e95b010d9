"""What a model can be asked: its capabilities, the requests it answers in batches, and a protocol for each."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from verax.models.encoding import Encoding
from verax.models.generator import TextGenerator
from verax.models.readout import Readout
from verax.models.removal import States
from verax.models.wording import Wording
from verax.types import FloatArray, Instance, IntArray

Capability = Literal[
    "outputs", "hidden", "embeddings", "gradients", "attention", "attention_gradients", "text", "likelihood"
]
"""What a model can be asked for. Plug-ins may add names of their own.

`outputs`: class logits under removal of words (`Classifier`). `hidden`: hidden states (`Encoder`). `embeddings`: word
embeddings, and `gradients`: gradients with respect to them (`GradientModel`). `attention`: attention maps, and
`attention_gradients`: gradients with respect to them (`AttentionModel`). `text`: an answer and an explanation in free
text, and `likelihood`: likelihoods of given texts (`TextModel`).
"""


class Row(NamedTuple):
    """One forward pass: an encoding with some units removed; `state` has shape [units]."""

    encoding: Encoding
    state: States


class PathPoint(NamedTuple):
    """One backward pass: the gradient of `readout` at `baseline + alpha * (input - baseline)`.

    `guided` lets only positive gradients pass through a ReLU.
    """

    row: Row
    baseline: str
    alpha: float
    readout: Readout
    guided: bool = False


class PointGradient(NamedTuple):
    """The answer to a PathPoint: `gradient` has shape [tokens, dimensions], `value` is the readout there."""

    gradient: FloatArray
    value: float


@dataclass(frozen=True, eq=False, slots=True)
class Path:
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

    row: Row
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

    row: Row
    layer: int


class MapPoint(NamedTuple):
    """One backward pass: the gradient of `readout` at the attention map of a layer, scaled by `alpha`."""

    row: Row
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
    """What every model tells about itself."""

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
        """What it can be asked for; see `Capability`."""


class EncodingModel(Model, Protocol):
    """A model that encodes its inputs, so that words can be removed from them and inputs can share a batch."""

    def encode(self, instance: Instance) -> Encoding:
        """The instance in this model's terms; raises Undefined if the model cannot read it."""

    def unknown(self, encoding: Encoding) -> float:
        """Share of an input's words that the tokenizer does not know."""

    def lengths(self, encoding: Encoding, states: States) -> IntArray:
        """Sequence length of each row: [rows, units] -> [rows]; 0 where no token is left."""

    def bucket(self, row: Row, length: int) -> Hashable:
        """Rows may share a batch only if their buckets are equal."""

    def by_token(self, instance: Instance) -> Instance:
        """The instance with every sub-word as a word of its own (`granularity="token"`)."""


class Classifier(EncodingModel, Protocol):
    """A model with the capability `outputs`."""

    @property
    def removals(self) -> frozenset[str]:
        """Rules by which words can be removed."""

    def logits(self, rows: Sequence[Row]) -> FloatArray:
        """Forward passes in one batch: shape [rows, classes]."""


class Encoder(EncodingModel, Protocol):
    """A model with the capability `hidden`."""

    @property
    def layers(self) -> int:
        """Number of layers."""

    def hidden(self, rows: Sequence[Row]) -> FloatArray:
        """Forward passes in one batch, each neuron's maximum over positions: shape [rows, layers + 1, neurons]."""

    def token_states(self, passes: Sequence[StatesPass]) -> list[FloatArray]:
        """Hidden states of all tokens, [tokens, dimensions] each, in one batch; all passes name the same layer."""


class GradientModel(EncodingModel, Protocol):
    """A model with the capabilities `embeddings` and `gradients`."""

    @property
    def baselines(self) -> frozenset[str]:
        """Baselines that a path of gradients can start from."""

    def path(self, row: Row, baseline: str) -> Path:
        """The two ends of a path of gradients."""

    def gradients(self, points: Sequence[PathPoint]) -> list[PointGradient]:
        """Backward passes in one batch."""

    def vocabulary_norm(self, gradient: FloatArray, order: Literal[1, 2]) -> FloatArray:
        """Norm of the gradient with respect to the one-hot input: [tokens, dimensions] -> [tokens]."""


class AttentionModel(EncodingModel, Protocol):
    """A model with the capabilities `attention` and `attention_gradients`."""

    @property
    def attention_layers(self) -> int:
        """Number of attention maps that can be scaled."""

    def attention(self, passes: Sequence[AttentionPass]) -> list[AttentionRead]:
        """Attention from the reading position, in one batch; all passes name the same layer."""

    def map_gradients(self, points: Sequence[MapPoint]) -> list[MapGradient]:
        """Backward passes to attention maps, in one batch; all points name the same layer."""

    def token_units(self, row: Row) -> IntArray:
        """The unit of each token that is left of a row, -1 for special tokens: shape [tokens]."""


class TextModel(Model, Protocol):
    """A model with the capability `text`: it answers and explains itself in free text."""

    @property
    def explainer(self) -> TextGenerator:
        """The generator that explains."""

    @property
    def predictor(self) -> TextGenerator:
        """The generator that answers; often the same."""

    @property
    def wording(self) -> Wording:
        """The prompts."""

    @property
    def plain(self) -> bool:
        """Whether prompts are continued as they are, without a chat template: those that it was trained on."""
