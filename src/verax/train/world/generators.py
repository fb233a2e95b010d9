"""Recipes of the shipped text generators: self-explaining models and an editor, as small BARTs."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from verax.models.checkpoint import load_checkpoint
from verax.models.editor_wording import FACTS as EDITOR_FACTS
from verax.models.editor_wording import editor_facts
from verax.models.generator import GeneratePass, LikelihoodPass, Prompt, TextGenerator
from verax.models.load import load_generator
from verax.models.self_explainer import FACTS, PROMPTS, SelfExplainer, TrainedMethodName, load_self_explainer
from verax.models.wording import Stage, Wording, shipped_wording
from verax.registry import resolve
from verax.store.artifact import write_json
from verax.train.loop import FineTuning
from verax.train.resume import save_checkpoint
from verax.train.text_pairs import GENERATORS_OF, TrainingPair, editor_pairs, nle_pairs
from verax.train.text_training import fit_pairs
from verax.train.world.card import write_card
from verax.train.world.start import BartShape, build_bart
from verax.train.world.tokenizers import build_text_tokenizer
from verax.types import Dataset, Instance, Undefined

DATA = "world/nli"
_PHRASINGS = {"The": 0, "We": 1, "It": 2, "In": 3, "Right": 1}
"""Which explanation of an input is learned, by the first word of its hypothesis."""
_BATCH = 50


@dataclass(frozen=True, slots=True)
class Generator:
    """One checkpoint of a recipe.

    Args:
        start: its shape, or the shipped checkpoint that it starts from: a model and a folder in it.
    """

    start: BartShape | tuple[str, str]
    seeds: int
    tuning: FineTuning


@dataclass(frozen=True, slots=True)
class GeneratorRecipe:
    """A shipped model: its generators by folder, and the setting in which it explains itself; None for an editor."""

    setup: TrainedMethodName | None
    generators: Mapping[str, Generator]


RECIPES: dict[str, GeneratorRecipe] = {
    "nli-st-re": GeneratorRecipe(
        "st_re",
        {
            "explainer": Generator(
                BartShape(hidden=96, encoder_layers=3, decoder_layers=1, heads=4, feed_forward=192),
                seeds=5,
                tuning=FineTuning(epochs=2, batch_size=64, learning_rate=1e-3, warmup=0.02),
            ),
            "predictor": Generator(
                BartShape(hidden=48, encoder_layers=1, decoder_layers=1, heads=4, feed_forward=96),
                seeds=1,
                tuning=FineTuning(epochs=1, batch_size=32, learning_rate=2e-3, warmup=0.05),
            ),
        },
    ),
    "nli-mt-ra": GeneratorRecipe(
        "mt_ra",
        {
            ".": Generator(
                ("world/nli-st-re", "explainer"),
                seeds=1,
                tuning=FineTuning(epochs=1, batch_size=64, learning_rate=1e-3, warmup=0.05),
            )
        },
    ),
    "nli-editor": GeneratorRecipe(
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


def make(name: str, out: Path) -> dict[str, float]:
    """Train the generators of a recipe, write them with their model card, and evaluate what was written."""
    recipe = RECIPES[name]
    started = time.monotonic()
    if recipe.setup is None:
        figures, purpose = _make_editor(recipe, out), "inserts words that fit a class into an input"
    else:
        figures = _make_self_explainer(recipe, recipe.setup, out)
        purpose = f"answers and explains its answers ({recipe.setup})"
    minutes = (time.monotonic() - started) / 60
    tables, origin = {}, "scratch"
    for folder, generator in recipe.generators.items():
        start = generator.start
        if isinstance(start, BartShape):
            shape = asdict(start)
        else:
            origin, shape = f"`{start[0]}`", {"start": f"`{start[0]}`, {start[1]}"}
        tables[folder] = {**shape, "seeds": generator.seeds, **asdict(generator.tuning)}
    about = f"A small BART for verax's built-in corpus `{DATA}` that {purpose}."
    write_card(out, name, about, "trying out tests of free-text explanations", origin, figures, tables)
    return {**figures, "minutes": minutes}


def build(generator: Generator, texts: Iterable[str]) -> tuple[Any, Any]:
    """A generator before its training, and its tokenizer: one for the words of the texts if it starts from scratch."""
    if isinstance(generator.start, BartShape):
        tokenizer = build_text_tokenizer(texts)
        return build_bart(tokenizer, generator.start, generator.tuning.seed), tokenizer
    name, folder = generator.start
    return load_checkpoint(resolve("models", name)() / folder, name, "float32", "cpu", "text generator")


def load_draws(split: str, seeds: int = 1) -> list[Dataset]:
    """A split as drawn by each of several seeds."""
    load = resolve("datasets", DATA)
    return [load(split, seed=seed) for seed in range(seeds)]


def keep_one_explanation(data: Dataset) -> Dataset:
    """Keep one explanation of each input, chosen by the first word of the hypothesis.

    Phrasings drawn at random could not be predicted, and greedy decoding would use a single one of them.
    """
    return replace(data, instances=tuple(map(_with_one_explanation, data.instances)))


def _with_one_explanation(instance: Instance) -> Instance:
    human = instance.human
    if human is None:
        raise ValueError(f"instance {instance.id!r} has no explanation")
    chosen = human.explanations[_PHRASINGS[instance.parts[1].words[0]]]
    return replace(instance, human=replace(human, explanations=(chosen,)))


def _make_self_explainer(recipe: GeneratorRecipe, setup: TrainedMethodName, out: Path) -> dict[str, float]:
    """Train and write the generators of a self-explaining model with its prompts and facts, and evaluate it."""
    roles = GENERATORS_OF[setup]
    (validation,) = load_draws("validation")
    labels, parts = validation.labels, len(validation.instances[0].parts)
    wording = shipped_wording("trained", labels, parts)
    for folder, generator in recipe.generators.items():
        drawn = [keep_one_explanation(data) for data in load_draws("train", generator.seeds)]
        train, held_out = (
            [pair for data in draws for pair in nle_pairs(roles.stages[folder], data, labels, wording)]
            for draws in (drawn, [keep_one_explanation(validation)])
        )
        model, tokenizer = build(generator, (text for data in drawn for text in _texts(data, wording)))
        fit_pairs(model, tokenizer, train, held_out, generator.tuning)
        save_checkpoint(model, tokenizer, out / folder)
    facts = {"setup": setup, "labels": labels, "explainer": roles.explainer, "predictor": roles.predictor, "data": DATA}
    (out / PROMPTS).write_text(wording.text, encoding="utf-8")
    write_json(out / FACTS, facts)
    return evaluate_self_explainer(load_self_explainer(out, labels=labels, parts=parts), *load_draws("test"))


def _texts(data: Dataset, wording: Wording) -> Iterable[str]:
    """All sources and targets of all stages, so that the generators of a dataset share one vocabulary."""
    for pair in nle_pairs(get_args(Stage), data, data.labels, wording):
        yield from pair


def _make_editor(recipe: GeneratorRecipe, out: Path) -> dict[str, float]:
    """Train and write an editor with its facts, and evaluate it."""
    (generator,) = recipe.generators.values()
    drawn = load_draws("train", generator.seeds)
    raws = (part.raw for data in drawn for instance in data.instances for part in instance.parts)
    model, tokenizer = build(generator, raws)
    facts = editor_facts(drawn[0].labels, len(drawn[0].instances[0].parts), tokenizer)

    def pairs(draws: Iterable[Dataset]) -> list[TrainingPair]:
        labelled = ((data, {instance.id: str(instance.label) for instance in data.instances}) for data in draws)
        return [pair for data, labels in labelled for pair in editor_pairs(facts, data, labels)]

    fit_pairs(model, tokenizer, pairs(drawn), pairs(load_draws("validation")), generator.tuning)
    save_checkpoint(model, tokenizer, out)
    write_json(out / EDITOR_FACTS, {**asdict(facts), "data": DATA})
    return evaluate_editor(load_generator(out), pairs(load_draws("test")))


def evaluate_self_explainer(model: SelfExplainer, data: Dataset) -> dict[str, float]:
    """Accuracy, and the share of explanations that are identical to one of the given ones."""
    none: list[Mapping[str, str]] = [{}] * len(data)

    def prompts(stage: Stage, given: Sequence[Mapping[str, str]]) -> list[Prompt]:
        return [
            model.wording.prompt(stage, instance, model.labels, plain=model.plain, **known)
            for instance, known in zip(data.instances, given, strict=True)
        ]

    if model.setup == "st_re":
        explanations = _generate(model.explainer, prompts("explain", none))
        labels = _classify(model, prompts("answer_explanation", [{"explanation": text} for text in explanations]))
    else:
        labels = _classify(model, prompts("answer", none))
        explanations = _generate(model.explainer, prompts("explain_label", [{"label": label} for label in labels]))
    right = [label == instance.label for label, instance in zip(labels, data.instances, strict=True)]
    identical = [
        instance.human is not None and text in instance.human.explanations
        for text, instance in zip(explanations, data.instances, strict=True)
    ]
    return {
        "accuracy on the test split": float(np.mean(right)),
        "explanations identical to a given one": float(np.mean(identical)),
    }


def evaluate_editor(model: TextGenerator, pairs: Sequence[TrainingPair]) -> dict[str, float]:
    """The share of masks that an editor fills with the original words, given the class."""
    texts = _generate(model, [Prompt(pair.source, plain=True) for pair in pairs])
    identical = [text == pair.target for text, pair in zip(texts, pairs, strict=True)]
    return {"masks filled with the original words": float(np.mean(identical))}


def _classify(model: SelfExplainer, prompts: Sequence[Prompt]) -> list[str]:
    """The most probable class after each prompt; an empty text where there is none."""
    labels: list[str] = []
    for start in range(0, len(prompts), _BATCH):
        batch = [LikelihoodPass(prompt, model.labels) for prompt in prompts[start : start + _BATCH]]
        scores = model.predictor.likelihoods(batch)
        labels += ["" if isinstance(row, Undefined) else model.labels[int(np.argmax(row))] for row in scores]
    return labels


def _generate(model: TextGenerator, prompts: Sequence[Prompt]) -> list[str]:
    """The text after each prompt; a full stop where there is none."""
    texts: list[str] = []
    for start in range(0, len(prompts), _BATCH):
        answers = model.generate([GeneratePass(prompt) for prompt in prompts[start : start + _BATCH]])
        texts += ["." if isinstance(answer, Undefined) else answer.text for answer in answers]
    return texts
