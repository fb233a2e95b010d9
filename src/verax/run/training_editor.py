"""From the spec of an editor to its folder: the classes of the inputs, the checkpoint, facts and a model card."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from transformers import AutoTokenizer

from verax.models.checkpoint import quiet
from verax.models.editor_wording import FACTS, EditorFacts, editor_facts
from verax.models.load import checkpoint_folder, fingerprint
from verax.models.self_explainer import load_self_explainer
from verax.run.text_checkpoint import TextTraining, check_out, only_parts, read_json
from verax.run.text_figures import predicted_labels
from verax.run.train_text_spec import EditorSpec
from verax.run.training import Opened, open_any_splits, readable
from verax.store.files import replace_file
from verax.train.editor import editor_pairs
from verax.train.nle import check_labels
from verax.train.nle_card import training_tables
from verax.types import Dataset, UserError


def train_editor(
    spec: EditorSpec, out: Path, *, console: Console, announce: Callable[[Opened, int, int], None] = lambda *_: None
) -> dict[str, Any]:
    """Train an editor; one that is finished is left as it is, one that was interrupted goes on.

    Args:
        out: the folder of the editor.
        announce: told the data, that there is one training, and whether it is finished, before anything is trained.

    Returns:
        The facts, as they stand in `editor.json`.
    """
    check_out(out)
    data = readable(open_any_splits(spec, spec.seed))
    sets = [data.train, data.validation]
    if spec.labels_by is None:
        for one in sets:
            check_labels(one, data.train.labels)
    base = checkpoint_folder(spec.base, None)
    fingerprint(base)  # refuses a folder that lacks weights or tokenizer
    with quiet():
        tokenizer = AutoTokenizer.from_pretrained(base, use_fast=True, trust_remote_code=False)
    facts = editor_facts(data.train.labels, only_parts(sets), tokenizer)
    pairs = [
        editor_pairs(facts, one, classes, masks=spec.masks, seed=spec.seed)
        for one, classes in zip(sets, _classes(spec, sets), strict=True)
    ]
    training = TextTraining(out, base, spec.base, pairs[0], pairs[1], spec.recipe(seed=spec.seed), spec.device)
    known = read_json(out / FACTS)
    if known and known.get("key") != training.key:
        raise UserError(f"{out} already holds another model; choose another --out")
    announce(data, 1, int(training.finished()))
    return _written(spec, out, data, facts, training.run(console))


def _classes(spec: EditorSpec, sets: Sequence[Dataset]) -> list[dict[str, str]]:
    """The class of each input of each set by its id: as the data says, or as a self-explaining model predicts."""
    if spec.labels_by is None:
        return [{instance.id: str(instance.label) for instance in one.instances} for one in sets]
    by = load_self_explainer(spec.labels_by, labels=sets[0].labels, parts=only_parts(sets), device=spec.device)
    if by.setup is None:
        raise UserError(f"labels_by: {spec.labels_by!r} was not made by verax train nle")
    return [predicted_labels(by, one) for one in sets]


def _written(
    spec: EditorSpec, out: Path, data: Opened, editor: EditorFacts, trained: Mapping[str, Any]
) -> dict[str, Any]:
    """The model card and the facts; the facts last, since they say that it is finished."""
    facts = {
        **asdict(editor),
        "labels": list(editor.labels),
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
