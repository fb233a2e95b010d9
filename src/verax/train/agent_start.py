"""What the agents of simulatability start from: the architecture of the explained model, and never its weights."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from tokenizers import AddedToken
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

from verax.models.base import load_base
from verax.models.checkpoint import quiet
from verax.models.classifier import Classifier
from verax.models.hf_classifier import HFClassifier
from verax.models.hf_encoder import max_length
from verax.models.load import checkpoint_folder, fingerprint
from verax.store.keys import key_of
from verax.types import Undefined, UserError

OPEN, CLOSE = "<<", ">>"
RANKS = 64
"""Pieces that are ranked later than this share the last mark."""
_STORY = "training.json"
"""Where `verax train` tells what a checkpoint was made from."""


def rank_mark(rank: int) -> str:
    """The token that says which piece a word belongs to, the best being 1."""
    return f"[#{min(rank, RANKS)}]"


@dataclass(frozen=True)
class Start:
    """Where the training of an agent begins.

    Args:
        folder: of the base; of the explained checkpoint if weights are drawn anew.
        name: of the base, as it was given; None: weights are drawn anew.
        key: the hash of what decides the starting weights, beside the seed.
        device: that of the explained model.
        labels: names of the explained model's classes.
    """

    folder: Path
    name: str | None
    key: str
    device: str
    labels: tuple[str, ...]

    def __str__(self) -> str:
        return "weights drawn anew in the architecture of the model" if self.name is None else self.name

    def load(self, seed: int) -> tuple[Any, Any]:
        """An agent to be trained, in float32, and its tokenizer, which knows the symbols.

        All agents of a seed start from the same weights, whatever they are going to be shown.
        """
        if self.name is None:
            model, tokenizer = _drawn_anew(self.folder, self.labels, seed, self.device)
        else:
            model, tokenizer = load_base(self.folder, self.name, self.labels, seed=seed, device=self.device)
        symbols = [OPEN, CLOSE, *(rank_mark(rank) for rank in range(1, RANKS + 1))]
        # a symbol takes the blank before it along: a word keeps the one before itself, which BPE reads as part of it
        tokenizer.add_tokens([AddedToken(symbol, lstrip=True, normalized=False) for symbol in symbols])
        with quiet(), torch.random.fork_rng():
            torch.manual_seed(seed)
            known = model.get_input_embeddings().num_embeddings
            model.resize_token_embeddings(max(known, len(tokenizer)), mean_resizing=False)
        return model, tokenizer

    @cached_property
    def reading(self) -> tuple[Any, int]:
        """The tokenizer of the agents, and how many tokens they read."""
        model, tokenizer = self.load(0)
        return tokenizer, max_length(model.config, tokenizer)

    def check_length(self, texts: Sequence[str]) -> None:
        """Refuse an input that is too long for the agents: what is cut off might be the explanation."""
        tokenizer, namespace = self.reading
        n = len(tokenizer(*texts, verbose=False)["input_ids"])
        if n > namespace:
            raise Undefined("too_long", f"{n} tokens with the explanation written in, the agents read {namespace}")


def find_start(model: Classifier, base: str | None) -> Start:
    """The start for agents of a model: the base that is given, the one that it was made from, or none.

    It is loaded once, so that whatever can't be used is told before anything is computed.
    """
    if not isinstance(model, HFClassifier):
        raise UserError(
            f"simulatability trains agents of the model's architecture, and {model.name!r} is a callable: give a "
            "checkpoint of a sequence classifier"
        )
    given = base if base is not None else _made_from(model)
    if given is None:
        if model.home is None:
            raise UserError(
                "simulatability: base: a model in memory does not tell where it was made from; name the checkpoint "
                "that the agents start from"
            )
        start = Start(
            Path(model.home), None, key_of(config_of=dict(model.fingerprint)), model.about["device"], model.labels
        )
    else:
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
        start = Start(folder, given, key_of(base=hashes), model.about["device"], model.labels)
    tokenizer, _ = start.reading
    if tokenizer.pad_token_id is None:
        raise UserError(f"simulatability: the tokenizer of {given or model.name!r} has no padding token, so no agent")
    return start


def _made_from(model: HFClassifier) -> str | None:
    """The base that a checkpoint was trained from by verax, if it still is to be had."""
    try:
        base = json.loads((Path(model.home or "") / _STORY).read_bytes())["base"]
        weights = fingerprint(checkpoint_folder(base, None))["weights"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, UserError):
        return None
    return str(base) if weights != model.fingerprint["weights"] else None


def _drawn_anew(folder: Path, labels: Sequence[str], seed: int, device: str) -> tuple[Any, Any]:
    """A model by the config of a checkpoint, without its weights."""
    with quiet(), torch.random.fork_rng():
        torch.manual_seed(seed)
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
        config.id2label = dict(enumerate(labels))
        config.label2id = {label: number for number, label in enumerate(labels)}
        model = AutoModelForSequenceClassification.from_config(config, dtype=torch.float32, trust_remote_code=False)
        tokenizer = AutoTokenizer.from_pretrained(folder, use_fast=True, trust_remote_code=False)
    return model.to(torch.device(device)), tokenizer
