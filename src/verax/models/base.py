"""A checkpoint as the start of fine-tuning: its encoder, with a new head unless it has one for the classes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

from verax.models.checkpoint import first_line, quiet
from verax.models.load import fingerprint
from verax.types import UserError

_HEADS = ("classifier", "pre_classifier", "score", "classification_head")
_MAY_BE_NEW = (*_HEADS, "pooler")


def load_base(folder: Path, name: str, labels: Sequence[str], *, seed: int, device: str = "cpu") -> tuple[Any, Any]:
    """A model with these classes, ready to be trained, and its tokenizer.

    An existing head is kept if its classes have the same names, in any order; otherwise a new one is initialised.

    Args:
        folder: holds the checkpoint, as safetensors.
        name: as the user gave it.
        labels: names of the classes.
        seed: of the new head.
    """
    fingerprint(folder)  # rejects a folder without weights or tokenizer
    try:
        with quiet(), torch.random.fork_rng():
            torch.manual_seed(seed)
            config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
            known = [str(config.id2label[i]) for i in range(config.num_labels)]
            fits = sorted(known) == sorted(labels)
            numbered = dict(enumerate(known if fits else labels))
            model, info = AutoModelForSequenceClassification.from_pretrained(
                folder,
                dtype=torch.float32,
                use_safetensors=True,
                trust_remote_code=False,
                num_labels=len(labels),
                id2label=numbered,
                label2id={label: number for number, label in numbered.items()},
                ignore_mismatched_sizes=True,
                output_loading_info=True,
            )
            if not fits:
                _renew_head(model)
            tokenizer = AutoTokenizer.from_pretrained(folder, use_fast=True, trust_remote_code=False)
    except (OSError, ValueError, KeyError, RuntimeError, ImportError, SafetensorError) as error:
        raise UserError(f"base: {name!r} can't be loaded: {first_line(error)}") from error
    lost = sorted(key for key in info["missing_keys"] if not _may_be_new(key))
    if lost:
        raise UserError(
            f"base: {name!r} lacks the weights {', '.join(lost[:3])}: it is no checkpoint of its own config"
        )
    other = sorted(key for key, *_ in info["mismatched_keys"] if not _may_be_new(key))
    if other:
        raise UserError(
            f"base: {name!r} has the weights {', '.join(other[:3])} in another shape than its config says: one of the "
            "two is of another model"
        )
    if not getattr(tokenizer, "is_fast", False):
        raise UserError(f"base: the tokenizer of {name!r} is a slow one; verax needs a fast one")
    try:
        return model.to(torch.device(device)), tokenizer
    except (RuntimeError, AssertionError) as error:
        raise UserError(f"device: {device!r} can't be used: {first_line(error)}") from error


def _may_be_new(key: str) -> bool:
    """Whether fine-tuning may start without a trained weight of this name."""
    return any(piece in _MAY_BE_NEW for piece in key.split("."))


@torch.no_grad()
def _renew_head(model: Any) -> None:
    """Initialise the weights of the head as the architecture does for a new model."""
    for name in _HEADS:
        head = getattr(model, name, None)
        for module in head.modules() if head is not None else ():
            for weight in module.parameters(recurse=False):
                weight._is_hf_initialized = False  # transformers does not initialise weights marked as loaded
            model._init_weights(module)
