"""Recursive ROAR: mask the words that a measure ranks first, train a new model on what is left, and evaluate it.

Madsen, Meade, Adlakha and Reddy 2022, Evaluating the Faithfulness of Importance Measures in NLP by Recursively Masking
Allegedly Important Tokens and Retraining.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from verax.engine.protocols import Method
from verax.jobs.roar.cost import Workload, cost_lines, measure_pace
from verax.jobs.roar.inputs import Masks, RoarSplit, answers, explained, mask_more
from verax.jobs.roar.points import FOLDER, Finished, PointFiles, RoarPoint, all_points, point_of
from verax.jobs.training.spec import RoarSpec
from verax.jobs.training.splits import open_splits
from verax.models.checkpoint import load_base
from verax.models.hf_classifier import HFClassifier
from verax.models.load import checkpoint_folder, fingerprint
from verax.results.roar import RESULT, VERSION, RoarMeasure, RoarResult, load_result, write_result
from verax.run.card import is_signed
from verax.run.checking import check_fit
from verax.run.context import BASELINE
from verax.run.executors.tasks import finish_tasks
from verax.run.parameters import Configured, from_config
from verax.run.placement import check_workers, device_of_worker
from verax.run.plan import input_key
from verax.run.progress import progress_counter
from verax.stats.performance import most_frequent
from verax.store.artifact import Artifact, ArtifactRecord, read_json
from verax.store.keys import key_of
from verax.studies.masking.analysis import MaskedRun, masking_curves
from verax.train.fine_tuning import fit_rows
from verax.types import UserError
from verax.types.score import ScoreSeries

KIND = "ROAR"
_OLD_KEY = "key"
"""File with the key in folders older than `artifact.json`."""


def roar(
    spec: RoarSpec,
    out: Path,
    *,
    console: Console,
    announce: Callable[[Sequence[str]], None] = lambda _: None,
    dry_run: bool = False,
) -> RoarResult | None:
    """Run Recursive ROAR; what is finished is left as it is, what was interrupted continues.

    Args:
        announce: called with the cost, in lines of text, before anything is trained.
        dry_run: stop there, and write nothing.

    Returns:
        Curves and areas; None for a dry run.
    """
    if spec.placement.executor == "processes":
        check_workers(spec.placement.workers or 1, spec.device)
    prepared = Roar(spec, out)
    prepared.print_left_out(console)
    done = prepared.artifact.is_finished()
    left = [] if done else [point for point in prepared.points if not prepared.files.is_finished(point)]
    announce(prepared.cost(left))
    if dry_run:
        return None
    if done:
        return load_result(out)
    with prepared.artifact.claim():
        if spec.placement.executor == "inline":
            for number, point in enumerate(left, len(prepared.points) - len(left) + 1):
                title = f"training {number} of {len(prepared.points)}: {prepared.title(point)}"
                console.print(title, highlight=False, soft_wrap=True)
                prepared.run(point, console)
        else:
            _run_in_workers(prepared, out, left, console)
        result = prepared.result()
        write_result(out, result)
        prepared.artifact.finish(RESULT)
        for point in prepared.points:
            prepared.files.remove_weights(point)
            prepared.files.resume(point).remove()
    return result


def _run_in_workers(prepared: Roar, out: Path, points: Sequence[RoarPoint], console: Console) -> None:
    """Run points at the same time: first those that all measures share, then the steps of each measure in turn."""
    spec, by_measure = prepared.spec, dict[int, list[RoarPoint]]()
    for point in points:
        if point.measure is not None:
            by_measure.setdefault(point.measure, []).append(point)
    shared = {
        prepared.title(point): partial(_run_points, spec, out, [point]) for point in points if point.measure is None
    }
    measures = {
        prepared.methods[measure].label: partial(_run_points, spec, out, steps) for measure, steps in by_measure.items()
    }
    for what, tasks in (("shared steps", shared), ("measures", measures)):
        finish_tasks(tasks, spec.placement, f"ROAR, {what}", console)


def _run_points(spec: RoarSpec, out: Path, points: Sequence[RoarPoint], worker: int) -> None:
    """Run points one after the other in a worker; the folder is claimed by the process that started it."""
    prepared = Roar(spec.model_copy(update={"device": device_of_worker(spec.device, worker)}), out)
    for point in points:
        prepared.run(point, Console(quiet=True))


class Roar:
    """Recursive ROAR: everything is loaded and checked, nothing is trained or written yet."""

    def __init__(self, spec: RoarSpec, out: Path) -> None:
        self.spec = spec
        self.methods = roar_methods(spec)
        data = open_splits(spec)
        if data.test is None:
            raise UserError("ROAR evaluates its models on a test set: name one with --test")
        self.metric, self.labels = data.train.metric, data.train.labels
        self.base = checkpoint_folder(spec.base, None)
        self.hashes = fingerprint(self.base)
        model, self.tokenizer = self.load()
        if self.tokenizer.mask_token_id is None:
            raise UserError(
                f"base: the tokenizer of {spec.base!r} has no mask token, and ROAR masks words: start from a masked "
                "language model (BERT, RoBERTa, DistilBERT, XLM-R, DeBERTa, ...)"
            )
        classifier = self.view(model)
        for method in self.methods:
            check_fit(method, classifier)
        parts = data.train.maskable
        self.splits = tuple(
            RoarSplit.of(name, dataset, parts, model, classifier) for name, dataset in data.datasets.items()
        )
        self.recipe = spec.recipe(seed=spec.seed)
        self.artifact = self._artifact(out)
        self.artifact.is_finished()  # refuses a folder that holds something else
        self.files = PointFiles(out / FOLDER, self.artifact.key, [method.name for method in self.methods])
        self.points = all_points(len(self.methods), spec.steps)

    def load(self) -> tuple[Any, Any]:
        """The base, with the head that every training starts from, and its tokenizer."""
        spec = self.spec
        model, tokenizer = load_base(self.base, spec.base, self.labels, seed=spec.seed, device=spec.device)
        if spec.longest is not None:  # the tokenizer is our own copy
            tokenizer.model_max_length = min(spec.longest, tokenizer.model_max_length)
        return model, tokenizer

    def view(self, model: Any) -> HFClassifier:
        """A model as a classifier that can be explained."""
        return HFClassifier(
            model,
            self.tokenizer,
            name=self.spec.base,
            fingerprint=self.hashes,
            on_long=self.spec.on_long,
            home=self.base,
        )

    def _artifact(self, out: Path) -> Artifact:
        inputs = {split.name: [input_key(instance) for instance in split.instances] for split in self.splits}
        recipe, parts = self.recipe.as_dict(), self.splits[0].parts
        key = key_of(
            version=VERSION,
            base=self.hashes,
            recipe=recipe,
            steps=self.spec.steps,
            methods=[[method.name, method.parameters, method.component.version] for method in self.methods],
            metric=self.metric,
            parts=parts,
            inputs=inputs,
        )
        named = {
            **recipe,
            "steps": self.spec.steps,
            "methods": [method.label for method in self.methods],
            "masked_parts": parts,
            "base": key_of(base=self.hashes),
            **{name: key_of(inputs=keys) for name, keys in inputs.items()},
        }
        return Artifact(out, KIND, key, named, _older_record)

    def print_left_out(self, console: Console) -> None:
        """Print how many instances the model can't read."""
        for split in self.splits:
            if split.left_out:
                reasons = ", ".join(f"{reason}: {count}" for reason, count in sorted(split.left_out.items()))
                lost = sum(split.left_out.values())
                of = f"{lost} of {lost + len(split)} instances"
                console.print(f"{split.name}: {of} left out, which the model can't read ({reasons})", highlight=False)

    def cost(self, left: Sequence[RoarPoint]) -> list[str]:
        """The remaining work and its duration, which a few steps measure, in lines of text."""
        sizes = ", ".join(f"{len(split)} {split.name}" for split in self.splits)
        lines = [f"Recursive ROAR of {len(self.methods)} measures in {self.spec.steps} steps on {sizes} instances"]
        if len(left) < len(self.points):
            lines.append(f"already finished: {len(self.points) - len(left)} of {len(self.points)} trainings")
        if not left:
            return lines
        model, tokenizer = self.load()
        pace = measure_pace(model, tokenizer, self.view, self.splits, self.methods, self.recipe, self.metric)
        return [*lines, *cost_lines(self._workload(left), pace, self.recipe)]

    def _workload(self, points: Sequence[RoarPoint]) -> Workload:
        return Workload.of(points, self.splits, self.methods, self.spec.steps, self.recipe)

    def title(self, point: RoarPoint) -> str:
        """A point in messages to people."""
        measure = "for all measures" if point.measure is None else self.methods[point.measure].label
        return f"{measure}, {100 * point.step / self.spec.steps:.3g} % of the words masked"

    def run(self, point: RoarPoint, console: Console) -> None:
        """Mask, train and evaluate; each result is stored before the next step."""
        started = time.perf_counter()
        masks = self.files.masks(point, self.splits)
        if masks is None:
            masks = self._masks(point, console)
            self.files.keep_masks(point, masks)
        model, _ = self.load()
        classifier = self.view(model)
        train, validation = (split.rows(classifier, self.tokenizer, masks[split.name]) for split in self.splits[:2])
        resume = replace(self.files.resume(point), save_every=self.spec.save_every)
        options: dict[str, Any] = {"resume": resume, "console": console, "micro_batch": self.spec.micro_batch}
        trained, weights = fit_rows(model, self.tokenizer, train, validation, self.metric, self.recipe, **options)
        predicted, probability = answers(self.splits[2], classifier, masks["test"])
        if point.step < self.spec.steps - 1:
            self.files.keep_weights(point, weights["none"])
        facts = {"training": asdict(trained), "seconds": time.perf_counter() - started}
        self.files.finish(point, Finished(predicted, probability, facts))
        resume.remove()
        if point.measure is not None and point.step > 1:
            self.files.remove_weights(RoarPoint(point.measure, point.step - 1))

    def _masks(self, point: RoarPoint, console: Console) -> dict[str, Masks]:
        """The masks of a point: the model of the previous point explains the words that are left there."""
        if point.measure is None:
            return {split.name: split.masks(masked=point.step > 0) for split in self.splits}
        steps, method = self.spec.steps, self.methods[point.measure]
        before = point_of(point.measure, point.step - 1, steps)
        masks = self.files.masks(before, self.splits)
        if masks is None:
            raise UserError(f"{self.files.folder} lacks the masks of a finished step; remove it to start again")
        model, _ = self.load()
        model.load_state_dict(self.files.weights(before))
        classifier = self.view(model.eval())
        total = sum(len(explained(split, point.step, steps)) for split in self.splits)
        with progress_counter("explaining", total, console) as advance:
            return {
                split.name: mask_more(split, classifier, method, masks[split.name], point.step, steps, advance)
                for split in self.splits
            }

    def result(self) -> RoarResult:
        """Curves and areas, once every point is finished."""
        recorded = MaskedRun(
            series={method.label: self._series(number) for number, method in enumerate(self.methods)},
            p_values={},
            metric=self.metric,
            baseline=next(method.label for method in self.methods if method.name == BASELINE),
            signed={method.label: is_signed(method.component) for method in self.methods},
            majority=most_frequent(self.splits[0].golds.numpy()),
            seed=str(self.spec.seed),
        )
        curves = masking_curves(self.spec.data.name, [recorded])
        if curves is None:
            raise RuntimeError("the random measure has no curve")
        work = self._workload(self.points)
        cost = {
            "trainings": work.trainings,
            "optimiser_steps": work.optimiser_steps,
            "explanations": sum(work.explanations),
            "forward": work.all_passes.forward,
            "backward": work.all_passes.backward,
            "seconds": sum(self.files.finished(point).facts["seconds"] for point in self.points),
        }
        by_label = {method.label: method for method in self.methods}
        shared = ("method", "signed", "ratios", "curve", "acu", "racu", "reason", "n")
        measures = [
            RoarMeasure(
                name=by_label[curve.method].name,
                parameters=by_label[curve.method].parameters,
                **{field: getattr(curve, field) for field in shared},
            )
            for curve in curves.curves
        ]
        return RoarResult(
            key=self.artifact.key,
            spec=self.spec.model_dump(mode="json"),
            base=self.hashes,
            metric=self.metric,
            instances={split.name: len(split) for split in self.splits},
            left_out={split.name: dict(split.left_out) for split in self.splits},
            baseline=curves.baseline,
            majority=curves.majority,
            measures=tuple(measures),
            cost=cost,
        )

    def _series(self, measure: int) -> dict[str, ScoreSeries]:
        """The gold class of each test instance, and the class that is predicted at each step of a measure."""
        steps, test = self.spec.steps, self.splits[2]
        points = [self.files.finished(point_of(measure, step, steps)) for step in range(steps + 1)]
        predicted = np.stack([point.predicted for point in points], axis=1)
        return {
            instance.id: {"gold": [float(test.golds[i])], "predicted": predicted[i].tolist()}
            for i, instance in enumerate(test.instances)
        }


def roar_methods(spec: RoarSpec) -> list[Configured[Method]]:
    """The measures of a spec, with the random one; refuse duplicates and methods that do not score words."""
    methods: list[Configured[Method]] = [from_config("methods", given, spec.seed) for given in spec.methods]
    if not any(method.name == BASELINE for method in methods):
        methods.insert(0, from_config("methods", BASELINE, spec.seed))
    labels = [method.label for method in methods]
    for method in methods:
        if labels.count(method.label) > 1:
            raise UserError(f"methods: {method.label!r} is given twice")
        if method.component.kind != "token":
            raise UserError(f"methods: {method.label!r} does not score words, and ROAR masks words")
    return methods


def _older_record(folder: Path) -> ArtifactRecord | None:
    """The record of a ROAR, finished or not, that is older than `artifact.json`."""
    result = read_json(folder / RESULT)
    if result is not None:
        settings = result.get("spec", {})
        return ArtifactRecord(
            KIND, str(result.get("key")), {name: settings.get(name) for name in ("steps", "seed")}, True
        )
    path = folder / FOLDER / _OLD_KEY
    return ArtifactRecord(KIND, path.read_text("utf-8"), {}) if path.is_file() else None
