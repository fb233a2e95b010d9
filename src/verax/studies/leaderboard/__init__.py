"""The leaderboard: every method under every metric, tested against random explanations and against each other."""

from verax.results.study import Study
from verax.studies.leaderboard.analysis import Leaderboard, analyse
from verax.studies.leaderboard.presets import ATTRIBUTION_TABLE, IMPORTANCE_MEASURES
from verax.studies.leaderboard.tables import findings, reading, tables, verdict_table

STUDY: Study[Leaderboard] = Study(
    name="leaderboard",
    title="Leaderboard",
    summary="Every method under every metric: means with intervals, tested against random and against each other.",
    analyse=analyse,
    tables=tables,
    findings=findings,
    reading=reading,
    verdict=verdict_table,
    presets=(ATTRIBUTION_TABLE, IMPORTANCE_MEASURES),
    order=10,
)
