"""The recipes of the shipped text generators: a vocabulary and small BARTs, made from the built-in corpus alone.

python -m verax.train.world_text nli-st-re --out DIR
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, get_args

import torch
from rich.console import Console

from verax.models.checkpoint import load_checkpoint, quiet
from verax.models.editor_wording import FACTS as EDITOR_FACTS
from verax.models.editor_wording import editor_facts
from verax.models.load import load_generator
from verax.models.self_explainer import FACTS, PROMPTS, TrainedMethodName, load_self_explainer
from verax.models.wording import Stage, Wording, shipped_wording
from verax.registry import resolve
from verax.train.editor import editor_pairs
from verax.train.loop import FineTuning
from verax.train.nle import TEACHINGS, nle_pairs
from verax.train.small_bart import Shape, build_generator
from verax.train.text_pairs import Pair, fit_pairs
from verax.train.word_pieces import build_text_tokenizer
from verax.train.world_text_figures import editing, explaining
from verax.types import Dataset, Instance

DATA = "world/nli"
_MANNERS = {"The": 0, "We": 1, "It": 2, "In": 3, "Right": 1}
"""By the first word of a hypothesis, which of its explanations is learned."""


@dataclass(frozen=True, slots=True)
class Generator:
    """One checkpoint of a recipe.

    Args:
        start: its shape, or the shipped checkpoint that it goes on from: a model and a folder in it.
        seeds: how many draws of the training split it sees.
        tuning: how it is trained.
    """

    start: Shape | tuple[str, str]
    seeds: int
    tuning: FineTuning


@dataclass(frozen=True, slots=True)
class Recipe:
    """A shipped model: its generators by folder, and the set-up that it explains itself in; None for an editor."""

    setup: TrainedMethodName | None
    generators: Mapping[str, Generator]


RECIPES: dict[str, Recipe] = {
    "nli-st-re": Recipe(
        "st_re",
        {
            "explainer": Generator(
                Shape(hidden=96, encoder_layers=3, decoder_layers=1, heads=4, feed_forward=192),
                seeds=5,
                tuning=FineTuning(epochs=2, batch_size=64, learning_rate=1e-3, warmup=0.02),
            ),
            "predictor": Generator(
                Shape(hidden=48, encoder_layers=1, decoder_layers=1, heads=4, feed_forward=96),
                seeds=1,
                tuning=FineTuning(epochs=1, batch_size=32, learning_rate=2e-3, warmup=0.05),
            ),
        },
    ),
    "nli-mt-ra": Recipe(
        "mt_ra",
        {
            ".": Generator(
                ("world/nli-st-re", "explainer"),
                seeds=1,
                tuning=FineTuning(epochs=1, batch_size=64, learning_rate=1e-3, warmup=0.05),
            )
        },
    ),
    "nli-editor": Recipe(
        None,
        {
            ".": Generator(
                ("world/nli-mt-ra", "."),
                seeds=6,
                tuning=FineTuning(epochs=1, batch_size=64, learning_rate=1e-3, warmup=0.05),
            )
        },
    ),
}


def begin(generator: Generator, texts: Iterable[str]) -> tuple[Any, Any]:
    """A generator before its training, and its tokenizer: one for the words of the texts, if it begins from scratch."""
    if isinstance(generator.start, Shape):
        tokenizer = build_text_tokenizer(texts)
        return build_generator(tokenizer, generator.start, generator.tuning.seed), tokenizer
    name, folder = generator.start
    return load_checkpoint(resolve("models", name)() / folder, name, "float32", "cpu", "text generator")


def load_drawn(split: str, seeds: int = 1) -> list[Dataset]:
    """A split as drawn by each of several seeds."""
    load = resolve("datasets", DATA)
    return [load(split, seed=seed) for seed in range(seeds)]


def explained_in_one_manner(data: Dataset) -> Dataset:
    """Keep one explanation of each input, by how the hypothesis begins.

    Drawn at random, phrasings could not be foreseen, and who writes the most probable word at each step would say
    everything in the same manner.
    """
    return replace(data, instances=tuple(map(_explained, data.instances)))


def _explained(instance: Instance) -> Instance:
    human = instance.human
    if human is None:
        raise ValueError(f"instance {instance.id!r} has no explanation")
    chosen = human.explanations[_MANNERS[instance.parts[1].words[0]]]
    return replace(instance, human=replace(human, explanations=(chosen,)))


def make(name: str, out: Path) -> dict[str, float]:
    """Train the generators of a recipe, write what makes a model of them, and measure what was written."""
    recipe = RECIPES[name]
    figures, minutes = _editor(recipe, out) if recipe.setup is None else _self_explaining(recipe, recipe.setup, out)
    (out / "README.md").write_text(_card(name, figures), encoding="utf-8")
    return {**figures, **minutes}


def _self_explaining(
    recipe: Recipe, setup: TrainedMethodName, out: Path
) -> tuple[Mapping[str, float], dict[str, float]]:
    """Its generators, with prompts and facts beside them; figures, and minutes of training."""
    teaching = TEACHINGS[setup]
    (validation,) = load_drawn("validation")
    labels, parts = validation.labels, len(validation.instances[0].parts)
    wording = shipped_wording("trained", labels, parts)
    minutes = {}
    for folder, generator in recipe.generators.items():
        drawn = [explained_in_one_manner(data) for data in load_drawn("train", generator.seeds)]
        known, held_out = (
            [pair for data in some for pair in nle_pairs(teaching.stages[folder], data, labels, wording)]
            for some in (drawn, [explained_in_one_manner(validation)])
        )
        model, tokenizer = begin(generator, (text for data in drawn for text in _texts(data, wording)))
        minutes[f"training minutes, {folder}"] = _fit(model, tokenizer, known, held_out, generator.tuning)
        _save(model, tokenizer, out / folder)
    facts = {"setup": setup, "labels": labels, "explainer": teaching.explainer, "predictor": teaching.predictor}
    (out / PROMPTS).write_text(wording.text, encoding="utf-8")
    _write_json(out / FACTS, {**facts, "data": DATA})
    return explaining(load_self_explainer(out, labels=labels, parts=parts), *load_drawn("test")), minutes


def _texts(data: Dataset, wording: Wording) -> Iterable[str]:
    """All that is read or written at any stage, so that the generators of a data set know the same words."""
    for pair in nle_pairs(get_args(Stage), data, data.labels, wording):
        yield from pair


def _editor(recipe: Recipe, out: Path) -> tuple[Mapping[str, float], dict[str, float]]:
    """The editor, with its facts beside it; figures, and minutes of training."""
    (generator,) = recipe.generators.values()
    drawn = load_drawn("train", generator.seeds)
    model, tokenizer = begin(generator, (part.raw for data in drawn for one in data.instances for part in one.parts))
    facts = editor_facts(drawn[0].labels, len(drawn[0].instances[0].parts), tokenizer)

    def pairs(some: Iterable[Dataset]) -> list[Pair]:
        golds = ((data, {one.id: str(one.label) for one in data.instances}) for data in some)
        return [pair for data, labels in golds for pair in editor_pairs(facts, data, labels)]

    minutes = _fit(model, tokenizer, pairs(drawn), pairs(load_drawn("validation")), generator.tuning)
    _save(model, tokenizer, out)
    _write_json(out / EDITOR_FACTS, {**asdict(facts), "data": DATA})
    return editing(load_generator(out), pairs(load_drawn("test"))), {"training minutes": minutes}


def _fit(model: Any, tokenizer: Any, train: Sequence[Pair], validation: Sequence[Pair], tuning: FineTuning) -> float:
    """Train a generator in place; the minutes it took."""
    started = time.monotonic()
    fit_pairs(model, tokenizer, train, validation, tuning)
    return (time.monotonic() - started) / 60


def _save(model: Any, tokenizer: Any, folder: Path) -> None:
    with quiet():
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def _write_json(path: Path, facts: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def _card(name: str, figures: Mapping[str, float]) -> str:
    recipe = RECIPES[name]
    does = (
        "puts words that fit a class into an input"
        if recipe.setup is None
        else f"answers and says why ({recipe.setup})"
    )
    lines = [
        f"# world-{name}",
        "",
        f"A small BART for verax's built-in corpus `{DATA}` that {does}.",
        "It knows the words of that corpus and nothing else; it is there to try tests of free-text explanations on.",
        "",
        f"Made by `python -m verax.train.world_text {name} --out DIR`. On the test split:",
        "",
        *(f"- {what}: {value:.4f}" for what, value in figures.items()),
        "",
        f"Trained with torch {torch.__version__.partition('+')[0]} on {torch.get_num_threads()} threads.",
        "",
    ]
    for folder, generator in recipe.generators.items():
        start = generator.start
        begun = asdict(start) if isinstance(start, Shape) else {"start": f"`{start[0]}`, {start[1]}"}
        table = {**begun, "seeds": generator.seeds, **asdict(generator.tuning)}
        lines += [f"| {folder} | |", "| --- | --- |", *(f"| {what} | {value} |" for what, value in table.items()), ""]
    return "\n".join([*lines, "Licence: Apache-2.0."]) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line of the recipes."""
    parser = argparse.ArgumentParser(prog="python -m verax.train.world_text", description="Make a shipped model again.")
    parser.add_argument("recipe", choices=sorted(RECIPES))
    parser.add_argument("--out", type=Path, required=True, help="folder that the model is written to")
    chosen = parser.parse_args(arguments)
    for name, value in make(chosen.recipe, chosen.out).items():
        Console().print(f"{name}: {value:.4f}")


if __name__ == "__main__":
    main()
