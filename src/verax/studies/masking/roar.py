"""Recursive ROAR as recursive masking: the same curves and tables, with a new model at each point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from verax.registry import display_names
from verax.results.roar import RoarResult, load_result
from verax.results.run import Run
from verax.results.study import Findings
from verax.studies.masking import STUDY
from verax.studies.masking.analysis import METRIC, analyse, averaged
from verax.studies.masking.curves import MaskingCurve, MaskingCurves, MaskingResult, paper_name
from verax.types import UserError

NOTE = (
    "ROAR: each point is a different model, trained on inputs masked like those it is evaluated on. An explanation of "
    "the gold class leaks the label into what it leaves (docs/roar.md)."
)
_MAY_DIFFER = {"seed", "device", "micro_batch", "save_every"}


def roar_findings(folders: Sequence[Path]) -> Findings:
    """Tables and figures of a finished ROAR, or of several that differ in their seed."""
    result = masking_of({folder: load_result(folder) for folder in folders})
    return Findings(STUDY, tuple(STUDY.tables(result)), tuple(STUDY.figures(result)), (), (NOTE,))


def masking_of(results: Mapping[Path, RoarResult]) -> MaskingResult:
    """The curves of one ROAR, with intervals over instances; of several, means and intervals over their seeds."""
    _require_same(results)
    curves = [_curves(result) for result in results.values()]
    return MaskingResult((curves[0] if len(curves) == 1 else averaged(curves[0].name, curves),))


def findings_with_roar(runs: Sequence[Run], folders: Sequence[Path]) -> Findings:
    """Findings of runs under recursive masking, with RACU by the Recursive ROAR in these folders next to theirs."""
    result = analyse(runs)
    if result is None:
        raise UserError(f"{runs[0].folder} has no scores of {METRIC} that a ROAR could be compared with")
    return STUDY.findings_of(with_roar(result, {folder: load_result(folder) for folder in folders}))


def with_roar(result: MaskingResult, results: Mapping[Path, RoarResult]) -> MaskingResult:
    """The result with RACU by Recursive ROAR for the measures that both have, matched by data set and display name."""
    by_data: dict[tuple[str, ...], dict[Path, RoarResult]] = {}
    for folder, roar in results.items():
        by_data.setdefault(_data_names(roar), {})[folder] = roar
    groups = list(result.groups)
    for names, members in by_data.items():
        places = [i for i, group in enumerate(groups) if group.data in names]
        if not places:
            measured = ", ".join(dict.fromkeys(group.data for group in groups))
            raise UserError(
                f"{next(iter(members))}: a ROAR on {' and '.join(names)} can't be compared with runs on {measured}"
            )
        (curves,) = masking_of(members).groups
        racu = {curves.shown(curve.method): curve.racu for curve in curves.curves if curve.method != curves.baseline}
        measures = dict.fromkeys(groups[i].shown(one.method) for i in places for one in groups[i].curves)
        if not measures.keys() & racu.keys():
            raise UserError(
                f"{next(iter(members))}: none of its measures ({', '.join(racu)}) is among those of the runs "
                f"({', '.join(measures)})"
            )
        for i in places:
            rows = [replace(one, roar=racu.get(groups[i].shown(one.method))) for one in groups[i].curves]
            groups[i] = replace(groups[i], curves=tuple(rows))
    return replace(result, groups=tuple(groups))


def _data_names(result: RoarResult) -> tuple[str, ...]:
    """The data sets that a ROAR was trained and tested on."""
    given = [result.spec[name] for name in ("data", "test")]
    return tuple(dict.fromkeys(str(data["name"]) for data in given if data is not None))


def _require_same(results: Mapping[Path, RoarResult]) -> None:
    """Refuse results that differ in more than their seed, and say in what."""
    (first, one), *others = results.items()
    for folder, other in others:
        for name, value in _facts(one).items():
            if value != _facts(other)[name]:
                raise UserError(f"{first} and {folder} can't be averaged: {name} is not the same")
    seeds = [result.spec["seed"] for result in results.values()]
    if len(set(seeds)) < len(seeds):
        raise UserError(f"{first} can't be averaged with a ROAR of the same seed")


def _facts(result: RoarResult) -> dict[str, Any]:
    spec = {name: value for name, value in result.spec.items() if name not in _MAY_DIFFER}
    return {**spec, "base": dict(result.base), "the number of instances": dict(result.instances)}


def _curves(result: RoarResult) -> MaskingCurves:
    shared = ("method", "signed", "curve", "acu", "racu", "reason", "n")
    measures = [
        MaskingCurve(
            metric=result.metric, skipped=0, over="instances", **{field: getattr(measure, field) for field in shared}
        )
        for measure in result.measures
    ]
    shown = display_names("methods", [(measure.name, measure.parameters) for measure in result.measures])
    display = {
        measure.method: paper_name(name) if shown.count(name) == 1 else measure.method
        for measure, name in zip(measures, shown, strict=True)
    }
    return MaskingCurves(
        str(result.spec["data"]["name"]), result.baseline, result.majority, tuple(measures), display=display
    )
