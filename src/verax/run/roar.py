"""Recursive ROAR: mask the words that a measure puts first, train a new model on what is left, and measure that.

Madsen, Meade, Adlakha and Reddy 2022, Evaluating the Faithfulness of Importance Measures in NLP by Recursively Masking
Allegedly Important Tokens and Retraining.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from verax.engine.protocols import Method
from verax.models.base import load_base
from verax.models.hf_classifier import HFClassifier
from verax.models.load import checkpoint_folder, fingerprint
from verax.run.card import signed
from verax.run.checking import check_fit
from verax.run.context import BASELINE
from verax.run.parameters import Configured, from_config
from verax.run.plan import input_key
from verax.run.progress import progress_counter
from verax.run.roar_cost import Load, measure_pace, told
from verax.run.roar_inputs import Masks, Split, answers, explained, mask_more
from verax.run.roar_spec import RoarSpec
from verax.run.roar_stage import FOLDER, Finished, Job, Stages, job_of, jobs
from verax.run.training import open_splits
from verax.stats.areas import MaskedRun, masking_curves
from verax.store.files import replace_file
from verax.store.keys import key_of
from verax.store.lock import Lock
from verax.train.fine_tuning import fit_rows
from verax.types import Estimate, MaskingCurves, Score, UserError

VERSION = 1
RESULT = "roar.json"
METRIC = "recursive_roar"


def roar(
    spec: RoarSpec,
    out: Path,
    *,
    console: Console,
    announce: Callable[[Sequence[str]], None] = lambda _: None,
    dry_run: bool = False,
) -> MaskingCurves | None:
    """Carry out Recursive ROAR; what is finished already is left as it is, what was interrupted goes on.

    Args:
        out: the folder of the result, and of what is kept on the way.
        console: for progress and notices.
        announce: told the cost, in lines of words, before anything is trained.
        dry_run: stop there, and write nothing.

    Returns:
        The curves and areas; None of a dry run.
    """
    prepared = Roar(spec, out)
    prepared.notice(console)
    left = [job for job in prepared.jobs if not prepared.stages.has(job)]
    announce(prepared.cost(left))
    if dry_run:
        return None
    with prepared.claimed():
        done = len(prepared.jobs) - len(left)
        for number, job in enumerate(left, done + 1):
            console.print(
                f"training {number} of {len(prepared.jobs)}: {prepared.title(job)}", highlight=False, soft_wrap=True
            )
            prepared.run(job, console)
        return prepared.conclude()


class Roar:
    """Recursive ROAR, prepared: everything is loaded and checked, nothing is trained or written."""

    def __init__(self, spec: RoarSpec, out: Path) -> None:
        self.spec, self.out = spec, out
        self.methods = measures(spec)
        data = open_splits(spec)
        if data.test is None:
            raise UserError("ROAR measures its models on a test set: name one with --test")
        self.metric, self.labels = data.train.metric, data.train.labels
        self.base = checkpoint_folder(spec.base, None)
        self.hashes = fingerprint(self.base)
        model, tokenizer = self._load()
        if tokenizer.mask_token_id is None:
            raise UserError(
                f"base: the tokenizer of {spec.base!r} has no mask token, and ROAR masks words: start from a masked "
                "language model (BERT, RoBERTa, DistilBERT, XLM-R, DeBERTa, ...)"
            )
        self.tokenizer = tokenizer
        classifier = self.view(model)
        for named in self.methods:
            check_fit(named, classifier)
        given = {"train": data.train, "validation": data.validation, "test": data.test}
        parts = data.train.maskable
        self.splits = tuple(Split.of(name, one, parts, model, classifier) for name, one in given.items())
        self.recipe = spec.recipe(seed=spec.seed)
        self.key = self._key()
        self.stages = Stages(out / FOLDER, self.key, [named.name for named in self.methods])
        self.jobs = jobs(len(self.methods), spec.steps)
        self._check_folder()

    def _load(self) -> tuple[Any, Any]:
        """The base, with the head that every training starts from, and its tokenizer."""
        spec = self.spec
        model, tokenizer = load_base(self.base, spec.base, self.labels, seed=spec.seed, device=spec.device)
        if spec.longest is not None:  # the tokenizer is our own copy
            tokenizer.model_max_length = min(spec.longest, tokenizer.model_max_length)
        return model, tokenizer

    def view(self, model: Any) -> HFClassifier:
        """A model as one that can be explained."""
        return HFClassifier(
            model, self.tokenizer, name=self.spec.base, fingerprint=self.hashes, on_long="truncate", home=self.base
        )

    def _key(self) -> str:
        return key_of(
            version=VERSION,
            base=self.hashes,
            recipe=asdict(self.recipe),
            steps=self.spec.steps,
            methods=[[named.name, named.parameters, named.component.version] for named in self.methods],
            metric=self.metric,
            parts=self.splits[0].parts,
            inputs={split.name: [input_key(instance) for instance in split.instances] for split in self.splits},
        )

    def _check_folder(self) -> None:
        if self.out.exists() and not self.out.is_dir():
            raise UserError(f"--out: {self.out} is a file; name a folder")
        self.stages.check()
        try:
            kept = json.loads((self.out / RESULT).read_bytes())
        except FileNotFoundError:
            return
        except ValueError as error:
            raise UserError(f"{self.out / RESULT} is damaged: {error}; choose another --out") from None
        if not isinstance(kept, dict) or kept.get("key") != self.key:
            raise UserError(f"{self.out} holds the result of another ROAR; choose another --out")

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Hold the folder, so that no second process works in it."""
        self.stages.folder.mkdir(parents=True, exist_ok=True)
        lock = Lock.take(self.stages.folder / "lock")
        try:
            self.stages.check()  # it was anybody's until now
            self.stages.claim()
            yield
        finally:
            lock.release()

    def notice(self, console: Console) -> None:
        """Say what is left out."""
        for split in self.splits:
            if split.left_out:
                why = ", ".join(f"{reason}: {count}" for reason, count in sorted(split.left_out.items()))
                lost = sum(split.left_out.values())
                of = f"{lost} of {lost + len(split)} instances"
                console.print(f"{split.name}: {of} left out, which the model can't read ({why})", highlight=False)

    def cost(self, left: Sequence[Job]) -> list[str]:
        """What is to be done, in words, and how long it takes: a few steps are taken to find out."""
        sizes = ", ".join(f"{len(split)} {split.name}" for split in self.splits)
        lines = [f"Recursive ROAR of {len(self.methods)} measures in {self.spec.steps} steps on {sizes} instances"]
        if len(left) < len(self.jobs):
            lines.append(f"finished already: {len(self.jobs) - len(left)} of {len(self.jobs)} trainings")
        if not left:
            return lines
        model, tokenizer = self._load()
        pace = measure_pace(model, tokenizer, self.view, self.splits, self.methods, self.recipe, self.metric)
        load = Load.of(left, self.splits, self.methods, self.spec.steps, self.recipe)
        return [*lines, *told(load, pace, self.recipe)]

    def title(self, job: Job) -> str:
        """What a training is, for a person."""
        who = "for all measures" if job.measure is None else self.methods[job.measure].label
        return f"{who}, {100 * job.step / self.spec.steps:.3g} % of the words masked"

    def run(self, job: Job, console: Console) -> None:
        """Mask, train, measure; each is kept before the next begins."""
        begun = time.perf_counter()
        masks = self.stages.masks(job, self.splits)
        if masks is None:
            masks = self._masks(job, console)
            self.stages.keep_masks(job, masks)
        model, _ = self._load()
        classifier = self.view(model)
        train, validation = (split.rows(classifier, self.tokenizer, masks[split.name]) for split in self.splits[:2])
        resume = self.stages.resume(job)
        trained, weights = fit_rows(
            model, self.tokenizer, train, validation, self.metric, self.recipe, resume=resume, console=console
        )
        predicted, probability = answers(self.splits[2], classifier, masks["test"])
        if job.step < self.spec.steps - 1:
            self.stages.keep_weights(job, weights["none"])
        facts = {"training": asdict(trained), "seconds": time.perf_counter() - begun}
        self.stages.finish(job, Finished(predicted, probability, facts))
        resume.remove()
        if job.measure is not None and job.step > 1:
            self.stages.forget_weights(Job(job.measure, job.step - 1))

    def _masks(self, job: Job, console: Console) -> dict[str, Masks]:
        """What is masked at a step: the model of the step before explains what is left then."""
        if job.measure is None:
            return {split.name: split.masks(masked=job.step > 0) for split in self.splits}
        steps, method = self.spec.steps, self.methods[job.measure]
        before = job_of(job.measure, job.step - 1, steps)
        masks = self.stages.masks(before, self.splits)
        if masks is None:
            raise UserError(f"{self.stages.folder} lacks the masks of a finished step; remove it to begin anew")
        model, _ = self._load()
        model.load_state_dict(self.stages.weights(before))
        classifier = self.view(model.eval())
        total = sum(len(explained(split, job.step, steps)) for split in self.splits)
        with progress_counter("explaining", total, console) as advance:
            return {
                split.name: mask_more(split, classifier, method, masks[split.name], job.step, steps, advance)
                for split in self.splits
            }

    def conclude(self) -> MaskingCurves:
        """The curves and areas, written to the folder; what only the trainings needed is removed."""
        found = masking_curves(
            [
                MaskedRun(
                    curves=list(self._scores()),
                    p_values=[],
                    metric=self.metric,
                    baseline=next(named.label for named in self.methods if named.name == BASELINE),
                    signed={named.label: signed(named.component) for named in self.methods},
                )
            ]
        )
        assert found is not None  # noqa: S101 - the random measure is always there
        replace_file(self.out / RESULT, json.dumps(self._result(found), indent=1, allow_nan=False).encode())
        for job in self.jobs:
            self.stages.forget_weights(job)
            self.stages.resume(job).remove()
        return found

    def _scores(self) -> Iterator[Score]:
        """For each measure and test instance the classes predicted and the gold probability, step by step."""
        steps, test = self.spec.steps, self.splits[2]
        for measure, named in enumerate(self.methods):
            points = [self.stages.finished(job_of(measure, step, steps)) for step in range(steps + 1)]
            predicted = np.stack([point.predicted for point in points], axis=1)
            chances = np.stack([point.probability for point in points], axis=1)
            for i, instance in enumerate(test.instances):
                area = float(np.trapezoid(chances[i, 0] - chances[i], dx=1 / steps))
                series = {"gold": (float(test.golds[i]),), "predicted": tuple(map(float, predicted[i]))}
                curve = tuple(chances[i].tolist())
                yield Score(instance.id, named.label, METRIC, area, curve=curve, series=series)

    def _result(self, found: MaskingCurves) -> dict[str, Any]:
        load = Load.of(self.jobs, self.splits, self.methods, self.spec.steps, self.recipe)
        passes = {name: sum(getattr(one, name) for one in load.passes) for name in ("forward", "backward")}
        seconds = sum(self.stages.finished(job).facts["seconds"] for job in self.jobs)
        return {
            "version": VERSION,
            "key": self.key,
            "spec": self.spec.model_dump(mode="json"),
            "base": self.hashes,
            "metric": self.metric,
            "instances": {split.name: len(split) for split in self.splits},
            "left_out": {split.name: dict(split.left_out) for split in self.splits},
            "baseline": found.baseline,
            "majority": found.majority,
            "measures": [
                {
                    "method": row.method,
                    "signed": row.signed,
                    "ratios": row.ratios,
                    "curve": [point._asdict() for point in row.curve],
                    "acu": row.acu._asdict(),
                    "racu": _or_none(row.racu),
                    "reason": row.reason,
                    "n": row.n,
                }
                for row in found.curves
            ],
            "cost": {
                "trainings": load.trainings,
                "optimiser_steps": load.optimiser_steps,
                "explanations": sum(load.explanations),
                **passes,
                "seconds": seconds,
            },
        }


def _or_none(value: Estimate | None) -> dict[str, Any] | None:
    return None if value is None else value._asdict()


def measures(spec: RoarSpec) -> list[Configured[Method]]:
    """The measures of a spec, the random one among them; refuse those that are there twice or score no words."""
    found: list[Configured[Method]] = [from_config("methods", given, spec.seed) for given in spec.methods]
    if not any(named.name == BASELINE for named in found):
        found.insert(0, from_config("methods", BASELINE, spec.seed))
    labels = [named.label for named in found]
    for named in found:
        if labels.count(named.label) > 1:
            raise UserError(f"methods: {named.label!r} is there twice")
        if named.component.kind != "token":
            raise UserError(f"methods: {named.label!r} scores no words, and ROAR masks words")
    return found
