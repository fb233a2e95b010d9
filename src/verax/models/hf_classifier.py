"""Sequence classifiers of Hugging Face transformers: encoders, encoder-decoders and decoders, through one code path."""

from __future__ import annotations

import inspect
from collections.abc import Hashable, Mapping, Sequence
from contextlib import nullcontext
from functools import cached_property
from os import PathLike
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from verax.models.classifier import (
    AttentionPass,
    AttentionRead,
    Head,
    MapGradient,
    MapPoint,
    Path,
    PathPoint,
    PointGradient,
    Row,
)
from verax.models.encoding import Encoding
from verax.models.first_position import last_layer, only_first_position
from verax.models.labels import class_of
from verax.models.packed import PackedLinears
from verax.models.readout import Readout
from verax.models.removal import CODES, States, is_deleted
from verax.models.scaled_attention import AttentionCalls, watched_attention
from verax.models.sequences import PaddedBatch, TokenSequence
from verax.models.untouched import embedded, guided, open_attention, unhooked, untouched, word_embeddings
from verax.models.words import split_by_tokens, words_of_tokens
from verax.types import FloatArray, Instance, IntArray, Note, Text, Undefined, UserError

OnLong = Literal["error", "truncate"]
_AT_ONCE = 2**22
"""Numbers in the slice of a [tokens, vocabulary] product that is in memory at a time."""


class HFClassifier:
    """A transformers model and its fast tokenizer, asked without being changed.

    Args:
        model: a transformers model for sequence classification.
        tokenizer: its fast tokenizer.
        name: as the user gave it.
        fingerprint: hashes of weights and tokenizer.
        labels: names of the classes; those of the checkpoint by default.
        on_long: what to do with an input beyond the model's length: `error` skips it with its reason, `truncate`
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
        self.labels = _class_names(model.config, labels, name)
        self._embed = word_embeddings(model)
        self._device, self._dtype = self._embed.weight.device, self._embed.weight.dtype
        accepted = set(inspect.signature(model.forward).parameters)
        self._uses_types = "token_type_ids" in accepted and "token_type_ids" in tokenizer.model_input_names
        self._no_cache = {"use_cache": False} if "use_cache" in accepted else {}
        self._pad_id = model.config.pad_token_id or 0  # padding is never attended, so any id will do
        self._max_length = max_length(model.config, tokenizer)
        # decoders find their reading position, BART its end marks, from the ids of rows that must not be padded
        self._equal_lengths = bool(model.config.is_encoder_decoder) or hasattr(model, "score")
        self._last_layer = last_layer(model)
        self._packed = PackedLinears(model)
        self._gram: tuple[tuple[int, int], FloatArray] | None = None
        self._special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
        by_token = {"mask": tokenizer.mask_token_id, "pad": tokenizer.pad_token_id}
        self._stand_in: dict[str, int] = {rule: i for rule, i in by_token.items() if i is not None}
        self.removals = frozenset({"delete", "zero", "attention", *self._stand_in})
        self.baselines = frozenset({"zero", "zero_words", *self._stand_in})
        dtype = str(self._dtype).removeprefix("torch.")
        self.fingerprint = {**fingerprint, "dtype": dtype, "classes": "/".join(self.labels), "on_long": on_long}
        self.about = {
            "architecture": type(model).__name__,
            "device": str(self._device),
            "parameters": str(sum(p.numel() for p in model.parameters())),
            "max_length": str(self._max_length),
            # how it was trained, if verax did it
            **{str(fact): str(value) for fact, value in getattr(model.config, "verax", {}).items()},
        }

    def encode(self, instance: Instance) -> Encoding:
        """Tokens of the instance with the word each belongs to; Undefined where there is nothing to explain."""
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
        encodings = [
            self._tokenizer(part.raw, return_offsets_mapping=True, add_special_tokens=False, verbose=False)
            for part in instance.parts
        ]
        return split_by_tokens(instance, [encoding["offset_mapping"] for encoding in encodings])

    def lengths(self, encoding: Encoding, states: States) -> IntArray:
        """Tokens left in each row: [rows, units] -> [rows]."""
        own = encoding.token_unit[encoding.token_unit >= 0]
        tokens_of_unit = np.bincount(own, minlength=len(encoding.units))
        return np.asarray(len(encoding.token_ids) - is_deleted(states) @ tokens_of_unit)

    def bucket(self, row: Row, length: int) -> Hashable:
        """Anything can be padded for an encoder; others need equal lengths and equally many end marks."""
        if not self._equal_lengths:
            return 0
        return length, int((self._sequence(row).ids == self._model.config.eos_token_id).sum())

    def logits(self, rows: Sequence[Row]) -> FloatArray:
        """Forward passes in one batch: shape [rows, classes], float64 whatever the model computes in."""
        batch = self._batch(rows)
        with torch.inference_mode(), self._packed.in_use():
            return _numpy(self._run(batch, self._replaced(batch)).logits)

    def hidden(self, rows: Sequence[Row]) -> FloatArray:
        """Each neuron's maximum over positions, layer by layer: [rows, layers + 1, neurons], in the model's own dtype.

        The last layer is run whole: the position that the classifier reads is not the only one that counts here.
        """
        batch = self._batch(rows)
        with torch.inference_mode(), self._packed.in_use(), unhooked(self._model):
            embeds = self._embeddings(batch)
            answer = self._run(batch, embeds, output_hidden_states=True)
            read = answer.encoder_hidden_states if self._model.config.is_encoder_decoder else answer.hidden_states
            absent = self._tensor(~batch.present)[..., None]
            lowest = torch.finfo(self._dtype).min
            # layer by layer, so that no second copy of all hidden states is made
            maxima = [layer.masked_fill(absent, lowest).amax(1) for layer in read]
        return np.asarray(torch.stack(maxima, 1).cpu().numpy())

    def path(self, row: Row, baseline: str) -> Path:
        """Word embeddings of the input and of the baseline, before positions, types and the layer norm."""
        batch = self._batch([row])
        with torch.inference_mode():
            end = self._embeddings(batch)
            start = self._baseline(batch, end, [baseline])
        return Path(_numpy(end[0]), _numpy(start[0]), self.token_units(row))

    def gradients(self, points: Sequence[PathPoint]) -> list[PointGradient]:
        """Gradients of the readouts at points of paths, in one batch."""
        batch = self._batch([point.row for point in points])
        with torch.no_grad():
            end = self._embeddings(batch)
            start = self._baseline(batch, end, [point.baseline for point in points])
            alpha = torch.tensor([point.alpha for point in points], dtype=self._dtype, device=self._device)
            embeds = start + alpha[:, None, None] * (end - start)
        embeds.requires_grad_()
        with torch.enable_grad():
            with guided(self._model) if points[0].guided else nullcontext():
                logits = self._run(batch, embeds).logits
            values = _read([point.readout for point in points], logits)
            # rows do not meet in the model, so the gradient of the sum is every row's own
            (gradient,) = torch.autograd.grad(values.sum(), embeds)
        array, lengths = _numpy(gradient), batch.present.sum(1).tolist()
        return [
            PointGradient(array[i, :length], float(value))
            for i, (length, value) in enumerate(zip(lengths, values.tolist(), strict=True))
        ]

    def attention(self, passes: Sequence[AttentionPass]) -> list[AttentionRead]:
        """Attention of the reading position in one layer, and what each head adds to the readout."""
        batch = self._batch([one.row for one in passes])
        weighed = [one.readout for one in passes if one.readout is not None]
        with torch.set_grad_enabled(bool(weighed)), open_attention(self._model):
            with torch.no_grad():
                embeds = self._embeddings(batch)
            answer = self._run(batch, embeds, whole_attention=True, output_attentions=True)
            crossing = self._model.config.is_encoder_decoder
            maps = answer.get("cross_attentions" if crossing else "attentions")
            if not maps or maps[0] is None:
                kind = type(self._model).__name__
                raise UserError(f"attention: the model {self.name!r} ({kind}) shows no attention maps")
            map_ = _layer(maps, passes[0].layer)
            read = torch.arange(len(passes)), self._tensor(self._reading_position(batch))
            weights = map_.transpose(1, 2)[read]  # [rows, heads, tokens]
            if weighed:
                (slope,) = torch.autograd.grad(_read(weighed, answer.logits).sum(), map_)
                # a head's output is its map times the values, so this is gradient times activation of that output
                contributions = _numpy((slope.transpose(1, 2)[read] * weights).sum(-1).detach())
        arrays, lengths = _numpy(weights.detach()), batch.present.sum(1).tolist()
        answers = []
        for i, (one, n) in enumerate(zip(passes, lengths, strict=True)):
            added = contributions[i] if weighed else None
            chosen = None
            if one.map_of is not None:
                head = _head(map_[i].detach(), one.map_of, added)
                chosen = _numpy((_one_earlier(head, -2) if crossing else head)[:n, :n])
            answers.append(AttentionRead(arrays[i, :, :n], added, self.token_units(one.row), chosen))
        return answers

    @cached_property
    def attention_layers(self) -> int:
        """How many attention maps one call computes, in the way that transformers' models share; 0 if in another."""
        calls = AttentionCalls(self._modules)
        encoding = self.encode(Instance("", (Text("a", ("a",), ((0, 1),)),)))
        with torch.inference_mode(), open_attention(self._model), watched_attention(self._model, calls):
            self._run(self._batch([Row(encoding, np.zeros(1, np.int8))]), None, whole_attention=True)
        return calls.count

    def map_gradients(self, points: Sequence[MapPoint]) -> list[MapGradient]:
        """Gradients of the readouts at the scaled attention maps of one layer, times the maps, in one batch."""
        batch = self._batch([point.row for point in points])
        alpha = torch.tensor([point.alpha for point in points], dtype=self._dtype, device=self._device)
        calls = AttentionCalls(self._modules, points[0].layer, alpha)
        with torch.no_grad(), open_attention(self._model), watched_attention(self._model, calls):
            answer = self._run(batch, self._replaced(batch), whole_attention=True)
            values = _read([point.readout for point in points], answer.logits)
            assert calls.leaf is not None  # noqa: S101 - layers are counted by attention_layers
            (slope,) = torch.autograd.grad(values.sum(), calls.leaf)
        product = calls.product(slope)
        totals = product.sum((1, 2)).tolist()
        reading = id(calls.module) in self._decoder
        if reading:
            product = _one_earlier(product, -2)
        if reading and id(calls.module) not in self._crossing:
            product = _one_earlier(product, -1)
        arrays, lengths = _numpy(product), batch.present.sum(1).tolist()
        return [MapGradient(arrays[i, :n, :n], total) for i, (n, total) in enumerate(zip(lengths, totals, strict=True))]

    @cached_property
    def _modules(self) -> frozenset[int]:
        return frozenset(id(module) for module in self._model.modules())

    @cached_property
    def _decoder(self) -> frozenset[int]:
        """Modules of an encoder-decoder that read the words one place late: those of its decoder."""
        if not self._model.config.is_encoder_decoder:
            return frozenset()
        return frozenset(id(module) for module in self._model.get_decoder().modules())

    @cached_property
    def _crossing(self) -> frozenset[int]:
        """Modules by which the decoder attends to the encoder, by the name that transformers gives them."""
        named = self._model.named_modules()
        return frozenset(id(module) for name, module in named if name.endswith(("encoder_attn", "EncDecAttention")))

    def token_units(self, row: Row) -> IntArray:
        """The unit of each token that is left of a row, -1 for special tokens: shape [tokens]."""
        return self._sequence(row).unit

    def _reading_position(self, batch: PaddedBatch) -> IntArray:
        """Where the classifier reads: first token, an encoder-decoder's last end mark, a decoder's last token."""
        config = self._model.config
        if config.is_encoder_decoder:
            marks = batch.ids == config.eos_token_id
        elif self._equal_lengths:
            marks = batch.ids != config.get_text_config().pad_token_id
        else:
            return np.zeros(len(batch.ids), np.int64)
        return np.asarray(marks.shape[1] - 1 - marks[:, ::-1].argmax(1))

    def vocabulary_norm(self, gradient: FloatArray, order: Literal[1, 2]) -> FloatArray:
        """L1 or L2 norm over the vocabulary of embedding matrix times gradient.

        The L2 norm of W g is the root of g (W^T W) g, which needs no vocabulary at all once W^T W is known. For the L1
        norm the product is made a slice of the vocabulary at a time.
        """
        scale = float(getattr(self._embed, "embed_scale", 1.0))
        if order == 2:
            slope = np.asarray(gradient, np.float64) * scale
            return np.asarray(np.sqrt(np.maximum(((slope @ self._products()) * slope).sum(1), 0.0)))
        with torch.inference_mode():
            slopes = torch.from_numpy(gradient).to(self._device, self._dtype) * scale
            total = torch.zeros(len(slopes), dtype=self._dtype, device=self._device)
            for embeddings in torch.split(self._embed.weight, max(1, _AT_ONCE // len(slopes))):
                total += (slopes @ embeddings.T).abs().sum(1)
            return _numpy(total)

    def _products(self) -> FloatArray:
        """W^T W of the embedding matrix, in float64, [dimensions, dimensions]; made anew when the weights change."""
        weight = self._embed.weight
        now = (weight.data_ptr(), weight._version)
        if self._gram is None or self._gram[0] != now:
            total = np.zeros((weight.shape[1],) * 2)
            for rows in torch.split(weight.detach(), max(1, _AT_ONCE // weight.shape[1])):
                part = _numpy(rows)
                total += part.T @ part
            self._gram = now, total
        return self._gram[1]

    def _sequence(self, row: Row) -> TokenSequence:
        return TokenSequence.of(row, self._stand_in.get("mask"))

    def _batch(self, rows: Sequence[Row]) -> PaddedBatch:
        return PaddedBatch.of([self._sequence(row) for row in rows], self._pad_id)

    def _tensor(self, array: Any) -> Tensor:
        return torch.from_numpy(array).to(self._device)

    def _embeddings(self, batch: PaddedBatch) -> Tensor:
        """Word embeddings of a batch with the rules that act on embeddings carried out: [rows, longest, dimensions]."""
        embeds: Tensor = self._embed(self._tensor(batch.ids))
        zeroed = self._tensor(batch.state == CODES["zero"])[..., None]
        embeds = torch.where(zeroed, torch.zeros_like(embeds), embeds)
        padded = batch.state == CODES["pad"]
        return torch.where(self._tensor(padded)[..., None], self._one("pad"), embeds) if padded.any() else embeds

    def _replaced(self, batch: PaddedBatch) -> Tensor | None:
        """Word embeddings, if a rule acts on them; None leaves them to the model."""
        return self._embeddings(batch) if np.isin(batch.state, (CODES["pad"], CODES["zero"])).any() else None

    def _baseline(self, batch: PaddedBatch, end: Tensor, names: Sequence[str]) -> Tensor:
        rows = []
        for i, name in enumerate(names):
            fill = self._one(name) if name in self._stand_in else torch.zeros_like(end[i])
            kept = self._tensor(batch.fixed[i] & (name != "zero"))[:, None]
            rows.append(torch.where(kept, end[i], fill))
        return torch.stack(rows)

    def _one(self, rule: str) -> Tensor:
        """The word embedding that stands in for a removed word: shape [dimensions]."""
        embedding: Tensor = self._embed(torch.tensor([self._stand_in[rule]], device=self._device))
        return embedding[0]

    def _run(self, batch: PaddedBatch, embeds: Tensor | None, *, whole_attention: bool = False, **options: Any) -> Any:
        ids = self._tensor(batch.ids)
        inputs: dict[str, Any] = {"input_ids": ids, "return_dict": True, **self._no_cache, **options}
        if self._uses_types:
            inputs["token_type_ids"] = self._tensor(batch.types)
        attended = batch.attended
        if not attended.all():  # rows of equal length that attend to everything need no mask and run faster
            inputs["attention_mask"] = self._tensor(attended.astype(np.int64))
            if self._model.config.is_encoder_decoder:  # the decoder reads the same tokens, one place to the right
                shifted = np.concatenate([np.ones_like(attended[:, :1]), attended[:, :-1]], axis=1)
                inputs["decoder_attention_mask"] = self._tensor(shifted.astype(np.int64))
        placed = nullcontext() if embeds is None else embedded(self._model, ids, embeds)
        last = None if "output_hidden_states" in options else self._last_layer
        with untouched(self._model), placed, only_first_position(last, whole_attention=whole_attention):
            return self._model(**inputs)


def check_text(instance: Instance) -> None:
    """Refuse, with its reason, an instance that holds nothing to explain or no valid text."""
    for number, part in enumerate(instance.parts, 1):
        if not part.words:
            raise Undefined("empty", f"part {number} has no words")
        if any("\ud800" <= character <= "\udfff" for character in part.raw):
            raise Undefined("bad_unicode", f"part {number} holds half of a surrogate pair")


def _class_names(config: Any, labels: Sequence[str] | None, name: str) -> tuple[str, ...]:
    if config.num_labels < 2:
        raise UserError(f"the model {name!r} has one class: there is no choice to explain; it needs at least two")
    if labels is None:
        return tuple(str(config.id2label[i]) for i in range(config.num_labels))
    if len(labels) != config.num_labels or len(set(labels)) != len(labels):
        raise UserError(f"labels: got {list(labels)}; the model {name!r} needs {config.num_labels} different names")
    return tuple(labels)


def max_length(config: Any, tokenizer: Any) -> int:
    """How many tokens a model can read."""
    positions = getattr(config, "max_position_embeddings", None) or tokenizer.model_max_length
    if "roberta" in config.model_type or config.model_type in {"camembert", "xmod"}:
        positions -= config.pad_token_id + 1  # RoBERTa counts its positions from behind the padding token's
    return int(min(positions, tokenizer.model_max_length))


def _read(readouts: Sequence[Readout], logits: Tensor) -> Tensor:
    """Each readout of its own row of logits: shape [rows]."""
    spaces = {"logit": logits, "probability": logits.softmax(-1), "loss": logits.log_softmax(-1)}
    return torch.stack([spaces[readout.of][i, readout.label] for i, readout in enumerate(readouts)])


def _layer(maps: Sequence[Tensor], layer: int) -> Tensor:
    if not -len(maps) <= layer < len(maps):
        raise UserError(f"layer: got {layer}; the model has {len(maps)}, counted from 0, or from the last one by -1")
    return maps[layer]


def _head(maps: Tensor, which: Head, contributions: FloatArray | None) -> Tensor:
    """The map of one head, or the mean of all: [heads, queries, keys] -> [queries, keys]."""
    if which == "mean":
        return maps.mean(0)
    if which == "most_important":
        assert contributions is not None  # noqa: S101 - a readout is asked for with it
        return maps[int(contributions.argmax())]
    if not 0 <= which < len(maps):
        raise UserError(f"head: got {which}; the model has {len(maps)}, counted from 0")
    return maps[which]


def _one_earlier(scores: Tensor, dim: int) -> Tensor:
    """Scores of the places where a decoder reads its tokens as those of the tokens: it reads them one place late."""
    return torch.cat([scores.narrow(dim, 1, scores.shape[dim] - 1), torch.zeros_like(scores.narrow(dim, 0, 1))], dim)


def _numpy(tensor: Tensor) -> FloatArray:
    return np.asarray(tensor.cpu().double().numpy())  # some devices know no float64
