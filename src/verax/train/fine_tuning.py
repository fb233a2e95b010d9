"""Fine-tuning of a sequence classifier, plain or masked."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from torch import Tensor, nn

from verax.models.first_position import last_layer, only_first_position
from verax.stats.performance import performance
from verax.train.loop import FineTuning, Loop, Trained
from verax.train.masking import NAMES, Selection, mask_token, masked_batch, masked_copy
from verax.train.measure import counts
from verax.train.resume import Resume, Weights
from verax.train.rows import Rows, batches, collate, encode
from verax.types import Dataset, FloatArray, Performance, UserError

_DRAWN_FOR = {"masks": 1, "validation": 2}
"""What else is drawn from a seed, so that none of it moves with the order of the instances."""


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
) -> tuple[Trained, dict[Selection, Weights]]:
    """Train a model in place and leave it, in evaluation mode, with the best weights by the first selection.

    The same seed, data and number of threads give the same bits, also if the training was killed and went on; the
    caller's random state is left alone.

    Args:
        select: what the best epoch is chosen on; several give several models of one training.
        resume: where the state after each epoch is kept, and gone on from.

    Returns:
        What happened, and the best weights by each selection.
    """
    rows = [encode(model, tokenizer, data, parts=recipe.parts, longest=recipe.longest) for data in (train, validation)]
    options: dict[str, Any] = {"select": select, "resume": resume, "console": console}
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
) -> tuple[Trained, dict[Selection, Weights]]:
    """The same on rows that are encoded already; `metric` tells the best epoch."""
    for name, rows in (("train", train), ("validation", validation)):
        if not len(rows):
            raise UserError(f"{name}: the dataset is empty")
    training = _Training(model, tokenizer, recipe, tuple(select), train, validation, metric, resume)
    training.finish(console)
    return training.trained, training.weights


class _Training(Loop):
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
    ) -> None:
        super().__init__(model, recipe, select, len(train), resume)
        masked = recipe.masking != "none" or any(selection != "none" for selection in select)
        self.tokenizer, self.rows = tokenizer, train
        self.mask_id = mask_token(tokenizer, model.config.name_or_path) if masked else None
        self.watched = Watched.of(validation, metric, self.mask_id, recipe.seed)

    def _losses(self, epoch: int) -> Generator[tuple[Tensor, int]]:
        recipe = self.recipe
        masks = np.random.default_rng([recipe.seed, epoch, _DRAWN_FOR["masks"]])
        lengths = [len(row["input_ids"]) for row in self.rows.columns]
        # the last layer for the first position alone: the same loss and gradients, for less work
        with only_first_position(last_layer(self.model), whole_attention=True):
            for chosen in batches(lengths, recipe.batch_size, self.order):
                rows = masked_batch(self.rows, chosen, recipe.masking, self.mask_id, masks)
                batch = collate(self.tokenizer, rows, self.model.device)
                golds = self.rows.golds[chosen].to(self.model.device)
                yield nn.functional.cross_entropy(self.model(**batch).logits, golds), len(chosen)

    def _measured(self) -> dict[Selection, float]:
        return self.watched.measure(self.model, self.tokenizer)

    def _told(self, figures: dict[Selection, float]) -> str:
        return ", ".join(f"{NAMES[name]} {value:.4f}" for name, value in figures.items())


@dataclass(frozen=True, eq=False, slots=True)
class Watched:
    """The validation set as it is, and a copy masked once and for all, so that epochs can be compared."""

    plain: Rows
    masked: Rows | None
    metric: Performance

    @classmethod
    def of(cls, rows: Rows, metric: Performance, mask_id: int | None, seed: int) -> Watched:
        """Draw the masks of the copy, if masks are involved at all."""
        rng = np.random.default_rng([seed, _DRAWN_FOR["validation"]])
        return cls(rows, None if mask_id is None else masked_copy(rows, mask_id, rng), metric)

    def measure(self, model: Any, tokenizer: Any) -> dict[Selection, float]:
        """The performance by each selection."""
        plain = counts(model, tokenizer, self.plain)
        found: dict[Selection, FloatArray] = {"none": plain}
        if self.masked is not None:
            masked = counts(model, tokenizer, self.masked)
            found |= {"masking": masked, "both": plain + masked}
        return {selection: float(performance(sums, self.metric)) for selection, sums in found.items()}
