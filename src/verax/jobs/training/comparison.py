"""The models of a training compared: means over their seeds, overall and in each language."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from verax.jobs.training.folder import FACTS
from verax.jobs.training.spec import TrainSpec
from verax.results.render.plain import to_markdown
from verax.results.table import Column, Table, table_row
from verax.stats.intervals import mean_interval
from verax.store.artifact import read_json
from verax.store.files import remove_temporary, replace_file
from verax.train.rows import Masking, Selection


class ModelVariant(NamedTuple):
    """One model of a spec."""

    masking: Masking
    select: Selection
    seed: int


def variants(spec: TrainSpec) -> list[ModelVariant]:
    """Every model of a spec, in the order in which they are trained."""
    return [ModelVariant(m, s, seed) for m in dict.fromkeys(spec.masking) for seed in spec.seeds for s in spec.select]


def variant_folder(out: Path, spec: TrainSpec, variant: ModelVariant) -> Path:
    """The folder of a model: `out` itself if it is the only one."""
    if len(variants(spec)) == 1:
        return out
    return out / f"{variant.masking}-{variant.select}-seed-{variant.seed}"


@dataclass(frozen=True, slots=True)
class SplitFigures:
    """Performance of one model on one split.

    Args:
        majority: of always predicting the most frequent class of the training data.
        languages: performance in each language, if there are several.
    """

    unmasked: float
    fully_masked: float | None
    majority: float
    languages: Mapping[str, float] = field(default_factory=dict)


class Comparison(NamedTuple):
    """Means over seeds, as records.

    Args:
        languages: the same in each language of a split that has several, and in all of them (`lang` is None);
            `deviation` is the standard deviation over seeds, None for a single one.
    """

    rows: list[dict[str, Any]]
    languages: list[dict[str, Any]]


def compare_models(spec: TrainSpec, out: Path) -> Comparison:
    """Performance of the finished models (Figures 7 to 15 of the masking paper, Table 7 of the cross-lingual one)."""
    comparison = Comparison([], [])
    for masking, select in product(dict.fromkeys(spec.masking), dict.fromkeys(spec.select)):
        folders = [variant_folder(out, spec, ModelVariant(masking, select, seed)) for seed in spec.seeds]
        by_seed = [(read_json(folder / FACTS) or {})["figures"] for folder in folders]
        for split in (name for name in by_seed[0] if all(name in figures for figures in by_seed)):
            seeds = [SplitFigures(**figures[split]) for figures in by_seed]
            unmasked = [figures.unmasked for figures in seeds]
            masked = [figures.fully_masked for figures in seeds if figures.fully_masked is not None]
            shared = {"masking": masking, "select": select, "split": split}
            row: dict[str, Any] = {
                "unmasked": mean_interval(unmasked),
                "fully_masked": mean_interval(masked) if masked else None,
                "majority": seeds[0].majority,
                "seeds": len(seeds),
            }
            comparison.rows.append(shared | row)
            langs = [lang for lang in seeds[0].languages if all(lang in figures.languages for figures in seeds)]
            by_lang: dict[str | None, list[float]] = {lang: [one.languages[lang] for one in seeds] for lang in langs}
            for lang, values in (by_lang | {None: unmasked} if langs else {}).items():
                deviation = float(np.std(values, ddof=1)) if len(values) > 1 else None
                row = {"lang": lang, "mean": float(np.mean(values)), "deviation": deviation, "seeds": len(values)}
                comparison.languages.append(shared | row)
    return comparison


def comparison_tables(comparison: Comparison) -> list[Table]:
    """Performance of the models, and in each language if there are several."""
    text = {"split": "split", "masking": "masking", "select": "best epoch by"}
    figures = {"unmasked": "unmasked", "fully_masked": "all masked", "majority": "majority", "seeds": "seeds"}
    tables = [_table("ablation", "Performance of the models", comparison.rows, text, figures)]
    if comparison.languages:
        rows = [{**row, "lang": row["lang"] or "all"} for row in comparison.languages]
        figures = {"mean": "unmasked", "deviation": "deviation", "seeds": "seeds"}
        tables.append(_table("languages", "Performance in each language", rows, {**text, "lang": "language"}, figures))
    return tables


def _table(
    name: str, title: str, rows: list[dict[str, Any]], text: Mapping[str, str], figures: Mapping[str, str]
) -> Table:
    """A table of records; `text` and `figures` are the titles of its columns by the name of the field."""
    columns = [Column(field, head, "text") for field, head in text.items()]
    columns += [Column(field, head) for field, head in figures.items()]
    return Table(name, title, tuple(columns), tuple(table_row(*(row[c.name] for c in columns)) for row in rows))


def write_comparison(out: Path, spec: TrainSpec, comparison: Comparison) -> Path:
    """Write the tables of several models as JSON and Markdown; the model card is enough for a single one."""
    if len(variants(spec)) == 1:
        return out
    remove_temporary(out, "*.tmp")
    for table, rows in zip(comparison_tables(comparison), comparison, strict=False):
        replace_file(out / f"{table.name}.json", json.dumps(rows, indent=1).encode())
        replace_file(out / f"{table.name}.md", to_markdown([table]).encode())
    return out / "ablation.md"
