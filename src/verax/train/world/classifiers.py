"""Recipes of the shipped classifiers: from scratch, for a related task, or for several languages."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import BertForSequenceClassification, PreTrainedTokenizerFast

from verax.data.world.languages.realisation import LANGUAGES
from verax.data.world.xnli import load, mixed
from verax.registry import resolve
from verax.train.fine_tuning import accuracy, fit
from verax.train.loop import FineTuning
from verax.train.resume import save_checkpoint
from verax.train.world.card import write_card
from verax.train.world.start import BertShape, build_bert, swap_parts
from verax.train.world.tokenizers import build_tokenizer, widen_tokenizer
from verax.types import Dataset, Instance

_INHERITED = ("whole_words", "hidden", "layers", "heads", "feed_forward")
"""Fields of a shape that a model takes over from its base."""


@dataclass(frozen=True, slots=True)
class Continued:
    """A model that starts from another one, for a task with the two parts in the other order.

    Args:
        seeds: number of draws of the training split.
        base: the task of the other model, whose vocabulary and weights are used.
        known_as: the class of the other task that each class starts as.
    """

    seeds: int
    base: str
    known_as: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Multilingual:
    """A model of `world/xnli` that starts from an English one.

    Args:
        base: the task of the English model, whose weights and vocabulary are used.
        inputs: inputs per language; no two languages share one.
        mixed: inputs whose parts differ in language.
        whole_words: whole words per language in the vocabulary.
        aligned: inputs whose gold alignments set the embeddings of new tokens.
        held_back: languages with only `few` inputs, no mixed ones, and no alignments.
        few: inputs of each language that is held back.
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


Start = BertShape | Continued | Multilingual

RECIPES: dict[str, tuple[Start, FineTuning]] = {
    "nli": (
        BertShape(seeds=6, whole_words=290, hidden=128, layers=3, heads=4, feed_forward=256),
        FineTuning(epochs=2, batch_size=32, learning_rate=3e-4, warmup=0.03),
    ),
    "facts": (
        Continued(seeds=3, base="nli", known_as=("entailment", "contradiction", "neutral")),
        FineTuning(epochs=2, batch_size=32, learning_rate=4e-4, warmup=0.05),
    ),
    "xnli": (
        Multilingual(base="nli", inputs=12000, mixed=24000, whole_words=250, aligned=2000),
        FineTuning(epochs=2, batch_size=32, learning_rate=4e-4, warmup=0.05),
    ),
    "xnli-uneven": (
        Multilingual(
            "nli", inputs=6000, mixed=6000, whole_words=250, aligned=1000, held_back=("es", "bg", "zh"), few=300
        ),
        FineTuning(epochs=2, batch_size=32, learning_rate=4e-4, warmup=0.05),
    ),
    "opinion": (
        BertShape(seeds=1, whole_words=270, hidden=96, layers=2, heads=4, feed_forward=192),
        FineTuning(epochs=4, batch_size=32, learning_rate=5e-4, warmup=0.05),
    ),
}


def make(name: str, out: Path) -> dict[str, float]:
    """Train a classifier by its recipe, evaluate it, and write it with its tokenizer and model card."""
    start, recipe = RECIPES[name]
    train = training_data(name, start)
    load_split = resolve("datasets", train.name)
    model, tokenizer = build(train, start, recipe.seed)
    started = time.monotonic()
    trained, _ = fit(model, tokenizer, train, load_split("validation"), recipe)
    minutes = (time.monotonic() - started) / 60
    figures = {"accuracy on the validation split": max(trained.curves["none"])}
    figures |= split_accuracies(model, tokenizer, load_split("test"))
    save_checkpoint(model, tokenizer, out)
    origin, inherited = "scratch", {}
    if not isinstance(start, BertShape):
        base = asdict(RECIPES[start.base][0])
        origin, inherited = f"`world/{start.base}`", {field: base[field] for field in _INHERITED}
    write_card(
        out,
        name,
        f"A small BERT for verax's built-in corpus `{train.name}`: {', '.join(train.labels)}.",
        "trying out explanations",
        origin,
        figures,
        {"parameter": {"training instances": len(train)} | inherited | asdict(start) | recipe.as_dict()},
    )
    return figures | {"training minutes": minutes}


def training_data(name: str, start: Start) -> Dataset:
    """The training split of several seeds or languages, concatenated; held-out splits share nothing with any."""
    if isinstance(start, Multilingual):
        counts = [start.few if lang in start.held_back else start.inputs for lang in LANGUAGES]
        drawn = [
            load("train", count, seed, (lang,))
            for seed, (lang, count) in enumerate(zip(LANGUAGES, counts, strict=True))
        ]
        drawn.append(mixed("train", start.mixed, langs=start.favoured))
    else:
        load_split = resolve("datasets", f"world/{name}")
        drawn = [load_split("train", seed=seed) for seed in range(start.seeds)]
    instances = tuple(instance for data in drawn for instance in data.instances)
    return Dataset(drawn[0].name, instances, drawn[0].labels, drawn[0].provenance)


def build(train: Dataset, start: Start, seed: int) -> tuple[Any, Any]:
    """The untrained model and its tokenizer."""
    if isinstance(start, BertShape):
        tokenizer = build_tokenizer(train, start.whole_words)
        return build_bert(tokenizer, train.labels, start, seed), tokenizer
    folder = resolve("models", f"world/{start.base}")()
    model = BertForSequenceClassification.from_pretrained(folder)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    if isinstance(start, Continued):
        swap_parts(model, train.labels, start.known_as)
        return model, tokenizer
    ids = tokenizer.get_vocab()
    wider = widen_tokenizer(sorted(ids, key=ids.__getitem__), train, start.whole_words)
    parallel = load("train", start.aligned * len(start.favoured), langs=start.favoured)
    widen_embeddings(model, tokenizer, wider, parallel, seed)
    return model, wider


@torch.no_grad()
def widen_embeddings(model: Any, tokenizer: Any, wider: Any, parallel: Dataset, seed: int) -> None:
    """Extend the embeddings of a model to a wider vocabulary.

    A new token starts at the mean embedding of the English words that are aligned with the words it occurs in; a token
    without an aligned word starts at random.

    Args:
        parallel: inputs in English and other languages with their alignments.
    """
    old = model.bert.embeddings.word_embeddings.weight.clone()
    sums, counts = torch.zeros(len(wider), old.shape[1]), torch.zeros(len(wider))
    pieces: dict[str, Tensor] = {}
    for word, embedding in _word_embeddings(parallel, tokenizer, old):
        if word not in pieces:
            pieces[word] = torch.tensor(wider(word, add_special_tokens=False)["input_ids"])
        sums[pieces[word]] += embedding
        counts[pieces[word]] += 1
    random = torch.randn(sums.shape, generator=torch.Generator().manual_seed(seed)) * model.config.initializer_range
    start = torch.where(counts[:, None] > 0, sums / counts[:, None].clamp(min=1), random)
    start[: len(old)] = old
    model.resize_token_embeddings(len(wider), mean_resizing=False)
    model.bert.embeddings.word_embeddings.weight.copy_(start)


def _word_embeddings(parallel: Dataset, tokenizer: Any, old: Tensor) -> Iterator[tuple[str, Tensor]]:
    """Each word with the mean embedding of its English translations; an English word translates itself."""

    @cache
    def mean_embedding(words: tuple[str, ...]) -> Tensor:
        tokens = (tokenizer(word, add_special_tokens=False)["input_ids"] for word in words)
        return torch.stack([old[ids].mean(0) for ids in tokens]).mean(0)

    english: Instance | None = None
    for instance in parallel.instances:
        english = instance if instance.lang == "en" else english
        if english is None or instance.parallel_id != english.parallel_id:
            raise ValueError(f"{instance.id} does not follow its English original")
        given = next((given for given in parallel.aligned[instance.id] if given.lang == "en"), None)
        for number, part in enumerate(instance.parts):
            itself = tuple((word, word) for word in range(len(part.words)))
            translations: dict[int, list[str]] = {}
            for reference, word in itself if given is None else given.sure[number]:
                translations.setdefault(word, []).append(english.parts[number].words[reference])
            for word, words in translations.items():
                yield part.words[word], mean_embedding(tuple(words))


def split_accuracies(model: Any, tokenizer: Any, test: Dataset) -> dict[str, float]:
    """Accuracy on a test split, and in each of its languages if there are several."""
    accuracies = {"accuracy on the test split": accuracy(model, tokenizer, test)}
    langs = dict.fromkeys(instance.lang for instance in test.instances)
    for lang in langs if len(langs) > 1 else ():
        instances = tuple(instance for instance in test.instances if instance.lang == lang)
        accuracies[f"accuracy on the test split, {lang}"] = accuracy(
            model, tokenizer, replace(test, instances=instances)
        )
    return accuracies
