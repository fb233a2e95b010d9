"""Sizes in the config of a checkpoint, compared with its weights before a model of these sizes is built.

A config that claims 10^9 layers or a hidden size of 10^9 would take hours or all memory before the weights, which
do not fit, are even read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from verax.models.load import WEIGHTS
from verax.types import UserError

_LONGEST_CONFIG = 2**24
_LAYERS = re.compile(r"(?:^|_)(?:layers?|blocks|depth)$")
_DIMENSIONS = re.compile(
    r"^(?:vocab_size|type_vocab_size|hidden_size|embedding_size|intermediate_size|d_model|d_ff|d_kv|dim|hidden_dim|"
    r"n_embd|n_inner|(?:encoder_|decoder_)?ffn_dim|num_labels|(?:num_|n_)?(?:attention_|key_value_)?heads?)$"
)
_POSITIONS = re.compile(r"positions?$|position_embeddings$")
_MOST_POSITIONS = 2 * 10**7


def check_sizes(field: str, name: str, folder: Path) -> None:
    """Reject a config whose numbers of layers or dimensions are beyond those of the weights, or that can't be read."""
    path = folder / "config.json"
    try:
        if path.stat().st_size > _LONGEST_CONFIG:
            raise ValueError(f"it has {path.stat().st_size} bytes")
        config = json.loads(path.read_bytes())
        problem = next(_problems(config, *_shape_of(sorted(folder.glob(WEIGHTS)))), None)
    except RecursionError:
        problem = "config.json is nested too deeply"
    except ValueError as error:
        problem = f"config.json is not JSON: {error}"
    except (SafetensorError, OSError) as error:
        problem = str(error)
    if problem:
        raise UserError(f"{field}: {name!r} can't be loaded: {problem}")


def _problems(config: Any, tensors: int, largest: int) -> Iterator[str]:
    """What is wrong with a config, given the number of tensors of the weights and their largest dimension."""
    if not isinstance(config, dict):
        yield "config.json is no object, so it is no config"
    for name, value in _integers(config):
        if value < 0 and (_LAYERS.search(name) or _DIMENSIONS.search(name)):
            yield f"config.json: {name} is {value}; it must be positive"
        elif _LAYERS.search(name) and value > tensors:
            yield f"config.json: {name} is {value}, and the weights hold {tensors} tensors"
        # somewhat larger ones are named by transformers, with the weights that do not fit
        elif _DIMENSIONS.search(name) and value > 4 * largest:
            yield f"config.json: {name} is {value}, and the largest dimension of the weights is {largest}"
        elif _POSITIONS.search(name) and value > _MOST_POSITIONS:
            yield f"config.json: {name} is {value}; at most {_MOST_POSITIONS} positions are supported"


def _shape_of(weights: Sequence[Path]) -> tuple[int, int]:
    """Number of tensors in the files, and the largest dimension of one."""
    tensors, largest = 0, 0
    for path in weights:
        with safe_open(path, "numpy") as file:
            shapes = [file.get_slice(name).get_shape() for name in file.keys()]  # noqa: SIM118 - no mapping
        tensors += len(shapes)
        largest = max((largest, *(size for shape in shapes for size in shape)))
    return tensors, largest


def _integers(config: Any, name: str = "") -> Iterator[tuple[str, int]]:
    """Every integer of a config with the name of its field."""
    if isinstance(config, dict):
        for key, value in config.items():
            yield from _integers(value, str(key))
    elif isinstance(config, list):
        for value in config:
            yield from _integers(value, name)
    elif isinstance(config, int) and not isinstance(config, bool):
        yield name, config
