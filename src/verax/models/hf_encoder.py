"""Transformers models that turn text into hidden states: the base of classifiers and the encoders of aligners."""

from __future__ import annotations

import inspect
import re
from collections.abc import Hashable, Mapping, Sequence
from contextlib import nullcontext
from os import PathLike
from typing import Any

import numpy as np
import torch
from torch import Tensor

from verax.models.checkpoint import max_length
from verax.models.classifier import Capability, StatesPass
from verax.models.devices import rounding_of, widened
from verax.models.encoding import Encoding, PaddedBatch, PerturbedInput, TokenSequence
from verax.models.first_position import last_layer, only_first_position
from verax.models.load import OnLong
from verax.models.packed import PackedLinears
from verax.models.panics import panics_as_errors
from verax.models.removal import CODES, States, is_deleted
from verax.models.targets import class_of
from verax.models.untouched import embedded, layer_stack, stopped_after, unhooked, untouched, word_embeddings
from verax.models.words import check_words, split_by_tokens, words_of_tokens
from verax.types import FloatArray, Instance, IntArray, Note, Undefined, UserError

_SURROGATE = re.compile("[\ud800-\udfff]")


class HFEncoder:
    """A transformers model and its fast tokenizer, neither of which is modified.

    Args:
        fingerprint: hashes of weights and tokenizer.
        labels: names of the classes; ignored by an encoder, which has none.
        on_long: what to do with an input that exceeds the model's length: `error` skips it with its reason, `truncate`
            cuts it and records how many words were lost.
        home: the folder that it was loaded from.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        name: str,
        fingerprint: Mapping[str, str],
        labels: Sequence[str] | None = None,
        on_long: OnLong = "error",
        home: PathLike[str] | None = None,
    ) -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise UserError(f"the tokenizer of {name!r} is a slow one; verax needs character offsets: use a fast one")
        self._model, self._tokenizer, self._on_long = model, tokenizer, on_long
        self.name, self.home = name, home
        self.labels = self._class_names(labels)
        self._embed = word_embeddings(model)
        self._device, self._dtype = self._embed.weight.device, self._embed.weight.dtype
        accepted = set(inspect.signature(model.forward).parameters)
        self._uses_types = "token_type_ids" in accepted and "token_type_ids" in tokenizer.model_input_names
        self._no_cache = {"use_cache": False} if "use_cache" in accepted else {}
        self._pad_id = model.config.pad_token_id or 0  # padding is never attended to, so any id will do
        self._max_length = max_length(model.config, tokenizer)
        # decoders find their reading position, and BART its end marks, from ids: rows must not be padded
        self._equal_lengths = bool(model.config.is_encoder_decoder) or hasattr(model, "score")
        self._last_layer = last_layer(model)
        self._layers = layer_stack(model)
        self._packed = PackedLinears(model)
        self._special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
        by_token = {"mask": tokenizer.mask_token_id, "pad": tokenizer.pad_token_id}
        self._replacement_ids: dict[str, int] = {rule: i for rule, i in by_token.items() if i is not None}
        rounding = rounding_of(self._dtype, self._device)
        self.fingerprint = {**fingerprint, **rounding, "classes": "/".join(self.labels), "on_long": on_long}
        self.about = {
            "architecture": type(model).__name__,
            "device": str(self._device),
            "parameters": str(sum(p.numel() for p in model.parameters())),
            "max_length": str(self._max_length),
            # how verax trained it, if it did
            **{str(fact): str(value) for fact, value in getattr(model.config, "verax", {}).items()},
        }

    def _class_names(self, labels: Sequence[str] | None) -> tuple[str, ...]:
        return ()

    def unknown(self, encoding: Encoding) -> float:
        """Share of an input's words of which the tokenizer knows no piece."""
        known = encoding.token_unit[encoding.token_ids != self._tokenizer.unk_token_id]
        words = encoding.n_units if encoding.seen is None else len(encoding.seen)
        return 1 - len(np.unique(known[known >= 0])) / words

    @property
    def capabilities(self) -> frozenset[Capability]:
        """Hidden states."""
        return frozenset({"hidden"})

    @property
    def layers(self) -> int:
        """Number of layers; of an encoder-decoder, those of its encoder."""
        return int(self._model.config.get_text_config().num_hidden_layers)

    def encode(self, instance: Instance) -> Encoding:
        """Tokens of the instance with the word each belongs to; raises Undefined if there is nothing to explain."""
        check_text(instance)
        encoded, notes = self._tokenise(instance)
        ids = np.array(encoded["input_ids"], np.int64)
        part_of_token = np.array([-1 if part is None else part for part in encoded.sequence_ids(0)], np.int64)
        offsets = encoded["offset_mapping"]
        token_unit = np.full(len(ids), -1, np.int64)
        first_unit = 0
        for number, part in enumerate(instance.parts):
            where = np.flatnonzero(part_of_token == number)
            token_unit[where] = first_unit + words_of_tokens(part, [offsets[i] for i in where])
            first_unit += len(part.words)
        if all(int(i) in self._special for i in ids[token_unit >= 0]):
            raise Undefined("only_special_tokens", "the tokenizer reads the whole text as special tokens")
        types = np.array(encoded.get("token_type_ids", np.zeros_like(ids)), np.int64)
        seen = None
        if "truncated_tokens" in notes:
            seen = np.unique(token_unit[token_unit >= 0])
            notes["words_cut_off"] = first_unit - len(seen)
        gold = class_of(instance.label, self.labels)
        return Encoding(instance, ids, types, token_unit, self.labels, gold, notes, seen)

    def _tokenise(self, instance: Instance) -> tuple[Any, dict[str, Note]]:
        if len(instance.parts) > 2:
            raise Undefined("too_many_parts", f"{len(instance.parts)} parts; a sequence classifier reads one or two")
        texts = [part.raw for part in instance.parts]
        with panics_as_errors():
            encoded = self._tokenizer(*texts, return_offsets_mapping=True, verbose=False)
        n = len(encoded["input_ids"])
        if n <= self._max_length:
            return encoded, {}
        if self._on_long == "error":
            raise Undefined("too_long", f"{n} tokens, the model reads {self._max_length}; on_long: truncate cuts them")
        encoded = self._tokenizer(
            *texts, return_offsets_mapping=True, verbose=False, truncation="longest_first", max_length=self._max_length
        )
        return encoded, {"truncated_tokens": n - len(encoded["input_ids"])}

    def by_token(self, instance: Instance) -> Instance:
        """The instance with every sub-word as a word of its own (`granularity="token"`)."""
        check_text(instance)
        with panics_as_errors():
            encodings = [
                self._tokenizer(part.raw, return_offsets_mapping=True, add_special_tokens=False, verbose=False)
                for part in instance.parts
            ]
        return split_by_tokens(instance, [encoding["offset_mapping"] for encoding in encodings])

    def lengths(self, encoding: Encoding, states: States) -> IntArray:
        """Tokens left in each row: [rows, units] -> [rows]."""
        return np.asarray(len(encoding.token_ids) - is_deleted(states) @ encoding.tokens_of_unit)

    def bucket(self, row: PerturbedInput, length: int) -> Hashable:
        """Encoders pad any rows; other models need equal lengths and equal numbers of end marks."""
        if not self._equal_lengths:
            return 0
        return length, int((self._sequence(row).ids == self._model.config.eos_token_id).sum())

    def hidden(self, rows: Sequence[PerturbedInput]) -> FloatArray:
        """Each neuron's maximum over positions, by layer: [rows, layers + 1, neurons], in the model's own dtype.

        The last layer is computed at all positions, not only where the classifier reads.
        """
        batch = self._batch(rows)
        with torch.inference_mode(), self._packed.in_use(), unhooked(self._model):
            embeds = self._embeddings(batch)
            read = self._hidden_states(batch, embeds)
            absent = self._tensor(~batch.present)[..., None]
            lowest = torch.finfo(self._dtype).min
            # layer by layer, to avoid a second copy of all hidden states
            maxima = [layer.masked_fill(absent, lowest).amax(1) for layer in read]
        return _as_numpy(torch.stack(maxima, 1))

    def token_states(self, passes: Sequence[StatesPass]) -> list[FloatArray]:
        """Hidden states of all tokens after one layer, [tokens, dimensions] each, in float32 or better.

        Layers above it are not computed.
        """
        layer = passes[0].layer
        if not 0 <= layer <= self.layers:
            raise UserError(f"layer: got {layer}; the model {self.name!r} has {self.layers}, 0 are the embeddings")
        batch = self._batch([request.row for request in passes])
        inside = self._layers is not None and 0 < layer < self.layers  # the last state follows the final norm
        with torch.inference_mode(), self._packed.in_use(), unhooked(self._model):
            embeds = self._replaced(batch)
            if inside:
                with stopped_after(self._layers[layer - 1]) as outputs:  # type: ignore[index]
                    self._run(batch, embeds, every_position=True)
                states = outputs[0]
            else:
                states = self._hidden_states(batch, embeds)[layer]
        array = widened(states).cpu().numpy()
        return [array[i, :length] for i, length in enumerate(batch.lengths)]

    def _hidden_states(self, batch: PaddedBatch, embeds: Tensor | None) -> Sequence[Tensor]:
        """Hidden states of every layer, the embeddings first: [rows, longest, dimensions] each."""
        answer = self._run(batch, embeds, every_position=True, output_hidden_states=True)
        is_encoder_decoder = self._model.config.is_encoder_decoder
        states: Sequence[Tensor] = answer.encoder_hidden_states if is_encoder_decoder else answer.hidden_states
        return states

    def token_units(self, row: PerturbedInput) -> IntArray:
        """The unit of each token that is left of a row, -1 for special tokens: shape [tokens]."""
        return self._sequence(row).unit

    def _sequence(self, row: PerturbedInput) -> TokenSequence:
        return TokenSequence.of([row], self._replacement_ids.get("mask"))

    def _batch(self, rows: Sequence[PerturbedInput]) -> PaddedBatch:
        return PaddedBatch.of(rows, self._replacement_ids.get("mask"), self._pad_id)

    def _tensor(self, array: Any) -> Tensor:
        return torch.from_numpy(array).to(self._device)

    def _embeddings(self, batch: PaddedBatch) -> Tensor:
        """Word embeddings of a batch, with the removal rules that act on them applied: [rows, longest, dimensions]."""
        embeds: Tensor = self._embed(self._tensor(batch.ids))
        zeroed = self._tensor(batch.state == CODES["zero"])[..., None]
        embeds = torch.where(zeroed, torch.zeros_like(embeds), embeds)
        padded = batch.state == CODES["pad"]
        return (
            torch.where(self._tensor(padded)[..., None], self._embedding_of("pad"), embeds) if padded.any() else embeds
        )

    def _replaced(self, batch: PaddedBatch) -> Tensor | None:
        """Word embeddings if a rule acts on them; None leaves them to the model."""
        replaced = (batch.state == CODES["pad"]) | (batch.state == CODES["zero"])
        return self._embeddings(batch) if replaced.any() else None

    def _embedding_of(self, rule: str) -> Tensor:
        """Embedding that replaces that of a removed word: shape [dimensions]."""
        embedding: Tensor = self._embed(torch.tensor([self._replacement_ids[rule]], device=self._device))
        return embedding[0]

    def _run(
        self,
        batch: PaddedBatch,
        embeds: Tensor | None,
        *,
        whole_attention: bool = False,
        every_position: bool = False,
        **options: Any,
    ) -> Any:
        ids = self._tensor(batch.ids)
        inputs: dict[str, Any] = {"input_ids": ids, "return_dict": True, **self._no_cache, **options}
        if self._uses_types:
            inputs["token_type_ids"] = self._tensor(batch.types)
        attended = batch.attended
        if not attended.all():  # rows of equal length without masked positions need no mask and run faster
            inputs["attention_mask"] = self._tensor(attended.astype(np.int64))
            if self._model.config.is_encoder_decoder:  # the decoder reads the same tokens, one position to the right
                shifted = np.concatenate([np.ones_like(attended[:, :1]), attended[:, :-1]], axis=1)
                inputs["decoder_attention_mask"] = self._tensor(shifted.astype(np.int64))
        placed = nullcontext() if embeds is None else embedded(self._model, ids, embeds)
        last = None if every_position else self._last_layer
        with untouched(self._model), placed, only_first_position(last, whole_attention=whole_attention):
            return self._model(**inputs)


def check_text(instance: Instance) -> None:
    """Raise Undefined for an instance without words or with invalid text."""
    check_words(instance)
    for number, part in enumerate(instance.parts, 1):
        if _SURROGATE.search(part.raw):
            raise Undefined("bad_unicode", f"part {number} holds half of a surrogate pair")


def _as_numpy(tensor: Tensor) -> FloatArray:
    """A tensor on any device as an array of the same dtype; numpy has no bfloat16."""
    return np.asarray((tensor.float() if tensor.dtype == torch.bfloat16 else tensor).cpu().numpy())


def as_array(tensor: Tensor) -> FloatArray:
    """A tensor on any device as a float64 array."""
    return np.asarray(tensor.cpu().double().numpy())  # some devices have no float64
