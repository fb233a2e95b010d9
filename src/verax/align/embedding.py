"""Embedding alignment by similar hidden states of a multilingual encoder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple

from verax.align.extract import Extract, argmax_links, cosine, itermax_links, softmax_links, word_links
from verax.align.protocol import TextPair
from verax.engine.engine import Engine, Outcome, Task
from verax.engine.questions import QuestionGenerator, TokenStates
from verax.models.classifier import Encoder
from verax.models.load import load_encoder
from verax.models.subject import Subject
from verax.types import BoolArray, FloatArray, Instance, IntArray, Text, Undefined, UserError

_TextKey = tuple[str, tuple[tuple[int, int], ...]]
_PairKey = tuple[_TextKey, _TextKey]

WORDS_AT_ONCE = 16384
"""How many words are aligned at a time: it bounds the memory for hidden states, and of each length there are enough
texts to fill a batch."""


@dataclass(frozen=True)
class Embedding:
    """Links by the similarity of hidden states; two words are linked when any of their sub-words are.

    Each text is encoded separately; special tokens are ignored.

    Args:
        encoder: a folder, a hub id or a shipped model; None: the explained model.
        layer: layer of the hidden states, 0 for the embeddings; default: two thirds of the layers (8 of 12).
        extract: `softmax` over dot products, both ways, as awesome-align does; `argmax` (each the other's most similar)
            or `itermax` (a second round for what was left over) over cosines, as SimAlign does.
        threshold: minimum probability in both directions for `softmax`.
    """

    encoder: str | None = None
    layer: int | None = None
    extract: Extract = "softmax"
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

    def align(self, pairs: Sequence[TextPair]) -> Iterator[IntArray | Undefined]:
        """Links of each pair, by the configured encoder."""
        if self.encoder is None:
            raise UserError("embedding: encoder: expected a folder, a hub id or a shipped model (verax list models)")
        return self.align_with(load_encoder(self.encoder), pairs)

    def check(self, model: Encoder) -> None:
        """Reject a layer that the encoder does not have."""
        if self.layer is not None and self.layer > model.layers:
            raise UserError(
                f"embedding: layer: expected at most {model.layers}, the layers of the encoder, got {self.layer}"
            )

    def align_with(self, model: Encoder, pairs: Sequence[TextPair]) -> Iterator[IntArray | Undefined]:
        """Links of each pair, by a loaded encoder.

        Repeated pairs are aligned once. The pairs of one reference text are aligned together, so that it is encoded
        once, and hidden states of at most some ten thousand words are kept.
        """
        self.check(model)
        layer = default_layer(model.layers) if self.layer is None else self.layer
        reading = _Reading(model, layer)
        chunks = _chunks(pairs)
        links: dict[_PairKey, IntArray | Undefined] = {}
        for pair in pairs:
            key = _pair_key(pair)
            while key not in links:
                chunk = next(chunks)
                reading.only(chunk)
                links.update((_pair_key(pair), self._links(reading, pair)) for pair in chunk)
            yield links[key]

    def _links(self, reading: _Reading, pair: TextPair) -> IntArray | Undefined:
        """Links of one pair, shape [links, 2]."""
        both = reading.both(pair)
        if isinstance(both, Undefined):
            return both
        reference, translation = both
        linked = self._extract(reference.states, translation.states)
        return word_links(linked, reference.words, translation.words, pair.shape)

    def _extract(self, left: FloatArray, right: FloatArray) -> BoolArray:
        if self.extract == "softmax":
            return softmax_links(left @ right.T, self.threshold)
        return (argmax_links if self.extract == "argmax" else itermax_links)(cosine(left, right))


def default_layer(layers: int) -> int:
    """Two thirds of the layers (8 of 12), where languages are most similar."""
    return round(2 / 3 * layers)


class _Read(NamedTuple):
    """A text as the encoder sees it: hidden states of its sub-words, [sub-words, dimensions], and the word of each."""

    states: FloatArray
    words: IntArray


class _Reading:
    """The texts of a chunk, all read at once, so that the batches are as full as can be."""

    def __init__(self, model: Encoder, layer: int) -> None:
        self._model, self._layer = model, layer
        self._engine = Engine(window=WORDS_AT_ONCE)
        self._texts: dict[_TextKey, _Read | Undefined] = {}

    def only(self, chunk: Sequence[TextPair]) -> None:
        """Forget every text but those of a chunk, and read those that are new."""
        texts = {_text_key(text): text for pair in chunk for text in (pair.reference, pair.translation)}
        self._texts = {key: read for key, read in self._texts.items() if key in texts}
        self._engine.run(self._tasks({key: text for key, text in texts.items() if key not in self._texts}))

    def both(self, pair: TextPair) -> tuple[_Read, _Read] | Undefined:
        """Both texts of a pair, or Undefined if one cannot be read."""
        reference, translation = self._texts[_text_key(pair.reference)], self._texts[_text_key(pair.translation)]
        if isinstance(reference, Undefined):
            return Undefined(reference.reason, f"the reference: {reference.detail}")
        if isinstance(translation, Undefined):
            return Undefined(translation.reason, f"the translation: {translation.detail}")
        return reference, translation

    def _tasks(self, texts: Mapping[_TextKey, Text]) -> Iterator[Task[_Read]]:
        for key, text in texts.items():
            try:
                x = Subject(Instance(text.raw, (text,), lang=text.lang), self._model).encoded()
            except Undefined as undefined:
                self._texts[key] = undefined
            else:
                yield Task(self._read(x), partial(self._keep, key))

    def _read(self, x: Subject) -> QuestionGenerator[_Read]:
        states: FloatArray = yield TokenStates(x, self._layer)
        own = x.encoding.token_unit >= 0
        return _Read(states[own], x.encoding.token_unit[own])

    def _keep(self, key: _TextKey, outcome: Outcome[_Read]) -> Iterable[Task[_Read]]:
        if outcome.value is not None:
            self._texts[key] = outcome.value
        elif isinstance(outcome.error, Undefined):
            self._texts[key] = outcome.error
        else:
            raise outcome.error or RuntimeError("a text was read without an answer")
        return ()


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
