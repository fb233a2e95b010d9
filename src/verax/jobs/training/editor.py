"""Training of an editor: the classes of the inputs, the checkpoint, facts and a model card."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from rich.console import Console
from transformers import AutoTokenizer

from verax.engine.ask import ask_all
from verax.engine.protocols import Answer, AnsweringMethod
from verax.engine.questions import QuestionGenerator, split_results, together
from verax.jobs.training.card import editor_card
from verax.jobs.training.folder import FACTS as TRAINED
from verax.jobs.training.folder import finish_model, older_record
from verax.jobs.training.generator import VERSION, GeneratorTraining, summary
from verax.jobs.training.spec import EditorSpec
from verax.jobs.training.splits import Splits, input_keys, number_of_parts, open_splits
from verax.metrics.free_text.infill_editor import VERSION as EDITS_VERSION
from verax.metrics.free_text.infill_editor import InfillEditor
from verax.models.checkpoint import quiet
from verax.models.editor_wording import FACTS, EditorFacts, editor_facts
from verax.models.generator import TextGenerator
from verax.models.load import checkpoint_folder, fingerprint
from verax.models.self_explainer import SelfExplainer, is_trained, load_self_explainer, trained_fingerprint
from verax.models.subject import Subject
from verax.registry import resolve
from verax.run.progress import progress_counter
from verax.store.artifact import Artifact, read_json, write_json
from verax.store.keys import key_of
from verax.train.resume import FOLDER as RESUME
from verax.train.resume import Resume
from verax.train.text_pairs import check_labels, editor_pairs
from verax.types import Dataset, Instance, UserError

KIND = "editor"
BETWEEN_WRITES = 4096
"""Number of predictions between two writes of the file of predicted classes."""

LabelsById = dict[str, str | None]
"""The predicted class of each input by its id; None where the model gives no answer."""


def train_editor(
    spec: EditorSpec, out: Path, *, console: Console, announce: Callable[[Splits, int, int], None] = lambda *_: None
) -> dict[str, Any]:
    """Train an editor; a finished one is left as it is, an interrupted training continues.

    Args:
        announce: called with the data, the number of trainings (1) and how many are finished, before any class is
            predicted or anything is trained.

    Returns:
        The facts, as they are in `editor.json`.
    """
    job = _EditorTraining(spec, out)
    artifact = job.artifact
    if artifact.is_finished():
        announce(job.data, 1, 1)
        if artifact.has_leftovers(RESUME):
            with artifact.claim():
                Resume(out / RESUME, "").remove()
        return read_json(out / FACTS) or {}
    announce(job.data, 1, int((out / TRAINED).is_file()))
    with artifact.claim():
        return job.run(console)


class _EditorTraining:
    """The training of an editor: everything is loaded and checked, no class is predicted yet."""

    def __init__(self, spec: EditorSpec, out: Path) -> None:
        self.spec, self.out = spec, out
        # editors are not evaluated on a test set
        self.data = replace(open_splits(spec, spec.seed, for_classifier=False), test=None).readable()
        self.datasets = (self.data.train, self.data.validation)
        labels = self.data.train.labels
        if spec.labels_by is None:
            for dataset in self.datasets:
                check_labels(dataset, labels)
        base = checkpoint_folder(spec.base, None)
        hashes = fingerprint(base)  # rejects a folder without weights or tokenizer
        with quiet():
            tokenizer = AutoTokenizer.from_pretrained(base, use_fast=True, trust_remote_code=False)
        self.facts = editor_facts(labels, number_of_parts(self.datasets), tokenizer)
        self.predicted: PredictedLabels | None = None
        if spec.labels_by is not None:
            self.predicted = PredictedLabels(out / RESUME / "labels.json", spec.labels_by, self.datasets, spec.device)
        recipe, inputs = spec.recipe().as_dict(), [input_keys(dataset) for dataset in self.datasets]
        predicted = None if self.predicted is None else self.predicted.key
        shared: dict[str, Any] = {"version": VERSION, "masks": spec.masks}
        if self.predicted is not None and spec.measure:
            shared |= {"measure": spec.measure, "search": EDITS_VERSION}
        key = key_of(**shared, labels=predicted, base=hashes, recipe=recipe, editor=asdict(self.facts), inputs=inputs)
        named = {
            **shared,
            "labels_by": spec.labels_by,
            "predicted_labels": predicted,
            "base": key_of(base=hashes),
            **recipe,
            "data": key_of(inputs=inputs[0]),
            "validation": key_of(inputs=inputs[1]),
        }
        older = older_record(KIND, FACTS, {"masks": "masks", "labels_by": "labels_by"}, key="asked")
        self.artifact = Artifact(out, KIND, key, named, older)

    def run(self, console: Console) -> dict[str, Any]:
        """Predict classes if they are not given, train, and write the checkpoint with its model card and facts."""
        spec, out = self.spec, self.out
        classes: Sequence[Mapping[str, str]]
        if self.predicted is None:
            classes = [{instance.id: str(instance.label) for instance in data.instances} for data in self.datasets]
        else:
            classes = self.predicted.ask(console)
        train, validation = (
            editor_pairs(self.facts, dataset, labels, masks=spec.masks, seed=spec.seed)
            for dataset, labels in zip(self.datasets, classes, strict=True)
        )
        success, success_key = None, None
        if self.predicted is not None and spec.measure:
            known = classes[1]
            inputs = [instance for instance in self.data.validation.instances if instance.id in known][: spec.measure]
            success = _SuccessRate(self.facts, self.predicted.load(), [(one, known[one.id]) for one in inputs])
            success_key = key_of(model=self.predicted.key, inputs=spec.measure, search=EDITS_VERSION)
        training = GeneratorTraining(out, spec, train, validation, success=success, success_key=success_key)
        trained = training.run(console)
        facts = {
            **asdict(self.facts),
            "labels": list(self.facts.labels),
            "asked": self.artifact.key,
            "key": trained["key"],
            "base": spec.base,
            "data": spec.data.name,
            "labels_by": spec.labels_by,
            "masks": spec.masks,
            "sizes": {name: len(data) for name, data in self.data.datasets.items()},
            "recipe": trained["recipe"],
            "trainings": {".": summary(trained)},
        }
        finish_model(self.artifact, FACTS, facts, editor_card(out.name, facts), *training.files)
        training.resume.remove()
        return facts


@dataclass(frozen=True)
class PredictedLabels:
    """The classes that a self-explaining model predicts for some sets, cached in a file.

    Args:
        file: the cache; that of another model or of other inputs is ignored.
        model: a folder made by `verax train nle`.
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
        """The hash of everything that determines the classes; it does not load the model."""
        inputs = [input_keys(dataset) for dataset in self.datasets]
        return key_of(by=trained_fingerprint(self.model), inputs=inputs)

    def load(self) -> SelfExplainer:
        """The model that predicts."""
        parts = number_of_parts(self.datasets)
        return load_self_explainer(self.model, labels=self.datasets[0].labels, parts=parts, device=self.device)

    def ask(self, console: Console) -> list[dict[str, str]]:
        """For each set the predicted class of each input by its id, without inputs that have no answer."""
        cached = read_json(self.file) or {}
        labels: list[LabelsById] = cached["labels"] if cached.get("key") == self.key else [{} for _ in self.datasets]
        left = [
            [instance for instance in dataset.instances if instance.id not in known]
            for dataset, known in zip(self.datasets, labels, strict=True)
        ]
        if any(left):
            model = self.load()
            self.file.parent.mkdir(exist_ok=True)
            with progress_counter("predicting classes", sum(map(len, left)), console) as advance:
                for instances, known in zip(left, labels, strict=True):
                    for start in range(0, len(instances), BETWEEN_WRITES):
                        known.update(_predict(model, instances[start : start + BETWEEN_WRITES], advance))
                        write_json(self.file, {"key": self.key, "labels": labels})
        return [{name: label for name, label in known.items() if label is not None} for known in labels]


@dataclass(frozen=True)
class _SuccessRate:
    """The share of an editor's edits that flip the model, over inputs with their predicted classes."""

    facts: EditorFacts
    model: SelfExplainer
    inputs: Sequence[tuple[Instance, str]]

    def __call__(self, generator: TextGenerator) -> float:
        """The success rate of the editor as it is now, searched as in the counterfactual test; 0 without an edit."""
        flips: list[bool] = []
        questions = ((label, self._flips(generator, instance, label)) for instance, label in self.inputs)
        ask_all(questions, lambda _, several: flips.extend(several))
        return sum(flips) / max(1, len(flips))

    def _flips(self, generator: TextGenerator, instance: Instance, label: str) -> QuestionGenerator[list[bool]]:
        """Whether each edit of one input changes the prediction; edits without an answer are left out."""
        method: AnsweringMethod = resolve("methods", str(self.model.setup))()
        x, wanted = Subject(instance, self.model), [one for one in self.facts.labels if one != label]
        proposals = yield from InfillEditor("").search(x, self.facts, generator, wanted)
        edited = dict.fromkeys(proposal.insertion for proposal in proposals)
        ends = yield from together(method.answer(x.edited(insertion.apply(instance))) for insertion in edited)
        answers, _ = split_results(ends)
        return [answer.label != label for answer in answers]


def _predict(model: SelfExplainer, instances: Sequence[Instance], advance: Callable[[], None]) -> LabelsById:
    method: AnsweringMethod = resolve("methods", str(model.setup))()
    labels: LabelsById = dict.fromkeys(instance.id for instance in instances)

    def keep(name: str, answer: Answer) -> None:
        labels[name] = answer.label

    questions = ((instance.id, method.answer(Subject(instance, model))) for instance in instances)
    ask_all(questions, keep, ended=advance)
    return labels
