"""Agents of simulatability: classifiers of the explained model's architecture that learn to predict its classes."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import torch
from rich.console import Console
from tokenizers import AddedToken
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

from verax.models.checkpoint import load_base, max_length, quiet
from verax.models.classifier import Classifier
from verax.models.hf_classifier import HFClassifier
from verax.models.load import checkpoint_folder, fingerprint
from verax.store.artifact import read_json, write_json
from verax.store.keys import key_of
from verax.train.fine_tuning import fit_rows, predict
from verax.train.loop import FineTuning
from verax.train.resume import Resume
from verax.train.rows import encode
from verax.types import Dataset, Instance, Text, Undefined, UserError

VERSION = 1
OPEN, CLOSE = "<<", ">>"
RANKS = 64
"""Pieces with a higher rank share the last mark."""
_TRAINING_FACTS = "training.json"


def rank_mark(rank: int) -> str:
    """The token for the rank of the piece that a word belongs to; the best rank is 1."""
    return f"[#{min(rank, RANKS)}]"


@dataclass(frozen=True)
class AgentStart:
    """The untrained agent: the architecture of the explained model, never its weights.

    Args:
        folder: folder of the base, or of the explained checkpoint if the weights are random.
        name: the base as it was given; None if the weights are random.
    """

    folder: Path
    name: str | None
    key: str
    device: str
    labels: tuple[str, ...]

    def __str__(self) -> str:
        return "weights drawn anew in the architecture of the model" if self.name is None else self.name

    def load(self, seed: int) -> tuple[Any, Any]:
        """An untrained agent in float32 and its tokenizer, with tokens for the marks.

        All agents of a seed start from the same weights, whatever they learn.
        """
        if self.name is None:
            model, tokenizer = self._random(seed)
        else:
            model, tokenizer = load_base(self.folder, self.name, self.labels, seed=seed, device=self.device)
        marks = [OPEN, CLOSE, *(rank_mark(rank) for rank in range(1, RANKS + 1))]
        # a mark takes the blank before it along: a word keeps the one before itself, which BPE reads as part of it
        tokenizer.add_tokens([AddedToken(mark, lstrip=True, normalized=False) for mark in marks])
        with quiet(), torch.random.fork_rng():
            torch.manual_seed(seed)
            known = model.get_input_embeddings().num_embeddings
            model.resize_token_embeddings(max(known, len(tokenizer)), mean_resizing=False)
        return model, tokenizer

    def _random(self, seed: int) -> tuple[Any, Any]:
        """A model with the configuration of the checkpoint and random weights."""
        with quiet(), torch.random.fork_rng():
            torch.manual_seed(seed)
            config = AutoConfig.from_pretrained(self.folder, trust_remote_code=False)
            config.id2label = dict(enumerate(self.labels))
            config.label2id = {label: number for number, label in enumerate(self.labels)}
            model = AutoModelForSequenceClassification.from_config(config, dtype=torch.float32, trust_remote_code=False)
            tokenizer = AutoTokenizer.from_pretrained(self.folder, use_fast=True, trust_remote_code=False)
        return model.to(torch.device(self.device)), tokenizer

    @cached_property
    def reading(self) -> tuple[Any, int]:
        """The tokenizer of the agents, and the maximum number of tokens of an input."""
        model, tokenizer = self.load(0)
        return tokenizer, max_length(model.config, tokenizer)

    def check_length(self, texts: Sequence[str]) -> None:
        """Reject an input that is too long for the agents: truncation might remove the explanation."""
        tokenizer, longest = self.reading
        n = len(tokenizer(*texts, verbose=False)["input_ids"])
        if n > longest:
            raise Undefined("too_long", f"{n} tokens with the inserted explanation, the agents read {longest}")


def find_start(model: Classifier, base: str | None) -> AgentStart:
    """The start of the agents of a model: the given base, the base that the model was trained from, or random weights.

    It is loaded once, so that an unusable base is reported before anything is computed.
    """
    if not isinstance(model, HFClassifier):
        raise UserError(
            f"simulatability trains agents of the model's architecture, and {model.name!r} is a callable: give a "
            "checkpoint of a sequence classifier"
        )
    given = base if base is not None else _recorded_base(model)
    device = model.about["device"]
    if given is not None:
        try:
            folder = checkpoint_folder(given, None)
            hashes = fingerprint(folder)
        except UserError as error:
            raise UserError(f"simulatability: base: {error}") from error
        if hashes["weights"] == model.fingerprint["weights"]:
            raise UserError(
                f"simulatability: base: {given!r} is the explained model itself, which has nothing left to learn; name "
                "the checkpoint that it was fine-tuned from"
            )
        start = AgentStart(folder, given, key_of(base=hashes), device, model.labels)
    elif model.home is not None:
        start = AgentStart(Path(model.home), None, key_of(config_of=dict(model.fingerprint)), device, model.labels)
    else:
        raise UserError(
            "simulatability: base: the base of a model in memory is unknown; name the checkpoint that the agents start "
            "from"
        )
    tokenizer, _ = start.reading
    if tokenizer.pad_token_id is None:
        raise UserError(
            f"simulatability: the tokenizer of {given or model.name!r} has no padding token, which agents need"
        )
    return start


def _recorded_base(model: HFClassifier) -> str | None:
    """The base that `verax train` recorded for a checkpoint, if it is still available."""
    try:
        base = json.loads((Path(model.home or "") / _TRAINING_FACTS).read_bytes())["base"]
        weights = fingerprint(checkpoint_folder(base, None))["weights"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, UserError):
        return None
    return str(base) if weights != model.fingerprint["weights"] else None


class AgentInput(NamedTuple):
    """The text that an agent reads for an instance, part by part, and the class that the model predicts for it."""

    texts: tuple[str, ...]
    predicted: str


class AgentData(NamedTuple):
    """The inputs that an agent is trained on, those that select its best epoch, and those that it is tested on."""

    train: tuple[AgentInput, ...]
    dev: tuple[AgentInput, ...]
    held_out: tuple[AgentInput, ...]


@dataclass(frozen=True)
class Agent:
    """One agent, which is determined by its start, recipe and data."""

    start: AgentStart
    recipe: FineTuning
    data: AgentData
    folder: Path

    @cached_property
    def key(self) -> str:
        """The hash of everything that determines its answers."""
        return key_of(
            version=VERSION,
            start=self.start.key,
            recipe=self.recipe.as_dict(),
            labels=self.start.labels,
            lessons=[[[list(x.texts), x.predicted] for x in part] for part in self.data],
        )

    def answers(self) -> tuple[int, ...] | None:
        """The index of the class that it predicts for each held-out input; None if it is not trained yet."""
        stored = read_json(self._answers)
        return None if stored is None else tuple(stored["named"])

    def train(self, on_epoch: Callable[[int], None] = lambda _: None) -> None:
        """Train the agent and store its answers alone; an interrupted training continues."""
        model, tokenizer = self.start.load(self.recipe.seed)
        train, dev, held_out = (encode(model, tokenizer, _dataset(part, self.start.labels)) for part in self.data)
        options: dict[str, Any] = {"resume": self._resume, "console": Console(quiet=True), "on_epoch": on_epoch}
        trained, _ = fit_rows(model, tokenizer, train, dev, "macro_f1", self.recipe, **options)
        names = model.config.id2label
        predicted = [self.start.labels.index(names[i]) for i in predict(model, tokenizer, held_out).tolist()]
        answers = {"named": predicted, "best_epoch": trained.best["none"], "dev_macro_f1": trained.curves["none"]}
        write_json(self._answers, answers)
        self.remove_state()

    def remove_state(self) -> None:
        """Remove the state that an interrupted training continues from."""
        self._resume.remove()

    def remove_other_states(self, wanted: Collection[str]) -> None:
        """Remove the states of agents of the same folder that are no longer wanted, given the keys of those that are.

        An interrupted training with other data or another recipe is never continued.
        """
        for folder in self.folder.glob("*.resume"):
            if folder.stem not in wanted:
                Resume(folder, folder.stem).remove()

    @property
    def _answers(self) -> Path:
        return self.folder / f"{self.key}.json"

    @property
    def _resume(self) -> Resume:
        return Resume(self.folder / f"{self.key}.resume", self.key)


def _dataset(part: Sequence[AgentInput], labels: Sequence[str]) -> Dataset:
    """The inputs as instances whose label is the class that the model predicts."""
    instances = (
        Instance(str(number), tuple(Text(text, (), ()) for text in x.texts), x.predicted)
        for number, x in enumerate(part)
    )
    return Dataset("inputs of the agents", tuple(instances), tuple(labels))
