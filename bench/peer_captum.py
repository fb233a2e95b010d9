"""Captum as its users call it: one input at a time, a forward function over token ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from captum.attr import (  # type: ignore[import-untyped]
    FeatureAblation,
    LayerIntegratedGradients,
    Lime,
    ShapleyValueSampling,
)
from torch import Tensor

from bench.peer_work import LIME_SAMPLES, PERMUTATIONS, STEPS, TUNED_BATCH, Scores

IG_BATCH = STEPS // 2
"""Path points in one call of the model: of 5, 10, 16, 25 and 64 the fastest. By default all 50 go in one call."""


class Captum:
    """Explains texts with Captum.

    Args:
        model, tokenizer: a BERT and what turns a text into its ids.
        texts: what is explained.
        targets: the class of each text.
    """

    def __init__(self, model: Any, tokenizer: Any, texts: Sequence[str], targets: Sequence[int]) -> None:
        self._model, self._tokenizer, self._texts, self._targets = model, tokenizer, texts, targets
        self._methods = {
            "occlusion": self._occlusion,
            "lime": self._lime,
            "shapley_sampling": self._shapley_sampling,
            "integrated_gradients": self._integrated_gradients,
        }

    def explain(self, method: str, *, tuned: bool) -> Scores:
        """All texts, one after the other; `tuned` lets Captum batch what belongs to one text."""
        scores = []
        for text, target in zip(self._texts, self._targets, strict=True):
            ids = self._tokenizer(text, return_tensors="pt")["input_ids"]
            scores.append(self._methods[method](ids, target, tuned)[0].tolist())
        return scores

    def _occlusion(self, ids: Tensor, target: int, tuned: bool) -> Tensor:
        options = {"perturbations_per_eval": TUNED_BATCH} if tuned else {}
        return self._words_alone(FeatureAblation(self._of_words), ids, target, **options)

    def _lime(self, ids: Tensor, target: int, tuned: bool) -> Tensor:
        options = {"perturbations_per_eval": TUNED_BATCH} if tuned else {}
        return self._words_alone(Lime(self._of_words), ids, target, n_samples=LIME_SAMPLES, **options)

    def _shapley_sampling(self, ids: Tensor, target: int, tuned: bool) -> Tensor:
        options = {"perturbations_per_eval": TUNED_BATCH} if tuned else {}
        return self._words_alone(ShapleyValueSampling(self._of_words), ids, target, n_samples=PERMUTATIONS, **options)

    def _integrated_gradients(self, ids: Tensor, target: int, tuned: bool) -> Tensor:
        baseline = torch.full_like(ids, self._tokenizer.pad_token_id)
        baseline[:, [0, -1]] = ids[:, [0, -1]]
        options = {"internal_batch_size": IG_BATCH} if tuned else {}
        explainer = LayerIntegratedGradients(self._logits, self._model.bert.embeddings.word_embeddings)
        by_dimension: Tensor = explainer.attribute(ids, baseline, target=target, n_steps=STEPS, **options)
        return by_dimension.sum(-1)[:, 1:-1]

    def _words_alone(self, explainer: Any, ids: Tensor, target: int, **options: int) -> Tensor:
        """Scores of the words; the first and the last token are special and no feature."""
        scores: Tensor = explainer.attribute(
            ids[:, 1:-1], baselines=self._tokenizer.pad_token_id, target=target, **options
        )
        return scores

    def _of_words(self, words: Tensor) -> Tensor:
        first = words.new_full((len(words), 1), self._tokenizer.cls_token_id)
        last = words.new_full((len(words), 1), self._tokenizer.sep_token_id)
        return self._logits(torch.cat([first, words, last], dim=1))

    def _logits(self, ids: Tensor) -> Tensor:
        logits: Tensor = self._model(input_ids=ids).logits
        return logits
