"""Fine-tuning of classifiers: one training for each masking and seed, a checkpoint for each selection."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from verax.jobs.training.comparison import FACTS, Comparison, Variant, compare, folder_of, variants
from verax.jobs.training.spec import TrainSpec
from verax.jobs.training.splits import Splits, input_keys, open_splits
from verax.models.base import load_base
from verax.models.checkpoint import quiet
from verax.models.load import checkpoint_folder, fingerprint
from verax.stats.performance import majority, performance
from verax.store.artifact import Artifact, Record, read_json, write_json
from verax.store.files import replace_file
from verax.store.keys import key_of
from verax.train.curves import Figures, Story, curves_svg, model_card
from verax.train.fine_tuning import fit
from verax.train.loop import Trained
from verax.train.masking import Masking, Selection, fully_masked
from verax.train.measure import counts_by_row, measured
from verax.train.resume import FOLDER as RESUME
from verax.train.resume import Resume
from verax.train.rows import encode, gold_classes
from verax.types import Dataset, FloatArray, Performance

VERSION = 1
KIND = "checkpoint"


def train_classifiers(
    spec: TrainSpec, out: Path, *, console: Console, announce: Callable[[Splits, int, int], None] = lambda *_: None
) -> Comparison:
    """Train every model of a spec; finished models are left as they are, interrupted trainings continue.

    Args:
        out: the folder of the model, or of the models if there are several.
        announce: called with the data, the number of trainings and how many of them are finished, before training.
    """
    data = open_splits(spec).readable()
    base = checkpoint_folder(spec.base, None)
    pairs = dict.fromkeys((variant.masking, variant.seed) for variant in variants(spec))
    trainings = [Training(spec, out, base, data, masking, seed) for masking, seed in pairs]
    finished = [training.is_finished() for training in trainings]
    announce(data, len(trainings), sum(finished))
    for number, (training, done) in enumerate(zip(trainings, finished, strict=True), 1):
        if done:
            training.update(console)
            continue
        if len(trainings) > 1:
            title = f"training {number} of {len(trainings)}: masking {training.masking}, seed {training.seed}"
            console.print(title, highlight=False)
        training.run(console)
    return compare(spec, out)


class Training:
    """One training and the checkpoints that come of it."""

    def __init__(self, spec: TrainSpec, out: Path, base: Path, data: Splits, masking: Masking, seed: int) -> None:
        self.spec, self.base, self.data, self.masking, self.seed = spec, base, data, masking, seed
        parts = data.train.maskable if spec.parts == "maskable" else None
        self.recipe = spec.recipe(masking=masking, parts=parts, seed=seed)
        hashes, train, validation = fingerprint(base), input_keys(data.train), input_keys(data.validation)
        settings = {"version": VERSION, "metric": data.train.metric}
        self.key = key_of(
            **settings, base=hashes, recipe=asdict(self.recipe), select=spec.select, train=train, validation=validation
        )
        named = {
            **settings,
            **asdict(self.recipe),
            "select": spec.select,
            "base": key_of(base=hashes),
            "data": key_of(inputs=train),
            "validation": key_of(inputs=validation),
        }
        self.artifacts = {
            selection: Artifact(
                folder_of(out, spec, Variant(masking, selection, seed)),
                KIND,
                self.key,
                {**named, "selected_on": selection},
                _older_record,
            )
            for selection in spec.select
        }
        self.resume = Resume(next(iter(self.artifacts.values())).folder / RESUME, self.key)
        self.test_key = None
        if data.test is not None:
            self.test_key = key_of(test=input_keys(data.test), metric=data.test.metric, maskable=data.test.maskable)

    def is_finished(self) -> bool:
        """Whether every checkpoint is complete; each folder is checked before anything is trained."""
        finished = [artifact.is_finished() for artifact in self.artifacts.values()]
        return all(finished)

    def run(self, console: Console) -> None:
        """Train, and write the checkpoints."""
        spec, labels = self.spec, self.data.train.labels
        model, tokenizer = load_base(self.base, spec.base, labels, seed=self.seed, device=spec.device)
        for data in self.data.datasets.values():
            gold_classes(model, data)  # an unknown label is reported before the training, not after it
        with ExitStack() as claims:
            for artifact in self.artifacts.values():
                claims.enter_context(artifact.claim())
            trained, weights = fit(
                model,
                tokenizer,
                self.data.train,
                self.data.validation,
                self.recipe,
                select=spec.select,
                resume=self.resume,
                console=console,
            )
            for selection, artifact in self.artifacts.items():
                model.load_state_dict(weights[selection])
                self._write(model, tokenizer, artifact, selection, trained)
            self.resume.remove()

    def update(self, console: Console) -> None:
        """Remove what a process killed at its end left, and evaluate finished models on another test set."""
        for selection, artifact in self.artifacts.items():
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
                figures = {name: Figures(**figures) for name, figures in facts["figures"].items()}
                figures["test"] = self._figures(model, tokenizer, test)
                trained = Trained(facts["losses"], facts["curves"], {selection: facts["best_epoch"]})
                self._describe(artifact, selection, trained, list(model.config.id2label.values()), figures)

    def _write(self, model: Any, tokenizer: Any, artifact: Artifact, selection: Selection, trained: Trained) -> None:
        """A normal checkpoint with its curves, its model card and its facts."""
        figures = {name: self._figures(model, tokenizer, data) for name, data in self.data.evaluated.items()}
        parts = self.recipe.parts
        about = {"masking": self.masking, "selected_on": selection, "training_seed": str(self.seed)}
        model.config.verax = about | ({} if parts is None else {"masked_parts": ",".join(map(str, parts))})
        folder = artifact.folder
        with quiet():
            model.save_pretrained(folder)
            tokenizer.save_pretrained(folder)
        picture = curves_svg(trained, self.data.train.metric, trained.best[selection])
        replace_file(folder / "curves.svg", picture.encode())
        self._describe(artifact, selection, trained, list(model.config.id2label.values()), figures)

    def _describe(
        self, artifact: Artifact, selection: Selection, trained: Trained, labels: list[str], figures: dict[str, Figures]
    ) -> None:
        """The model card, then the facts, with the key of the test set that was measured; then it is finished."""
        spec, folder = self.spec, artifact.folder
        splits = {"validation": self.data.validation, "test": self.data.test, "train": self.data.train}
        sizes = {name: len(data) for name, data in splits.items() if data is not None}
        metric = self.data.train.metric
        story = Story(
            folder.name, spec.base, spec.data.name, labels, metric, sizes, self.recipe, selection, trained, figures
        )
        replace_file(folder / "README.md", model_card(story).encode())
        facts = {
            "key": self.key,
            "base": spec.base,
            "data": spec.data.name,
            "metric": metric,
            "recipe": asdict(self.recipe),
            "select": selection,
            "sizes": sizes,
            "losses": trained.losses,
            "curves": trained.curves,
            "best_epoch": trained.best[selection],
            "test_key": self.test_key,
            "figures": {name: asdict(one) for name, one in figures.items()},
        }
        write_json(folder / FACTS, facts, allow_nan=True)  # the losses of a training that diverged
        artifact.finish(FACTS, "config.json", *(path.name for path in folder.glob("*.safetensors")))

    def _figures(self, model: Any, tokenizer: Any, data: Dataset) -> Figures:
        """Performance on the data as it is, and with everything masked that is masked to measure explanations."""
        rows = encode(model, tokenizer, data, parts=data.maskable, longest=self.recipe.longest)
        masked = None
        if tokenizer.mask_token_id is not None:
            masked = measured(model, tokenizer, fully_masked(rows, tokenizer.mask_token_id), data.metric)
        always = majority(rows.golds.numpy(), model.config.num_labels, data.metric)
        counts = counts_by_row(model, tokenizer, rows)
        unmasked = float(performance(counts.sum(0), data.metric))
        return Figures(unmasked, masked, always, _by_language(data, counts, data.metric))


def _by_language(data: Dataset, counts: FloatArray, metric: Performance) -> dict[str, float]:
    """Performance in each language of data in several; `counts` has shape [instances, 3, classes]."""
    langs = np.array([instance.lang for instance in data.instances])
    several = sorted(set(langs.tolist()))
    if len(several) < 2:
        return {}
    return {lang: float(performance(counts[langs == lang].sum(0), metric)) for lang in several}


def _older_record(folder: Path) -> Record | None:
    """The record of a checkpoint that was finished before there was `artifact.json`."""
    facts = read_json(folder / FACTS)
    if facts is None:
        return None
    recipe = {**facts.get("recipe", {}), "selected_on": facts.get("select")}
    return Record(KIND, str(facts.get("key")), recipe, finished=True)
