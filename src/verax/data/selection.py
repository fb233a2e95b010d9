"""Some of the inputs of a dataset: a random sample, a random order, the first ones. Translations stay together."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from verax.types import Dataset, Instance, UserError


def draw_sample(dataset: Dataset, size: int, seed: int) -> Dataset:
    """Draw inputs at random, without replacement; translations of one input stay together, and the order stays.

    A larger sample by the same seed contains a smaller one. All inputs if there are no more.
    """
    if size < 1:
        raise UserError(f"sample: expected at least 1, got {size}")
    inputs = _shuffled_inputs(dataset, seed)
    drawn = f"{min(size, len(inputs))} of {len(inputs)}, seed {seed}"
    return replace(_only(dataset, inputs[:size]), provenance={**dataset.provenance, "sample": drawn})


def in_random_order(dataset: Dataset, seed: int) -> Dataset:
    """The inputs in random order; translations of one input stay together, in their own order."""
    place = {name: number for number, name in enumerate(_shuffled_inputs(dataset, seed))}
    ordered = tuple(sorted(dataset.instances, key=lambda one: place[_input(one)]))
    return replace(dataset, instances=ordered, provenance={**dataset.provenance, "order": f"random, seed {seed}"})


def first_inputs(dataset: Dataset, size: int) -> Dataset:
    """The first inputs, with all their translations."""
    return _only(dataset, input_names(dataset)[:size])


def input_names(dataset: Dataset) -> list[str]:
    """The inputs of the data, in order; translations of one input count once."""
    return list(dict.fromkeys(map(_input, dataset.instances)))


def _shuffled_inputs(dataset: Dataset, seed: int) -> list[str]:
    """The inputs of the data in random order."""
    inputs = input_names(dataset)
    return [inputs[i] for i in np.random.default_rng(seed).permutation(len(inputs))]


def _only(dataset: Dataset, inputs: Collection[str]) -> Dataset:
    kept = set(inputs)
    return replace(dataset, instances=tuple(one for one in dataset.instances if _input(one) in kept))


def _input(instance: Instance) -> str:
    return instance.parallel_id or instance.id
