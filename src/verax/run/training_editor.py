"""From the spec of an editor to its folder: the classes of the inputs, the checkpoint, facts and a model card."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from rich.console import Console
from transformers import AutoTokenizer

from verax.models.checkpoint import quiet
from verax.models.editor_wording import FACTS, EditorFacts, editor_facts
from verax.models.load import checkpoint_folder, fingerprint
from verax.models.self_explainer import FACTS as SELF_EXPLAINING
from verax.run.plan import input_key
from verax.run.predicted_labels import PredictedLabels
from verax.run.text_checkpoint import VERSION, TextTraining, check_out, only_parts, read_json
from verax.run.train_text_spec import EditorSpec
from verax.run.trained import FACTS as TRAINED
from verax.run.trained import read_facts
from verax.run.training import Opened, open_any_splits, readable
from verax.store.files import replace_file
from verax.store.keys import key_of
from verax.train.editor import editor_pairs
from verax.train.nle import check_labels
from verax.train.nle_card import training_tables
from verax.train.resume import FOLDER as RESUME
from verax.train.resume import Resume
from verax.types import Dataset, UserError

_LABELS = "labels.json"


@dataclass(frozen=True)
class _Planned:
    """Everything about a training that is known before any class is predicted."""

    spec: EditorSpec
    out: Path
    data: Opened
    base: Path
    facts: EditorFacts
    predicted: PredictedLabels | None

    @property
    def sets(self) -> tuple[Dataset, Dataset]:
        """For training and for validation."""
        return self.data.train, self.data.validation

    @cached_property
    def key(self) -> str:
        """The hash of everything that decides the editor."""
        return key_of(
            version=VERSION,
            base=fingerprint(self.base),
            recipe=asdict(self.spec.recipe(seed=self.spec.seed)),
            editor=asdict(self.facts),
            masks=self.spec.masks,
            inputs=[[input_key(instance) for instance in one.instances] for one in self.sets],
            labels=None if self.predicted is None else self.predicted.key,
        )

    def training(self, classes: Sequence[Mapping[str, str]]) -> TextTraining:
        """The training on the classes of the inputs of each set, by their ids."""
        spec = self.spec
        train, validation = (
            editor_pairs(self.facts, one, labels, masks=spec.masks, seed=spec.seed)
            for one, labels in zip(self.sets, classes, strict=True)
        )
        recipe = spec.recipe(seed=spec.seed)
        return TextTraining(self.out, self.base, spec.base, train, validation, recipe, spec.device)


def train_editor(
    spec: EditorSpec, out: Path, *, console: Console, announce: Callable[[Opened, int, int], None] = lambda *_: None
) -> dict[str, Any]:
    """Train an editor; one that is finished is left as it is, one that was interrupted goes on.

    Args:
        out: the folder of the editor.
        announce: told the data, that there is one training, and whether it is finished, before anything is asked or
            trained.

    Returns:
        The facts, as they stand in `editor.json`.
    """
    check_out(out)
    planned = _plan(spec, out)
    if _finished(planned):
        announce(planned.data, 1, 1)
        Resume(out / RESUME, "").remove()  # a kill may have come between the last file and this
        return read_json(out / FACTS)
    if planned.predicted is None:
        training = planned.training([{one.id: str(one.label) for one in several.instances} for several in planned.sets])
        announce(planned.data, 1, int(training.finished()))
    else:
        _refuse_another(out, planned.predicted)
        announce(planned.data, 1, int(bool(read_facts(out))))
        training = planned.training(planned.predicted.ask(console))
    facts = _written(planned, training.run(console))
    training.tidy()
    return facts


def _plan(spec: EditorSpec, out: Path) -> _Planned:
    data = readable(replace(open_any_splits(spec, spec.seed), test=None))  # nothing is measured on a test set
    sets = [data.train, data.validation]
    if spec.labels_by is None:
        for one in sets:
            check_labels(one, data.train.labels)
    base = checkpoint_folder(spec.base, None)
    fingerprint(base)  # refuses a folder that lacks weights or tokenizer
    with quiet():
        tokenizer = AutoTokenizer.from_pretrained(base, use_fast=True, trust_remote_code=False)
    facts = editor_facts(data.train.labels, only_parts(sets), tokenizer)
    predicted = None
    if spec.labels_by is not None:
        predicted = PredictedLabels(out / RESUME / _LABELS, spec.labels_by, sets, spec.device)
    return _Planned(spec, out, data, base, facts, predicted)


def _finished(planned: _Planned) -> bool:
    """Whether the folder holds this very editor; one that holds another is refused."""
    known = read_json(planned.out / FACTS)
    if known and known.get("asked") != planned.key:
        raise UserError(f"{planned.out} already holds another model; choose another --out")
    return bool(known)


def _refuse_another(out: Path, predicted: PredictedLabels) -> None:
    """Refuse a folder that holds anything else before hours go into predictions; of our own some would be kept."""
    there = [out / "config.json", out / TRAINED, out / SELF_EXPLAINING, predicted.file]
    if any(path.exists() for path in (*there, *(out / RESUME).glob("*.safetensors"))) and not predicted.begun():
        raise UserError(f"{out} already holds another model, or the beginning of one; choose another --out")


def _written(planned: _Planned, trained: Mapping[str, Any]) -> dict[str, Any]:
    """The model card and the facts; the facts last, since they say that it is finished."""
    spec, out, data = planned.spec, planned.out, planned.data
    facts = {
        **asdict(planned.facts),
        "labels": list(planned.facts.labels),
        "asked": planned.key,
        "key": trained["key"],
        "base": spec.base,
        "data": spec.data.name,
        "labels_by": spec.labels_by,
        "masks": spec.masks,
        "sizes": {"train": len(data.train), "validation": len(data.validation)},
        "recipe": trained["recipe"],
        "trainings": {".": {what: trained[what] for what in ("pairs", "losses", "validation_losses", "best_epoch")}},
    }
    replace_file(out / "README.md", _card(out.name, facts).encode())
    replace_file(out / FACTS, json.dumps(facts, indent=1).encode())
    return facts


def _card(name: str, facts: Mapping[str, Any]) -> str:
    given = "that the data gives" if facts["labels_by"] is None else f"that `{facts['labels_by']}` predicts"
    lines = [
        f"# {name}",
        "",
        f"`{facts['base']}`, fine-tuned on `{facts['data']}` by `verax train editor`. It puts one to three words into "
        f"an input, so that they fit a class: {', '.join(facts['labels'])}. It learned to write masked words, given "
        f"the class {given}.",
        "",
        f"Its prompt is `{facts['prompt']}`, and `{facts['mark']}` stands for the words.",
        "",
        *training_tables(facts["sizes"], facts["trainings"], facts["recipe"]),
    ]
    return "\n".join(lines)
