"""Louvain communities of a matrix: networkx with the same seed is the oracle."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verax.methods.louvain import communities
from verax.types import FloatArray, IntArray


def _by_networkx(weights: FloatArray, resolution: float, seed: int) -> IntArray:
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(len(weights)))
    graph.add_weighted_edges_from((i, j, weights[i, j]) for i, j in np.argwhere(weights > 0).tolist())
    found = nx.community.louvain_communities(graph, weight="weight", resolution=resolution, seed=seed)
    numbers = np.empty(len(weights), np.int64)
    for number, members in enumerate(sorted(found, key=min)):
        numbers[list(members)] = number
    return numbers


@pytest.mark.parametrize("density", [0.1, 0.4, 1.0])
@pytest.mark.parametrize("resolution", [0.5, 1.0, 1.5])
def test_they_are_those_of_networkx(density: float, resolution: float) -> None:
    """30 graphs each, of which every second is bipartite, as that of premise and hypothesis is."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 40))
        weights = np.abs(rng.normal(size=(n, n))) * (rng.random((n, n)) < density)
        if seed % 2:
            weights[: n // 2, : n // 2] = weights[n // 2 :, n // 2 :] = 0.0
        np.testing.assert_array_equal(communities(weights, resolution, seed), _by_networkx(weights, resolution, seed))


@given(st.integers(1, 12), st.integers(0, 5))
def test_without_an_edge_everybody_is_alone(n: int, seed: int) -> None:
    assert communities(np.zeros((n, n)), 1.0, seed).tolist() == list(range(n))


@given(st.integers(2, 10), st.integers(2, 10), st.integers(0, 50))
def test_blocks_that_share_no_edge_are_found(a: int, b: int, seed: int) -> None:
    weights = np.zeros((a + b, a + b))
    weights[:a, :a] = weights[a:, a:] = 1.0
    assert communities(weights, 1.0, seed).tolist() == [0] * a + [1] * b


@given(st.integers(0, 30), st.sampled_from([1e-12, 1e9]))
def test_the_scale_does_not_matter(seed: int, scale: float) -> None:
    weights = np.random.default_rng(seed).random((12, 12))
    np.testing.assert_array_equal(communities(weights, 1.0, seed), communities(weights * scale, 1.0, seed))
