"""The recipes of the shipped models: a word-piece vocabulary and a small BERT, made from the built-in corpus alone.

python -m verax.train.world nli --out DIR
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import torch
from rich.console import Console
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

from verax.registry import resolve
from verax.train.fine_tuning import FineTuning, fit
from verax.train.measure import accuracy
from verax.train.start import start_turned_round, start_with_likeness
from verax.types import Dataset

_SPECIAL = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
_LONGEST = 128


@dataclass(frozen=True, slots=True)
class Shape:
    """How big a shipped model is, and how many draws of the training split it sees."""

    seeds: int
    whole_words: int
    hidden: int
    layers: int
    heads: int
    feed_forward: int


@dataclass(frozen=True, slots=True)
class Continued:
    """A shipped model that goes on from another one, for a task that has the two parts in the other order.

    Args:
        base: the task of the other model, whose vocabulary and weights are taken.
        known_as: for each class of the task the class of the other one that it begins as.
    """

    seeds: int
    base: str
    known_as: tuple[str, ...]


RECIPES: dict[str, tuple[Shape | Continued, FineTuning]] = {
    "nli": (
        Shape(seeds=6, whole_words=290, hidden=128, layers=3, heads=4, feed_forward=256),
        FineTuning(epochs=2, batch_size=32, learning_rate=3e-4, warmup=0.03),
    ),
    "facts": (
        Continued(seeds=3, base="nli", known_as=("entailment", "contradiction", "neutral")),
        FineTuning(epochs=2, batch_size=32, learning_rate=4e-4, warmup=0.05),
    ),
    "opinion": (
        Shape(seeds=1, whole_words=270, hidden=96, layers=2, heads=4, feed_forward=192),
        FineTuning(epochs=4, batch_size=32, learning_rate=5e-4, warmup=0.05),
    ),
}


def build_tokenizer(dataset: Dataset, whole_words: int) -> PreTrainedTokenizerFast:
    """Word pieces for the texts of a dataset: its most frequent words stay whole, each other one falls into two halves.

    Single letters are in the vocabulary too, so that words from elsewhere can be read. It is not trained because that
    depends, among words of equal count, on the order in which a hash table happens to hold them.
    """
    normalizer, splitter = normalizers.BertNormalizer(lowercase=True), pre_tokenizers.BertPreTokenizer()
    counts = Counter(
        word for text in _texts(dataset) for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text))
    )
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    halves = [half for word in ranked[whole_words:] for half in _halves(word)]
    letters = [mark + letter for letter in ascii_lowercase for mark in ("", "##")]
    vocabulary = dict.fromkeys((*_SPECIAL.values(), *letters, *ranked[:whole_words], *halves))
    backend = Tokenizer(models.WordPiece({token: n for n, token in enumerate(vocabulary)}, unk_token=_SPECIAL["unk"]))
    backend.normalizer, backend.pre_tokenizer = normalizer, splitter
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, backend.token_to_id(token)) for token in (_SPECIAL["cls"], _SPECIAL["sep"])],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=_LONGEST,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        **{f"{role}_token": token for role, token in _SPECIAL.items()},
    )


def _halves(word: str) -> tuple[str, str]:
    middle = (len(word) + 1) // 2
    return word[:middle], f"##{word[middle:]}"


def build_model(tokenizer: Any, labels: Sequence[str], shape: Shape, seed: int) -> BertForSequenceClassification:
    """An untrained BERT; the same seed gives the same weights."""
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=shape.hidden,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=shape.feed_forward,
        max_position_embeddings=_LONGEST,
        initializer_range=shape.hidden**-0.5,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        pad_token_id=tokenizer.pad_token_id,
        id2label=dict(enumerate(labels)),
        label2id={label: number for number, label in enumerate(labels)},
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = BertForSequenceClassification(config)
    start_with_likeness(model)
    return model


def begin(train: Dataset, shape: Shape | Continued, seed: int) -> tuple[Any, Any]:
    """The model before its training, and its tokenizer."""
    if isinstance(shape, Shape):
        tokenizer = build_tokenizer(train, shape.whole_words)
        return build_model(tokenizer, train.labels, shape, seed), tokenizer
    folder = resolve("models", f"world/{shape.base}")()
    model = BertForSequenceClassification.from_pretrained(folder)
    start_turned_round(model, train.labels, shape.known_as)
    return model, PreTrainedTokenizerFast.from_pretrained(folder)


def _texts(dataset: Dataset) -> Iterator[str]:
    return (part.raw for instance in dataset.instances for part in instance.parts)


def training_data(task: str, seeds: int) -> Dataset:
    """The training split as drawn by several seeds, one after the other; held-out splits share nothing with any."""
    load = resolve("datasets", f"world/{task}")
    drawn = [load("train", seed=seed) for seed in range(seeds)]
    instances = tuple(instance for data in drawn for instance in data.instances)
    return Dataset(drawn[0].name, instances, drawn[0].labels, drawn[0].provenance)


def make(task: str, out: Path) -> dict[str, float]:
    """Train the model of a task by its recipe, write it with its tokenizer and model card, and measure it."""
    shape, recipe = RECIPES[task]
    load = resolve("datasets", f"world/{task}")
    train = training_data(task, shape.seeds)
    model, tokenizer = begin(train, shape, recipe.seed)
    started = time.monotonic()
    trained, _ = fit(model, tokenizer, train, load("validation"), recipe)
    figures = {
        "validation accuracy": max(trained.curves["none"]),
        "test accuracy": accuracy(model, tokenizer, load("test")),
        "training minutes": (time.monotonic() - started) / 60,
    }
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    (out / "README.md").write_text(_card(task, train, figures), encoding="utf-8")
    return figures


def _card(task: str, train: Dataset, figures: dict[str, float]) -> str:
    shape, recipe = RECIPES[task]
    start, sizes = "scratch", {}
    if isinstance(shape, Continued):
        start, sizes = f"`world/{shape.base}`", asdict(RECIPES[shape.base][0])
    parameters = [f"| {name} | {value} |" for name, value in (sizes | asdict(shape) | asdict(recipe)).items()]
    lines = [
        f"# world-{task}",
        "",
        f"A small BERT for verax's built-in corpus `world/{task}`: {', '.join(train.labels)}.",
        "It knows the words of that corpus and nothing else; it is there to try explanations on.",
        "",
        f"Made from {start} by `python -m verax.train.world {task} --out DIR`, on {len(train)} training instances.",
        f"Accuracy on the validation split: {figures['validation accuracy']:.4f}.",
        f"Accuracy on the test split: {figures['test accuracy']:.4f}.",
        f"Trained with torch {torch.__version__.partition('+')[0]} on {torch.get_num_threads()} threads.",
        "",
        "| parameter | value |",
        "| --- | --- |",
        *parameters,
        "",
        "Licence: Apache-2.0.",
    ]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line of the recipe."""
    parser = argparse.ArgumentParser(prog="python -m verax.train.world", description="Make a shipped model again.")
    parser.add_argument("task", choices=sorted(RECIPES))
    parser.add_argument("--out", type=Path, required=True, help="folder that the model is written to")
    chosen = parser.parse_args(arguments)
    for name, value in make(chosen.task, chosen.out).items():
        Console().print(f"{name}: {value:.4f}")


if __name__ == "__main__":
    main()
