"""Training of a self-explaining model: prompts, one checkpoint or two, facts and a model card."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from verax.engine.protocols import Answer, AnsweringMethod
from verax.engine.questions import QuestionGenerator
from verax.jobs.ask import ask_all
from verax.jobs.training.generator import GeneratorTraining, summary
from verax.jobs.training.spec import NleSpec
from verax.jobs.training.splits import Splits, input_keys, number_of_parts, open_splits
from verax.metrics.free_text.bleu import Bleu
from verax.models.load import checkpoint_folder, load_generator
from verax.models.self_explainer import FACTS, PROMPTS, SelfExplainer
from verax.models.subject import Subject
from verax.models.wording import Wording, shipped_wording
from verax.registry import resolve
from verax.stats.bleu import corpus_bleu, counts_of
from verax.store.artifact import Artifact, Record, read_json, write_json
from verax.store.files import replace_file
from verax.store.keys import key_of
from verax.train.nle import TEACHINGS, check_explanations, check_labels, nle_pairs
from verax.train.nle_card import nle_card
from verax.train.resume import FOLDER as RESUME
from verax.types import Dataset, Instance, Measured, Nle, Target, Undefined

KIND = "self-explaining model"


def train_self_explainer(
    spec: NleSpec, out: Path, *, console: Console, announce: Callable[[Splits, int, int], None] = lambda *_: None
) -> dict[str, Any]:
    """Train a self-explaining model; what is finished is left as it is, what was interrupted continues.

    Args:
        out: the folder of the model.
        announce: called with the data, the number of trainings and how many of them are finished, before training.

    Returns:
        The facts, as they are in `nle.json`.
    """
    if spec.measure:
        Bleu().provenance  # noqa: B018 - a missing package is reported before the training, not after it
    planned = _plan(spec, out)
    finished, trainings = planned.artifact.is_finished(), planned.trainings.values()
    announce(planned.data, len(trainings), sum(training.facts() is not None for training in trainings))
    facts = read_json(out / FACTS) if finished else None
    leftovers = planned.artifact.has_leftovers(*(f"{name}/{RESUME}" for name in planned.trainings))
    if facts is not None and facts.get("measured") == planned.measured and not leftovers:
        return facts
    with planned.artifact.claim():
        trained = {}
        for name, training in planned.trainings.items():
            if len(planned.trainings) > 1:
                console.print(f"training the {name}", highlight=False)
            trained[name] = training.run(console)
        facts = _write(planned, out, trained)
        for training in trainings:
            training.remove_leftovers()
    return facts


@dataclass(frozen=True)
class _Planned:
    """A training that is ready to start: everything is loaded and checked.

    Args:
        measured: the key of the inputs on which the model is measured.
        trainings: by the folder of the generator inside that of the model.
    """

    spec: NleSpec
    data: Splits
    wording: Wording
    measured: str
    trainings: Mapping[str, GeneratorTraining]
    artifact: Artifact


def _plan(spec: NleSpec, out: Path) -> _Planned:
    data = open_splits(spec, spec.seed, for_classifier=False).readable()
    labels, datasets = data.train.labels, list(data.datasets.values())
    for dataset in datasets:
        check_labels(dataset, labels)
        check_explanations(dataset)
    parts = number_of_parts(datasets)
    wording = shipped_wording("trained", labels, parts) if spec.prompts is None else Wording.read(Path(spec.prompts))
    base, recipe = checkpoint_folder(spec.base, None), spec.recipe(seed=spec.seed)
    trainings = {}
    for name, stages in TEACHINGS[spec.setup].stages.items():
        wording.check(stages)
        train, validation = (
            nle_pairs(stages, dataset, labels, wording, spec.explanations) for dataset in (data.train, data.validation)
        )
        trainings[name] = GeneratorTraining(
            out / name, base, spec.base, train, validation, recipe, spec.device, spec.weigh
        )
    keys = {name: training.key for name, training in trainings.items()}
    key = key_of(setup=spec.setup, labels=labels, wording=wording.hash, trainings=keys)
    named = {
        **asdict(recipe),
        "setup": spec.setup,
        "labels": labels,
        "prompts": wording.hash,
        "explanations": spec.explanations,
        "weigh": spec.weigh,
        "data": key_of(inputs=input_keys(data.train)),
        "validation": key_of(inputs=input_keys(data.validation)),
    }
    measured = key_of(asked={name: input_keys(dataset)[: spec.measure] for name, dataset in data.evaluated.items()})
    return _Planned(spec, data, wording, measured, trainings, Artifact(out, KIND, key, named, _older_record))


def _write(planned: _Planned, out: Path, trained: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """The prompts, the model card and the facts; then the model is finished."""
    spec, teaching = planned.spec, TEACHINGS[planned.spec.setup]
    known = read_json(out / FACTS) or {}
    figures = known["figures"] if known.get("measured") == planned.measured else _measure(planned, out)
    facts = {
        "setup": spec.setup,
        "labels": list(planned.data.train.labels),
        "explainer": teaching.explainer,
        "predictor": teaching.predictor,
        "key": planned.artifact.key,
        "base": spec.base,
        "data": spec.data.name,
        "prompts": planned.wording.hash,
        "explanations": spec.explanations,
        "weigh": spec.weigh,
        "sizes": {name: len(dataset) for name, dataset in planned.data.datasets.items()},
        "recipe": asdict(spec.recipe(seed=spec.seed)),
        "trainings": {name: summary(one) for name, one in trained.items()},
        "measured": planned.measured,
        "figures": figures,
    }
    replace_file(out / PROMPTS, planned.wording.text.encode())
    replace_file(out / "README.md", nle_card(out.name, facts).encode())
    write_json(out / FACTS, facts, allow_nan=True)
    files = [path for training in planned.trainings.values() for path in training.files]
    planned.artifact.finish(FACTS, PROMPTS, *(str(path.relative_to(out)) for path in files))
    return facts


def _measure(planned: _Planned, out: Path) -> dict[str, dict[str, Any]]:
    """Accuracy and BLEU of the trained model on each set but the one it was trained on."""
    spec = planned.spec
    if not spec.measure:
        return {}
    loaded = {name: load_generator(out / name, device=spec.device) for name in planned.trainings}
    explainer, predictor = (loaded[name] for name in TEACHINGS[spec.setup][:2])
    labels = planned.data.train.labels
    model = SelfExplainer(str(out), explainer, predictor, labels, planned.wording, spec.setup)
    return {
        name: asdict(measure_self_explainer(model, dataset, spec.measure))
        for name, dataset in planned.data.evaluated.items()
    }


def _older_record(folder: Path) -> Record | None:
    """The record of a model that was finished before there was `artifact.json`."""
    facts = read_json(folder / FACTS)
    if facts is None:
        return None
    named = {name: facts.get(name) for name in ("setup", "labels", "prompts", "explanations", "weigh")}
    return Record(KIND, str(facts.get("key")), {**facts.get("recipe", {}), **named}, finished=True)


@dataclass(frozen=True, slots=True)
class NleFigures:
    """Performance of a self-explaining model on one set (Table 7 of Atanasova et al. 2023).

    Args:
        accuracy: share of inputs whose gold class is predicted; an input without an answer counts as wrong, as in the
            tables of a run.
        bleu: corpus BLEU, 0 to 100, over the inputs that both the model and people explained; None if there is none.
        inputs: how many inputs the model was asked about.
        answered: how many of them it answered.
        explained: how many explanations BLEU is computed from.
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
