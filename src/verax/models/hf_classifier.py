"""Sequence classifiers of Hugging Face transformers: encoders, encoder-decoders and decoders."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from copy import deepcopy
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from verax.models.classifier import (
    AttentionPass,
    AttentionRead,
    Capability,
    EmbeddingPath,
    Head,
    MapGradient,
    MapPoint,
    PathPoint,
    PointGradient,
)
from verax.models.devices import widened
from verax.models.encoding import PaddedBatch, PerturbedInput
from verax.models.hf_encoder import HFEncoder, as_array
from verax.models.scaled_attention import AttentionCalls, watched_attention
from verax.models.targets import Readout
from verax.models.untouched import guided, open_attention
from verax.types import FloatArray, Instance, IntArray, Text, UserError

_AT_ONCE = 2**22
"""Largest number of entries of a [tokens, vocabulary] product held in memory at a time."""


class HFClassifier(HFEncoder):
    """A transformers model for sequence classification, which is not modified.

    The arguments are those of `HFEncoder`; the names of the classes are those of the checkpoint by default.
    """

    @property
    def removals(self) -> frozenset[str]:
        """Rules by which words can be removed."""
        return frozenset({"delete", "zero", "attention", *self._replacement_ids})

    @property
    def baselines(self) -> frozenset[str]:
        """Baselines that a path of gradients can start from."""
        return frozenset({"zero", "zero_words", *self._replacement_ids})

    @cached_property
    def capabilities(self) -> frozenset[Capability]:
        """All that concerns encoded inputs; gradients of attention maps if they can be scaled."""
        known: set[Capability] = {"outputs", "hidden", "embeddings", "gradients", "attention"}
        return frozenset(known | {"attention_gradients"} if self.attention_layers else known)

    def randomised(self, seed: int) -> HFClassifier:
        """The same architecture, tokenizer and classes with newly initialised weights, the same for the same seed."""
        known: dict[int, HFClassifier] = vars(self).setdefault("_randomised", {})
        if seed not in known:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(seed)
                model = type(self._model)(deepcopy(self._model.config))
            known[seed] = HFClassifier(
                model.to(device=self._device, dtype=self._dtype).eval(),
                self._tokenizer,
                name=f"{self.name}, weights randomised with seed {seed}",
                fingerprint={**self.fingerprint, "randomised": str(seed)},
                labels=self.labels,
                on_long=self._on_long,
            )
        return known[seed]

    def logits(self, rows: Sequence[PerturbedInput]) -> FloatArray:
        """Forward passes in one batch: shape [rows, classes], as float64."""
        batch = self._batch(rows)
        with torch.inference_mode(), self._packed.in_use():
            return as_array(self._run(batch, self._replaced(batch)).logits)

    def path(self, row: PerturbedInput, baseline: str) -> EmbeddingPath:
        """Word embeddings of the input and of the baseline, before positions, types and the layer norm."""
        batch = self._batch([row])
        with torch.inference_mode():
            end = self._embeddings(batch)
            start = self._baseline(batch, end, [baseline])
        return EmbeddingPath(as_array(end[0]), as_array(start[0]), self.token_units(row))

    def gradients(self, points: Sequence[PathPoint]) -> list[PointGradient]:
        """Gradients of the readouts at points of paths, in one batch."""
        batch = self._batch([point.row for point in points])
        with torch.no_grad():
            end = self._embeddings(batch)
            start = self._baseline(batch, end, [point.baseline for point in points])
            start, end = widened(start), widened(end)  # a path in half precision would have few points
            alpha = torch.tensor([point.alpha for point in points], dtype=end.dtype, device=self._device)
            embeds = start + alpha[:, None, None] * (end - start)
        embeds.requires_grad_()
        with torch.enable_grad(), self._packed.in_use():
            with guided(self._model) if points[0].guided else nullcontext():
                logits = self._run(batch, embeds.to(self._dtype)).logits
            values = _read([point.readout for point in points], logits)
            # rows do not interact in the model, so the gradient of the sum is that of each row
            (gradient,) = torch.autograd.grad(values.sum(), embeds)
        array, read = as_array(gradient), values.tolist()
        return [PointGradient(array[i, :length], float(read[i])) for i, length in enumerate(batch.lengths)]

    def attention(self, passes: Sequence[AttentionPass]) -> list[AttentionRead]:
        """Attention from the reading position in one layer, and the contribution of each head to the readout."""
        batch = self._batch([request.row for request in passes])
        weighed = [request.readout for request in passes if request.readout is not None]
        with torch.set_grad_enabled(bool(weighed)), self._packed.in_use(), open_attention(self._model):
            with torch.no_grad():
                embeds = self._embeddings(batch).requires_grad_(bool(weighed))  # or packed weights end the graph
            answer = self._run(batch, embeds, whole_attention=True, output_attentions=True)
            is_encoder_decoder = self._model.config.is_encoder_decoder
            maps = answer.get("cross_attentions" if is_encoder_decoder else "attentions")
            if not maps or maps[0] is None:
                kind = type(self._model).__name__
                raise UserError(f"attention: the model {self.name!r} ({kind}) gives no attention maps")
            layer = _layer(maps, passes[0].layer)
            map_ = widened(layer)
            read = torch.arange(len(passes)), self._tensor(self._reading_position(batch))
            weights = map_.transpose(1, 2)[read]  # [rows, heads, tokens]
            if weighed:
                (slope,) = torch.autograd.grad(_read(weighed, answer.logits).sum(), layer)
                # the output of a head is its map times the values, so this is gradient times activation of that output
                contributions = as_array((widened(slope).transpose(1, 2)[read] * weights).sum(-1).detach())
        arrays, answers = as_array(weights.detach()), []
        for i, (request, n) in enumerate(zip(passes, batch.lengths, strict=True)):
            added = contributions[i] if weighed else None
            chosen = None
            if request.map_of is not None:
                head = _head(map_[i].detach(), request.map_of, added)
                chosen = as_array((_one_earlier(head, -2) if is_encoder_decoder else head)[:n, :n])
            answers.append(AttentionRead(arrays[i, :, :n], added, self.token_units(request.row), chosen))
        return answers

    @cached_property
    def attention_layers(self) -> int:
        """Number of attention maps of one call that can be scaled; 0 if the model computes them in another way."""
        calls = AttentionCalls(self._modules)
        encoding = self.encode(Instance("", (Text("a", ("a",), ((0, 1),)),)))
        with torch.inference_mode(), open_attention(self._model), watched_attention(self._model, calls):
            self._run(self._batch([PerturbedInput(encoding, np.zeros(1, np.int8))]), None, whole_attention=True)
        return calls.count

    def map_gradients(self, points: Sequence[MapPoint]) -> list[MapGradient]:
        """Gradients of the readouts at the scaled attention maps of one layer, times the maps, in one batch."""
        batch = self._batch([point.row for point in points])
        alpha = torch.tensor([point.alpha for point in points], dtype=self._dtype, device=self._device)
        calls = AttentionCalls(self._modules, points[0].layer, alpha)
        with torch.no_grad(), self._packed.in_use(), open_attention(self._model), watched_attention(self._model, calls):
            answer = self._run(batch, self._replaced(batch), whole_attention=True)
            values = _read([point.readout for point in points], answer.logits)
            assert calls.leaf is not None  # noqa: S101 - layers are counted by attention_layers
            (slope,) = torch.autograd.grad(values.sum(), calls.leaf)
        product = calls.product(slope)
        totals = product.sum((1, 2)).tolist()
        reading = id(calls.module) in self._decoder
        if reading:
            product = _one_earlier(product, -2)
        if reading and id(calls.module) not in self._cross_attention:
            product = _one_earlier(product, -1)
        arrays = as_array(product)
        return [MapGradient(arrays[i, :n, :n], totals[i]) for i, n in enumerate(batch.lengths)]

    @cached_property
    def _modules(self) -> frozenset[int]:
        return frozenset(id(module) for module in self._model.modules())

    @cached_property
    def _decoder(self) -> frozenset[int]:
        """Modules of the decoder of an encoder-decoder, which read the words one position late."""
        if not self._model.config.is_encoder_decoder:
            return frozenset()
        return frozenset(id(module) for module in self._model.get_decoder().modules())

    @cached_property
    def _cross_attention(self) -> frozenset[int]:
        """Cross-attention modules, by the names that transformers gives them."""
        named = self._model.named_modules()
        return frozenset(id(module) for name, module in named if name.endswith(("encoder_attn", "EncDecAttention")))

    def _reading_position(self, batch: PaddedBatch) -> IntArray:
        """Position that the classifier reads: first token, last end mark (encoder-decoder), or last token (decoder)."""
        config = self._model.config
        if config.is_encoder_decoder:
            marks = batch.ids == config.eos_token_id
        elif self._equal_lengths:
            marks = batch.ids != config.get_text_config().pad_token_id
        else:
            return np.zeros(len(batch.ids), np.int64)
        return np.asarray(marks.shape[1] - 1 - marks[:, ::-1].argmax(1))

    _gram: tuple[tuple[int, int], FloatArray] = (0, 0), np.empty(0)

    def vocabulary_norm(self, gradient: FloatArray, order: Literal[1, 2]) -> FloatArray:
        """L1 or L2 norm over the vocabulary of embedding matrix times gradient.

        The L2 norm of W g is the root of g (W^T W) g, which does not need the vocabulary once W^T W is known. For the
        L1 norm the product is computed for a slice of the vocabulary at a time.
        """
        scale = float(getattr(self._embed, "embed_scale", 1.0))
        if order == 2:
            slope = np.asarray(gradient, np.float64) * scale
            return np.asarray(np.sqrt(np.maximum(((slope @ self._products()) * slope).sum(1), 0.0)))
        with torch.inference_mode():
            precision = widened(self._embed.weight[:0]).dtype
            slopes = torch.from_numpy(gradient).to(self._device, precision) * scale
            total = torch.zeros(len(slopes), dtype=precision, device=self._device)
            for embeddings in torch.split(self._embed.weight, max(1, _AT_ONCE // len(slopes))):
                total += (slopes @ widened(embeddings).T).abs().sum(1)
            return as_array(total)

    def _products(self) -> FloatArray:
        """W^T W of the embedding matrix, in float64, [dimensions, dimensions]; recomputed when the weights change."""
        weight = self._embed.weight
        now = (weight.data_ptr(), weight._version)
        if self._gram[0] != now:
            total = np.zeros((weight.shape[1],) * 2)
            for rows in torch.split(weight.detach(), max(1, _AT_ONCE // weight.shape[1])):
                part = as_array(rows)
                total += part.T @ part
            self._gram = now, total
        return self._gram[1]

    def _class_names(self, labels: Sequence[str] | None) -> tuple[str, ...]:
        config = self._model.config
        if config.num_labels < 2:
            raise UserError(f"the model {self.name!r} has one class; it needs at least two")
        if labels is None:
            return tuple(str(config.id2label[i]) for i in range(config.num_labels))
        if len(labels) != config.num_labels or len(set(labels)) != len(labels):
            expected = f"{config.num_labels} different names"
            raise UserError(f"labels: got {list(labels)}; the model {self.name!r} needs {expected}")
        return tuple(labels)

    def _baseline(self, batch: PaddedBatch, end: Tensor, names: Sequence[str]) -> Tensor:
        rows = []
        for i, name in enumerate(names):
            fill = self._embedding_of(name) if name in self._replacement_ids else torch.zeros_like(end[i])
            kept = self._tensor(batch.fixed[i] & (name != "zero"))[:, None]
            rows.append(torch.where(kept, end[i], fill))
        return torch.stack(rows)


def _read(readouts: Sequence[Readout], logits: Tensor) -> Tensor:
    """Readout of each row of logits: shape [rows]."""
    logits = widened(logits)
    spaces = {"logit": logits, "probability": logits.softmax(-1), "loss": logits.log_softmax(-1)}
    return torch.stack([spaces[readout.of][i, readout.label] for i, readout in enumerate(readouts)])


def _layer(maps: Sequence[Tensor], layer: int) -> Tensor:
    if not -len(maps) <= layer < len(maps):
        raise UserError(f"layer: got {layer}; the model has {len(maps)}, counted from 0, or from the last one as -1")
    return maps[layer]


def _head(maps: Tensor, which: Head, contributions: FloatArray | None) -> Tensor:
    """The map of one head, or the mean of all: [heads, queries, keys] -> [queries, keys]."""
    if which == "mean":
        return maps.mean(0)
    if which == "most_important":
        assert contributions is not None  # noqa: S101 - it is requested with a readout
        return maps[int(contributions.argmax())]
    if not 0 <= which < len(maps):
        raise UserError(f"head: got {which}; the model has {len(maps)}, counted from 0")
    return maps[which]


def _one_earlier(scores: Tensor, dim: int) -> Tensor:
    """Scores by decoder position as scores by token: a decoder reads each token one position late."""
    return torch.cat([scores.narrow(dim, 1, scores.shape[dim] - 1), torch.zeros_like(scores.narrow(dim, 0, 1))], dim)
