"""Fine-tuning of a text generator on pairs of a prompt and the text to write."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import torch
from rich.console import Console
from torch import Tensor, nn

from verax.models.generator import Prompt
from verax.models.hf_generator import HFGenerator
from verax.models.text_rows import TokenPair, continuation_logits
from verax.results.render.console import TerminalConsole
from verax.train.loop import FineTuning, Loop, Trained, in_pieces
from verax.train.resume import Resume
from verax.train.rows import Selection, batches
from verax.train.text_pairs import TrainingPair
from verax.types import UserError

Weigh = Literal["tokens", "pairs"]
"""What has equal weight in the loss: every token of a target, or every pair, however long its target is."""
SUCCESS = "success"
"""Name of the curve of success rates."""
_BATCH = 32


def fit_pairs(
    model: Any,
    tokenizer: Any,
    train: Sequence[TrainingPair],
    validation: Sequence[TrainingPair],
    recipe: FineTuning,
    *,
    weigh: Weigh = "tokens",
    success: Callable[[HFGenerator], float] | None = None,
    resume: Resume | None = None,
    console: Console | None = None,
    micro_batch: int | None = None,
) -> Trained:
    """Train a generator in place and leave it, in evaluation mode, with the weights of the best epoch.

    That is the one with the lowest validation loss, or with the highest success rate; of equal rates, that with the
    lowest loss.

    Pairs that are too long for the model are left out and counted: truncated ones would teach it to stop in the middle.
    The same seed, pairs and number of threads give the same bits, also after an interruption.

    Args:
        model: an encoder-decoder or a decoder of transformers with a language modelling head.
        recipe: `masking` and `parts` are ignored; `longest` limits what the model reads at once, which is source and
            target for a decoder.
        success: the success rate of the generator as it is after an epoch.
        micro_batch: pairs that are computed at once, if a mini-batch does not fit into memory.
    """
    console = console or TerminalConsole(stderr=True)
    generator = HFGenerator(model, tokenizer, name=model.config.name_or_path, fingerprint={})
    rows = [
        _fitting(generator, pairs, name, recipe, console)
        for name, pairs in (("train", train), ("validation", validation))
    ]
    rate = None if success is None else partial(success, generator)
    training = _GeneratorTraining(model, generator.pad, recipe, rows[0], rows[1], resume, weigh, rate, micro_batch)
    training.train(console)
    return training.trained


def encode_pair(generator: HFGenerator, pair: TrainingPair) -> TokenPair:
    """The token ids of a pair as the generator reads and writes them."""
    prompt = Prompt(pair.source, plain=True)
    return generator.tokens(prompt), generator.continuation(prompt, pair.target)


def _fitting(
    generator: HFGenerator, pairs: Sequence[TrainingPair], name: str, recipe: FineTuning, console: Console
) -> list[TokenPair]:
    """The encoded pairs that the model can read and write as a whole."""
    encoded = [encode_pair(generator, pair) for pair in pairs]
    longest = min(generator.longest, recipe.longest or generator.longest)
    fitting = [row for row in encoded if all(row) and generator.context_length(*row) <= longest]
    if not fitting:
        why = f"all {len(encoded)} pairs of texts are empty or longer than {longest} tokens" if encoded else "no pairs"
        raise UserError(f"{name}: nothing to train on: {why}")
    if len(fitting) < len(encoded):
        lost = f"{len(encoded) - len(fitting)} of {len(encoded)} pairs"
        note = f"{name}: left out {lost}: empty, or longer than {longest} tokens"
        console.print(note, highlight=False, soft_wrap=True)
    return fitting


class _GeneratorTraining(Loop):
    """The training of a text generator."""

    def __init__(
        self,
        model: Any,
        pad: int,
        recipe: FineTuning,
        train: Sequence[TokenPair],
        validation: Sequence[TokenPair],
        resume: Resume | None,
        weigh: Weigh,
        success: Callable[[], float] | None = None,
        micro_batch: int | None = None,
    ) -> None:
        super().__init__(model, recipe, ("none",), len(train), resume, micro_batch)
        self.pad, self.rows, self.validation, self.weigh, self.success = pad, train, validation, weigh, success

    def _batches(self, _: int) -> Generator[Sequence[TokenPair]]:
        lengths = [len(prompt) + len(text) for prompt, text in self.rows]
        for chosen in batches(lengths, self.recipe.batch_size, self.order):
            yield [self.rows[i] for i in chosen]

    def _items(self, rows: Sequence[TokenPair]) -> int:
        return sum(len(text) for _, text in rows) if self.weigh == "tokens" else len(rows)

    def _loss(self, rows: Sequence[TokenPair]) -> tuple[Tensor, int]:
        """The loss summed over the tokens of the targets, or over pairs, and their number."""
        logits, targets = continuation_logits(self.model, rows, self.pad)
        present = targets >= 0
        losses = nn.functional.cross_entropy(logits[present], targets[present], reduction="none")
        if self.weigh == "tokens":
            return losses.sum(), self._items(rows)
        lengths = present.sum(1, keepdim=True).expand_as(present)[present]
        return (losses / lengths).sum(), len(rows)

    @torch.no_grad()
    def _validate(self) -> dict[str, float]:
        self.model.eval()
        by_length = sorted(self.validation, key=lambda row: len(row[0]) + len(row[1]))
        losses = list(in_pieces(by_length, _BATCH, self._loss))
        values = {"none": sum(loss.item() for loss, _ in losses) / sum(items for _, items in losses)}
        return values if self.success is None else {**values, SUCCESS: self.success()}

    def _is_best(self, selection: Selection, epoch: int) -> bool:
        losses = self.trained.curves["none"]
        rates = self.trained.curves.get(SUCCESS, [0.0] * len(losses))
        ranks = [(rate, -loss) for rate, loss in zip(rates, losses, strict=True)]
        return ranks.index(max(ranks)) == epoch

    def _describe(self, values: Mapping[str, float]) -> str:
        rate = f", success rate {values[SUCCESS]:.3f}" if SUCCESS in values else ""
        return f"validation loss {values['none']:.4f}{rate}"
