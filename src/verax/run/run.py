"""A run that can be asked: its summary, its scores, its explanations."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verax.stats import summarise
from verax.stats.areas import masked_runs, masking_curves
from verax.stats.crosslingual import CrossLingual, crosslingual
from verax.stats.crosslingual_rows import LanguageRun
from verax.stats.nle import NleTables, nle_tables
from verax.stats.nle_rows import NleRun
from verax.stats.recorded import baselines, parallel
from verax.stats.unified import Unified, unified
from verax.store.read import Stored, read_run
from verax.types import Highlight, MaskingCurves, Score, Summary

if TYPE_CHECKING:
    import pandas as pd


class Run:
    """What a folder of results holds, as of when it was opened."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self.stored: Stored = read_run(self.folder)

    @property
    def card(self) -> dict[str, Any]:
        """Spec, versions, hashes, seeds, cost, counts."""
        return self.stored.card

    @property
    def directions(self) -> dict[str, bool]:
        """For each metric whether higher is better."""
        return {metric["label"]: bool(metric["higher_is_better"]) for metric in self.card.get("metrics", [])}

    @property
    def scores(self) -> list[Score]:
        """Every score of every explanation."""
        return self.stored.scores

    @property
    def highlights(self) -> list[Highlight]:
        """Every explanation."""
        return self.stored.highlights

    @cached_property
    def summaries(self) -> list[Summary]:
        """The leaderboard's rows."""
        order = [method["label"] for method in self.card.get("methods", [])]
        unranked = {metric["label"] for metric in self.card.get("metrics", []) if not metric.get("ranked", True)}
        ranked = [score for score in self.scores if score.metric not in unranked]
        together = parallel(self.stored.instances)
        return summarise(ranked, self.directions, baseline=baselines(self.card), order=order, parallel=together)

    @cached_property
    def masking_curves(self) -> MaskingCurves | None:
        """Performance curves, ACU and RACU of recursive masking (of the first, if there are several); None without."""
        return masking_curves(list(masked_runs(self.card, self.scores).values())[:1])

    @cached_property
    def unified(self) -> Unified | None:
        """The properties of each kind of explanation, by base; None of a run with fewer than two kinds."""
        return unified(self.card, self.scores, self.highlights)

    @cached_property
    def crosslingual(self) -> CrossLingual | None:
        """Faithfulness across languages, beside accuracy, erasure and plausibility; None of a run that has none."""
        return crosslingual([LanguageRun(self.card, self.stored.instances, self.stored.predictions, self.scores)])

    @cached_property
    def nle(self) -> NleTables | None:
        """What the tests of free-text explanations found, beside accuracy and BLEU; None of a run that has none."""
        name = str(self.card.get("model", {}).get("name", self.folder))
        return nle_tables([NleRun(name, self.card, self.stored.instances, self.stored.texts, self.scores)])

    def summary(self) -> pd.DataFrame:
        """The leaderboard as a table: a row for each method and metric."""
        return _frame(self.summaries, Summary)

    def score_table(self) -> pd.DataFrame:
        """All scores as a table: a row for each instance, method and metric."""
        return _frame(self.scores, Score)

    def __repr__(self) -> str:
        made = len(self.highlights) + len(self.stored.texts)
        return f"Run({str(self.folder)!r}: {made} explanations, {len(self.scores)} scores)"


def _frame(rows: list[Any], kind: type) -> pd.DataFrame:
    import pandas as pd  # noqa: PLC0415 - half a second that only those pay who ask for a table

    columns = [field.name for field in dataclasses.fields(kind)]
    return pd.DataFrame([[getattr(row, name) for name in columns] for row in rows], columns=columns)
