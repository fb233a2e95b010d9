"""The figure of the unified framework: a panel for each property, the difference from random in each row."""

from __future__ import annotations

from collections.abc import Sequence

from verax.results.figure import AnyMark, Dot, Figure, Panel, Rule, Scale, Series, Shape
from verax.studies.unified.analysis import Property, PropertyName, Unified, UnifiedRun
from verax.studies.unified.tables import BASE_NAMES, KIND_NAMES, titles
from verax.types import Base

_SHAPES: dict[Base, Shape] = {
    "shapley": "circle",
    "attention": "square",
    "integrated_gradients": "triangle",
    "random": "cross",
}
_UNITS: dict[PropertyName, str] = {
    "comprehensiveness": "predictions flipped",
    "sufficiency": "predictions kept",
    "agreement_of_words": "average precision",
    "agreement_of_pairs": "average precision",
    "simulatability": "RSF, in F1",
    "complexity": "entropy, inverted",
}


def figures(result: Unified) -> list[Figure]:
    """One figure for each run."""
    several = len(result.runs) > 1
    return [_figure(run, run.name if several else "") for run in result.runs]


def _figure(run: UnifiedRun, name: str) -> Figure:
    bases = [base for base in run.bases() if base != "random"]
    return Figure(
        "differences",
        f"{name}: difference from random" if name else "Difference from the random explanation of the same kind",
        tuple(Series(BASE_NAMES[base], _SHAPES[base]) for base in bases),
        tuple(_panel(run, one, title, bases) for one, title in zip(run.properties, titles(run), strict=True)),
        legend=(
            "hollow: not significantly different from random (joint test)",
            "bars: 95 % intervals; each panel has its own scale",
        ),
    )


def _panel(run: UnifiedRun, one: Property, title: str, bases: Sequence[Base]) -> Panel:
    rows: list[str] = []
    marks: list[AnyMark] = [Rule("x", 0.0, "random")]
    for kind in run.kinds():
        rows.append(f"# {KIND_NAMES[kind]}")
        for number, base in enumerate(bases):
            row = f"  {BASE_NAMES[base]} ({KIND_NAMES[kind]})"
            entry = one.at(kind, base)
            if entry is None or entry.difference is None:
                continue
            rows.append(row)
            gap = entry.difference if one.higher_is_better else entry.difference.negated()
            marks.append(Dot(row, number, gap, hollow=not (entry.better or entry.worse)))
    return Panel(title, Scale(_UNITS[one.name], better="high"), Scale(), tuple(marks), tuple(rows))
