"""Fine-tuning of classifiers: one training for each masking and seed, a checkpoint for each selection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from verax.jobs.training.card import classifier_card, curves_svg
from verax.jobs.training.comparison import (
    Comparison,
    ModelVariant,
    SplitFigures,
    compare_models,
    variant_folder,
    variants,
)
from verax.jobs.training.folder import FACTS, checkpoint_files, finish_model, older_record
from verax.jobs.training.planting import FILE as PLANTED
from verax.jobs.training.planting import Plant, measure_plant
from verax.jobs.training.spec import TrainSpec
from verax.jobs.training.splits import Splits, input_keys, open_splits
from verax.models.checkpoint import load_base, load_tokenizer
from verax.models.load import checkpoint_folder, fingerprint
from verax.run.executors.tasks import finish_tasks
from verax.run.placement import check_workers, device_of_worker
from verax.stats.performance import constant, most_frequent, performance
from verax.store.artifact import Artifact, read_json
from verax.store.files import replace_file
from verax.store.keys import key_of
from verax.train.fine_tuning import counts_by_row, fit, performance_on
from verax.train.loop import Trained
from verax.train.resume import FOLDER as RESUME
from verax.train.resume import Resume, save_checkpoint
from verax.train.rows import Masking, Selection, encode, fully_masked, gold_classes
from verax.types import Dataset

VERSION = 1
KIND = "checkpoint"


def train_classifiers(
    spec: TrainSpec, out: Path, *, console: Console, announce: Callable[[Splits, int, int], None] = lambda *_: None
) -> Comparison:
    """Train every model of a spec; finished models are left as they are, interrupted trainings continue.

    Args:
        announce: called with the data, the number of trainings and how many of them are finished, before training.
    """
    placement = spec.placement
    if placement.executor == "processes":
        check_workers(placement.workers or 1, spec.device)
    base = checkpoint_folder(spec.base, None)
    data = open_splits(spec).readable()
    if spec.on_long == "error":
        tokenizer, longest = load_tokenizer(base, spec.base)
        data = data.fitting(tokenizer, min(longest, spec.longest or longest))
    plain = data.test or data.validation
    if spec.plant is not None:
        data = Plant.parse(spec.plant, spec.plant_share).into(data)
    pairs = dict.fromkeys((variant.masking, variant.seed) for variant in variants(spec))
    trainings = [ClassifierTraining(spec, out, base, data, masking, seed, plain) for masking, seed in pairs]
    finished = [training.is_finished() for training in trainings]
    announce(data, len(trainings), sum(finished))
    if placement.executor != "inline":
        _train_in_workers([one for one, done in zip(trainings, finished, strict=True) if not done], spec, console)
        finished = [True] * len(trainings)
    for number, (training, done) in enumerate(zip(trainings, finished, strict=True), 1):
        if done:
            training.update(console)
            continue
        if len(trainings) > 1:
            title = f"training {number} of {len(trainings)}: masking {training.masking}, seed {training.seed}"
            console.print(title, highlight=False)
        training.run(console)
    return compare_models(spec, out)


def _train_in_workers(trainings: Sequence[ClassifierTraining], spec: TrainSpec, console: Console) -> None:
    """Run trainings at the same time; a failed one is reported when the others have finished."""
    tasks = {f"masking {one.masking}, seed {one.seed}": partial(_train_one, *one.arguments) for one in trainings}
    finish_tasks(tasks, spec.placement, "training", console)


def _train_one(spec: TrainSpec, *arguments: Any) -> None:
    """One training in a process of its own; the last argument is the number of the worker."""
    *rest, worker = arguments
    placed = spec.model_copy(update={"device": device_of_worker(spec.device, worker)})
    ClassifierTraining(placed, *rest).run(Console(quiet=True))


class ClassifierTraining:
    """One training and the checkpoints that come of it.

    Args:
        plain: inputs without a planted word, which a plant is tested on; those of the test by default.
    """

    def __init__(
        self,
        spec: TrainSpec,
        out: Path,
        base: Path,
        data: Splits,
        masking: Masking,
        seed: int,
        plain: Dataset | None = None,
    ) -> None:
        self.arguments = (spec, out, base, data, masking, seed, plain)
        self.spec, self.base, self.data, self.masking, self.seed = spec, base, data, masking, seed
        self.plant = None if spec.plant is None else Plant.parse(spec.plant, spec.plant_share)
        self.plain = plain or data.test
        parts = data.train.maskable if spec.parts == "maskable" else None
        self.recipe = spec.recipe(masking=masking, parts=parts, seed=seed)
        hashes, train, validation = fingerprint(base), input_keys(data.train), input_keys(data.validation)
        settings = {"version": VERSION, "metric": data.train.metric}
        self.key = key_of(
            **settings,
            base=hashes,
            recipe=self.recipe.as_dict(),
            select=spec.select,
            train=train,
            validation=validation,
        )
        named = {
            **settings,
            **self.recipe.as_dict(),
            "select": spec.select,
            "base": key_of(base=hashes),
            "data": key_of(inputs=train),
            "validation": key_of(inputs=validation),
        }
        self.artifacts = {
            selection: Artifact(
                variant_folder(out, spec, ModelVariant(masking, selection, seed)),
                KIND,
                self.key,
                {**named, "selected_on": selection},
                older_record(KIND, FACTS, {"select": "selected_on"}),
            )
            for selection in spec.select
        }
        self.resume = Resume(next(iter(self.artifacts.values())).folder / RESUME, self.key, spec.save_every)
        self.test_key = None
        if data.test is not None:
            self.test_key = key_of(test=input_keys(data.test), metric=data.test.metric, maskable=data.test.maskable)

    def is_finished(self) -> bool:
        """Whether every checkpoint is complete; each folder is checked before anything is trained."""
        finished = [artifact.is_finished() for artifact in self.artifacts.values()]
        return all(finished)

    def run(self, console: Console) -> None:
        """Train, and write the checkpoints."""
        spec, data = self.spec, self.data
        model, tokenizer = load_base(self.base, spec.base, data.train.labels, seed=self.seed, device=spec.device)
        if self.plant is not None:
            self.plant.check_known(tokenizer)
        for dataset in data.datasets.values():
            gold_classes(model, dataset)  # an unknown label is reported before the training, not after it
        options: dict[str, Any] = {"select": spec.select, "resume": self.resume, "console": console}
        options["micro_batch"] = spec.micro_batch
        with ExitStack() as claims:
            for artifact in self.artifacts.values():
                claims.enter_context(artifact.claim())
            trained, weights = fit(model, tokenizer, data.train, data.validation, self.recipe, **options)
            for selection, artifact in self.artifacts.items():
                model.load_state_dict(weights[selection])
                self._write(model, tokenizer, artifact, selection, trained)
            self.resume.remove()

    def update(self, console: Console) -> None:
        """Remove what an interrupted process left behind, and evaluate finished models on a new test set."""
        for artifact in self.artifacts.values():
            folder, facts = artifact.folder, read_json(artifact.folder / FACTS) or {}
            test = None if facts.get("test_key") == self.test_key else self.data.test
            if test is None and not artifact.has_leftovers(RESUME):
                continue
            with artifact.claim():
                Resume(folder / RESUME, self.key).remove()
                if test is None:
                    continue
                console.print(f"{folder}: measured on the test set, without training", highlight=False, soft_wrap=True)
                labels = self.data.train.labels
                model, tokenizer = load_base(folder, str(folder), labels, seed=self.seed, device=self.spec.device)
                gold_classes(model, test)
                figures = {**facts["figures"], "test": asdict(self._evaluate(model, tokenizer, test))}
                self._finish(artifact, model, facts, figures)

    def _write(self, model: Any, tokenizer: Any, artifact: Artifact, selection: Selection, trained: Trained) -> None:
        """Write a checkpoint with its curves, its model card and its facts."""
        evaluated = self.data.evaluated.items()
        figures = {name: asdict(self._evaluate(model, tokenizer, data)) for name, data in evaluated}
        parts = self.recipe.parts
        about = {
            "masking": self.masking,
            "selected_on": selection,
            "training_seed": str(self.seed),
            "training_majority": model.config.id2label[self._majority(model)],
            "trained_on_long": self.spec.on_long,
        }
        about |= {} if parts is None else {"masked_parts": ",".join(map(str, parts))}
        model.config.verax = about | ({} if self.plant is None else {"planted": str(self.plant)})
        save_checkpoint(model, tokenizer, artifact.folder)
        metric, best = self.data.train.metric, trained.best[selection]
        replace_file(artifact.folder / "curves.svg", curves_svg(trained.curves, metric, best).encode())
        facts = {
            "key": self.key,
            "base": self.spec.base,
            "data": self.spec.data.name,
            "metric": metric,
            "recipe": self.recipe.as_dict(),
            "on_long": self.spec.on_long,
            "left_out": dict(self.data.left_out),
            "select": selection,
            "losses": trained.losses,
            "curves": trained.curves,
            "best_epoch": best,
        }
        if self.plant is not None and self.plain is not None:
            longest = self.recipe.longest
            facts["planted"] = measure_plant(self.plant, model, tokenizer, self.plain, longest, artifact.folder)
        self._finish(artifact, model, facts, figures)

    def _finish(self, artifact: Artifact, model: Any, facts: dict[str, Any], figures: dict[str, Any]) -> None:
        """Write the model card and the facts, with the key of the test set."""
        splits = {"validation": self.data.validation, "test": self.data.test, "train": self.data.train}
        sizes = {name: len(data) for name, data in splits.items() if data is not None}
        facts = {**facts, "sizes": sizes, "test_key": self.test_key, "figures": figures}
        card = classifier_card(artifact.folder.name, list(model.config.id2label.values()), facts)
        files = [*checkpoint_files(artifact.folder), *artifact.folder.glob(PLANTED)]
        finish_model(artifact, FACTS, facts, card, *files)

    def _majority(self, model: Any) -> int:
        """The most frequent class of the training data, which a model that sees nothing should predict."""
        return most_frequent(gold_classes(model, self.data.train).numpy())

    def _evaluate(self, model: Any, tokenizer: Any, data: Dataset) -> SplitFigures:
        """Performance on the data as it is, with its maskable parts masked, and in each language."""
        rows, metric = encode(model, tokenizer, data, parts=data.maskable, longest=self.recipe.longest), data.metric
        masked = None
        if tokenizer.mask_token_id is not None:
            masked = performance_on(model, tokenizer, fully_masked(rows, tokenizer.mask_token_id), metric)
        counts = counts_by_row(model, tokenizer, rows)
        lang = np.array([instance.lang for instance in data.instances])
        several = sorted(set(lang.tolist())) if len(set(lang.tolist())) > 1 else ()
        return SplitFigures(
            unmasked=float(performance(counts.sum(0), metric)),
            fully_masked=masked,
            majority=constant(rows.golds.numpy(), self._majority(model), metric),
            languages={name: float(performance(counts[lang == name].sum(0), metric)) for name in several},
        )
