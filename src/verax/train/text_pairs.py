"""Fine-tuning of a text generator on pairs of texts: what it reads, and what it is to write."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, Literal, NamedTuple

import torch
from rich.console import Console
from torch import Tensor, nn

from verax.models.generator import Prompt
from verax.models.hf_generator import HFGenerator
from verax.models.text_rows import Row, foreseen
from verax.train.loop import FineTuning, Loop, Trained
from verax.train.masking import Selection
from verax.train.resume import Resume
from verax.train.rows import batches
from verax.types import UserError

Weigh = Literal["tokens", "pairs"]
"""What counts the same in the loss: every token that is to be written, or every pair, however long its target is."""
_BATCH = 32


class Pair(NamedTuple):
    """What a generator reads, and what it is to write then."""

    source: str
    target: str


def fit_pairs(
    model: Any,
    tokenizer: Any,
    train: Sequence[Pair],
    validation: Sequence[Pair],
    recipe: FineTuning,
    *,
    weigh: Weigh = "tokens",
    resume: Resume | None = None,
    console: Console | None = None,
) -> Trained:
    """Train a generator in place and leave it, in evaluation mode, with the weights of the best epoch.

    The best epoch has the lowest validation loss. A pair that the model can't read as a whole is left out and counted:
    cut, it would teach to end in the middle. The same seed, pairs and number of threads give the same bits, also if the
    training was killed and went on.

    Args:
        model: an encoder-decoder or a decoder of transformers, with a head for language.
        recipe: `masking` and `parts` play no role; `longest` is of what the model reads at once: a decoder reads
            source and target.
        weigh: what counts the same, in training and for the best epoch.
        resume: where the state after each epoch is kept, and gone on from.
    """
    console = console or Console(stderr=True)
    asked = HFGenerator(model, tokenizer, name=model.config.name_or_path, fingerprint={})
    rows = [
        _rows(asked, pairs, name, recipe, console) for name, pairs in (("train", train), ("validation", validation))
    ]
    training = _PairTraining(model, asked.pad, recipe, rows[0], rows[1], resume, weigh)
    training.finish(console)
    return training.trained


def encoded(asked: HFGenerator, pair: Pair) -> Row:
    """The token ids of a pair, just as the generator reads and writes them when it is asked."""
    prompt = Prompt(pair.source, plain=True)
    return asked.tokens(prompt), asked.continuation(prompt, pair.target)


def _rows(asked: HFGenerator, pairs: Sequence[Pair], name: str, recipe: FineTuning, console: Console) -> list[Row]:
    """Those that fit the model."""
    found = [encoded(asked, pair) for pair in pairs]
    longest = min(asked.longest, recipe.longest or asked.longest)
    fit = [row for row in found if all(row) and asked.occupied(*row) <= longest]
    if not fit:
        why = f"all {len(found)} pairs of texts are empty or longer than {longest} tokens" if found else "it is empty"
        raise UserError(f"{name}: there is nothing to train on: {why}")
    if len(fit) < len(found):
        left = f"{name}: left out {len(found) - len(fit)} of {len(found)} pairs: empty, or longer than {longest} tokens"
        console.print(left, highlight=False, soft_wrap=True)
    return fit


class _PairTraining(Loop):
    """The training of a text generator."""

    lowest = True

    def __init__(
        self,
        model: Any,
        pad: int,
        recipe: FineTuning,
        train: Sequence[Row],
        validation: Sequence[Row],
        resume: Resume | None,
        weigh: Weigh,
    ) -> None:
        super().__init__(model, recipe, ("none",), len(train), resume)
        self.pad, self.rows, self.watched, self.weigh = pad, train, validation, weigh

    def _losses(self, epoch: int) -> Generator[tuple[Tensor, int]]:
        lengths = [len(prompt) + len(text) for prompt, text in self.rows]
        for chosen in batches(lengths, self.recipe.batch_size, self.order):
            total, things = self._loss([self.rows[i] for i in chosen])
            yield total / things, things

    def _loss(self, rows: Sequence[Row]) -> tuple[Tensor, int]:
        """The loss summed over what counts the same, tokens of targets or pairs, and how many these are."""
        logits, targets = foreseen(self.model, rows, self.pad)
        there = targets >= 0
        losses = nn.functional.cross_entropy(logits[there], targets[there], reduction="none")
        if self.weigh == "tokens":
            return losses.sum(), int(there.sum())
        lengths = there.sum(1, keepdim=True).expand_as(there)[there]
        return (losses / lengths).sum(), len(rows)

    @torch.no_grad()
    def _measured(self) -> dict[Selection, float]:
        self.model.eval()
        by_length = sorted(self.watched, key=lambda row: len(row[0]) + len(row[1]))
        total, things = 0.0, 0
        for start in range(0, len(by_length), _BATCH):
            loss, count = self._loss(by_length[start : start + _BATCH])
            total, things = total + loss.item(), things + count
        return {"none": total / things}

    def _told(self, figures: dict[Selection, float]) -> str:
        return f"validation loss {figures['none']:.4f}"
