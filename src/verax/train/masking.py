"""Masks at random, as masked fine-tuning draws them: a rate for each row, and every token by chance at that rate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np

from verax.train.rows import Row, Rows
from verax.types import BoolArray, UserError

Masking = Literal["none", "masking", "half"]
"""What is masked in training: nothing, every row, or every other row of each mini-batch."""

Selection = Literal["none", "masking", "both"]
"""What the best epoch is chosen on: the validation set as it is, a masked copy of it, or both copies."""

NAMES: dict[Selection, str] = {"none": "unmasked", "masking": "masked", "both": "both copies"}
"""What people call the performance on each."""


def mask_token(tokenizer: Any, name: str) -> int:
    """The id of the mask token; a clear error if there is none."""
    if tokenizer.mask_token_id is None:
        raise UserError(
            f"the tokenizer of {name!r} has no mask token: masked fine-tuning needs a masked language model (BERT, "
            "RoBERTa, DistilBERT, XLM-R, DeBERTa, ...)"
        )
    return int(tokenizer.mask_token_id)


def is_masked(masking: Masking, place: int) -> bool:
    """Whether the row at a place of its mini-batch, counted from 0, is masked (Algorithm 1)."""
    return masking == "masking" or (masking == "half" and place % 2 == 1)


def mask(row: Row, chosen: BoolArray, mask_id: int) -> Row:
    """The row with the chosen tokens masked; `chosen` has shape [tokens]."""
    ids = [mask_id if masked else i for i, masked in zip(row["input_ids"], chosen.tolist(), strict=True)]
    return {**row, "input_ids": ids}


def mask_at_random(row: Row, maskable: BoolArray, mask_id: int, rng: np.random.Generator) -> Row:
    """The row with each maskable token masked by chance, at a rate drawn for this row from [0, 1]."""
    rate = rng.random()
    return mask(row, maskable & (rng.random(len(maskable)) < rate), mask_id)


def masked_batch(
    rows: Rows, chosen: Sequence[int], masking: Masking, mask_id: int | None, rng: np.random.Generator
) -> list[Row]:
    """The chosen rows as a mini-batch of masked fine-tuning."""
    batch = [rows.columns[i] for i in chosen]
    if masking == "none" or mask_id is None:
        return batch
    return [
        mask_at_random(row, rows.maskable[i], mask_id, rng) if is_masked(masking, place) else row
        for place, (row, i) in enumerate(zip(batch, chosen, strict=True))
    ]


def masked_copy(rows: Rows, mask_id: int, rng: np.random.Generator) -> Rows:
    """Every row masked at random, each at a rate of its own."""
    return _changed(rows, (mask_at_random(*row, mask_id, rng) for row in zip(rows.columns, rows.maskable, strict=True)))


def fully_masked(rows: Rows, mask_id: int) -> Rows:
    """Every row with all its maskable tokens masked."""
    return _changed(rows, (mask(*row, mask_id) for row in zip(rows.columns, rows.maskable, strict=True)))


def _changed(rows: Rows, columns: Iterable[Row]) -> Rows:
    return Rows(tuple(columns), rows.maskable, rows.golds)
