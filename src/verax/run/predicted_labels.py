"""The classes that a self-explaining model predicts for the inputs of a training, kept so that none is asked twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from rich.console import Console

from verax.engine.protocols import Answer, AnsweringMethod
from verax.models.self_explainer import SelfExplainer, is_trained, load_self_explainer, trained_fingerprint
from verax.registry import resolve
from verax.run.plan import input_key
from verax.run.progress import progress_counter
from verax.run.text_checkpoint import only_parts, read_json
from verax.run.text_figures import ask_each
from verax.store.files import replace_file
from verax.store.keys import key_of
from verax.types import Dataset, Instance, UserError

AT_A_TIME = 4096
"""So many inputs are asked about between two writings of the file."""

Labels = dict[str, str | None]
"""The predicted class of each input by its id; None where the model gives no answer."""


@dataclass(frozen=True)
class PredictedLabels:
    """What a model predicts for some sets.

    Args:
        file: where it is kept; what another model said, or of other inputs, is not taken from it.
        by: a folder made by `verax train nle`.
        sets: the inputs.
        device: where the model runs.
    """

    file: Path
    by: str
    sets: Sequence[Dataset]
    device: str

    def __post_init__(self) -> None:
        if not is_trained(self.by):
            raise UserError(f"labels_by: {self.by!r} was not made by verax train nle")

    @cached_property
    def key(self) -> str:
        """The hash of everything that decides them; the model need not be loaded for that."""
        inputs = [[input_key(instance) for instance in one.instances] for one in self.sets]
        return key_of(by=trained_fingerprint(self.by), inputs=inputs)

    def begun(self) -> bool:
        """Whether some of these very predictions are kept."""
        return read_json(self.file).get("key") == self.key

    def ask(self, console: Console) -> list[dict[str, str]]:
        """For each set the predicted class of each input by its id, as far as the model answers."""
        found: list[Labels] = read_json(self.file)["labels"] if self.begun() else [{} for _ in self.sets]
        left = [
            [instance for instance in one.instances if instance.id not in labels]
            for one, labels in zip(self.sets, found, strict=True)
        ]
        if any(left):
            by = load_self_explainer(
                self.by, labels=self.sets[0].labels, parts=only_parts(self.sets), device=self.device
            )
            with progress_counter("predicting classes", sum(map(len, left)), console) as count:
                for instances, labels in zip(left, found, strict=True):
                    for start in range(0, len(instances), AT_A_TIME):
                        labels.update(_predicted(by, instances[start : start + AT_A_TIME], count))
                        self._keep(found)
        return [{name: label for name, label in labels.items() if label is not None} for labels in found]

    def _keep(self, found: Sequence[Labels]) -> None:
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            replace_file(self.file, json.dumps({"key": self.key, "labels": found}).encode())
        except OSError as error:
            raise UserError(f"--out: {self.file.parent} can't be written to: {error.strerror}") from error


def _predicted(by: SelfExplainer, instances: Sequence[Instance], count: Callable[[], None]) -> Labels:
    setup: AnsweringMethod = resolve("methods", str(by.setup))()
    found: Labels = dict.fromkeys(instance.id for instance in instances)

    def keep(instance: Instance, said: Answer) -> None:
        found[instance.id] = said.label

    ask_each(by, instances, setup.answer, keep, count)
    return found
