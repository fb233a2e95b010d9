"""The model alone on given passes: tensors made beforehand, rows of equal length together, no mask needed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from verax.models.encoding import PerturbedInput, TokenSequence
from verax.models.removal import CODES


class Bare(ABC):
    """Passes of one kind, cut into batches of one size and ready to run."""

    def __init__(self, model: Any, passes: Sequence[Any], tokenizer: Any, batch_size: int) -> None:
        self.model, self.batch_size = model, batch_size
        alike: dict[tuple[int, int], list[tuple[Any, TokenSequence]]] = {}
        for one in passes:
            sequence = TokenSequence.of([self.row(one)], tokenizer.mask_token_id)
            alike.setdefault((len(sequence.ids), self.layer(one)), []).append((one, sequence))
        self._batches = []
        for (_, layer), group in alike.items():
            for i in range(0, len(group), batch_size):
                batch = group[i : i + batch_size]
                # a word that is replaced by the padding embedding costs what the padding token costs
                ids = [np.where(s.state == CODES["pad"], tokenizer.pad_token_id, s.ids) for _, s in batch]
                types = torch.from_numpy(np.stack([s.types for _, s in batch]))
                labels = torch.tensor([self.label(one) for one, _ in batch])
                self._batches.append((torch.from_numpy(np.stack(ids)), types, labels, layer))

    def __call__(self) -> None:
        """All passes once."""
        for ids, types, labels, layer in self._batches:
            self.run(ids, types, labels, layer)

    @staticmethod
    def row(one: Any) -> PerturbedInput:
        """The input of a pass."""
        row: PerturbedInput = one.row
        return row

    @staticmethod
    def label(one: Any) -> int:
        """The class whose logit is differentiated."""
        return 0 if one.readout is None else int(one.readout.label)

    @staticmethod
    def layer(one: Any) -> int:  # noqa: ARG004 - most passes are the same for every layer
        """The layer that is asked about; passes about different ones are run apart."""
        return -1

    @abstractmethod
    def run(self, ids: Tensor, types: Tensor, labels: Tensor, layer: int) -> None:
        """One batch."""


class BareForward(Bare):
    """Forward passes."""

    @staticmethod
    def row(one: Any) -> PerturbedInput:
        """The pass itself."""
        row: PerturbedInput = one
        return row

    @staticmethod
    def label(one: Any) -> int:  # noqa: ARG004 - a pass forward reads no class
        """None is read."""
        return 0

    def run(self, ids: Tensor, types: Tensor, labels: Tensor, layer: int) -> None:
        """One batch."""
        with torch.inference_mode():
            self.model(input_ids=ids, token_type_ids=types)


class BareGradient(Bare):
    """Forward and backward to the word embeddings; where on a path they lie makes no difference to the work."""

    def run(self, ids: Tensor, types: Tensor, labels: Tensor, layer: int) -> None:
        """One batch."""
        embeds = self.model.get_input_embeddings()(ids).detach().requires_grad_()
        logits = self.model(inputs_embeds=embeds, token_type_ids=types).logits
        torch.autograd.grad(logits.gather(1, labels[:, None]).sum(), embeds)


class BareAttention(Bare):
    """Forward with open attention, and backward to the map of a layer; its scale makes no difference to the work."""

    @staticmethod
    def layer(one: Any) -> int:
        """Whose map."""
        return int(one.layer)

    def __call__(self) -> None:
        """All passes once, with attention in the open."""
        before = self.model.config._attn_implementation
        self.model.set_attn_implementation("eager")
        super().__call__()
        self.model.set_attn_implementation(before)

    def run(self, ids: Tensor, types: Tensor, labels: Tensor, layer: int) -> None:
        """One batch."""
        answer = self.model(input_ids=ids, token_type_ids=types, output_attentions=True)
        torch.autograd.grad(answer.logits.gather(1, labels[:, None]).sum(), answer.attentions[layer])


class BareHidden(BareForward):
    """Forward passes whose hidden states are asked for, and each neuron's maximum over positions taken."""

    def run(self, ids: Tensor, types: Tensor, labels: Tensor, layer: int) -> None:
        """One batch."""
        with torch.inference_mode():
            answer = self.model(input_ids=ids, token_type_ids=types, output_hidden_states=True)
            torch.stack([layer.amax(1) for layer in answer.hidden_states], 1)
