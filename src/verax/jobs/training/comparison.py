"""The models of a training side by side: means over their seeds, overall and in each language."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from verax.jobs.training.spec import TrainSpec
from verax.results.render.plain import to_markdown
from verax.results.table import Column, Table, table_row
from verax.stats.inference import bca
from verax.store.artifact import read_json
from verax.store.files import replace_file
from verax.train.curves import Figures
from verax.train.masking import Masking, Selection
from verax.types import Estimate

FACTS = "training.json"


class Variant(NamedTuple):
    """One model of a spec."""

    masking: Masking
    select: Selection
    seed: int


def variants(spec: TrainSpec) -> list[Variant]:
    """Every model of a spec, in the order in which they are trained."""
    return [Variant(m, s, seed) for m in dict.fromkeys(spec.masking) for seed in spec.seeds for s in spec.select]


def folder_of(out: Path, spec: TrainSpec, variant: Variant) -> Path:
    """The folder of a model: `out` itself if it is the only one."""
    if len(variants(spec)) == 1:
        return out
    return out / f"{variant.masking}-{variant.select}-seed-{variant.seed}"


@dataclass(frozen=True, slots=True)
class AblationRow:
    """Performance of one masking and selection, over its seeds, on one split."""

    masking: Masking
    select: Selection
    split: str
    unmasked: Estimate
    fully_masked: Estimate | None
    majority: float
    seeds: int


@dataclass(frozen=True, slots=True)
class LanguageRow:
    """Performance in one language of a split that has several, or, if `lang` is None, in all of them together.

    `deviation` is the standard deviation over seeds, None for a single one.
    """

    masking: Masking
    select: Selection
    split: str
    lang: str | None
    mean: float
    deviation: float | None
    seeds: int


class Comparison(NamedTuple):
    """The models of a spec: each masking and selection on each split, and there in each language."""

    rows: list[AblationRow]
    languages: list[LanguageRow]


def compare(spec: TrainSpec, out: Path) -> Comparison:
    """Performance of the finished models (Figures 7 to 15 of the masking paper, Table 7 of the cross-lingual one)."""
    comparison = Comparison([], [])
    for masking in dict.fromkeys(spec.masking):
        for select in dict.fromkeys(spec.select):
            folders = [folder_of(out, spec, Variant(masking, select, seed)) for seed in spec.seeds]
            by_seed = [(read_json(folder / FACTS) or {})["figures"] for folder in folders]
            for split in (name for name in by_seed[0] if all(name in figures for figures in by_seed)):
                figures = [Figures(**figures[split]) for figures in by_seed]
                comparison.rows.append(_ablation_row(masking, select, split, figures))
                comparison.languages.extend(_language_rows(masking, select, split, figures))
    return comparison


def _ablation_row(masking: Masking, select: Selection, split: str, figures: list[Figures]) -> AblationRow:
    masked = [one.fully_masked for one in figures if one.fully_masked is not None]
    unmasked = _over_seeds([one.unmasked for one in figures])
    full = _over_seeds(masked) if masked else None
    return AblationRow(masking, select, split, unmasked, full, figures[0].majority, len(figures))


def _language_rows(masking: Masking, select: Selection, split: str, figures: list[Figures]) -> Iterator[LanguageRow]:
    langs = [lang for lang in figures[0].languages if all(lang in one.languages for one in figures)]
    rows: list[tuple[str | None, list[float]]] = [(lang, [one.languages[lang] for one in figures]) for lang in langs]
    rows += [(None, [one.unmasked for one in figures])] if langs else []
    for lang, values in rows:
        deviation = float(np.std(values, ddof=1)) if len(values) > 1 else None
        yield LanguageRow(masking, select, split, lang, float(np.mean(values)), deviation, len(values))


def _over_seeds(values: list[float]) -> Estimate:
    return Estimate(float(np.mean(values)), *(bca(np.array(values)) or (None, None)))


def comparison_tables(comparison: Comparison) -> list[Table]:
    """Performance of the models, and in each language if there are several."""
    models = [
        table_row(row.split, row.masking, row.select, row.unmasked, row.fully_masked, row.majority, row.seeds)
        for row in comparison.rows
    ]
    languages = [
        table_row(row.split, row.masking, row.select, row.lang or "all", row.mean, row.deviation, row.seeds)
        for row in comparison.languages
    ]
    shared = {"split": "split", "masking": "masking", "select": "best epoch by"}
    text = [Column(name, title, "text") for name, title in shared.items()]
    figures = {"unmasked": "unmasked", "fully_masked": "all masked", "majority": "majority", "seeds": "seeds"}
    columns = (*text, *(Column(name, title) for name, title in figures.items()))
    tables = [Table("ablation", "Performance of the models", columns, tuple(models))]
    if languages:
        figures = {"mean": "unmasked", "deviation": "deviation", "seeds": "seeds"}
        columns = (*text, Column("lang", "language", "text"), *(Column(name, title) for name, title in figures.items()))
        tables.append(Table("languages", "Performance in each language", columns, tuple(languages)))
    return tables


def write_comparison(out: Path, spec: TrainSpec, comparison: Comparison) -> Path:
    """Write the tables of several models as JSON and Markdown; the model card is enough for a single one."""
    if len(variants(spec)) == 1:
        return out
    rows: dict[str, list[Any]] = {"ablation": comparison.rows, "languages": comparison.languages}
    for table in comparison_tables(comparison):
        content = json.dumps([asdict(row) for row in rows[table.name]], indent=1)
        replace_file(out / f"{table.name}.json", content.encode())
        replace_file(out / f"{table.name}.md", to_markdown([table]).encode())
    return out / "ablation.md"
