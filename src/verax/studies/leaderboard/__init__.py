"""The leaderboard: every method under every metric, tested against random explanations and against each other."""

from verax.results.matching import require_same_texts
from verax.results.run import Run
from verax.results.study import Findings, Study
from verax.studies.leaderboard.analysis import Leaderboard, analyse, contrast
from verax.studies.leaderboard.presets import ATTRIBUTION_TABLE, IMPORTANCE_MEASURES
from verax.studies.leaderboard.tables import comparison, findings, reading, tables, unshared, verdict_table
from verax.types import UserError

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


def compare_runs(first: Run, second: Run) -> Findings:
    """Two runs compared instance by instance: a joint test of all methods and metrics that they share."""
    require_same_texts(first, second)
    contrasts = contrast(first, second)
    if not contrasts:
        raise UserError(f"{first.folder} and {second.folder} share no method under the same metric")
    table = comparison(contrasts, (first, second))
    return Findings(STUDY, (table,), (), tuple(unshared(first, second)), ())
