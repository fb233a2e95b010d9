"""A Ray cluster on this machine that the tests of a process share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench.faults import ray_cluster


@pytest.fixture(scope="session")
def ray_address() -> Iterator[str]:
    """The address of a cluster of three nodes."""
    with ray_cluster() as (address, _):
        yield address
