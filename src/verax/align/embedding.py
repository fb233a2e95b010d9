"""Embedding alignment by similar hidden states of a multilingual encoder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from verax.align.extract import Extract, argmax_links, cosine, itermax_links, softmax_links, word_links
from verax.align.protocol import TextPair
from verax.engine.ask import ask_all
from verax.engine.engine import Engine
from verax.engine.questions import QuestionGenerator, TokenStates
from verax.models.classifier import Encoder
from verax.models.load import load_encoder
from verax.models.subject import Subject
from verax.types import BoolArray, FloatArray, Instance, IntArray, Text, Undefined, UserError

_TextKey = tuple[str, tuple[tuple[int, int], ...]]
_PairKey = tuple[_TextKey, _TextKey]

WORDS_AT_ONCE = 16384
"""Number of words that are aligned at a time: bounded memory, and enough texts of each length to fill a batch."""


@dataclass(frozen=True)
class Embedding:
    """Links by the similarity of hidden states; two words are linked when any of their sub-words are.

    Each text is encoded separately; special tokens are ignored.

    Args:
        encoder: a folder, a hub id or a shipped model; None: the explained model.
        layer: layer of the hidden states, 0 for the embeddings; default: two thirds of the layers (8 of 12).
        extract: `itermax` (mutually most similar by cosine, and a second round for the rest) or `argmax` (the first
            round alone), as in SimAlign; or `softmax` over dot products in both directions, as in awesome-align, which
            depends on the norm of hidden states, in which encoders differ.
        threshold: minimum probability in both directions for `softmax`.
    """

    encoder: str | None = None
    layer: int | None = None
    extract: Extract = "itermax"
    threshold: float = 1e-3

    name: ClassVar[str] = "embedding"
    summary: ClassVar[str] = "Links words with similar hidden states in a multilingual encoder."
    cost: ClassVar[str] = "1 forward for each text"
    kind: ClassVar[str] = "encoder"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = (
        "Dou and Neubig 2021, Word alignment by fine-tuning embeddings on parallel corpora; "
        "Jalili Sabet et al. 2020, SimAlign"
    )

    def __post_init__(self) -> None:
        if self.layer is not None and self.layer < 0:
            raise UserError(f"embedding: layer: expected at least 0 (the embeddings), got {self.layer}")
        if not 0 <= self.threshold < 1:
            raise UserError(f"embedding: threshold: expected at least 0 and less than 1, got {self.threshold:g}")

    def align(self, pairs: Sequence[TextPair], device: str = "auto") -> Iterator[IntArray | Undefined]:
        """Links of each pair, by the configured encoder on a device."""
        if self.encoder is None:
            raise UserError("embedding: encoder: expected a folder, a hub id or a shipped model (verax list models)")
        return self.align_with(load_encoder(self.encoder, device=device), pairs)

    def check(self, model: Encoder) -> None:
        """Reject a layer that the encoder does not have."""
        if self.layer is not None and self.layer > model.layers:
            raise UserError(
                f"embedding: layer: expected at most {model.layers}, the layers of the encoder, got {self.layer}"
            )

    def align_with(self, model: Encoder, pairs: Sequence[TextPair]) -> Iterator[IntArray | Undefined]:
        """Links of each pair, by a loaded encoder.

        Repeated pairs are aligned once. The pairs of one reference text are aligned together, so that it is encoded
        once, and hidden states of a bounded number of words are in memory.
        """
        self.check(model)
        layer = default_layer(model.layers) if self.layer is None else self.layer
        engine = Engine(window=WORDS_AT_ONCE)
        chunks = _chunks(pairs)
        encoded: dict[_TextKey, _EncodedText | Undefined] = {}
        links: dict[_PairKey, IntArray | Undefined] = {}
        for pair in pairs:
            key = _pair_key(pair)
            while key not in links:
                chunk = next(chunks)
                texts = {_text_key(text): text for pair in chunk for text in (pair.reference, pair.translation)}
                encoded = {key: text for key, text in encoded.items() if key in texts}
                _encode({key: text for key, text in texts.items() if key not in encoded}, model, layer, engine, encoded)
                links.update((_pair_key(pair), self._links(pair, encoded)) for pair in chunk)
            yield links[key]

    def _links(self, pair: TextPair, encoded: Mapping[_TextKey, _EncodedText | Undefined]) -> IntArray | Undefined:
        """Links of one pair, shape [links, 2]."""
        reference, translation = (encoded[key] for key in _pair_key(pair))
        if isinstance(reference, Undefined):
            return Undefined(reference.reason, f"the reference: {reference.detail}")
        if isinstance(translation, Undefined):
            return Undefined(translation.reason, f"the translation: {translation.detail}")
        linked = self._extract(reference.states, translation.states)
        return word_links(linked, reference.words, translation.words, pair.shape)

    def _extract(self, left: FloatArray, right: FloatArray) -> BoolArray:
        if self.extract == "softmax":
            return softmax_links(left @ right.T, self.threshold)
        return (argmax_links if self.extract == "argmax" else itermax_links)(cosine(left, right))


def default_layer(layers: int) -> int:
    """Two thirds of the layers (8 of 12), where languages are most similar."""
    return round(2 / 3 * layers)


class _EncodedText(NamedTuple):
    """Hidden states of the sub-words of a text, shape [sub-words, dimensions], and the word of each."""

    states: FloatArray
    words: IntArray


def _encode(
    texts: Mapping[_TextKey, Text],
    model: Encoder,
    layer: int,
    engine: Engine,
    encoded: dict[_TextKey, _EncodedText | Undefined],
) -> None:
    """Encode texts in full batches and add them to `encoded`, or the reason why one cannot be read."""

    def questions() -> Iterator[tuple[_TextKey, QuestionGenerator[_EncodedText]]]:
        for key, text in texts.items():
            try:
                yield key, _states(Subject(Instance(text.raw, (text,), lang=text.lang), model).encoded(), layer)
            except Undefined as undefined:
                encoded[key] = undefined

    ask_all(questions(), encoded.__setitem__, encoded.__setitem__, engine=engine)


def _states(x: Subject, layer: int) -> QuestionGenerator[_EncodedText]:
    states: FloatArray = yield TokenStates(x, layer)
    own = x.encoding.token_unit >= 0
    return _EncodedText(states[own], x.encoding.token_unit[own])


def _chunks(pairs: Sequence[TextPair]) -> Iterator[list[TextPair]]:
    """Each distinct pair once, those of one reference text together, a bounded number of words at a time."""
    by_reference: dict[_TextKey, dict[_PairKey, TextPair]] = {}
    for pair in pairs:
        by_reference.setdefault(_text_key(pair.reference), {}).setdefault(_pair_key(pair), pair)
    chunk: list[TextPair] = []
    words = 0
    for pair in (pair for together in by_reference.values() for pair in together.values()):
        if chunk and words + sum(pair.shape) > WORDS_AT_ONCE:
            yield chunk
            chunk, words = [], 0
        chunk.append(pair)
        words += sum(pair.shape)
    if chunk:
        yield chunk


def _text_key(text: Text) -> _TextKey:
    return text.raw, text.offsets


def _pair_key(pair: TextPair) -> _PairKey:
    return _text_key(pair.reference), _text_key(pair.translation)
