"""The result of Recursive ROAR as it is stored in its folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from verax.store.artifact import read_json, write_json
from verax.types import Estimate, Performance, UserError

RESULT = "roar.json"
VERSION = 1


@dataclass(frozen=True, slots=True)
class RoarMeasure:
    """One importance measure.

    Args:
        signed: whether it distinguishes support from opposition.
        ratios: share of words masked at each point of the curve.
        curve: performance of the model trained at each point.
        acu, racu: areas against the random measure; racu is None with `reason` where it is not defined.
    """

    method: str
    name: str
    parameters: Mapping[str, Any]
    signed: bool
    ratios: tuple[float, ...]
    curve: tuple[Estimate, ...]
    acu: Estimate
    racu: Estimate | None
    reason: str | None
    n: int


@dataclass(frozen=True, slots=True)
class RoarResult:
    """A finished ROAR: one seed, all measures.

    Args:
        spec: the fields of the spec, defaults included.
        left_out: number of unreadable instances of each split, by reason.
        baseline: the label of the random measure, which is among the measures.
        majority: performance of always predicting the most frequent class of the training data.
        cost: trainings, optimiser steps, explanations, passes and seconds.
    """

    key: str
    spec: Mapping[str, Any]
    base: Mapping[str, str]
    metric: Performance
    instances: Mapping[str, int]
    left_out: Mapping[str, Mapping[str, int]]
    baseline: str
    majority: float
    measures: tuple[RoarMeasure, ...]
    cost: Mapping[str, float]


def has_result(folder: Path) -> bool:
    """Whether a folder holds a finished ROAR."""
    return (folder / RESULT).is_file()


def load_result(folder: Path) -> RoarResult:
    """The result of a finished ROAR."""
    path = folder / RESULT
    content = read_json(path)
    if content is None:
        raise UserError(f"{folder} holds no finished ROAR: it has no {RESULT}; run verax roar --out {folder}")
    version = content.pop("version", None)
    if isinstance(version, int) and version > VERSION:
        raise UserError(f"{path} has version {version}, and this verax reads versions up to {VERSION}: use a newer one")
    try:
        return RoarResult(**content | {"measures": tuple(map(_measure, content["measures"]))})
    except (KeyError, TypeError) as error:
        raise UserError(f"{path} is damaged: {error}") from None


def write_result(folder: Path, result: RoarResult) -> None:
    """Write a result to its folder."""
    content = {"version": VERSION, **asdict(result)}
    for measure in content["measures"]:
        measure["curve"] = [point._asdict() for point in measure["curve"]]
        measure |= {name: None if measure[name] is None else measure[name]._asdict() for name in ("acu", "racu")}
    write_json(folder / RESULT, content)


def _measure(plain: dict[str, Any]) -> RoarMeasure:
    estimates = {name: None if plain[name] is None else Estimate(**plain[name]) for name in ("acu", "racu")}
    curve = tuple(Estimate(**point) for point in plain["curve"])
    older = {"name": plain["method"], "parameters": {}}  # of results that stored the label alone
    return RoarMeasure(**older | plain | {"ratios": tuple(plain["ratios"]), "curve": curve, **estimates})
