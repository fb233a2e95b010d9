"""From the spec of a self-explaining model to its folder: prompts, one checkpoint or two, facts and a model card."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from verax.metrics.free_text.bleu import Bleu
from verax.models.load import checkpoint_folder, load_generator
from verax.models.self_explainer import FACTS, PROMPTS, SelfExplainer
from verax.models.wording import Wording, shipped_wording
from verax.run.plan import input_key
from verax.run.text_checkpoint import TextTraining, check_out, only_parts, read_json
from verax.run.text_figures import nle_figures
from verax.run.train_text_spec import NleSpec
from verax.run.training import Opened, open_any_splits, readable
from verax.store.files import replace_file
from verax.store.keys import key_of
from verax.train.nle import TEACHINGS, check_explanations, check_labels, nle_pairs
from verax.train.nle_card import nle_card
from verax.train.resume import FOLDER as RESUME
from verax.types import UserError


@dataclass(frozen=True)
class _Planned:
    """Everything about a training that is known before it."""

    spec: NleSpec
    data: Opened
    labels: tuple[str, ...]
    wording: Wording
    trainings: Mapping[str, TextTraining]

    @property
    def key(self) -> str:
        keys = {name: training.key for name, training in self.trainings.items()}
        return key_of(setup=self.spec.setup, labels=self.labels, wording=self.wording.hash, trainings=keys)


def train_nle(
    spec: NleSpec, out: Path, *, console: Console, announce: Callable[[Opened, int, int], None] = lambda *_: None
) -> dict[str, Any]:
    """Train the models of a self-explaining set-up; what is finished is left as it is, what was interrupted goes on.

    Args:
        out: the folder of the self-explaining model.
        announce: told the data, how many trainings there are and how many are finished, before anything is trained.

    Returns:
        The facts, as they stand in `nle.json`.
    """
    check_out(out)
    if spec.measure:
        Bleu().provenance  # noqa: B018 - what it needs is missing before the training, not after
    planned = _plan(spec, out)
    _refuse_another(planned, out)
    done = [training.finished() for training in planned.trainings.values()]
    announce(planned.data, len(done), sum(done))
    told: dict[str, dict[str, Any]] = {}
    for name, training in planned.trainings.items():
        if len(done) > 1:
            console.print(f"training the {name}", highlight=False)
        told[name] = training.run(console)
    facts = _written(planned, out, told)
    for training in planned.trainings.values():
        training.tidy()
    return facts


def _plan(spec: NleSpec, out: Path) -> _Planned:
    data = readable(open_any_splits(spec, spec.seed))
    labels = data.train.labels
    sets = [one for one in (data.train, data.validation, data.test) if one is not None]
    for one in sets:
        check_labels(one, labels)
        check_explanations(one)
    parts = only_parts(sets)
    wording = shipped_wording("trained", labels, parts) if spec.prompts is None else Wording.read(Path(spec.prompts))
    base = checkpoint_folder(spec.base, None)
    trainings = {}
    for name, stages in TEACHINGS[spec.setup].stages.items():
        wording.check(stages)
        train, validation = (
            nle_pairs(stages, one, labels, wording, spec.explanations) for one in (data.train, data.validation)
        )
        recipe = spec.recipe(seed=spec.seed)
        trainings[name] = TextTraining(out / name, base, spec.base, train, validation, recipe, spec.device, spec.weigh)
    return _Planned(spec, data, labels, wording, trainings)


def _refuse_another(planned: _Planned, out: Path) -> None:
    """A folder that holds anything else is left alone."""
    known = read_json(out / FACTS)
    others = {name for teaching in TEACHINGS.values() for name in teaching.stages} - planned.trainings.keys()
    there = any((out / name / what).exists() for name in others for what in ("config.json", RESUME))
    if (known and known.get("key") != planned.key) or there:
        raise UserError(f"{out} already holds another model; choose another --out")


def _written(planned: _Planned, out: Path, told: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The prompts, the model card and the facts; the facts last, since they say that it is finished."""
    spec, teaching = planned.spec, TEACHINGS[planned.spec.setup]
    splits = {"train": planned.data.train, "validation": planned.data.validation, "test": planned.data.test}
    facts = {
        "setup": spec.setup,
        "labels": list(planned.labels),
        "explainer": teaching.explainer,
        "predictor": teaching.predictor,
        "key": planned.key,
        "base": spec.base,
        "data": spec.data.name,
        "prompts": planned.wording.hash,
        "explanations": spec.explanations,
        "weigh": spec.weigh,
        "sizes": {name: len(data) for name, data in splits.items() if data is not None},
        "recipe": asdict(spec.recipe(seed=spec.seed)),
        "trainings": {
            name: {what: one[what] for what in ("pairs", "losses", "validation_losses", "best_epoch")}
            for name, one in told.items()
        },
        **_figures(planned, out),
    }
    replace_file(out / PROMPTS, planned.wording.text.encode())
    replace_file(out / "README.md", nle_card(out.name, facts).encode())
    replace_file(out / FACTS, json.dumps(facts, indent=1).encode())
    return facts


def _figures(planned: _Planned, out: Path) -> dict[str, Any]:
    """What was measured, by set, and the key of what it was measured on; as it was if that has not changed."""
    spec, data = planned.spec, planned.data
    sets = {"validation": data.validation} | ({} if data.test is None else {"test": data.test})
    asked = {name: one.instances[: spec.measure] for name, one in sets.items()}
    key = key_of(asked={name: [input_key(instance) for instance in some] for name, some in asked.items()})
    known = read_json(out / FACTS)
    if known.get("measured") == key:
        return {"measured": key, "figures": known["figures"]}
    if not spec.measure:
        return {"measured": key, "figures": {}}
    loaded = {name: load_generator(out / name, device=spec.device) for name in planned.trainings}
    explainer, predictor = (loaded[name] for name in TEACHINGS[spec.setup][:2])
    by = SelfExplainer(str(out), explainer, predictor, planned.labels, planned.wording, spec.setup)
    return {
        "measured": key,
        "figures": {name: asdict(nle_figures(by, one, spec.measure)) for name, one in sets.items()},
    }
