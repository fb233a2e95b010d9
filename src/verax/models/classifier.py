"""What every encoder and every classifier can be asked, whatever it is made of."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from verax.models.encoding import Encoding
from verax.models.readout import Readout
from verax.models.removal import States
from verax.types import FloatArray, Instance, IntArray


class Row(NamedTuple):
    """One forward pass: an encoding with some units removed; `state` has shape [units]."""

    encoding: Encoding
    state: States


class PathPoint(NamedTuple):
    """One backward pass: the gradient of `readout` at `baseline + alpha * (input - baseline)`.

    `guided` gates what flows back through a ReLU.
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
    """The two ends of a path in word-embedding space, and the unit of each token that is on it.

    Args:
        inputs, baseline: shape [tokens, dimensions].
        token_unit: unit of each token, -1 for special tokens; shape [tokens].
    """

    inputs: FloatArray
    baseline: FloatArray
    token_unit: IntArray


Head = Literal["most_important", "mean"] | int
"""Of the heads of a layer: the one whose output contributes most to a readout, their mean, or one by its number."""


class AttentionPass(NamedTuple):
    """One pass with the attention of a layer in the open; with a `readout` backward too, to weigh the heads.

    `map_of` asks for the whole map of a head too.
    """

    row: Row
    layer: int
    readout: Readout | None
    map_of: Head | None = None


@dataclass(frozen=True, eq=False, slots=True)
class AttentionRead:
    """The answer to an AttentionPass: how the position that the classifier reads attends to every token.

    Args:
        weights: shape [heads, tokens].
        contributions: gradient times activation of each head's output at the reading position, shape [heads]; None if
            no readout was given.
        token_unit: unit of each token, -1 for special tokens; shape [tokens].
        map: how each token attends to each, in the head that was asked for; shape [tokens, tokens].
    """

    weights: FloatArray
    contributions: FloatArray | None
    token_unit: IntArray
    map: FloatArray | None = None


class StatesPass(NamedTuple):
    """One forward pass, up to a layer: 0 are the embeddings behind their norm, n is behind the n-th layer."""

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
        product: by the token that attends and the one that is attended to; shape [tokens, tokens].
        total: the sum over the whole map, special tokens and all.
    """

    product: FloatArray
    total: float


class Encoder(Protocol):
    """A model that turns text into hidden states.

    Attributes:
        name: as the user gave it.
        labels: names of its classes, in the order of the logits; none if it has no classes.
        fingerprint: hashes of whatever decides its answers (weights, tokenizer), and its dtype.
        layers: how many layers it has; 0 if nobody can look inside.
        about: facts for the run card (architecture, device, how it was trained if it says so, ...).
    """

    name: str
    labels: tuple[str, ...]
    fingerprint: dict[str, str]
    about: dict[str, str]

    @property
    def layers(self) -> int:
        """See above."""

    def encode(self, instance: Instance) -> Encoding:
        """The instance in this model's terms; raises Undefined where it can't be had."""

    def unknown(self, encoding: Encoding) -> float:
        """The share of an input's words that the model can't read: its tokenizer does not know them."""

    def lengths(self, encoding: Encoding, states: States) -> IntArray:
        """Sequence length of each row: [rows, units] -> [rows]; 0 where nothing is left to run."""

    def bucket(self, row: Row, length: int) -> Hashable:
        """Rows may share a batch only if their buckets are equal."""

    def token_states(self, passes: Sequence[StatesPass]) -> list[FloatArray]:
        """Hidden states of all tokens, [tokens, dimensions] each, in one batch; all passes see the same layer."""


class Classifier(Encoder, Protocol):
    """A model with classes.

    Attributes:
        removals: rules that it can remove words by.
        baselines: baselines that a path of gradients can start from; none if it has no gradients.
        attention_layers: how many attention maps it has that can be scaled; 0 if nobody can look inside.
    """

    removals: frozenset[str]
    baselines: frozenset[str]

    @property
    def attention_layers(self) -> int:
        """See above."""

    def logits(self, rows: Sequence[Row]) -> FloatArray:
        """Forward passes in one batch: shape [rows, classes]."""

    def hidden(self, rows: Sequence[Row]) -> FloatArray:
        """Forward passes in one batch, each neuron's maximum over positions: shape [rows, layers + 1, neurons]."""

    def path(self, row: Row, baseline: str) -> Path:
        """The two ends of a path of gradients."""

    def gradients(self, points: Sequence[PathPoint]) -> list[PointGradient]:
        """Backward passes in one batch."""

    def attention(self, passes: Sequence[AttentionPass]) -> list[AttentionRead]:
        """Attention from the reading position, in one batch; all passes see the same layer."""

    def map_gradients(self, points: Sequence[MapPoint]) -> list[MapGradient]:
        """Backward passes to attention maps, in one batch; all points are of the same layer."""

    def token_units(self, row: Row) -> IntArray:
        """The unit of each token that is left of a row, -1 for special tokens: shape [tokens]."""

    def vocabulary_norm(self, gradient: FloatArray, order: Literal[1, 2]) -> FloatArray:
        """Norm of the gradient with respect to the one-hot input: [tokens, dimensions] -> [tokens]."""

    def by_token(self, instance: Instance) -> Instance:
        """The instance with every sub-word as a word of its own (`granularity="token"`)."""
