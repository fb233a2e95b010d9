"""The models that come with the package, by the folder they lie in. Nothing here imports torch."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).parent


def world_nli() -> Path:
    """The classifier for `world/nli`."""
    return _HERE / "world-nli"


def world_xnli() -> Path:
    """The classifier for `world/xnli`, in six languages."""
    return _HERE / "world-xnli"


def world_facts() -> Path:
    """The classifier for `world/facts`."""
    return _HERE / "world-facts"


def world_opinion() -> Path:
    """The classifier for `world/opinion`."""
    return _HERE / "world-opinion"


def world_opinion_masked() -> Path:
    """The classifier for `world/opinion`, fine-tuned with masking."""
    return _HERE / "world-opinion-masked"
