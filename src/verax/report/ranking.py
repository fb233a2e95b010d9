"""How the rows of a leaderboard stand to each other: best first, who can't be told from the best, who from random."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from verax.results.render.numbers import number
from verax.stats.leaderboard import ALPHA
from verax.types import Summary


def by_metric(summaries: Iterable[Summary]) -> dict[str, list[Summary]]:
    """The rows of each metric, best first; those without a value last."""
    tables: dict[str, list[Summary]] = {}
    for row in summaries:
        tables.setdefault(row.metric, []).append(row)
    for rows in tables.values():
        rows.sort(key=_place)
    return tables


def _place(row: Summary) -> tuple[bool, float]:
    if row.mean is None:
        return True, 0.0
    return False, -row.mean if row.higher_is_better else row.mean


def best_group(ranked: Sequence[Summary]) -> list[str]:
    """The best method and those that share a letter with it, best first."""
    if not ranked or ranked[0].mean is None:
        return []
    best = ranked[0]
    return [row.method for row in ranked if row is best or set(row.group) & set(best.group)]


def like_random(row: Summary) -> bool:
    """Whether the test could not tell this method from the random explanation, which itself has no test."""
    return row.p_holm is not None and row.p_holm >= ALPHA


def verdict(ranked: Sequence[Summary], chance: str) -> str:
    """What a table says, in one or two sentences; `chance` is what its methods are tested against."""
    best = best_group(ranked)
    if not best:
        return "No method has a value under this metric."
    alike = _listed(best[1:])
    said = f"{best[0]} has the best value, {number(ranked[0].mean)}"
    said += (
        f"; {alike} can't be told apart from it." if alike else ", apart from all others." if len(ranked) > 1 else "."
    )
    weak = _listed([row.method for row in ranked if like_random(row)])
    return f"{said} Not told apart from {chance}: {weak}." if weak else said


def _listed(names: Sequence[str], most: int = 6) -> str:
    """`a, b and c`; of many the first few and how many more."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else list(names))
