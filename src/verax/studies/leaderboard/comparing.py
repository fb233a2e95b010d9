"""Two runs compared instance by instance."""

from __future__ import annotations

from verax.results.matching import require_same_texts
from verax.results.run import Run
from verax.results.study import Findings
from verax.studies.leaderboard import STUDY
from verax.studies.leaderboard.analysis import contrast
from verax.studies.leaderboard.tables import comparison, unshared
from verax.types import UserError


def compare_runs(first: Run, second: Run) -> Findings:
    """A joint test of all methods and metrics that two runs of the same inputs share."""
    require_same_texts(first, second)
    contrasts = contrast(first, second)
    if not contrasts:
        raise UserError(f"{first.folder} and {second.folder} share no method under the same metric")
    table = comparison(contrasts, (first, second))
    return Findings(STUDY, (table,), (), tuple(unshared(first, second)), ())
