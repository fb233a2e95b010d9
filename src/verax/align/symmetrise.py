"""Symmetrisation of the alignments of two directions."""

from __future__ import annotations

from collections.abc import Collection, Set
from typing import Literal

from verax.types import Links

Symmetrise = Literal["intersection", "grow_diag_final_and"]

_AROUND = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def symmetrise(forward: Collection[tuple[int, int]], backward: Collection[tuple[int, int]], how: Symmetrise) -> Links:
    """Links that both directions have, or those and more that one of them has; sorted.

    Args:
        forward, backward: links of the two directions, both as (word of the reference, word of the translation).
        how: `intersection`, or `grow_diag_final_and` (Koehn, Och and Marcu 2003): links of either direction that touch
            one already there, then those whose words both have no link yet.
    """
    both = set(forward) & set(backward)
    if how == "grow_diag_final_and":
        both = _grow(both, set(forward) | set(backward))
        for direction in (forward, backward):
            for link in sorted(direction):
                if _free(both, 0, link) and _free(both, 1, link):
                    both.add(link)
    return tuple(sorted(both))


def _grow(links: set[tuple[int, int]], either: Set[tuple[int, int]]) -> set[tuple[int, int]]:
    """Add neighbours, across corners too, that link a word which has no link, for as long as there are any."""
    before = -1
    while before < len(links):
        before = len(links)
        for row, column in sorted(either):  # a link that is added further on is met in the same pass
            if (row, column) not in links:
                continue
            for down, right in _AROUND:
                link = row + down, column + right
                if link in either and (_free(links, 0, link) or _free(links, 1, link)):
                    links.add(link)
    return links


def _free(links: Collection[tuple[int, int]], side: int, link: tuple[int, int]) -> bool:
    """Whether a word of a link is in none of the others."""
    return all(other[side] != link[side] for other in links)
