"""Fine-tuning and evaluation of a sequence classifier, plain or masked."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from rich.console import Console
from torch import Tensor, nn

from verax.models.first_position import last_layer, only_first_position
from verax.stats.performance import counted, performance
from verax.train.loop import FineTuning, Loop, Trained, in_pieces
from verax.train.resume import Resume, Weights
from verax.train.rows import (
    SELECTION_NAMES,
    Features,
    Rows,
    Selection,
    batches,
    collate,
    encode,
    mask_token,
    masked_batch,
    masked_copy,
)
from verax.types import Dataset, FloatArray, IntArray, Performance, UserError

_STREAMS = {"masks": 1, "validation": 2}
"""Random streams of a seed, so that no draw depends on another."""
_BATCH = 128


def fit(
    model: Any,
    tokenizer: Any,
    train: Dataset,
    validation: Dataset,
    recipe: FineTuning,
    *,
    select: Sequence[Selection] = ("none",),
    resume: Resume | None = None,
    console: Console | None = None,
    micro_batch: int | None = None,
) -> tuple[Trained, dict[Selection, Weights]]:
    """Train a model in place and leave it, in evaluation mode, with the best weights by the first selection.

    The same seed, data and number of threads give the same bits, also after an interruption; the random state of the
    caller does not change.

    Args:
        select: what the best epoch is selected on; several values give several models of one training.
        micro_batch: inputs that are computed at once, if a mini-batch does not fit into memory.

    Returns:
        The history of the training, and the best weights by each selection.
    """
    rows = [encode(model, tokenizer, data, parts=recipe.parts, longest=recipe.longest) for data in (train, validation)]
    options: dict[str, Any] = {"select": select, "resume": resume, "console": console, "micro_batch": micro_batch}
    return fit_rows(model, tokenizer, rows[0], rows[1], validation.metric, recipe, **options)


def fit_rows(
    model: Any,
    tokenizer: Any,
    train: Rows,
    validation: Rows,
    metric: Performance,
    recipe: FineTuning,
    *,
    select: Sequence[Selection] = ("none",),
    resume: Resume | None = None,
    console: Console | None = None,
    on_epoch: Callable[[int], object] = lambda _: None,
    micro_batch: int | None = None,
) -> tuple[Trained, dict[Selection, Weights]]:
    """Train on encoded rows as `fit` does on datasets; epochs are compared by `metric`.

    Args:
        on_epoch: called with the number of finished epochs, after each one and when an interrupted training continues.
    """
    for name, rows in (("train", train), ("validation", validation)):
        if not len(rows):
            raise UserError(f"{name}: the dataset is empty")
    training = _ClassifierTraining(
        model, tokenizer, recipe, tuple(select), train, validation, metric, resume, micro_batch
    )
    training.train(console, on_epoch)
    return training.trained, training.weights


class _ClassifierTraining(Loop):
    """The training of a classifier."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        recipe: FineTuning,
        select: tuple[Selection, ...],
        train: Rows,
        validation: Rows,
        metric: Performance,
        resume: Resume | None,
        micro_batch: int | None = None,
    ) -> None:
        super().__init__(model, recipe, select, len(train), resume, micro_batch)
        self.tokenizer, self.rows, self.validation, self.metric = tokenizer, train, validation, metric
        self.mask_id: int | None = None
        self.masked_validation: Rows | None = None
        if recipe.masking != "none" or any(selection != "none" for selection in select):
            self.mask_id = mask_token(tokenizer, model.config.name_or_path)
            # masked once, so that epochs can be compared
            rng = np.random.default_rng([recipe.seed, _STREAMS["validation"]])
            self.masked_validation = masked_copy(validation, self.mask_id, rng)

    def _batches(self, epoch: int) -> Generator[Sequence[tuple[Features, int]]]:
        recipe = self.recipe
        masks = np.random.default_rng([recipe.seed, epoch, _STREAMS["masks"]])
        lengths = [len(row["input_ids"]) for row in self.rows.features]
        # the last layer for the first position alone: the same loss and gradients, for less work
        with only_first_position(last_layer(self.model), whole_attention=True):
            for chosen in batches(lengths, recipe.batch_size, self.order):
                rows = masked_batch(self.rows, chosen, recipe.masking, self.mask_id, masks)
                yield list(zip(rows, self.rows.golds[chosen].tolist(), strict=True))

    def _loss(self, rows: Sequence[tuple[Features, int]]) -> tuple[Tensor, int]:
        batch = collate(self.tokenizer, [features for features, _ in rows], self.model.device)
        golds = torch.tensor([gold for _, gold in rows], device=self.model.device)
        return nn.functional.cross_entropy(self.model(**batch).logits, golds, reduction="sum"), len(rows)

    def _items(self, rows: Sequence[Any]) -> int:
        return len(rows)

    def _validate(self) -> dict[str, float]:
        plain = counts_by_row(self.model, self.tokenizer, self.validation).sum(0)
        sums: dict[str, FloatArray] = {"none": plain}
        if self.masked_validation is not None:
            masked = counts_by_row(self.model, self.tokenizer, self.masked_validation).sum(0)
            sums |= {"masking": masked, "both": plain + masked}
        return {selection: float(performance(counts, self.metric)) for selection, counts in sums.items()}

    def _describe(self, values: Mapping[str, float]) -> str:
        return ", ".join(f"{SELECTION_NAMES[name]} {value:.4f}" for name, value in values.items())


@torch.no_grad()
def predict(model: Any, tokenizer: Any, rows: Rows) -> IntArray:
    """The class that the model, in evaluation mode, ranks first for each row; shape [rows]."""
    model.eval()
    predicted = np.empty(len(rows), np.int64)
    by_length = sorted(range(len(rows)), key=lambda i: len(rows.features[i]["input_ids"]))
    with only_first_position(last_layer(model)):

        def answer(chosen: Sequence[int]) -> tuple[Sequence[int], IntArray]:
            logits = model(**collate(tokenizer, [rows.features[i] for i in chosen], model.device)).logits
            return chosen, logits.argmax(-1).cpu().numpy()

        for chosen, classes in in_pieces(by_length, _BATCH, answer):
            predicted[chosen] = classes
    return predicted


def counts_by_row(model: Any, tokenizer: Any, rows: Rows) -> FloatArray:
    """The counts of each row, whose sum any metric is computed from: shape [rows, 3, classes] (see `counted`)."""
    predicted = predict(model, tokenizer, rows)[:, None]
    return counted(rows.golds.numpy(), predicted, model.config.num_labels)[:, 0]


def performance_on(model: Any, tokenizer: Any, rows: Rows, metric: Performance) -> float:
    """The performance of a model on encoded rows."""
    return float(performance(counts_by_row(model, tokenizer, rows).sum(0), metric))


def accuracy(model: Any, tokenizer: Any, dataset: Dataset) -> float:
    """The share of instances whose gold class the model ranks first."""
    return performance_on(model, tokenizer, encode(model, tokenizer, dataset), "accuracy")
