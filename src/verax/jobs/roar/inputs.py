"""The inputs of Recursive ROAR: which of their words are masked, and the rows that a model is trained on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy.special import softmax
from torch import Tensor

from verax.engine.ask import ask_all
from verax.engine.protocols import Method, as_generator
from verax.engine.questions import Outputs, QuestionGenerator
from verax.metrics.faithfulness.recursive_masking import newly_masked
from verax.metrics.ranking import best_first
from verax.models.classifier import Classifier
from verax.models.encoding import PerturbedInput, TokenSequence
from verax.models.subject import Subject
from verax.run.parameters import Configured
from verax.train.rows import Rows, check_parts, gold_classes
from verax.types import Attribution, BoolArray, Dataset, FloatArray, Instance, IntArray, Undefined, UserError

Masks = tuple[BoolArray, ...]
"""Which of the maskable words of each instance of a split are masked: shape [words] each."""


@dataclass(frozen=True, eq=False)
class RoarSplit:
    """The instances of a split that the model can read.

    Args:
        parts: the parts whose words are masked; None for all.
        golds: index of each gold class among the model's classes, shape [instances].
        sizes: number of maskable words of each instance.
        left_out: number of instances that can't be read, by reason.
    """

    name: str
    instances: tuple[Instance, ...]
    parts: tuple[int, ...] | None
    golds: Tensor
    sizes: tuple[int, ...]
    left_out: Mapping[str, int]

    @classmethod
    def of(
        cls, name: str, data: Dataset, parts: tuple[int, ...] | None, model: Any, classifier: Classifier
    ) -> RoarSplit:
        """Leave out instances that can't be read; reject unlabelled instances and an empty split."""
        check_parts(data.instances)
        kept: list[Instance] = []
        sizes: list[int] = []
        left_out: Counter[str] = Counter()
        for instance in data.instances:
            try:
                sizes.append(Subject(instance, classifier, parts).n_units)
            except Undefined as undefined:
                left_out[undefined.reason] += 1
            else:
                kept.append(instance)
        if not kept:
            raise UserError(f"{name}: {data.name} holds no instance that the model can read")
        golds = gold_classes(model, replace(data, instances=tuple(kept)))
        return cls(name, tuple(kept), parts, golds, tuple(sizes), left_out)

    def __len__(self) -> int:
        return len(self.instances)

    def sample(self, count: int) -> RoarSplit:
        """A random sample of this many instances, always the same; all of them if there are fewer."""
        chosen = np.random.default_rng(0).permutation(len(self))[:count].tolist()
        instances = tuple(self.instances[i] for i in chosen)
        return replace(self, instances=instances, golds=self.golds[chosen], sizes=tuple(self.sizes[i] for i in chosen))

    def masks(self, *, masked: bool) -> Masks:
        """Nothing masked, or everything."""
        return tuple(np.full(size, masked) for size in self.sizes)

    def encode(self, classifier: Classifier, number: int) -> Subject:
        """One instance with nothing masked, encoded each time: all of them would not fit into memory."""
        return Subject(self.instances[number], classifier, self.parts)

    def rows(self, classifier: Classifier, tokenizer: Any, masks: Masks) -> Rows:
        """The masked split as rows of tokens to train on."""
        columns, maskable = [], []
        types = "token_type_ids" in tokenizer.model_input_names
        for number, masked in enumerate(masks):
            x = self.encode(classifier, number)
            row = PerturbedInput(x.encoding, x.without(masked, "mask").state)
            sequence = TokenSequence.of([row], tokenizer.mask_token_id)
            column = {"input_ids": sequence.ids.tolist(), "attention_mask": [1] * len(sequence.ids)}
            columns.append(column | ({"token_type_ids": sequence.types.tolist()} if types else {}))
            maskable.append(np.isin(sequence.unit, x.alive))
        return Rows(tuple(columns), tuple(maskable), torch.as_tensor(self.golds))


def due(size: int, step: int, steps: int) -> tuple[int, int]:
    """For an input of `size` words: the number left before a step, and the number that the step masks."""
    return size - (step - 1) * size // steps, newly_masked(size, steps)[step - 1]


def explained(split: RoarSplit, step: int, steps: int) -> list[int]:
    """Number of words left in each input that is explained for a step; the others leave nothing to choose."""
    counts = (due(size, step, steps) for size in split.sizes)
    return [left for left, more in counts if 0 < more < left]


def mask_more(
    split: RoarSplit,
    classifier: Classifier,
    method: Configured[Method],
    masks: Masks,
    step: int,
    steps: int,
    advance: Callable[[], object] = lambda: None,
) -> Masks:
    """The masks after a step: the model explains the words that are left, and the most important ones are masked."""
    after = tuple(masked.copy() for masked in masks)

    def questions() -> Iterator[tuple[int, QuestionGenerator[Attribution]]]:
        for number, masked in enumerate(masks):
            left, more = due(split.sizes[number], step, steps)
            if 0 < more < left:
                x = split.encode(classifier, number).without(masked, "mask")
                yield number, as_generator(method.component, x)
            else:
                after[number][:] = masked | (more > 0)

    def keep(number: int, attribution: Attribution) -> None:
        more = due(split.sizes[number], step, steps)[1]
        after[number][np.flatnonzero(~masks[number])[best_first(attribution.scores)[:more]]] = True

    def refuse(number: int, reason: Undefined) -> None:
        name = split.instances[number].id
        raise UserError(f"{method.label} can't explain the {split.name} instance {name!r}: {reason}")

    ask_all(questions(), keep, refuse, advance)
    return after


def answers(split: RoarSplit, classifier: Classifier, masks: Masks) -> tuple[IntArray, FloatArray]:
    """The class that the model predicts for each masked input, and the probability of the gold one: [instances]."""
    predicted, probability = np.zeros(len(split), np.int64), np.zeros(len(split))

    def keep(number: int, logits: FloatArray) -> None:
        predicted[number] = logits.argmax()
        probability[number] = softmax(logits)[int(split.golds[number])]

    def refuse(number: int, reason: Undefined) -> None:
        raise UserError(f"the {split.name} instance {split.instances[number].id!r}: {reason}")

    questions = ((i, _logits(split.encode(classifier, i), masked)) for i, masked in enumerate(masks))
    ask_all(questions, keep, refuse)
    return predicted, probability


def _logits(x: Subject, masked: BoolArray) -> QuestionGenerator[FloatArray]:
    logits: FloatArray = yield Outputs(x, ~masked[None], "mask")
    return np.asarray(logits[0])
