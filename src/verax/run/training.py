"""From the spec of a fine-tuning to checkpoints: one training for each masking and seed, a model for each selection."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from verax.data.files import named_files
from verax.models.base import load_base
from verax.models.checkpoint import quiet
from verax.models.load import checkpoint_folder, fingerprint
from verax.registry import entries
from verax.run.opening import open_data
from verax.run.plan import input_key
from verax.run.spec import DataSpec
from verax.run.train_spec import RecipeSpec, TrainSpec
from verax.run.trained import FACTS, Compared, Variant, compared, folder_of, read_facts, variants
from verax.stats.performance import majority, performance
from verax.store.files import replace_file
from verax.store.keys import key_of
from verax.train.curves import Figures, Story, curves_svg, model_card
from verax.train.fine_tuning import fit
from verax.train.loop import Trained
from verax.train.masking import Masking, Selection, fully_masked
from verax.train.measure import counts_by_row, measured
from verax.train.resume import FOLDER as RESUME
from verax.train.resume import Resume
from verax.train.rows import check_parts, encode, gold_classes
from verax.types import Dataset, FloatArray, Performance, UserError

VERSION = 1
HELD_OUT = 0.2
"""Share of a file that is held out for validation if no other is named."""


@dataclass(frozen=True)
class Opened:
    """The data of a fine-tuning; `left_out` instances have a part without words."""

    train: Dataset
    validation: Dataset
    test: Dataset | None
    left_out: int = 0

    @property
    def size(self) -> int:
        """How many instances there are in all."""
        return len(self.train) + len(self.validation) + (0 if self.test is None else len(self.test))


def open_splits(spec: RecipeSpec, seed: int = 0) -> Opened:
    """Open what a classifier is trained on, what the best epoch is chosen on and what is measured on."""
    found = open_any_splits(spec, seed)
    sets = [one for one in (found.train, found.validation, found.test) if one is not None]
    check_parts([instance for one in sets for instance in one.instances])
    return found


def open_any_splits(spec: RecipeSpec, seed: int = 0) -> Opened:
    """The same for a model that reads inputs of any number of parts."""
    is_file = bool(named_files(spec.data.name))
    train = open_data(_of_split(spec.data, None if is_file else "train"), seed)
    if spec.validation is not None:
        validation = open_data(_of_split(spec.validation, _same(spec.validation, spec.data, "validation")), seed)
    elif is_file:
        train, validation = hold_out(train, HELD_OUT)
    else:
        validation = open_data(_of_split(spec.data.model_copy(update={"limit": None}), "validation", force=True), seed)
    test = None
    if spec.test is not None:
        test = open_data(_of_split(spec.test, _same(spec.test, spec.data, "test")), seed)
    elif spec.data.name in entries("datasets"):
        test = open_data(_of_split(spec.data.model_copy(update={"limit": None}), "test", force=True), seed)
    if len(train.labels) < 2:
        had = (
            f"the only label of {train.name} is {train.labels[0]!r}" if train.labels else f"{train.name} has no labels"
        )
        raise UserError(f"data: {had}; training needs at least two classes")
    return Opened(train, validation, test)


def readable(data: Opened) -> Opened:
    """The instances all of whose parts have words: a run skips the others too."""

    def with_words(one: Dataset) -> Dataset:
        return replace(one, instances=tuple(x for x in one.instances if all(part.words for part in x.parts)))

    test = None if data.test is None else with_words(data.test)
    left = Opened(with_words(data.train), with_words(data.validation), test)
    return replace(left, left_out=data.size - left.size)


def _of_split(spec: DataSpec, split: str | None, *, force: bool = False) -> DataSpec:
    return spec.model_copy(update={"split": split}) if force or spec.split is None else spec


def _same(spec: DataSpec, other: DataSpec, split: str) -> str | None:
    return split if spec.name == other.name else None


def hold_out(data: Dataset, share: float) -> tuple[Dataset, Dataset]:
    """Cut a dataset in two at random, always in the same way: what is left, and the share that is held out.

    Translations of one input stay together, or what is held out would be known in another language.
    """
    n = len(data) - round((1 - share) * len(data))
    together: dict[str, list[int]] = {}
    for i, instance in enumerate(data.instances):
        together.setdefault(f"{i}" if instance.parallel_id is None else f"parallel {instance.parallel_id}", []).append(
            i
        )
    group_of = {i: group for group in together.values() for i in group}
    held: set[int] = set()
    for i in np.random.default_rng(0).permutation(len(data)).tolist():
        if len(held) < n:
            held.update(group_of[i])
    if not 0 < len(held) < len(data):
        raise UserError(f"{data.name}: {len(data)} instances are too few to hold a fifth out; name a --validation")
    rows = [(i in held, instance) for i, instance in enumerate(data.instances)]
    return tuple(replace(data, instances=tuple(one for out, one in rows if out == which)) for which in (False, True))  # type: ignore[return-value]


def train_all(
    spec: TrainSpec, out: Path, *, console: Console, announce: Callable[[Opened, int, int], None] = lambda *_: None
) -> Compared:
    """Train every model of a spec; what is finished already is left as it is, what was interrupted goes on.

    Args:
        out: the folder of the model, or of the models if there are several.
        announce: told the data, how many trainings there are and how many are finished, before anything is trained.
    """
    if out.exists() and not out.is_dir():
        raise UserError(f"--out: {out} is a file; name a folder")
    data = readable(open_splits(spec))
    base = checkpoint_folder(spec.base, None)
    trainings = list(dict.fromkeys((v.masking, v.seed) for v in variants(spec)))
    jobs = [_Training(spec, out, base, data, masking, seed) for masking, seed in trainings]
    announce(data, len(jobs), sum(job.finished() for job in jobs))
    for number, job in enumerate(jobs, 1):
        if job.finished():
            job.resume.remove()  # a kill may have come between the last model and this
            job.measure_again(console)
            continue
        if len(jobs) > 1:
            console.print(f"training {number} of {len(jobs)}: masking {job.masking}, seed {job.seed}", highlight=False)
        job.run(console)
    return compared(spec, out)


class _Training:
    """One training and the models that come of it."""

    def __init__(self, spec: TrainSpec, out: Path, base: Path, data: Opened, masking: Masking, seed: int) -> None:
        self.spec, self.out, self.base, self.data, self.masking, self.seed = spec, out, base, data, masking, seed
        parts = data.train.maskable if spec.parts == "maskable" else None
        self.recipe = spec.recipe(masking=masking, parts=parts, seed=seed)
        self.key = key_of(
            version=VERSION,
            base=fingerprint(base),
            recipe=asdict(self.recipe),
            select=spec.select,
            train=[input_key(instance) for instance in data.train.instances],
            validation=[input_key(instance) for instance in data.validation.instances],
            metric=data.train.metric,
        )
        self.resume = Resume(next(iter(self.folders().values())) / RESUME, self.key)
        self.test_key = None if data.test is None else _test_key(data.test)

    def folders(self) -> dict[Selection, Path]:
        return {s: folder_of(self.out, self.spec, Variant(self.masking, s, self.seed)) for s in self.spec.select}

    def finished(self) -> bool:
        """Whether every model is there; a folder that holds another one is refused, half a model of this one is not."""
        begun = self.resume.is_begun()
        found = [read_facts(folder) for folder in self.folders().values()]
        for folder, facts in zip(self.folders().values(), found, strict=True):
            foreign = facts.get("key") != self.key if facts else (folder / "config.json").exists() and not begun
            if foreign:
                raise UserError(f"{folder} already holds another model; choose another --out")
        return all(found)

    def run(self, console: Console) -> None:
        folders = self.folders()
        labels = self.data.train.labels
        model, tokenizer = load_base(self.base, self.spec.base, labels, seed=self.seed, device=self.spec.device)
        for data in (self.data.train, self.data.validation, self.data.test):
            if data is not None:
                gold_classes(model, data)  # a label that is not known is told before the training, not after
        try:
            self.resume.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"--out: {self.out} can't be written to: {error.strerror}") from error
        trained, weights = fit(
            model,
            tokenizer,
            self.data.train,
            self.data.validation,
            self.recipe,
            select=self.spec.select,
            resume=self.resume,
            console=console,
        )
        for selection, folder in folders.items():
            model.load_state_dict(weights[selection])
            self._write(model, tokenizer, folder, selection, trained)
        self.resume.remove()

    def _write(self, model: Any, tokenizer: Any, folder: Path, selection: Selection, trained: Trained) -> None:
        """A normal checkpoint, its model card and the facts; the facts last, since they say that it is finished."""
        splits = {"validation": self.data.validation} | ({} if self.data.test is None else {"test": self.data.test})
        figures = {name: self._figures(model, tokenizer, data) for name, data in splits.items()}
        parts = self.recipe.parts
        told = {"masking": self.masking, "selected_on": selection, "training_seed": str(self.seed)}
        model.config.verax = told | ({} if parts is None else {"masked_parts": ",".join(map(str, parts))})
        folder.mkdir(parents=True, exist_ok=True)
        with quiet():
            model.save_pretrained(folder)
            tokenizer.save_pretrained(folder)
        replace_file(
            folder / "curves.svg", curves_svg(trained, self.data.train.metric, trained.best[selection]).encode()
        )
        self._tell(folder, selection, trained, list(model.config.id2label.values()), figures)

    def measure_again(self, console: Console) -> None:
        """Measure finished models on the test set, if it is not the one whose figures they have."""
        for selection, folder in self.folders().items():
            facts = read_facts(folder)
            if self.data.test is None or facts.get("test_key") == self.test_key:
                continue
            console.print(f"{folder}: measured on the test set, without training", highlight=False, soft_wrap=True)
            labels = self.data.train.labels
            model, tokenizer = load_base(folder, str(folder), labels, seed=self.seed, device=self.spec.device)
            gold_classes(model, self.data.test)
            figures = {name: Figures(**one) for name, one in facts["figures"].items()}
            figures["test"] = self._figures(model, tokenizer, self.data.test)
            trained = Trained(facts["losses"], facts["curves"], {selection: facts["best_epoch"]})
            self._tell(folder, selection, trained, list(model.config.id2label.values()), figures)

    def _tell(
        self, folder: Path, selection: Selection, trained: Trained, labels: list[str], figures: dict[str, Figures]
    ) -> None:
        """The model card, then the facts, with the key of the test set that the figures are of."""
        splits = {"validation": self.data.validation, "test": self.data.test, "train": self.data.train}
        sizes = {name: len(data) for name, data in splits.items() if data is not None}
        story = Story(
            folder.name,
            self.spec.base,
            self.spec.data.name,
            labels,
            self.data.train.metric,
            sizes,
            self.recipe,
            selection,
            trained,
            figures,
        )
        replace_file(folder / "README.md", model_card(story).encode())
        facts = {
            "key": self.key,
            "base": self.spec.base,
            "data": self.spec.data.name,
            "metric": story.metric,
            "recipe": asdict(self.recipe),
            "select": selection,
            "sizes": sizes,
            "losses": trained.losses,
            "curves": trained.curves,
            "best_epoch": trained.best[selection],
            "test_key": self.test_key,
            "figures": {name: asdict(one) for name, one in figures.items()},
        }
        replace_file(folder / FACTS, json.dumps(facts, indent=1).encode())

    def _figures(self, model: Any, tokenizer: Any, data: Dataset) -> Figures:
        """Performance as it is and with everything masked that is masked when explanations are measured."""
        rows = encode(model, tokenizer, data, parts=data.maskable, longest=self.recipe.longest)
        masked = None
        if tokenizer.mask_token_id is not None:
            masked = measured(model, tokenizer, fully_masked(rows, tokenizer.mask_token_id), data.metric)
        always = majority(rows.golds.numpy(), model.config.num_labels, data.metric)
        counted = counts_by_row(model, tokenizer, rows)
        unmasked = float(performance(counted.sum(0), data.metric))
        return Figures(unmasked, masked, always, _by_language(data, counted, data.metric))


def _test_key(data: Dataset) -> str:
    """Everything of a test set that the figures of a model hang on."""
    return key_of(test=[input_key(instance) for instance in data.instances], metric=data.metric, maskable=data.maskable)


def _by_language(data: Dataset, counted: FloatArray, metric: Performance) -> dict[str, float]:
    """Performance in each language of data that has several; `counted` has shape [instances, 3, classes]."""
    langs = np.array([instance.lang for instance in data.instances])
    several = sorted(set(langs.tolist()))
    if len(several) < 2:
        return {}
    return {lang: float(performance(counted[langs == lang].sum(0), metric)) for lang in several}
