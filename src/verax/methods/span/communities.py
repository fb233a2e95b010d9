"""Louvain communities of a small dense directed graph, given as a matrix."""

from __future__ import annotations

from random import Random

import numpy as np

from verax.types import FloatArray, IntArray

_LEAST = 1e-7
"""Least increase of modularity for one more level."""


def communities(weights: FloatArray, resolution: float, seed: int) -> IntArray:
    """Community of each node, shape [n], numbered by their first node.

    Nodes move to the neighbouring community that increases directed modularity most (Leicht and Newman, 2008), in a
    random order, until none moves; then communities become nodes, as long as that helps (Blondel et al., 2008). For the
    same seed the result is that of networkx, which uses dictionaries and is several times slower.

    Args:
        weights: of the edge from one node to another, not negative; shape [n, n].
        resolution: above 1 favours smaller communities.
        seed: of the order in which nodes are visited.
    """
    rng, total = Random(seed), float(weights.sum())
    found = np.arange(len(weights))
    if not total:
        return found
    graph = np.asarray(weights, np.float64) / total
    reached = _modularity(graph, resolution)
    while True:
        moved = _moved(graph, resolution, rng)
        kept, joined = np.unique(moved, return_inverse=True)
        if len(kept) == len(graph):
            break
        found = joined[found]
        members = np.eye(len(kept))[joined]  # [nodes, communities]
        graph = members.T @ graph @ members
        before, reached = reached, _modularity(graph, resolution)
        if reached - before <= _LEAST:
            break
    _, first, number = np.unique(found, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[number])


def _modularity(graph: FloatArray, resolution: float) -> float:
    """Directed modularity if each node is a community of its own."""
    return float(np.trace(graph) - resolution * graph.sum(1) @ graph.sum(0))


def _moved(graph: FloatArray, resolution: float, rng: Random) -> IntArray:
    """Community of each node once no move of a single node increases modularity."""
    n = len(graph)
    out, in_ = graph.sum(1), graph.sum(0)
    between = graph + graph.T
    np.fill_diagonal(between, 0.0)
    community = np.arange(n)
    all_out, all_in = out.copy(), in_.copy()
    order = list(range(n))
    rng.shuffle(order)
    moving = True
    while moving:
        moving = False
        for node in order:
            own = community[node]
            all_out[own] -= out[node]
            all_in[own] -= in_[node]
            links = np.bincount(community, between[node], n)
            gains = links - resolution * (out[node] * all_in + in_[node] * all_out)
            staying = gains[own]
            gains[links == 0] = -np.inf  # only a neighbour's community can be joined
            best = int(gains.argmax())
            # a tie with rounding noise is not a gain
            if best != own and gains[best] - staying > 1e-15:
                community[node], moving = best, True
                own = best
            all_out[own] += out[node]
            all_in[own] += in_[node]
    return community
