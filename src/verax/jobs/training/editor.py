"""Training of an editor: the classes of the inputs, the checkpoint, facts and a model card."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from rich.console import Console
from transformers import AutoTokenizer

from verax.engine.protocols import Answer, AnsweringMethod
from verax.jobs.ask import ask_all
from verax.jobs.training.comparison import FACTS as TRAINED
from verax.jobs.training.generator import VERSION, GeneratorTraining, summary
from verax.jobs.training.spec import EditorSpec
from verax.jobs.training.splits import Splits, input_keys, number_of_parts, open_splits
from verax.models.checkpoint import quiet
from verax.models.editor_wording import FACTS, EditorFacts, editor_facts
from verax.models.load import checkpoint_folder, fingerprint
from verax.models.self_explainer import SelfExplainer, is_trained, load_self_explainer, trained_fingerprint
from verax.models.subject import Subject
from verax.registry import resolve
from verax.run.progress import progress_counter
from verax.store.artifact import Artifact, Record, read_json, write_json
from verax.store.files import replace_file
from verax.store.keys import key_of
from verax.train.editor import editor_pairs
from verax.train.nle import check_labels
from verax.train.nle_card import training_tables
from verax.train.resume import FOLDER as RESUME
from verax.train.resume import Resume
from verax.types import Dataset, Instance, UserError

KIND = "editor"
BETWEEN_WRITES = 4096
"""Inputs that are asked about between two writes of the file of predicted classes."""

Labels = dict[str, str | None]
"""The predicted class of each input by its id; None where the model gives no answer."""


def train_editor(
    spec: EditorSpec, out: Path, *, console: Console, announce: Callable[[Splits, int, int], None] = lambda *_: None
) -> dict[str, Any]:
    """Train an editor; a finished one is left as it is, an interrupted training continues.

    Args:
        out: the folder of the editor.
        announce: called with the data, the number of trainings (1) and how many are finished, before any class is
            predicted or anything is trained.

    Returns:
        The facts, as they are in `editor.json`.
    """
    planned = _plan(spec, out)
    artifact = planned.artifact
    if artifact.is_finished():
        announce(planned.data, 1, 1)
        if artifact.has_leftovers(RESUME):
            with artifact.claim():
                Resume(out / RESUME, "").remove()
        return read_json(out / FACTS) or {}
    announce(planned.data, 1, int((out / TRAINED).is_file()))
    with artifact.claim():
        training = planned.training(planned.classes(console))
        facts = _write(planned, training.run(console))
        artifact.finish(FACTS, *(path.name for path in training.files))
        training.remove_leftovers()
    return facts


@dataclass(frozen=True)
class _Planned:
    """A training that is ready to start: everything is loaded and checked, no class is predicted."""

    spec: EditorSpec
    out: Path
    data: Splits
    base: Path
    facts: EditorFacts
    predicted: PredictedLabels | None

    @property
    def datasets(self) -> tuple[Dataset, Dataset]:
        """For training and for validation."""
        return self.data.train, self.data.validation

    @cached_property
    def artifact(self) -> Artifact:
        """The folder of the editor, with everything that determines it."""
        recipe, hashes = asdict(self.spec.recipe(seed=self.spec.seed)), fingerprint(self.base)
        inputs = [input_keys(dataset) for dataset in self.datasets]
        labels = None if self.predicted is None else self.predicted.key
        shared = {"version": VERSION, "masks": self.spec.masks, "labels": labels}
        key = key_of(**shared, base=hashes, recipe=recipe, editor=asdict(self.facts), inputs=inputs)
        named = {
            "version": VERSION,
            "masks": self.spec.masks,
            "labels_by": self.spec.labels_by,
            "predicted_labels": labels,
            "base": key_of(base=hashes),
            **recipe,
            "data": key_of(inputs=inputs[0]),
            "validation": key_of(inputs=inputs[1]),
        }
        return Artifact(self.out, KIND, key, named, _older_record)

    def classes(self, console: Console) -> list[dict[str, str]]:
        """For each set the class of each input by its id: the gold one, or the predicted one."""
        if self.predicted is not None:
            return self.predicted.ask(console)
        return [{instance.id: str(instance.label) for instance in data.instances} for data in self.datasets]

    def training(self, classes: Sequence[Mapping[str, str]]) -> GeneratorTraining:
        """The training on these classes."""
        spec = self.spec
        train, validation = (
            editor_pairs(self.facts, dataset, labels, masks=spec.masks, seed=spec.seed)
            for dataset, labels in zip(self.datasets, classes, strict=True)
        )
        recipe = spec.recipe(seed=spec.seed)
        return GeneratorTraining(self.out, self.base, spec.base, train, validation, recipe, spec.device)


def _plan(spec: EditorSpec, out: Path) -> _Planned:
    # nothing is measured on a test set
    data = replace(open_splits(spec, spec.seed, for_classifier=False), test=None).readable()
    datasets = list(data.datasets.values())
    if spec.labels_by is None:
        for dataset in datasets:
            check_labels(dataset, data.train.labels)
    base = checkpoint_folder(spec.base, None)
    fingerprint(base)  # refuses a folder without weights or tokenizer
    with quiet():
        tokenizer = AutoTokenizer.from_pretrained(base, use_fast=True, trust_remote_code=False)
    facts = editor_facts(data.train.labels, number_of_parts(datasets), tokenizer)
    predicted = None
    if spec.labels_by is not None:
        predicted = PredictedLabels(out / RESUME / "labels.json", spec.labels_by, datasets, spec.device)
    return _Planned(spec, out, data, base, facts, predicted)


def _write(planned: _Planned, trained: dict[str, Any]) -> dict[str, Any]:
    """The model card and the facts."""
    spec, out, data = planned.spec, planned.out, planned.data
    facts = {
        **asdict(planned.facts),
        "labels": list(planned.facts.labels),
        "asked": planned.artifact.key,
        "key": trained["key"],
        "base": spec.base,
        "data": spec.data.name,
        "labels_by": spec.labels_by,
        "masks": spec.masks,
        "sizes": {"train": len(data.train), "validation": len(data.validation)},
        "recipe": trained["recipe"],
        "trainings": {".": summary(trained)},
    }
    replace_file(out / "README.md", _card(out.name, facts).encode())
    write_json(out / FACTS, facts, allow_nan=True)
    return facts


def _card(name: str, facts: Mapping[str, Any]) -> str:
    source = "that the data gives" if facts["labels_by"] is None else f"that `{facts['labels_by']}` predicts"
    lines = [
        f"# {name}",
        "",
        f"`{facts['base']}`, fine-tuned on `{facts['data']}` by `verax train editor`. It inserts one to three words "
        f"that fit a class into an input: {', '.join(facts['labels'])}. It learned to write masked words, given the "
        f"class {source}.",
        "",
        f"Its prompt is `{facts['prompt']}`, and `{facts['mark']}` stands for the words.",
        "",
        *training_tables(facts["sizes"], facts["trainings"], facts["recipe"]),
    ]
    return "\n".join(lines)


def _older_record(folder: Path) -> Record | None:
    """The record of an editor that was finished before there was `artifact.json`."""
    facts = read_json(folder / FACTS)
    if facts is None:
        return None
    named = {name: facts.get(name) for name in ("masks", "labels_by")}
    return Record(KIND, str(facts.get("asked")), {**facts.get("recipe", {}), **named}, finished=True)


@dataclass(frozen=True)
class PredictedLabels:
    """The classes that a self-explaining model predicts for some sets, kept in a file so that none is asked twice.

    Args:
        file: where they are kept; those of another model, or for other inputs, are not taken from it.
        model: a folder made by `verax train nle`.
        datasets: the inputs.
        device: where the model runs.
    """

    file: Path
    model: str
    datasets: Sequence[Dataset]
    device: str

    def __post_init__(self) -> None:
        if not is_trained(self.model):
            raise UserError(f"labels_by: {self.model!r} was not made by verax train nle")

    @cached_property
    def key(self) -> str:
        """The hash of everything that determines them; the model need not be loaded for it."""
        inputs = [input_keys(dataset) for dataset in self.datasets]
        return key_of(by=trained_fingerprint(self.model), inputs=inputs)

    def ask(self, console: Console) -> list[dict[str, str]]:
        """For each set the predicted class of each input by its id, without those that get no answer."""
        kept = read_json(self.file)
        labels: list[Labels] = [{} for _ in self.datasets]
        if kept is not None and kept.get("key") == self.key:
            labels = kept["labels"]
        left = [
            [instance for instance in dataset.instances if instance.id not in known]
            for dataset, known in zip(self.datasets, labels, strict=True)
        ]
        if any(left):
            parts = number_of_parts(self.datasets)
            model = load_self_explainer(self.model, labels=self.datasets[0].labels, parts=parts, device=self.device)
            self.file.parent.mkdir(exist_ok=True)
            with progress_counter("predicting classes", sum(map(len, left)), console) as advance:
                for instances, known in zip(left, labels, strict=True):
                    for start in range(0, len(instances), BETWEEN_WRITES):
                        known.update(_predict(model, instances[start : start + BETWEEN_WRITES], advance))
                        write_json(self.file, {"key": self.key, "labels": labels})
        return [{name: label for name, label in known.items() if label is not None} for known in labels]


def _predict(model: SelfExplainer, instances: Sequence[Instance], advance: Callable[[], None]) -> Labels:
    method: AnsweringMethod = resolve("methods", str(model.setup))()
    labels: Labels = dict.fromkeys(instance.id for instance in instances)

    def keep(name: str, answer: Answer) -> None:
        labels[name] = answer.label

    questions = ((instance.id, method.answer(Subject(instance, model))) for instance in instances)
    ask_all(questions, keep, ended=advance)
    return labels
