"""The recipes of the shipped models: a word-piece vocabulary and a small BERT, made from the built-in corpus alone.

python -m verax.train.world nli --out DIR
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

from verax.registry import resolve
from verax.train import across
from verax.train.across import Across
from verax.train.fine_tuning import fit
from verax.train.loop import FineTuning
from verax.train.measure import accuracy
from verax.train.start import start_turned_round, start_with_likeness
from verax.train.word_pieces import LONGEST, build_tokenizer
from verax.types import Dataset

_SIZES = ("whole_words", "hidden", "layers", "heads", "feed_forward")
"""What a model that goes on from another one takes over from its shape."""


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


Start = Shape | Continued | Across

RECIPES: dict[str, tuple[Start, FineTuning]] = {
    "nli": (
        Shape(seeds=6, whole_words=290, hidden=128, layers=3, heads=4, feed_forward=256),
        FineTuning(epochs=2, batch_size=32, learning_rate=3e-4, warmup=0.03),
    ),
    "facts": (
        Continued(seeds=3, base="nli", known_as=("entailment", "contradiction", "neutral")),
        FineTuning(epochs=2, batch_size=32, learning_rate=4e-4, warmup=0.05),
    ),
    "xnli": (
        Across(base="nli", inputs=12000, mixed=24000, whole_words=250, aligned=2000),
        FineTuning(epochs=2, batch_size=32, learning_rate=4e-4, warmup=0.05),
    ),
    "xnli-uneven": (
        Across("nli", inputs=6000, mixed=6000, whole_words=250, aligned=1000, held_back=("es", "bg", "zh"), few=300),
        FineTuning(epochs=2, batch_size=32, learning_rate=4e-4, warmup=0.05),
    ),
    "opinion": (
        Shape(seeds=1, whole_words=270, hidden=96, layers=2, heads=4, feed_forward=192),
        FineTuning(epochs=4, batch_size=32, learning_rate=5e-4, warmup=0.05),
    ),
}


def build_model(tokenizer: Any, labels: Sequence[str], shape: Shape, seed: int) -> BertForSequenceClassification:
    """An untrained BERT; the same seed gives the same weights."""
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=shape.hidden,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=shape.feed_forward,
        max_position_embeddings=LONGEST,
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


def begin(train: Dataset, shape: Start, seed: int) -> tuple[Any, Any]:
    """The model before its training, and its tokenizer."""
    if isinstance(shape, Across):
        return across.begin(shape, train, seed)
    if isinstance(shape, Shape):
        tokenizer = build_tokenizer(train, shape.whole_words)
        return build_model(tokenizer, train.labels, shape, seed), tokenizer
    folder = resolve("models", f"world/{shape.base}")()
    model = BertForSequenceClassification.from_pretrained(folder)
    start_turned_round(model, train.labels, shape.known_as)
    return model, PreTrainedTokenizerFast.from_pretrained(folder)


def training_data(task: str, shape: Start) -> Dataset:
    """The training split as drawn by several seeds, one after the other; held-out splits share nothing with any."""
    if isinstance(shape, Across):
        return across.training_data(shape)
    load = resolve("datasets", f"world/{task}")
    drawn = [load("train", seed=seed) for seed in range(shape.seeds)]
    instances = tuple(instance for data in drawn for instance in data.instances)
    return Dataset(drawn[0].name, instances, drawn[0].labels, drawn[0].provenance)


def make(task: str, out: Path) -> dict[str, float]:
    """Train the model of a task by its recipe, write it with its tokenizer and model card, and measure it."""
    shape, recipe = RECIPES[task]
    train = training_data(task, shape)
    load = resolve("datasets", train.name)
    model, tokenizer = begin(train, shape, recipe.seed)
    started = time.monotonic()
    trained, _ = fit(model, tokenizer, train, load("validation"), recipe)
    minutes = (time.monotonic() - started) / 60
    figures = {"accuracy on the validation split": max(trained.curves["none"])}
    figures |= accuracies(model, tokenizer, load("test"))
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    (out / "README.md").write_text(_card(task, train, figures), encoding="utf-8")
    return figures | {"training minutes": minutes}


def accuracies(model: Any, tokenizer: Any, test: Dataset) -> dict[str, float]:
    """The accuracy on a test split, and on that of each language if there are several."""
    found = {"accuracy on the test split": accuracy(model, tokenizer, test)}
    langs = dict.fromkeys(instance.lang for instance in test.instances)
    for lang in langs if len(langs) > 1 else ():
        own = tuple(instance for instance in test.instances if instance.lang == lang)
        found[f"accuracy on the test split, {lang}"] = accuracy(model, tokenizer, replace(test, instances=own))
    return found


def _card(task: str, train: Dataset, figures: dict[str, float]) -> str:
    shape, recipe = RECIPES[task]
    start, sizes = "scratch", {}
    if not isinstance(shape, Shape):
        base = asdict(RECIPES[shape.base][0])
        start, sizes = f"`world/{shape.base}`", {name: base[name] for name in _SIZES}
    parameters = [f"| {name} | {value} |" for name, value in (sizes | asdict(shape) | asdict(recipe)).items()]
    lines = [
        f"# world-{task}",
        "",
        f"A small BERT for verax's built-in corpus `{train.name}`: {', '.join(train.labels)}.",
        "It knows the words of that corpus and nothing else; it is there to try explanations on.",
        "",
        f"Made from {start} by `python -m verax.train.world {task} --out DIR`, on {len(train)} training instances.",
        *(f"{name[0].upper()}{name[1:]}: {value:.4f}." for name, value in figures.items()),
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
