"""The finished models of a fine-tuning side by side: over their seeds, and language by language."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from verax.run.train_spec import TrainSpec
from verax.stats.inference import bca
from verax.store.files import replace_file
from verax.train.curves import Figures
from verax.train.masking import Masking, Selection
from verax.types import Estimate, UserError

FACTS = "training.json"


class Variant(NamedTuple):
    """One model of a spec."""

    masking: Masking
    select: Selection
    seed: int


def variants(spec: TrainSpec) -> list[Variant]:
    """Every model that a spec asks for, trainings in order."""
    return [Variant(m, s, seed) for m in dict.fromkeys(spec.masking) for seed in spec.seeds for s in spec.select]


def folder_of(out: Path, spec: TrainSpec, variant: Variant) -> Path:
    """Where a model goes: the folder itself if it is the only one."""
    if len(variants(spec)) == 1:
        return out
    return out / f"{variant.masking}-{variant.select}-seed-{variant.seed}"


def read_facts(folder: Path) -> dict[str, Any]:
    """What a finished model's training.json says; nothing if there is none."""
    try:
        facts = json.loads((folder / FACTS).read_bytes())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise UserError(f"{folder / FACTS} is damaged: {error}") from None
    return facts if isinstance(facts, dict) else {}


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
    """The same in one language of a split that has several; `lang` is None for all of them together.

    `deviation` is the standard deviation over seeds, None of a single one.
    """

    masking: Masking
    select: Selection
    split: str
    lang: str | None
    mean: float
    deviation: float | None
    seeds: int


class Compared(NamedTuple):
    """The models of a spec: each masking and selection on each split, and there in each language."""

    rows: list[AblationRow]
    languages: list[LanguageRow]


def compared(spec: TrainSpec, out: Path) -> Compared:
    """What the finished models reached (Figures 7 to 15 of the masking paper, Table 7 of the cross-lingual one)."""
    found = Compared([], [])
    for masking in dict.fromkeys(spec.masking):
        for select in dict.fromkeys(spec.select):
            made = [read_facts(folder_of(out, spec, Variant(masking, select, seed))) for seed in spec.seeds]
            for split in (name for name in made[0]["figures"] if all(name in facts["figures"] for facts in made)):
                figures = [Figures(**facts["figures"][split]) for facts in made]
                found.rows.append(_ablation_row(masking, select, split, figures))
                found.languages.extend(_language_rows(masking, select, split, figures))
    return found


def _ablation_row(masking: Masking, select: Selection, split: str, figures: list[Figures]) -> AblationRow:
    masked = [one.fully_masked for one in figures if one.fully_masked is not None]
    unmasked = _over_seeds([one.unmasked for one in figures])
    full = _over_seeds(masked) if masked else None
    return AblationRow(masking, select, split, unmasked, full, figures[0].majority, len(figures))


def _language_rows(masking: Masking, select: Selection, split: str, figures: list[Figures]) -> Iterator[LanguageRow]:
    langs = [lang for lang in figures[0].languages if all(lang in one.languages for one in figures)]
    reached = {lang: [one.languages[lang] for one in figures] for lang in langs}
    rows: list[tuple[str | None, list[float]]] = [*reached.items()]
    rows += [(None, [one.unmasked for one in figures])] if langs else []
    for lang, values in rows:
        deviation = float(np.std(values, ddof=1)) if len(values) > 1 else None
        yield LanguageRow(masking, select, split, lang, float(np.mean(values)), deviation, len(values))


def _over_seeds(values: list[float]) -> Estimate:
    return Estimate(float(np.mean(values)), *(bca(np.array(values)) or (None, None)))


def write_compared(out: Path, spec: TrainSpec, found: Compared) -> Path:
    """Write the tables of several models as JSON and Markdown; of a single one its own model card is enough."""
    if len(variants(spec)) == 1:
        return out
    if found.languages:
        _write(out / "languages", found.languages, _languages_markdown(found.languages))
    return _write(out / "ablation", found.rows, _ablation_markdown(found.rows))


def _write(stem: Path, rows: list[Any], lines: list[str]) -> Path:
    replace_file(stem.with_suffix(".json"), json.dumps([asdict(row) for row in rows], indent=1).encode())
    replace_file(stem.with_suffix(".md"), ("\n".join(lines) + "\n").encode())
    return stem.with_suffix(".md")


def _ablation_markdown(rows: list[AblationRow]) -> list[str]:
    lines = [
        "| split | masking in training | best epoch by | unmasked | everything masked | most frequent class | seeds |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        cells = [row.split, row.masking, row.select, _cell(row.unmasked), _cell(row.fully_masked)]
        lines.append(f"| {' | '.join(cells)} | {row.majority:.4f} | {row.seeds} |")
    return lines


def _cell(value: Estimate | None) -> str:
    if value is None:
        return "–"
    ends = "" if value.low is None or value.high is None else f" [{value.low:.4f}, {value.high:.4f}]"
    return f"{value.value:.4f}{ends}"


def _languages_markdown(rows: list[LanguageRow]) -> list[str]:
    lines = [
        "| split | masking in training | best epoch by | language | mean | standard deviation | seeds |",
        "| --- | --- | --- | --- | ---: | ---: | ---: |",
    ]
    return lines + [f"| {' | '.join(language_cells(row))} |" for row in rows]


def language_cells(row: LanguageRow) -> tuple[str, ...]:
    """A row of the table of languages, for people."""
    deviation = "–" if row.deviation is None else f"{row.deviation:.4f}"
    return row.split, row.masking, row.select, row.lang or "all", f"{row.mean:.4f}", deviation, str(row.seeds)
