"""The result of Recursive ROAR as it is kept in its folder: read without torch, for tables and figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from verax.store.artifact import read_json, write_json
from verax.types import Estimate, MaskingCurve, MaskingCurves, Performance, UserError

RESULT = "roar.json"
VERSION = 1


@dataclass(frozen=True, slots=True)
class RoarMeasure:
    """One importance measure.

    Args:
        name: the registered name of the method.
        parameters: all of its parameters, in plain values.
        curve: performance while words are masked, one newly trained model for each point, with its areas; intervals
            are over test instances.
    """

    name: str
    parameters: Mapping[str, Any]
    curve: MaskingCurve


@dataclass(frozen=True, slots=True)
class RoarResult:
    """A finished ROAR: one seed, all measures.

    Args:
        key: the hash of everything that determines the result.
        spec: the fields of the spec, defaults included: base, data, methods, steps, seed, ...
        base: hashes of the weights and tokenizer that every training starts from.
        metric: how performance is measured.
        instances: number of instances in each split.
        left_out: for each split how many instances can't be read, by reason.
        baseline: the label of the random measure.
        majority: performance of always predicting the most frequent class.
        measures: the random one among them.
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

    @property
    def seed(self) -> int:
        """The seed of the trainings."""
        return int(self.spec["seed"])

    @property
    def curves(self) -> MaskingCurves:
        """The same as what recursive masking gives for a run."""
        return MaskingCurves(self.baseline, self.majority, tuple(measure.curve for measure in self.measures))


def has_result(folder: Path) -> bool:
    """Whether a folder holds a finished ROAR."""
    return (folder / RESULT).is_file()


def load_result(folder: Path) -> RoarResult:
    """The result of a finished ROAR."""
    path = folder / RESULT
    content = read_json(path)
    if content is None:
        raise UserError(f"{folder} holds no finished ROAR: there is no {RESULT}; verax roar --out {folder} makes it")
    version = content.pop("version", None)
    if isinstance(version, int) and version > VERSION:
        raise UserError(f"{path} has version {version}, and this verax reads versions up to {VERSION}: use a newer one")
    try:
        measures = tuple(_measure(measure, content["metric"]) for measure in content.pop("measures"))
        return RoarResult(**content, measures=measures)
    except (KeyError, TypeError) as error:
        raise UserError(f"{path} is damaged: {error}") from None


def write_result(folder: Path, result: RoarResult) -> None:
    """Keep a result in its folder."""
    plain = asdict(result)
    plain["measures"] = [_plain(measure) for measure in result.measures]
    write_json(folder / RESULT, {"version": VERSION, **plain})


def _plain(measure: RoarMeasure) -> dict[str, Any]:
    curve = measure.curve
    return {
        "method": curve.method,
        "name": measure.name,
        "parameters": dict(measure.parameters),
        "signed": curve.signed,
        "ratios": curve.ratios,
        "curve": [point._asdict() for point in curve.curve],
        "acu": curve.acu._asdict(),
        "racu": None if curve.racu is None else curve.racu._asdict(),
        "reason": curve.reason,
        "n": curve.n,
    }


def _measure(plain: Mapping[str, Any], metric: Performance) -> RoarMeasure:
    curve = MaskingCurve(
        method=plain["method"],
        metric=metric,
        curve=tuple(Estimate(**point) for point in plain["curve"]),
        acu=Estimate(**plain["acu"]),
        racu=None if plain["racu"] is None else Estimate(**plain["racu"]),
        reason=plain["reason"],
        signed=plain["signed"],
        n=plain["n"],
        skipped=0,
        over="instances",
    )
    # results of before they had names know the label alone
    return RoarMeasure(plain.get("name", plain["method"]), plain.get("parameters", {}), curve)
