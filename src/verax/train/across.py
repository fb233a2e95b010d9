"""A model for several languages that goes on from one for English: its data, vocabulary and starting weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor
from transformers import BertForSequenceClassification, PreTrainedTokenizerFast

from verax.data.world.languages.telling import LANGUAGES
from verax.data.world.xnli import load, mixed
from verax.registry import resolve
from verax.train.word_pieces import widen_tokenizer
from verax.types import Dataset, Instance


@dataclass(frozen=True, slots=True)
class Across:
    """A model of `world/xnli`.

    Args:
        base: the task of the English model, whose weights and vocabulary are taken.
        inputs: inputs of each language, other ones in each.
        mixed: inputs whose parts differ in language.
        whole_words: of each language, in the vocabulary.
        aligned: inputs by whose gold alignments the embeddings of new tokens begin.
        held_back: languages of which there are only few inputs, none of them mixed, and no alignments.
        few: how many.
    """

    base: str
    inputs: int
    mixed: int
    whole_words: int
    aligned: int
    held_back: tuple[str, ...] = ()
    few: int = 0

    @property
    def favoured(self) -> tuple[str, ...]:
        """The languages that are not held back."""
        return tuple(lang for lang in LANGUAGES if lang not in self.held_back)


def training_data(recipe: Across) -> Dataset:
    """Inputs of every language on its own, and mixed ones."""
    drawn = [
        load("train", recipe.few if lang in recipe.held_back else recipe.inputs, seed, (lang,))
        for seed, lang in enumerate(LANGUAGES)
    ]
    drawn.append(mixed("train", recipe.mixed, langs=recipe.favoured))
    instances = tuple(instance for data in drawn for instance in data.instances)
    return Dataset(drawn[0].name, instances, drawn[0].labels, drawn[0].provenance)


def begin(recipe: Across, train: Dataset, seed: int) -> tuple[Any, Any]:
    """The model before its training, and its tokenizer."""
    folder = resolve("models", f"world/{recipe.base}")()
    model = BertForSequenceClassification.from_pretrained(folder)
    known = PreTrainedTokenizerFast.from_pretrained(folder)
    numbers = known.get_vocab()
    tokenizer = widen_tokenizer(sorted(numbers, key=numbers.__getitem__), train, recipe.whole_words)
    parallel = load("train", recipe.aligned * len(recipe.favoured), langs=recipe.favoured)
    start_aligned(model, known, tokenizer, parallel, seed)
    return model, tokenizer


@torch.no_grad()
def start_aligned(model: Any, known: Any, tokenizer: Any, parallel: Dataset, seed: int) -> None:
    """Widen the embeddings of a model to a vocabulary that goes on from its own.

    A new token begins at the mean of what the model has for the English words that are aligned to the words it is in;
    one that is in no aligned word begins at random.

    Args:
        known: the tokenizer of the model.
        tokenizer: the one with the wider vocabulary.
        parallel: inputs in English and other languages with their alignments.
    """
    old = model.bert.embeddings.word_embeddings.weight.clone()
    sums, counts = torch.zeros(len(tokenizer), old.shape[1]), torch.zeros(len(tokenizer))
    pieces: dict[str, Tensor] = {}
    for said, meant in _translated(parallel, known, old):
        if said not in pieces:
            pieces[said] = torch.tensor(tokenizer(said, add_special_tokens=False)["input_ids"])
        sums[pieces[said]] += meant
        counts[pieces[said]] += 1
    random = torch.randn(sums.shape, generator=torch.Generator().manual_seed(seed)) * model.config.initializer_range
    start = torch.where(counts[:, None] > 0, sums / counts[:, None].clamp(min=1), random)
    start[: len(old)] = old
    model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    model.bert.embeddings.word_embeddings.weight.copy_(start)


def _translated(parallel: Dataset, known: Any, old: Tensor) -> Iterator[tuple[str, Tensor]]:
    """Words with the mean embedding of the English words that translate them (English ones: their own)."""

    @cache
    def meaning(words: tuple[str, ...]) -> Tensor:
        tokens = (known(word, add_special_tokens=False)["input_ids"] for word in words)
        return torch.stack([old[numbers].mean(0) for numbers in tokens]).mean(0)

    english: Instance | None = None
    for instance in parallel.instances:
        english = instance if instance.lang == "en" else english
        if english is None or instance.parallel_id != english.parallel_id:
            raise ValueError(f"{instance.id} has no English before it")
        given = next((given for given in parallel.aligned[instance.id] if given.lang == "en"), None)
        for number, part in enumerate(instance.parts):
            own = tuple((word, word) for word in range(len(part.words)))
            translations: dict[int, list[str]] = {}
            for reference, word in own if given is None else given.sure[number]:
                translations.setdefault(word, []).append(english.parts[number].words[reference])
            for word, words in translations.items():
                yield part.words[word], meaning(tuple(words))
