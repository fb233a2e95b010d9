"""Training of a self-explaining model: prompts, one checkpoint or two, facts and a model card."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from verax.engine.ask import ask_all
from verax.engine.protocols import Answer, AnsweringMethod
from verax.engine.questions import QuestionGenerator
from verax.jobs.training.card import nle_card
from verax.jobs.training.folder import finish_model, older_record
from verax.jobs.training.generator import GeneratorTraining, summary
from verax.jobs.training.spec import NleSpec
from verax.jobs.training.splits import Splits, input_keys, number_of_parts, open_splits
from verax.metrics.free_text.bleu import Bleu
from verax.models.load import load_generator
from verax.models.self_explainer import FACTS, MAX_NEW_TOKENS, PROMPTS, SelfExplainer
from verax.models.subject import Subject
from verax.models.wording import Wording, shipped_wording
from verax.registry import resolve
from verax.stats.bleu import corpus_bleu, counts_of
from verax.store.artifact import Artifact, read_json
from verax.store.files import replace_file
from verax.store.keys import key_of
from verax.train.resume import FOLDER as RESUME
from verax.train.text_pairs import GENERATORS_OF, check_explanations, check_labels, nle_pairs
from verax.types import Dataset, Instance, Measured, Nle, Target, Undefined

KIND = "self-explaining model"


def train_self_explainer(
    spec: NleSpec, out: Path, *, console: Console, announce: Callable[[Splits, int, int], None] = lambda *_: None
) -> dict[str, Any]:
    """Train a self-explaining model; what is finished is left as it is, what was interrupted continues.

    Args:
        announce: called with the data, the number of trainings and how many of them are finished, before training.

    Returns:
        The facts, as they are in `nle.json`.
    """
    if spec.measure:
        Bleu().provenance  # noqa: B018 - a missing package is reported before the training, not after it
    job = _SelfExplainerTraining(spec, out)
    finished, trainings = job.artifact.is_finished(), job.trainings.values()
    announce(job.data, len(trainings), sum(training.facts() is not None for training in trainings))
    facts = read_json(out / FACTS) if finished else None
    leftovers = job.artifact.has_leftovers(*(f"{name}/{RESUME}" for name in job.trainings))
    if facts is not None and facts.get("measured") == job.measured and not leftovers:
        return facts
    with job.artifact.claim():
        return job.run(console)


class _SelfExplainerTraining:
    """The training of a self-explaining model: everything is loaded and checked, nothing is trained yet."""

    def __init__(self, spec: NleSpec, out: Path) -> None:
        self.spec, self.out = spec, out
        self.data = data = open_splits(spec, spec.seed, for_classifier=False).readable()
        labels, datasets = data.train.labels, list(data.datasets.values())
        for dataset in datasets:
            check_labels(dataset, labels)
            check_explanations(dataset)
        parts = number_of_parts(datasets)
        if spec.prompts is None:
            self.wording = shipped_wording("trained", labels, parts)
        else:
            self.wording = Wording.read(Path(spec.prompts))
        self.roles = GENERATORS_OF[spec.setup]
        self.trainings: dict[str, GeneratorTraining] = {}
        for name, stages in self.roles.stages.items():
            self.wording.check(stages)
            train, validation = (
                nle_pairs(stages, dataset, labels, self.wording, spec.explanations)
                for dataset in (data.train, data.validation)
            )
            self.trainings[name] = GeneratorTraining(out / name, spec, train, validation, spec.weigh)
        keys = {name: training.key for name, training in self.trainings.items()}
        # models with explanations of the default length keep the key that they had before it could be set
        length = {} if spec.max_new_tokens == MAX_NEW_TOKENS else {"max_new_tokens": spec.max_new_tokens}
        key = key_of(setup=spec.setup, labels=labels, wording=self.wording.hash, trainings=keys, **length)
        settings = {
            "setup": spec.setup,
            "labels": list(labels),
            "prompts": self.wording.hash,
            "explanations": spec.explanations,
            "weigh": spec.weigh,
            **length,
        }
        named = {
            **spec.recipe().as_dict(),
            **settings,
            "data": key_of(inputs=input_keys(data.train)),
            "validation": key_of(inputs=input_keys(data.validation)),
        }
        self.artifact = Artifact(out, KIND, key, named, older_record(KIND, FACTS, {name: name for name in settings}))
        self.facts = {**settings, "explainer": self.roles.explainer, "predictor": self.roles.predictor, "key": key}
        evaluated = {name: input_keys(dataset)[: spec.measure] for name, dataset in data.evaluated.items()}
        self.measured = key_of(asked=evaluated)

    def run(self, console: Console) -> dict[str, Any]:
        """Train the generators that are not finished, evaluate the model, and write its model card and facts."""
        spec, out, trained = self.spec, self.out, {}
        for name, training in self.trainings.items():
            if len(self.trainings) > 1:
                console.print(f"training the {name}", highlight=False)
            trained[name] = training.run(console)
        known = read_json(out / FACTS) or {}
        facts = {
            **self.facts,
            "base": spec.base,
            "data": spec.data.name,
            "sizes": {name: len(dataset) for name, dataset in self.data.datasets.items()},
            "recipe": spec.recipe().as_dict(),
            "trainings": {name: summary(facts) for name, facts in trained.items()},
            "measured": self.measured,
            "figures": known["figures"] if known.get("measured") == self.measured else self._measure(),
        }
        replace_file(out / PROMPTS, self.wording.text.encode())
        files = [path for training in self.trainings.values() for path in training.files]
        finish_model(self.artifact, FACTS, facts, nle_card(out.name, facts), out / PROMPTS, *files)
        for training in self.trainings.values():
            training.resume.remove()
        return facts

    def _measure(self) -> dict[str, dict[str, Any]]:
        """Accuracy and BLEU of the trained model on each set except the training set."""
        spec, out = self.spec, self.out
        if not spec.measure:
            return {}
        loaded = {name: load_generator(out / name, device=spec.device) for name in self.trainings}
        explainer, predictor = loaded[self.roles.explainer], loaded[self.roles.predictor]
        model = SelfExplainer(
            str(out), explainer, predictor, self.data.train.labels, self.wording, spec.setup, spec.max_new_tokens
        )
        return {
            name: asdict(measure_self_explainer(model, dataset, spec.measure))
            for name, dataset in self.data.evaluated.items()
        }


@dataclass(frozen=True, slots=True)
class NleFigures:
    """Performance of a self-explaining model on one set (Table 7 of Atanasova et al. 2023).

    Args:
        accuracy: share of inputs whose gold class is predicted; an input without an answer counts as wrong.
        bleu: corpus BLEU, 0 to 100, over the inputs that both the model and people explained; None without any.
        explained: number of explanations that BLEU is computed from.
    """

    accuracy: float
    bleu: float | None
    inputs: int
    answered: int
    explained: int


def measure_self_explainer(model: SelfExplainer, data: Dataset, limit: int) -> NleFigures:
    """Ask a trained self-explaining model about the first `limit` inputs of a set."""
    method: AnsweringMethod = resolve("methods", str(model.setup))()
    asked = data.instances[:limit]
    right: list[bool] = []
    counts: list[list[float]] = []

    def keep(instance: Instance, result: tuple[Answer, Measured | None]) -> None:
        answer, bleu = result
        right.append(answer.label == instance.label)
        counted = None if bleu is None else counts_of(bleu.series)
        if counted is not None:
            counts.append(counted)

    questions = ((instance, _answer_and_bleu(Subject(instance, model), method)) for instance in asked)
    ask_all(questions, keep)
    bleu = float(corpus_bleu(np.sum(counts, axis=0))) if counts else None
    return NleFigures(sum(right) / max(1, len(asked)), bleu, len(asked), len(right), len(counts))


def _answer_and_bleu(x: Subject, method: AnsweringMethod) -> QuestionGenerator[tuple[Answer, Measured | None]]:
    """The model's answer to an input, and how its explanation compares with those of people."""
    answer = yield from method.answer(x)
    try:
        answer = yield from method.explain(x, answer)
        nle = Nle(x.instance.id, str(x.model.setup), Target(), answer.text or "", answer.label, x.model.labels)
        return answer, (yield from Bleu()(x, nle))
    except Undefined:
        return answer, None
